"""Mutations of a model's structure: of any field of any message, and of what the parts of a model mean to each other.

A mutation is a function of the random numbers and a ModelProto, which it changes; it returns what it did, or None where
the model has nothing that it fits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from opset.model import proto as pb
from opset.model.attributes import FIELDS
from opset.model.proto import is_repeated
from opset.opsets.registry import default_registry

__all__ = ["OF_VALUES", "mend", "mutate", "mutate_node", "names", "new_tensor", "set_value", "tensor_type"]

Mutation = Callable[[random.Random, Any], str | None]

INTS = (0, 1, -1, 2, 3, -3, 7, 100, 2**16, 2**31 - 1, 2**31, 2**40, -(2**31) - 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -2.5, 0.5, 1e-45, 1e38, -3e38, float("inf"), float("-inf"), float("nan"))
STRINGS = (
    "", "x", "y", "N", "main", "ai.onnx", "ai.onnx.ml", "local", "NOTSET", "SAME_UPPER", "linear", "nearest", "FLOAT",
    "none", "\x1b[31m", "a\nb", "\0", "..", "/dev/zero", "é" * 50, "a" * 2_000, "=", "-1", "0x10", "1e5", "%s%n", "{}",
)  # fmt: skip
MOST = 50_000
"""Bytes of a mutant: parts of a larger one are not repeated."""
SCALARS: dict[int, tuple[Any, ...]] = {
    FieldDescriptor.TYPE_INT64: INTS,
    FieldDescriptor.TYPE_INT32: tuple(each for each in INTS if -(2**31) <= each < 2**31),
    FieldDescriptor.TYPE_UINT64: (*(each for each in INTS if each >= 0), 2**64 - 1),
    FieldDescriptor.TYPE_FLOAT: FLOATS,
    FieldDescriptor.TYPE_DOUBLE: (*FLOATS, 1e300),
    FieldDescriptor.TYPE_STRING: STRINGS,
    FieldDescriptor.TYPE_BYTES: (*(each.encode() for each in STRINGS), b"\xff\xfe", b"\x80" * 8),
}


class Part(NamedTuple):
    """A message of a model."""

    message: Any
    depth: int


def parts(root: Any) -> list[Part]:
    """Return every message below one, itself included."""
    found = [Part(root, 0)]
    for part in found:  # grows while it is walked
        for field, value in part.message.ListFields():
            if field.message_type is not None:
                found += [Part(each, part.depth + 1) for each in (value if is_repeated(field) else [value])]
    return found


def of_kind(root: Any, *kinds: str) -> list[Any]:
    """Return the messages of some kinds."""
    return [each.message for each in parts(root) if each.message.DESCRIPTOR.name in kinds]


def names(model: Any) -> list[str]:
    """Return the names of values anywhere in a model, duplicates included."""
    found = [name for node in of_kind(model, "NodeProto") for name in (*node.input, *node.output)]
    return [*found, *(each.name for each in of_kind(model, "ValueInfoProto", "TensorProto")), ""]


def one(rng: random.Random, choices: Any) -> Any:
    """Return one of some things, or None of none."""
    found = list(choices)
    return rng.choice(found) if found else None


def scalar(rng: random.Random, field: Any) -> Any:
    """Return an odd value for a field that holds no message."""
    if field.enum_type is not None:
        return rng.choice([each.number for each in field.enum_type.values])
    return rng.choice(SCALARS[field.type])


def nearby(rng: random.Random, field: Any, value: Any) -> Any:
    """Return a value that differs a little from one."""
    kind, changed = field.type, value
    if kind in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT64):
        changed = value + rng.choice((-2, -1, 1, 2))
    elif kind in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        changed = rng.choice((-value, value * 1e30, value / 1e30, value + 0.5))
    elif kind in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        changed = rng.choice((value[:-1], value + value, value + value[:1], value[1:]))
    low, high = (0, 2**64) if kind == FieldDescriptor.TYPE_UINT64 else (-(2**63), 2**63)
    if kind == FieldDescriptor.TYPE_INT32:
        low, high = -(2**31), 2**31
    return changed if not isinstance(changed, int) or low <= changed < high else 0


# Of any message.


def change_field(rng: random.Random, model: Any) -> str | None:
    """Set, change or clear a field that holds one value."""
    part = rng.choice(parts(model)).message
    field = one(rng, (each for each in part.DESCRIPTOR.fields if each.message_type is None and not is_repeated(each)))
    if field is None or field.name == "opset_payload":
        return None
    where = f"{part.DESCRIPTOR.name}.{field.name}"
    form = rng.randrange(4)
    if form == 0:
        part.ClearField(field.name)
        return f"{where} cleared"
    value = scalar(rng, field) if form < 3 or field.enum_type else nearby(rng, field, getattr(part, field.name))
    setattr(part, field.name, value)
    return f"{where} = {str(value)[:40]!r}"


def clear_message(rng: random.Random, model: Any) -> str | None:
    """Clear a field that holds one message."""
    held = [
        (each.message, field)
        for each in parts(model)
        for field, _ in each.message.ListFields()
        if field.message_type is not None and not is_repeated(field)
    ]
    found = one(rng, held[1:] or held)
    if found is None:
        return None
    found[0].ClearField(found[1].name)
    return f"{found[0].DESCRIPTOR.name}.{found[1].name} cleared"


def lists(model: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each list that is not empty: its message, field and elements."""
    for part in parts(model):
        for field, value in part.message.ListFields():
            if is_repeated(field) and field.name != "opset_payload":
                yield part.message, field, value


