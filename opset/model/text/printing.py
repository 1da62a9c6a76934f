"""Writing the text syntax of ONNX: messages as text that reads back to the same message, and text laid out.

    to_text(model)      # an opset.Model, or a ModelProto, GraphProto, FunctionProto or NodeProto

What onnx.parser reads is written as it reads it. What its language lacks is written in ours (`opset explain text`):
values of raw_data as `!{1, 2}`, texts with control characters as `$"\\x1b"`, and fields without a syntax as
`&{doc_string: "…"}`.
"""

from __future__ import annotations

import math
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from opset.errors import Finding, ModelError, UsageError, brief_name, quote
from opset.model import proto as pb
from opset.model.elements import ELEMENTS, NUMBERS, STRING, element_name
from opset.model.graph.walking import subgraphs
from opset.model.proto import is_repeated
from opset.model.storage.encoding import decode, element_count, encode
from opset.model.storage.parts import ModelParts
from opset.model.storage.source import BytesSource
from opset.model.storage.tensor import text_of
from opset.model.storage.wire import fields
from opset.model.text.syntax import FIELDS, TYPE_WORDS, UNKNOWN, UNSET, Reader, bounds, read
from opset.options import checked_options

LAYOUT_WIDTH: Final = 100
"""Columns of a line that `lay_out_graph` writes."""
ELIDED: Final = "# Values of tensors are left out: this text is for reading, and no model."
ROW: Final = 16
"""Values in a line."""

_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED: Final = TYPE_WORDS | {"none"}
_CONTROL: Final = re.compile(r"[^ -~]|[\"\\]")
_QUOTE: Final = re.compile(r'["\\]')
_QUOTED: Final = r"\\\g<0>"
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_PIECE: Final = 1 << 16  # elements; a multiple of 8, so that each piece of raw_data ends with a whole byte
_DATA: Final = frozenset(
    "raw_data float_data int32_data int64_data string_data double_data uint64_data external_data".split()
)
_KINDS: Final = {
    number: (kind, end)
    for kind in FIELDS
    for end in ("", "S")
    if (number := pb.AttributeProto.AttributeType.Value(kind + end))
}
_NODE: Final = frozenset("input output name op_type domain overload attribute".split())
_GRAPH: Final = frozenset("name input output initializer value_info node".split())
_FUNCTION: Final = frozenset("name input output attribute attribute_proto node value_info".split())


