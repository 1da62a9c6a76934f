"""Changes the sizes that a model's inputs state as numbers: `change_sizes`, `--dim x.0=N`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opset.budget import BudgetExceeded, Limits
from opset.errors import Finding, InferenceError, UsageError, quote, safe_text
from opset.file_names import list_paths
from opset.inference.axes.edits import AxisSource, Edits
from opset.inference.axes.places import Place
from opset.inference.axes.tracking import Tracking, TrackingStopped, follow
from opset.inference.building.dimensions import Dim, Size, variable
from opset.inference.building.work import charge_to, default_budget
from opset.inference.engine.binding import (
    bind_dims,
    check_dim_names,
    dim_params,
    open_dim_names,
    plain_sizes,
    stated_dim_names,
)
from opset.inference.engine.engine import Engine, stopped_error
from opset.inference.engine.sizes import Sizes
from opset.inference.limits import MAX_BOUND
from opset.model import load
from opset.model import proto as pb
from opset.model.graph.index import FreshNames, bodies, index_model
from opset.model.graph.walking import subgraphs
from opset.model.storage.container import Model
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import read_model

__all__ = ["change_sizes", "resize"]

PASSES = 64
"""How many ways to place an axis are tried."""
_NEW = "new size"  # no model can state this as an expression
_NAME = re.compile(r"[^\W\d]\w*")


class _Axis(NamedTuple):
    """An axis of an input that is to have another size; `before` is the size that the model states."""

    input: str
    axis: int
    before: int

    @property
    def name(self) -> str:
        """The name of the axis in the sizes that a caller gives, such as "x.0" for the first axis of input x."""
        return f"{self.input}.{self.axis}"


@checked_options
def change_sizes(
    model: Any,
    sizes: Mapping[str, int | str],
    *,
    schemas: Schemas = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return a model whose inputs have other sizes, and whose constants are changed with them.

    A size that is a variable becomes a number. A size that is a number becomes a variable or another number, but only
    if every node treats the slices along this axis independently of each other. The result then computes the same for
    each slice.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package; it is not changed.
        sizes: Numbers, or names of variables, by name of a size. "x.0" is the first size of input x; a dim_param may
            also be a name. It may be unclear along which axis of an output y the slices lie. {"x.0": "N", "y.0": "N"}
            says that they lie along the first axis of y.
        schemas: Folders of operator YAML, for domains of your own.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: Limits of steps, memory and time. Without them, the work may take steps in proportion to the model.

    Returns:
        A ModelProto of the onnx package if `model` is one, else an opset.Model.

    Raises:
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` has faults.
        UsageError: U103 if a name in `sizes` is not in the model, a new size is not valid, or an output does not get
            the size that is given for it.
        InferenceError: I501 if a node stands in the way. I502 if the axis may lie in several places of an output. I401
            if `limits` do not suffice.
    """
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    registry = registry_with(schemas)
    prepared, index = read_model(loaded, registry)
    index.call_order()  # raises ModelError if functions call each other in a cycle
    return with_sizes(prepared, sizes, registry, limits)[0].as_given()


def with_sizes(
    model: Model, sizes: Mapping[str, int | str], registry: Registry, limits: Limits | None = None
) -> tuple[Model, list[str]]:
    """Return the model with the new sizes, and a line of text for each change of a node.

    A size that is a number changes only if every node treats the slices along its axis independently. A size that is a
    variable becomes a number.

    Args:
        model: the model; it is not changed.
        sizes: the new size, a number or the name of a variable, by name of the old size. The first size of input x is
            "x.0"; a dim_param is its own name. An entry "y.0" for an output y says which axis of y gets the new size.
            It is needed only if several axes are possible.
        registry: the operators.
        limits: limits of steps, memory and time; without them, the work may take steps in proportion to the model.

    Raises:
        UsageError: U103 if a new size is not valid, a variable is to have another name, an output does not get the size
            that is given for it, or a name in `sizes` is not in the model.
        InferenceError: I501 if a node stands in the way, I502 if the axis may lie in several places of an output, I401
            if `limits` do not suffice.
    """
    resized, numbers, notes = resize(model, sizes, registry, limits)
    check_dim_names(numbers, open_dim_names(resized), stated_dim_names(resized))
    return bind_dims(resized, numbers), notes


