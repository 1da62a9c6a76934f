"""What follows from a transition's signature difference and its declared facets, without any code for the operator."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from opset.errors import printable
from opset.model.elements import NUMBERS, element_name
from opset.schemas.constraints.signature import DATA_TYPE, arity_misfits, comparisons_of, type_misfits, value_misfits
from opset.schemas.model import OPTIONAL, SINGLE, VARIADIC, Attribute, AttributeChange, Change, OpSchema
from opset.version_converter.rewrite import Builder, Node, Refusal, Result, unknown_type

# Element types of an input that an attribute of a type can hold exactly.
ATTRIBUTE_ELEMENTS = {
    "int": ("int64", "int32", "int16", "int8", "uint32", "uint16", "uint8"),
    "float": ("float", "float16", "bfloat16"),
    "string": ("string",),
}


class TypeRestriction(NamedTuple):
    """A parameter whose type may not fit the other side, by itself or beside others; variadic: with all after it."""

    outputs: bool
    position: int
    variadic: bool


class Counterpart(NamedTuple):
    """An attribute and what it is on the other side: by another name, with other values, as another type."""

    here: Attribute
    there: Attribute
    values: Mapping[Any, Any]

    def value(self, value: Any) -> Any:
        """Return what a value is on the other side, None where that side cannot say it."""
        here, there = self.here, self.there
        if self.values and isinstance(value, list | tuple):
            value = type(value)(self.values.get(each, each) for each in value)
        elif self.values:
            value = self.values.get(value, value)
        if here.type == there.type:
            return value
        if here.kind == DATA_TYPE:
            return NUMBERS.get(value.lower()) if here.type == "string" else (element_name(value) or "").upper() or None
        if not math.isfinite(value) or abs(value) >= 2**63:
            return None
        number = int(value) if there.type == "int" else struct.unpack("<f", struct.pack("<f", value))[0]
        return number if number == value else None

    @property
    def differs(self) -> bool:
        """Whether any value is written in another way on the other side."""
        return bool(self.values) or self.here.name != self.there.name or self.here.type != self.there.type

    @property
    def restricted(self) -> bool:
        """Whether a legal value may be illegal on the other side, whatever the ranks."""
        here, there = self.here, self.there
        if there.kind == DATA_TYPE:
            return False
        known = {self.value(each) for each in here.choices}
        ranges = {each for each in comparisons_of(there) if not each.bound.sign}
        return bool(there.choices and (not known or known - {*there.choices})) or not ranges <= {*comparisons_of(here)}


class Derived(NamedTuple):
    """One transition in one direction, as far as it follows from the signatures. Empty: such a node is left alone."""

    target: OpSchema
    renamed: bool
    """Whether the operator has another name on the other side."""
    drop: tuple[str, ...]
    set_defaults: tuple[tuple[str, str, Any], ...]
    """Names of attributes here and there, and the value to state there where they are absent here."""
    rewrite: tuple[Counterpart, ...]
    """Attributes that are written in another way, or are more restricted, on the other side."""
    undefined: dict[str, Any]
    """Values of attributes that mean nothing on this side."""
    must_equal: dict[str, Any]
    unsupported: tuple[str, ...]
    to_input: dict[str, int]
    to_attribute: dict[int, str]
    narrower: bool
    """Whether the other side has fewer inputs or outputs, or requires more of them."""
    type_restrictions: tuple[TypeRestriction, ...]
    emulate: Mapping[str, str]
    """Element types by which others are computed on the other side."""
    from_front: tuple[str, ...]
    """Axes that count from the front alone on the other side."""
    only_for: dict[str, frozenset[str]]
    """Element types of inputs and outputs without which an attribute of `must_equal` has no effect."""

    @property
    def rewrites(self) -> bool:
        """Whether a node that crosses is likely to change; else only types and attributes are checked."""
        return bool(
            self.renamed
            or self.to_input
            or self.to_attribute
            or self.set_defaults
            or any(each.differs for each in self.rewrite)
        )

    @property
    def touches(self) -> bool:
        """Whether any node can need more than to be left alone."""
        return bool(
            self.rewrites
            or self.drop
            or self.rewrite
            or self.undefined
            or self.must_equal
            or self.unsupported
            or self.narrower
            or self.type_restrictions
            or self.from_front
        )


def derive(source: OpSchema, target: OpSchema, change: Change) -> Derived:
    """Return what takes a node from one version to a neighbouring one, up or down; `change` is the newer one's."""
    upwards = source.since_version < target.since_version
    older, newer = (source, target) if upwards else (target, source)
    pairs = _pairs(older, newer, change)
    stayed = {before.name for before, _ in pairs}, {after.name for _, after in pairs}
    removed = [each for name, each in older.attributes.items() if name not in stayed[0]]
    added = [each for name, each in newer.attributes.items() if name not in stayed[1]]
    facets = {name: change.attributes.get(name, AttributeChange()) for name in older.attributes | newer.attributes}
    counterparts = [_counterpart(before, after, facets[after.name], upwards) for before, after in pairs]
    positions = {parameter.name: index for index, parameter in enumerate(newer.inputs)}
    inputs = {
        each.name: positions[facets[each.name].input]
        for each in removed
        if facets[each.name].input in positions and each.type.removesuffix("s") in ("int", "float")
    }
    drop: list[str] = []
    unsupported = [each.here.name for each in counterparts if not _is_convertible(each)]
    for each in removed:
        if upwards and facets[each.name].ignored:
            drop.append(each.name)
        elif each.name not in inputs and (upwards or each.required):
            unsupported.append(each.name)
    old = {each.name: each.default if facets[each.name].old is None else facets[each.name].old for each in added}
    set_defaults = [_default(each, facets[each.there.name].old if upwards else None) for each in counterparts]
    if upwards:
        set_defaults += [
            (each.name, each.name, old[each.name])
            for each in added
            if old[each.name] != each.default and not isinstance(old[each.name], dict)
        ]
    axes = [name for name, each in source.attributes.items() if facets[name].negative and each.type in ("int", "ints")]
    from_front = () if upwards or not source.inputs else tuple(axes)
    return Derived(
        target,
        renamed=source.name != target.name,
        drop=tuple(drop),
        set_defaults=tuple(each for each in set_defaults if each is not None),
        rewrite=tuple(
            each
            for each in counterparts
            if _is_convertible(each) and (each.differs or (each.restricted and each.here.name not in from_front))
        ),
        undefined={n: each.undefined for n, each in facets.items() if upwards and each.undefined is not None},
        must_equal={} if upwards else old,
        unsupported=tuple(unsupported),
        to_input=inputs if upwards else {},
        to_attribute={} if upwards else {position: name for name, position in inputs.items()},
        narrower=_is_narrower(source, target),
        type_restrictions=_type_restrictions(source, target),
        emulate={} if upwards else change.emulate,
        from_front=from_front,
        only_for={name: frozenset(facet.only_for) for name, facet in change.attributes.items() if facet.only_for},
    )


