"""Derived adapters: they follow from the difference of two signatures and from declared facets, without any code."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opset.errors import safe_text
from opset.model.elements import NUMBERS, element_name
from opset.schemas.constraints.grammar import terms_of
from opset.schemas.constraints.signature import (
    ANY_CASE,
    DATA_TYPE,
    arity_misfits,
    comparisons_of,
    type_misfits,
    value_misfits,
)
from opset.schemas.model import OPTIONAL, SINGLE, VARIADIC, Attribute, AttributeChange, Change, OpSchema, is_old_value
from opset.version_converter.helps import cast_help
from opset.version_converter.rewrite import Builder, Node, Refusal, Result, unknown_type

ATTRIBUTE_ELEMENTS = {
    "int": ("int64", "int32", "int16", "int8", "uint32", "uint16", "uint8"),
    "float": ("float", "float16", "bfloat16"),
    "string": ("string",),
}
"""Element types of an input that an attribute of a type can hold exactly."""


class TypeRestriction(NamedTuple):
    """An input or output whose type the target version may not allow, alone or together with other types.

    `outputs` says whether it is an output, `position` which one. `variadic` says whether all inputs or outputs after it
    are restricted, too.
    """

    outputs: bool
    position: int
    variadic: bool


class Counterpart(NamedTuple):
    """An attribute before (`source`) and after (`target`) a transition; its name and type may differ.

    If values have another meaning in the target version, `values` maps each to the one that means the same there.
    """

    source: Attribute
    target: Attribute
    values: Mapping[Any, Any]

    def value(self, value: Any) -> Any:
        """Return the value for the target version that means the same as this value of the source version.

        Element types are numbers in one version and names in another: 1 becomes "FLOAT". Returns None if the target
        version cannot express the value, such as 0.5 for an integer.
        """
        source, target = self.source, self.target
        if source.kind == ANY_CASE:
            value = type(value)(map(self._choice, value)) if isinstance(value, list | tuple) else self._choice(value)
        if self.values and isinstance(value, list | tuple):
            value = type(value)(self.values.get(item, item) for item in value)
        elif self.values:
            value = self.values.get(value, value)
        if source.type == target.type:
            return value
        if source.type == "string":
            return NUMBERS.get(value.lower())
        if target.type == "string":
            return (element_name(value) or "").upper() or None
        if not math.isfinite(value) or abs(value) >= 2**63:
            return None
        number = int(value) if target.type == "int" else struct.unpack("<f", struct.pack("<f", value))[0]
        return number if number == value else None

    def _choice(self, word: str) -> str:
        """Return the legal value in the source version that equals `word` but for case; `word` itself if none does."""
        return next((choice for choice in self.source.choices if choice.lower() == word.lower()), word)

    @property
    def differs(self) -> bool:
        """Whether the attribute has another name or type in the target version, or its values another meaning."""
        return bool(self.values) or self.source.name != self.target.name or self.source.type != self.target.type

    @property
    def is_restricted(self) -> bool:
        """Whether the target version forbids some values that are legal in the source version.

        Ranges that depend on the rank are not compared.
        """
        source, target = self.source, self.target
        if target.kind == DATA_TYPE:
            return False
        if source.kind == ANY_CASE and target.kind != ANY_CASE:
            return True
        values = {self.value(choice) for choice in source.choices}
        if target.choices and (not values or values - {*target.choices}):
            return True
        ranges = {comparison for comparison in comparisons_of(target) if not any(terms_of(comparison))}
        return not ranges <= {*comparisons_of(source)}


class DerivedAdapter(NamedTuple):
    """The changes of nodes that a transition in one direction needs, by the two signatures and the `change:` block.

    An empty field changes nothing.

    - `drop`: attributes to remove;
    - `must_equal`: attributes that the target version lacks, with the value that they must have;
    - `unsupported`: attributes that the target version cannot express;
    - `to_input`, `to_attribute`: attributes that become the input at a position, and the reverse.
    """

    target: OpSchema
    renamed: bool
    """Whether the operator has another name in the target version."""
    drop: tuple[str, ...]
    set_defaults: tuple[tuple[str, str, Any], ...]
    """Names of attributes before and after, and the value to state if a node has no such attribute."""
    illegal_defaults: dict[str, str]
    """Why the target version does not allow such a value, by the name of the attribute before."""
    rewrite: tuple[Counterpart, ...]
    """Attributes that are written in another way, or are more restricted, in the target version."""
    undefined: dict[str, Any]
    """Values of attributes that mean nothing in the source version."""
    must_equal: dict[str, Any]
    required: tuple[tuple[str, str], ...]
    """Names before and after of attributes that the target version requires, and the source version does not."""
    unsupported: tuple[str, ...]
    to_input: dict[str, int]
    to_attribute: dict[int, str]
    narrower: bool
    """Whether the target version has fewer inputs or outputs, or requires more of them."""
    type_restrictions: tuple[TypeRestriction, ...]
    emulate: Mapping[str, str]
    """Element types by which others are computed in the target version."""
    from_front: tuple[str, ...]
    """Axes that count from the front alone in the target version."""
    only_for: dict[str, frozenset[str]]
    """Element types of inputs and outputs without which an attribute of `must_equal` has no effect."""

    @property
    def rewrites(self) -> bool:
        """Whether the adapter may change what a node says: its operator's name, its attributes, or its inputs.

        It may set defaults, rewrite attributes, or turn attributes into inputs and back. If False, the adapter checks
        nodes against the target version, and makes small changes only. Examples are to remove an absent input, or to
        compute in a wider type.
        """
        return bool(
            self.renamed
            or self.to_input
            or self.to_attribute
            or self.set_defaults
            or any(pair.differs for pair in self.rewrite)
        )

    @property
    def touches(self) -> bool:
        """Whether the adapter may change or refuse a node; if not, all nodes stay as they are."""
        return bool(
            self.rewrites
            or self.drop
            or self.rewrite
            or self.undefined
            or self.must_equal
            or self.required
            or self.unsupported
            or self.narrower
            or self.type_restrictions
            or self.from_front
        )


def derive_adapter(source: OpSchema, target: OpSchema, change: Change) -> DerivedAdapter:
    """Return the adapter between two consecutive versions that follows from their signatures and a `change:` block.

    Args:
        source: The version that nodes come from.
        target: The version before or after `source`. It may also be `source` itself: the adapter then converts nothing,
            but computes in the wider types that the block lists under `emulate`.
        change: The `change:` block of the newer of the two versions.
    """
    upwards = source.since_version < target.since_version
    older, newer = (source, target) if upwards else (target, source)
    pairs = _pair_attributes(older, newer, change)
    stayed = {before.name for before, _ in pairs}, {after.name for _, after in pairs}
    removed = [attribute for name, attribute in older.attributes.items() if name not in stayed[0]]
    added = [attribute for name, attribute in newer.attributes.items() if name not in stayed[1]]
    facets = {name: change.attributes.get(name, AttributeChange()) for name in older.attributes | newer.attributes}
    counterparts = [_counterpart_of(before, after, facets[after.name], upwards) for before, after in pairs]
    positions = {parameter.name: index for index, parameter in enumerate(newer.inputs)}
    inputs = {
        attribute.name: positions[facets[attribute.name].input]
        for attribute in removed
        if facets[attribute.name].input in positions and attribute.type.removesuffix("s") in ("int", "float")
    }
    drop: list[str] = []
    unsupported = [pair.source.name for pair in counterparts if not _is_convertible(pair)]
    for attribute in removed:
        if upwards and facets[attribute.name].ignored:
            drop.append(attribute.name)
        elif attribute.name not in inputs and (upwards or attribute.required):
            unsupported.append(attribute.name)
    old = {
        attribute.name: attribute.default if facets[attribute.name].old is None else facets[attribute.name].old
        for attribute in added
    }
    set_defaults = [_default_to_state(pair, facets[pair.target.name].old if upwards else None) for pair in counterparts]
    if upwards:
        set_defaults += [
            (attribute.name, attribute.name, old[attribute.name])
            for attribute in added
            if old[attribute.name] != attribute.default and not isinstance(old[attribute.name], dict)
        ]
    stated = [default for default in set_defaults if default is not None]
    names = {after for _, after, _ in stated}
    required = [(pair.source.name, pair.target.name) for pair in counterparts if not pair.source.required]
    required += [(attribute.name, attribute.name) for attribute in added if upwards]
    integers = [name for name, attribute in source.attributes.items() if attribute.type in ("int", "ints")]
    axes = tuple(name for name in integers if facets[name].negative)
    from_front = () if upwards or not source.inputs else axes
    return DerivedAdapter(
        target,
        renamed=source.name != target.name,
        drop=tuple(drop),
        set_defaults=tuple(stated),
        illegal_defaults={name: why for name, new, value in stated for why in _why_illegal(target, {new: value})},
        rewrite=tuple(
            pair for pair in counterparts if pair.differs or (pair.is_restricted and pair.source.name not in from_front)
        ),
        undefined={name: facet.undefined for name, facet in facets.items() if upwards and facet.undefined is not None},
        must_equal={} if upwards else old,
        required=tuple(
            (before, after)
            for before, after in required
            if target.attributes[after].required and after not in names and before not in unsupported
        ),
        unsupported=tuple(unsupported),
        to_input=inputs if upwards else {},
        to_attribute={} if upwards else {position: name for name, position in inputs.items()},
        narrower=_is_narrower(source, target),
        type_restrictions=_type_restrictions(source, target),
        emulate={} if upwards else change.emulate,
        from_front=from_front,
        only_for={name: frozenset(facet.only_for) for name, facet in change.attributes.items() if facet.only_for},
    )


def _pair_attributes(older: OpSchema, newer: OpSchema, change: Change) -> list[tuple[Attribute, Attribute]]:
    """Return an (older, newer) pair for each attribute that both versions have, including those that were renamed.

    `change` is the block that says which were renamed.
    """
    pairs = [(before, newer.attributes[name]) for name, before in older.attributes.items() if name in newer.attributes]
    return pairs + [
        (older.attributes[facet.renamed], newer.attributes[name])
        for name, facet in change.attributes.items()
        if facet.renamed in older.attributes and name in newer.attributes
    ]


def _counterpart_of(before: Attribute, after: Attribute, facet: AttributeChange, upwards: bool) -> Counterpart:
    """Return a Counterpart: an attribute as source and target version declare it, and the values to replace.

    Args:
        before: The attribute in the older version.
        after: The attribute in the newer version.
        facet: What the `change:` block says of the attribute. Its `values` map older values to newer ones. For a
            conversion to the older version, this mapping is reversed. A newer value stays if the older version has it.
        upwards: Whether the conversion is from the older to the newer version.
    """
    if upwards:
        return Counterpart(before, after, facet.values)
    # A newer value that the older version has too stays.
    return Counterpart(after, before, {new: old for old, new in facet.values.items() if new not in before.choices})


def _is_convertible(pair: Counterpart) -> bool:
    """Whether an attribute's type at the target version can hold its values, and also its default.

    That is so for equal types, for int and float, and for element types that are an int in one version and a string in
    the other. A single value may still have no counterpart, such as 0.5 as an int.
    """
    source, target = pair.source, pair.target
    types = {source.type, target.type}
    is_convertible = len(types) == 1 or types == {"int", "float"}
    is_convertible = is_convertible or (types == {"int", "string"} and source.kind == target.kind == DATA_TYPE)
    return is_convertible and (source.default is None or pair.value(source.default) is not None)


def _default_to_state(pair: Counterpart, old: Any) -> tuple[str, str, Any] | None:
    """Return (name before, name after, value) if converted nodes have to state an attribute that they left out.

    The value is the default of the source version, as the target version writes it: "FLOAT" for 1. If the source
    version has no default, the value is `old`.

    The result is None if the target version has the same default, so that nodes need not state it. It is also None if
    the value is not known, or if the target version cannot express it.

    Args:
        pair: The attribute in the source version and in the target version.
        old: The value that an absent attribute stands for, from the `change:` block; None if the block states none.
    """
    if not _is_convertible(pair):
        return None
    meant = old if pair.source.default is None else pair.value(pair.source.default)
    return None if meant is None or meant == pair.target.default else (pair.source.name, pair.target.name, meant)


def _is_narrower(source: OpSchema, target: OpSchema) -> bool:
    """Whether the target version takes fewer inputs or outputs, or requires more of them."""
    required = any(
        after.option == SINGLE and before.option == OPTIONAL
        for before, after in zip(source.inputs, target.inputs, strict=False)
    )
    fewer = target.max_input < source.max_input or target.max_output < source.max_output
    return required or fewer or target.min_input > source.min_input or target.min_output > source.min_output


def _type_restrictions(source: OpSchema, target: OpSchema) -> tuple[TypeRestriction, ...]:
    """Return the inputs and outputs for which the target version may not allow a legal type of the source version.

    One reason is that the target version allows fewer types for an input or output. Another is that several inputs or
    outputs must have the same type only at the target version. Inputs come first, in order.
    """
    restrictions: set[TypeRestriction] = set()
    bound: dict[str, list[TypeRestriction]] = {}
    bound_before: dict[str, set[tuple[str, bool]]] = {}
    for outputs, olds, news in ((False, source.inputs, target.inputs), (True, source.outputs, target.outputs)):
        for position, (before, after) in enumerate(zip(olds, news, strict=False)):
            if not set(target.allowed_types(after)).issuperset(source.allowed_types(before)):
                restrictions.add(TypeRestriction(outputs, position, after.option == VARIADIC))
            if after.homogeneous:
                bound.setdefault(after.type, []).append(TypeRestriction(outputs, position, False))
                bound_before.setdefault(after.type, set()).add((before.type, before.homogeneous))
    for name, parameters in bound.items():
        if len(bound_before[name]) > 1 and len(target.types.get(name, ())) > 1:
            restrictions.update(parameters)
    return tuple(sorted(restrictions))


def check_types(derived: DerivedAdapter, node: Node, valid: set[tuple[Any, ...]]) -> None:
    """Raise Refusal C202 if the target version does not allow a node's types, C203 if a needed type is not known.

    Only inputs and outputs that may have fewer types at the target are compared. In a function, the types of each call
    are compared. `valid` is a cache of combinations of types that are allowed; new ones are added.
    """
    if not derived.type_restrictions:
        return
    restricted = [
        (parameter.outputs, position)
        for parameter in derived.type_restrictions
        for count in [len(node.outputs if parameter.outputs else node.inputs)]
        for position in range(parameter.position, count if parameter.variadic else min(parameter.position + 1, count))
    ]
    names = [(node.outputs if outputs else node.inputs)[position] for outputs, position in restricted]
    for types in node.values.types(names):
        inputs: list[str | None] = [None] * len(node.inputs)
        outputs: list[str | None] = [None] * len(node.outputs)
        for (of_output, position), type_ in zip(restricted, types, strict=True):
            (outputs if of_output else inputs)[position] = type_
        form = (id(derived), *inputs, "->", *outputs)
        if form in valid:
            continue
        for misfit in type_misfits(derived.target, inputs, outputs):
            raise Refusal("C202", f"{misfit.what}: {misfit.why}", cast_help(misfit))
        if None in types:
            raise unknown_type(names[types.index(None)])
        valid.add(form)


def apply_derived(derived: DerivedAdapter, op: Builder, node: Node, valid: set[tuple[Any, ...]]) -> Result:
    """Convert a node by a derived adapter; return the names of the values for its outputs, None if it may stay.

    The new nodes are added to `op`.

    Args:
        derived: The adapter.
        op: Makes the new nodes.
        node: The node, which is not changed.
        valid: A cache of combinations of types that are known to be allowed; new ones are added.

    Raises:
        Refusal: The target version cannot express the node, or a needed type, value or rank is not known.
        BudgetExceeded: The new nodes use up the budget.
    """
    if wider := derived.emulate:
        # Attributes that name an emulated type get the number of the wider one.
        attributes = node.schema.attributes.values()
        declared = [attr.name for attr in attributes if attr.kind == DATA_TYPE and attr.type == "int"]
        elements = {name: element_name(node.attr(name)) or "" for name in declared}
        stated = {name: NUMBERS[wider[element]] for name, element in elements.items() if element in wider}
        if stated or any(node.element(index) in wider for index in range(len(node.inputs))):
            return _emulate_types(derived, op, node, stated)
    check_types(derived, node, valid)
    drop, changes = _convert_attributes(derived, node)
    inputs = _convert_inputs(derived, op, node, drop, changes)
    outputs = list(node.outputs)
    if derived.narrower:
        _cut_off_absent(derived, node, inputs, outputs)
    if not (inputs != node.inputs or outputs != node.outputs or drop or changes or derived.renamed):
        return None
    kept: Result = op.copy(node, inputs=inputs, outputs=outputs, drop=drop, **changes)
    return kept


def _emulate_types(derived: DerivedAdapter, op: Builder, node: Node, stated: dict[str, int]) -> Result:
    """Make the node in wider types, with Casts before and after it; return the names of the values for its outputs.

    The new nodes are added to `op`. `stated` has new values for attributes that name an element type: the number of the
    wider type, by name of the attribute. Raises Refusal if the type of an input is not known, or if the target version
    cannot express the node.
    """
    wider = derived.emulate
    drop, changes = _convert_attributes(derived, node)
    changes |= stated
    inputs = []
    for index, name in enumerate(node.inputs):
        wide = wider.get(node.need_element(index)) if name else None
        inputs.append(op.Cast(name, to=NUMBERS[wide], domain="") if wide else name)
    elements = [node.values.element(name) or "" for name in node.outputs]
    outputs = [
        op.fresh("wide") if element in wider else name for name, element in zip(node.outputs, elements, strict=True)
    ]
    op.copy(node, inputs=inputs, outputs=outputs, drop=drop, **changes)
    return [
        op.Cast(name, to=NUMBERS[element], domain="") if element in wider else name
        for name, element in zip(outputs, elements, strict=True)
    ]


def _cut_off_absent(derived: DerivedAdapter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Remove absent inputs and unread outputs from the ends of `inputs` and `outputs`, in place.

    Each list is cut only until the target version allows its length. Raises Refusal C204 if too many inputs or outputs
    are left for the target version, or if one that it requires is missing.
    """
    target, schema, is_read = derived.target, node.schema, node.values.is_read
    while len(inputs) > target.max_input and not inputs[-1]:
        inputs.pop()
    while len(outputs) > target.max_output and not (outputs[-1] and is_read(outputs[-1])):
        outputs.pop()
    for word, given, formals in (("input", inputs, schema.inputs), ("output", outputs, schema.outputs)):
        for misfit in arity_misfits(target, given, outputs=word == "output"):
            why = f"{misfit.what}: {misfit.why}"
            if len(given) > (target.max_input if word == "input" else target.max_output):
                last = formals[min(len(given), len(formals)) - 1].name
                why = f"the {word} '{last}' does not exist at version {target.since_version}"
            raise Refusal("C204", why)


