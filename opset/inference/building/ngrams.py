"""The pool of n-grams of TfIdfVectorizer, for inference and for its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from opset.schemas.constraints.violation import Violation


def ngram_sizes(
    pool: Sequence[Any], counts: Sequence[int], indexes: Sequence[int], weights: Sequence[float]
) -> tuple[list[int], int]:
    """Return how many elements of the pool the n-grams of each length take up, and the number of all n-grams.

    For example, two 1-grams and three 2-grams take up [2, 6] elements, and are 5 n-grams. The parameters are the
    attributes of TfIdfVectorizer.

    Args:
        pool: the elements of all n-grams, one after another, the shortest n-grams first.
        counts: for each length of n-grams (1, 2, …), the position in the pool at which n-grams of this length begin.
        indexes: the output index of each n-gram.
        weights: the weight of each n-gram, or nothing.

    Raises:
        Violation: C5 if `counts` does not cut the pool into whole n-grams; C6 if there are not as many indexes as
            n-grams; C7 if there are weights, but not as many as n-grams.
    """
    bounds = [*counts, len(pool)]
    sizes = [end - begin for begin, end in pairwise(bounds)]
    if bounds[0] != 0 or any(size < 0 or size % length for length, size in enumerate(sizes, 1)):
        raise Violation("C5", f"they begin at {bounds[:-1][:9]}, {len(pool)} elements in all")
    grams = sum(size // length for length, size in enumerate(sizes, 1))
    if len(indexes) != grams:
        raise Violation("C6", f"{grams} n-grams, {len(indexes)} coordinates")
    if weights and len(weights) != grams:
        raise Violation("C7", f"{grams} n-grams, {len(weights)} weights")
    return sizes, grams