def change_list(rng: random.Random, model: Any) -> str | None:
    """Delete, duplicate, swap, cut or repeat the elements of a list."""
    found = one(rng, lists(model))
    if found is None:
        return None
    owner, field, elements = found
    where, kept = f"{owner.DESCRIPTOR.name}.{field.name}", list(elements)
    index, other = rng.randrange(len(kept)), rng.randrange(len(kept))
    did = rng.choice(["delete", "duplicate", "swap", "cut", "rotate", "reverse", "repeat", "empty"])
    if did == "delete":
        del kept[index]
    elif did == "duplicate":
        kept.insert(other, kept[index])
    elif did == "swap":
        kept[index], kept[other] = kept[other], kept[index]
    elif did == "cut":
        del kept[index:]
    elif did == "rotate":
        kept = kept[index:] + kept[:index]
    elif did == "reverse":
        kept.reverse()
    elif did == "empty":
        kept = []
    elif model.ByteSize() < MOST // 40:
        kept *= rng.choice((2, 3, 20))
    copies = [copied(each) if field.message_type is not None else each for each in kept]
    owner.ClearField(field.name)
    getattr(owner, field.name).extend(copies)
    return f"{where}: {did} at {index} of {len(elements) if copies is not kept else len(kept)}"


def change_element(rng: random.Random, model: Any) -> str | None:
    """Change one element of a list of values, or add one."""
    fields = [(o, f, v) for o, f, v in lists(model) if f.message_type is None]
    found = one(rng, fields)
    if found is None:
        return None
    owner, field, elements = found
    value = scalar(rng, field)
    where = f"{owner.DESCRIPTOR.name}.{field.name}"
    if rng.random() < 0.3:
        elements.append(value)
        return f"{where} + {str(value)[:40]!r}"
    index = rng.randrange(len(elements))
    elements[index] = nearby(rng, field, elements[index]) if rng.random() < 0.4 else value
    return f"{where}[{index}] = {str(elements[index])[:40]!r}"


def add_value(rng: random.Random, model: Any) -> str | None:
    """Add elements to a list of values that is empty."""
    part = rng.choice(parts(model)).message
    field = one(rng, (each for each in part.DESCRIPTOR.fields if each.message_type is None and is_repeated(each)))
    if field is None or field.name == "opset_payload":
        return None
    getattr(part, field.name).extend(scalar(rng, field) for _ in range(rng.randrange(1, 4)))
    return f"{part.DESCRIPTOR.name}.{field.name} has more"


