"""The equation of Einsum, for inference and for its kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from opset.inference.building.dimensions import Size, broadcast
from opset.inference.building.shapes import common_size
from opset.schemas.constraints.violation import Violation

Label = int | str
"""A dimension in an equation: a letter, or a number for a dimension of an ellipsis."""


class Contraction(NamedTuple):
    """The meaning of an Einsum equation for given operands.

    A label is a letter of the equation, or an int (0, 1, …) for a dimension that "..." stands for.

    - `terms`: for each operand, the labels of its dimensions; `output`: the labels of the output's dimensions, None if
      "..." in it stands for an unknown number of dimensions;
    - `sizes`: the size of each label, a number if all operands have numbers; None or left out if it is unknown.
    """

    terms: list[list[Label]]
    output: list[Label] | None
    sizes: dict[Label, Any]


def parse_equation(equation: str, shapes: Sequence[tuple[Size, ...] | None]) -> Contraction:
    """Return the labels and sizes of the dimensions that an Einsum equation names, such as "ij,jk->ik".

    Without "->", the output has the letters that appear once, in alphabetical order, after the dimensions of "...".

    Args:
        equation: the equation; spaces do not count.
        shapes: the shape of each operand, None if its rank is unknown.

    Raises:
        Violation: C1 to C5 if the equation is malformed, or certainly does not fit the shapes.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    words = left.split(",")
    letters = "".join(word.replace("...", "", 1) for word in (*words, right))
    if letters and not (letters.isascii() and letters.isalpha()):
        raise Violation("C1", f"equation '{equation[:200]}'")
    if len(words) != len(shapes):
        raise Violation("C2", f"{len(words)} terms, {len(shapes)} inputs")
    operands = dict.fromkeys(zip(words, shapes, strict=True))
    hidden = {len(shape) - len(word) + 3 for word, shape in operands if shape is not None and "..." in word}
    if len(hidden) > 1 or min(hidden, default=0) < 0:
        raise Violation("C3", f"ellipses stand for {' and '.join(map(str, sorted(hidden)))} dimensions")
    dots = range(max(hidden, default=0))
    sizes = _sizes_of_labels([(word, _labels_in(word, dots), shape) for word, shape in operands])
    dotted = "..." in left
    if not arrow:
        counts = Counter(left)
        right = "..." * dotted + "".join(
            sorted(letter for letter in counts if letter.isalpha() and counts[letter] == 1)
        )
    named = right.replace("...", "")
    if len(set(named)) < len(named) or (dotted and "..." not in right) or not set(left).issuperset(named):
        raise Violation("C5", f"output '{right[:200]}'")
    output = None if dotted and not hidden else _labels_in(right, dots)
    return Contraction([_labels_in(word, dots) for word in words], output, sizes)


def _labels_in(term: str, dots: Sequence[int]) -> list[Label]:
    """Return the labels of the dimensions of a term: "i...j" with `dots` [0, 1] gives ["i", 0, 1, "j"].

    `dots` are the labels of the dimensions that "..." stands for.
    """
    before, ellipsis, after = term.partition("...")
    return [*before, *(dots if ellipsis else ()), *after]


def _sizes_of_labels(
    operands: Sequence[tuple[str, list[Label], tuple[Size, ...] | None]],
) -> dict[Label, Size | None]:
    """Return for each label the size to which its dimensions broadcast, None if it is unknown.

    Labels are letters, and ints for dimensions of "...". `operands` has (term, labels, shape) of each operand; a shape
    is None if its rank is unknown.

    Raises:
        Violation: C3 if the rank of an operand is not the number of its labels; C4 if sizes of a label certainly differ
            within a term, or between terms although none of them is 1.
    """
    sizes: dict[Label, list[Size]] = {}
    for word, labels, shape in operands:
        if shape is None:
            continue
        if len(labels) != len(shape):
            raise Violation("C3", f"term '{word[:200]}', rank {len(shape)}")
        own: dict[Label, Size | None] = {}
        for label, size in zip(labels, shape, strict=True):
            own[label] = common_size(own.get(label), size, "C4", f"'{label}'")
        for label, common in own.items():
            if common is not None:
                sizes.setdefault(label, []).append(common)
    open_words = "".join([word for word, _, shape in operands if shape is None])
    known: dict[Label, Size | None] = {}
    for label, dimensions in sizes.items():
        try:
            size = broadcast(*dimensions)
        except ValueError as error:
            name = "of dimensions of ellipses" if isinstance(label, int) else f"of '{label}'"
            raise Violation("C4", f"{name}, {error}") from error
        # Beside an operand of unknown shape, only a size other than 1 is certain.
        complete = ("..." if isinstance(label, int) else label) not in open_words
        known[label] = size if complete or (isinstance(size, int) and size != 1) else None
    return known
