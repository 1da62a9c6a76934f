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

The text is untrusted. It is read once from start to end, and what is nested is at most MAX_DEPTH deep.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, NoReturn

from opset.errors import Finding, ModelError, quoted
from opset.model import proto as pb
from opset.model.elements import BOOL, ELEMENTS, NUMBERS, STRING
from opset.model.encoding import element_count

MAX_DEPTH: Final = 30
"""Graphs and types inside each other; what is deeper could pass the 100 nested messages that protobuf reads."""

LAYOUT_WIDTH: Final = 100
"""Columns of a line that `lay_out_graph` writes."""

# The last alternative matches always, so that nothing before it is ever tried a second way.
_TOKEN: Final = re.compile(
    r"""
    \s* (?: \#[^\n]* \s* )*
    (?: (?P<word> [A-Za-z_]\w* )
      | (?P<real> -?\d+ (?: \.\d* (?:[eE][+-]?\d+)? | [eE][+-]?\d+ ) | -(?i:infinity|inf|nan)\b )
      | (?P<whole> -?\d+ )
      | (?P<string> "[^"\\]* (?: \\. [^"\\]* )* " )
      | (?P<mark> => | . )
      | (?P<end>)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_NOT_FINITE: Final = frozenset({"inf", "infinity", "nan"})

_NESTED_TYPES: Final = {"seq": "sequence_type", "optional": "optional_type"}
_TYPE_WORDS: Final = frozenset({*NUMBERS, *_NESTED_TYPES, "map", "sparse_tensor", "opaque"})

# By the kind of a value: the field of AttributeProto for one, and for a list of them.
_FIELDS: Final = {
    "FLOAT": ("f", "floats"),
    "INT": ("i", "ints"),
    "STRING": ("s", "strings"),
    "TENSOR": ("t", "tensors"),
    "GRAPH": ("g", "graphs"),
    "SPARSE_TENSOR": ("sparse_tensor", "sparse_tensors"),
    "TYPE_PROTO": ("tp", "type_protos"),
}
_ATTRIBUTE_TYPES: Final = [kind.lower() + end for kind in _FIELDS for end in ("", "s")]

_MODEL_KEYS: Final = (
    "ir_version", "opset_import", "producer_name", "producer_version", "domain", "model_version", "doc_string",
    "metadata_props",
)
_FUNCTION_KEYS: Final = ("domain", "opset_import", "overload", "doc_string")

_INT64: Final = (-(1 << 63), (1 << 63) - 1)


def parse_node(text: str) -> Any:
    """Return the NodeProto that text says: `y = Add (x, w)`.

    Raises ModelError M301 where the text is not ONNX text syntax, M104 where it is nested too deeply; the place is
    line:column.
    """
    return _parse(text, pb.NodeProto(), _Reader.node)


def parse_graph(text: str) -> Any:
    """Return the GraphProto that text says: `g (float[N] x) => (float[N] y) { y = Relu (x) }`.

    Raises ModelError as `parse_node` does.
    """
    return _parse(text, pb.GraphProto(), _Reader.graph)


def parse_function(text: str) -> Any:
    """Return the FunctionProto that text says: `<domain: "d", opset_import: ["": 17]> f (x) => (y) { y = Relu (x) }`.

    Raises ModelError as `parse_node` does.
    """
    return _parse(text, pb.FunctionProto(), _Reader.function)


def parse_model(text: str) -> Any:
    """Return the ModelProto that text says: `<ir_version: 8, …>`, a graph, and any number of functions.

    Raises ModelError as `parse_node` does.
    """
    return _parse(text, pb.ModelProto(), _Reader.model)


def lay_out_graph(text: str) -> str:
    """Return the text of a graph with a node a line, and what is nested indented; text with comments stays as it is.

    White space alone changes. Raises ModelError as `parse_node` does.
    """
    layout = _Layout(text)
    _read(layout, pb.GraphProto(), _Reader.graph)
    return layout.lines()


def _parse(text: str, message: Any, read: Callable[[_Reader, Any], None]) -> Any:
    _read(_Reader(text), message, read)
    return message


def _read(reader: _Reader, message: Any, read: Callable[[_Reader, Any], None]) -> None:
    read(reader, message)
    if reader.kind != "end":
        reader.fail("the end of the text")


class _Reader:
    """The text and its next token: its kind (a group of _TOKEN), its text and where it starts."""

    def __init__(self, text: str) -> None:
        self.source, self.depth, self.stop = text, 0, 0
        self.kind, self.text, self.start = "mark", "", 0
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self.text, self.start = text[error.start], error.start
            self.fail("text that UTF-8 can hold")
        self.advance()

    # Tokens

    def advance(self) -> str:
        """Return the text of the next token, and step over it."""
        passed = self.text
        # It matches anywhere, the end included.
        found: Any = _TOKEN.match(self.source, self.stop)
        self.kind = found.lastgroup
        self.text = found[self.kind]
        self.start, self.stop = found.span(self.kind)
        return passed

    def at(self, mark: str) -> bool:
        """Return whether this mark is next."""
        return self.text == mark and self.kind == "mark"

    def next_is(self, mark: str) -> bool:
        """Return whether this mark follows the next token."""
        found: Any = _TOKEN.match(self.source, self.stop)
        return bool(found["mark"] == mark)

    def take(self, mark: str) -> bool:
        """Return whether this mark is next, and if so step over it."""
        found = self.at(mark)
        if found:
            self.advance()
        return found

    def expect(self, mark: str, instead: str = "") -> None:
        """Step over a mark; `instead` names what else is possible there."""
        if not self.take(mark):
            self.fail(f"'{mark}'{instead and ' or '}{instead}")

    def listed(self, end: str, empty: bool = True) -> Iterator[None]:
        """Step through a list with commas up to its end mark; yield once for each item, which the caller reads."""
        if empty and self.take(end):
            return
        yield
        while self.take(","):
            yield
        self.expect(end, "','")

    def fail(self, expected: str, start: int | None = None, code: str = "M301", why: str = "") -> NoReturn:
        """Raise the error for the next token, or the one at `start`: what was expected, and what is there."""
        start = self.start if start is None else start
        if start != self.start:
            found = quoted(self.source[start : self.start].strip())
        elif self.kind == "end":
            found = "the end of the text"
        elif self.text == '"':
            found = "a text in quotes that does not end"
        else:
            found = quoted(self.text)
        line = self.source.count("\n", 0, start) + 1
        column = start - self.source.rfind("\n", 0, start)
        raise ModelError(Finding(code, f"expected {expected}, found {found}", f"{line}:{column}", why))

    def enter(self) -> None:
        """Count one more level of graphs and types inside each other; whoever enters leaves by `self.depth -= 1`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"at most {MAX_DEPTH} graphs and types inside each other", code="M104")

    # Names and literals

    def word(self, expected: str) -> str:
        """Return a word as it is."""
        if self.kind != "word":
            self.fail(expected)
        return self.advance()

    def name(self, expected: str) -> str:
        """Return a name: a word, or anything in quotes."""
        return self.string(expected) if self.kind == "string" else self.word(expected)

    def dotted(self, expected: str) -> list[str]:
        """Return names with dots between them."""
        found = [self.name(expected)]
        while self.take("."):
            found.append(self.name(expected))
        return found

    def names(self) -> list[str]:
        """Return the inputs or outputs of a node: a name that is left out before a comma is empty."""
        found = []
        while True:
            if self.kind in ("word", "string"):
                found.append(self.name("a name"))
                if not self.take(","):
                    return found
            elif self.take(","):
                found.append("")
            else:
                return found

    def string(self, expected: str = "a text in quotes") -> str:
        """Return what a text in quotes says: a character after a backslash is taken literally."""
        if self.kind != "string":
            self.fail(expected)
        return _ESCAPED.sub(r"\1", self.advance()[1:-1])

    def whole(self, lowest: int = _INT64[0], highest: int = _INT64[1], why: str = "") -> int:
        """Return a whole number within bounds."""
        # Of very many digits Python is slow to make a number, or refuses to.
        found = int(self.text) if self.kind == "whole" and len(self.text) < 1000 else None
        if found is None or not lowest <= found <= highest:
            self.fail(f"a whole number from {lowest} to {highest}", why=why)
        self.advance()
        return found

    def is_real(self) -> bool:
        """Return whether the next token is a number that is not written as a whole one."""
        return self.kind == "real" or (self.kind == "word" and self.text.lower() in _NOT_FINITE)

    def real(self, single: bool = True) -> float:
        """Return a number as the nearest that a float, or else a double, has."""
        if self.kind != "whole" and not self.is_real():
            self.fail("a number")
        try:
            found = _nearest_float(self.text) if single else float(self.text)
        except OverflowError:
            found = math.inf
        if math.isinf(found) and self.text[-1] in "0123456789.":
            self.fail(f"a number that a {'float' if single else 'double'} can hold")
        self.advance()
        return found

    # Types and tensors

    def type(self, message: Any) -> None:
        """Read a type into a TypeProto."""
        word = self.text if self.kind == "word" else ""
        if word in NUMBERS:
            self.tensor_type(message.tensor_type)
        elif word not in _TYPE_WORDS:
            self.fail("a type")
        else:
            self.enter()
            self.advance()
            self.expect("(")
            if word in _NESTED_TYPES:
                self.type(getattr(message, _NESTED_TYPES[word]).elem_type)
            elif word == "map":
                message.map_type.key_type = self.element_type()
                self.expect(",")
                self.type(message.map_type.value_type)
            elif word == "sparse_tensor":
                self.tensor_type(message.sparse_tensor_type)
            else:
                self.opaque(message.opaque_type)
            self.expect(")")
            self.depth -= 1

    def element_type(self) -> int:
        """Return the number of an element type."""
        if self.kind != "word" or self.text not in NUMBERS:
            self.fail("an element type")
        return NUMBERS[self.advance()]

    def tensor_type(self, message: Any) -> None:
        """Read an element type and dims: without brackets a scalar, with empty brackets of unknown rank."""
        message.elem_type = self.element_type()
        if not self.take("["):
            message.shape.SetInParent()
            return
        for _ in self.listed("]"):
            dim = message.shape.dim.add()
            if self.kind == "whole":
                dim.dim_value = self.whole()
            elif not self.take("?"):
                dim.dim_param = self.name("a size, a name or '?'")

    def opaque(self, message: Any) -> None:
        """Read the content of the parentheses of an opaque type: nothing, a name, or domain and name."""
        message.SetInParent()
        if not self.at(")"):
            message.name = ".".join(self.dotted("a name"))
            if self.take(","):
                message.domain, message.name = message.name, ".".join(self.dotted("a name"))

    def data(self, type_proto: Any, name: str, tensor: Any, start: int) -> None:
        """Read the data of a tensor, whose type and name stood before it; the type starts at `start`."""
        kind = type_proto.tensor_type
        if type_proto.WhichOneof("value") != "tensor_type" or not kind.HasField("shape"):
            self.fail("the type of a tensor with all its dims", start, why="the data of a tensor follows it")
        if any(dim.WhichOneof("value") != "dim_value" for dim in kind.shape.dim):
            self.fail("dims that are whole numbers", start, why="the data of a tensor follows it")
        tensor.name, tensor.data_type = name, kind.elem_type
        tensor.dims.extend(dim.dim_value for dim in kind.shape.dim)
        try:
            count = element_count(tensor)
        except ModelError as error:
            self.fail("dims that a tensor can have", start, why=error.why)
        if self.take("["):
            tensor.data_location = pb.TensorProto.EXTERNAL
            self.pairs(tensor.external_data, empty=False)
        else:
            opening = self.start
            self.expect("{", "'['")
            self.entries(tensor, count, opening)

    def entries(self, tensor: Any, count: int, opening: int) -> None:
        """Read a tensor's values into the field of its type; its dims ask for `count` elements."""
        if tensor.data_type == STRING:
            tensor.string_data.extend(self.string().encode() for _ in self.listed("}"))
            found = len(tensor.string_data)
        else:
            element = ELEMENTS[tensor.data_type]
            field = getattr(tensor, element.field)
            if element.field in ("float_data", "double_data"):
                single = element.field == "float_data"
                field.extend(self.real(single) for _ in self.listed("}"))
                count *= 2 if element.name.startswith("complex") else 1
            else:
                lowest, highest, why = _bounds(tensor.data_type)
                field.extend(self.whole(lowest, highest, why) for _ in self.listed("}"))
                count = -(-count * element.bits // 8) if element.bits in (2, 4) else count
            found = len(field)
        if found != count:
            self.fail(f"as many values as the dims ask for, {count}", opening, why=f"there are {found}")

    def pairs(self, entries: Any, empty: bool = True) -> None:
        """Read pairs of texts up to the closing bracket into a list of StringStringEntryProto."""
        for _ in self.listed("]", empty):
            key = self.string()
            self.expect(":")
            entries.add(key=key, value=self.string())

    # Attributes

    def attribute(self, attribute: Any) -> bool:
        """Read an attribute; return whether it has a value or a reference for one."""
        attribute.name = self.name("the name of an attribute")
        wanted, many = "", False
        if self.take(":"):
            if self.kind != "word" or self.text not in _ATTRIBUTE_TYPES:
                self.fail(f"an attribute type ({', '.join(_ATTRIBUTE_TYPES)})")
            many = self.text.endswith("s")
            attribute.type = pb.AttributeProto.AttributeType.Value(self.text.upper())
            wanted = self.advance().upper().removesuffix("S")
        if not self.take("="):
            return False
        if self.take("@"):
            attribute.ref_attr_name = self.name("the name of the function's attribute")
            return True
        start = self.start
        if self.take("["):
            if wanted and not many:
                self.fail(f"one value of type {wanted.lower()}, not a list", start)
            if not wanted and self.at("]"):
                self.fail("a value", why="a list without values needs a type before it, such as `: ints`")
            for _ in self.listed("]"):
                wanted = self.value(attribute, wanted, many=True)
            wanted += "S"
        elif many:
            self.fail(f"'[' and a list of values of type {wanted.lower()}")
        else:
            wanted = self.value(attribute, wanted, many=False)
        attribute.type = pb.AttributeProto.AttributeType.Value(wanted)
        return True

    def value(self, attribute: Any, wanted: str, many: bool) -> str:
        """Read one value, or one of many, into an attribute, and return its kind; `wanted` is the known kind."""
        start = self.start
        found: Any
        if self.kind == "word" and self.text in _TYPE_WORDS:
            kind, found = self.tensor_or_type()
        elif self.kind in ("word", "string") and self.next_is("("):
            kind, found = "GRAPH", pb.GraphProto()
            self.graph(found)
        elif self.kind == "string":
            kind, found = "STRING", self.string().encode()
        elif self.is_real() or (self.kind == "whole" and wanted == "FLOAT"):
            kind, found = "FLOAT", self.real()
        elif self.kind == "whole":
            kind, found = "INT", self.whole()
        else:
            self.fail("a value", why="text is in quotes; a word begins a type or a graph" * (self.kind == "word"))
        if wanted and kind != wanted:
            self.fail(f"a value of type {wanted.lower()}", start)
        single, plural = _FIELDS[kind]
        if many:
            getattr(attribute, plural).append(found)
        elif kind in ("FLOAT", "INT", "STRING"):
            setattr(attribute, single, found)
        else:
            getattr(attribute, single).CopyFrom(found)
        return kind

    def tensor_or_type(self) -> tuple[str, Any]:
        """Return the kind and message of a value that begins with a type: a tensor if a name or data follows."""
        start, kind = self.start, pb.TypeProto()
        self.type(kind)
        if self.kind not in ("word", "string") and not self.at("=") and not self.at("{"):
            return "TYPE_PROTO", kind
        tensor = pb.TensorProto()
        name = "" if self.kind == "mark" else self.name("the name of a tensor")
        if self.take("=") or self.at("{"):
            self.data(kind, name, tensor, start)
        else:
            self.fail("'=' or '{'", why="a type and a name begin a tensor, and its data is missing")
        return "TENSOR", tensor

    # Nodes, graphs, functions, models

    def node(self, node: Any) -> None:
        """Read a node: its name, outputs, operator, attributes and inputs."""
        if self.take("["):
            node.name = "" if self.at("]") else self.name("the name of the node")
            self.expect("]")
        node.output.extend(self.names())
        self.expect("=", "','")
        *domain, node.op_type = self.dotted("an operator")
        node.domain = ".".join(domain)
        if self.take(":"):
            node.overload = self.name("the overload of the function")
        if self.take("<"):
            self.node_attributes(node)
        self.expect("(", "" if node.attribute else "'<'")
        node.input.extend(self.names())
        self.expect(")", "','")
        if not node.attribute and self.take("<"):
            self.node_attributes(node)

    def node_attributes(self, node: Any) -> None:
        """Read the attributes of a node up to the closing '>'."""
        for _ in self.listed(">", empty=False):
            if not self.attribute(node.attribute.add()):
                self.fail("'='")

    def nodes(self, nodes: Any) -> None:
        """Read nodes between braces."""
        self.expect("{")
        while not self.take("}"):
            if self.kind not in ("word", "string") and self.text not in ("[", ",", "="):
                self.fail("a node or '}'")
            self.node(nodes.add())

    def value_info(self, value: Any) -> None:
        """Read a value's type, if there is one, and its name."""
        if self.kind == "word" and self.text in _TYPE_WORDS:
            self.type(value.type)
        value.name = self.name("the name of a value")

    def graph(self, graph: Any) -> None:
        """Read a graph: its name, inputs, outputs, initializers and types of other values, and nodes."""
        self.enter()
        graph.name = self.name("the name of a graph")
        self.expect("(")
        for _ in self.listed(")"):
            self.graph_value(graph, graph.input.add())
        self.expect("=>")
        self.expect("(")
        for _ in self.listed(")"):
            self.value_info(graph.output.add())
        if self.take("<"):
            for _ in self.listed(">"):
                value = pb.ValueInfoProto()
                if not self.graph_value(graph, value):
                    graph.value_info.append(value)
        self.nodes(graph.node)
        self.depth -= 1

    def graph_value(self, graph: Any, value: Any) -> bool:
        """Read a value and, if data follows, the initializer of its name; return whether it does."""
        start = self.start
        self.value_info(value)
        if not self.take("="):
            return False
        self.data(value.type, value.name, graph.initializer.add(), start)
        return True

    def function(self, function: Any) -> None:
        """Read a function: its keys, name, attributes, inputs, outputs, types of other values, and nodes."""
        self.header(function, _FUNCTION_KEYS)
        function.name = self.name("the name of a function")
        if self.take("<"):
            for _ in self.listed(">", empty=False):
                attribute = pb.AttributeProto()
                if self.attribute(attribute) or attribute.HasField("type"):
                    function.attribute_proto.append(attribute)
                else:
                    function.attribute.append(attribute.name)
        self.expect("(")
        self.function_values(function, ")", function.input)
        self.expect("=>")
        self.expect("(")
        self.function_values(function, ")", function.output)
        if self.take("<"):
            self.function_values(function, ">")
        self.nodes(function.node)

    def function_values(self, function: Any, end: str, names: Any = None) -> None:
        """Read values up to the end mark: their names into `names`, and what has a type, or no `names`, as it is."""
        for _ in self.listed(end):
            value = pb.ValueInfoProto()
            self.value_info(value)
            if names is not None:
                names.append(value.name)
            if names is None or value.HasField("type"):
                function.value_info.append(value)

    def model(self, model: Any) -> None:
        """Read a model: its keys, graph and functions."""
        self.header(model, _MODEL_KEYS)
        self.graph(model.graph)
        while self.kind != "end":
            self.function(model.functions.add())

    def header(self, message: Any, keys: tuple[str, ...]) -> None:
        """Read the keys between '<' and '>' before a model or a function, if they are there."""
        if not self.take("<"):
            return
        left = list(keys)
        for _ in self.listed(">", empty=False):
            if self.kind != "word" or self.text not in left:
                self.fail(f"a key ({', '.join(left)})", why="a key is not repeated")
            left.remove(self.text)
            key = self.advance()
            self.expect(":")
            if key == "opset_import":
                self.expect("[")
                for _ in self.listed("]"):
                    domain = self.string()
                    self.expect(":")
                    message.opset_import.add(domain=domain, version=self.whole())
            elif key == "metadata_props":
                self.expect("[")
                self.pairs(message.metadata_props)
            else:
                setattr(message, key, self.whole() if key in ("ir_version", "model_version") else self.string())


class _Layout(_Reader):
    """A reader that notes its tokens, and by the index of those that begin a line how deep they are nested."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[int, int]] = []
        self.indents: dict[int, int] = {}
        self.level = 0
        super().__init__(text)

    def advance(self) -> str:
        """Return the text of the next token, and step over it; the one after it is noted."""
        passed = super().advance()
        self.tokens.append((self.start, self.stop))
        return passed

    def node(self, node: Any) -> None:
        """Read a node, which begins a line."""
        self.indents[len(self.tokens) - 1] = self.level
        super().node(node)

    def nodes(self, nodes: Any) -> None:
        """Read nodes between braces; where there are any, the closing one begins a line."""
        self.level += 1
        super().nodes(nodes)
        self.level -= 1
        if nodes:
            self.indents[len(self.tokens) - 2] = self.level  # the last token is the one after the brace

    def lines(self) -> str:
        """Return the tokens in lines of at most LAYOUT_WIDTH columns, where they can be broken at spaces."""
        lines, stop, indent = [""], 0, ""
        for index, (start, end) in enumerate(self.tokens):
            token, gap = self.source[start:end], self.source[stop:start]
            if gap.strip():  # a comment
                return self.source
            if index in self.indents:
                indent = "  " * self.indents[index]
                lines.append(indent + token)
            elif gap and len(lines[-1]) + len(token) >= LAYOUT_WIDTH:
                lines.append(f"{indent}    {token}")
            else:
                lines[-1] += f" {token}" if gap and lines[-1] and token else token
            stop = end
        return "\n".join([*lines, ""]) if len(lines) > 1 else lines[0]


def _bounds(data_type: int) -> tuple[int, int, str]:
    """Return the least and greatest entry that the integer field of an element type takes, and what it stands for."""
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


def _nearest_float(text: str) -> float:
    """Return the float32 nearest to a decimal number, ties to even; raise OverflowError out of range."""
    value = float(text)
    if not math.isfinite(value):
        return value
    found: float = struct.unpack("<f", struct.pack("<f", value))[0]
    # Rounding to a double first may have put the number half-way between two floats where it was not quite.
    other = 2 * value - found
    if other != found and struct.unpack("<f", struct.pack("<f", other))[0] == other and Decimal(text) != value:
        return max(found, other) if Decimal(text) > value else min(found, other)
    return found