def _pairs(older: OpSchema, newer: OpSchema, change: Change) -> list[tuple[Attribute, Attribute]]:
    """Return the attributes of both versions, renamed ones among them."""
    pairs = [(before, newer.attributes[name]) for name, before in older.attributes.items() if name in newer.attributes]
    renamed = {name: facet.renamed for name, facet in change.attributes.items() if facet.renamed}
    return pairs + [
        (older.attributes[before], newer.attributes[after])
        for after, before in renamed.items()
        if before in older.attributes and after in newer.attributes
    ]


def _counterpart(before: Attribute, after: Attribute, facet: AttributeChange, upwards: bool) -> Counterpart:
    if upwards:
        return Counterpart(before, after, facet.values)
    # A newer value that the older version has too stays.
    back = {new: old for old, new in facet.values.items() if new not in before.choices}
    return Counterpart(after, before, back)


def _is_convertible(pair: Counterpart) -> bool:
    """Whether an attribute's type stays, or its values are numbers, or element types, in both types."""
    here, there = pair.here, pair.there
    types = {here.type, there.type}
    convertible = len(types) == 1 or types == {"int", "float"}
    convertible = convertible or (types == {"int", "string"} and here.kind == there.kind == DATA_TYPE)
    return convertible and (here.default is None or pair.value(here.default) is not None)


