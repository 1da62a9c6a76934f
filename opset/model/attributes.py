"""Attributes of nodes: their types in the words of schemas, and their values."""

from __future__ import annotations

from typing import Any

from opset.model.storage.tensor import text_of

# AttributeProto.AttributeType by the words of the schemas: its number and the field that holds the value.
FIELDS = {
    "float": (1, "f"),
    "int": (2, "i"),
    "string": (3, "s"),
    "tensor": (4, "t"),
    "graph": (5, "g"),
    "floats": (6, "floats"),
    "ints": (7, "ints"),
    "strings": (8, "strings"),
    "tensors": (9, "tensors"),
    "graphs": (10, "graphs"),
    "sparse_tensor": (11, "sparse_tensor"),
    "sparse_tensors": (12, "sparse_tensors"),
    "type_proto": (13, "tp"),
    "type_protos": (14, "type_protos"),
}
_NAMES = {number: name for name, (number, _) in FIELDS.items()}


def attribute_type(attribute: Any) -> str:
    """Return the schema's word for an AttributeProto's type; IR version 1 left it to be seen from the field in use."""
    if attribute.type:
        return _NAMES.get(attribute.type, "undefined")
    for name, (_, field) in FIELDS.items():
        if len(getattr(attribute, field)) if name.endswith("s") else attribute.HasField(field):
            return name
    return "undefined"


def attribute_value(attribute: Any) -> Any:
    """Return the value of an AttributeProto: int, float, str (bytes if not UTF-8), message, or a tuple of these.

    None stands for an attribute whose type is not known.
    """
    kind = attribute_type(attribute)
    if kind not in FIELDS:
        return None
    value = getattr(attribute, FIELDS[kind][1])
    if kind == "string":
        return text_of(value)
    if kind == "strings":
        return tuple(map(text_of, value))
    return tuple(value) if kind.endswith("s") else value


def set_value(attribute: Any, source: Any) -> None:
    """Set the value of an AttributeProto to the value of `source`, another one; the name stays.

    An attribute that was a reference to one of a function is a value then.
    """
    # The name is not assigned anew, as one that is not UTF-8 could not be.
    for field, _ in attribute.ListFields():
        if field.name != "name":
            attribute.ClearField(field.name)
    value = type(attribute)()
    value.CopyFrom(source)
    value.ClearField("name")
    attribute.MergeFrom(value)


def stated_integer(node: Any, name: str) -> int:
    """Return the value of the integer attribute `name`, 0 if the node does not state a value.

    An attribute that refers to one of a function states none.
    """
    return next((int(each.i) for each in node.attribute if each.name == name and not each.ref_attr_name), 0)


def fill_attribute(attribute: Any, name: str, kind: str, value: Any) -> None:
    """Set the name, the type and the value of an empty AttributeProto; `kind` is its type, such as "ints"."""
    number, field = FIELDS[kind]
    attribute.name, attribute.type = name, number
    if kind == "string":
        value = value.encode() if isinstance(value, str) else value
    elif kind == "strings":
        value = [item.encode() if isinstance(item, str) else item for item in value]
    if kind.endswith("s"):
        getattr(attribute, field).extend(value)
    elif kind in ("float", "int", "string"):
        setattr(attribute, field, value)
    else:
        getattr(attribute, field).CopyFrom(value)
