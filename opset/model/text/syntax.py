"""Reading the text syntax of ONNX: a node, a graph, a function or a model, as people write them.

    <ir_version: 8, opset_import: ["": 17]>
    main (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}> {
        # every comment lasts to the end of its line
        t = Mul (x, w)
        ["last"] y = com.example.Scale <factor: float = 2, mode = "exact"> (t)
    }
    <domain: "com.example", opset_import: ["": 17]>
    Scale <mode, factor: float = 1> (x) => (y) {
        k = Constant <value_float: float = @factor> ()
        y = Mul (x, k)
    }

It is the language of onnx.parser, read strictly: text behind the end, a tensor without its data or with a wrong number
of values, a value beyond its type and a duplicate key are errors here; lists of tensors, graphs and types are
kept, which onnx.parser drops; and every name may be in quotes. A tensor's values are the entries of the field that
TensorProto has for its type: float16, bfloat16 and smaller floats are bit patterns, types of 4 and 2 bits packed bytes.

The text is untrusted. It is read once from start to end, and messages are nested at most MAX_DEPTH deep.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from opset.errors import ModelError
from opset.model import attributes
from opset.model import proto as pb
from opset.model.elements import BOOL, ELEMENTS, NUMBERS, STRING
from opset.model.proto import is_repeated
from opset.model.storage.encoding import element_count, encode
from opset.model.storage.wire import FIXED32, FIXED64, varint
from opset.model.text.tokens import INT64, Tokens
from opset.options import checked_options

# A domain with digits or hyphens, as onnx.printer writes it, and an operator.
_OPERATOR: Final = re.compile(
    r"(?=[\w.]*[+-]|\w+\.(?:\w+\.)*\d) [\w+-]+ (?:\.[\w+-]+)* \.[A-Za-z_]\w* (?!\s*[.\"])", re.ASCII | re.VERBOSE
)
UNSET: Final = "#: unset "
"""What a text begins with, a comment to onnx.parser, where nodes have no `domain` or tensors in attributes no `name`:
onnx.parser sets these to the empty text where they are not written."""

_DIRECTIVE: Final = re.compile(rf"\s*{UNSET}((?:domain|name)(?:, (?:domain|name))*)[ \t\r]*(?:\n|$)")

_NESTED_TYPES: Final = {"seq": "sequence_type", "optional": "optional_type"}
TYPE_WORDS: Final = frozenset({*NUMBERS, *_NESTED_TYPES, "map", "sparse_tensor", "opaque"})

FIELDS: Final = {
    kind.upper(): (field, f"{kind}s") for kind, (_, field) in attributes.FIELDS.items() if not kind.endswith("s")
}
"""By the kind of a value: the field of AttributeProto for one, and for a list of them."""
_ATTRIBUTE_TYPES: Final = [kind.lower() + end for kind in FIELDS for end in ("", "s")]

_MODEL_KEYS: Final = (
    "ir_version",
    "opset_import",
    "producer_name",
    "producer_version",
    "domain",
    "model_version",
    "doc_string",
    "metadata_props",
)
_FUNCTION_KEYS: Final = ("domain", "opset_import", "overload", "doc_string")

UNKNOWN: Final = "unknown"
"""The key of fields that onnx.proto does not have."""


@checked_options
def parse_node(text: str) -> Any:
    """Return the NodeProto of a text: `y = Add (x, w)`.

    Args:
        text: The node in ONNX text syntax.

    Raises:
        ModelError: M301 if the text is not ONNX text syntax, M104 if it is nested too deeply; the place is line:column.
    """
    return read(Reader(text), pb.NodeProto(), Reader.read_node)


@checked_options
def parse_graph(text: str) -> Any:
    """Return the GraphProto of a text: `g (float[N] x) => (float[N] y) { y = Relu (x) }`.

    Args:
        text: The graph in ONNX text syntax.

    Raises:
        ModelError: M301 or M104, as in `parse_node`.
    """
    return read(Reader(text), pb.GraphProto(), Reader.read_graph)


@checked_options
def parse_function(text: str) -> Any:
    """Return the FunctionProto of a text: `<domain: "d", opset_import: ["": 17]> f (x) => (y) { y = Relu (x) }`.

    Args:
        text: The function in ONNX text syntax.

    Raises:
        ModelError: M301 or M104, as in `parse_node`.
    """
    return read(Reader(text), pb.FunctionProto(), Reader.read_function)


@checked_options
def parse_model(text: str) -> Any:
    """Return the ModelProto of a text: `<ir_version: 8, …>`, a graph, and any number of functions.

    Args:
        text: The model in ONNX text syntax.

    Raises:
        ModelError: M301 or M104, as in `parse_node`.
    """
    return read(Reader(text), pb.ModelProto(), Reader.read_model)


def read(reader: Reader, message: Any, begin: Callable[[Reader, Any], None]) -> Any:
    """Read the whole text into a message, and return it."""
    begin(reader, message)
    if reader.kind != "end":
        reader.fail("the end of the text")
    return message


class Reader(Tokens):
    """The text, read into messages of onnx.proto."""

    def __init__(self, text: str) -> None:
        found = _DIRECTIVE.match(text)
        self.cleared: set[str] = set()
        """The fields that the last `&{…}` said to be not there."""
        self.unset = frozenset(found[1].split(", ") if found else ())
        super().__init__(text)

    # Types and tensors

    def read_type(self, message: Any) -> None:
        """Read a type into a TypeProto."""
        message.SetInParent()  # a type that states nothing is there, too
        word = self.text if self.kind == "word" else ""
        if word in NUMBERS:
            self.read_tensor_type(message.tensor_type)
        elif word in TYPE_WORDS:
            self.enter(2)
            self.advance()
            self.expect("(")
            if word in _NESTED_TYPES:
                self.read_type(getattr(message, _NESTED_TYPES[word]).elem_type)
            elif word == "map":
                message.map_type.key_type = self.element_type()
                self.expect(",")
                self.read_type(message.map_type.value_type)
            elif word == "sparse_tensor":
                self.read_tensor_type(message.sparse_tensor_type)
            else:
                self.read_opaque_type(message.opaque_type)
            self.expect(")")
            self.depth -= 2
        elif not self.is_at("&"):
            self.fail("a type")
        self.read_extra_fields(message)

    def is_at_type(self) -> bool:
        """Return whether a type is next."""
        return (self.kind == "word" and self.text in TYPE_WORDS) or self.is_at("&")

    def element_type(self) -> int:
        """Return the number of an element type."""
        if self.kind != "word" or self.text not in NUMBERS:
            self.fail("an element type")
        return NUMBERS[self.advance()]

    def read_tensor_type(self, message: Any) -> None:
        """Read an element type and dims: without brackets a scalar, with empty brackets of unknown rank."""
        message.elem_type = self.element_type()
        if not self.take("["):
            message.shape.SetInParent()
            return
        for _ in self.list_items("]"):
            dim = message.shape.dim.add()
            if self.kind == "whole":
                dim.dim_value = self.whole_number()
            elif not self.take("?"):
                dim.dim_param = self.name("a size, a name or '?'")
            self.read_extra_fields(dim)

    def read_opaque_type(self, message: Any) -> None:
        """Read the content of the parentheses of an opaque type: nothing, a name, or domain and name."""
        message.SetInParent()
        if not self.is_at(")"):
            message.name = ".".join(self.dotted_names("a name"))
            if self.take(","):
                message.domain, message.name = message.name, ".".join(self.dotted_names("a name"))

    def tensor_name(self) -> str | None:
        """Return the name of a tensor that need not have one, None if it is not set."""
        if self.kind != "mark":
            return self.name("the name of a tensor")
        return None if self.is_at("!") or "name" in self.unset else ""

    def read_data(self, type_proto: Any, name: str | None, tensor: Any, start: int) -> None:
        """Read the data of a tensor, whose type and name stood before it; the type starts at `start`."""
        kind = type_proto.tensor_type
        if type_proto.WhichOneof("value") != "tensor_type" or not kind.HasField("shape"):
            self.fail("the type of a tensor with all its dims", start, why="the data of a tensor follows it")
        if any(dim.WhichOneof("value") != "dim_value" for dim in kind.shape.dim):
            self.fail("dims that are whole numbers", start, why="the data of a tensor follows it")
        if name is not None:
            tensor.name = name
        tensor.data_type = kind.elem_type
        tensor.dims.extend(dim.dim_value for dim in kind.shape.dim)
        try:
            count = element_count(tensor)
        except ModelError as error:
            self.fail("dims that a tensor can have", start, why=error.why)
        if self.take("["):
            tensor.data_location = pb.TensorProto.EXTERNAL
            self.read_pairs(tensor.external_data, empty=False)
        elif self.take("!"):
            tensor.raw_data = self.read_raw_data(tensor.data_type, count)
        else:
            opening = self.start
            self.expect("{", "'['")
            self.read_entries(tensor, count, opening)
        self.read_extra_fields(tensor)

    def read_raw_data(self, data_type: int, count: int) -> bytes:
        """Return the raw_data that elements between braces stand for, or that is there in hexadecimal digits."""
        opening = self.start
        if self.kind == "string":
            try:
                return bytes.fromhex(self.string())
            except ValueError:
                self.fail("hexadecimal digits", opening)
        if not (element := ELEMENTS[data_type]).bits:
            self.fail("'{' without '!'", opening, why="strings are never in raw_data")
        self.expect("{", "a text in quotes")
        values: list[Any]
        self.refuse_elided()
        if element.small_float is not None or element.name == "bfloat16" or element.code in tuple("efd"):
            values = [self.real_number(single=element.code == "f") for _ in self.list_items("}")]
            if element.name.startswith("complex"):
                pairs = zip(values[::2], values[1::2], strict=False)
                values = [] if len(values) % 2 else [complex(*pair) for pair in pairs]
        elif element.code == "?":
            values = [self.whole_number(0, 1) for _ in self.list_items("}")]
        else:
            low = 0 if element.name.startswith("u") else -(1 << element.bits - 1)
            high = low + (1 << element.bits) - 1
            values = [self.whole_number(low, high) for _ in self.list_items("}")]
        if len(values) != count:
            self.fail(f"as many values as the dims ask for, {count}", opening, why=f"there are {len(values)}")
        try:
            return encode(data_type, values)
        except (OverflowError, ValueError, struct.error) as error:
            self.fail(f"values that {element.name} has", opening, why=str(error))

    def refuse_elided(self) -> None:
        """Refuse `...` for values."""
        if self.is_at("."):
            self.fail("values", why="the text was printed with a limit, and is no model")

    def read_entries(self, tensor: Any, count: int, opening: int) -> None:
        """Read a tensor's values into the field of its type; its dims ask for `count` elements."""
        self.refuse_elided()
        if tensor.data_type == STRING:
            tensor.string_data.extend(self.data_of_string() for _ in self.list_items("}"))
            found = len(tensor.string_data)
        else:
            element = ELEMENTS[tensor.data_type]
            field = getattr(tensor, element.field)
            if element.field in ("float_data", "double_data"):
                for _ in self.list_items("}"):
                    self.read_number(tensor, element.field)
                count *= 2 if element.name.startswith("complex") else 1
            else:
                lowest, highest, why = bounds(tensor.data_type)
                field.extend(self.whole_number(lowest, highest, why) for _ in self.list_items("}"))
                count = -(-count * element.bits // 8) if element.bits in (2, 4) else count
            found = len(field)
        if found != count:
            self.fail(f"as many values as the dims ask for, {count}", opening, why=f"there are {found}")

    def read_pairs(self, entries: Any, empty: bool = True) -> None:
        """Read pairs of texts up to the closing bracket into a list of StringStringEntryProto."""
        for _ in self.list_items("]", empty):
            key = self.string()
            self.expect(":")
            entries.add(key=key, value=self.string())

    # Fields that have no other syntax

    def read_extra_fields(self, message: Any) -> bool:
        """Return whether fields of a message follow, `&{doc_string: "…"}`, and if so read them."""
        follow = self.take("&")
        if follow:
            self.read_fields(message)
        return follow

    def read_fields(self, message: Any) -> None:
        """Read fields of a message by their names between braces."""
        self.enter(1)
        self.expect("{")
        descriptors, seen, cleared = message.DESCRIPTOR.fields_by_name, set(), set()
        for _ in self.list_items("}"):
            start, key = self.start, self.word("the name of a field")
            if key in seen or (key != UNKNOWN and key not in descriptors):
                self.fail(f"a field of {message.DESCRIPTOR.name}", start, why="a field is not repeated" * (key in seen))
            seen.add(key)
            self.expect(":")
            if key == UNKNOWN:
                start = self.start
                try:
                    message.MergeFromString(bytes.fromhex(self.string()))
                except (ValueError, DecodeError) as error:
                    self.fail("fields of a message in hexadecimal digits", start, why=str(error))
            elif self.text == "none":
                self.advance()
                message.ClearField(key)
                cleared.add(key)
            elif is_repeated(descriptors[key]):
                self.expect("[", "'none'")
                for _ in self.list_items("]"):
                    self.read_field(message, descriptors[key])
            else:
                self.read_field(message, descriptors[key])
        self.cleared = cleared
        self.depth -= 1

    def read_field(self, message: Any, field: Any) -> None:
        """Read a field of a message, or one of its entries."""
        start, repeated = self.start, is_repeated(field)
        found: Any
        if field.message_type is not None:
            part = getattr(message, field.name)
            if repeated:
                part = part.add()
            else:
                part.SetInParent()
            self.read_message(part)
            return
        if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            self.read_number(message, field.name)
            return
        if field.cpp_type == field.CPPTYPE_STRING:
            found = self.data_of_string() if field.type == field.TYPE_BYTES else self.string()
        else:
            low, high = _RANGES.get(field.cpp_type, _RANGES[field.CPPTYPE_INT32])
            found = self.whole_number(low, high)
        try:
            getattr(message, field.name).append(found) if repeated else setattr(message, field.name, found)
        except ValueError as error:
            self.fail("a value of the field", start, why=str(error))

    def read_message(self, message: Any) -> None:
        """Read a message: by its fields between braces, or in its own syntax."""
        name = message.DESCRIPTOR.name
        if self.is_at("{") or name not in _OWN_SYNTAX:
            self.read_fields(message)
        elif name == "StringStringEntryProto":
            message.key = self.string()
            self.expect(":")
            message.value = self.string()
        elif name == "TensorProto":
            start, kind = self.start, pb.TypeProto()
            self.read_type(kind)
            tensor_name = self.tensor_name()
            self.take("=")
            self.read_data(kind, tensor_name, message, start)
        else:
            _OWN_SYNTAX[name](self, message)

    # Attributes

    def read_attribute(self, attribute: Any) -> bool:
        """Read an attribute; return whether it has a value or a reference for one."""
        attribute.name = self.name("the name of an attribute")
        wanted, many, further = "", False, self.read_extra_fields(attribute)
        if self.take(":"):
            if self.text not in _ATTRIBUTE_TYPES:
                self.fail(f"an attribute type ({', '.join(_ATTRIBUTE_TYPES)})")
            many = self.text.endswith("s")
            attribute.type = pb.AttributeProto.AttributeType.Value(self.text.upper())
            wanted = self.advance().upper().removesuffix("S")
        if not self.take("="):
            return further
        if self.take("@"):
            attribute.ref_attr_name = self.name("the name of the function's attribute")
            return True
        start = self.start
        if self.take("["):
            if wanted and not many:
                self.fail(f"one value of type {wanted.lower()}, not a list", start)
            if not wanted and self.is_at("]"):
                self.fail("a value", why="a list without values needs a type before it, such as `: ints`")
            for _ in self.list_items("]"):
                wanted = self.read_value(attribute, wanted, many=True)
            wanted += "S"
        elif many:
            self.fail(f"'[' and a list of values of type {wanted.lower()}")
        else:
            wanted = self.read_value(attribute, wanted, many=False)
        attribute.type = pb.AttributeProto.AttributeType.Value(wanted)
        return True

    def read_value(self, attribute: Any, wanted: str, many: bool) -> str:
        """Read one value, or one of many, into an attribute, and return its kind; `wanted` is the known kind."""
        start = self.start
        found: Any
        if self.is_at("&") and wanted in _MESSAGES:
            kind, found = wanted, _MESSAGES[wanted]()
            self.read_extra_fields(found)
        elif self.is_at_type():
            kind, found = self.read_tensor_or_type()
        elif self.kind in ("word", "string") and self.next_is("("):
            kind, found = "GRAPH", pb.GraphProto()
            self.read_graph(found)
        elif wanted == "FLOAT" and self.kind in ("string", "whole", "real", "word"):
            self.read_number(attribute, "floats" if many else "f")
            return wanted
        elif self.kind == "string":
            kind, found = "STRING", self.data_of_string()
        elif self.is_real():
            kind, found = "FLOAT", self.real_number()
        elif self.kind == "whole":
            kind, found = "INT", self.whole_number()
        else:
            self.fail("a value", why="text is in quotes; a word begins a type or a graph" * (self.kind == "word"))
        if wanted and kind != wanted:
            self.fail(f"a value of type {wanted.lower()}", start)
        single, plural = FIELDS[kind]
        if many:
            getattr(attribute, plural).append(found)
        elif kind in ("FLOAT", "INT", "STRING"):
            setattr(attribute, single, found)
        else:
            getattr(attribute, single).CopyFrom(found)
        return kind

    def read_number(self, message: Any, field: str) -> None:
        """Read a number into a field of floats or doubles, or its bits: a NaN has more than a Python float holds."""
        descriptor = message.DESCRIPTOR.fields_by_name[field]
        double = descriptor.cpp_type == descriptor.CPPTYPE_DOUBLE
        if self.kind == "string":
            tag = varint(descriptor.number << 3 | (FIXED64 if double else FIXED32))
            message.MergeFromString(tag + self.pattern(8 if double else 4))
            return
        found = self.real_number(not double)
        getattr(message, field).append(found) if is_repeated(descriptor) else setattr(message, field, found)

    def read_tensor_or_type(self) -> tuple[str, Any]:
        """Return the kind and message of a value that begins with a type: a tensor if a name or data follows."""
        start, kind = self.start, pb.TypeProto()
        self.read_type(kind)
        if self.kind not in ("word", "string") and not any(map(self.is_at, "={!")):
            return "TYPE_PROTO", kind
        tensor = pb.TensorProto()
        name = self.tensor_name()
        if self.take("=") or self.is_at("{") or self.is_at("!"):
            self.read_data(kind, name, tensor, start)
        else:
            self.fail("'=' or '{'", why="a type and a name begin a tensor, and its data is missing")
        return "TENSOR", tensor

    # Nodes, graphs, functions, models

    def read_node(self, node: Any) -> None:
        """Read a node: its name, outputs, operator, attributes and inputs."""
        if self.take("["):
            node.name = "" if self.is_at("]") else self.name("the name of the node")
            self.expect("]")
        node.output.extend(self.names())
        self.expect("=", "','")
        *domain, node.op_type = self.read_operator()
        if domain or "domain" not in self.unset:
            node.domain = ".".join(domain)
        if self.take(":"):
            node.overload = self.name("the overload of the function")
        if self.take("<"):
            self.read_node_attributes(node)
        self.expect("(", "" if node.attribute else "'<'")
        node.input.extend(self.names())
        self.expect(")", "','")
        if not node.attribute and self.take("<"):
            self.read_node_attributes(node)
        self.read_extra_fields(node)

    def read_operator(self) -> list[str]:
        """Return domain and name of an operator; onnx.printer writes domains as they are, with digits and hyphens."""
        match = _OPERATOR.match(self.source, self.start)
        if match and self.kind == "word":
            self.stop = match.end()
            self.advance()
            return match[0].rsplit(".", 1)
        return self.dotted_names("an operator")

    def read_node_attributes(self, node: Any) -> None:
        """Read the attributes of a node up to the closing '>'."""
        for _ in self.list_items(">", empty=False):
            if not self.read_attribute(node.attribute.add()):
                self.fail("'='")

    def read_nodes(self, nodes: Any) -> None:
        """Read nodes between braces."""
        self.expect("{")
        while not self.take("}"):
            if self.kind not in ("word", "string") and self.text not in ("[", ",", "="):
                self.fail("a node or '}'")
            self.read_node(nodes.add())

    def read_value_info(self, value: Any) -> None:
        """Read a value's type, if there is one, and its name."""
        if self.is_at_type():
            value.type.SetInParent()
            self.read_type(value.type)
        value.name = self.name("the name of a value")
        self.read_extra_fields(value)

    def read_graph(self, graph: Any) -> None:
        """Read a graph: its name, inputs, outputs, initializers and types of other values, and nodes."""
        self.enter(3)
        graph.name = self.name("the name of a graph")
        self.expect("(")
        for _ in self.list_items(")"):
            self.read_graph_value(graph, graph.input.add())
        self.expect("=>")
        self.expect("(")
        for _ in self.list_items(")"):
            self.read_value_info(graph.output.add())
        if self.take("<"):
            for _ in self.list_items(">"):
                value = pb.ValueInfoProto()
                if not self.read_graph_value(graph, value):
                    graph.value_info.append(value)
        self.read_nodes(graph.node)
        self.read_extra_fields(graph)
        self.depth -= 3

    def read_graph_value(self, graph: Any, value: Any) -> bool:
        """Read a value and, if data follows, the initializer of its name; return whether it does."""
        start = self.start
        self.read_value_info(value)
        if not self.take("="):
            return False
        tensor = graph.initializer.add()
        if self.is_at("&"):
            tensor.name = value.name
            self.read_extra_fields(tensor)
        else:
            self.read_data(value.type, value.name, tensor, start)
        return True

    def read_function(self, function: Any) -> None:
        """Read a function: its keys, name, attributes, inputs, outputs, types of other values, and nodes."""
        self.read_header(function, _FUNCTION_KEYS)
        function.name = self.name("the name of a function")
        if self.take("<"):
            for _ in self.list_items(">", empty=False):
                attribute = pb.AttributeProto()
                if self.read_attribute(attribute) or attribute.HasField("type"):
                    function.attribute_proto.append(attribute)
                else:
                    function.attribute.append(attribute.name)
        self.expect("(")
        self.read_function_values(function, ")", function.input)
        self.expect("=>")
        self.expect("(")
        self.read_function_values(function, ")", function.output)
        if self.take("<"):
            self.read_function_values(function, ">")
        self.read_nodes(function.node)
        self.read_extra_fields(function)

    def read_function_values(self, function: Any, end: str, names: Any = None) -> None:
        """Read values up to the end mark: names into `names`, and values into value_info if they have a type.

        Without `names`, all values go into value_info.
        """
        for _ in self.list_items(end):
            value = pb.ValueInfoProto()
            self.read_value_info(value)
            if names is not None:
                names.append(value.name)
            if names is None or value.HasField("type"):
                function.value_info.append(value)

    def read_model(self, model: Any) -> None:
        """Read a model: its keys, graph and functions."""
        self.read_header(model, _MODEL_KEYS)
        if not (self.read_extra_fields(model) and "graph" in self.cleared):
            self.read_graph(model.graph)
        while self.kind != "end":
            self.read_function(model.functions.add())

    def read_header(self, message: Any, keys: tuple[str, ...]) -> None:
        """Read the keys between '<' and '>' before a model or a function, if they are there."""
        if not self.take("<"):
            return
        left = list(keys)
        for _ in self.list_items(">", empty=False):
            if self.text not in left:
                why = "a key is not repeated" if self.text in keys else ""
                self.fail(f"a key ({', '.join(left)})", why=why)
            left.remove(self.text)
            key = self.advance()
            self.expect(":")
            if key == "opset_import":
                self.expect("[")
                for _ in self.list_items("]"):
                    entry = message.opset_import.add()
                    if self.kind != "whole":
                        entry.domain = self.string()
                        self.expect(":")
                    entry.version = self.whole_number()
            elif key == "metadata_props":
                self.expect("[")
                self.read_pairs(message.metadata_props)
            else:
                setattr(message, key, self.whole_number() if key in ("ir_version", "model_version") else self.string())


_MESSAGES: Final = {
    "TENSOR": pb.TensorProto,
    "GRAPH": pb.GraphProto,
    "SPARSE_TENSOR": pb.SparseTensorProto,
    "TYPE_PROTO": pb.TypeProto,
}
_OWN_SYNTAX: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "GraphProto": Reader.read_graph,
    "NodeProto": Reader.read_node,
    "TypeProto": Reader.read_type,
    "ValueInfoProto": Reader.read_value_info,
    "TensorProto": Reader.read_message,
    "StringStringEntryProto": Reader.read_message,
}
_RANGES: Final = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: INT64,
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}


def bounds(data_type: int) -> tuple[int, int, str]:
    """Return the least and greatest entry in the integer field of an element type, and a note on its form, or ""."""
    element = ELEMENTS[data_type]
    if data_type == BOOL:
        return 0, 1, ""
    if element.code in tuple("bhiq"):
        return -(1 << element.bits - 1), (1 << element.bits - 1) - 1, ""
    if element.code in tuple("BHIQ"):
        return 0, (1 << element.bits) - 1, ""
    name = element.name
    if element.bits in (2, 4):
        return -128, 255, f"data of {name} is written as bytes, {8 // element.bits} elements in each"
    # As in the field itself, a pattern of 8 or 16 bits may also be written as a signed number.
    lowest = 0 if element.bits == 6 else -(1 << element.bits - 1)
    return lowest, (1 << element.bits) - 1, f"data of {name} is written as the bit patterns of its elements"
