"""Summaries of values: type, shape and statistics, for text and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

import numpy as np

from opset.errors import brief_name
from opset.reference.numerics.arrays import pieces
from opset.reference.numerics.memory import nbytes
from opset.reference.values import type_of
from opset.tensor_io import json_values
from opset.tensor_io.limits import MAX_SHOWN, MAX_SHOWN_BYTES


@dataclass(frozen=True)
class Statistics:
    """The statistics of an array: of its finite numbers, None if it has none.

    `nan` and `inf` count the other numbers; they are None for integer types, which have none.
    """

    min: int | float | None
    max: int | float | None
    mean: float | None
    std: float | None
    nan: int | None = None
    inf: int | None = None


@dataclass(frozen=True)
class Summary:
    """The type of a value, and the value itself if it is small.

    - a tensor has a shape, and statistics if it has numbers;
    - a sequence or map has a length, and a sequence has entries, only the first ones if it is long.
    """

    type: str
    length: int | None = None
    entries: Sequence[Summary] | None = None
    shape: Sequence[int] | None = None
    statistics: Statistics | None = field(default=None, metadata={"key": ""})
    value: Any | EllipsisType = ...


def summarize(value: Any, kind: str | None = None) -> Summary:
    """Return the summary of a value; `kind` is its declared type.

    Without `kind`, the type is determined from the value, which does not show it if it is empty.
    """
    kind = kind or type_of(value)
    if isinstance(value, list):
        return Summary(kind, len(value), [summarize(entry) for entry in value[:MAX_SHOWN]])
    if isinstance(value, dict):
        return Summary(kind, len(value), value=json_values.json_of(value) if len(value) <= MAX_SHOWN else ...)
    if not isinstance(value, np.ndarray):
        return Summary(kind, value=json_values.json_of(value))
    statistics = _statistics(value) if value.size and value.dtype.kind not in "ObcSU" else None
    small = 0 < value.size <= MAX_SHOWN and nbytes(value) <= MAX_SHOWN_BYTES
    return Summary(kind, None, None, value.shape, statistics, json_values.json_of(value) if small else ...)


def _statistics(array: Any) -> Statistics:
    """Return the statistics of an array of numbers."""
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
    nan = inf = None
    if not integers:
        nan = sum(int(np.count_nonzero(np.isnan(_widen(part)))) for (part,) in pieces(array))
        inf = array.size - count - nan
    if not count:
        return Statistics(None, None, None, None, nan, inf)
    number = int if integers or array.dtype.name.startswith(("int", "uint")) else float
    std = math.sqrt(squares / count)
    return Statistics(number(least), number(greatest), _finite_or_none(mean), _finite_or_none(std), nan, inf)


def _finite_numbers(array: Any) -> Iterator[Any]:
    """Yield the finite numbers of an array in pieces; integers keep their type, other numbers become double."""
    for (part,) in pieces(array):
        wide = _widen(part)
        kept = wide if wide.dtype.kind in "iu" else wide[np.isfinite(wide)]
        if kept.size:
            yield kept


def _widen(part: Any) -> Any:
    """Return an array of integers unchanged, any other array as double."""
    return part if part.dtype.kind in "iu" else part.astype(np.float64)


def _finite_or_none(number: Any) -> float | None:
    """Return a number as a float, or None if it is NaN or infinite."""
    return float(number) if math.isfinite(number) else None


def summary_lines(name: str, summary: Summary) -> list[str]:
    """Return a summary as lines of text: name, type, shape and statistics, then lines with the values or entries.

    A single value stands in the first line.
    """
    shape = "" if summary.length is None else f" of {summary.length}"
    if summary.shape is not None:
        shape = str([*summary.shape])
    head = [brief_name(name), f"{summary.type}{shape}"]
    parts = [*head]
    if (numbers := summary.statistics) is not None:
        named = {"min": numbers.min, "max": numbers.max, "mean": numbers.mean, "std": numbers.std}
        parts += [f"{key} {_short_text(number)}" for key, number in named.items() if number is not None]
        parts += [f"{count} {key}" for key, count in (("nan", numbers.nan), ("inf", numbers.inf)) if count]
    text_lines = ["  ".join(parts)]
    for number, entry in enumerate(summary.entries or ()):
        text_lines += [f"  {line}" for line in summary_lines(f"[{number}]", entry)]
    if summary.value is ...:
        return text_lines
    quoted = "string" in summary.type
    if summary.value is None or (summary.shape is not None and math.prod(summary.shape) == 1):
        return [f"{'  '.join(head)}  {_short_text(summary.value, quoted)}"]
    return [*text_lines, *(f"  {line}" for line in _row_lines(summary.value, quoted))]


def _row_lines(value: Any, quoted: bool) -> list[str]:
    """Return a value of JSON as lines of text: a line for each innermost list, or for each key of a map."""
    if isinstance(value, dict):
        return [f"{_short_text(key)}: {_short_text(entry, quoted)}" for key, entry in value.items()]
    if isinstance(value, list) and any(isinstance(entry, list) for entry in value):
        return [line for entry in value for line in _row_lines(entry, quoted)]
    return [_short_text(value, quoted)]


def _short_text(value: Any, quoted: bool = False) -> str:
    """Return a value of JSON as short text, with six digits of a number.

    If `quoted`, texts are in quotes, which tells them from numbers.
    """
    if isinstance(value, list):
        return f"[{', '.join(_short_text(entry, quoted) for entry in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None:
        return "nothing"
    return brief_name(repr(value) if quoted and isinstance(value, str) else str(value))