def resize(
    model: Model, sizes: Mapping[str, int | str], registry: Registry, limits: Limits | None = None
) -> tuple[Model, dict[str, int], list[str]]:
    """Return a model in which numbers that `model` states as sizes are replaced by other numbers or variables.

    Sizes that are variables do not change here. Their new numbers are returned, and the caller writes these into the
    model.

    Args:
        model: the model; it is not changed.
        sizes: the new sizes, numbers or names of variables, by name of the old size. A name is "x.0" for the first size
            of input x, or a dim_param. A name may also be "y.0" for the first size of output y. Its new size then says
            that the resized axis lies at axis 0 of y, which is needed if it may lie at several axes.
        registry: the operators.
        limits: limits of steps, memory and time; without them, the work may take steps in proportion to the model.

    Returns:
        Three values: the resized model, or `model` itself if no size changes; the numbers for variables, by name; and a
            line of text for each change of a node. Whether the model has these variables is for the caller to check.

    Raises:
        UsageError: U103 if a new size is not valid, a size of 0 is to change, a variable is to have another name, or an
            output does not get the size that is given for it.
        InferenceError: I501 if a node stands in the way, I502 if the axis may lie in several places of an output, I401
            if `limits` do not suffice.
    """
    sizes = plain_sizes(sizes)
    weights = {tensor.name for tensor in model.proto.graph.initializer}
    stated = _stated_axes(value for value in model.proto.graph.input if value.name not in weights)
    known = {name: axis for name, axis in stated.items() if name in sizes}
    outputs = {
        f"{value.name}.{axis}": (value.name, axis)
        for value in model.proto.graph.output
        for axis in range(len(value.type.tensor_type.shape.dim))
    }
    named = {name: size for name, size in sizes.items() if name in outputs and name not in known}
    rest = {name: size for name, size in sizes.items() if name not in known and name not in named}
    variables = open_dim_names(model)
    _check_sizes(sizes, rest, known, variables, dim_params(model))
    check_dim_names([name for name, size in rest.items() if isinstance(size, str)], variables, stated)
    numbers = {name: size for name, size in rest.items() if not isinstance(size, str)}
    groups: dict[tuple[int | str, int], list[list[_Axis]]] = {}
    for name, axis in known.items():
        if sizes[name] != axis.before:
            same = groups.setdefault((sizes[name], axis.before), [[]])
            free = [group for group in same if axis.input not in {each.input for each in group}]
            if not free:
                same.append([])
            (free or same[-1:])[0].append(axis)
    if not known:
        check_dim_names(named, variables, stated)  # sizes of outputs follow from those of inputs
    notes: list[str] = []
    for (size, _), all_axes in groups.items():
        for axes in all_axes:
            wanted = {outputs[name][0]: outputs[name][1] for name, given in named.items() if given == size}
            model, made = _resize_axes(model, axes, size, wanted, registry, limits)
            notes += made
    changed = [size for size, _ in groups]
    _check_output_sizes(model, {name: size for name, size in named.items() if size not in changed}, numbers)
    return model, numbers, notes


def _stated_axes(values: Iterable[Any]) -> dict[str, _Axis]:
    """Return the axes whose size is a number, by a name such as "x.0", for all tensors in ValueInfoProtos.

    An axis with a negative size, or with a symbolic one, is left out. "x.0" is the first axis of the tensor x.
    """
    found = {}
    for value in values:
        if value.type.WhichOneof("value") == "tensor_type":
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                if dim.HasField("dim_value") and dim.dim_value >= 0:
                    each = _Axis(value.name, axis, dim.dim_value)
                    found[each.name] = each
    return found


def _is_size(size: object) -> bool:
    """Whether a value is a number that the size of an axis can be: an int of at least 1, and not too large."""
    return isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= MAX_BOUND


def _check_sizes(
    sizes: Mapping[str, int | str],
    rest: Mapping[str, int | str],
    known: Mapping[str, _Axis],
    variables: set[str],
    params: Mapping[str, str],
) -> None:
    """Raise UsageError U103 with a finding for each new size that is not possible.

    A new size is not possible in these cases:

    - it is a text that is no plain identifier, such as "2*N";
    - it replaces a number in the model, and is a number below 1 or above MAX_BOUND;
    - the old size is the number 0;
    - the old size is named by its place, such as "x.0", but the model calls it "N";
    - the old size and the new one are variables.

    The number that replaces a variable is not checked.

    Args:
        sizes: the new sizes, by name of the old size, such as "x.0" or "N".
        rest: the part of `sizes` without the axes in `known` and without axes of outputs.
        known: the axes whose sizes the model states as numbers, by name.
        variables: the names of sizes that are variables.
        params: the dim_params of axes, by name of the axis.
    """
    findings = []
    for name, size in sizes.items():
        shown = safe_text(str(size))
        if isinstance(size, str) and not _NAME.fullmatch(size):
            findings.append(
                Finding(
                    "U103", f"{shown!r} is no size for {quote(name)}", help="a size is a number, or a name such as N"
                )
            )
        elif name in known and not isinstance(size, str) and not _is_size(size):
            findings.append(
                Finding("U103", f"{shown} is no size for {quote(name)}", help="the size of an axis is 1 or greater")
            )
        elif name in known and known[name].before == 0:
            findings.append(Finding("U103", f"{quote(name)} is 0", help="an axis of size 0 cannot be changed"))
        elif name in params and name not in variables:
            message = f"the size {quote(name)} is called {quote(params[name])}"
            number = "2" if isinstance(size, str) else shown  # it is a variable already
            findings.append(Finding("U103", message, help=f"name it so: --dim {quote(f'{params[name]}={number}')}"))
        elif name in rest and name in variables and isinstance(size, str):
            findings.append(Finding("U103", f"{quote(name)} is a variable already", help="give it a number"))
    if findings:
        raise UsageError(findings)


