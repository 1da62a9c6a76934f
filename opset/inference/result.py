"""What an inference found, how far it got, and the model with it written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from opset.errors import Finding, InferenceError, printable
from opset.inference.dimensions import Dim, Size, variables
from opset.inference.engine import Engine, Frame
from opset.inference.outcomes import Problem
from opset.inference.types import Type, join, layers, mapped, meet, of_proto, to_proto
from opset.model import load
from opset.model import proto as pb
from opset.model.container import Model
from opset.model.graph import function_key, subgraphs
from opset.opsets.registry import Registry, default_registry

__all__ = ["Gap", "Inference", "Value", "infer", "infer_shapes"]

KNOWN, SYMBOLIC, RANKED, TYPED, NOTHING = "known", "symbolic", "rank", "type", "nothing"
"""How much is known of a value: all sizes as numbers; all sizes, some with variables; its rank; its type alone."""
MAX_WRITTEN, MAX_EACH = 1 << 26, 256
"""Bytes of the types that are written into a model at most, and more for each node: small models may have long ones."""


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of one output of a node; `place` is the node's path."""

    name: str
    place: str
    operator: str
    type: Type | None

    @property
    def coverage(self) -> str:
        """How much is known: "known", "symbolic", "rank", "type" or "nothing"."""
        return _coverage(self.type)


@dataclass(frozen=True, slots=True)
class Gap:
    """A value of which not all is known, though of the node's inputs enough is: where that begins, and why."""

    value: str
    place: str
    known: str
    reason: str


