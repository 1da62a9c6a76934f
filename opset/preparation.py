"""Models as runtimes take them: mistakes of exporters that have one plain meaning are put right.

    model, index = read_model(model, registry, freeze=["size"])

Conversion, inference and evaluation read a model by this. The given model is not touched: changes are made in a copy,
and `index.notes` lists them. A model that needs none is not copied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from opset.errors import Finding, ModelError, UsageError, listing, quote
from opset.model import proto as pb
from opset.model.attributes import attribute_type, attribute_value
from opset.model.graph.index import (
    Body,
    FreshNames,
    FunctionKey,
    ModelIndex,
    index_model,
    messages_of,
    normalize_domain,
)
from opset.model.graph.walking import dimensions_of
from opset.model.storage.container import Model
from opset.opsets.registry import Registry, default_registry
from opset.plain_text import count_text
from opset.schemas import quirks
from opset.schemas.model import OpSchema, is_old_value
from opset.schemas.names import domain_name

ALL = "all"
Freeze: TypeAlias = "str | Iterable[str]"
"""Names of initializers that become constants, or "all"."""
_NEGATIVE_SIZE = re.compile(rb"\x08[\x80-\xff]{9}\x01")
"""The encoding of a Dimension below 0; other messages may have the same bytes."""
_UNSORTED = ("M110", "M112")  # a graph in a node does not see the values that are computed after it


def read_model(model: Model, registry: Registry, freeze: Freeze = (), strict: bool = False) -> tuple[Model, ModelIndex]:
    """Return a model that means the same and follows the standard, and its index.

    - Several imports of a domain at one version become one. A domain that nodes use and that the model does not import
      is imported if all versions of its operators are one.
    - Nodes that are not sorted are sorted. Sizes below 0 are left open.
    - Nodes that have the name of an earlier node of their graph are renamed: some runtimes refuse such a model.
    - An operator set of the standard that is still in development is read as the newest released one.
    - An attribute that another version of its operator has is dropped if it changes nothing. Other known mistakes in
      attributes are mended, as schemas/quirks.py lists them.

    Args:
        model: The model, as it was loaded; it is not changed.
        registry: The operators and domains that have schemas.
        freeze: Names of initializers that a caller may override (IR version 4 and up) and that become constants, or
            "all". They are no inputs of the result.
        strict: Whether attributes that are missing stay missing; else those are added that follow from the node.

    Returns:
        The given model if nothing has to change, else a copy; `notes` of the index lists the changes.

    Raises:
        ModelError: The model is malformed.
        UsageError: U103 if a name in `freeze` is not an initializer.
    """
    notes: list[str] = []
    model = _merge_imports(read_unreleased(model, registry, notes), notes)
    model = _freeze_initializers(model, freeze, notes)
    try:
        index = index_model(model.proto, registry.domains)
    except ModelError as error:
        if error.code not in _UNSORTED:
            raise
        model, index = _sort_nodes(model, registry, notes, error)
    if not strict and (missing := _missing_imports(index, registry)):
        model, index = _add_imports(model, missing, registry, notes)
    if not strict and _NEGATIVE_SIZE.search(model.proto.SerializeToString()):
        model, index = _open_negative_sizes(model, index, registry, notes)
    if any(map(repeated_names, index.bodies)):
        model, index = _rename_nodes(model, index, registry, notes)
    fixes = attribute_fixes(index, registry)
    if leftovers := [fix for fix in fixes if not (strict and isinstance(fix.value, int))]:
        model, index = _apply_fixes(model, index, registry, leftovers, notes)
    index.notes = notes
    return model, index


def copy_model(model: Model) -> Model:
    """Return the model with a copy of its ModelProto."""
    message = pb.ModelProto()
    message.CopyFrom(model.proto)
    return model.with_proto(message, changed=True)


def read_unreleased(model: Model, registry: Registry, notes: list[str]) -> Model:
    """Return a model that imports the newest released version of a domain in place of the version after it.

    A development build of onnx writes the next version into models, although nearly all operators are those of the
    released one. Models that import a still later version are returned unchanged. A note on each changed domain is
    added to `notes`.
    """
    unreleased = {(domain, registry.domains[domain] + 1) for domain in default_registry().domains}
    holders = [model.proto, *model.proto.functions]
    found = [
        (number, position)
        for number, holder in enumerate(holders)
        for position, entry in enumerate(holder.opset_import)
        if (normalize_domain(entry.domain), entry.version) in unreleased
    ]
    for number, _ in found:
        imports = {(normalize_domain(entry.domain), entry.version) for entry in holders[number].opset_import}
        if len({domain for domain, _ in imports}) < len(imports):
            return model  # a domain at two versions is an error, also if one of them is the unreleased one
    if not found:
        return model
    model = copy_model(model)
    holders = [model.proto, *model.proto.functions]
    changed: dict[str, int] = {}
    for number, position in found:
        entry = holders[number].opset_import[position]
        changed[domain_name(normalize_domain(entry.domain))] = entry.version
        entry.version -= 1
    notes += [
        f"{label} {version} is in development: its nodes are read as those of {label} {version - 1}"
        for label, version in changed.items()
    ]
    return model


def repeated_names(body: Body) -> list[int]:
    """Return the indices of nodes that have the name of an earlier node of their body."""
    given = [*filter(None, body.names)]
    if len({*given}) == len(given):
        return []
    seen: set[str] = set()
    repeated = []
    for at, name in enumerate(body.names):
        if name in seen:
            repeated.append(at)
        elif name and isinstance(name, str):  # a name that is not UTF-8 is bytes
            seen.add(name)
    return repeated


def _rename_nodes(model: Model, index: ModelIndex, registry: Registry, notes: list[str]) -> tuple[Model, ModelIndex]:
    """Return a model in which no node has the name of an earlier one of its graph or function, and its index."""
    model = copy_model(model)
    messages = messages_of(index, model.proto)
    fresh, count = FreshNames(index.bodies), 0
    for body in index.bodies:
        for at in repeated_names(body):
            messages[body].node[at].name = fresh.fresh(body.names[at])
            count += 1
    notes.append(f"nodes with the name of another node of their graph have names of their own: {count}")
    return model, index_model(model.proto, registry.domains)


def _merge_imports(model: Model, notes: list[str]) -> Model:
    """Return a model that imports no domain twice at one version; the given model if it does not."""
    holders = [model.proto, *model.proto.functions]
    if not any(map(repeated_imports, holders)):
        return model
    model = copy_model(model)
    for holder in (model.proto, *model.proto.functions):
        for position in reversed(repeated_imports(holder)):
            del holder.opset_import[position]
    notes.append("domains that were imported more than once, without another version, are imported once")
    return model


def repeated_imports(holder: Any) -> list[int]:
    """Return the indices of the imports of a ModelProto or FunctionProto that repeat an earlier one.

    An import without a version repeats one of the same domain that has a version, also a later one.
    """
    versions = {normalize_domain(entry.domain) for entry in holder.opset_import if entry.version > 0}
    seen: set[tuple[Any, int]] = set()
    repeated = []
    for position, entry in enumerate(holder.opset_import):
        imported = normalize_domain(entry.domain), entry.version
        if imported in seen or (entry.version < 1 and imported[0] in versions):
            repeated.append(position)
        seen.add(imported)
    return repeated


def _missing_imports(index: ModelIndex, registry: Registry) -> dict[str, int]:
    """Return the versions at which to import domains that nodes outside of functions use and the model does not import.

    A domain is left out if one of the operators that are used has several versions, or none.
    """
    used: dict[str, set[str]] = {}
    for body in index.bodies:
        if not body.root.function:
            for op_type, domain in {*body.operators}:
                if domain in registry.domains and domain not in index.opsets:
                    used.setdefault(domain, set()).add(op_type)
    missing = {}
    for domain, operators in used.items():
        versions = [registry.since_versions(op_type, domain) for op_type in operators]
        if all(len(sinces) == 1 for sinces in versions):
            missing[domain] = max(sinces[0] for sinces in versions)
    return missing


def _add_imports(
    model: Model, missing: Mapping[str, int], registry: Registry, notes: list[str]
) -> tuple[Model, ModelIndex]:
    """Return a copy of a model that imports further domains at these versions, and its index."""
    model = copy_model(model)
    for domain, version in sorted(missing.items()):
        model.proto.opset_import.add(domain=domain, version=version)
        notes.append(
            f"{domain_name(domain)} is imported, at version {version}: the model did not, and what it uses of it has "
            "one version"
        )
    return model, index_model(model.proto, registry.domains)


def _open_negative_sizes(
    model: Model, index: ModelIndex, registry: Registry, notes: list[str]
) -> tuple[Model, ModelIndex]:
    """Return a model in which sizes below 0, which tools write for unknown ones, are open, and its index.

    The given model and index are returned if it has no such size.
    """
    changed = copy_model(model)
    messages = messages_of(index, changed.proto)
    count = 0
    for body in index.bodies:
        graph = messages[body]
        stated = [graph.value_info] if body.function else [graph.input, graph.output, graph.value_info]
        for value in (value for values in stated for value in values):
            for dim in dimensions_of(value.type):
                if dim.dim_value < 0:
                    dim.ClearField("dim_value")
                    count += 1
    if not count:
        return model, index
    notes.append(f"stated sizes below 0 are left open: {count:,}")
    return changed, index_model(changed.proto, registry.domains)


def _freeze_initializers(model: Model, freeze: Freeze, notes: list[str]) -> Model:
    """Return a model in which these initializers are no graph inputs, so that callers cannot override them.

    Raises UsageError U103 if a name in `freeze` is not an initializer.
    """
    names = {freeze} if isinstance(freeze, str) else {*freeze}
    if not names:
        return model
    graph = model.proto.graph
    held = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
    initializers = {tensor.name for tensor in held}
    inputs = [value.name for value in graph.input]
    wanted = initializers if ALL in names else names
    if unknown := sorted(wanted - initializers):
        help = f"initializers that are inputs: {listing([name for name in inputs if name in initializers]) or 'none'}"
        why = dict.fromkeys(inputs, "it is an input without a value")
        message = "the model has no initializer"
        raise UsageError(Finding("U103", f"{message} {quote(name)}", "", why.get(name, ""), help) for name in unknown)
    frozen = [name for name in inputs if name in wanted]
    if not frozen:
        return model
    if model.proto.ir_version < 4:
        notes.append("before IR version 4, initializers are constants, although inputs list them: nothing was frozen")
        return model
    model = copy_model(model)
    graph = model.proto.graph
    kept = [value for value in graph.input if value.name not in wanted]
    del graph.input[:]
    graph.input.extend(kept)
    notes.append(f"constant now, and no inputs any more: {listing(frozen)}")
    return model


def _sort_nodes(model: Model, registry: Registry, notes: list[str], error: ModelError) -> tuple[Model, ModelIndex]:
    """Return a model with its nodes sorted, and its index.

    Raises `error`, with which reading the unsorted model failed, if the sorted model cannot be read either.
    """
    from opset.model.graph.sorting import sort_nodes, sorted_orders

    index = ModelIndex(model.proto, registry.domains)
    moved = sorted_orders(index.bodies)
    if not moved:
        raise error
    model = copy_model(model)
    messages = messages_of(index, model.proto)
    for body in reversed(index.bodies):
        if body in moved:
            count = sort_nodes(messages[body], moved[body])
            notes.append(f"{body.label}: nodes sorted, since values were read before they were computed: {count} moved")
    try:
        return model, index_model(model.proto, registry.domains)
    except ModelError:
        raise error from None


class AttributeFix(NamedTuple):
    """A mistake in an attribute to be mended: the body, node and name, and the new value (None: it is dropped).

    An attribute whose new value is an int is missing, and has to be added. A tuple is the new shape of a tensor.
    """

    body: Body
    position: int
    name: str
    value: str | int | tuple[int, ...] | None = None

    @property
    def done(self) -> str:
        """The words for the change of the attribute: "dropped, which changes nothing" or "written in lower case"."""
        if isinstance(self.value, tuple):
            return f"written with shape {[*self.value]}"
        if isinstance(self.value, int):
            return "stated, as the number of outputs"
        return "dropped, which changes nothing" if self.value is None else "written in lower case"

    def apply(self, node: Any) -> None:
        """Change, add or drop the attribute in a NodeProto."""
        if isinstance(self.value, int):
            node.attribute.add(name=self.name, type=pb.AttributeProto.INT, i=self.value)
            return
        for at in reversed(range(len(node.attribute))):
            if node.attribute[at].name == self.name:
                if self.value is None:
                    del node.attribute[at]
                elif isinstance(self.value, tuple):
                    node.attribute[at].t.dims[:] = self.value
                else:
                    node.attribute[at].s = self.value.encode()


class Indexed(Protocol):
    """The index of a model, valid or not: its bodies, its functions, and the imports of a body."""

    bodies: list[Body]
    functions: dict[FunctionKey, Body]

    def imports(self, body: Body) -> Mapping[str, int]:
        """Return the versions of operator sets that a body is written in."""


def attribute_fixes(index: Indexed, registry: Registry) -> Iterator[AttributeFix]:
    """Yield the fixes for mistakes that exporters make in attributes of the standard's operators.

    An attribute that another version of its operator has is dropped if it changes nothing. Other mistakes are mended as
    schemas/quirks.py lists them.
    """
    for body in index.bodies:
        version = index.imports(body).get("", 0)
        yield from _split_fixes(body, index, version)
        known: dict[tuple[str, str], tuple[OpSchema | None, Container[str]]] = {}
        for position, (operator, attributes) in enumerate(zip(body.operators, body.attributes, strict=True)):
            if not attributes:
                continue
            if operator not in known:
                schema = None if operator[1] else registry.schema(operator[0], version)
                spelled = {each.attribute for each in quirks.quirks_of(operator[0], version)}
                known[operator] = schema, schema.attributes.keys() - spelled if schema is not None else ()
            schema, names = known[operator]
            if schema is None:
                continue
            for attribute in attributes:
                if attribute.name in names or body.function_key(position) in index.functions:
                    continue
                if fix := _attribute_fix(body, position, attribute, schema, version, registry):
                    yield fix


def _split_fixes(body: Body, index: Indexed, version: int) -> Iterator[AttributeFix]:
    """Yield the fix for each Split of a body that has neither `split` nor `num_outputs`, at an opset that wants one."""
    if not any(quirk.action == quirks.MEND for quirk in quirks.quirks_of("Split", version)):
        return
    for position, operator in enumerate(body.operators):
        if operator != ("Split", "") or body.function_key(position) in index.functions:
            continue
        named = any(attribute.name == "num_outputs" for attribute in body.attributes[position])
        if not named and not any(body.reads[position][1:]):
            yield AttributeFix(body, position, "num_outputs", len(body.computes[position]))


def _attribute_fix(
    body: Body, position: int, attribute: Any, schema: OpSchema, version: int, registry: Registry
) -> AttributeFix | None:
    """Return the fix for an attribute that its operator does not take, None if no fix is known."""
    name = attribute.name
    value = None if attribute.ref_attr_name else attribute_value(attribute)
    quirk = quirks.quirk_of_attribute(schema.name, version, name, value)
    if name in schema.attributes:
        if quirk is None or quirk.action != quirks.MEND:
            return None
        if attribute_type(attribute) == "tensor":
            return None if value is None or value.dims else AttributeFix(body, position, name, (1,))
        if isinstance(value, str):
            return AttributeFix(body, position, name, value.lower())
        return AttributeFix(body, position, name) if value == () else None
    if quirk is not None and quirk.action == quirks.MEND:
        training = schema.name == "Dropout" and any(body.reads[position][2:])
        return None if training else AttributeFix(body, position, name)
    return AttributeFix(body, position, name) if _changes_nothing(schema, name, value, registry) else None


def _changes_nothing(schema: OpSchema, name: str, value: Any, registry: Registry) -> bool:
    """Whether an attribute of another version of an operator has no effect at this version.

    The declared changes of the versions decide. `name` and `value` are the attribute's.
    """
    before: OpSchema | None = None
    ignored = False
    for version in registry.versions(schema.name, schema.domain):
        facet = version.change.attributes.get(name) if version.change is not None else None
        if version.since_version <= schema.since_version:
            if name in version.attributes:
                ignored = False
            elif before is not None and name in before.attributes:
                ignored = facet is not None and facet.ignored
        elif name in version.attributes:
            if facet is None or facet.only_for:
                return False
            return facet.old is not None and is_old_value(value, facet.old)
        before = version
    return ignored


def _apply_fixes(
    model: Model, index: ModelIndex, registry: Registry, leftovers: Sequence[AttributeFix], notes: list[str]
) -> tuple[Model, ModelIndex]:
    """Return a copy of the model with some attributes dropped or mended, and its index; add notes on the changes.

    `leftovers` are the fixes of these attributes.
    """
    model = copy_model(model)
    messages = messages_of(index, model.proto)
    counts: Counter[tuple[str, str, str]] = Counter()
    for fix in leftovers:
        node = messages[fix.body].node[fix.position]
        counts[node.op_type, fix.name, fix.done] += 1
        fix.apply(node)
    for (op_type, name, done), count in counts.items():
        notes.append(f"attribute '{name}' of {op_type}, {done}: {count_text(count, 'node')}")
    return model, index_model(model.proto, registry.domains)
