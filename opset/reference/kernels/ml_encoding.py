"""Kernels that encode, look up and rearrange categories, labels, maps and features."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

ML = "ai.onnx.ml"


@kernel("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor_1(x: Array, y: Array, *, context: KernelContext) -> Array:
    """Return the entries of the last dimension at the indices `y`."""
    columns = x.shape[-1] if x.ndim else 0
    indices = y.ravel()
    if not indices.size:
        raise Violation("C1", "there are no indices")
    if indices.min() < 0 or indices.max() >= columns:
        raise Violation("C2", f"indices {indices.min()} to {indices.max()}, and {columns} entries")
    context.reserve(math.prod(x.shape[:-1]) * indices.size, x.dtype)
    entries = x[..., indices]
    return entries.reshape(1, -1) if x.ndim == 1 else entries


@kernel("Binarizer", domain=ML)
def binarizer_1(x: Array, *, threshold: float) -> Array:
    """Return 1 for elements that exceed the threshold, else 0."""
    return (x > threshold).astype(x.dtype)


@kernel("CastMap", domain=ML)
def cast_map_1(x: Mapping[int, Any], *, cast_to: str, map_form: str, max_map: int, context: KernelContext) -> Array:
    """Return the values of a map in the order of their keys, or at the indices that are their keys."""
    convert, dtype = _CASTS[cast_to]
    keys = sorted(x)
    if map_form == "SPARSE" and keys and not 0 <= keys[0] <= keys[-1] < max_map:
        raise Violation("C2", f"keys {keys[0]} to {keys[-1]}, max_map {max_map}")
    indices = range(len(keys)) if map_form == "DENSE" else keys
    length = len(keys) if map_form == "DENSE" else max_map
    context.reserve(length, np.float64)
    result: Array = np.full(length, "" if dtype is object else 0, dtype)
    for index, key in zip(indices, keys, strict=True):
        result[index] = convert(_to_scalar(x[key]))
    return result.reshape(1, -1)


def _to_scalar(value: Any) -> Any:
    """Return an array of one element as a number of Python, other values unchanged."""
    return value.item() if isinstance(value, np.generic | np.ndarray) else value


def _format_value(value: Any) -> str:
    """Return a number as text in the shortest form that reads back as the same float."""
    if isinstance(value, float):
        shortest = np.format_float_positional(np.float32(value), trim="-")
        return shortest if abs(value) < 1e16 else np.format_float_scientific(np.float32(value), trim="-")
    return str(value)


_CASTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "TO_FLOAT": (float, np.float32),
    "TO_STRING": (_format_value, object),
    "TO_INT64": (int, np.int64),
}


@kernel("CategoryMapper", domain=ML)
def category_mapper_1(
    x: Array,
    *,
    cats_int64s: tuple[int, ...] | None,
    cats_strings: tuple[str, ...] | None,
    default_int64: int,
    default_string: str,
) -> Array:
    """Return integers for strings or strings for integers, by two lists of equal length."""
    integers, strings = cats_int64s or (), cats_strings or ()
    if x.dtype.kind == "O":
        return _look_up(x, dict(zip(strings, integers, strict=True)), default_int64, np.int64)
    return _look_up(x, dict(zip(integers, strings, strict=True)), default_string, object)


def _look_up(x: Array, table: Mapping[Any, Any], default: Any, dtype: Any) -> Array:
    """Return the value of each element in a table, or a default for elements that are not in it."""
    result: Array = np.empty(x.size, dtype)
    for index, element in enumerate(x.ravel().tolist()):
        result[index] = table.get(element, default)
    return result.reshape(x.shape)


@kernel("DictVectorizer", domain=ML)
def dict_vectorizer_1(
    x: Mapping[Any, Any], *, int64_vocabulary: tuple[int, ...] | None, string_vocabulary: tuple[str, ...] | None
) -> Array:
    """Return the values of a map in the order of a vocabulary, zero for keys that the map lacks."""
    vocabulary: Sequence[Any] = int64_vocabulary or string_vocabulary or ()
    listed = set(vocabulary)
    unknown = [key for key in x if key not in listed]
    if unknown:
        raise Violation("C2", f"the key {unknown[0]!r} is not in the vocabulary")
    values = [np.asarray(value) for value in x.values()]
    text = any(isinstance(value, str) for value in x.values())
    dtype: Any = np.float32
    if text:
        dtype = object
    elif values:
        dtype = values[0].dtype
    result: Array = np.empty(len(vocabulary), dtype)
    result[:] = [_to_scalar(x.get(key, "" if text else 0)) for key in vocabulary]
    return result.reshape(1, -1)


@kernel("FeatureVectorizer", domain=ML)
def feature_vectorizer_1(*inputs: Array, inputdimensions: tuple[int, ...] | None, context: KernelContext) -> Array:
    """Return all inputs as floats, joined along the second dimension."""
    if inputdimensions is not None and len(inputdimensions) != len(inputs):
        raise Violation("C1", f"inputdimensions {list(inputdimensions)}, {len(inputs)} inputs")
    parts, total = [], 0
    for number, x in enumerate(inputs):
        rows = x.reshape(1, -1) if x.ndim < 2 else x.reshape(len(x), math.prod(x.shape[1:]))
        total += len(rows) * (rows.shape[1] if inputdimensions is None else inputdimensions[number])
        context.reserve(3 * total)
        if inputdimensions is not None:
            # Rows are truncated or filled with zeros to the stated number of features.
            rows = rows[:, : inputdimensions[number]]
            rows = np.pad(rows, ((0, 0), (0, inputdimensions[number] - rows.shape[1])))
        parts.append(rows.astype(np.float32))
    if len({len(part) for part in parts}) > 1:
        raise Violation("C2", f"inputs of {', '.join(str(len(part)) for part in parts)} rows")
    return np.concatenate(parts, axis=1)


@kernel("Imputer", domain=ML)
def imputer_1(
    x: Array,
    *,
    imputed_value_floats: tuple[float, ...] | None,
    imputed_value_int64s: tuple[int, ...] | None,
    replaced_value_float: float,
    replaced_value_int64: int,
) -> Array:
    """Return x with one value replaced, by another or by one for each entry of the last dimension."""
    floats = x.dtype.kind == "f"
    new = (imputed_value_floats if floats else imputed_value_int64s) or ()
    columns = x.shape[-1] if x.ndim else 1
    if len(new) not in (1, columns):
        raise Violation("C1", f"{len(new)} replacements for {columns} features")
    replaced = np.array(replaced_value_float if floats else replaced_value_int64)
    absent = np.isnan(x) if floats and np.isnan(replaced) else x == replaced.astype(x.dtype)
    return np.where(absent, np.array(new).astype(x.dtype), x).reshape(x.shape)  # a scalar stays one


@kernel("LabelEncoder", domain=ML)
def label_encoder_1(
    x: Array, *, classes_strings: tuple[str, ...] | None, default_int64: int, default_string: str
) -> Array:
    """Return indices in a list of strings for strings, or strings for indices."""
    classes = classes_strings or ()
    if x.dtype.kind == "O":
        return _look_up(x, {label: index for index, label in enumerate(classes)}, default_int64, np.int64)
    return _look_up(x, dict(enumerate(classes)), default_string, object)


@kernel("LabelEncoder", since=2, domain=ML)
def label_encoder_2(
    x: Array,
    *,
    default_float: float,
    default_int64: int,
    default_string: str,
    keys_floats: tuple[float, ...] | None,
    keys_int64s: tuple[int, ...] | None,
    keys_strings: tuple[str, ...] | None,
    values_floats: tuple[float, ...] | None,
    values_int64s: tuple[int, ...] | None,
    values_strings: tuple[str, ...] | None,
) -> Array:
    """Return the value of the key with the same bits, zeros of both signs being one; the first of repeated ones counts.

    The standard compares bits because of NaN; runtimes hash floats, for which zeros are equal.
    """
    keys = _only_form(keys_floats, keys_int64s, keys_strings)
    values = _only_form(values_floats, values_int64s, values_strings)
    _check_encoder(x, keys, values)
    if x.dtype.kind == "f":
        keys, x = (np.where(floats == 0, np.float32(0), floats).view(np.int32) for floats in (keys, x))
    default = {"f": default_float, "i": default_int64, "O": default_string}[values.dtype.kind]
    table = dict(reversed([*zip(keys.tolist(), values.tolist(), strict=True)]))
    return _look_up(x, table, default, values.dtype)


@kernel("LabelEncoder", since=4, domain=ML)
def label_encoder_4(
    x: Array,
    *,
    default_float: float,
    default_int64: int,
    default_string: str,
    default_tensor: Array | None,
    keys_floats: tuple[float, ...] | None,
    keys_int64s: tuple[int, ...] | None,
    keys_strings: tuple[str, ...] | None,
    keys_tensor: Array | None,
    values_floats: tuple[float, ...] | None,
    values_int64s: tuple[int, ...] | None,
    values_strings: tuple[str, ...] | None,
    values_tensor: Array | None,
) -> Array:
    """Return the value of the equal key; NaN equals NaN, and of repeated keys, the last counts."""
    keys = _only_form(keys_floats, keys_int64s, keys_strings, keys_tensor)
    values = _only_form(values_floats, values_int64s, values_strings, values_tensor)
    _check_encoder(x, keys, values)
    if values_tensor is not None:
        fallback = {"f": -0.0, "i": -1, "O": "_Unused"}[values.dtype.kind]
        if default_tensor is not None and (default_tensor.size != 1 or default_tensor.dtype != values.dtype):
            raise Violation("C4", f"default_tensor of {default_tensor.size} elements of {default_tensor.dtype}")
        default = fallback if default_tensor is None else default_tensor.ravel()[0]
    else:
        default = {"f": default_float, "i": default_int64, "O": default_string}[values.dtype.kind]
    table = dict(zip(keys.tolist(), values.tolist(), strict=True))
    result = _look_up(x, table, default, values.dtype)
    if x.dtype.kind == "f" and (absent := np.isnan(keys)).any():
        result[np.isnan(x)] = values[np.flatnonzero(absent)[-1]]
    return result


def _only_form(*forms: Any) -> Array:
    """Return the only list or tensor that is set, as a vector. Raises Violation C1 if there are none or several."""
    dtypes = (np.float32, np.int64, object, None)
    stated = [
        (form, dtype)
        for form, dtype in zip(forms, dtypes, strict=False)
        if form is not None and (form.size if isinstance(form, np.ndarray) else len(form))
    ]
    if len(stated) != 1:
        raise Violation("C1", f"{len(stated) or 'none'} of the forms of keys or values are given")
    form, dtype = stated[0]
    if dtype is None:
        return form.ravel()
    array: Array = np.empty(len(form), dtype)
    array[:] = form
    return array


def _check_encoder(x: Array, keys: Array, values: Array) -> None:
    """Raise Violation C2 if keys and values differ in number, C3 if the keys are not of the type of x."""
    if len(keys) != len(values):
        raise Violation("C2", f"{len(keys)} keys and {len(values)} values")
    if keys.dtype != x.dtype:
        raise Violation("C3", f"keys of {keys.dtype} for elements of {x.dtype}")


@kernel("OneHotEncoder", domain=ML)
def one_hot_encoder_1(
    x: Array,
    *,
    cats_int64s: tuple[int, ...] | None,
    cats_strings: tuple[str, ...] | None,
    zeros: int,
    context: KernelContext,
) -> Array:
    """Return for each element a row of zeros with a 1 at the index of its category."""
    categories: Sequence[Any] = cats_strings or cats_int64s or ()
    if (x.dtype.kind == "O") != bool(cats_strings):
        raise Violation("C1", f"{len(cats_int64s or ())} integers and {len(cats_strings or ())} strings are given")
    values = x if x.dtype.kind == "O" else x.astype(np.int64)
    context.reserve(x.size * len(categories))
    indices = _look_up(values, {category: index for index, category in enumerate(categories)}, -1, np.int64).ravel()
    if not zeros and (indices < 0).any():
        unknown = x.ravel()[np.flatnonzero(indices < 0)[0]]
        raise Violation("C2", f"the category {unknown!r} is not listed")
    result = np.zeros((x.size, len(categories)), np.float32)
    is_listed = indices >= 0
    result[is_listed, indices[is_listed]] = 1
    return result.reshape(*x.shape, len(categories))


@kernel("ZipMap", domain=ML)
def zip_map_1(
    x: Array,
    *,
    classlabels_int64s: tuple[int, ...] | None,
    classlabels_strings: tuple[str, ...] | None,
    context: KernelContext,
) -> list[dict[Any, Any]]:
    """Return for each row a map from labels to its elements."""
    labels: Sequence[Any] = classlabels_strings or classlabels_int64s or ()
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    context.reserve(128 * rows.size, np.uint8)
    return [dict(zip(labels, row, strict=True)) for row in rows]
