"""The conversion of a model to a target: functions are prepared, bodies planned and changed, the IR version set.

    convert_model -> try_strategies -> convert_once -> BodyConversion.plan -> BodyConversion.apply -> set_ir_version

The given model is not touched: facts about its values are read from it, and a copy is changed. The Conversion that is
returned holds what `report` shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from opset.budget import ALLOW_MORE, Budget, BudgetExceeded, Limits
from opset.errors import SHOWN, Finding, ModelError, listing, quote
from opset.model import proto as pb
from opset.model.elements import element_name
from opset.model.graph.index import Body, FreshNames, ModelIndex, index_model, messages_of
from opset.model.storage.container import Model
from opset.model.storage.tensor import tensor_values
from opset.opsets.amendments import operators_amended_after
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES, release_with
from opset.preparation import Freeze, copy_model, read_model
from opset.schemas import quirks
from opset.schemas.names import domain_name
from opset.version_converter.body_conversion import BodyConversion
from opset.version_converter.context import Context
from opset.version_converter.crossing import INEXACTLY
from opset.version_converter.facts import ValueFacts
from opset.version_converter.helps import NEWER_OPSET
from opset.version_converter.ir_version import set_ir_version
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.limits import MAX_STACKED
from opset.version_converter.replacement import drop_imports, set_imports, unused_imports
from opset.version_converter.result import Conversion
from opset.version_converter.routes import Routes, Verdict, routes_of
from opset.version_converter.targets import Target, target_for_model

if TYPE_CHECKING:
    from opset.opsets.runtimes import Runtime
    from opset.version_converter.availability import Availability
    from opset.version_converter.opset_choice import Sample

MAX_CANDIDATES = 4
"""Opsets that are tried for a runtime, if the conversion to the first one is refused."""
BASE_STEPS, STEPS_PER_BYTE = 1 << 21, 8
BASE_BYTES, BYTES_PER_BYTE = 1 << 25, 8
"""What a conversion may do and add: for any model, and for each of its bytes, weights aside."""


class Task(NamedTuple):
    """The target of a conversion, with the registry, routes and budget that the conversion uses.

    `inference` infers types and shapes of the model as it was read, before functions are copied for each call.
    """

    target: Target
    registry: Registry
    routes: Routes
    budget: Budget
    inference: LazyInference

    def infer(self, model: Model, index: ModelIndex) -> LazyInference:
        """Return the inference of types and shapes of a model; it runs only when a fact is first asked for.

        For the model as it was read, it is the `inference` of the task; for any other model, a new one.
        """
        return self.inference if index is self.inference.index else self.inference.for_model(model, index)


class Strategy(NamedTuple):
    """A way to copy the model-local functions of a model before the conversion, so that more is known in each copy.

    - `name`: which calls share one copy of a function;
    - `removes`: the codes of refusals in functions that it may remove;
    - `fixes_attributes`: whether values of attributes that calls give are written into the copies;
    - `fixes_inputs`: whether calls share a copy only if the same types and values are inferred for their inputs.
    """

    name: str
    removes: frozenset[str] = frozenset()
    fixes_attributes: bool = False
    fixes_inputs: bool = False

    def may_remove(self, refusals: Iterable[Finding]) -> bool:
        """Whether copying functions may remove one of the refusals.

        It may if a refusal is in a function, and its code is in `removes`.
        """
        return any(finding.code in self.removes and finding.place.startswith("function ") for finding in refusals)


STRATEGIES = (
    Strategy("calls with the same omissions"),
    Strategy("calls with the same attributes", frozenset(("C206", "C209")), fixes_attributes=True),
    Strategy(
        "calls with the same attributes and inputs",
        frozenset(("C202", "C203", "C205", "C206", "C207", "C209")),
        fixes_attributes=True,
        fixes_inputs=True,
    ),
)
"""The strategies in the order in which they are tried; the first is for every model."""


def convert_model(
    model: Model,
    target: Target,
    registry: Registry,
    dims: Mapping[str, int | str] | None = None,
    limits: Limits | None = None,
    freeze: Freeze = (),
    routes: Routes | None = None,
) -> Conversion:
    """Return the conversion of a model to a target; the model itself is not changed.

    For a runtime, several opsets may be tried. The first conversion without refusals is returned, or else the one that
    refuses the fewest nodes.

    Args:
        model: The model, as it was loaded.
        target: The versions to reach.
        registry: The operators that are known.
        dims: Sizes of inputs, by dim_param or "x.0", as `change_sizes` takes them. The result is right for these sizes
            only; its inputs state them, and its outputs the sizes that follow.
        limits: Bounds on the work and the size of the conversion; by default in proportion to the model.
        freeze: Names of initializers that become constants, or "all".
        routes: The transitions of operators; by default those of the registry.

    Returns:
        The conversion. If something cannot be converted, its `refusals` say what, and its `model` is None.

    Raises:
        InferenceError: I501 or I502 if a size in `dims` that the model states as a number cannot be replaced.
        ModelError: The model is malformed.
        UsageError: U103 if no input has a name in `dims`, or no initializer one in `freeze`.
    """
    given = model
    notes: list[str] = []
    if dims:
        from opset.inference.axes.changing import with_sizes  # most conversions need no inference
        from opset.inference.engine.binding import plain_sizes

        dims = plain_sizes(dims)
        model, notes = with_sizes(model, dims, registry, limits)
    model, index = read_model(model, registry, freeze)
    index.notes += notes
    index.call_order()
    limits, size = limits or Limits(), model.proto.ByteSize()
    budget = Budget(limits, max_steps=BASE_STEPS + STEPS_PER_BYTE * size, max_bytes=BASE_BYTES + BYTES_PER_BYTE * size)

    try:
        return _convert_prepared(given, model, index, target, registry, dims, limits, routes, budget)
    except BudgetExceeded as exhausted:  # before any node was converted
        conversion = begin_conversion(index, target_for_model(target, index.opsets), dims)
        conversion.refusals.append(Finding("C401", "the conversion was stopped", "model", exhausted.why, ALLOW_MORE))
        return conversion


def _convert_prepared(
    given: Model,
    model: Model,
    index: ModelIndex,
    target: Target,
    registry: Registry,
    dims: Mapping[str, int | str] | None,
    limits: Limits,
    routes: Routes | None,
    budget: Budget,
) -> Conversion:
    """Return the conversion of a model to which `dims` and `freeze` of `convert_model` have been applied already.

    Arguments that are not listed here are as for `convert_model`. Raises BudgetExceeded if the budget is used up before
    any node is converted.

    Args:
        given: The model as the user gave it, to tell whether anything has changed.
        model: The model with the sizes that `dims` states, and constants for the initializers in `freeze`.
        index: The index of `model`.
        budget: The work that the conversion may do, within `limits`.
    """
    # Limits of the caller hold for inference too.
    inference = LazyInference(model, index, registry, budget if limits.as_dict() else None)
    if dims:
        model, inference = _state_outputs(model, inference, registry, is_given=model is given)
        index = inference.index
    if index.functions and target.runtime is not None and not target.runtime.local_functions:
        from opset.version_converter.calls import inline_all  # most runtimes run functions

        convert = partial(convert_model, registry=registry, limits=limits)
        inlining = inline_all(model, index, target.runtime, registry, limits, convert)
        if inlining.model is None:
            conversion = begin_conversion(index, target_for_model(target, index.opsets), dims)
            conversion.refusals += inlining.refusals
            return conversion
        model = inlining.model
        index = index_model(model.proto, registry.domains)
        inference = LazyInference(model, index, registry, budget if limits.as_dict() else None)
        target = target._replace(notes=(*target.notes, *inlining.notes))

    def task_of(target: Target) -> Task:
        """Return the task of a conversion to `target`; the newest release of onnx is treated as no release."""
        if target.release and target.release == RELEASES[-1].name:
            target = target._replace(release="")
        return Task(target, registry, routes or routes_of(registry, target.release), budget, inference)

    if target.runtime is None or not target.runtime.lists_operators:
        return _convert_to(given, model, index, task_of(target_for_model(target, index.opsets)), dims)
    from opset.version_converter.opset_choice import sample_nodes  # most conversions need no runtime

    facts = _facts_of(model, index, task_of(target))
    samples = sample_nodes(index, facts)
    inference.known_types = {body: each.known_types for body, each in facts.items()}
    refused = []
    for candidate in targets_by_kernels(samples, index, target, registry):
        conversion = _convert_to(given, model, index, task_of(candidate), dims, samples)
        if not conversion.refusals:
            return conversion
        refused.append((max(conversion.refused, len(conversion.refusals)), distance_to(index, candidate), conversion))
    return min(refused, key=itemgetter(0, 1))[2]


def _convert_to(
    given: Model,
    model: Model,
    index: ModelIndex,
    task: Task,
    dims: Mapping[str, int | str] | None,
    samples: Sequence[Sample] = (),
) -> Conversion:
    """Return the conversion of a model to the target of a task.

    If the model is at the target already, and the target's runtime runs all its nodes, the nodes are only checked. If
    nodes are refused, the conversion is tried again: first with each If whose condition is known replaced by its
    branch, then with loops that stack tensors. The result is the conversion with the fewest refusals.

    Args:
        given: The model as the user gave it, to tell whether anything has changed.
        model: The model in which sizes are set as `dims` says, and initializers frozen.
        index: The index of `model`.
        task: The target, with registry, routes and budget.
        dims: The sizes that the user gave, for a note.
        samples: If a runtime is targeted, one node for each combination of operator, types and attributes.
    """
    target = task.target
    start = begin_conversion(index, target, dims)
    start.notes += _unchecked_notes(index, task.registry)
    if target.runtime is not None:
        from opset.version_converter.availability import notes_on_operators

        start.notes += notes_on_operators(target.runtime)
    if samples:
        from opset.version_converter.opset_choice import notes_on_misfits

        start.notes += notes_on_misfits(samples, task.registry)
    availability = _availability_of(task)
    is_at_target = has_target(index, target)
    if is_at_target and availability is not None:
        from opset.version_converter.opset_choice import count_lacking

        lacking = count_lacking(samples, availability, task.routes, target.opsets)
        is_at_target = not lacking and not needless_imports(index.proto, target)
    if not is_at_target:
        start.refusals += find_newer_imports(index, target, task.registry)
    if index.functions and (not is_at_target or target.lowered):
        from opset.version_converter.default_graphs import find_default_graphs

        start.refusals += find_default_graphs(index, target, task.routes)
    if target.runtime is not None:
        start.refusals += find_foreign_types(index, target.runtime)
    if start.refusals:
        return start
    if is_at_target:
        _check_nodes(model, index, start, task)
        if not start.refusals:
            start.notes += _notes_of_kept(index, availability, task.registry)
            start.changes = model is not given
            start.model = model
        return start
    conversion = try_strategies(model, index, start, task)
    for prepare in (_take_known_branches, _stack_all_sequences):
        prepared = prepare(model, index, task) if conversion.refusals else None
        if prepared is not None:
            model, index, note = prepared
            start.notes.append(note)
            other = try_strategies(model, index, start, task)
            conversion = min(conversion, other, key=lambda each: len(each.refusals))
    return conversion


def targets_by_kernels(
    samples: Sequence[Sample], index: ModelIndex, target: Target, registry: Registry
) -> Iterator[Target]:
    """Yield the targets that a conversion to a runtime tries, one after the other, each with one opset of ai.onnx.

    The model's own opset comes first if the runtime takes it and runs all nodes at it. Then come the opsets at which
    the runtime runs most nodes, at most MAX_CANDIDATES - 1 of them. The opset nearest to the model's own comes last. No
    opset is repeated.

    Only one target is yielded if no runtime is targeted, if `target` fixes the version of ai.onnx, or if the model does
    not import ai.onnx. `samples` are nodes that stand for all nodes of the model.
    """
    nearest = target_for_model(target, index.opsets)
    is_free = target.least is not None and target.least.get("") != target.opsets.get("")
    if target.runtime is None or not is_free or "" not in index.opsets:
        yield nearest
        return
    from opset.version_converter.opset_choice import lacking_at, opsets_by_kernels

    runtime, last = target.runtime, nearest_opset(target.runtime, index.opsets[""], registry)
    is_first = last == index.opsets[""] and not lacking_at(last, samples, runtime, registry, nearest.opsets)
    if is_first:
        yield at_opset(nearest, last)
    opsets = opsets_by_kernels(samples, runtime, registry, index.opsets, nearest.opsets)
    for opset in dict.fromkeys((*opsets[: MAX_CANDIDATES - 1], last)):
        if opset != last or not is_first:
            yield at_opset(nearest, opset)


def nearest_opset(runtime: Runtime, opset: int, registry: Registry) -> int:
    """Return the opset of ai.onnx that is nearest to `opset` among those that a runtime takes.

    The result is the newer one of two that are equally near.
    """
    from opset.version_converter.opset_choice import opsets_of

    return min(reversed(opsets_of(runtime, registry)), key=lambda each: abs(each - opset))


def at_opset(target: Target, opset: int) -> Target:
    """Return the target with `opset` as its only opset of ai.onnx: each model gets this version.

    Operators are defined as in the newest release of onnx whose opset is not above `opset`.
    """
    return target._replace(opsets={**target.opsets, "": opset}, least=None, release=release_with(opset).name)


def distance_to(index: ModelIndex, target: Target) -> int:
    """Return how far the ai.onnx version of a model is from a target's; 0 if the target names none.

    If the model does not import ai.onnx, its version counts as 0.
    """
    source = index.opsets.get("", 0)
    return abs(target.opsets.get("", source) - source)


def needless_imports(proto: Any, target: Target) -> list[str]:
    """Return the domains that a ModelProto imports, but that no node or function uses and the target does not name."""
    return [domain for domain in unused_imports(proto) if domain not in target.opsets]


def _facts_of(model: Model, index: ModelIndex, task: Task) -> Mapping[Body, ValueFacts]:
    """Return the facts about the values of each body of a model, for a conversion to the target of the task.

    A body is a graph or a function. The model is not changed.
    """
    bodies = _body_conversions(model, index, model.proto, begin_conversion(index, task.target, None), task)
    return {body.body: body.facts for body in bodies}


def try_strategies(model: Model, index: ModelIndex, start: Conversion, task: Task) -> Conversion:
    """Convert a model by each of STRATEGIES in turn, until a conversion has no refusals, and return this conversion.

    If all have refusals, the conversion by the first strategy is returned. A strategy says which calls of a model-local
    function share a copy of it. A strategy is skipped if it cannot remove a refusal of the latest conversion. Each
    conversion begins with the versions and notes of `start`, which is not changed.
    """
    first = latest = convert_once(model, index, start, task, STRATEGIES[0])
    for strategy in STRATEGIES[1:]:
        if strategy.may_remove(latest.refusals):
            latest = convert_once(model, index, start, task, strategy)
            if not latest.refusals:
                return latest
    return first


def convert_once(model: Model, index: ModelIndex, start: Conversion, task: Task, strategy: Strategy) -> Conversion:
    """Return the conversion of a copy of a model to the target of `task`.

    The conversion takes over the versions and notes of `start`, which is not changed. It has no model if anything is
    refused. If the budget is used up, it ends with a refusal C401.

    `index` is the index of the model. `strategy` says which calls of a model-local function get a copy of it first.
    """
    conversion = _begin_again(start)
    if index.functions:
        try:
            model, index = _prepare_functions(model, index, conversion, task, strategy)
        except BudgetExceeded as exhausted:
            conversion.refusals.append(
                Finding("C401", "the conversion was stopped", "functions", exhausted.why, ALLOW_MORE)
            )
            return conversion
    proto = pb.ModelProto()
    proto.CopyFrom(model.proto)
    bodies = _body_conversions(model, index, proto, conversion, task)
    for body in reversed(bodies):
        try:
            body.apply(body.plan())
        except BudgetExceeded as exhausted:
            conversion.refusals.append(body.budget_finding(exhausted))
            return conversion
    for body in bodies:
        if body.body is index.main or body.body.function:
            set_imports(proto if body.body is index.main else body.message, task.target.opsets, body.versions)
    conversion.notes += _withdrawn_notes(conversion, task.registry)
    for _, op_type in conversion.passed:
        alias = quirks.alias(op_type, index.opsets.get("", 0))
        if alias is not None and any((op_type, "") in body.operators for body in index.bodies):
            conversion.notes.append(f"{op_type} is no operator of the standard at this version: {alias.what}")
    if task.target.runtime is not None:
        if needless := needless_imports(proto, task.target):
            drop_imports(proto, needless)
            conversion.notes.append(f"imports that nothing uses were dropped: {listing(needless, SHOWN)}")
        availability = bodies[0].availability
        conversion.notes += availability.notes() if availability is not None else ()
        conversion.notes += _inexact_notes(conversion)
    conversion.refusals += set_ir_version(proto, task.target, conversion.notes)
    conversion.ir_version = (index.proto.ir_version, proto.ir_version)
    if not conversion.refusals:
        conversion.changes = True
        conversion.model = model.with_proto(proto, changed=True)
    return conversion


def _withdrawn_notes(conversion: Conversion, registry: Registry) -> Iterator[str]:
    """Yield a note for each operator version that the standard has withdrawn, if nodes of it stay in the model.

    The note has the number of these nodes and the operator that takes their place, if there is one.
    """
    counts: Counter[tuple[str, str, int]] = Counter()
    for (domain, op_type, _, version), count in conversion.kept.items():
        counts[domain, op_type, version] += count
    for (domain, op_type, version), count in sorted(counts.items()):
        schema = registry.schema(op_type, version, domain)
        assert schema is not None
        if schema.deprecated:
            nodes = "1 node" if count == 1 else f"{count:,} nodes"
            use = f"; {schema.replacement} takes its place" if schema.replacement else ""
            yield f"not valid: {nodes} of {op_type}, which was withdrawn with version {schema.since_version}{use}"


def _inexact_notes(conversion: Conversion) -> Iterator[str]:
    """Yield one note on the nodes that compute in another type, in which results may differ; nothing for no nodes."""
    steps = (step for action in conversion.actions for step in action.steps if step.endswith(INEXACTLY))
    if counts := Counter(step.removesuffix(INEXACTLY) for step in steps):
        names = listing([f"{step} ({count})" for step, count in sorted(counts.items())], SHOWN)
        yield f"nodes that compute in a type in which results may differ: {names}"


def _take_known_branches(model: Model, index: ModelIndex, task: Task) -> tuple[Model, ModelIndex, str] | None:
    """Return (model, index, note): a model in which branches replace the If nodes whose condition is known.

    The note has the number of replaced nodes. The given model is not changed. Returns None if no If can be replaced, or
    if the budget is used up.
    """
    from opset.version_converter.branches import has_branches, take_branches  # most conversions refuse nothing

    if not has_branches(index):
        return None
    try:
        proto, count = take_branches(index, task.infer(model, index), task.budget)
    except BudgetExceeded:
        return None
    if proto is None:
        return None
    try:
        taken = index_model(proto, task.registry.domains)
    except ModelError:  # a branch reads an outer value under a name that it gives to one of its own afterwards
        return None
    note = f"If nodes in whose place their branch stands, as the condition is known: {count}"
    return model.with_proto(proto), taken, note


def _stack_all_sequences(model: Model, index: ModelIndex, task: Task) -> tuple[Model, ModelIndex, str] | None:
    """Return the model with loops that stack tensors instead of filling sequences, the model's index, and a note.

    The change is repeated, at most MAX_STACKED times, since a changed loop may make shapes in another loop known. The
    given model is not changed. Returns None if no loop can be changed, or if the budget is used up. From opset 13 on,
    loops can carry sequences: None is returned for such a target, too.
    """
    from opset.version_converter.stacking import CARRIED, stack_sequences  # most conversions refuse nothing

    if task.target.opsets.get("", CARRIED) >= CARRIED:
        return None
    total = 0
    try:
        for _ in range(MAX_STACKED):
            stacked = stack_sequences(index, task.infer(model, index), task.budget)
            if stacked is None:
                break
            proto, count = stacked
            model = model.with_proto(proto)
            index = index_model(proto, task.registry.domains)
            total += count
    except BudgetExceeded:
        return None
    return (model, index, f"sequences that loops filled, and that they stack now: {total}") if total else None


def _notes_of_kept(index: ModelIndex, availability: Availability | None, registry: Registry) -> Iterator[str]:
    """Yield the notes for the user on nodes that stay as they are; nothing if `availability` is None.

    The notes of `availability` come first, then one note for each domain without schemas.
    """
    if availability is not None:
        from opset.version_converter.availability import notes_on_domains

        yield from availability.notes()
        yield from notes_on_domains(index, registry)


def _unchecked_notes(index: ModelIndex, registry: Registry) -> Iterator[str]:
    """Yield one note that lists the operators whose signature is not fully known; nothing if there are none.

    They are operators of users' domains that nodes of the model use. A schema of such a domain may leave the signature
    open.
    """
    used = {operator for body in index.bodies for operator in body.operators}
    unknown = []
    for op_type, domain in sorted(used):
        if domain and not registry.is_standard(op_type, domain):
            schema = registry.schema(op_type, index.opsets.get(domain, 0), domain)
            if schema is not None and schema.unknown:
                unknown.append(f"{domain}.{op_type}")
    if unknown:
        yield f"nodes were not checked, or by names alone, for lack of a signature: {listing(unknown, SHOWN)}"


def begin_conversion(index: ModelIndex, target: Target, dims: Mapping[str, int | str] | None) -> Conversion:
    """Return a conversion without converted nodes, with the versions before and after, and the first notes.

    The notes are those of the index and of the target, then one for each domain of the target that the model does not
    import. For a release of onnx or of a runtime, notes on domains are left out. If `dims` has numbers, the last note
    says that the conversion is valid for these sizes alone. The IR version is the model's, before and after.
    """
    after = {domain: target.opsets.get(domain, version) for domain, version in index.opsets.items()}
    ir_version = index.proto.ir_version
    conversion = Conversion(dict(index.opsets), after, (ir_version, ir_version), notes=[*index.notes])
    conversion.notes += target.notes
    if target.max_ir is None:
        missing = [domain for domain in target.opsets if domain not in index.opsets]
        conversion.notes += [f"the model does not import {domain_name(domain)}" for domain in missing]
    if dims and (numbers := {name: size for name, size in dims.items() if isinstance(size, int)}):
        sizes = ", ".join(f"{name} = {size}" for name, size in numbers.items())
        conversion.notes.append(f"valid for {sizes} alone, which the inputs state")
    return conversion


def _begin_again(start: Conversion) -> Conversion:
    """Return a new conversion without converted nodes; it has the versions of `start` and a copy of its notes."""
    return Conversion(start.source, start.target, start.ir_version, notes=[*start.notes])


def _state_outputs(
    model: Model, inference: LazyInference, registry: Registry, *, is_given: bool
) -> tuple[Model, LazyInference]:
    """Write the sizes of the main graph's outputs into the model, if inference knows them as numbers.

    Returns the model and an inference of it. If the model is the user's (`is_given`), sizes are written into a copy,
    and the copy is returned with a new inference.
    """
    from opset.inference.building.types import fill_proto, map_sizes

    main, types = inference.index.main, dict[int, Any]()
    for position, value in enumerate(main.proto.output):
        type_ = map_sizes(inference.type(main, value.name), lambda size: size if isinstance(size, int) else None)
        if type_ is not None:
            stated = pb.TypeProto()
            stated.CopyFrom(value.type)
            fill_proto(stated, type_, False)
            if stated != value.type:
                types[position] = stated
    if types and is_given:
        model, notes = copy_model(model), inference.index.notes
        inference = inference.for_model(model, index_model(model.proto, registry.domains))
        inference.index.notes = notes
    for position, type_ in types.items():
        model.proto.graph.output[position].type.CopyFrom(type_)
    return model, inference


def has_target(index: ModelIndex, target: Target) -> bool:
    """Whether a model is at the target already, so that no node needs to change.

    All of these conditions must hold:

    - each opset that the model or a function imports has the target's version, if the target names the domain;
    - the IR version is the requested one, if any, and at most the highest that the target takes;
    - no operator of the model is to be lowered;
    - onnx has not changed any operator of the model after the release that the target names.

    A domain that the target names and the model does not import is no hindrance.
    """
    ir_version = index.proto.ir_version
    if (target.max_ir is not None and ir_version > target.max_ir) or target.ir_version not in (None, ir_version):
        return False
    if target.lowered and any(not target.lowered.isdisjoint(body.operators) for body in index.bodies):
        return False
    if target.release:
        amended = operators_amended_after(target.release)
        if any(op_type in amended and not domain for body in index.bodies for op_type, domain in body.operators):
            return False
    return all(
        version == target.opsets.get(domain, version)
        for imports in (index.opsets, *map(index.imports, index.functions.values()))
        for domain, version in imports.items()
    )


def versions_of_bodies(index: ModelIndex) -> dict[Body, dict[str, int]]:
    """Return a mapping from domain to opset version for each body, a graph or function.

    All graphs outside of functions share one mapping: the imports of the model. A function shares the mapping of its
    own imports with the graphs inside it. The mappings are copies, which the caller may change.
    """
    versions = {index.main: dict(index.opsets)}
    for body in index.bodies:
        if body.function:
            versions[body] = dict(index.imports(body))
        else:
            versions[body] = versions[body.root if body.root.function else index.main]
    return versions


def find_newer_imports(index: ModelIndex, target: Target, registry: Registry) -> Iterator[Finding]:
    """Yield a refusal C104 for each opset import of the model or a function that is above the newest known version.

    The newest version is that in the registry. Only domains are checked that the registry has, and that are converted:
    those in `target.opsets`, and with operators to be lowered, their domains and ai.onnx.
    """
    versions = versions_of_bodies(index)
    domains = {*target.opsets, *[domain for _, domain in target.lowered], *([""] if target.lowered else ())}
    for body in index.bodies:
        if body is not index.main and not body.function:
            continue
        for domain, version in versions[body].items():
            newest = registry.domains.get(domain, version)
            if version > newest and domain in domains:
                yield Finding(
                    "C104",
                    f"{domain_name(domain)} {version} is newer than what opset knows",
                    f"{body.label}, opset_import",
                    f"the newest version with schemas is {newest}",
                    NEWER_OPSET,
                )


def find_foreign_types(index: ModelIndex, runtime: Runtime) -> Iterator[Finding]:
    """Yield a refusal C209 for each input and output of the main graph with an element type that the runtime forbids.

    Only tensors count, with the types that the model states.
    """
    graph = index.main.proto
    for word, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            element = element_name(value.type.tensor_type.elem_type)
            if element in runtime.io_types_not:
                yield Finding(
                    "C209",
                    f"the {word} {quote(value.name)} cannot be given to {runtime.name} {runtime.release}",
                    index.main.label,
                    f"no {word} of a model may be of type {element} there",
                    "export the model with inputs and outputs of another type",
                )


def _prepare_functions(
    model: Model, index: ModelIndex, conversion: Conversion, task: Task, strategy: Strategy
) -> tuple[Model, ModelIndex]:
    """Return a model in which different calls of a function call different copies of it, and the index of this model.

    For example, calls that omit an optional input share a copy, in whose nodes adapters see that the input is absent.
    `strategy` says which calls share a copy. The given model and index are returned if no copy would help. A note with
    the number of added functions is added to the conversion. Raises BudgetExceeded if the copies need more steps or
    memory than the budget allows.
    """
    if not index.functions:
        return model, index
    from opset.version_converter.function_copies import specialize_functions  # most models have no functions

    routes, target, versions = task.routes, task.target, versions_of_bodies(index)
    availability = _availability_of(task)

    def keeps(body: Body, position: int) -> bool:
        """Whether the node at `position` surely stays as it is, whatever its inputs and attributes are."""
        operator = op_type, domain = body.operators[position]
        verdict = routes.route(op_type, domain, versions[body], target.opsets).verdict
        if verdict not in (Verdict.KEEP, Verdict.PASS) or operator in target.lowered:
            return False
        opset = target.opsets.get(domain, versions[body].get(domain, 0))
        return availability is None or availability.runs_all(op_type, domain, opset)

    scopes = task.infer(model, index).scopes_of_graphs() if strategy.fixes_inputs else ()
    proto, added = specialize_functions(index, keeps, task.budget, values=strategy.fixes_attributes, graphs=scopes)
    if proto is None:
        return model, index
    if added:
        conversion.notes.append(f"functions added, since calls of one give different parameters: {added}")
    return model.with_proto(proto), index_model(proto, task.registry.domains)


def _check_nodes(model: Model, index: ModelIndex, conversion: Conversion, task: Task) -> None:
    """Add a refusal to the conversion for each node that is not valid, in a model that is at the target already.

    The model is not changed. If the budget is used up, a refusal C401 says so, and the rest is not checked.
    """
    for body in _body_conversions(model, index, model.proto, conversion, task):
        try:
            body.check()
        except BudgetExceeded as exhausted:
            conversion.refusals.append(body.budget_finding(exhausted))
            return


def _body_conversions(
    model: Model, index: ModelIndex, proto: Any, conversion: Conversion, task: Task
) -> list[BodyConversion]:
    """Return a BodyConversion for each body of a model, in the order of the index; nothing is converted yet.

    A body is a graph or a function. Later calls of these objects add to `conversion`, and change `proto`: the
    ModelProto of the model or a copy of it.
    """
    versions = versions_of_bodies(index)
    messages = messages_of(index, proto)
    context = Context(
        index,
        proto,
        messages,
        task.registry,
        task.routes,
        task.target.opsets,
        conversion,
        FreshNames(index.bodies),
        task.budget,
        task.target.lowered,
        _availability_of(task),
        task.target.ir_version or proto.ir_version,
    )

    def read(tensor: Any, limit: int) -> list[Any]:
        """Return the elements of a TensorProto of the model; there may be `limit` at most."""
        return tensor_values(model, tensor, limit)

    inference = task.infer(model, index)
    for body in index.bodies:
        outer = context.facts.get(body.parent) if body.parent is not None else None
        context.facts[body] = ValueFacts(
            body, messages[body], outer, versions[body], read, proto.ir_version >= 4, inference, task.budget
        )
    if proto.training_info:
        context.facts[index.main].read_elsewhere = _names_read_in_training(index)
    return [BodyConversion(context, body, versions[body]) for body in index.bodies]


def _availability_of(task: Task) -> Availability | None:
    """Return the Availability for the target of a task, which judges the nodes that the target's runtime runs.

    Returns None if no runtime is targeted, or if the runtime's operators are not known.
    """
    return availability_for(task.target, task.routes)


def availability_for(target: Target, routes: Routes) -> Availability | None:
    """Return the Availability that tells which nodes the target's runtime runs.

    The result is None if the target names no runtime, or if it is not known which operators the runtime has. `routes`
    has the versions of operators as in the release of onnx that the runtime follows.
    """
    if target.runtime is None or not target.runtime.lists_operators:
        return None
    from opset.version_converter.trials import availability_at  # most conversions need no runtime

    return availability_at(target.runtime, routes, target.inexact)


def _names_read_in_training(index: ModelIndex) -> frozenset[str]:
    """Return the names of values that training graphs read or return, or that occur in their bindings.

    The conversion must not remove values of these names from the main graph.
    """
    names: set[str] = set()
    for body in index.bodies:
        if body.root is not index.main and not body.root.function:
            names.update(body.output_names(), *body.reads)
    for training in index.proto.training_info:
        for binding in (*training.initialization_binding, *training.update_binding):
            names.update((binding.key, binding.value))
    return frozenset(names)