def copied(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def transplant(rng: random.Random, model: Any, donor: Any = None) -> str | None:
    """Put a message, of the model or of another one, into another place where its kind may be."""
    source = rng.choice(parts(donor if donor is not None else model)[1:] or [Part(model, 0)]).message
    kind = source.DESCRIPTOR
    taking = [
        (each.message, field)
        for each in parts(model)
        for field in each.message.DESCRIPTOR.fields
        if field.message_type is not None and field.message_type.full_name == kind.full_name and each.depth < 60
    ]
    found = one(rng, taking)
    if found is None or model.ByteSize() + source.ByteSize() > MOST:
        return None
    owner, field = found
    copy = copied(source)
    if not is_repeated(field):
        getattr(owner, field.name).CopyFrom(copy)
    elif getattr(owner, field.name) and rng.random() < 0.5:
        rng.choice(list(getattr(owner, field.name))).CopyFrom(copy)
    else:
        getattr(owner, field.name).append(copy)
    return f"a {kind.name} into {owner.DESCRIPTOR.name}.{field.name}"


# Names.


def rename(rng: random.Random, model: Any) -> str | None:
    """Name a value as another: two inputs alike, a subgraph's output as an outer value, an output as an input."""
    named = of_kind(model, "NodeProto", "ValueInfoProto", "TensorProto", "TensorAnnotation")
    owner, name = one(rng, named), rng.choice(names(model))
    if owner is None:
        return None
    kind = owner.DESCRIPTOR.name
    if kind == "NodeProto":
        field = rng.choice(["input", "output"])
        values = getattr(owner, field)
        if not values:
            values.append(name)
        else:
            values[rng.randrange(len(values))] = name
        return f"{field} of {owner.op_type[:40]} named {name[:40]!r}"
    setattr(owner, "tensor_name" if kind == "TensorAnnotation" else "name", name)
    return f"{kind} named {name[:40]!r}"


def rename_graph_value(rng: random.Random, model: Any) -> str | None:
    """Name an input or output of a graph or function as another value."""
    owner = one(rng, of_kind(model, "GraphProto", "FunctionProto"))
    if owner is None:
        return None
    values, name = getattr(owner, rng.choice(["input", "output"])), rng.choice(names(model))
    if owner.DESCRIPTOR.name == "FunctionProto":
        values.append(name)
    elif values and rng.random() < 0.7:
        rng.choice(list(values)).name = name
    else:
        values.add(name=name)
    return f"a value of {owner.name[:40]!r} named {name[:40]!r}"


def rename_everywhere(rng: random.Random, model: Any) -> str | None:
    """Give one value the name of another everywhere, or an odd one."""
    old = rng.choice(names(model))
    new = rng.choice(STRINGS) if rng.random() < 0.5 else rng.choice(names(model))
    for node in of_kind(model, "NodeProto"):
        for field in (node.input, node.output):
            for index, name in enumerate(field):
                if name == old:
                    field[index] = new
    for value in of_kind(model, "ValueInfoProto", "TensorProto"):
        if value.name == old:
            value.name = new
    return f"{old[:40]!r} is {new[:40]!r} everywhere"


# Nodes, attributes and functions.


def change_inputs(rng: random.Random, model: Any) -> str | None:
    """Leave out, add or repeat the inputs or outputs of a node."""
    node = one(rng, of_kind(model, "NodeProto"))
    if node is None:
        return None
    field = rng.choice(["input", "output"])
    values = getattr(node, field)
    count = rng.choice((0, 1, 2, len(values) + 1, len(values) + 1, len(values) + 3, 12))
    while len(values) > count:
        values.pop()
    while len(values) < count:
        values.append(rng.choice([*names(model), "", f"new{len(values)}"]))
    return f"{node.op_type[:40]} has {count} {field}s"


def change_operator(rng: random.Random, model: Any) -> str | None:
    """Make a node one of another operator, with the same inputs and attributes."""
    node = one(rng, of_kind(model, "NodeProto"))
    if node is None:
        return None
    registry = default_registry()
    calls = [(each.domain, each.name) for each in model.functions]
    if calls and rng.random() < 0.6:
        node.domain, node.op_type = rng.choice(calls)
    else:
        node.domain = rng.choice(["", "", "", *registry.domains])
        node.op_type = rng.choice(registry.operators(node.domain))
    return f"a node of {node.op_type}"


def retype_attribute(rng: random.Random, model: Any) -> str | None:
    """Change the type of an attribute and keep its name, with a value of the new type, none, or that of the old one."""
    attribute = one(rng, of_kind(model, "AttributeProto"))
    if attribute is None:
        return None
    name, old = attribute.name, attribute.type
    if rng.random() < 0.7:
        attribute.Clear()
    attribute.name, attribute.type = name, rng.randrange(15)
    if rng.random() < 0.8:
        set_value(rng, model, attribute)
    return f"attribute {name[:40]!r} of type {attribute.type} for {old}"


def set_value(rng: random.Random, model: Any, attribute: Any) -> None:
    """Give an attribute a value of its type."""
    fields = dict(FIELDS.values())
    if attribute.type not in fields:
        return
    field = attribute.DESCRIPTOR.fields_by_name[fields[attribute.type]]
    many = rng.randrange(5) if is_repeated(field) else 1
    for _ in range(many):
        if field.message_type is None:
            made = scalar(rng, field)
        else:
            kind = field.message_type.name
            existing = [each for each in of_kind(model, kind) if each.ByteSize() < 2_000]
            if existing and rng.random() < 0.6:
                made = copied(rng.choice(existing))
            else:
                made = NEW[kind](rng) if kind in NEW else getattr(pb, kind)()
        if is_repeated(field):
            getattr(attribute, field.name).append(made)
        elif field.message_type is None:
            setattr(attribute, field.name, made)
        else:
            getattr(attribute, field.name).CopyFrom(made)


def new_tensor(rng: random.Random) -> Any:
    """Return a tensor of odd elements, or one whose data do not fit."""
    dims = rng.choice([[], [0], [1], [2], [2, 2], [4]])
    size = prod(dims)
    kind = rng.choice(["float", "int", "odd", "string"])
    if kind == "float":
        return pb.TensorProto(name="t", data_type=1, dims=dims, float_data=rng.choices(FLOATS, k=size))
    if kind == "int":
        return pb.TensorProto(name="t", data_type=7, dims=dims, int64_data=rng.choices(INTS, k=size))
    if kind == "string":
        odd = SCALARS[FieldDescriptor.TYPE_BYTES]
        return pb.TensorProto(name="t", data_type=8, dims=dims, string_data=rng.choices(odd, k=size))
    return pb.TensorProto(name="t", dims=[rng.choice(INTS)], data_type=rng.choice([0, 1, 7, 99]), raw_data=b"abc")


def new_sparse(rng: random.Random) -> Any:
    """Return a sparse tensor whose parts need not fit each other."""
    dims = rng.choices(INTS, k=rng.randrange(5))
    return pb.SparseTensorProto(values=new_tensor(rng), indices=new_tensor(rng), dims=dims)


def new_graph(rng: random.Random) -> Any:
    """Return a graph that gives what it takes."""
    made = pb.GraphProto(name="inner")
    for number in range(rng.randrange(4)):
        made.node.add(op_type="Identity", input=[f"g{number}"], output=[f"g{number}_o"])
        made.input.add(name=f"g{number}").type.tensor_type.elem_type = 1
        made.output.add(name=f"g{number}_o").type.tensor_type.elem_type = 1
    return made


NEW = {"TensorProto": new_tensor, "SparseTensorProto": new_sparse, "GraphProto": new_graph}


def add_attribute(rng: random.Random, model: Any) -> str | None:
    """Give a node an attribute: one that its operator has, or another."""
    node = one(rng, of_kind(model, "NodeProto"))
    if node is None:
        return None
    schema = default_registry().schema(node.op_type, 1 << 30, node.domain)
    known = [*schema.attributes] if schema else []
    name = rng.choice([*known, rng.choice(STRINGS)])
    attribute = node.attribute.add(name=name, type=rng.randrange(15))
    if rng.random() < 0.2:
        attribute.ref_attr_name = rng.choice(["k", "alpha", name])
    set_value(rng, model, attribute)
    return f"{node.op_type[:40]} with {name[:40]!r} of type {attribute.type}"


def odd_constant(rng: random.Random, model: Any) -> str | None:
    """Make a Constant with a graph, a type or any other attribute, and let a node read it."""
    graph = one(rng, of_kind(model, "GraphProto", "FunctionProto"))
    if graph is None:
        return None
    node = pb.NodeProto(op_type="Constant", output=["odd"])
    names = "value sparse_value value_int value_ints value_float value_floats value_string value_strings".split()
    attribute = node.attribute.add(name=rng.choice(names), type=rng.randrange(1, 15))
    set_value(rng, model, attribute)
    readers = list(graph.node)
    if readers and (reader := rng.choice(readers)).input:
        reader.input[rng.randrange(len(reader.input))] = "odd"
    elif graph.DESCRIPTOR.name == "GraphProto":
        graph.output.add(name="odd")
    graph.node.insert(0, node)
    return f"a Constant whose {attribute.name} is of type {attribute.type}"


def move_node(rng: random.Random, model: Any) -> str | None:
    """Move or copy a node into another graph or function."""
    owners = of_kind(model, "GraphProto", "FunctionProto")
    source, target = one(rng, (each for each in owners if each.node)), one(rng, owners)
    if source is None or model.ByteSize() > MOST // 2:
        return None
    index = rng.randrange(len(source.node))
    node = copied(source.node[index])
    if rng.random() < 0.5:
        del source.node[index]
    try:
        target.node.insert(rng.randint(0, len(target.node)), node)
    except (IndexError, ValueError):  # it was inside of the node that is gone
        return None
    return f"{node.op_type[:40]} from {source.name[:40]!r} to {target.name[:40]!r}"


def nest(rng: random.Random, model: Any) -> str | None:
    """Put a graph into an attribute of one of its own nodes, several times over."""
    graph = one(rng, of_kind(model, "GraphProto"))
    if graph is None:
        return None
    times = rng.choice((1, 1, 2, 5, 30))
    for _ in range(times):
        if graph.ByteSize() > MOST // 2 or not graph.node:
            break
        inner = copied(graph)
        node = rng.choice(list(graph.node))
        if rng.random() < 0.5:
            node.op_type, node.domain = rng.choice(("If", "Loop", "Scan", "SequenceMap")), ""
        name = rng.choice(("body", "then_branch", "else_branch"))
        slots = [each for each in node.attribute if each.type == 5]
        slot = rng.choice(slots) if slots and rng.random() < 0.5 else node.attribute.add(name=name, type=5)
        slot.g.CopyFrom(inner)
    return f"graph {graph.name[:40]!r} in itself, {times} times"


def wrap(rng: random.Random, model: Any) -> str | None:
    """Put the main graph into a branch, a loop, or a function of the model."""
    inner = copied(model.graph)
    outputs = [f"{each.name}_outer" for each in inner.output]
    form = rng.choice(("If", "Loop", "SequenceMap", "function"))
    del model.graph.node[:]
    if form == "function":
        known = {each.name for each in inner.initializer}
        given = [each.name for each in inner.input if each.name not in known]
        function = model.functions.add(name="wrapped", domain="local", input=given)
        function.output.extend(each.name for each in inner.output)
        function.node.extend(inner.node)
        function.opset_import.extend(model.opset_import)
        model.graph.node.add(op_type="wrapped", domain="local", input=given, output=outputs)
        model.opset_import.add(domain="local", version=1)
    else:
        node = model.graph.node.add(op_type=form, output=outputs, input=["trips", "cond"][form == "If" :])
        for name in ("then_branch", "else_branch") if form == "If" else ("body",):
            attribute = node.attribute.add(name=name, type=5)
            attribute.g.CopyFrom(inner)
            del attribute.g.initializer[:]
            if form == "If" and rng.random() < 0.8:
                del attribute.g.input[:]
        model.graph.initializer.add(name="trips", data_type=7, int64_data=[2])
        model.graph.initializer.add(name="cond", data_type=9, int32_data=[1])
    for value, name in zip(model.graph.output, outputs, strict=True):
        value.name = name
    return f"the main graph in a {form}"


def change_function(rng: random.Random, model: Any) -> str | None:
    """Exchange the names, inputs, attributes, imports or overloads of functions."""
    function = one(rng, model.functions)
    if function is None:
        return None
    other = rng.choice(list(model.functions))
    did = rng.choice(["name", "copy", "input", "output", "attribute", "default", "imports", "call", "overload"])
    if did == "name":
        function.name, other.name = other.name, function.name
    elif did == "copy":
        model.functions.add().CopyFrom(copied(function))
    elif did in ("input", "output", "attribute"):
        getattr(function, did).append(rng.choice([*names(model), "k", "alpha"]))
    elif did == "default":
        attribute = function.attribute_proto.add(name=rng.choice(["k", "alpha", "mode", ""]), type=rng.randrange(15))
        set_value(rng, model, attribute)
    elif did == "imports":
        del function.opset_import[:]
        version = rng.choice((1, 6, 13, 21, *INTS))
        function.opset_import.add(domain=rng.choice(["", "local", "ai.onnx"]), version=version)
    elif did == "overload":
        function.overload = rng.choice(["", "b"])
        rng.choice(of_kind(model, "NodeProto") or [pb.NodeProto()]).overload = rng.choice(["", "b"])
    else:
        function.node.add(op_type=other.name, domain=other.domain, input=function.input, output=["called"])
    return f"{did} of function {function.name[:40]!r}"


# Types, tensors and versions.


def tensor_type(rng: random.Random, proto: Any) -> None:
    """Make a TypeProto that of a tensor, of any element type and shape."""
    tensor = proto.tensor_type if rng.random() < 0.9 else proto.sparse_tensor_type
    tensor.elem_type = rng.choice((*range(27), 99, -1))
    if rng.random() < 0.8:
        tensor.shape.SetInParent()
        for _ in range(rng.choice((0, 1, 2, 3, 4, 5, 70))):
            dim = tensor.shape.dim.add()
            if rng.random() < 0.6:
                dim.dim_value = rng.choice((0, 1, 2, 3, 4, *INTS))
            elif rng.random() < 0.8:
                dim.dim_param = rng.choice(("N", "2*N", "floor(N/2)", "", "N-N", "-1", "N" * 300, "x y"))


def any_type(rng: random.Random, proto: Any) -> None:
    """Make a TypeProto any type."""
    proto.Clear()
    while rng.random() < 0.4:
        kind = rng.choice(["sequence_type", "optional_type", "map_type"])
        if kind == "map_type":
            proto.map_type.key_type = rng.choice((7, 8, 1, 0))
            proto = proto.map_type.value_type
        else:
            proto = getattr(proto, kind).elem_type
        proto.SetInParent()
    if rng.random() < 0.9:
        tensor_type(rng, proto)
    elif rng.random() < 0.5:
        proto.opaque_type.name = "opaque"


def retype_value(rng: random.Random, model: Any) -> str | None:
    """Give a declared value another type."""
    value = one(rng, of_kind(model, "ValueInfoProto"))
    if value is None:
        return None
    any_type(rng, value.type)
    return f"{value.name[:40]!r} of another type"


def contradict(rng: random.Random, model: Any) -> str | None:
    """State a type for a value in value_info, whatever it has."""
    graph = one(rng, of_kind(model, "GraphProto", "FunctionProto"))
    if graph is None:
        return None
    value = graph.value_info.add(name=rng.choice(names(model)))
    any_type(rng, value.type)
    return f"value_info of {value.name[:40]!r}"


def change_tensor(rng: random.Random, model: Any) -> str | None:
    """Cut or change the data of a tensor, its dims or its type."""
    tensor = one(rng, of_kind(model, "TensorProto"))
    if tensor is None:
        return None
    did = rng.choice(["dims", "dim", "type", "cut", "elements", "raw", "more", "segment", "all"])
    data = [each for each in tensor.DESCRIPTOR.fields if each.name.endswith("_data") and is_repeated(each)]
    filled = [each for each in data if getattr(tensor, each.name) and each.name != "external_data"]
    if did == "dims":
        del tensor.dims[:]
        tensor.dims.extend(rng.choice((0, 1, 2, 3, *INTS)) for _ in range(rng.choice((0, 1, 2, 3, 70))))
    elif did == "dim" and tensor.dims:
        index = rng.randrange(len(tensor.dims))
        tensor.dims[index] = nearby(rng, tensor.DESCRIPTOR.fields_by_name["dims"], tensor.dims[index])
    elif did == "type":
        tensor.data_type = rng.choice((*range(27), 99, -1))
    elif did == "cut" and (tensor.raw_data or filled):
        tensor.raw_data = tensor.raw_data[: rng.randint(0, len(tensor.raw_data))]
        for field in filled:
            del getattr(tensor, field.name)[rng.randint(0, 3) :]
    elif did in ("elements", "all") and filled:
        field = rng.choice(filled)
        elements = getattr(tensor, field.name)
        odd = scalar(rng, field)
        for index in range(len(elements)) if did == "all" else [rng.randrange(len(elements))]:
            elements[index] = odd
    elif did in ("elements", "all", "raw"):
        size = len(tensor.raw_data) or rng.choice((1, 4, 8, 24))
        tensor.raw_data = bytes(rng.choice((b"\0", b"\xff", b"\x7f", b"\x80"))) * size
    elif did == "segment":
        tensor.segment.begin, tensor.segment.end = rng.choice(INTS), rng.choice(INTS)
    else:
        field = rng.choice([each for each in data if each.name != "external_data"])
        getattr(tensor, field.name).extend(scalar(rng, field) for _ in range(rng.randrange(1, 9)))
    return f"{did} of tensor {tensor.name[:40]!r}"


def make_external(rng: random.Random, model: Any) -> str | None:
    """Say that the data of a tensor is in a file."""
    tensor = one(rng, of_kind(model, "TensorProto"))
    if tensor is None:
        return None
    if rng.random() < 0.8:
        tensor.ClearField("raw_data")
    tensor.data_location = 1
    locations = ("weights.bin", "weights.bin", "model.onnx", "none", "..", ".", "/etc/passwd", "a\0b", "", "x" * 5000)
    numbers = ("0", "4", "24", "25", "1000000", "-1", "1e3", " 4", "٣", "9" * 5000, "")
    for key, values in (("location", locations), ("offset", numbers), ("length", numbers), ("checksum", numbers)):
        for _ in range(rng.choices((0, 1, 2), (3, 6, 1))[0]):
            tensor.external_data.add(key=key, value=rng.choice(values))
    return f"tensor {tensor.name[:40]!r} is external"


def change_versions(rng: random.Random, model: Any) -> str | None:
    """Change an imported version, a domain, or the IR version."""
    did = rng.choice(["version", "version", "domain", "twice", "ir", "none"])
    each = one(rng, model.opset_import)
    if did == "ir":
        model.ir_version = rng.choice((*range(15), *INTS))
    elif did == "none":
        del model.opset_import[:]
    elif each is None or did == "twice":
        domain, version = rng.choice(("", "ai.onnx", "local", "x")), rng.choice((*range(28), *INTS))
        model.opset_import.add(domain=domain, version=version)
    elif did == "domain":
        each.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "local", *STRINGS))
    else:
        each.version = rng.choice((*range(30), *INTS))
    return f"opset_import: {did}"


