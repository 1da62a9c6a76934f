"""What follows from a transition's signature difference and its declared facets, without any code for the operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opset.errors import printable
from opset.model.elements import NUMBERS
from opset.schemas.model import OPTIONAL, SINGLE, VARIADIC, Change, OpSchema
from opset.schemas.signature import arity_misfits, listed, type_misfits
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


class Derived(NamedTuple):
    """One transition in one direction, as far as it follows from the signatures. Empty: such a node is left alone."""

    target: OpSchema
    drop: tuple[str, ...]
    set_defaults: dict[str, tuple[str, Any]]
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
    fewer_choices: tuple[str, ...]
    """Attributes with fewer choices at the other version."""

    @property
    def rewrites(self) -> bool:
        """Whether a node that crosses is likely to change; else only types and attributes are checked."""
        return bool(self.to_input or self.to_attribute or self.set_defaults)

    @property
    def touches(self) -> bool:
        """Whether any node can need more than to be left alone."""
        return bool(
            self.drop
            or self.set_defaults
            or self.must_equal
            or self.unsupported
            or self.to_input
            or self.to_attribute
            or self.narrower
            or self.type_restrictions
            or self.from_front
            or self.fewer_choices
        )


def derive(source: OpSchema, target: OpSchema, change: Change) -> Derived:
    """Return what takes a node from one version to a neighbouring one, up or down; `change` is the newer one's."""
    upwards = source.since_version < target.since_version
    older, newer = (source, target) if upwards else (target, source)
    drop, unsupported = [], []
    set_defaults: dict[str, tuple[str, Any]] = {}
    must_equal: dict[str, Any] = {}
    to_input: dict[str, int] = {}
    to_attribute: dict[int, str] = {}
    positions = {parameter.name: index for index, parameter in enumerate(newer.inputs)}
    for name, before in older.attributes.items():
        facet = change.attributes.get(name)
        after = newer.attributes.get(name)
        if after is None:
            if upwards:
                if facet is not None and facet.input:
                    to_input[name] = positions[facet.input]
                elif facet is not None and facet.ignored:
                    drop.append(name)
                else:
                    unsupported.append(name)
            elif facet is not None and facet.input:
                to_attribute[positions[facet.input]] = name
            elif before.required:
                unsupported.append(name)
        elif after.type != before.type:
            unsupported.append(name)
        else:
            here, there = (before, after) if upwards else (after, before)
            if here.default != there.default and here.default is not None:
                set_defaults[name] = (here.type, here.default)
    for name, after in newer.attributes.items():
        if name in older.attributes:
            continue
        facet = change.attributes.get(name)
        old = facet.old if facet is not None and facet.old is not None else after.default
        if upwards and old != after.default and not isinstance(old, dict):
            set_defaults[name] = (after.type, old)
        elif not upwards:
            must_equal[name] = old
    return Derived(
        target,
        tuple(drop),
        set_defaults,
        must_equal,
        tuple(unsupported),
        to_input,
        to_attribute,
        _is_narrower(source, target),
        _type_restrictions(source, target),
        {} if upwards else change.emulate,
        () if upwards else tuple(name for name, facet in change.attributes.items() if facet.negative),
        {name: frozenset(facet.only_for) for name, facet in change.attributes.items() if facet.only_for},
        tuple(name for name in source.attributes.keys() & target.attributes.keys() if _has_fewer(source, target, name)),
    )


def _has_fewer(source: OpSchema, target: OpSchema, name: str) -> bool:
    """Whether an attribute declares choices that the other side does not have."""
    here, there = source.attributes[name], target.attributes[name]
    return here.type == there.type and here.kind != "data_type" and bool(there.choices) and not (
        set(here.choices) <= set(there.choices)
    )


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