def _convert_attributes(derived: DerivedAdapter, node: Node) -> tuple[list[str], dict[str, Any]]:
    """Return the names of attributes to remove, and the attributes to set with their values.

    Raises Refusal C204 if the target version cannot express an attribute, C103 if an axis is out of range, C207 if a
    needed rank is unknown. C206 is raised if an attribute takes its value from the function around the node.
    """
    since = derived.target.since_version
    drop: list[str] = [name for name in derived.drop if node.has(name)]
    for name in derived.unsupported:
        after = derived.target.attributes.get(name)
        # What the source version lacks is required.
        is_needed = after is not None and (after.required or node.schema.attributes[name].default != after.default)
        if node.has(name) or is_needed:
            raise Refusal("C204", f"the attribute '{name}' has no equal at version {since}")
    for name, undefined in derived.undefined.items():
        if node.has(name) and node.attr(name) == (list(undefined) if isinstance(undefined, tuple) else undefined):
            raise Refusal("C204", f"'{name}' is {safe_text(node.attr(name))}, which has no meaning before {since}")
    for name, old in derived.must_equal.items():
        if name in derived.only_for and _has_no_value_of(node, derived.only_for[name]):
            drop += [name] if node.has(name) else []
            continue
        if not node.has(name):
            default = node.schema.attributes[name].default
            if default is not None and default != old:
                raise Refusal("C204", f"'{name}' is {default} by default; version {since} has no such attribute")
            continue
        value = node.attr(name)
        if not is_old_value(value, old):
            what = safe_text(value) if not hasattr(value, "DESCRIPTOR") else "given"
            raise Refusal("C204", f"'{name}' is {what}; version {since} has no such attribute")
        drop.append(name)
    for name, required in derived.required:
        if not node.has(name):
            what = "it" if name == required else f"'{required}'"
            raise Refusal("C204", f"the attribute '{name}' is absent, and version {since} requires {what}")
    changes = {new: value for name, new, value in derived.set_defaults if not node.has(name)}
    for name, why in derived.illegal_defaults.items():
        if not node.has(name):
            raise Refusal("C204", why)
    for pair in derived.rewrite:
        source, target = pair.source, pair.target
        if not node.has(source.name):
            continue
        value = node.attr(source.name)
        after = pair.value(value)
        if after is None:
            raise Refusal("C204", f"'{source.name}' is {safe_text(value)}, which version {since} cannot say")
        _check_values(derived, {target.name: after})
        if source.name != target.name:
            drop.append(source.name)
        if source.name != target.name or source.type != target.type or after != value:
            changes[target.name] = after
    return drop, changes | _count_axes_from_front(derived, node)


