"""Collects the differences of an output over several runs."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from opset.errors import ModelError
from opset.model.arrays import array_of
from opset.model.storage.container import Model
from opset.reference.comparison import differences, tolerance_of, ulps
from opset.reference.numerics.arrays import pieces
from opset.reference.numerics.memory import nbytes
from opset.reference.values import outline
from opset.verification.report import DIFFERENT, DISTRIBUTED, NOT_COMPARED, RANDOM, SAME, SHARES, OutputComparison


def leaves(value: Any) -> Iterator[Any]:
    """Yield the tensors in a value: the value itself, or the tensors in a sequence or map, in order; none for None."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending += reversed(each)
        elif isinstance(each, dict):
            pending += reversed([*each.values()])
        elif each is not None:
            yield np.asarray(each)


def magnitude(value: Any) -> float:
    """Return the median of the absolute values of a value's numbers of floating point; 0 if it has none.

    Zeros, NaN and infinite numbers are left out. The value may be a tensor, a sequence or a map.
    """
    numbers = [
        np.abs(each.astype(np.float64)).ravel()
        for each in leaves(value)
        if tolerance_of(each.dtype) and each.dtype.kind != "c"
    ]
    numbers += [np.abs(each).astype(np.float64).ravel() for each in leaves(value) if each.dtype.kind == "c"]
    found = np.concatenate([[], *numbers])
    found = found[np.isfinite(found) & (found > 0)]
    return float(np.median(found)) if found.size else 0.0


def why_different(before: Any, after: Any, rtol: float, atol: float | None) -> str:
    """Return how two values first differ by more than the tolerance, with the place, as text; "" if they do not.

    The allowed difference of a number is `atol` + `rtol` times the number in `before`. If `atol` is None, it is `rtol`
    times the magnitude of `before`.
    """
    with np.errstate(all="ignore"):
        allowed = rtol * magnitude(before) if atol is None else atol
        for each in differences(before, after, rtol, allowed):
            if each.why:
                return f"{each.where} {each.why}".strip()
    return ""


def count_differences(before: Any, after: Any, rtol: float, atol: float) -> Any:
    """Return a histogram of the differences between two arrays of the same type and shape.

    Its first number counts the equal elements; NaN equals NaN. The next numbers count the elements that differ by at
    most each of SHARES times the tolerance, the last one those that differ by more. The tolerance of an element is
    `atol` + `rtol` times its absolute value in `before`. Different texts and booleans count as the last.
    """
    counts = np.zeros(len(SHARES) + 2, np.int64)
    for want, have in pieces(before, after):
        same = want == have
        if want.dtype.kind not in "OUSb":
            want, have = _floats(want), _floats(have)
            same |= np.isnan(want) & np.isnan(have)
            share = np.abs(want - have) / (atol + rtol * np.abs(want))
            places = np.searchsorted(SHARES, np.nan_to_num(share[~same], nan=np.inf))
            counts[1:] += np.bincount(places, minlength=len(SHARES) + 1)
        else:
            counts[-1] += np.count_nonzero(~same)
        counts[0] += np.count_nonzero(same)
    return counts


def differing_weight(before: Model, after: Model) -> str:
    """Return the name of the first initializer of `before` that has other elements in `after`, "" if there is none.

    Only initializers of the same name, type and shape are compared. If the data of one cannot be read, the two count as
    equal, since running the models reports this.
    """
    others = {tensor.name: tensor for tensor in after.proto.graph.initializer}
    for tensor in before.proto.graph.initializer:
        other = others.get(tensor.name)
        if other is None or (tensor.data_type, [*tensor.dims]) != (other.data_type, [*other.dims]):
            continue
        with suppress(ModelError):
            if _digest(array_of(before, tensor)) != _digest(array_of(after, other)):
                return str(tensor.name)
    return ""


