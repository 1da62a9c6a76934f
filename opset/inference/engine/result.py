"""The result of an inference: types, findings, coverage, and the gaps at which it stops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from opset.budget import BudgetExceeded, Limits
from opset.errors import Finding, FindingList, InferenceError, quote
from opset.file_names import list_paths
from opset.html_text import MOST_ROWS, Table, findings_table, html_of, missing_attribute, one_line
from opset.inference.building.dimensions import Dim, Size
from opset.inference.building.types import Type, unwrap_layers
from opset.inference.building.work import default_budget
from opset.inference.engine.binding import bind_dims, check_dim_names, open_dim_names, stated_dim_names
from opset.inference.engine.engine import Engine, stopped_error
from opset.inference.engine.pickling import engine_arguments, restore_engine
from opset.inference.engine.scopes import Scope
from opset.inference.engine.writing import write_types
from opset.inference.limits import MAX_WARNINGS
from opset.model import load
from opset.model.graph.index import Body, ModelIndex
from opset.model.storage.container import MessageT, Model, ModelSource
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import Freeze, read_model

__all__ = ["Gap", "Inference", "Value", "infer", "infer_shapes"]

KNOWN, SYMBOLIC, RANKED, TYPED, NOTHING = "known", "symbolic", "rank", "type", "nothing"
"""Degrees of knowledge of a value: all sizes as numbers; all sizes, some with variables; its rank; its type alone."""
COVERAGE_WORDS = {
    KNOWN: "known in numbers",
    SYMBOLIC: "with variables",
    RANKED: "of known rank",
    TYPED: "of known type alone",
    NOTHING: "not known",
}
"""What reports call each degree."""


@dataclass(frozen=True, slots=True)
class Value:
    """The inferred type of one output of a node; the node is at `index` of a graph or function (`body`)."""

    name: str
    body: Body
    index: int
    type: Type | None

    @property
    def place(self) -> str:
        """The location of the node that has this output, as messages show it: "graph 'g', node 'up1' (Resize)"."""
        return self.body.location(self.index)

    @property
    def operator(self) -> str:
        """The name of the node's operator."""
        return self.body.operators[self.index][0]

    @property
    def coverage(self) -> str:
        """How much is known of the type: "known", "symbolic", "rank", "type" or "nothing".

        "known": all sizes are numbers; "symbolic": all sizes, some with variables; "rank": a size is unknown; "type":
        only the element type; "nothing": not even that.
        """
        return _coverage_of(self.type)


@dataclass(frozen=True, slots=True)
class Gap:
    """A value whose type is not fully known although the inputs of its node, at `index` of a graph or function, are.

    `known` is its coverage, such as "rank"; `reason` says why no more is known, "" if there is no reason.
    """

    value: str
    body: Body
    index: int
    known: str
    reason: str

    @property
    def place(self) -> str:
        """The location of the node, as messages show it: "graph 'g', node 'up1' (Resize)"."""
        return self.body.location(self.index)


_PLACES = {
    "save": "inference.written().save(path)",
    "proto": "inference.written().proto",
    "graph": "inference.written().graph",
    "value_info": "inference.written().graph.value_info",
    "types": "inference.type(name), or the `type` of each of inference.values()",
    "shapes": "inference.shape(name)",
    "errors": "inference.findings",
}
"""Where to find what an inference does not have, by the name under which it is looked for."""