class Inference:
    """The result of `infer`.

    - `findings`: contradictions, each with both sides (I1xx), and nodes that do not fit their operators (I2xx); not in
      branches of which a condition decides whether they are run: there they are gaps, since a model may guard itself;
    - `gaps`: where something is not known, and the inputs do not explain it;
    - `coverage`: how many outputs of nodes are "known", "symbolic", of known "rank", of known "type", or "nothing".
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.model = engine.model
        self.findings = tuple(_findings(engine))
        self.left_out = 0
        """How many types `written` left out, since they would have taken too much room."""

    def type(self, name: str) -> Type | None:
        """Return what is known of a value of the main graph, None where nothing is."""
        return next(iter(self._engine.frames.values())).types.get(name)

    def shape(self, name: str) -> tuple[Size | None, ...] | None:
        """Return the shape of a tensor of the main graph: ints, and sizes with variables, which print readably."""
        found = self.type(name)
        return None if found is None else found.shape

    @property
    def variables(self) -> frozenset[str]:
        """The names of dimension variables that the model states, and of those made for sizes that only data tells."""
        return frozenset(self._engine.variables)

    def values(self) -> Iterator[Value]:
        """Yield every output of every node of every graph, and of functions as each different call has it."""
        for frame in self._frames():
            for index, node in enumerate(frame.body.proto.node):
                place = frame.body.location(index)
                for name in node.output:
                    if name:
                        yield Value(name, place, node.op_type, frame.types.get(name))

    def _frames(self) -> list[Frame]:
        return [*self._engine.frames.values(), *(frame for each in self._engine.calls.values() for frame in each)]

    @property
    def coverage(self) -> dict[str, int]:
        """How many outputs of nodes are known how far."""
        counts: Counter[str] = Counter()
        for frame in self._frames():
            for node in frame.body.proto.node:
                counts.update(_coverage(frame.types.get(name)) for name in node.output if name)
        return {each: counts[each] for each in (KNOWN, SYMBOLIC, RANKED, TYPED, NOTHING)}

    @property
    def gaps(self) -> list[Gap]:
        """The first values on each way of which type or rank is not known, in the order of nodes."""
        return [gap for frame in self._frames() if not frame.unused for gap in _gaps(self._engine, frame)]

    def written(self, overwrite: bool = False) -> Model:
        """Return the model with value_info for all that is known, and outputs completed.

        What is stated stays, completed where it says less; with `overwrite`, what contradicts the inference, or says
        less, is replaced. What goes beyond MAX_WRITTEN bytes is left out, and counted in `left_out`. Inputs are as they
        were, but for variables that were bound to numbers.
        """
        message = pb.ModelProto()
        message.CopyFrom(self.model.proto)
        roots = _roots(message)
        room = MAX_WRITTEN + MAX_EACH * sum(len(frame.body.proto.node) for frame in self._engine.frames.values())
        self.left_out = 0
        for frame in self._engine.frames.values():
            graph = _graph_at(roots, frame.key)
            if graph is not None:
                room, left_out = _write(graph, frame, self._engine, overwrite, room)
                self.left_out += left_out
        for function in message.functions if overwrite else ():
            _replace(function, self._engine.calls.get(function_key(function), []), self._engine)
        return self.model.with_proto(message, changed=True)


def infer(
    model: Any,
    *,
    dims: Mapping[str, int] | None = None,
    data_prop: bool = True,
    check_type: bool = False,
    overwrite: bool = False,
    registry: Registry | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Inference:
    """Return what types and shapes a model's values have, as far as that can be known, and why not where it cannot.

    `model` is a path, bytes, an opset.Model or a ModelProto of the onnx package. `dims` binds dimension variables to
    numbers; `data_prop` follows elements through shape arithmetic; `check_type` holds inputs of nodes to the types of
    their operators; with `overwrite`, what the model states of values is not believed; `progress` is told now and then
    how many nodes of how many of the main graph are done.

    Raises ModelError where the model is malformed. Whatever contradicts something is in the result's `findings`.
    """
    loaded = model if isinstance(model, Model) else load(model)
    engine = Engine(
        loaded, registry or default_registry(), dict(dims or {}), data_prop=data_prop, check_type=check_type,
        stated=not overwrite, progress=progress,
    )  # fmt: skip
    engine.run()
    return Inference(engine)


def infer_shapes(model: Any, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False) -> Any:
    """Return the model with the types and shapes of its values written in, as value_info; the given one is not touched.

    The parameters are those of the function of this name in the onnx package, as is the form of the result: an
    onnx.ModelProto for one, an opset.Model for a path, bytes or an opset.Model.

    Raises ModelError where the model is malformed; with `check_type` InferenceError where inputs have types that the
    operator does not take; with `strict_mode` InferenceError with everything that does not fit together.
    """
    found = infer(model, check_type=check_type, data_prop=data_prop)
    wrong = [each for each in found.findings if strict_mode or each.code == "I202"]
    if wrong:
        raise InferenceError(wrong)
    return found.written().as_given()


def _coverage(type_: Type | None) -> str:
    _, inside = layers(type_)
    if inside is None or inside.element is None:
        return NOTHING
    if inside.shape is None:
        return TYPED
    if None in inside.shape:
        return RANKED
    return SYMBOLIC if any(isinstance(size, Dim) for size in inside.shape) else KNOWN


def _findings(engine: Engine) -> Iterator[Finding]:
    for frame in (*engine.frames.values(), *(frame for each in engine.calls.values() for frame in each)):
        if frame.unused or frame.guarded:
            continue
        producers: dict[str, int] = {}
        if frame.conflicts:
            producers = {name: index for index, node in enumerate(frame.body.proto.node) for name in node.output}
        for name, why in frame.conflicts.items():
            place = frame.body.location(producers[name]) if name in producers else frame.body.label
            yield Finding(
                "I101", f"the stated type of '{printable(name)}' contradicts what is inferred", place, why,
                "correct or remove the stated type, or replace it: --overwrite",
            )
        for index, problems in frame.problems.items():
            yield from (_finding(frame, index, problem) for problem in problems)


def _finding(frame: Frame, index: int, problem: Problem) -> Finding:
    return Finding(problem.code, problem.message, frame.body.location(index), problem.why, problem.help)


def _gaps(engine: Engine, frame: Frame) -> Iterator[Gap]:
    """Yield the nodes of a body of whose outputs less is known than of their inputs."""
    for index, node in enumerate(frame.body.proto.node):
        known = {name: _coverage(frame.types.get(name)) for name in node.output if name}
        missing = [
            name for name, each in known.items()
            if each in (NOTHING, TYPED, RANKED) or (frame.guarded and name in frame.conflicts)
        ]  # fmt: skip
        if not missing:
            continue
        given = [_coverage(engine.type_in(frame, name)) for name in node.input if name]
        problems = frame.problems.get(index, ())
        if not problems and any(each in (NOTHING, TYPED) for each in given):
            continue  # the inputs explain it
        clashes = [frame.conflicts[name] for name in known if frame.guarded and name in frame.conflicts]
        doubts = [*frame.doubts.get(index, ()), *(problem.why for problem in problems), *clashes]
        said = "; ".join(dict.fromkeys(doubts))
        for name in missing:
            yield Gap(name, frame.body.location(index), known[name], said)


# Writing


def _roots(message: Any) -> list[Any]:
    """Return the graphs of a ModelProto that no node holds, in the order in which they are inferred."""
    found = [message.graph]
    for training in message.training_info:
        found += [getattr(training, part) for part in ("initialization", "algorithm") if training.HasField(part)]
    return found


def _graph_at(roots: Sequence[Any], key: Any) -> Any:
    """Return the graph that a frame is of, below one of these, None where it is one of a function."""
    steps = []
    while len(key) == 3:
        key, index, name = key
        steps.append((index, name))
    if not isinstance(key[0], int):
        return None
    graph = roots[key[0]]
    for index, name in reversed(steps):
        graph = next((each for found, each in subgraphs(graph.node[index]) if found == name), None)
        if graph is None:
            return None
    return graph


def _write(graph: Any, frame: Frame, engine: Engine, overwrite: bool, room: int) -> tuple[int, int]:
    """Write what is known of a graph's values into it, as far as there is room for that.

    Returns what room is left, and how many types were left out.
    """
    known = {value.name: value.type for value in graph.value_info} | {value.name: value.type for value in graph.output}
    protos: dict[Type, tuple[Any, int]] = {}
    left_out = 0

    def size(each: Size | None) -> Size | None:
        # A variable is of the same number in the whole model, which a size that each turn of a loop has anew is not.
        return None if each is None or (frame.repeated and not frame.local.isdisjoint(variables(each))) else each

    if engine.dims:
        for value in graph.input:
            stated = of_proto(value.type, engine.size)
            if stated is not None:
                fill(value.type, stated, False)
    for node in graph.node:
        for name in node.output:
            type_ = frame.types.get(name) if name else None
            if type_ is None:
                continue
            if frame.repeated and frame.local:
                type_ = mapped(type_, size)
                assert type_ is not None
            if type_ not in protos:
                made = to_proto(type_) if _coverage(type_) != NOTHING else None
                length = 0 if made is None else made.ByteSize()
                protos[type_] = (made if length <= room else None), length
            made, length = protos[type_]
            left_out += length > room
            if made is None or length > room:
                continue
            if name not in known:
                graph.value_info.add(name=name, type=made)
            elif overwrite or name not in frame.conflicts:
                fill(known[name], type_, overwrite)
            room -= length
    return room, left_out


def _replace(function: Any, calls: Sequence[Frame], engine: Engine) -> None:
    """Replace what a function and the graphs in it state of values by what holds in all calls."""

    def number(size: Size | None) -> Size | None:
        return size if isinstance(size, int) else None

    pending: list[tuple[Any, Sequence[Frame]]] = [(function, calls)]
    while pending:
        body, frames = pending.pop()
        made = {name for node in body.node for name in node.output}
        outputs = [] if body is function else [*body.output]
        for value in [*body.value_info, *outputs]:
            found = [frame.types.get(value.name) for frame in frames]
            if value.name not in made or not any(found):
                continue
            common = mapped(reduce(join, found), number)
            stated = mapped(of_proto(value.type, engine.size), number)
            if any(meet(stated, each, lambda one, other: True)[1] for each in found):
                value.type.Clear()
            if common is not None:
                fill(value.type, common, True)
        for index, node in enumerate(body.node):
            for name, graph in subgraphs(node):
                inner = [frame.inside[index, name] for frame in frames if (index, name) in frame.inside]
                pending.append((graph, inner))


def fill(proto: Any, type_: Type, overwrite: bool) -> None:
    """Complete a TypeProto by what is known, its denotations kept; with `overwrite`, replace what differs."""
    while type_.kind in ("seq", "optional", "map"):
        field = {"seq": "sequence_type", "optional": "optional_type", "map": "map_type"}[type_.kind]
        if proto.WhichOneof("value") != field:
            if proto.WhichOneof("value") is None or overwrite:
                proto.MergeFrom(to_proto(type_))
            return
        if type_.inner is None:
            return
        proto = getattr(proto, field).value_type if type_.kind == "map" else getattr(proto, field).elem_type
        type_ = type_.inner
    field, made = f"{type_.kind}_type", to_proto(type_)
    if proto.WhichOneof("value") != field:
        if proto.WhichOneof("value") is None or overwrite:
            proto.MergeFrom(made)
        return
    stated, found = getattr(proto, field), getattr(made, field)
    if found.elem_type and (overwrite or not stated.elem_type):
        stated.elem_type = found.elem_type
    if not found.HasField("shape"):
        return
    if not stated.HasField("shape") or (overwrite and len(stated.shape.dim) != len(found.shape.dim)):
        stated.shape.CopyFrom(found.shape)
        return
    for mine, new in zip(stated.shape.dim, found.shape.dim, strict=False):
        kind = new.WhichOneof("value")
        if kind == "dim_value" and (overwrite or not mine.HasField("dim_value") or mine.dim_value < 0):
            mine.dim_value = new.dim_value
        elif kind == "dim_param" and (overwrite or mine.WhichOneof("value") is None or mine.dim_value < 0):
            mine.dim_param = new.dim_param