def annotate(rng: random.Random, model: Any) -> str | None:
    """Add annotations, bindings of training and metadata that name any value."""
    graph = one(rng, of_kind(model, "GraphProto"))
    if graph is None:
        return None
    name, other = rng.choice(names(model)), rng.choice(names(model))
    did = rng.choice(["quantization", "training", "metadata"])
    if did == "quantization":
        note = graph.quantization_annotation.add(tensor_name=name)
        note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=other)
    elif did == "metadata":
        graph.metadata_props.add(key=name, value=other)
    else:
        info = model.training_info.add()
        info.update_binding.add(key=name, value=other)
        info.initialization_binding.add(key=other, value=name)
        if rng.random() < 0.6 and model.ByteSize() < MOST // 2:
            (info.algorithm if rng.random() < 0.6 else info.initialization).CopyFrom(graph)
    return f"{did} of {name[:40]!r}"


GENERIC: tuple[Mutation, ...] = (
    change_field, clear_message, change_list, change_list, change_element, change_element, add_value, transplant,
)  # fmt: skip
MEANT: tuple[Mutation, ...] = (
    rename, rename, rename_graph_value, rename_everywhere, change_inputs, change_operator, retype_attribute,
    retype_attribute, add_attribute, odd_constant, move_node, nest, wrap, change_function, retype_value, contradict,
    change_tensor, change_tensor, make_external, change_versions, annotate,
)  # fmt: skip


