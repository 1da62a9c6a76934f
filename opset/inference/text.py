"""Output shapes of operators on strings."""

from __future__ import annotations

from itertools import pairwise

from opset.inference.call import Call
from opset.inference.dimensions import equal, maximum
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@infer("RegexFullMatch")
def regex_full_match_20(call: Call) -> Shape:
    """Return the shape of the strings."""
    if call.attribute("pattern") is None:
        raise Violation("C1", "there is no pattern")
    return call.require_shape(0)


@infer("StringNormalizer")
def string_normalizer_10(call: Call) -> Shape:
    """Return the shape of the strings; with stop words, the number of strings depends on data."""
    shape = call.require_shape(0)
    if len(shape) not in (1, 2) or (len(shape) == 2 and equal(shape[0], 1) is False):
        raise Violation("C2", f"shape {list(shape)}")
    # Without strings, the result is one empty string.
    count = None if call.attribute("stopwords") else maximum(1, shape[-1])
    return (count,) if len(shape) == 1 else (1, count)


@infer("StringSplit")
def string_split_20(call: Call) -> list[Shape]:
    """Return the shape of the strings, for the first output followed by the greatest number of parts."""
    shape = call.require_shape(0)
    return [(*shape, None), shape]


@infer("TfIdfVectorizer")
def tf_idf_vectorizer_9(call: Call) -> Shape:
    """Return one element for each coordinate, after the batch if there is one."""
    indexes = call.attribute("ngram_indexes") or ()
    shortest, longest = call.attribute("min_gram_length"), call.attribute("max_gram_length")
    if None in (shortest, longest, call.attribute("max_skip_count")) or shortest > longest:
        raise Violation("C2", f"lengths {shortest} to {longest}")
    grams = _ngram_count(call)
    if len(indexes) != grams:
        raise Violation("C6", f"{grams} n-grams, {len(indexes)} coordinates")
    weights = call.attribute("weights")
    if weights and len(weights) != grams:
        raise Violation("C7", f"{grams} n-grams, {len(weights)} weights")
    shape = call.require_shape(0)
    if len(shape) not in (1, 2):
        raise Violation("C3", f"rank {len(shape)}")
    return (*shape[:-1], max(indexes, default=-1) + 1)


def _ngram_count(call: Call) -> int:
    """Return the number of n-grams in the pool."""
    numbers, strings = call.attribute("pool_int64s") or (), call.attribute("pool_strings") or ()
    element = call.dtype(0)
    pool = numbers or strings
    if not pool or (numbers and strings) or (element is not None and (element == "string") != bool(strings)):
        raise Violation("C4", f"{len(numbers)} numbers and {len(strings)} strings, for X of {element}")
    bounds: list[int] = [*(call.attribute("ngram_counts") or ()), len(pool)]
    sizes = [end - begin for begin, end in pairwise(bounds)]
    if bounds[0] != 0 or any(size < 0 or size % length for length, size in enumerate(sizes, 1)):
        raise Violation("C5", f"they begin at {bounds[:-1][:9]}, {len(pool)} elements in all")
    return sum([size // length for length, size in enumerate(sizes, 1)])