def _check_values(derived: DerivedAdapter, values: dict[str, Any]) -> None:
    """Raise Refusal C204 if the target version does not allow one of the attribute `values`, given by name."""
    for why in _why_illegal(derived.target, values):
        raise Refusal("C204", why)


def _why_illegal(target: OpSchema, values: dict[str, Any]) -> Iterator[str]:
    """Yield why the target version does not allow attribute `values`, given by name."""
    return (f"{each.what}; at version {target.since_version} {each.why}" for each in value_misfits(target, values))


def _has_no_value_of(node: Node, types: frozenset[str]) -> bool:
    """Whether surely no input or output of a node has one of the element types `types`; False if a type is unknown."""
    values = [name for name in (*node.inputs, *node.outputs) if name]
    return all((element := node.values.element(name)) is not None and element not in types for name in values)


def _count_axes_from_front(derived: DerivedAdapter, node: Node) -> dict[str, Any]:
    """Return new values for attributes with negative axes, by name: their axes counted from the front.

    Only attributes that may not be negative in the target version are included. Raises Refusal C103 for an axis that is
    out of range, C207 if the rank is not known.
    """
    changes: dict[str, Any] = {}
    for name in derived.from_front:
        value = node.attr(name)
        axes = value if isinstance(value, list) else [value]
        if value is None or all(axis >= 0 for axis in axes):
            continue
        # All inputs of a variadic parameter have one rank.
        count = len(node.inputs) if node.schema.inputs[0].option == VARIADIC else 1
        rank = next((rank for index in range(count) if (rank := node.rank(index)) is not None), None)
        rank = node.need_rank(0) if rank is None else rank
        for axis in axes:
            if not -rank <= axis < rank:
                raise Refusal("C103", f"axis {axis} is out of range for rank {rank}")
        front = [axis % rank for axis in axes]
        changes[name] = front if isinstance(value, list) else front[0]
    return changes


