"""Comparison of two values of a model, within tolerances that fit their element type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from opset.errors import brief_name
from opset.reference.numerics.arrays import pieces
from opset.reference.values import outline, type_of

# Relative tolerance by element type, for sums in another order; also absolute, for results around 1.
# A narrow float is right when it is one of the two nearest: at most two units of its last digit.
TOLERANCES = {
    "float64": 1e-9, "float32": 1e-4, "complex64": 1e-4, "complex128": 1e-9, "float16": 2**-9, "bfloat16": 2**-6,
    "float8_e4m3fn": 2**-2, "float8_e4m3fnuz": 2**-2, "float8_e5m2": 2**-1, "float8_e5m2fnuz": 2**-1,
}  # fmt: skip
ABSOLUTE = 1e-3  # of the relative one


@dataclass(frozen=True, slots=True)
class Difference:
    """A comparison of two values: their place in a list or map, and why they differ ("" within tolerance).

    `absolute` and `relative` are the greatest differences of numbers, 0 if there are none.
    """

    where: str
    why: str
    absolute: float = 0.0
    relative: float = 0.0


def differences(
    expected: Any,
    actual: Any,
    rtol: float | None = None,
    atol: float | None = None,
    *,
    where: str = "",
    absolute: float = ABSOLUTE,
) -> Iterator[Difference]:
    """Yield a Difference for each pair of tensors, or other leaves, of two values; for equal ones, too.

    NaN equals NaN of either sign.

    Args:
        expected: the value to compare with; lists and maps are compared entry by entry.
        actual: the value that is judged.
        rtol: relative tolerance, by default the element type's.
        atol: absolute tolerance, by default `absolute` times the relative one.
        where: path of the value, with which the paths of its entries begin.
        absolute: share of the relative tolerance that is allowed around 0.
    """
    pending = [(where, expected, actual)]
    while pending:
        where, expected, actual = pending.pop()
        if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            pairs = enumerate(zip(expected, actual, strict=True))
            pending += reversed([(f"{where}[{number}]", *pair) for number, pair in pairs])
        elif isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
            pending += reversed([(f"{where}[{key!r}]", value, actual[key]) for key, value in expected.items()])
        elif isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
            yield _compare_arrays(where, expected, actual, rtol, atol, absolute)
        elif isinstance(expected, list | dict) and isinstance(actual, list | dict):
            yield Difference(where, f"it has {len(actual)} entries, or other keys, and {len(expected)} are expected")
        elif isinstance(expected, int | float | np.generic) and isinstance(actual, int | float | np.generic):
            want = np.asarray(expected)
            typed = isinstance(expected, np.generic) and isinstance(actual, np.generic)
            have = np.asarray(actual, None if typed else want.dtype)  # Python's numbers have no type of the standard
            yield _compare_arrays(where, want, have, rtol, atol, absolute)
        else:
            why = ""
            if type(expected) is not type(actual):
                why = f"it is {type_of(actual)}, and {type_of(expected)} is expected"
            elif expected != actual:  # such as texts of a map
                why = f"{brief_name(str(actual))} instead of {brief_name(str(expected))}"
            yield Difference(where, why)


def tolerance_of(dtype: np.dtype[Any]) -> float:
    """Return the relative tolerance of an element type, 0 if results are exact."""
    return TOLERANCES.get(dtype.name, 0.0)


def ulps(expected: Any, actual: Any) -> tuple[str, float]:
    """Return why two values cannot be compared, else "", and their greatest distance in units of the last digit.

    The distance of values that are no floats is 0 if they are equal, else infinite.
    """
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        wrong = next((leaf for leaf in differences(expected, actual, 0.0, 0.0) if leaf.why), None)
        return ("", 0.0) if wrong is None else (f"{wrong.where} {wrong.why}".strip(), np.inf)
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return f"it is {outline(actual)}, and {outline(expected)} is expected", np.inf
    if not expected.size:
        return "", 0.0
    if tolerance_of(expected.dtype) == 0 or expected.dtype.kind == "c":
        difference = _compare_arrays("", expected, actual, 0.0 if expected.dtype.kind != "c" else None, None, ABSOLUTE)
        return difference.why, np.inf if difference.why else 0.0
    with np.errstate(all="ignore"):
        want, have = expected.astype(np.float64), actual.astype(np.float64)
        if not np.array_equal(np.isnan(want), np.isnan(have)):
            return "one is NaN where the other is a number", np.inf
        finite = np.isfinite(want) & np.isfinite(have)
        if not np.array_equal(want[~finite], have[~finite], equal_nan=True):
            return "one is infinite where the other is not", np.inf
        distance, spacing = np.abs(want - have)[finite], np.abs(np.spacing(expected)).astype(np.float64)[finite]
        steps = np.where(distance == 0, 0, distance / spacing)  # behind the greatest number there may be NaN
        return "", float(np.nan_to_num(steps, nan=np.inf).max(initial=0.0))


def _compare_arrays(
    where: str, expected: Any, actual: Any, rtol: float | None, atol: float | None, absolute: float
) -> Difference:
    """Return the difference of two arrays, whose types and shapes must be the same."""
    if type_of(expected) != type_of(actual):
        return Difference(where, f"it is {type_of(actual)}, and {type_of(expected)} is expected")
    if expected.shape != actual.shape:
        return Difference(where, f"its shape is {list(actual.shape)}, and {list(expected.shape)} is expected")
    rtol = tolerance_of(expected.dtype) if rtol is None else rtol
    atol = rtol * absolute if atol is None else atol
    greatest = furthest = 0.0
    count = done = 0
    first: int | None = None
    for want, have in pieces(expected, actual):
        if expected.dtype.kind in "OUSb":
            wrong = np.asarray(want != have)
        else:
            wrong, distance, relative = _compare_numbers(want, have, rtol, atol)
            greatest, furthest = max(greatest, distance), max(furthest, relative)
        if wrong_count := int(np.count_nonzero(wrong)):
            count += wrong_count
            first = done + int(wrong.argmax()) if first is None else first
        done += wrong.size
    if first is None:
        return Difference(where, "", greatest, furthest)
    index = tuple(map(int, np.unravel_index(first, expected.shape)))
    at = f" at {list(index)}" if index else ""
    many = f"{count} of {expected.size} elements differ; the first{at}: " if expected.size > 1 else ""
    return Difference(where, f"{many}{actual[index]!s} instead of {expected[index]!s}", greatest, furthest)


def _compare_numbers(expected: Any, actual: Any, rtol: float, atol: float) -> tuple[Any, float, float]:
    """Return a mask of the numbers that differ, and the greatest absolute and relative difference.

    A difference from 0 is infinite relative to it.
    """
    want, have = _widen(expected), _widen(actual)
    with np.errstate(all="ignore"):
        distance = np.abs(want - have)
        same = (want == have) | (np.isnan(want) & np.isnan(have))
        # Every number is within a fraction of infinity.
        wrong = ~(same | (np.isfinite(want) & (distance <= atol + rtol * np.abs(want))))
        distance = np.where(same, 0, distance)
        relative = distance / np.abs(want)
    return wrong, *(float(np.nanmax(errors, initial=0.0)) for errors in (distance, np.where(same, 0, relative)))


def _widen(array: Any) -> Any:
    """Return numbers in a type that their difference does not leave: long double for integers of 64 bits."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.longdouble if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else np.float64)
