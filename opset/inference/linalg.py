"""Shapes of matrix products, determinants, and sums of products in Einstein notation."""

from __future__ import annotations

from collections import Counter

from opset.inference.call import Call, Unknown
from opset.inference.dimensions import Size, broadcast
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation

Label = int | str
"""A dimension in an equation: a letter, or a number for a dimension of an ellipsis."""


@infer("Det")
def det_11(call: Call) -> Shape:
    """Return the shape of stacks of square matrices without the last two dimensions."""
    return call.require_shape(0)[:-2]


@infer("Gemm")
def gemm_1(call: Call) -> Shape:
    """Return (rows of A', columns of B'), where C may show the size of an unknown one."""
    return (call.size("M"), call.size("N"))


@infer("Einsum")
def einsum_12(call: Call) -> Shape:
    """Return the sizes of the output's letters and of the dimensions of its ellipsis."""
    equation = call.attribute("equation")
    if not isinstance(equation, str):
        raise Unknown("the equation is not known")
    left, arrow, right = equation.replace(" ", "").partition("->")
    words = left.split(",")
    letters = "".join(word.replace("...", "", 1) for word in (*words, right))
    if letters and not (letters.isascii() and letters.isalpha()):
        raise Violation("C1", f"equation '{equation[:200]}'")
    if len(words) != call.input_count:
        raise Violation("C2", f"{len(words)} terms, {call.input_count} inputs")
    hidden = _hidden(call, words)
    sizes = _sizes(call, words, hidden or 0)
    dotted = any("..." in word for word in words)
    if not arrow:
        counts = Counter(left)
        right = "..." * dotted + "".join(sorted(each for each in counts if each.isalpha() and counts[each] == 1))
    wanted = _labels(right, 0)
    if len(set(wanted)) < len(wanted) or (dotted and "..." not in right) or not set(left).issuperset(wanted):
        raise Violation("C5", f"output '{right[:200]}'")
    if hidden is None and dotted:
        raise Unknown("the rank of no input with an ellipsis is known")
    return tuple([sizes.get(label) for label in _labels(right, hidden or 0)])


def _labels(word: str, hidden: int) -> list[Label]:
    before, ellipsis, after = word.partition("...")
    return [*before, *(range(hidden) if ellipsis else ()), *after]


def _hidden(call: Call, words: list[str]) -> int | None:
    """Return how many dimensions an ellipsis stands for, None where that is unknown."""
    found: set[int] = set()
    for index, word in enumerate(words):
        rank = call.rank(index)
        if rank is not None and "..." in word:
            found.add(rank - len(word) + 3)
    if len(found) > 1 or min(found, default=0) < 0:
        raise Violation("C3", f"ellipses stand for {' and '.join(map(str, sorted(found)))} dimensions")
    return found.pop() if found else None


def _sizes(call: Call, words: list[str], hidden: int) -> dict[Label, Size | None]:
    """Return the sizes of labels: a letter has one size, dimensions of an ellipsis broadcast."""
    sizes: dict[Label, Size | None] = {}
    several: dict[Label, list[Size]] = {number: [] for number in range(hidden)}
    operands = dict.fromkeys((word, call.shape(index)) for index, word in enumerate(words))
    for word, shape in operands:
        if shape is None:
            continue
        labels = _labels(word, hidden)
        if len(labels) != len(shape):
            raise Violation("C3", f"term '{word[:200]}', rank {len(shape)}")
        for label, size in zip(labels, shape, strict=True):
            if isinstance(label, int):
                several[label].append(size)
            else:
                sizes[label] = call.same(sizes.get(label), size, "C4", f"'{label}'")
    complete = all(shape is not None for word, shape in operands if "..." in word)
    for label, given in several.items():
        try:
            size = broadcast(*given)
        except ValueError as error:
            raise Violation("C4", f"of dimensions of ellipses, {error}") from error
        # Beside an operand of unknown shape, only a size other than 1 is certain.
        sizes[label] = size if complete or (isinstance(size, int) and size != 1) else None
    return sizes
