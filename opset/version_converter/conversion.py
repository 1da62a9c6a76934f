"""Converts an indexed model to a target.

The given model is not touched: facts about its values are read from it, and a copy is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opset.budget import ALLOW_MORE, Budget, Exhausted, Limits
from opset.errors import Finding
from opset.model import proto as pb
from opset.model.graph.index import Body, FreshNames, ModelIndex, index_model, messages_of
from opset.model.storage.container import Model
from opset.model.storage.tensor import tensor_values
from opset.opsets.amendments import amended_after
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.preparation import Freeze, read_model
from opset.schemas import quirks
from opset.schemas.names import shown
from opset.version_converter.facts import Inferred, ValueFacts
from opset.version_converter.ir_version import set_ir_version
from opset.version_converter.nodes import BodyConversion, Context
from opset.version_converter.result import Conversion
from opset.version_converter.rewiring import set_imports
from opset.version_converter.routes import Routes, Verdict, routes_of
from opset.version_converter.specialise import specialised
from opset.version_converter.stacking import CARRIED, stack_sequences
from opset.version_converter.targets import Target, within

BASE_STEPS, STEPS_PER_BYTE = 1 << 21, 8
BASE_BYTES, BYTES_PER_BYTE = 1 << 25, 8
"""What a conversion may do and add: for any model, and for each of its bytes, weights aside."""

STACKED_IN_A_ROW = 8
"""Most loops, each of which fills a sequence with what follows from that of another one."""

OF_ATTRIBUTES = frozenset(("C206",))
OF_CALLS = frozenset(("C202", "C203", "C205", "C206", "C207"))
"""Refusals in a function for which it may help to know its attributes, and what a call passes."""


class Work(NamedTuple):
    """Where a conversion goes, and what it may take; `limited`: whether the caller has set that."""

    target: Target
    registry: Registry
    routes: Routes
    budget: Budget
    limited: bool


def converted(
    model: Model,
    target: Target,
    registry: Registry,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
    freeze: Freeze = (),
    routes: Routes | None = None,
) -> Conversion:
    """Return the conversion of a model to a target; the model itself is not touched.

    With `dims`, it is the conversion of the model with these sizes alone, which the inputs of the result state. The
    initializers that `freeze` names become constants. Without `limits`, what it may take is in proportion to the model.
    `routes` are the transitions that nodes take, those of the registry where none are given.

    Raises ModelError where the model is malformed, UsageError U103 for a name in `dims` that no input has, or one in
    `freeze` that no initializer has. Whatever cannot be converted is in the conversion's `refusals`.
    """
    given = model
    if dims:
        model = _with_sizes(model, dims)
    model, index = read_model(model, registry, freeze)
    index.call_order()
    target = within(target, index.opsets)
    reached = {domain: target.opsets.get(domain, version) for domain, version in index.opsets.items()}
    before = index.proto.ir_version
    conversion = Conversion(dict(index.opsets), reached, (before, before), notes=index.notes)
    if target.max_ir is None:
        missing = [domain for domain in target.opsets if domain not in index.opsets]
        conversion.notes += [f"the model does not import {shown(domain)}" for domain in missing]
    if dims:
        sizes = ", ".join(f"{name} = {size}" for name, size in dims.items())
        conversion.notes.append(f"valid for {sizes} alone, which the inputs state")
    there = _is_there(index, target)
    if not there:
        conversion.refusals += _too_new(index, _versions(index), target, registry)
    if conversion.refusals:
        return conversion
    if target.release and target.release == RELEASES[-1].name:
        target = target._replace(release="")
    limits, size = limits or Limits(), model.proto.ByteSize()
    budget = Budget(limits, max_steps=BASE_STEPS + STEPS_PER_BYTE * size, max_bytes=BASE_BYTES + BYTES_PER_BYTE * size)
    work = Work(target, registry, routes or routes_of(registry, target.release), budget, bool(limits.given()))
    if there:
        _check(model, index, conversion, work)
        if not conversion.refusals:
            conversion.changes = model is not given
            conversion.model = model
        return conversion
    notes = [*conversion.notes]
    first = _attempts(model, index, conversion, work)
    if not first.refusals or target.opsets.get("", CARRIED) >= CARRIED:
        return first
    again = _with_stacks(model, index, _begun_again(conversion, notes), work)
    return first if again is None or again.refusals else again


def _attempts(model: Model, index: ModelIndex, conversion: Conversion, work: Work) -> Conversion:
    """Return the conversion of an indexed model, perhaps with functions as their calls are; else the given one."""
    notes = [*conversion.notes]
    _attempt(model, index, conversion, work)
    latest = conversion
    for codes, scopes in ((OF_ATTRIBUTES, False), (OF_CALLS, True)) if index.functions else ():
        if any(finding.code in codes and finding.place.startswith("function ") for finding in latest.refusals):
            latest = _begun_again(conversion, notes)
            _attempt(model, index, latest, work, values=True, scopes=scopes)
            if not latest.refusals:
                return latest
    return conversion


def _with_stacks(model: Model, index: ModelIndex, conversion: Conversion, work: Work) -> Conversion | None:
    """Return the conversion of a model whose loops stack what they appended to sequences, None if none does.

    What loops append may become known once others stack.
    """
    total = 0
    try:
        for _ in range(STACKED_IN_A_ROW):
            inferred = Inferred(model, index, work.registry, work.budget if work.limited else None)
            proto, count = stack_sequences(index, inferred, work.budget)
            if proto is None:
                break
            model, total = model.with_proto(proto, changed=True), total + count
            index = index_model(proto, work.registry.domains)
    except Exhausted:
        return None
    if not total:
        return None
    conversion.notes.append(f"sequences that loops filled, and that they stack now: {total}")
    return _attempts(model, index, conversion, work)


def _begun_again(conversion: Conversion, notes: list[str]) -> Conversion:
    return Conversion(conversion.source, conversion.target, conversion.ir_version, notes=[*notes])


def _attempt(
    model: Model, index: ModelIndex, conversion: Conversion, work: Work, *, values: bool = False, scopes: bool = False
) -> None:
    """Convert an indexed model.

    With `values`, functions have the attributes that calls give; with `scopes`, each has one set of inferred inputs.
    """
    if index.functions:
        try:
            model, index = _specialised(model, index, conversion, work, values, scopes)
        except Exhausted as exhausted:
            conversion.refusals.append(
                Finding("C401", "the conversion was stopped", "functions", exhausted.why, ALLOW_MORE)
            )
            return
    proto = pb.ModelProto()
    proto.CopyFrom(model.proto)
    _convert(model, index, proto, conversion, work)
    if not conversion.refusals:
        conversion.changes = True
        conversion.model = model.with_proto(proto, changed=True)


def _with_sizes(model: Model, dims: Mapping[str, int]) -> Model:
    from opset.inference.engine.binding import (  # most conversions need no inference
        bind_dims,
        check_dim_names,
        open_dim_names,
    )

    check_dim_names(dims, open_dim_names(model))
    return bind_dims(model, dims)


def _is_there(index: ModelIndex, target: Target) -> bool:
    """Whether a model needs no conversion."""
    before = index.proto.ir_version
    if (target.max_ir is not None and before > target.max_ir) or target.ir_version not in (None, before):
        return False
    if target.lowered and any(not target.lowered.isdisjoint(body.operators) for body in index.bodies):
        return False
    if target.release:
        amended = amended_after(target.release)
        if any(op_type in amended and not domain for body in index.bodies for op_type, domain in body.operators):
            return False
    imports = [index.opsets, *map(index.imports, index.functions.values())]
    return all(version == target.opsets.get(domain, version) for each in imports for domain, version in each.items())


def _versions(index: ModelIndex) -> dict[Body, dict[str, int]]:
    """Return the versions that bodies are written in: one mapping for each function, and one for all graphs."""
    versions = {index.main: dict(index.opsets)}
    for body in index.bodies:
        if body.function:
            versions[body] = dict(index.imports(body))
        else:
            versions[body] = versions[body.root if body.root.function else index.main]
    return versions


def _too_new(
    index: ModelIndex, versions: Mapping[Body, Mapping[str, int]], target: Target, registry: Registry
) -> Iterator[Finding]:
    """Yield what is imported in a newer version than the schemas know: nothing says what its operators mean there."""
    for body in index.bodies:
        for domain, version in versions[body].items() if body is index.main or body.function else ():
            newest = registry.domains.get(domain, version)
            if version > newest and domain in target.opsets:
                yield Finding(
                    "C104",
                    f"{shown(domain)} {version} is newer than what opset knows",
                    f"{body.label}, opset_import",
                    f"the newest version with schemas is {newest}",
                    "use a newer opset, or give schemas for it",
                )


def _specialised(
    model: Model, index: ModelIndex, conversion: Conversion, work: Work, values: bool, scopes: bool
) -> tuple[Model, ModelIndex]:
    """Return the model and its index with functions in the form that adapters can read."""
    routes, versions, target = work.routes, _versions(index), work.target

    def keeps(body: Body, position: int) -> bool:
        operator = body.operators[position]
        verdict = routes.route(*operator, versions[body], target.opsets).verdict
        return verdict in (Verdict.KEEP, Verdict.PASS) and operator not in target.lowered

    graphs = Inferred(model, index, work.registry, work.budget if work.limited else None).graphs() if scopes else ()
    proto, added = specialised(index, keeps, work.budget, values=values, graphs=graphs)
    if proto is None:
        return model, index
    if added:
        conversion.notes.append(f"functions added, since calls of one give different parameters: {added}")
    return model.with_proto(proto, changed=True), index_model(proto, work.registry.domains)


def _check(model: Model, index: ModelIndex, conversion: Conversion, work: Work) -> None:
    """Refuse an indexed model that needs no conversion, where its nodes are not valid."""
    for each in _bodies(model, index, model.proto, conversion, work):
        try:
            each.check()
        except Exhausted as exhausted:
            conversion.refusals.append(each.stopped(exhausted))
            return


def _bodies(model: Model, index: ModelIndex, proto: Any, conversion: Conversion, work: Work) -> list[BodyConversion]:
    """Return the conversions of the bodies of an indexed model, in its order; `proto` is what is changed."""
    target, registry, routes, budget, limited = work
    versions = _versions(index)
    messages = messages_of(index, proto)
    context = Context(
        index,
        proto,
        messages,
        registry,
        routes,
        target.opsets,
        conversion,
        FreshNames(index.bodies),
        budget,
        target.lowered,
    )

    def read(tensor: Any, limit: int) -> list[Any]:
        return tensor_values(model, tensor, limit)

    inferred = Inferred(model, index, registry, budget if limited else None)
    for body in index.bodies:
        outer = context.facts.get(body.parent) if body.parent is not None else None
        context.facts[body] = ValueFacts(
            body, messages[body], outer, versions[body], read, proto.ir_version >= 4, inferred, budget
        )
    if proto.training_info:
        context.facts[index.main].read_elsewhere = _read_in_training(index)
    return [BodyConversion(context, body, versions[body]) for body in index.bodies]


def _convert(model: Model, index: ModelIndex, proto: Any, conversion: Conversion, work: Work) -> None:
    """Convert the copy of an indexed model."""
    target = work.target
    found = _bodies(model, index, proto, conversion, work)
    for each in reversed(found):
        try:
            each.run()
        except Exhausted as exhausted:
            conversion.refusals.append(each.stopped(exhausted))
            return
    for each in found:
        if each.body is index.main or each.body.function:
            set_imports(proto if each.body is index.main else each.message, target.opsets, each.versions)
    for _, op_type in conversion.passed:
        if (own := quirks.alias(op_type, index.opsets.get("", 0))) is not None:
            conversion.notes.append(f"{op_type} is no operator of the standard at this version: {own.what}")
    conversion.refusals += set_ir_version(proto, target, conversion.notes)
    conversion.ir_version = (index.proto.ir_version, proto.ir_version)


def _read_in_training(index: ModelIndex) -> frozenset[str]:
    """Return the names that training graphs, and what binds their outputs, use of values of the main graph."""
    names: set[str] = set()
    for body in index.bodies:
        if body.root is not index.main and not body.root.function:
            names.update(body.output_names(), *body.reads)
    for training in index.proto.training_info:
        for binding in (*training.initialization_binding, *training.update_binding):
            names.update((binding.key, binding.value))
    return frozenset(names)