def check_types(derived: Derived, node: Node) -> None:
    """Refuse (C202, C203) a node whose types the other side does not allow."""
    if not derived.type_restrictions:
        return
    inputs: list[str | None] = [None] * len(node.proto.input)
    outputs: list[str | None] = [None] * len(node.proto.output)
    unknown = ""
    for each in derived.type_restrictions:
        names, types = (node.proto.output, outputs) if each.outputs else (node.proto.input, inputs)
        for position in range(each.position, len(names) if each.variadic else min(each.position + 1, len(names))):
            types[position] = type_ = node.values.type(names[position]) if names[position] else ""
            if type_ is None:
                unknown = unknown or names[position]
    for misfit in type_misfits(derived.target, inputs, outputs):
        help = "cast the value to a type that version takes, or choose another target"
        raise Refusal("C202", f"{misfit.what}: {misfit.why}", help)
    if unknown:
        raise unknown_type(unknown)


def run(derived: Derived, op: Builder, node: Node) -> Result:
    """Take a node across the transition: None where it may stay as it is. Raises Refusal."""
    if derived.emulate and any(node.element(index) in derived.emulate for index in range(len(node.proto.input))):
        return _emulated(derived, op, node)
    check_types(derived, node)
    drop, changes = _attributes(derived, node)
    inputs = _inputs(derived, op, node, drop, changes)
    outputs = list(node.proto.output)
    if derived.narrower:
        _cut(derived, node, inputs, outputs)
    same_inputs, same_outputs = inputs == node.proto.input, outputs == node.proto.output
    if same_inputs and same_outputs and not drop and not changes:
        return None
    return op.copy(
        node, inputs=None if same_inputs else inputs, outputs=None if same_outputs else outputs, drop=drop, **changes
    )


def _emulated(derived: Derived, op: Builder, node: Node) -> Result:
    """Return the node with its inputs of emulated types cast to the wider ones, and its outputs cast back."""
    wider = derived.emulate
    drop, changes = _attributes(derived, node)
    inputs = []
    for index, name in enumerate(node.proto.input):
        wide = wider.get(node.need_element(index)) if name else None
        inputs.append(op.Cast(name, to=NUMBERS[wide]) if wide else name)
    elements = [node.values.element(name) or "" for name in node.proto.output]
    outputs = [
        op.fresh("wide") if element in wider else name
        for name, element in zip(node.proto.output, elements, strict=True)
    ]
    op.copy(node, inputs=inputs, outputs=outputs, drop=drop, **changes)
    return [
        op.Cast(name, to=NUMBERS[element]) if element in wider else name
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
        required = name in derived.target.attributes and derived.target.attributes[name].required
        if node.has(name) or required:
            raise Refusal("C204", f"the attribute '{name}' has no equal at version {since}")
    for name in derived.fewer_choices:
        choices = derived.target.attributes[name].choices
        if node.has(name) and (value := node.attr(name)) not in choices:
            raise Refusal("C204", f"'{name}' is {printable(str(value))}; version {since} has {listed(choices)}")
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
    changes = {name: value for name, (_, value) in derived.set_defaults.items() if not node.has(name)}
    return drop, changes | _from_front(derived, node)


def _has_none(node: Node, types: frozenset[str]) -> bool:
    """Whether none of a node's inputs and outputs is certainly of these element types."""
    values = [name for name in (*node.proto.input, *node.proto.output) if name]
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
        count = len(node.proto.input) if node.schema.inputs[0].option == VARIADIC else 1
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
    inputs = list(node.proto.input)
    for name, position in derived.to_input.items():
        value, formal = node.attr(name), derived.target.inputs[position]
        if value is None:
            if formal.option == "single":
                since = derived.target.since_version
                raise Refusal("C204", f"the attribute '{name}' is absent, and its input is required at version {since}")
            continue
        kind = "float" if node.schema.attributes[name].type in ("float", "floats") else "int64"
        if f"tensor({kind})" not in derived.target.allowed(formal):
            raise Refusal("C202", f"the attribute '{name}' cannot become the input '{formal.name}'")
        inputs.extend("" for _ in range(position + 1 - len(inputs)))
        inputs[position] = op.const(value, kind)
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
        inputs[position] = ""
    return inputs
