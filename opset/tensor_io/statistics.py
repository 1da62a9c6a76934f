"""Summaries of values: type, shape and statistics, as data for text and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from opset.errors import brief_name
from opset.reference.numerics.arrays import pieces
from opset.reference.numerics.memory import nbytes
from opset.reference.values import type_of
from opset.tensor_io import json_values

SMALL = 24
"""Elements of the largest tensor, and entries of the longest list or map, whose values are shown."""
_SMALL_BYTES = 1 << 13  # of a tensor whose values are shown: texts may be long


def summary(value: Any, kind: str | None = None) -> dict[str, Any]:
    """Return type, shape or length, statistics of numbers, and a small value itself.

    - a tensor: `shape`; `min`, `max`, `mean`, `std` of its finite numbers, `nan` and `inf` with the number of others;
    - a sequence or map: `length`; a sequence has `entries`, only the first ones if it is long.

    `kind` is the declared type, which an empty value does not show by itself.
    """
    data: dict[str, Any] = {"type": kind or type_of(value)}
    if isinstance(value, list):
        return {**data, "length": len(value), "entries": [summary(entry) for entry in value[:SMALL]]}
    if isinstance(value, dict):
        return {**data, "length": len(value), **({"value": json_values.json_of(value)} if len(value) <= SMALL else {})}
    if not isinstance(value, np.ndarray):
        return {**data, "value": json_values.json_of(value)}
    data["shape"] = [*value.shape]
    if value.size and value.dtype.kind not in "ObcSU":
        data |= _statistics(value)
    small = 0 < value.size <= SMALL and nbytes(value) <= _SMALL_BYTES
    return {**data, "value": json_values.json_of(value)} if small else data


def _statistics(array: Any) -> dict[str, Any]:
    """Return the statistics of an array; each is None if the array has no finite number."""
    integers = array.dtype.kind in "iu"
    count = 0
    total = 0.0
    squares = 0.0
    least: Any = None
    greatest: Any = None
    with np.errstate(all="ignore"):
        for part in _finite_numbers(array):
            count += part.size
            total += float(part.sum(dtype=np.float64))
            low = part.min()
            high = part.max()
            least, greatest = (low, high) if least is None else (min(least, low), max(greatest, high))
        mean = total / count if count else 0.0
        for part in _finite_numbers(array):
            distance = part - mean
            distance *= distance
            squares += float(distance.sum())
    result: dict[str, Any] = {"min": None, "max": None, "mean": None, "std": None}
    if count:
        number = int if integers or array.dtype.name.startswith(("int", "uint")) else float
        std = math.sqrt(squares / count)
        result = {
            "min": number(least),
            "max": number(greatest),
            "mean": _finite_or_none(mean),
            "std": _finite_or_none(std),
        }
    if not integers:
        nan = sum(int(np.count_nonzero(np.isnan(_widen(part)))) for (part,) in pieces(array))
        result |= {"nan": nan, "inf": array.size - count - nan}
    return result


def _finite_numbers(array: Any) -> Iterator[Any]:
    """Yield the finite numbers of an array in pieces: integers as they are, others as double."""
    for (part,) in pieces(array):
        wide = _widen(part)
        kept = wide if wide.dtype.kind in "iu" else wide[np.isfinite(wide)]
        if kept.size:
            yield kept


def _widen(part: Any) -> Any:
    """Return integers as they are, other numbers as double."""
    return part if part.dtype.kind in "iu" else part.astype(np.float64)


def _finite_or_none(number: Any) -> float | None:
    """Return a finite number, else None."""
    return float(number) if math.isfinite(number) else None


def summary_lines(name: str, data: dict[str, Any]) -> list[str]:
    """Return a summary as lines of text: the first with name, type, shape and statistics, those below with values."""
    shape = f" of {data['length']}" if "length" in data else ""
    if "shape" in data:
        shape = str(data["shape"])
    parts = [brief_name(name), f"{data['type']}{shape}"]
    parts += [f"{key} {_short_text(data[key])}" for key in ("min", "max", "mean", "std") if data.get(key) is not None]
    parts += [f"{data[key]} {key}" for key in ("nan", "inf") if data.get(key)]
    text_lines = ["  ".join(parts)]
    for number, entry in enumerate(data.get("entries", ())):
        text_lines += [f"  {line}" for line in summary_lines(f"[{number}]", entry)]
    if "value" not in data:
        return text_lines
    quoted = "string" in data["type"]
    if data["value"] is None or math.prod(data.get("shape", [0])) == 1:
        return [f"{'  '.join(parts[:2])}  {_short_text(data['value'], quoted)}"]
    return [*text_lines, *(f"  {line}" for line in _row_lines(data["value"], quoted))]


def _row_lines(value: Any, quoted: bool) -> list[str]:
    """Return nested lists with a line for each of the innermost; a map with a line for each key."""
    if isinstance(value, dict):
        return [f"{_short_text(key)}: {_short_text(entry, quoted)}" for key, entry in value.items()]
    if isinstance(value, list) and any(isinstance(entry, list) for entry in value):
        return [line for entry in value for line in _row_lines(entry, quoted)]
    return [_short_text(value, quoted)]


def _short_text(value: Any, quoted: bool = False) -> str:
    """Return a value of JSON in a few characters; if `quoted`, text is in quotes, which tells it from a number."""
    if isinstance(value, list):
        return f"[{', '.join(_short_text(entry, quoted) for entry in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None:
        return "nothing"
    return brief_name(repr(value) if quoted and isinstance(value, str) else str(value))
