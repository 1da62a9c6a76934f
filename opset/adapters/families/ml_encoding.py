"""LabelEncoder, whose table has another form in every version."""

from __future__ import annotations

from typing import Any

from opset.adapters.building.shared import LISTS, ML, need_uniform_operators
from opset.adapters.families.ml_trees import ambiguity
from opset.adapters.limits import MAX_ENTRIES
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down, refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

DEFAULTS = {"string": "_Unused", "int64": -1, "int32": -1, "int16": -1, "float": -0.0, "double": -0.0}
"""The default of each type of values for elements without a key."""
Pairs = list[tuple[Any, Any]]


@up("LabelEncoder", since=2, domain=ML)
@refuses("C204", "`classes_strings` is empty; from version 2 on there have to be keys")
def label_encoder_2_up(op: Builder, node: Node) -> Result:
    """Write the list as keys and values, in the direction that the type of the input determines."""
    classes = node.attr("classes_strings")
    if not classes:
        raise Refusal("C204", "'classes_strings' is empty; from version 2 on there have to be keys")
    positions = list(range(len(classes)))
    if node.need_element(0) == "int64":
        drop = ["classes_strings", "default_int64"]
        return op.copy(node, drop=drop, keys_int64s=positions, values_strings=classes)
    if len(set(classes)) != len(classes):
        raise ambiguity("'classes_strings' has a duplicate", "give each class once")
    drop = ["classes_strings", "default_string"]
    return op.copy(node, drop=drop, keys_strings=classes, values_int64s=positions)


@down("LabelEncoder", since=2, domain=ML)
def label_encoder_2_down(op: Builder, node: Node) -> Result:
    """Write the strings as a list, which numbers them 0, 1, 2 and so on, or as a CategoryMapper for other integers."""
    key, value, pairs = _read_table(node)
    if {key, value} != {"string", "int64"}:
        label = "it maps other types than strings to int64 or the other way round"
        why = f"it maps {key} to {value}; version 1 maps strings to int64 or the other way round"
        raise Refusal("C204", why, label=label)
    drop = [attribute.name for attribute in node.proto.attribute if attribute.name != f"default_{value}"]
    by_number = sorted(((pair if key == "int64" else pair[::-1]) for pair in pairs), key=lambda pair: pair[0])
    numbers, strings = [number for number, _ in by_number], [string for _, string in by_number]
    if numbers == list(range(len(numbers))):
        return op.copy(node, drop=drop, classes_strings=strings)
    return op.copy(node, op_type="CategoryMapper", drop=drop, cats_int64s=numbers, cats_strings=strings)


@up("LabelEncoder", since=4, domain=ML)
@refuses("C204", "a key is NaN; before version 4 it matches only NaN with the same bits")
def label_encoder_4_up(op: Builder, node: Node) -> Result:
    """Refuse a key that is NaN, and drop repeated keys: version 4 defines both in another way.

    Zeros of both signs become keys: they are one key before, and version 4 does not define it.
    """
    key, value, pairs = _read_table(node)
    if any(number != number for number, _ in pairs):
        raise Refusal("C204", "a key is NaN; before version 4 it matches only NaN with the same bits", "remove the key")
    return None if _has_keys(node, key, pairs) else op.copy(node, **_list_attributes(key, value, pairs))


@down("LabelEncoder", since=4, domain=ML)
@refuses("C202", "keys are of type double; before version 4 no keys are")
def label_encoder_4_down(op: Builder, node: Node) -> Result:
    """Write tensors as lists; cast types without lists, or gather them from a constant; match NaN by IsNaN."""
    key, value, pairs = _read_table(node)
    default = _default_value(node, value)
    if key == "double":
        raise Refusal("C202", "keys are of type double; before version 4 no keys are", "cast the input to float")
    missing = [value_of_key for number, value_of_key in pairs if number != number]
    if not missing and value in LISTS and not node.has("values_tensor") and _has_keys(node, key, pairs):
        return None
    x = node.input(0)
    constants = ""
    if key not in LISTS:
        need_uniform_operators(node)
        x = op.Cast(x, to=NUMBERS["int64"], domain="")
        key = "int64"
    if value not in LISTS or missing:
        # Where selects indices instead of values, since Where of some runtimes drops the sign of zero.
        distinct = {repr(value_of_key): value_of_key for _, value_of_key in pairs}
        indices = {value_of_key: index for index, value_of_key in enumerate(distinct)}
        constants = op.const([*distinct.values(), default], value)
        pairs = [(number, indices[repr(value_of_key)]) for number, value_of_key in pairs]
        missing = [indices[repr(value_of_key)] for value_of_key in missing]
        value = "int64"
        default = len(distinct)
    pairs = [(number, value_of_key) for number, value_of_key in pairs if number == number]
    if pairs:
        drop = [attribute.name for attribute in node.proto.attribute]
        changes = {**_list_attributes(key, value, pairs), f"default_{value}": default}
        y = op.copy(node, inputs=[x], outputs=[op.fresh("found")], drop=drop, **changes)
    else:
        y = op.const(default, value)
    if missing:
        y = op.Where(op.IsNaN(x, domain=""), op.const(missing[0], value), y, domain="")
    return op.Gather(constants, y, domain="") if constants else y


