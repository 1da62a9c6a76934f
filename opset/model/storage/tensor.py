"""The data of tensors, wherever and however it is stored: as bytes in the form of raw_data, and as Python objects."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

from google.protobuf.message import DecodeError

from opset.errors import safe_text
from opset.model import proto
from opset.model.elements import BOOL, ELEMENTS, STRING
from opset.model.storage import external, wire
from opset.model.storage.encoding import data_size, decode, element_count, encode, pack, tensor_error
from opset.model.storage.parts import ModelParts
from opset.model.storage.source import BytesSource

SMALL: Final = 1 << 16
"""Bytes of the largest tensor in a model's file of which values are read to check them."""
_VALUE_FIELDS: Final = ("string_data", *wire.TYPED_FIELDS)
_FIELD_NAMES: Final = {number: name for name, number in wire.TYPED_FIELDS.items()}
_WIDTHS: Final = {"float_data": 4, "double_data": 8}
_LONGEST: Final = 10
"""Bytes of the longest number of variable length."""
_CONTINUED: Final = bytes(range(128, 256))
"""The bytes of such numbers that are not the last one of a number."""


def data_range(model: ModelParts | None, tensor: Any) -> wire.Segment | None:
    """Return the part of a file that holds a tensor's data in the form of raw_data.

    Args:
        model: The model that the tensor belongs to; None for a tensor that is complete in itself.

    Returns:
        None if the data is in memory or has another form.

    Raises:
        ModelError: M206 if its length does not fit dims and type, M2xx if external data is unsafe.
    """
    if external.is_external(tensor):
        return external.data_range(model.folder if model else None, tensor)
    segment_of_data = raw_range(model, tensor)
    size = data_size(tensor)
    if segment_of_data and segment_of_data.size != size:
        raise tensor_error(tensor, f"it has {segment_of_data.size} bytes, and dims and type ask for {size}")
    return segment_of_data


def raw_range(model: ModelParts | None, tensor: Any) -> wire.Segment | None:
    """Return the content of raw_data if it was left in the model's file, whatever its length."""
    segment_of_data = None
    for segment in model.segments(tensor) if model and tensor.opset_payload else ():
        for item in wire.fields(segment.source, segment.start, segment.end):
            if item.number == wire.RAW_DATA and item.wire == wire.LENGTH:
                segment_of_data = wire.Segment(segment.source, item.start, item.end)
    return segment_of_data