OF_VALUES: tuple[Mutation, ...] = (change_field, clear_message, change_list, change_element, add_value)
"""Those that fit messages of values, too."""
OF_NODES: tuple[Mutation, ...] = (
    change_inputs, retype_attribute, add_attribute, change_element, change_field, change_tensor, retype_value,
    odd_constant, change_list,
)  # fmt: skip


def mutate_node(rng: random.Random, model: Any) -> str | None:
    """Change the counts, attributes, types or constants of a model of one node; return what was done."""
    return rng.choice(OF_NODES)(rng, model)


def mutate(rng: random.Random, model: Any, donor: Callable[[], Any]) -> list[str]:
    """Change a model in one way to eight, often one; return what was done. `donor` makes another model."""
    wanted = rng.choices((1, 2, 3, 5, 8), (10, 5, 3, 2, 1))[0]
    done: list[str] = []
    for _ in range(5 * wanted):
        if len(done) == wanted:
            break
        if rng.random() < 0.05:
            did = transplant(rng, model, donor())
        else:
            did = rng.choice(GENERIC if rng.random() < 0.4 else MEANT)(rng, model)
        if did is not None:
            done.append(did)
    return done


def mend(rng: random.Random, model: Any) -> None:
    """Make the names of a model sound again, and its imports: what else is wrong with it then comes further."""
    if not model.opset_import:
        model.opset_import.add(domain="", version=rng.randrange(7, 27))
    for body in (model.graph, *model.functions):
        mend_body(rng, body, set())