def _convert_inputs(
    derived: DerivedAdapter, op: Builder, node: Node, drop: list[str], changes: dict[str, Any]
) -> list[str]:
    """Return the names of a node's inputs at the target version.

    Where an attribute became an input, `op` makes a constant of the attribute's value. The attribute is to be removed:
    its name is added to `drop`. Where an input became an attribute, the result has "", and the attribute's value is
    added to `changes`, by name.

    Raises Refusal if a needed value is absent or not known, or if the target version does not allow it. Raises
    BudgetExceeded if the budget is used up.
    """
    inputs = list(node.inputs)
    for name, position in derived.to_input.items():
        formal = derived.target.inputs[position]
        if not node.reference(name) and node.attr(name) is None:
            if formal.option == "single":
                since = derived.target.since_version
                raise Refusal("C204", f"the attribute '{name}' is absent, and its input is required at version {since}")
            continue
        kind = "float" if node.schema.attributes[name].type in ("float", "floats") else "int64"
        if f"tensor({kind})" not in derived.target.allowed_types(formal):
            raise Refusal("C202", f"the attribute '{name}' cannot become the input '{formal.name}'")
        inputs.extend("" for _ in range(position + 1 - len(inputs)))
        inputs[position] = op.const_of_attribute(node, name, kind)
        drop.append(name)
    for position, name in derived.to_attribute.items():
        declared, given = derived.target.attributes[name], node.schema.inputs[position].name
        if not node.input(position):
            if declared.required:
                raise Refusal("C204", f"the input '{given}' is absent")
            continue
        constant = node.need_constant(position)
        plural = declared.type.endswith("s")
        if constant.element not in ATTRIBUTE_ELEMENTS.get(declared.type.removesuffix("s"), ()):
            raise Refusal("C202", f"the input '{given}' is of type {constant.element}")
        if not plural and len(constant.values) != 1:
            raise Refusal("C204", f"the input '{given}' is no single number")
        changes[name] = list(constant.values) if plural else constant.values[0]
        _check_values(derived, {name: changes[name]})
        inputs[position] = ""
    return inputs