@checked_options
def to_text(source: Any, *, limit: int | None = None) -> str:
    """Return a model, graph, function or node as text that reads back to the same message.

    Args:
        source: A model: a path, bytes, an open file, an opset.Model or a ModelProto; or a graph, function or node, as a
            message of the onnx package or of opset.
        limit: Values of tensors with more elements are left out, and not read: such a text is for people, and no model.
            None leaves nothing out.

    Raises:
        ModelError: M106 if a name is not UTF-8, which text cannot hold; M1xx or M2xx if a model cannot be read.
        UsageError: U103 if the source is anything else.
    """
    if isinstance(source, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(source, "read"):
        from opset.model import load  # which imports this module

        source = load(source)
    model = source if isinstance(source, ModelParts) else None
    message = source if model is None else model.proto
    name = getattr(getattr(message, "DESCRIPTOR", None), "full_name", type(source).__name__).removeprefix("onnx.")
    prints = {
        "ModelProto": _Printer.model_text,
        "GraphProto": _Printer.graph_text,
        "FunctionProto": _Printer.function_text,
        "NodeProto": _Printer.node_text,
    }
    if name not in prints:
        help = "give a model, its path or its bytes, a graph, a function or a node"
        raise UsageError(Finding("U103", f"there is no text of a {brief_name(name)}", help=help))
    if not isinstance(message, getattr(pb, name)):
        message = getattr(pb, name).FromString(message.SerializeToString())
    return _Printer(message, model, limit).text(prints[name])


def lay_out_graph(text: str) -> str:
    """Return the text of a graph with a node a line, and nested graphs indented; text with comments is not changed.

    White space alone changes. Raises the errors of `parse_node`.
    """
    layout: _Layout = _Layout(text)
    read(layout, pb.GraphProto(), Reader.read_graph)
    return layout.lines()


class _Printer:
    """Prints one message; `model` holds the data of its tensors that was left in the file."""

    def __init__(self, message: Any, model: ModelParts | None, limit: int | None) -> None:
        self._message, self._model, self._limit = message, model, limit
        known = type(message)()
        known.CopyFrom(message)
        known.DiscardUnknownFields()
        self._unknown = known.ByteSize() != message.ByteSize()
        self._elided, self._level = False, 0
        domains, names = Counter[bool](), Counter[bool]()
        for node in _all_nodes(message):
            if not node.domain:
                domains[node.HasField("domain")] += 1
            for attribute in node.attribute:
                if attribute.HasField("t") and not attribute.t.name and not attribute.t.HasField("raw_data"):
                    names[attribute.t.HasField("name")] += 1
        # What most of them have not.
        counts = {"domain": domains, "name": names}
        self._unset = [each for each, found in counts.items() if found[False] > found[True]]

    def text(self, print_message: Any) -> str:
        """Return the text, ending with a line break."""
        body = print_message(self, self._message)
        head = [UNSET + ", ".join(self._unset)] * bool(self._unset) + [ELIDED] * self._elided
        return "\n".join([*head, body, ""])

    # Fields that have no other syntax

    def extra_fields_text(self, message: Any, written: Iterable[str], missing: Sequence[str] = ()) -> str:
        """Return ` &{…}` for the fields of a message that are not written, and for those that are and not there."""
        parts = self._field_texts(message, written, missing)
        return f" &{{{', '.join(parts)}}}" if parts else ""

    def _field_texts(self, message: Any, written: Iterable[str] = (), missing: Sequence[str] = ()) -> list[str]:
        """Return `name: value` for each field that is not written, and `name: none` for the missing ones."""
        parts = [
            f"{field.name}: {self._field_text(message, field, value)}"
            for field, value in message.ListFields()
            if field.name not in written
        ]
        parts += [f"{name}: none" for name in missing if not message.HasField(name)]
        if self._unknown and (encoded := _unknown_fields(message)):
            parts.append(f'{UNKNOWN}: "{encoded.hex()}"')
        return parts

    def fields_text(self, message: Any) -> str:
        """Return all fields of a message between braces."""
        return f"{{{', '.join(self._field_texts(message))}}}"

    def _field_text(self, message: Any, field: Any, value: Any) -> str:
        """Return the value of a field as text."""
        values = value if is_repeated(field) else [value]
        if field.message_type is not None:
            shown = [self._part_text(each) for each in values]
        elif field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            shown = _number_texts(message, field.name, values)
        elif field.cpp_type == field.CPPTYPE_STRING:
            shown = [*map(string_text, values)]
        else:
            shown = [str(int(each)) for each in values]
        return f"[{', '.join(shown)}]" if is_repeated(field) else shown[0]

    def _part_text(self, message: Any) -> str:
        """Return a message that is a field of another one: in its own syntax, or by its fields."""
        match message.DESCRIPTOR.name:
            case "GraphProto":
                return self.graph_text(message)
            case "NodeProto":
                return self.node_text(message)
            case "ValueInfoProto":
                return self.value_text(message)
            case "TensorProto":
                return self.tensor_text(message).removeprefix("&")
            case "TypeProto":
                return self.type_text(message).removeprefix("&")
            case "StringStringEntryProto" if self._are_plain_pairs([message]):
                return f"{string_text(message.key)}: {string_text(message.value)}"
        return self.fields_text(message)

    def _are_plain_pairs(self, entries: Iterable[Any]) -> bool:
        """Whether entries have a key and a value, and nothing else."""
        return all(
            each.HasField("key") and each.HasField("value") and not self._has_unknown_fields(each) for each in entries
        )

    def _has_unknown_fields(self, message: Any) -> bool:
        """Whether a message has fields that onnx.proto does not have."""
        return self._unknown and bool(_unknown_fields(message))

    # Types and tensors

    def type_text(self, message: Any) -> str:
        """Return the text of a type."""
        words = self._type_words(message)
        if words is None:
            return f"&{self.fields_text(message)}"
        return words + self.extra_fields_text(message, [message.WhichOneof("value")])

    def _type_words(self, message: Any) -> str | None:
        """Return the words for a type, None if there are none for it."""
        kind = message.WhichOneof("value")
        inner = getattr(message, kind) if kind else None
        if inner is None or self._has_unknown_fields(inner):
            return None
        match kind:
            case "tensor_type":
                return self._tensor_type_words(inner)
            case "sparse_tensor_type":
                words = self._tensor_type_words(inner)
                return words and f"sparse_tensor({words})"
            case "sequence_type" | "optional_type" if inner.HasField("elem_type"):
                return f"{'seq' if kind == 'sequence_type' else 'optional'}({self.type_text(inner.elem_type)})"
            case "map_type" if element_name(inner.key_type) and inner.HasField("value_type"):
                return f"map({element_name(inner.key_type)}, {self.type_text(inner.value_type)})"
            case "opaque_type" if inner.HasField("name") or not inner.HasField("domain"):
                names = [name_text(each) for each in (inner.domain,) * inner.HasField("domain")]
                return f"opaque({', '.join([*names, *[name_text(inner.name)] * inner.HasField('name')])})"
        return None

    def _tensor_type_words(self, message: Any) -> str | None:
        """Return the words for a tensor type, None if there are none."""
        element = element_name(message.elem_type)
        if element is None or self._has_unknown_fields(message.shape):
            return None
        if not message.HasField("shape"):
            return f"{element}[]"
        dims = [self._dim_text(dim) for dim in message.shape.dim]
        return f"{element}[{', '.join(dims)}]" if dims else element

    def _dim_text(self, dim: Any) -> str:
        """Return a dimension as text."""
        kind = dim.WhichOneof("value")
        shown = "?"
        if kind is not None:
            shown = str(dim.dim_value) if kind == "dim_value" else name_text(dim.dim_param)
        # A shape may have a million of them.
        return shown + self.extra_fields_text(dim, [kind]) if self._unknown or dim.HasField("denotation") else shown

    def tensor_text(self, message: Any, listed: bool = False) -> str:
        """Return the text of a tensor; if it is `listed` among the values of a graph, it has its name in any case."""
        elided = self._limit is not None and _element_count(message) > self._limit and not message.external_data
        if not elided:
            message = self._complete_tensor(message)
        data = self._data_text(message, elided)
        if data is None and listed:
            return f"{name_text(message.name)} = &{{{', '.join(self._field_texts(message, {'name'}, ['name']))}}}"
        if data is None:
            return f"&{self.fields_text(message)}"
        dims = f"[{', '.join(map(str, message.dims))}]" if message.dims else ""
        kind = f"{element_name(message.data_type)}{dims}"
        raw = data[0] == "!"
        if listed or message.name or (raw and message.HasField("name")):
            kind += f" {name_text(message.name)} ="
        elif data[0] == "[":
            kind += " ="
        written = {"dims", "data_type", "name", *_DATA}
        written |= {"data_location"} if data[0] == "[" else {"opset_payload"} if elided else set()
        unset = (raw or "name" in self._unset) and not listed
        if unset and message.HasField("name") and not message.name and not raw:
            written.remove("name")
        return f"{kind} {data}{self.extra_fields_text(message, written, () if unset or elided else ['name'])}"

    def _complete_tensor(self, message: Any) -> Any:
        """Return a tensor with the data that was left in the file."""
        segments = self._model.segments(message) if self._model is not None and message.opset_payload else []
        if not segments:
            return message
        complete = pb.TensorProto()
        complete.CopyFrom(message)
        del complete.opset_payload[: len(segments)]
        for segment in segments:
            complete.MergeFromString(segment.read())
        return complete

    def _data_text(self, message: Any, elided: bool) -> str | None:
        """Return the data of a tensor, None if it does not fit dims and type."""
        element, count = ELEMENTS.get(message.data_type), _element_count(message)
        if element is None or count < 0:
            return None
        if elided:
            self._elided = True
            return "{...}"
        present = {field.name for field, _ in message.ListFields()} & _DATA
        if message.data_location == pb.TensorProto.EXTERNAL:
            entries = message.external_data
            if present != {"external_data"} or not self._are_plain_pairs(entries):
                return None
            return f"[{', '.join(map(self._part_text, entries))}]"
        if "raw_data" in present:
            fits = present == {"raw_data"} and len(message.raw_data) == -(-count * element.bits // 8) and element.bits
            return _raw_data_text(message.data_type, message.raw_data, count) if fits else None
        field = "string_data" if message.data_type == STRING else element.field
        if not present <= {field}:
            return None
        return _entries_text(message, field, count)

    # Attributes, nodes, graphs, functions, models

    def attribute_text(self, message: Any, bare: bool = False) -> str:
        """Return the text of an attribute; a `bare` one may have a type and no value."""
        kind, end = _KINDS.get(message.type, ("", ""))
        field = FIELDS[kind][bool(end)] if kind else ""
        typed = f": {(kind + end).lower()}" if kind else ""
        if message.ref_attr_name:
            value = f" = @{name_text(message.ref_attr_name)}"
            written = {"name", "ref_attr_name", *["type"] * bool(kind)}
        elif kind and (end or message.HasField(field)):
            value = f" = {self._value_text(message, kind, field, end)}"
            written = {"name", "type", field}
        elif kind and bare and {each.name for each, _ in message.ListFields()} <= {"name", "type", "doc_string"}:
            written, value = {"name", "type"}, ""
        else:
            parts = self._field_texts(message, {"name"}, ["name"])
            return f"{name_text(message.name)} &{{{', '.join(parts)}}}"
        return name_text(message.name) + self.extra_fields_text(message, written, ["name"]) + typed + value

    def _value_text(self, message: Any, kind: str, field: str, end: str) -> str:
        """Return the value of an attribute as text."""
        found = getattr(message, field)
        values = found if end else [found]
        match kind:
            case "FLOAT":
                shown = _number_texts(message, field, values)
            case "INT":
                shown = [*map(str, values)]
            case "STRING":
                shown = [*map(string_text, values)]
            case "TENSOR":
                shown = [self.tensor_text(each) for each in values]
            case "GRAPH":
                shown = [self.graph_text(each) for each in values]
            case "TYPE_PROTO":
                shown = [self.type_text(each) for each in values]
            case _:
                shown = [f"&{self.fields_text(each)}" for each in values]
        return _bracket_rows(shown, "[", "]") if end else shown[0]

    def node_text(self, message: Any) -> str:
        """Return the text of a node."""
        label = f"[{name_text(message.name) if message.name else ''}] " if message.HasField("name") else ""
        outputs = ", ".join(map(name_text, message.output))
        domain = _require_utf8(message.domain)
        if domain and not all(map(_WORD.fullmatch, domain.split("."))):
            domain = string_text(domain)
        operator = f"{domain}{domain and '.'}{_word_or_string(message.op_type)}"
        if message.HasField("overload"):
            operator += f":{name_text(message.overload)}"
        attributes = ", ".join(map(self.attribute_text, message.attribute))
        operator += f" <{attributes}>" if attributes else ""
        inputs = ", ".join(map(name_text, message.input))
        written, missing = _NODE, ["op_type"]
        if not domain and message.HasField("domain") == ("domain" in self._unset):
            if "domain" in self._unset:
                written = _NODE - {"domain"}
            else:
                missing.append("domain")
        further = self.extra_fields_text(message, written, missing)
        return f"{label}{outputs}{outputs and ' '}= {operator} ({inputs}){further}"

    def value_text(self, message: Any) -> str:
        """Return the text of a value: its type, if there is one, and its name."""
        kind = f"{self.type_text(message.type)} " if message.HasField("type") else ""
        return kind + name_text(message.name) + self.extra_fields_text(message, {"name", "type"}, ["name"])

    def graph_text(self, message: Any) -> str:
        """Return the text of a graph."""
        inputs, outputs = (", ".join(map(self.value_text, values)) for values in (message.input, message.output))
        self._level += 1
        held = [self.tensor_text(each, listed=True) for each in message.initializer]
        held += [self.value_text(each) for each in message.value_info]
        nodes = [self.node_text(each) for each in message.node]
        self._level -= 1
        head = f"{name_text(message.name)} ({inputs}) => ({outputs}) {self._bracket_lines('<', ',', held, '> ')}"
        rest = self.extra_fields_text(message, _GRAPH, ["name"])
        return f"{head}{self._bracket_lines('{', '', nodes, '}') or '{}'}{rest}"

    def _bracket_lines(self, opening: str, between: str, lines: list[str], closing: str) -> str:
        """Return lines between brackets, indented; "" if there are none."""
        outer = "\n" + "  " * self._level
        return f"{opening}{outer}  {f'{between}{outer}  '.join(lines)}{outer}{closing}" if lines else ""

    def function_text(self, message: Any) -> str:
        """Return the text of a function."""
        keys, written = self._header_text(message, ("domain", "overload", "doc_string"))
        self._level += 1
        attributes = [
            *map(name_text, message.attribute),
            *[self.attribute_text(each, True) for each in message.attribute_proto],
        ]
        inputs, outputs = (", ".join(map(name_text, names)) for names in (message.input, message.output))
        held = [self.value_text(each) for each in message.value_info]
        nodes = [self.node_text(each) for each in message.node]
        self._level -= 1
        declared = f"<{', '.join(attributes)}> " if attributes else ""
        values = self._bracket_lines("<", ",", held, "> ")
        head = f"{keys}{name_text(message.name)} {declared}({inputs}) => ({outputs}) {values}"
        rest = self.extra_fields_text(message, {*_FUNCTION, *written}, ["name"])
        return f"{head}{self._bracket_lines('{', '', nodes, '}') or '{}'}{rest}"

    def model_text(self, message: Any) -> str:
        """Return the text of a model."""
        named = "ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"
        keys, written = self._header_text(message, named)
        further = self.extra_fields_text(message, {"graph", "functions", *written}, ["graph"]).lstrip()
        graph = [self.graph_text(message.graph)] if message.HasField("graph") else []
        functions = [self.function_text(each) for each in message.functions]
        return "\n".join([*[each.rstrip() for each in (keys, further) if each], *graph, *functions])

    def _header_text(self, message: Any, keys: Iterable[str]) -> tuple[str, list[str]]:
        """Return the head of a model or function, and the fields that it has."""
        values = {key: getattr(message, key) for key in keys if message.HasField(key)}
        keys_found = {key: str(each) if isinstance(each, int) else string_text(each) for key, each in values.items()}
        imports = message.opset_import
        if imports and all(each.HasField("version") and not self._has_unknown_fields(each) for each in imports):
            shown = [f"{string_text(each.domain)}: " * each.HasField("domain") + str(each.version) for each in imports]
            keys_found["opset_import"] = f"[{', '.join(shown)}]"
        metadata = message.metadata_props if message.DESCRIPTOR.name == "ModelProto" else ()
        if metadata and self._are_plain_pairs(metadata):
            keys_found["metadata_props"] = f"[{', '.join(map(self._part_text, metadata))}]"
        text = ", ".join(f"{key}: {value}" for key, value in keys_found.items())
        return f"<{text}>\n" if text else "", [*keys_found]


def name_text(text: str | bytes) -> str:
    """Return a name, in quotes unless it is a word; raise ModelError M106 if it is not UTF-8."""
    return string_text(_require_utf8(text)) if text in _RESERVED else _word_or_string(text)


def _word_or_string(text: str | bytes) -> str:
    """Return a name, in quotes unless it is a word; reserved words stay words."""
    name = _require_utf8(text)
    return name if _WORD.fullmatch(name) else string_text(name)


def _require_utf8(text: str | bytes) -> str:
    """Return the text; raise ModelError M106 if it is bytes, which are not UTF-8."""
    if isinstance(text, bytes):
        why = "text has UTF-8 alone"
        raise ModelError(Finding("M106", f"the name {quote(text)} is not valid UTF-8", why=why, help="rename it"))
    return text


def string_text(value: str | bytes) -> str:
    """Return a text in quotes, with codes behind a $ if it has control characters, or bytes that are not UTF-8."""
    text = text_of(value) if isinstance(value, bytes) else value
    if isinstance(text, bytes):
        codes = _CONTROL.sub(lambda found: _escape_codes(found[0].encode("latin-1")), text.decode("latin-1"))
        return f'$"{codes}"'
    if text.replace("\n", "").isprintable():
        return f'"{text}"' if '"' not in text and "\\" not in text else f'"{_QUOTE.sub(_QUOTED, text)}"'
    return f'$"{_CONTROL.sub(_escape_match, text)}"'


def _escape_match(match: re.Match[str]) -> str:
    """Return a character as it is if it can be shown, else as a code."""
    return match[0] if match[0].isprintable() and match[0] not in _NAMED else _escape_codes(match[0].encode())


def _escape_codes(encoded: bytes) -> str:
    """Return bytes as codes behind a $."""
    shown = _NAMED.get(encoded.decode("latin-1"))
    return shown or "".join(f"\\x{byte:02x}" for byte in encoded)


# Numbers


def _number_texts(message: Any, field: str, values: Sequence[float]) -> list[str]:
    """Return the numbers in a field of floats or doubles as text, each NaN by its sign or its bits."""
    descriptor = message.DESCRIPTOR.fields_by_name[field]
    single = descriptor.cpp_type == descriptor.CPPTYPE_FLOAT
    shown = _shortest_texts(values) if single else [*map(repr, values)]
    if any(value != value for value in values):
        usual = {"7fc00000": "nan", "ffc00000": "-nan", "7ff8" + "0" * 12: "nan", "fff8" + "0" * 12: "-nan"}
        encoded = message.SerializeToString()  # as Python's floats, signalling NaNs would change
        items = fields(BytesSource(encoded), 0, len(encoded))
        data = b"".join(encoded[item.start : item.end] for item in items if item.number == descriptor.number)
        size = 4 if single else 8
        for index, value in enumerate(values):
            if value != value:
                pattern = data[index * size : (index + 1) * size][::-1].hex()
                shown[index] = usual.get(pattern, f'$"{pattern}"')
    return shown


def _shortest_texts(values: Sequence[float]) -> list[str]:
    """Return floats of 32 bits with as few digits as read back the same."""
    shown = [f"{value:.7g}" for value in values]
    for digits in (8, 9):
        read_back = struct.pack(f"<{len(shown)}f", *map(_to_float32, shown))
        if read_back == struct.pack(f"<{len(shown)}f", *values):
            break
        for index, value in enumerate(values):
            if _to_float32(shown[index]) != value:
                shown[index] = f"{value:.{digits}g}"
    return [each if "." in each or "e" in each or each[-1] in "fn" else f"{each}.0" for each in shown]


def _to_float32(text: str) -> float:
    """Return the float32 nearest to a number in a text."""
    nearest: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    return nearest


def _raw_data_text(data_type: int, data: bytes, count: int) -> str:
    """Return raw_data as text: its elements if they stand for exactly these bytes, else the bytes."""
    element = ELEMENTS[data_type]
    if element.name.startswith("complex"):
        data_type, count = NUMBERS["float" if element.bits == 64 else "double"], 2 * count
        element = ELEMENTS[data_type]
    shown: list[str] = []
    for start in range(0, count, _PIECE):
        number = min(_PIECE, count - start)
        piece = data[start * element.bits // 8 : -(-(start + number) * element.bits // 8)]
        values = decode(data_type, piece, number)
        if isinstance(values[0], float):
            values = [value if value == value else math.copysign(math.nan, value) for value in values]
        if encode(data_type, values) != piece:
            return f'!"{data.hex()}"'
        if element.code == "f":
            texts = _shortest_texts(values)
        else:
            texts = [repr(each) if isinstance(each, float) else str(int(each)) for each in values]
        nans = {1.0: "nan", -1.0: "-nan"}
        pairs = zip(texts, values, strict=True)
        shown += [text if value == value else nans[math.copysign(1, value)] for text, value in pairs]
    return f"!{_bracket_rows(shown, '{', '}')}"


def _entries_text(message: Any, field: str, count: int) -> str | None:
    """Return the entries of a tensor's field, None if they are not as many as they should be, or no elements."""
    values, number = getattr(message, field), message.data_type
    if number == STRING:
        return _bracket_rows([*map(string_text, values)], "{", "}") if len(values) == count else None
    element = ELEMENTS[number]
    if field in ("float_data", "double_data"):
        if len(values) != count * (2 if element.name.startswith("complex") else 1):
            return None
        return _bracket_rows(_number_texts(message, field, values), "{", "}")
    lowest, highest, _ = bounds(number)
    wanted = -(-count * element.bits // 8) if element.bits in (2, 4) else count
    if len(values) != wanted or (wanted and not lowest <= min(values) <= max(values) <= highest):
        return None
    return _bracket_rows([*map(str, values)], "{", "}")


def _element_count(tensor: Any) -> int:
    """Return how many elements a tensor has by its dims, -1 if these say nothing."""
    try:
        return element_count(tensor)
    except ModelError:
        return -1


def _bracket_rows(values: Sequence[str], opening: str, closing: str) -> str:
    """Return values between brackets, in lines of ROW values if there are more."""
    if len(values) <= ROW:
        return f"{opening}{', '.join(values)}{closing}"
    rows = [", ".join(values[start : start + ROW]) for start in range(0, len(values), ROW)]
    return f"{opening}\n    " + ",\n    ".join(rows) + f"\n  {closing}"


# Messages


def _unknown_fields(message: Any) -> bytes:
    """Return the fields of a message that onnx.proto does not have, as bytes."""
    rest = type(message)()
    rest.CopyFrom(message)
    for field in message.DESCRIPTOR.fields:
        rest.ClearField(field.name)
    encoded: bytes = rest.SerializeToString()
    return encoded


def _all_nodes(message: Any) -> Iterator[Any]:
    """Yield the nodes of a message, those in subgraphs and functions included."""
    match message.DESCRIPTOR.name:
        case "NodeProto":
            yield message
            pending = [graph for _, graph in subgraphs(message)]
        case "ModelProto":
            pending = [message.graph, *message.functions]
        case _:
            pending = [message]
    while pending:
        for node in pending.pop().node:
            yield node
            if node.attribute:
                pending += [graph for _, graph in subgraphs(node)]


class _Layout(Reader):
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

    def read_node(self, node: Any) -> None:
        """Read a node, which begins a line."""
        self.indents[len(self.tokens) - 1] = self.level
        super().read_node(node)

    def read_nodes(self, nodes: Any) -> None:
        """Read nodes between braces; the closing brace begins a line if there are any."""
        self.level += 1
        super().read_nodes(nodes)
        self.level -= 1
        if nodes:
            self.indents[len(self.tokens) - 2] = self.level  # the last token is the one after the brace

    def lines(self) -> str:
        """Return the tokens in lines, broken at spaces to at most LAYOUT_WIDTH columns if possible."""
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