def mend_body(rng: random.Random, body: Any, outer: set[str]) -> None:
    """Define each value of a body once, before it is read: what is not known becomes an input or another value."""
    is_graph = body.DESCRIPTOR.name == "GraphProto"
    given = [each.name for each in body.input] if is_graph else list(body.input)
    known = set(given)
    if is_graph:
        known |= {each.name for each in body.initializer} | {each.values.name for each in body.sparse_initializer}
    for node in body.node:
        for index, name in enumerate(node.input):
            if not name or name in known or name in outer:
                continue
            if (outer or rng.random() < 0.5) and (choices := sorted(known | outer)):
                node.input[index] = rng.choice(choices)
            elif is_graph:
                tensor_type(rng, body.input.add(name=name).type)
            else:
                body.input.append(name)
            known.add(node.input[index])
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                mend_body(rng, graph, known | outer)
        for index, name in enumerate(node.output):
            if name in known:
                node.output[index] = f"{name}_{len(known)}"
            known.add(node.output[index])
    choices = sorted((known | outer) - {""})
    for value in body.output if is_graph else ():
        if value.name not in known | outer and choices:
            value.name = rng.choice(choices)
    for index, name in enumerate(() if is_graph else body.output):
        if name not in known and choices:
            body.output[index] = rng.choice(choices)
