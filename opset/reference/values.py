"""Values as kernels take them: their types, and whether they fit a model's declarations of its inputs.

A tensor is a numpy array, a sequence a list, an optional its value or None, a map a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from numbers import Number
from typing import Any

import numpy as np

from opset.model.arrays import convert_numbers, data_type_of, dtype_of_element
from opset.model.elements import element_name
from opset.reference.value_info import ValueInfo

SHOWN = 100
"""Characters of an element that a message repeats."""


def type_of(value: Any) -> str:
    """Return the type string of a value; "seq(?)" and "optional(?)" for an empty one, which has no type of its own."""
    wrappers = ""
    while isinstance(value, list):
        if not value:
            return f"{wrappers}seq(?){')' * wrappers.count('(')}"
        wrappers, value = f"{wrappers}seq(", value[0]
    if isinstance(value, np.ndarray):
        number = data_type_of(value.dtype)
        kind = f"tensor({element_name(number) if number else value.dtype})"
    elif isinstance(value, dict):
        kind = "map(?)"
    else:
        kind = "optional(?)" if value is None else type(value).__name__
    return f"{wrappers}{kind}{')' * wrappers.count('(')}"


def outline(value: Any) -> str:
    """Return a value's type and shape in a few words: "tensor(float)[2, 3]"."""
    if isinstance(value, np.ndarray):
        return f"{type_of(value)}{list(value.shape)}"
    if isinstance(value, list):
        return f"{type_of(value)} of {len(value)}"
    return "nothing" if value is None else type_of(value)


def fit_value(value: Any, declared: ValueInfo) -> tuple[Any, str]:
    """Return a value in the form that kernels take, and why it does not fit its declaration ("" if it does).

    Lists are checked by their first element, maps by their class alone.
    """
    kind = declared.type.removeprefix("sparse_") if declared.type is not None else None  # its values are dense
    if kind is None or not kind.startswith("tensor("):
        value = _to_native(value)
        if kind is not None and not _can_be(value, kind):
            return value, f"it is {type_of(value)}, and the model declares {kind}"
        return value, ""
    dtype = dtype_of_element(kind[7:-1])
    try:
        array = value if isinstance(value, np.ndarray | np.generic) else _array_of(value, dtype)
        array = _to_native(np.asarray(array))
        if array.dtype == dtype and dtype.kind == "O":
            _require_kind(array, (str, bytes), "text")
    except (ValueError, TypeError, OverflowError) as error:
        return value, f"it is no {kind}: {error}"
    if array.dtype != dtype:
        return array, f"it is {type_of(array)}, and the model declares {kind}"
    if declared.shape is not None:
        sizes = zip(array.shape, declared.shape, strict=False)
        if array.ndim != len(declared.shape) or any(isinstance(dim, int) and dim != size for size, dim in sizes):
            return array, f"its shape is {list(array.shape)}, and the model declares {declared}"
    return array, ""


def _array_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python value, or lists of such, as an array of a dtype.

    Raises:
        ValueError: A value is of another kind, as text is for numbers, or the dtype does not have the number.
        OverflowError: The dtype does not have an integer.
        TypeError: A value is nothing that an array can hold.
    """
    if dtype.kind == "O":
        return np.asarray(value, dtype)
    given = np.asarray(value)
    if given.dtype.kind in "OUST":
        _require_kind(np.asarray(value, object), Number, "number")
    with np.errstate(over="ignore", invalid="ignore"):
        array = convert_numbers(value, dtype)
        if dtype.kind == "b" or "int" in dtype.name:
            lost = given != array.astype(given.dtype)
        else:
            lost = np.isfinite(given.astype(np.complex128)) & ~np.isfinite(array.astype(np.complex128))
    if np.any(lost):
        raise ValueError(f"{given[lost].reshape(-1)[0]} is no {dtype.name}")
    return array


def _require_kind(array: Any, kind: Any, noun: str) -> None:
    """Raise ValueError, with the noun in its message, if an element of an array of objects is of another class."""
    for each in array.reshape(-1):
        if not isinstance(each, kind):
            raise ValueError(f"{repr(each)[:SHOWN]} is no {noun}")


def _can_be(value: Any, kind: str) -> bool:
    """Whether a value can be of a type; only the first element of a list and the class of a map are checked."""
    while True:
        if kind.startswith("optional("):
            if value is None:
                return True
            kind = kind[9:-1]
        elif kind.startswith("seq("):
            if not isinstance(value, list):
                return False
            if not value:
                return True
            value, kind = value[0], kind[4:-1]
        elif kind.startswith("map("):
            return isinstance(value, dict)
        else:
            return isinstance(value, np.ndarray) and type_of(value) == kind


def _to_native(value: Any) -> Any:
    """Return arrays in the machine's byte order and text as objects, in lists too."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "UST":
            return value.astype(object)
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if isinstance(value, tuple | list):
        return [_to_native(entry) for entry in value]
    return value


def ids_within(values: Iterable[Any]) -> set[int]:
    """Return the ids of values, and of the values in those that are lists."""
    found = [*values]
    for value in found:
        if isinstance(value, list):
            found += value
    return set(map(id, found))


def copy_shared(value: Any, feeds: Collection[int], hold: Callable[[int], None]) -> Any:
    """Return a result that the caller may change: a copy of a view, a constant or an input.

    Args:
        value: the result; arrays in lists are copied as well.
        feeds: ids of the inputs, and of the arrays in those that are lists.
        hold: function that is called with the bytes of each copy before it is made.
    """
    if isinstance(value, list):
        return [copy_shared(entry, feeds, hold) for entry in value]
    if isinstance(value, np.ndarray) and (not value.flags.owndata or not value.flags.writeable or id(value) in feeds):
        hold(value.nbytes)
        return value.copy()
    return value
