"""Tensors as numpy arrays, and arrays as tensors; sequences, optionals and maps of them as Python's.

Types that numpy lacks are taken from ml_dtypes; a string tensor is an array of objects, each a str, or bytes if it is
not valid UTF-8. A sequence is a list, an optional its value or None, a map a dict.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
from google.protobuf.message import DecodeError, EncodeError, Message
from numpy.typing import NDArray

from opset.errors import Finding, ModelError
from opset.model import proto as pb
from opset.model.elements import ELEMENTS, NUMBERS, STRING
from opset.model.storage.container import Model
from opset.model.storage.encoding import element_bits, element_count, tensor_error
from opset.model.storage.tensor import tensor_bytes, tensor_values, text_of
from opset.model.storage.wire import too_large_error

Array = NDArray[Any]

DTYPES: Final[dict[int, np.dtype[Any]]] = {
    element.number: np.dtype(getattr(ml_dtypes, element.dtype, element.dtype)) for element in ELEMENTS.values()
}
"""The dtype of every TensorProto.DataType, by its number."""

# The parts of SequenceProto and OptionalProto, in the numbers of their elem_type.
_PARTS: Final = ("", "tensor_value", "sparse_tensor_value", "sequence_value", "map_value", "optional_value")
_NUMBERS: Final = {dtype: number for number, dtype in DTYPES.items()}
_NARROW_INTEGERS: Final = {each.dtype for each in ELEMENTS.values() if each.bits < 8 and "int" in each.dtype}
TEXT_SIZE: Final = 64
"""Bytes that a text takes beside its characters, about, with the reference to it."""
MESSAGES: Final = {
    "tensor": "TensorProto",
    "sparse_tensor": "SparseTensorProto",
    "seq": "SequenceProto",
    "optional": "OptionalProto",
    "map": "MapProto",
}
"""The message that holds a value, by the outermost word of its type string."""
_PIECE: Final = 1 << 20  # elements; a multiple of 8, so that each piece ends with a whole byte


def data_type_of(dtype: np.dtype[Any]) -> int | None:
    """Return the TensorProto.DataType of a dtype in any byte order, STRING for text; None if there is none."""
    if dtype.kind in "US":
        return STRING
    return _NUMBERS.get(dtype.newbyteorder("=") if dtype.byteorder == ">" else dtype)


def dtype_of_element(name: str) -> np.dtype[Any]:
    """Return the dtype of an element type by its name in type strings: "float" is float32."""
    return DTYPES[NUMBERS[name]]


def convert_numbers(values: Any, dtype: np.dtype[Any]) -> Array:
    """Return Python numbers, or other elements, as an array of a dtype.

    Raises OverflowError if the dtype does not have an integer; ml_dtypes would wrap one beyond 2 or 4 bits.
    """
    if dtype.name not in _NARROW_INTEGERS:
        return np.asarray(values, dtype)
    array, limits = np.asarray(values), ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    if np.any((array < limits.min) | (array > limits.max)):
        raise OverflowError(f"an integer is out of bounds for {dtype.name}, {limits.min} to {limits.max}")
    return array.astype(dtype)


def array_of(model: Model | None, tensor: Any, limit: int | None = None) -> Array:
    """Return a TensorProto's elements as an array of the shape of its dims, which may be read-only.

    Args:
        model: The model that the tensor belongs to; None for a tensor that is complete in itself.
        limit: The most bytes that may be read; None for any number.

    Raises:
        ModelError: M206 if the data does not fit dims and type or has more than `limit` bytes; M2xx if external data
            cannot be used.
    """
    if tensor.data_type == STRING:
        texts = tensor_values(model, tensor)  # first, as it compares the dims with the number of elements
        strings = np.empty(len(texts), dtype=object)
        strings[:] = texts
        return _reshape(tensor, strings)
    if tensor.data_type not in DTYPES:
        element_bits(tensor.data_type)  # raises with the reason
    bits, dtype = ELEMENTS[tensor.data_type].bits, DTYPES[tensor.data_type]
    data = tensor_bytes(model, tensor, limit)
    if limit is not None and (count := element_count(tensor)) > limit:
        raise tensor_error(tensor, f"it has {count} elements of a byte each, and {limit} bytes are allowed")
    if bits >= 8:
        if dtype.kind == "b":
            return _reshape(tensor, np.frombuffer(data, np.uint8).astype(bool))
        return _reshape(tensor, np.frombuffer(data, dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype))
    return _reshape(tensor, _unpack_elements(data, bits, element_count(tensor), dtype))


def _reshape(tensor: Any, flat: Array) -> Array:
    """Return elements in the shape of dims; raise ModelError M206 if numpy has no such array."""
    try:
        return flat.reshape(tuple(tensor.dims))
    except (ValueError, OverflowError) as error:
        raise tensor_error(tensor, f"numpy has no array of its dims: {error}") from error


def tensor_of(name: str, array: Array) -> Any:
    """Return a TensorProto of an array; raise ModelError M206 if no element type fits its dtype.

    The data is in raw_data, or in string_data for text.
    """
    array = np.asarray(array)
    number = data_type_of(array.dtype)
    if number is None:
        help = "convert the array: array.astype('float32')"
        raise ModelError(Finding("M206", f"no tensor holds elements of the dtype {array.dtype}", help=help))
    tensor = pb.TensorProto(name=name, data_type=number, dims=array.shape)
    if number == STRING:
        tensor.string_data.extend(each if isinstance(each, bytes) else str(each).encode() for each in array.reshape(-1))
    elif ELEMENTS[number].bits < 8:
        tensor.raw_data = _pack_elements(array, ELEMENTS[number].bits)
    else:
        dtype = DTYPES[number]
        little = array.astype(dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype, copy=False)
        tensor.raw_data = little.tobytes()
    return tensor


def decode_message(kind: str, data: bytes) -> Any:
    """Return the message of a kind, such as "TensorProto", that bytes hold; raise ModelError M103 or M106 if none."""
    try:
        return getattr(pb, kind).FromString(data)
    except DecodeError as error:
        why = f"it is no {kind}, or damaged: {error}"
        raise ModelError(Finding("M103", "the file is damaged or cut short", why=why)) from error
    except UnicodeDecodeError as error:
        raise ModelError(Finding("M106", "a name is not valid UTF-8", why=str(error))) from error


def encode_message(message: Any) -> bytes:
    """Return a message as bytes; raise ModelError M111 if it is larger than protobuf can hold."""
    try:
        data: bytes = message.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise too_large_error(message.ByteSize(), "") from error
    return data


def value_of(message: Any, limit: int | None = None, kind: str | None = None) -> Any:
    """Return the value of a TensorProto, SparseTensorProto, SequenceProto, OptionalProto or MapProto.

    Args:
        limit: The most bytes that its arrays may take together; None for any number.
        kind: The declared type string, as far as it is known. If it is of bfloat16, UINT16 is read as its bits: so the
            test data of the standard was written up to release 1.18. A tensor that is not part of another value may be
            of another element type than declared; the caller knows more about that.

    Returns:
        An array, a list, a dict, or None for an empty optional.

    Raises:
        ModelError: M206 if the arrays would take more than `limit` bytes, the message does not fit `kind`, or a map's
            keys do not fit its values; other codes as `array_of`.
    """
    if limit is not None and (needed := bytes_needed(message)) > limit:
        raise _value_error(f"it takes {needed:,} bytes, and no more than {limit:,} were to be read")
    return _value_in(message, kind or "")


def _value_error(why: str) -> ModelError:
    """Return the error M206 for a message that holds another value than required."""
    help = "write the value again: its type and its size have to be those that are declared"
    return ModelError(Finding("M206", "a message does not hold the value that is required", why=why, help=help))


def bytes_needed(message: Any) -> int:
    """Return the number of bytes that the arrays of a message take together, a sparse tensor with its zeros."""
    needed, pending = 0, [message]
    while pending:
        part_message = pending.pop()
        name = part_message.DESCRIPTOR.name
        if name == "TensorProto" and part_message.data_type == STRING:
            needed += sum(map(len, part_message.string_data)) + TEXT_SIZE * len(part_message.string_data)
        elif name in ("TensorProto", "SparseTensorProto"):
            number = part_message.data_type if name == "TensorProto" else part_message.values.data_type
            size = TEXT_SIZE if number == STRING else DTYPES[number].itemsize if number in DTYPES else 0
            needed += size * element_count(pb.TensorProto(dims=part_message.dims))
        else:
            for field, part in part_message.ListFields():
                if field.message_type is not None:
                    pending.extend([part] if isinstance(part, Message) else part)
    return needed


def _value_in(message: Any, kind: str, part: bool = False) -> Any:
    """Return the value of a message; protobuf nests no more than 100 in one another, so that recursion is safe."""
    wrapper, _, inner = kind.partition("(")
    inner = "" if inner == "?)" else inner[:-1]
    name = message.DESCRIPTOR.name
    if wrapper and MESSAGES.get(wrapper) != name:
        raise _value_error(f"it holds a {name}, and {kind} is declared")
    match name:
        case "TensorProto":
            array = array_of(None, message)
            if inner == "bfloat16" and array.dtype == np.uint16:
                return array.view(ml_dtypes.bfloat16)
            if part and inner and data_type_of(array.dtype) != NUMBERS.get(inner):
                raise _value_error(f"a tensor in it is of {array.dtype}, and {kind} is declared")
            return array
        case "SparseTensorProto":
            return dense_of(None, message)
        case "SequenceProto":
            held = _field_of_parts(message, kind, inner)
            return [_value_in(each, inner, True) for each in getattr(message, f"{held}s")] if held else []
        case "OptionalProto":
            held = _field_of_parts(message, kind, inner)
            return _value_in(getattr(message, held), inner, True) if held and message.HasField(held) else None
    return _map_in(message, inner)


def _field_of_parts(message: Any, kind: str, inner: str) -> str:
    """Return the field that holds the parts of a sequence or optional, "" if it is empty and of no stated kind."""
    if not 0 <= message.elem_type < len(_PARTS):
        raise _value_error(f"{message.elem_type} is no kind of its parts")
    present = [field.name.removesuffix("s") for field, _ in message.ListFields() if field.message_type is not None]
    wanted = _PARTS[_elem_type(inner)] if inner else _PARTS[message.elem_type] or "".join(present[:1])
    wrong = [each for each in present if each != wanted]
    if wrong:
        raise _value_error(f"it holds {wrong[0]}, and {kind or wanted} is {'declared' if kind else 'what it says'}")
    return wanted


def _map_in(message: Any, inner: str) -> dict[Any, Any]:
    """Return the map of a MapProto; `inner` has the types of keys and values: "int64, float"."""
    key, _, element = inner.partition(", ")
    text = NUMBERS.get(key, message.key_type) == STRING
    if message.keys if text else message.string_keys:
        raise _value_error(f"it has keys that are {'no ' if text else ''}text, and map({inner or '?'}) is declared")
    keys = [text_of(each) for each in message.string_keys] if text else [*message.keys]
    scalar = bool(element) and "(" not in element
    values = _value_in(message.values, f"seq({f'tensor({element})' if scalar else element or '?'})")
    if len(keys) != len(values) or len({*keys}) != len(keys):
        raise _value_error(f"it has {len(values)} values, and {len({*keys})} different keys of {len(keys)}")
    if scalar and any(each.size != 1 for each in values):
        raise _value_error(f"it holds a tensor that is no single value, and map({inner}) is declared")
    scalars = [each.reshape(-1)[0] if scalar else each[()] if isinstance(each, np.ndarray) else each for each in values]
    return dict(zip(keys, scalars, strict=True))


def message_of(name: str, value: Any, kind: str) -> Any:
    """Return the TensorProto, SequenceProto, OptionalProto or MapProto of a value of the type string `kind`.

    The unknown part of an empty value's type, "seq(?)", is left open. Raises ModelError M206 if no message holds it.
    """
    wrapper, _, inner = kind.partition("(")
    inner = inner[:-1]
    if wrapper == "optional":
        optional = pb.OptionalProto(name=name)
        if value is not None:
            part = _PARTS[_elem_type(inner)]
            optional.elem_type = _elem_type(inner)
            getattr(optional, part).CopyFrom(message_of("", value, inner))
        return optional
    if wrapper == "seq":
        sequence = pb.SequenceProto(name=name, elem_type=_elem_type(inner))
        if value:
            getattr(sequence, f"{_PARTS[_elem_type(inner)]}s").extend(message_of("", each, inner) for each in value)
        return sequence
    if wrapper == "map":
        key, _, element = inner.partition(", ")
        mapping = pb.MapProto(name=name)
        if key not in NUMBERS:
            raise tensor_error(mapping, "the types of its keys and values are not declared")
        mapping.key_type = NUMBERS[key]
        if key == "string":
            mapping.string_keys.extend(each if isinstance(each, bytes) else each.encode() for each in value)
        else:
            try:
                mapping.keys.extend(map(int, value))
            except ValueError as error:
                raise tensor_error(mapping, f"a key is no integer of 64 bits: {error}") from error
        element = element if "(" in element else f"tensor({element})"
        mapping.values.CopyFrom(message_of("", [*value.values()], f"seq({element})"))
        return mapping
    return tensor_of(name, value if isinstance(value, np.ndarray) else convert_numbers(value, dtype_of_element(inner)))


def _elem_type(kind: str) -> int:
    """Return the elem_type of a sequence or optional by the type string of its parts."""
    wrapper = {"seq": "sequence"}.get(word := kind.partition("(")[0], word)
    return _PARTS.index(f"{wrapper}_value") if "(" in kind else 0


def dense_of(model: Model | None, sparse: Any, limit: int | None = None) -> Array:
    """Return a SparseTensorProto as a dense array: its values at their indices, zeros elsewhere.

    Indices are linear, or one row for each value. Raises ModelError M206 if they do not fit values and dims, or the
    dense tensor has more than `limit` bytes.
    """
    values = array_of(model, sparse.values, limit)
    indices = array_of(model, sparse.indices, limit)
    whole = pb.TensorProto(name=sparse.values.name, data_type=sparse.values.data_type, dims=sparse.dims)
    count, dims = element_count(whole), tuple(sparse.dims)
    if limit is not None and count * values.dtype.itemsize > limit:
        raise tensor_error(whole, f"it has {count} elements, and no more than {limit} bytes were to be read")
    if values.ndim != 1 or indices.dtype != np.int64 or indices.shape[:1] != values.shape or indices.ndim > 2:
        raise tensor_error(sparse.values, "its indices are not one int64, or one row of them, for each value")
    if indices.ndim == 2:
        if indices.shape[1] != len(dims) or np.any(indices < 0) or np.any(indices >= np.array(dims)):
            raise tensor_error(sparse.values, "its indices lie outside its dims")
        indices = np.ravel_multi_index(tuple(indices.T), dims) if len(indices) else indices[:, 0]
    elif np.any(indices < 0) or np.any(indices >= count):
        raise tensor_error(sparse.values, "its indices lie outside its dims")
    dense = np.full(count, "", object) if values.dtype == object else np.zeros(count, values.dtype)
    dense[indices] = values
    return _reshape(whole, dense)


def _unpack_elements(data: bytes, bits: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Return elements of 2, 4 or 6 bits that form one stream, the first in the lowest bits of the first byte."""
    packed = np.frombuffer(data, np.uint8)
    codes: Array = np.empty(count, np.uint8)
    # Piece by piece: a bit by itself takes a byte.
    for start in range(0, count, _PIECE):
        part = codes[start : start + _PIECE]
        stream = np.unpackbits(packed[start * bits // 8 : (start + _PIECE) * bits // 8], bitorder="little")
        part[:] = np.packbits(stream[: part.size * bits].reshape(-1, bits), axis=1, bitorder="little")[:, 0]
    return codes.astype(dtype) if "int" in dtype.name else codes.view(dtype)  # the high bit becomes the sign


def _pack_elements(array: Array, bits: int) -> bytes:
    """Return elements of 2, 4 or 6 bits as one stream: the inverse of `_unpack_elements`."""
    flat = np.ascontiguousarray(array).reshape(-1)
    codes = flat.view(np.uint8)  # the lowest bits are the element, whatever the others are
    parts = []
    for start in range(0, codes.size, _PIECE):
        part = codes[start : start + _PIECE].reshape(-1, 1)
        stream = np.unpackbits(part, axis=1, count=bits, bitorder="little")
        parts.append(np.packbits(stream.reshape(-1), bitorder="little").tobytes())
    return b"".join(parts)
