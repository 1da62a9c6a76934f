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
    """Return type, shape or length, statistics of numbers, and the value itself where it is small.

    - a tensor: `shape`; `min`, `max`, `mean` and `std` of its finite numbers, `nan` and `inf` for how many are not;
    - a sequence or map: `length`, and of a sequence the `entries`, those at the start alone where it is long.

    `kind` is the declared type, which an empty value does not show by itself.
    """
    data: dict[str, Any] = {"type": kind or type_of(value)}
    if isinstance(value, list):
        return {**data, "length": len(value), "entries": [summary(each) for each in value[:SMALL]]}
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
    integers = array.dtype.kind in "iu"
    count = 0
    total = 0.0
    squares = 0.0
    least: Any = None
    greatest: Any = None
    with np.errstate(all="ignore"):
        for part in _finite(array):
            count += part.size
            total += float(part.sum(dtype=np.float64))
            low = part.min()
            high = part.max()
            least, greatest = (low, high) if least is None else (min(least, low), max(greatest, high))
        mean = total / count if count else 0.0
        for part in _finite(array):
            distance = part - mean
            distance *= distance
            squares += float(distance.sum())
    found: dict[str, Any] = {"min": None, "max": None, "mean": None, "std": None}
    if count:
        number = int if integers or array.dtype.name.startswith(("int", "uint")) else float
        std = math.sqrt(squares / count)
        found = {"min": number(least), "max": number(greatest), "mean": _known(mean), "std": _known(std)}
    if not integers:
        nan = sum(int(np.count_nonzero(np.isnan(_wide(part)))) for (part,) in pieces(array))
        found |= {"nan": nan, "inf": array.size - count - nan}
    return found


def _finite(array: Any) -> Iterator[Any]:
    """Yield the finite numbers of an array in pieces: integers as they are, others as double."""
    for (part,) in pieces(array):
        wide = _wide(part)
        kept = wide if wide.dtype.kind in "iu" else wide[np.isfinite(wide)]
        if kept.size:
            yield kept


def _wide(part: Any) -> Any:
    return part if part.dtype.kind in "iu" else part.astype(np.float64)


def _known(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def lines(name: str, data: dict[str, Any]) -> list[str]:
    """Return a summary as lines of text: the first with name, type, shape and statistics, those below with values."""
    shape = str(data["shape"]) if "shape" in data else f" of {data['length']}" if "length" in data else ""
    parts = [brief_name(name), f"{data['type']}{shape}"]
    parts += [f"{key} {_word(data[key])}" for key in ("min", "max", "mean", "std") if data.get(key) is not None]
    parts += [f"{data[key]} {key}" for key in ("nan", "inf") if data.get(key)]
    found = ["  ".join(parts)]
    for number, entry in enumerate(data.get("entries", ())):
        found += [f"  {line}" for line in lines(f"[{number}]", entry)]
    if "value" not in data:
        return found
    quoted = "string" in data["type"]
    if data["value"] is None or math.prod(data.get("shape", [0])) == 1:
        return [f"{'  '.join(parts[:2])}  {_word(data['value'], quoted)}"]
    return [*found, *(f"  {line}" for line in _rows(data["value"], quoted))]


def _rows(value: Any, quoted: bool) -> list[str]:
    """Return nested lists with a line for each of the innermost; a map with a line for each key."""
    if isinstance(value, dict):
        return [f"{_word(key)}: {_word(each, quoted)}" for key, each in value.items()]
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return [line for each in value for line in _rows(each, quoted)]
    return [_word(value, quoted)]


def _word(value: Any, quoted: bool = False) -> str:
    """Return a value of JSON in a few characters; text in quotes, except where it represents a number."""
    if isinstance(value, list):
        return f"[{', '.join(_word(each, quoted) for each in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value) if quoted and isinstance(value, str) else "nothing" if value is None else str(value)
    return brief_name(text)
