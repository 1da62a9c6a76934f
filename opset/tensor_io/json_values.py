"""Values in JSON: a tensor as nested lists, of the type that the model declares.

    {"x": [[1, 2.5], ["nan", "-inf"]], "names": ["a", "b"], "empty": {"shape": [0, 3], "data": []}}

A tensor is nested lists of its elements, or its shape and a flat list of its elements, the only form of a shape without
elements. A number that JSON lacks is text: "nan", "inf", "-inf" (or "NaN", "Infinity", "-Infinity"); a complex number
is text as Python writes it, "1+2j".
A sequence is a list, a map an object, an optional its value or null. Bytes that are not UTF-8 become lone surrogates,
as with Python's error handler "surrogateescape".

All functions raise ValueError with the reason.
"""

from __future__ import annotations

import json
import math
import re
import sys
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opset.errors import ModelError, quote, safe_text
from opset.model.arrays import array_of, data_type_of, dtype_of_element
from opset.model.storage.tensor import make_tensor, text_of
from opset.model.types import nest_elements
from opset.schemas.untrusted_files import parse_json
from opset.tensor_io.limits import MAX_JSON, MAX_JSON_DEPTH, MAX_JSON_ENTRIES, MAX_JSON_RANK

_HUGE: Final = sys.float_info.max
_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
_NUMBERS: Final = {
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
}


def parse(text: bytes | str) -> Any:
    """Return the parsed JSON of values.

    Raises ValueError if it is empty, longer than MAX_JSON bytes, or not valid JSON.
    """
    if len(text) > MAX_JSON:
        raise ValueError(f"it has {len(text):,} bytes, and of JSON no more than {MAX_JSON:,} are read: use .npz or .pb")
    if not text.strip():
        raise ValueError("it is empty")
    return parse_json(text)


def value_of(data: Any, kind: str) -> Any:
    """Return the value that parsed JSON means, of the type `kind`, such as "seq(tensor(float))".

    Raises ValueError if the value does not fit the type.
    """
    if kind.count("(") > MAX_JSON_DEPTH:
        raise ValueError("its type is nested too deeply")
    _check_entries(data, kind)
    return _typed_value(data, kind)


def _check_entries(data: Any, kind: str) -> None:
    """Raise ValueError if sequences and maps within each other have more than MAX_JSON_ENTRIES entries at one level."""
    level = [data]
    while kind.startswith(("seq(", "optional(", "map(")):
        word, _, kind = kind[:-1].partition("(")
        if word == "optional":
            continue
        kind = kind.partition(", ")[2] if word == "map" else kind
        parts = [entry for entry in level if isinstance(entry, list | dict)]
        if "(" in kind and sum(map(len, parts)) > MAX_JSON_ENTRIES:
            raise ValueError(f"it has more than {MAX_JSON_ENTRIES:,} entries: use .pb")
        level = [entry for part in parts for entry in (part.values() if isinstance(part, dict) else part)]


def _typed_value(data: Any, kind: str) -> Any:
    """Return the value that parsed JSON means, of the type `kind`; nesting and entries were checked before."""
    wrapper, _, inner = kind.partition("(")
    inner = inner[:-1]
    if wrapper == "optional":
        return None if data is None else _typed_value(data, inner)
    if wrapper == "seq":
        if not isinstance(data, list):
            raise ValueError(f"{_text_of_part(data)} is no list, and the type is {kind}")
        return [_typed_value(entry, inner) for entry in data]
    if wrapper == "map":
        key, _, element = inner.partition(", ")
        if not element:
            raise ValueError(f"JSON has no form for {kind}")
        if not isinstance(data, dict):
            raise ValueError(f"{_text_of_part(data)} is no object, and the type is {kind}")
        keys = _map_keys([*data], key)
        if "(" in element:
            return dict(zip(keys, [_typed_value(entry, element) for entry in data.values()], strict=True))
        # Scalars are read as the elements of one tensor, so that a list among them is refused.
        return dict(zip(keys, _typed_tensor({"shape": [len(keys)], "data": [*data.values()]}, element), strict=True))
    if wrapper != "tensor":
        raise ValueError(f"JSON has no form for {kind}")
    return _typed_tensor(data, inner)


def _map_keys(texts: list[str], key: str) -> list[Any]:
    """Return the keys of a map, which are texts in JSON, as values of the type `key`, such as "int64".

    Raises ValueError if a key is not of the type, or occurs twice.
    """
    keys: list[Any]
    if key == "string":
        keys = [text_of(text.encode("utf-8", "surrogateescape")) for text in texts]
    else:
        bounds = np.iinfo(dtype_of_element(key))
        for text in texts:
            if not _INTEGER.fullmatch(text) or not bounds.min <= int(text) <= bounds.max:
                raise ValueError(f"the key {quote(text)} is no {key}")
        keys = [*map(int, texts)]
    if len({*keys}) != len(keys):
        raise ValueError("a key occurs twice")
    return keys