def _default(pair: Counterpart, old: Any) -> tuple[str, str, Any] | None:
    """Return what to state where an attribute is absent, if that means another value there; `old`: what it meant."""
    if not _is_convertible(pair):
        return None
    meant = old if pair.here.default is None else pair.value(pair.here.default)
    return None if meant is None or meant == pair.there.default else (pair.here.name, pair.there.name, meant)


def _is_narrower(source: OpSchema, target: OpSchema) -> bool:
    """Whether a node may have more inputs or outputs than the target, or lack inputs that it requires."""
    required = any(
        after.option == SINGLE and before.option == OPTIONAL
        for before, after in zip(source.inputs, target.inputs, strict=False)
    )
    return required or target.max_input < source.max_input or target.max_output < source.max_output


def _type_restrictions(source: OpSchema, target: OpSchema) -> tuple[TypeRestriction, ...]:
    """Return the parameters with fewer types, or of one type where they need not be of one on the other side."""
    found: set[TypeRestriction] = set()
    bound: dict[str, list[TypeRestriction]] = {}
    bound_before: dict[str, set[tuple[str, bool]]] = {}
    for outputs, here, there in ((False, source.inputs, target.inputs), (True, source.outputs, target.outputs)):
        for position, (before, after) in enumerate(zip(here, there, strict=False)):
            if not set(target.allowed(after)).issuperset(source.allowed(before)):
                found.add(TypeRestriction(outputs, position, after.option == VARIADIC))
            if after.homogeneous:
                bound.setdefault(after.type, []).append(TypeRestriction(outputs, position, False))
                bound_before.setdefault(after.type, set()).add((before.type, before.homogeneous))
    for name, parameters in bound.items():
        if len(bound_before[name]) > 1 and len(target.types.get(name, ())) > 1:
            found.update(parameters)
    return tuple(sorted(found, key=lambda each: (each.outputs, each.position)))