def _read_table(node: Node) -> tuple[str, str, Pairs]:
    """Return the types of keys and values, and the pairs: every key once, a float zero with both signs."""
    (key, keys) = _elements_of_side(node, "keys")
    (value, values) = _elements_of_side(node, "values")
    if len(keys) != len(values):
        raise Refusal("C103", f"there are {len(keys)} keys and {len(values)} values")
    table: dict[Any, tuple[Any, Any]] = {}
    for number, value_of_key in zip(keys, values, strict=True):
        first = table.setdefault(None if number != number else number, (number, value_of_key))
        if repr(first[1]) != repr(value_of_key):
            raise ambiguity("a key has two values", "give each key once")
    pairs: Pairs = []
    for number, value_of_key in table.values():
        zero = isinstance(number, float) and number == 0
        pairs += [(0.0, value_of_key), (-0.0, value_of_key)] if zero else [(number, value_of_key)]
    return key, value, pairs


def _elements_of_side(node: Node, name: str) -> tuple[str, list[Any]]:
    """Return type and elements of "keys" or "values"; raise Refusal C103 unless exactly one attribute holds them."""
    candidates = [(element, node.attr(f"{name}_{ending}")) for element, ending in LISTS.items()]
    tensor = node.attr(f"{name}_tensor")
    if tensor is not None:
        constant = node.values.elements(tensor, MAX_ENTRIES)
        if constant is None or len(constant.dims) != 1 or constant.element not in DEFAULTS:
            raise Refusal("C103", f"'{name}_tensor' is no vector of a type that the operator allows")
        candidates.append((constant.element, list(constant.values)))
    stated = [(element, elements) for element, elements in candidates if elements]
    if len(stated) != 1:
        raise Refusal("C103", f"{len(stated)} of the attributes {name}_* are given, and exactly one must be")
    return stated[0]


def _default_value(node: Node, value: str) -> Any:
    """Return the default for elements without a key at version 4; raise Refusal C103 or C204 if it is not defined."""
    tensor = node.attr("default_tensor")
    if node.attr("values_tensor") is None:
        if tensor is not None:
            raise ambiguity("'default_tensor' is given together with a list of values", f"state default_{value}")
        return node.attr(f"default_{value}")
    if any(repr(node.attr(f"default_{element}")) != repr(DEFAULTS[element]) for element in LISTS):
        raise ambiguity("the values are a tensor, and the default is not", "state default_tensor")
    if tensor is None:
        return DEFAULTS[value]
    constant = node.values.elements(tensor)
    if constant is None or constant.element != value or len(constant.values) != 1:
        raise Refusal("C103", f"'default_tensor' is not one element of type {value}")
    return constant.values[0]


def _has_keys(node: Node, key: str, pairs: Pairs) -> bool:
    """Whether the keys that the node lists are the keys of the pairs."""
    keys = node.attr(f"keys_{LISTS[key]}") if key in LISTS else None
    return sorted(map(repr, keys or ())) == sorted(repr(number) for number, _ in pairs)


def _list_attributes(key: str, value: str, pairs: Pairs) -> dict[str, Any]:
    """Return the attributes that hold pairs as lists."""
    keys, values = [number for number, _ in pairs], [value_of_key for _, value_of_key in pairs]
    return {f"keys_{LISTS[key]}": keys, f"values_{LISTS[value]}": values}