def _check_output_sizes(model: Model, named: Mapping[str, int | str], numbers: Mapping[str, int]) -> None:
    """Raise UsageError U103 if an output has another size than a caller gives for it.

    In an output size such as "2*N", variables are first replaced by their numbers; a variable without a number stays. A
    size that the model does not state is not checked.

    Args:
        model: the model after its inputs were resized.
        named: the sizes that the caller gives, by name such as "y.0" for the first size of output y.
        numbers: the numbers that variables are to get, by name.
    """
    findings = []
    sizes = Sizes(numbers)
    for value in model.proto.graph.output:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            name = f"{value.name}.{axis}"
            given, size = named.get(name), sizes.read_dimension(dim)
            wanted = variable(given) if isinstance(given, str) else given
            if wanted is not None and size is not None and size != wanted:
                message = f"{safe_text(str(given))} is no size for {quote(name)}"
                why = f"its size follows from inputs, and is {safe_text(str(size))}"
                findings.append(Finding("U103", message, why=why, help="leave it out, or give an input this size"))
    if findings:
        raise UsageError(findings)


def _resize_axes(
    model: Model,
    axes: Sequence[_Axis],
    size: int | str,
    wanted: Mapping[str, int],
    registry: Registry,
    limits: Limits | None,
) -> tuple[Model, list[str]]:
    """Return a model in which `axes` have another size, and a line of text for each change of a node.

    Args:
        model: the model; it is not changed.
        axes: the axes of inputs that get the new size together, such as the batch of each input. All have the same old
            size.
        size: the new size, a number or the name of a variable.
        wanted: the number of the axis that must have the new size in an output, by name of the output.
        registry: the operators.
        limits: limits of steps, memory and time; without them, the work may take steps in proportion to the model.

    Raises:
        InferenceError: I501 or I502 if the axes cannot be followed, I401 if a limit is exceeded.
    """
    read, index = read_model(model, registry)
    limits = limits or Limits()
    budget = default_budget(read.proto.ByteSize(), limits)
    engine = Engine(read, registry, {}, budget, limited=bool(limits.as_dict()), index=index)
    after = variable(_NEW)
    body = index.main
    labels = {number: body.node_label(number) for number in range(len(body.nodes))}
    names = FreshNames(bodies(read.proto))
    source = AxisSource(axes[0].input, axes[0].axis, size if isinstance(size, int) else None)
    places = {axis.input: Place(axis.axis) for axis in axes}
    before = axes[0].before

    def make(told: Sequence[int]) -> Tracking:
        """Return a new pass that makes these decisions, without changes so far."""
        edits = Edits(source, after, index.opsets.get("", 1), names.restart(), labels)
        return Tracking(engine, places, before, after, edits, told)

    def accept(tracking: Tracking) -> None:
        """Raise TrackingStopped if the outputs of a finished pass are not wanted."""
        _check_outputs(engine, tracking, before, wanted)

    try:
        engine.run()
        if engine.stopped is not None:  # types are unknown from there on, so that no node after it carries the axis
            raise stopped_error(engine, engine.stopped[1])
        with charge_to(budget):
            tracking = follow(make, accept, PASSES)
    except BudgetExceeded as exhausted:
        raise stopped_error(engine, exhausted) from None
    except TrackingStopped as stopped:
        place = body.location(stopped.index) if stopped.index >= 0 else body.label
        raise _error_of(stopped, axes, size, stopped.place or place) from None
    message = pb.ModelProto()
    message.CopyFrom(read.proto)
    _apply_changes(message.graph, tracking, size, message.ir_version < 4)
    resized = read.with_proto(message, changed=True)
    _check_resized(engine, resized, registry, axes, size)
    return resized, [*index.notes, *tracking.edits.notes]