def check_types(derived: Derived, node: Node, valid: set[tuple[Any, ...]]) -> None:
    """Refuse (C202, C203) a node whose types the other side does not allow; `valid` keeps those that it allows."""
    if not derived.type_restrictions:
        return
    restricted = [
        (each.outputs, position)
        for each in derived.type_restrictions
        for count in [len(node.outputs if each.outputs else node.inputs)]
        for position in range(each.position, count if each.variadic else min(each.position + 1, count))
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
            help = "cast the value to a type that version takes"
            raise Refusal("C202", f"{misfit.what}: {misfit.why}", help)
        if None in types:
            raise unknown_type(names[types.index(None)])
        valid.add(form)


def run(derived: Derived, op: Builder, node: Node, valid: set[tuple[Any, ...]]) -> Result:
    """Take a node across the transition: None where it may stay as it is. Raises Refusal; `valid`: see check_types."""
    if derived.emulate:
        stated = _emulated_attributes(derived, node)
        if stated or any(node.element(index) in derived.emulate for index in range(len(node.inputs))):
            return _emulated(derived, op, node, stated)
    check_types(derived, node, valid)
    drop, changes = _attributes(derived, node)
    inputs = _inputs(derived, op, node, drop, changes)
    outputs = list(node.outputs)
    if derived.narrower:
        _cut(derived, node, inputs, outputs)
    same_inputs, same_outputs = inputs == node.inputs, outputs == node.outputs
    if same_inputs and same_outputs and not drop and not changes and not derived.renamed:
        return None
    kept: Result = op.copy(
        node, inputs=None if same_inputs else inputs, outputs=None if same_outputs else outputs, drop=drop, **changes
    )
    return kept


def _emulated_attributes(derived: Derived, node: Node) -> dict[str, int]:
    """Return the attributes that name an emulated type, with the numbers of the wider ones."""
    declared = [each.name for each in node.schema.attributes.values() if each.kind == DATA_TYPE and each.type == "int"]
    named = {name: element_name(node.attr(name)) or "" for name in declared if node.has(name)}
    return {name: NUMBERS[derived.emulate[each]] for name, each in named.items() if each in derived.emulate}


def _emulated(derived: Derived, op: Builder, node: Node, stated: dict[str, int]) -> Result:
    """Return the node with its inputs of emulated types cast to the wider ones, and its outputs cast back."""
    wider = derived.emulate
    drop, changes = _attributes(derived, node)
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


def _cut(derived: Derived, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Cut off last inputs and outputs that are not in use; refuse those that are, and absent required inputs."""
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


def _attributes(derived: Derived, node: Node) -> tuple[list[str], dict[str, Any]]:
    """Return the attributes to drop and those to state; refuse what the other side cannot say."""
    since = derived.target.since_version
    drop: list[str] = [name for name in derived.drop if node.has(name)]
    for name in derived.unsupported:
        here, there = node.schema.attributes.get(name), derived.target.attributes.get(name)
        needed = there is not None and (there.required or (here is not None and here.default != there.default))
        if node.has(name) or needed:
            raise Refusal("C204", f"the attribute '{name}' has no equal at version {since}")
    for name, undefined in derived.undefined.items():
        if node.has(name) and node.attr(name) == (list(undefined) if isinstance(undefined, tuple) else undefined):
            raise Refusal("C204", f"'{name}' is {printable(node.attr(name))}, which has no meaning before {since}")
    for name, old in derived.must_equal.items():
        if name in derived.only_for and _has_none(node, derived.only_for[name]):
            drop += [name] if node.has(name) else []
            continue
        if not node.has(name):
            default = node.schema.attributes[name].default
            if default is not None and default != old:
                raise Refusal("C204", f"'{name}' is {default} by default; before version {since} nothing does that")
            continue
        value = node.attr(name)
        same = all(item == old["all"] for item in value) if isinstance(old, dict) else value == old
        if not same:
            what = printable(value) if not hasattr(value, "DESCRIPTOR") else "given"
            raise Refusal("C204", f"'{name}' is {what}; version {since} has no such attribute")
        drop.append(name)
    changes = {there: value for name, there, value in derived.set_defaults if not node.has(name)}
    for pair in derived.rewrite:
        if node.has(pair.here.name):
            changes |= _rewritten(derived, pair, node.attr(pair.here.name))
            drop += [pair.here.name] if pair.here.name != pair.there.name else []
    return drop, changes | _from_front(derived, node)


def _rewritten(derived: Derived, pair: Counterpart, value: Any) -> dict[str, Any]:
    """Return an attribute by its name and with its value on the other side, nothing where it is the same there."""
    since, there = derived.target.since_version, pair.value(value)
    if there is None:
        raise Refusal("C204", f"'{pair.here.name}' is {printable(value)}, which version {since} cannot say")
    _check_values(derived, {pair.there.name: there})
    same = pair.here.name == pair.there.name and pair.here.type == pair.there.type and there == value
    return {} if same else {pair.there.name: there}


def _check_values(derived: Derived, values: dict[str, Any]) -> None:
    """Refuse values of attributes that are not legal on the other side."""
    for misfit in value_misfits(derived.target, values):
        raise Refusal("C204", f"{misfit.what}; at version {derived.target.since_version} {misfit.why}")


def _has_none(node: Node, types: frozenset[str]) -> bool:
    """Whether none of a node's inputs and outputs is certainly of these element types."""
    values = [name for name in (*node.inputs, *node.outputs) if name]
    return all((element := node.values.element(name)) is not None and element not in types for name in values)


def _from_front(derived: Derived, node: Node) -> dict[str, Any]:
    """Return the axes that have to change so that they count from the front."""
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


def _inputs(derived: Derived, op: Builder, node: Node, drop: list[str], changes: dict[str, Any]) -> list[str]:
    """Return the inputs on the other side; attributes that become inputs go to `drop`, and back to `changes`."""
    inputs = list(node.inputs)
    for name, position in derived.to_input.items():
        formal = derived.target.inputs[position]
        if not node.reference(name) and node.attr(name) is None:
            if formal.option == "single":
                since = derived.target.since_version
                raise Refusal("C204", f"the attribute '{name}' is absent, and its input is required at version {since}")
            continue
        kind = "float" if node.schema.attributes[name].type in ("float", "floats") else "int64"
        if f"tensor({kind})" not in derived.target.allowed(formal):
            raise Refusal("C202", f"the attribute '{name}' cannot become the input '{formal.name}'")
        inputs.extend("" for _ in range(position + 1 - len(inputs)))
        inputs[position] = op.held(node, name, kind)
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
