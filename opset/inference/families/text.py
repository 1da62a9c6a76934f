"""Output shapes of operators on strings."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.dimensions import maximum
from opset.inference.building.ngrams import ngram_sizes
from opset.inference.building.types import Shape
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation


@infer("StringNormalizer")
def string_normalizer_10(call: Call) -> Shape:
    """Return the shape of the normalized strings, (C,) if the input is a vector, (1, C) if it is a row.

    C is the input's number of strings, at least 1, or None if the attribute `stopwords` may remove some. Raises Unknown
    if the rank of the input is unknown.
    """
    shape = call.require_shape(0)
    # Without strings, the result is one empty string.
    count = None if call.attribute("stopwords") else maximum(1, shape[-1])
    return (count,) if len(shape) == 1 else (1, count)


@infer("StringSplit")
def string_split_20(call: Call) -> list[Shape]:
    """Return the shapes of the two outputs: the parts of the strings, and the number of parts of each string.

    The parts have the input's shape with None, an unknown size, appended; the numbers have the input's shape. Raises
    Unknown if the rank of the input is unknown.
    """
    shape = call.require_shape(0)
    return [(*shape, None), shape]


@infer("TfIdfVectorizer")
def tf_idf_vectorizer_9(call: Call) -> Shape:
    """Return the input's shape with its last size replaced by the number of output coordinates.

    This number is the greatest in the attribute `ngram_indexes`, plus 1. Raises Unknown if the rank is unknown. Raises
    Violation C4 if only one of X and the pool of n-grams has strings, C5 to C7 if the pool is not legal.
    """
    numbers, strings = call.attribute("pool_int64s"), call.attribute("pool_strings")
    element = call.dtype(0)
    pool = numbers or strings
    if element is not None and (element == "string") != bool(strings):
        raise Violation("C4", f"a pool of {'strings' if strings else 'numbers'} for X of {element}")
    indexes = call.attribute("ngram_indexes") or ()
    ngram_sizes(pool or (), call.attribute("ngram_counts") or (), indexes, call.attribute("weights") or ())
    shape = call.require_shape(0)
    return (*shape[:-1], max(indexes, default=-1) + 1)