def _check_outputs(engine: Engine, tracking: Tracking, before: int, wanted: Mapping[str, int]) -> None:
    """Raise TrackingStopped if an output lacks the resized axis, or has it along another axis than `wanted` says.

    An output in `wanted` must have the resized axis. Any other output may lack the axis if none of its sizes is
    `before`, or if its elements in the resized model are known.

    Args:
        engine: the inference of the model.
        tracking: the finished pass.
        before: the old size of the axis.
        wanted: axes, counted from 0, by name of the output.
    """
    scope = next(iter(engine.scopes.values()))
    for name in scope.body.output_names():
        place = tracking.places.get(name)
        type_ = scope.type_of(name)
        if place is not None:
            if wanted.get(name, place.axis) != place.axis:
                raise TrackingStopped(
                    -1, f"the slices lie along axis {place.axis} of output {quote(name)}, not {wanted[name]}"
                )
        elif name in wanted:
            raise TrackingStopped(-1, f"output {quote(name)} does not follow from the slices")
        elif name not in tracking.sized and type_ is not None and before in (type_.shape or ()):
            raise TrackingStopped(
                -1,
                f"output {quote(name)}, {type_}, does not follow from the slices, and has a size of {before}",
                "leave the output out, or export the model at the size that you need",
            )


def _error_of(stopped: TrackingStopped, axes: Sequence[_Axis], size: int | str, place: str) -> InferenceError:
    """Return the error that `axes` cannot get the size `size`, because following them stopped at `place`.

    The code is I501 if a node is in the way, I502 if the outputs are. `place` is the location as messages show it.
    """
    names = " and ".join(quote(axis.name) for axis in axes)
    help = stopped.help or "export the model at the size that you need, or change the model before this node"
    if stopped.index >= 0:
        return InferenceError(Finding("I501", f"{names} cannot become {size}", place, stopped.why, help))
    return InferenceError(Finding("I502", f"{names} cannot become {size} for certain", place, stopped.why, help))


def _apply_changes(graph: Any, tracking: Tracking, size: int | str, lists_inputs: bool) -> None:
    """Change a GraphProto and its subgraphs in place, as the pass `tracking` has recorded.

    The new size is also written into the types of values. With `lists_inputs`, new initializers of this graph become
    inputs, too.
    """
    for (index, attribute), inner in tracking.inner.items():
        _apply_changes(dict(subgraphs(graph.node[index]))[attribute], inner, size, False)
    tracking.edits.apply(graph, lists_inputs)
    _state_sizes(graph, tracking, size)


def _state_sizes(graph: Any, tracking: Tracking, size: int | str) -> None:
    """Write the new size into the types of values that have the resized axis, in place, in one GraphProto.

    The values are the inputs, outputs and value_info of the graph; its subgraphs are unchanged. The pass `tracking`
    knows the places of the axis. `size` is a number or the name of a variable.
    """
    for value in (*graph.input, *graph.output, *graph.value_info):
        place = tracking.places.get(value.name)
        if place is None:
            continue
        kind = value.type
        while kind.WhichOneof("value") == "sequence_type":
            kind = kind.sequence_type.elem_type
        if kind.WhichOneof("value") != "tensor_type":
            continue
        dims = kind.tensor_type.shape.dim
        if place.axis >= len(dims):
            continue
        new: Size = variable(size) if isinstance(size, str) else size
        total = place.outer * new * place.inner
        if isinstance(total, Dim):
            dims[place.axis].dim_param = str(total)
        else:
            dims[place.axis].dim_value = total


def _check_resized(engine: Engine, resized: Model, registry: Registry, axes: Sequence[_Axis], size: int | str) -> None:
    """Raise InferenceError I501 if inference finds a fault in the resized model at a place where the model had none.

    Args:
        engine: the inference of the model as it was.
        resized: the resized model.
        registry: the operators that are known.
        axes: the resized axes, for the message.
        size: their new size, for the message.
    """
    index = index_model(resized.proto, registry.domains)
    again = Engine(resized, registry, {}, default_budget(resized.proto.ByteSize(), Limits()), index=index)
    again.run()
    old = dict(_faults_of(engine))
    for place, why in _faults_of(again):
        if place not in old:
            raise _error_of(TrackingStopped(0, f"inference contradicts the result: {why}"), axes, size, place)


def _faults_of(engine: Engine) -> Iterator[tuple[str, str]]:
    """Yield (place, reason) for each value whose stated type is contradicted, and for each node with a problem.

    Graphs that are never run are left out.
    """
    for scope in engine.all_scopes():
        if scope.unused:
            continue
        for name, why in scope.conflicts.items():
            yield f"{scope.body.label}, {quote(name)}", why
        for index, problems in scope.problems.items():
            yield scope.body.location(index), f"{problems[0].message}: {problems[0].why}"