class Inference:
    """The result of `infer`.

    - `findings`: contradictions, each with both types (I1xx), and nodes that do not fit their operators (I2xx). Only
      the first thousand are kept; `omitted` counts the rest. In branches that a condition guards, they are gaps, since
      the model may avoid them on purpose;
    - `gaps`: values that are not fully known although the inputs of their nodes are;
    - `coverage`: how many outputs of nodes are "known", "symbolic", of known "rank", of known "type", or "nothing".
    """

    def __init__(self, engine: Engine) -> None:
        """Collect the findings and notes of an inference that has run."""
        self._engine = engine
        self.model = engine.model
        self.index = engine.index
        self.notes = [*engine.index.notes, *_warnings_of(engine)]
        """Changes that were made before the model was read, and nodes that harmlessly differ from their operators: in
        forms that runtimes accept, or by attributes that do not exist."""
        findings = FindingList(_findings_of(engine))
        self.findings = tuple(findings)
        self.omitted = findings.omitted
        self.stopped = "" if engine.stopped is None else f"{engine.stopped[0]}: {engine.stopped[1].why}"
        """The place and the reason if the inference was stopped, else ""."""
        self.left_out = 0
        """The number of types that `written` left out, since they would have taken too much room."""

    def __repr__(self) -> str:
        """Return one line with the coverage and the number of findings."""
        counts = ", ".join(f"{count:,} {degree}" for degree, count in self.coverage.items() if count)
        found = f"; {len(self.findings) + self.omitted:,} findings" if self.findings else ""
        return one_line("Inference", f"{counts or 'no values'}{found}{'; stopped' if self.stopped else ''}")

    def _repr_html_(self) -> str:
        """Return findings, gaps, values and notes as HTML, as notebooks show them; long tables are cut."""
        values = [(each.name, each.place, str(each.type or "")) for each in islice(self.values(), MOST_ROWS + 1)]
        gaps = [(each.value, each.place, each.known, each.reason) for each in self.gaps[: MOST_ROWS + 1]]
        tables = [
            findings_table("findings", self.findings),
            Table("gaps", ("value", "node", "known", "reason"), gaps),
            Table("values", ("value", "node", "type"), values),
            Table("notes", (), [(note,) for note in self.notes]),
        ]
        return html_of(repr(self).strip("<>"), tables)

    def __reduce__(self) -> tuple[object, ...]:
        """Return what a pickle stores: a function that makes the inference, and its arguments.

        All results are stored, but not the functions that computed them.
        """
        return _restore_inference, (engine_arguments(self._engine), self.left_out)

    if not TYPE_CHECKING:  # a checker of types knows the names

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, with a message that says how to reach what `name`, such as "save", stands for."""
            raise missing_attribute("Inference", name, _PLACES, dir(type(self)))

    def findings_in_branches(self) -> FindingList:
        """Return the findings in graphs and functions that run only under a condition, or never.

        They are not in `findings`.
        """
        return FindingList(_findings_of(self._engine, certain=False))

    def type(self, name: str) -> Type | None:
        """Return the type of the value `name` of the main graph as far as it is known.

        The result is None if nothing is known, or there is no such value.
        """
        return next(iter(self._engine.scopes.values())).types.get(name)

    def shape(self, name: str) -> tuple[Size | None, ...] | None:
        """Return the shape of the tensor `name` of the main graph, or None if its rank is unknown.

        A size is an int, a Dim with variables, which prints readably, or None if it is unknown. The result is also None
        if there is no such tensor.
        """
        type_ = self.type(name)
        return None if type_ is None else type_.shape

    @property
    def scopes(self) -> list[Scope]:
        """The types and elements of all values by graph, the main graph first, called functions last.

        A function has one Scope for each call that differs from the others in more than names.
        """
        return self._engine.all_scopes()

    @property
    def variables(self) -> frozenset[str]:
        """The names of dimension variables that the model states, or that were made for sizes that depend on data."""
        return frozenset(self._engine.sizes.variables)

    def values(self) -> Iterator[Value]:
        """Yield a Value for each named output of each node; in a function, one for each different call."""
        for values in self.by_node():
            yield from values

    def by_node(self) -> Iterator[list[Value]]:
        """Yield the same Values as `values`, in one list for each node that has outputs."""
        for scope in self._engine.all_scopes():
            for index, names in enumerate(scope.body.computes):
                values = [Value(name, scope.body, index, scope.types.get(name)) for name in names if name]
                if values:
                    yield values

    @property
    def coverage(self) -> dict[str, int]:
        """The number of node outputs by how much is known: "known", "symbolic", "rank", "type" or "nothing".

        All five are keys, in this order; see `Value.coverage`. Outputs in subgraphs count, too, and those in a function
        once for each different call.
        """
        counts: Counter[str] = Counter()
        for scope in self._engine.all_scopes():
            for names in scope.body.computes:
                counts.update(_coverage_of(scope.types.get(name)) for name in names if name)
        return {coverage: counts[coverage] for coverage in COVERAGE_WORDS}

    @property
    def gaps(self) -> list[Gap]:
        """The values that are not fully known, in node order, with the reasons.

        Outputs of a node with an input of unknown rank are left out, unless the node itself has a problem. Graphs that
        are never run are left out, too.
        """
        return [gap for scope in self._engine.all_scopes() if not scope.unused for gap in _gaps_in(scope)]

    def written(self, overwrite: bool = False) -> Model:
        """Return a copy of the model with inferred types written in: as value_info, and in its outputs.

        The bytes of written types are limited in proportion to the number of nodes. `left_out` counts the types that
        are left out for this reason. Inputs keep their types, but a variable that was bound to a number becomes the
        number. Functions change only with `overwrite`, and get no additional types.

        Args:
            overwrite: Whether inferred types replace stated types that contradict them or are less precise. If False, a
                stated type stays, and its missing parts are filled in.
        """
        model, self.left_out = write_types(self._engine, overwrite)
        return model


def _restore_inference(arguments: tuple[Any, ...], left_out: int) -> Inference:
    """Return the inference that a pickle holds; `arguments` are passed to `restore_engine`."""
    inference = Inference(restore_engine(*arguments))
    inference.left_out = left_out
    return inference


@checked_options
def infer(
    model: Any,
    *,
    dims: Mapping[str, int | str] | None = None,
    data_prop: bool = True,
    check_type: bool = False,
    overwrite: bool = False,
    schemas: Schemas = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
    freeze: Freeze = (),
    strict: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Inference:
    """Return the types and shapes of a model's values as far as they are known, and the reasons for unknown ones.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        dims: Numbers for sizes that the model leaves open: by dim_param, "x.0" for the first size of input x, or a name
            such as "y_d0", which an earlier inference made for an unknown size. A size that the model states as a
            number becomes another one, or a variable, as `change_sizes` does it.
        data_prop: Whether elements are followed through shape arithmetic.
        check_type: Whether inputs of nodes are checked against the signatures of their operators.
        overwrite: Whether the types that the model states for computed values are ignored.
        schemas: Folders of operator YAML, for domains of your own.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: Limits of steps, memory and time. Without them, the inference may take steps in proportion to the model;
            if these do not suffice, the rest is unknown, and `stopped` of the result says so.
        freeze: Names of initializers that count as constants even though a caller could override them; "all" for all
            such initializers.
        strict: Whether a node that violates the standard is a finding even if runtimes accept it (see `opset explain
            quirks`).
        progress: Called at times with two numbers: of nodes that are done, and of all nodes of the main graph.

    Returns:
        The inference; contradictions are in its `findings`.

    Raises:
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` has faults.
        UsageError: U103 if a name in `dims` or `freeze` is not in the model, or a number is not valid.
        InferenceError: I401 if `limits` do not suffice, I501 or I502 if a size cannot be changed, I301 or I302 if
            functions or rules of a domain in `schemas` cannot be used.
    """
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    limits = limits or Limits()
    registry = registry_with(schemas)
    notes: list[str] = []
    numbers: dict[str, int] = {}
    if dims:
        from opset.inference.axes.changing import resize  # it needs an inference itself

        loaded, numbers, notes = resize(loaded, dims, registry, limits)
    bound, index = read_model(bind_dims(loaded, numbers), registry, freeze, strict)
    index.notes += notes
    engine = Engine(
        bound,
        registry,
        numbers,
        default_budget(loaded.proto.ByteSize(), limits),
        data_prop=data_prop,
        check_type=check_type,
        use_stated=not overwrite,
        limited=bool(limits.as_dict()),
        strict=strict,
        index=index,
        progress=progress,
    )
    _run_engine(engine)
    if numbers and engine.stopped is None:
        check_dim_names(numbers, engine.sizes.variables | open_dim_names(loaded), stated_dim_names(loaded))
    return Inference(engine)


def infer_strictly(model: Model, index: ModelIndex, registry: Registry, limits: Limits | None = None) -> Inference:
    """Return the inference of a model that is indexed already; each violation of the standard is a finding.

    Inputs of nodes are checked against the signatures of their operators, too.

    Args:
        model: The model.
        index: The index of its graphs, functions and nodes.
        registry: The operators that are known.
        limits: Limits of steps, memory and time. Without them, the inference may take steps in proportion to the model;
            if these do not suffice, the rest is unknown, and `stopped` of the result says so.

    Raises:
        ModelError: The functions of the model call each other in a cycle.
        InferenceError: I401 if `limits` do not suffice, I301 or I302 if functions or rules of a user's domain cannot be
            used.
    """
    limits = limits or Limits()
    budget = default_budget(model.proto.ByteSize(), limits)
    limited = bool(limits.as_dict())
    engine = Engine(model, registry, {}, budget, check_type=True, limited=limited, strict=True, index=index)
    _run_engine(engine)
    return Inference(engine)


def _run_engine(engine: Engine) -> None:
    """Run an engine's inference, as far as its budget allows.

    Raises InferenceError I401 if limits that the caller gave do not suffice.
    """
    try:
        engine.run()
    except BudgetExceeded as exhausted:
        raise stopped_error(engine, exhausted) from None


@overload
def infer_shapes(
    model: ModelSource, check_type: bool = ..., strict_mode: bool = ..., data_prop: bool = ...
) -> Model: ...
@overload
def infer_shapes(
    model: MessageT, check_type: bool = ..., strict_mode: bool = ..., data_prop: bool = ...
) -> MessageT: ...
@checked_options
def infer_shapes(model: Any, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False) -> Any:
    """Return the model with the types and shapes of its values written in, as the onnx function of this name does.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package; it is not changed.
        check_type: Whether inputs of nodes are checked against the signatures of their operators.
        strict_mode: Whether InferenceError is raised for any finding of the inference, such as a stated type that
            contradicts what is inferred, or a node that does not fit its operator.
        data_prop: Whether elements are followed through shape arithmetic.

    Returns:
        A ModelProto of the onnx package if `model` is one, else an opset.Model.

    Raises:
        ModelError: The model is malformed.
        InferenceError: With `check_type`, inputs have types that the operator does not take; with `strict_mode`, there
            are any findings.
    """
    inference = infer(model, check_type=check_type, data_prop=data_prop)
    wrong = FindingList(finding for finding in _findings_of(inference._engine) if strict_mode or finding.code == "I202")
    if wrong:
        raise InferenceError(wrong)
    return inference.written().as_given()


def _coverage_of(type_: Type | None) -> str:
    """Return how much is known of a type, or of the type inside of sequences and optionals.

    "known": all sizes are numbers; "symbolic": all sizes, some with variables; "rank": a size is unknown; "type": only
    the element type; "nothing": not even that.
    """
    _, inside = unwrap_layers(type_)
    if inside is None or inside.element is None:
        return NOTHING
    if inside.shape is None:
        return TYPED
    if None in inside.shape:
        return RANKED
    return SYMBOLIC if any(isinstance(size, Dim) for size in inside.shape) else KNOWN


def _findings_of(engine: Engine, certain: bool = True) -> Iterator[Finding]:
    """Yield a finding for each contradiction and each problem of a node, in graphs and functions that certainly run.

    With `certain` False, yield the findings in all other graphs and functions instead: those that a condition guards,
    and those that nothing runs.
    """
    for scope in engine.all_scopes():
        if (scope.unused or scope.guarded) == certain:
            continue
        producers: dict[str, int] = {}
        if scope.conflicts:
            producers = {name: index for index, names in enumerate(scope.body.computes) for name in names}
        for name, why in scope.conflicts.items():
            place = scope.body.location(producers[name]) if name in producers else scope.body.label
            message = f"the stated type of {quote(name)} contradicts what is inferred"
            help = "correct or remove the stated type, or replace it: --overwrite"
            yield Finding("I101", message, place, why, help)
        for index, problems in scope.problems.items():
            place = scope.body.location(index)
            for code, message, why, help in problems:
                yield Finding(code, message, place, why, help)


def _warnings_of(engine: Engine) -> list[str]:
    """Return a line, "<place>: <differences>", for each node that harmlessly differs from its schema.

    After MAX_WARNINGS lines, a last line states how many nodes are left.
    """
    warned = [(scope, index, warnings) for scope in engine.all_scopes() for index, warnings in scope.warnings.items()]
    shown = [f"{scope.body.location(index)}: {'; '.join(warnings)}" for scope, index, warnings in warned[:MAX_WARNINGS]]
    return shown + ([f"{len(warned) - len(shown):,} more such nodes"] if len(warned) > len(shown) else [])


def _gaps_in(scope: Scope) -> Iterator[Gap]:
    """Yield a Gap for each node output in a scope whose type or shape is not fully known.

    A scope is a graph or function. Symbolic sizes count as known. If a node has an input of unknown type or rank, this
    input explains the unknown outputs. Such a node gives Gaps only if the node has problems itself.

    If a condition decides whether the scope is run, as for a branch of an If, an output whose stated type contradicts
    the inferred type is also a gap.
    """
    for index, names in enumerate(scope.body.computes):
        coverages = {name: _coverage_of(scope.types.get(name)) for name in names if name}
        missing = [
            name
            for name, coverage in coverages.items()
            if coverage in (NOTHING, TYPED, RANKED) or (scope.guarded and name in scope.conflicts)
        ]
        if not missing:
            continue
        input_coverages = [_coverage_of(scope.type_of(name)) for name in scope.body.reads[index] if name]
        problems = scope.problems.get(index, ())
        if not problems and any(coverage in (NOTHING, TYPED) for coverage in input_coverages):
            continue  # the inputs explain it
        clashes = [scope.conflicts[name] for name in coverages if scope.guarded and name in scope.conflicts]
        doubts = [*scope.doubts.get(index, ()), *(problem.why for problem in problems), *clashes]
        said = "; ".join(dict.fromkeys(doubts))
        for name in missing:
            yield Gap(name, scope.body, index, coverages[name], said)