def _typed_tensor(data: Any, element: str) -> NDArray[Any]:
    """Return the tensor that parsed JSON means, of the element type `element`, such as "float".

    Raises ValueError if the JSON is no tensor, or an element does not fit the type.
    """
    shape, flat = _shape_and_elements(data)
    dtype = dtype_of_element(element)
    if not _are_elements(flat, dtype):
        flat = [_typed_element(entry, dtype) for entry in flat]
    number = data_type_of(dtype)
    assert number is not None
    try:
        return array_of(None, make_tensor("", number, shape, flat))
    except ModelError as error:
        raise ValueError(error.why) from error


def _shape_and_elements(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape and the elements, in row-major order, of a tensor in parsed JSON.

    It is nested lists, or an object of `shape` and `data`. Raises ValueError if it is neither, or has too many
    dimensions.
    """
    if isinstance(data, dict):
        if data.keys() != {"shape", "data"} or not all(isinstance(entry, list) for entry in data.values()):
            raise ValueError('a tensor is nested lists, or {"shape": […], "data": […]}')
        if len(data["shape"]) > MAX_JSON_RANK or not all(
            type(entry) is int and 0 <= entry < 1 << 62 for entry in data["shape"]
        ):
            raise ValueError("its shape is no list of sizes")
        return tuple(data["shape"]), data["data"]
    shape: list[int] = []
    level = [data]
    while level and isinstance(level[0], list):
        size = len(level[0])
        if len(shape) == MAX_JSON_RANK:
            raise ValueError(f"it has more than {MAX_JSON_RANK} dimensions")
        if not all(isinstance(entry, list) and len(entry) == size for entry in level):
            raise ValueError(f"its lists in dimension {len(shape)} are not all of {size} entries")
        shape.append(size)
        level = [entry for part in level for entry in part]
    return tuple(shape), level


def _are_elements(values: list[Any], dtype: np.dtype[Any]) -> bool:
    """Whether all values have the Python type of elements of `dtype`, so that none has to be converted.

    False for text and complex numbers.
    """
    kinds = {*map(type, values)}
    match _kind_of(dtype):
        case "b":
            return kinds == {bool}
        case "i":
            return kinds == {int}
        case "f":
            return not values or (kinds <= {int, float} and max(map(abs, values)) <= _HUGE)
    return False


def _typed_element(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a value of JSON as an element of `dtype`, a Python value.

    Raises ValueError if the element would differ from the value, as 1.5 does in an integer type.
    """
    kind = "c" if dtype.kind == "c" else _kind_of(dtype)
    if kind == "O" and isinstance(value, str):
        return text_of(value.encode("utf-8", "surrogateescape"))
    if kind == "b" and isinstance(value, bool):
        return value
    if kind == "i" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind in "fc" and isinstance(value, int | float) and not isinstance(value, bool):
        if not -_HUGE <= value <= _HUGE:
            raise ValueError("a number is out of range")
        return value
    if kind == "f" and isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if kind == "c" and isinstance(value, str):
        return complex(value)
    raise ValueError(f"{_text_of_part(value)} is no element of {'text' if kind == 'O' else dtype.name}")


@lru_cache(maxsize=64)
def _kind_of(dtype: np.dtype[Any]) -> str:
    """Return "O" for text, "b" for bool, "i" for integers of any width, and "f" for every other type."""
    if dtype.kind in "Ob":
        return dtype.kind
    return "i" if dtype.name.startswith(("int", "uint")) else "f"


def _text_of_part(data: Any) -> str:
    """Return a short text for messages about a part of parsed JSON, such as "a list of 3"."""
    if isinstance(data, list | dict):
        return f"a{'n object' if isinstance(data, dict) else ' list'} of {len(data)}"
    return safe_text(json.dumps(data), 60)


def json_of(value: Any) -> Any:
    """Return a value as lists, dicts, texts and numbers that `json` can write; `value_of` is the inverse."""
    if isinstance(value, list):
        return [json_of(entry) for entry in value]
    if isinstance(value, dict):
        return {str(_json_of_element(key)): json_of(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        flat = [_json_of_element(entry) for entry in value.ravel().tolist()]
        if value.size == 0 and value.ndim > 1:
            return {"shape": [*value.shape], "data": flat}
        return nest_elements(flat, value.shape)
    return _json_of_element(value)


def _json_of_element(value: Any) -> Any:
    """Return an element of a tensor as a text, a number or a bool; NaN, infinite and complex numbers become text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, complex | np.complexfloating):
        return str(complex(value)).strip("()")
    if isinstance(value, np.bool_):
        return bool(value)
    dtype = np.dtype(type(value))
    if _kind_of(dtype) == "i":
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else str(number)