class Comparison:
    """The comparison of one output, to which runs are added."""

    def __init__(self, name: str, after: str, rtol: float | None, atol: float | None) -> None:
        self.name, self.after = name, after
        self.rtol, self.atol = rtol, atol
        self.allowed, self.longest_sum, self.elements = 0.0, 1, 0
        self.random = False
        self.why = ""
        self._absolute = self._relative = self._ulps = 0.0
        self._nan = [0, 0]
        self._histogram = np.zeros(len(SHARES) + 2, np.int64)
        self._digests: set[bytes] = set()
        self._runs = self._random_runs = self._distributions = 0

    def add(self, before: Any, after: Any, allowed: float, longest_sum: int) -> bool:
        """Add the values of the output in a run of both models; return whether they are the same.

        If the output is random, only type and shape are compared.

        Args:
            before: the value that the first model computed.
            after: the value that the second model computed.
            allowed: the relative tolerance that follows from the models; a tolerance that the caller has set takes
                precedence.
            longest_sum: the number of terms of the longest sum that the output depends on.
        """
        self._runs += 1
        self.longest_sum = max(self.longest_sum, longest_sum)
        self.elements += sum(each.size for each in leaves(before))
        self._digests.add(_digest(before))
        if self.random:
            self._random_runs += 1
            self.why = self.why or _why_other_form(before, after)
            return not self.why
        rtol = allowed if self.rtol is None else self.rtol
        self.allowed = max(self.allowed, rtol)
        for number, value in enumerate((before, after)):
            self._nan[number] += sum(int(np.isnan(_floats(each)).sum()) for each in leaves(value) if _is_float(each))
        with np.errstate(all="ignore"):
            atol = rtol * magnitude(before) if self.atol is None else self.atol
            for each in differences(before, after, rtol, 0.0):
                self._absolute = max(self._absolute, each.absolute)
                self._relative = max(self._relative, each.relative)
            for one, other in zip(leaves(before), leaves(after), strict=False):
                why, distance = ulps(one, other)
                if not why:
                    self._ulps = max(self._ulps, distance)
                if (one.dtype, one.shape) == (other.dtype, other.shape):
                    self._histogram += count_differences(one, other, rtol, atol)
        why = why_different(before, after, rtol, atol)
        self.why = self.why or why
        return not why

    def add_distribution(self, why: str) -> bool:
        """Add whether the random numbers of a run have the same distribution in both models, and return it.

        `why` says how the distributions differ; it is "" if they do not.
        """
        self._distributions += 1
        self.why = self.why or why
        return not why

    def result(self) -> OutputComparison:
        """Return the comparison over all runs that were added, as the report has it."""
        verdict = NOT_COMPARED if not self._runs else DIFFERENT if self.why else SAME
        return OutputComparison(
            name=self.name,
            after=self.after,
            verdict=verdict,
            absolute=_plain(self._absolute),
            relative=_plain(self._relative),
            ulps=_plain(self._ulps),
            elements=self.elements,
            nan_before=self._nan[0],
            nan_after=self._nan[1],
            rtol=self.allowed,
            atol=self.atol,
            longest_sum=self.longest_sum,
            varies=len(self._digests) > 1,
            why=self.why or self._why_less,
            histogram=tuple(self._histogram.tolist()) if self._histogram.any() else (),
        )

    @property
    def _why_less(self) -> str:
        """Why elements were not compared in some runs or in all, "" if they were compared in all runs."""
        words = DISTRIBUTED if self._distributions else RANDOM
        if not self._random_runs or self._random_runs == self._runs:
            return words if self._random_runs else ""
        return f"in {self._random_runs} of {self._runs} runs {words}"

    @property
    def is_empty(self) -> bool:
        """Whether there were runs, and the output had no elements in any of them."""
        return bool(self._runs) and not self.elements

    @property
    def why_little(self) -> str:
        """Why the comparison says little about other inputs, "" if it says enough.

        It says little if the output had no elements, was NaN alone, or was the same for all inputs.
        """
        if self.is_empty:
            return "it had no elements in any run"
        if self.elements and self._nan[0] == self.elements:
            return "all elements were NaN"
        return "it was the same in all runs" if self._runs > 1 and len(self._digests) == 1 and self.elements else ""


class InnerValues:
    """The values inside the first model in one run, with which the values inside the second model are compared.

    - `cut`: whether a value was not kept, since there was no room;
    - `first`: (name, place in the first model, place in the second, difference) of the first value that differs, or
      None.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._values: dict[tuple[str, str, int], tuple[str, Any]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self.cut = False
        self.first: tuple[str, str, str, str] | None = None
        self._rtol = 0.0

    def keep(self, location: str, name: str, value: Any) -> None:
        """Keep a value of the first model; if there is no room for it, only set `cut`."""
        key = self._key(location, name)
        size = nbytes(value)
        if size > self._left:
            self.cut = True
            return
        self._left -= size
        self._values[key] = location, value

    def start_comparing(self, rtol: float) -> None:
        """Begin with the values of the second model, which may differ by the relative tolerance `rtol`."""
        self._counts.clear()
        self._rtol = rtol

    def compare(self, location: str, name: str, value: Any) -> None:
        """Compare a value of the second model with the first model's value of the same name.

        Values inside a function are compared with those inside the function of that name. If a name is computed
        several times, as in a loop, the values are matched in order. The first value that differs is kept in `first`.
        """
        key = self._key(location, name)
        if self.first is None and key in self._values:
            place, before = self._values[key]
            if why := why_different(before, value, self._rtol, None):
                self.first = name, place, location, why

    def _key(self, location: str, name: str) -> tuple[str, str, int]:
        """Return (function, name, how often this value has been computed, this time included).

        The function is the one that has the node at `location`, or "" if the node is in the graph or a subgraph.
        """
        function = location.partition(",")[0] if location.startswith("function ") else ""
        self._counts[function, name] += 1
        return function, name, self._counts[function, name]


def _is_float(array: Any) -> bool:
    """Whether an array holds numbers of floating point."""
    return bool(array.dtype.kind == "c" or tolerance_of(array.dtype))


def _floats(array: Any) -> Any:
    """Return an array of numbers as float64; complex numbers stay as they are."""
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def _digest(value: Any) -> bytes:
    """Return a digest of the shapes and elements of a value; equal values have equal digests."""
    found = hashlib.blake2b(digest_size=16)
    for each in leaves(value):
        found.update(str(each.shape).encode())
        found.update(str(each.tolist()).encode() if each.dtype.kind in "OU" else each.tobytes())
    return found.digest()


def _why_other_form(before: Any, after: Any) -> str:
    """Return how types or shapes of two values differ, "" if they are the same."""
    one, other = [*leaves(before)], [*leaves(after)]
    if len(one) != len(other):
        return f"it has {len(other)} tensors, and {len(one)} before"
    for first, second in zip(one, other, strict=True):
        if (first.dtype, first.shape) != (second.dtype, second.shape):
            return f"it is {outline(second)}, and {outline(first)} before"
    return ""


def _plain(number: float) -> float | str:
    """Return a number in the form that JSON has: a number that is not finite becomes text, such as "inf"."""
    return number if math.isfinite(number) else str(number)