def held_entries(model: ModelParts, tensor: Any) -> dict[str, tuple[int, int]]:
    """Return the fields that hold values of a tensor, each with the least and the greatest number of its entries.

    Of raw_data the number of bytes is returned. The data is not read, so of many numbers of variable length that were
    left in the model's file the bounds differ.

    Raises:
        ModelError: M206 if a field is damaged.
    """
    held = {name: (len(field), len(field)) for name in _VALUE_FIELDS if (field := getattr(tensor, name))}
    if tensor.HasField("raw_data"):
        held["raw_data"] = len(tensor.raw_data), len(tensor.raw_data)
    for segment in model.segments(tensor) if tensor.opset_payload else ():
        for item in wire.fields(segment.source, segment.start, segment.end):
            size = item.end - item.start
            if item.number == wire.RAW_DATA and item.wire == wire.LENGTH:
                held["raw_data"] = size, size  # the last one counts
            elif name := _FIELD_NAMES.get(item.number):
                width = _WIDTHS.get(name, 0)
                if item.wire == wire.LENGTH and width and size % width:
                    raise tensor_error(tensor, f"{name} is damaged: it has {size} bytes")
                least, most = (size // width, size // width) if width else (-(-size // _LONGEST), size)
                if item.wire != wire.LENGTH:
                    least = most = 1
                elif not width and size <= SMALL:
                    data = segment.source.read(item.start, size)
                    least = most = len(data.translate(None, _CONTINUED))
                before = held.get(name, (0, 0))
                held[name] = before[0] + least, before[1] + most
    return held


def whole_tensor(model: ModelParts, tensor: Any, limit: int) -> Any | None:
    """Return a tensor with its data that was left in the model's file, None if that has more than `limit` bytes.

    Raises:
        ModelError: M206 if a field is damaged.
    """
    segments = model.segments(tensor)
    if not segments:
        return tensor
    if sum(segment.size for segment in segments) > limit:
        return None
    try:
        return proto.TensorProto.FromString(b"".join([tensor.SerializeToString(), *(each.read() for each in segments)]))
    except DecodeError as error:
        raise tensor_error(tensor, f"its data is damaged: {error}") from error


def tensor_bytes(model: ModelParts | None, tensor: Any, limit: int | None = None) -> bytes:
    """Return a tensor's data in the form of raw_data, however it is stored.

    Args:
        model: The model that the tensor belongs to; None for a tensor that is complete in itself.
        limit: The most bytes that may be read; None for any number.

    Raises:
        ModelError: M206 if the data does not fit dims and type, consists of strings, or has more than `limit` bytes;
            M2xx if external data cannot be used.
    """
    size = data_size(tensor)
    if limit is not None and size > limit:
        raise tensor_error(tensor, f"it has {size} bytes, and no more than {limit} were to be read")
    if tensor.HasField("segment"):
        raise tensor_error(tensor, "it is a segment of a greater tensor, and the rest is not here")
    if (segment := data_range(model, tensor)) is not None:
        return segment.read()
    data: bytes = tensor.raw_data if tensor.HasField("raw_data") else _typed_data(model, tensor)
    if len(data) != size:
        raise tensor_error(tensor, f"it has {len(data)} bytes, and dims and type ask for {size}")
    return data


def tensor_values(model: ModelParts | None, tensor: Any, max_elements: int | None = None) -> list[Any]:
    """Return a tensor's elements in order: int, float, bool, complex or str (bytes if it is not valid UTF-8).

    Raises ModelError M206 if there are more than `max_elements`, or as `tensor_bytes` does.
    """
    count = element_count(tensor)
    if max_elements is not None and count > max_elements:
        raise tensor_error(tensor, f"it has {count} elements, and no more than {max_elements} were to be read")
    if tensor.data_type != STRING:
        return decode(tensor.data_type, tensor_bytes(model, tensor), count)
    if external.is_external(tensor):
        raise tensor_error(tensor, "strings cannot be external")
    if len(tensor.string_data) != count:
        raise tensor_error(tensor, f"it has {len(tensor.string_data)} strings, and its dims ask for {count}")
    return [text_of(value) for value in tensor.string_data]


def make_tensor(name: str, data_type: int, dims: Iterable[int], values: Sequence[Any]) -> Any:
    """Return a TensorProto of these values, in raw_data, or in string_data for STRING.

    Args:
        values: The elements in row-major order, str or bytes for STRING; a float is rounded to the nearest that the
            type has, ties to even.

    Raises:
        ModelError: M206 if the number of values does not fit the dims, or a value is beyond the type's range.
    """
    tensor = proto.TensorProto(name=name, data_type=data_type, dims=dims)
    count = element_count(tensor)
    if count != len(values):
        raise tensor_error(tensor, f"there are {len(values)} values, and dims ask for {count}")
    if data_type == STRING:
        tensor.string_data.extend(value.encode() if isinstance(value, str) else value for value in values)
        return tensor
    data_size(tensor)
    try:
        tensor.raw_data = encode(data_type, values)
    except (struct.error, OverflowError, ValueError, TypeError) as error:
        raise tensor_error(
            tensor, f"a value does not fit {ELEMENTS[data_type].name}: {_misfit(data_type, values)}"
        ) from error
    return tensor


def _misfit(data_type: int, values: Iterable[Any]) -> str:
    """Return the words about the first value that an element type does not have."""
    for value in values:
        try:
            encode(data_type, [value])
        except (struct.error, OverflowError, ValueError, TypeError):
            is_fraction = isinstance(value, float) and "int" in ELEMENTS[data_type].name
            reason = (
                "no whole number" if is_fraction else "out of range" if isinstance(value, int | float) else "no number"
            )
            return f"{safe_text(repr(value)[:40])} is {reason}"
    return "it takes too much memory"


def text_of(value: bytes) -> str | bytes:
    """Return a string of a model as text, or its bytes if they are not valid UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _typed_data(model: ModelParts | None, tensor: Any) -> bytes:
    """Return the data in the field of the tensor's type, in the form of raw_data."""
    element = ELEMENTS[tensor.data_type]
    left = [segment.read() for segment in model.segments(tensor)] if model else []
    encoded = b"".join([tensor.SerializeToString(), *left])
    try:
        if element.field in ("float_data", "double_data"):  # bit by bit: a Python float changes a signalling NaN
            number = wire.TYPED_FIELDS[element.field]
            wires = (wire.LENGTH, wire.FIXED32 if element.field == "float_data" else wire.FIXED64)
            items = wire.fields(BytesSource(encoded), 0, len(encoded))
            return b"".join(encoded[i.start : i.end] for i in items if i.number == number and i.wire in wires)
        numbers = getattr(proto.TensorProto.FromString(encoded), element.field)
    except (wire.WireError, DecodeError) as error:
        raise tensor_error(tensor, f"{element.field} is damaged: {error}") from error
    if tensor.data_type == BOOL:
        return bytes(map(bool, numbers))
    if element.bits == 6:
        return pack(numbers, 6)
    width = max(element.bits, 8)  # of the smallest types an entry holds a byte of raw_data
    lowest, highest = -(1 << width - 1), (1 << width) - 1
    if numbers and not (lowest <= min(numbers) and max(numbers) <= highest):
        raise tensor_error(tensor, f"{element.field} holds a number of more than {width} bits")
    return b"".join((number & highest).to_bytes(width // 8, "little") for number in numbers)
