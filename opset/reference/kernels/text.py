"""Kernels of strings: joined, split, normalized, matched and counted as n-grams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opset.errors import Finding, RunError
from opset.inference.building.ngrams import ngram_sizes
from opset.reference.limits import MAX_PROGRAM
from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

_CHECK_INTERVAL = 1 << 20  # about the bytes of strings between two checks of the time limit
_SHORT_STRING = 64  # about the bytes of a short string

Text = str | bytes
"""An element: bytes if it is not valid UTF-8."""


def _texts(x: Array, context: KernelContext) -> Iterator[Text]:
    """Yield the elements in order, and check the time limit now and then."""
    left = 0
    for text in x.ravel():
        left -= _SHORT_STRING + len(text)
        if left < 0:
            context.check_time()
            left = _CHECK_INTERVAL
        yield text


def _encode(text: Text) -> bytes:
    """Return a text as UTF-8; bytes are returned unchanged."""
    return text.encode() if isinstance(text, str) else text


@kernel("StringConcat", since=20)
def string_concat_20(x: Array, y: Array, *, context: KernelContext) -> Array:
    """Return x followed by y, element by element, with broadcasting."""
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise Violation("C1", f"the shapes are {list(x.shape)} and {list(y.shape)}") from None
    count = int(np.prod(shape, dtype=object))
    for operand in (x, y):
        if operand.size:
            context.reserve(sum(map(sys.getsizeof, operand.ravel())) * (count // operand.size), np.uint8)
    joined: Callable[[Array, Array], Any] = np.frompyfunc(_join, 2, 1)
    return np.asarray(joined(x, y), object)


def _join(x: Text, y: Text) -> Text:
    """Return two texts joined."""
    if isinstance(x, str) and isinstance(y, str):
        return x + y
    return _decode(_encode(x) + _encode(y))


def _decode(text: bytes) -> Text:
    """Return a str if the bytes are valid UTF-8, as when two parts of a character are joined, else the bytes."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


@kernel("StringSplit", since=20)
def string_split_20(
    x: Array, *, delimiter: Text | None, maxsplit: int | None, context: KernelContext
) -> tuple[Array, Array]:
    """Return the parts of each string, filled up with empty strings, and the number of its parts."""
    most = sys.maxsize if maxsplit is None or maxsplit < 0 else min(maxsplit, sys.maxsize)
    parts, size = [], 0
    for text in _texts(x, context):
        size += _SHORT_STRING * (1 + min(most, _most_separators(text, delimiter)))
        context.reserve(size, np.uint8)
        parts.append(_split(text, delimiter, most))
    counts: Array = np.fromiter(map(len, parts), np.int64, len(parts))
    widest = max(map(len, parts), default=0)
    context.reserve(x.size * widest, object)
    result = np.full((len(parts), widest), "", object)
    # In row-major order, the mask selects one element for each part.
    result[np.arange(widest) < counts[:, None]] = [part for parts_of_text in parts for part in parts_of_text]
    return result.reshape(*x.shape, widest), counts.reshape(x.shape)


def _most_separators(text: Text, delimiter: Text | None) -> int:
    """Return an upper bound for the number of separators in a text."""
    if delimiter:
        return text.count(delimiter) if isinstance(text, str) and isinstance(delimiter, str) else len(text)
    return len(text) // 2


def _split(text: Text, delimiter: Text | None, most: int) -> Sequence[Text]:
    """Return the parts of a text, at most `most` + 1."""
    if isinstance(text, bytes) or isinstance(delimiter, bytes):
        binary = _encode(text)
        parts = binary.split(_encode(delimiter), most) if delimiter else binary.strip().split(None, most)
        return [*map(_decode, parts)]
    # The last part of a limited split would keep trailing white space.
    return text.split(delimiter, most) if delimiter else text.strip().split(None, most)


@kernel("RegexFullMatch", since=20)
def regex_full_match_20(x: Array, *, pattern: Text, context: KernelContext) -> Array:
    """Return true for each string that a regular expression of RE2 matches as a whole."""
    try:
        import re2  # type: ignore[import-untyped]
    except ImportError as error:
        message = "a package that the operator needs is not installed"
        why, help = "regular expressions are matched by google-re2", "pip install 'opset[regex]'"
        raise RunError(Finding("R205", message, why=why, help=help)) from error
    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = MAX_PROGRAM, False, True
    try:
        matches = re2.compile(_encode(pattern), options).fullmatch
    except re2.error as error:
        why = error.args[0] if error.args else ""
        raise Violation("C2", why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from error
    are_matches = (matches(_encode(text)) is not None for text in _texts(x, context))
    return np.fromiter(are_matches, np.bool_, x.size).reshape(x.shape)


@kernel("StringNormalizer", since=10)
def string_normalizer_10(
    x: Array,
    *,
    case_change_action: str,
    is_case_sensitive: int,
    locale: str | None,
    stopwords: Sequence[Text] | None,
    context: KernelContext,
) -> Array:
    """Return the strings without stop words, in the requested case; one empty string if none is left."""
    lower, upper = _case_functions(locale)
    comparable = (lambda text: text) if is_case_sensitive else lower
    dropped = {comparable(word) for word in stopwords or ()}
    kept: Iterable[Text] = (word for word in _texts(x, context) if comparable(word) not in dropped)
    if case_change_action != "NONE":
        kept = map(lower if case_change_action == "LOWER" else upper, kept)
    strings: list[Text] = []
    size = 0
    for text in kept:
        size += sys.getsizeof(text)
        context.reserve(size, np.uint8)
        strings.append(text)
    strings = strings or [""]
    result = np.empty(len(strings), object)
    result[:] = strings
    return result.reshape(1, -1) if x.ndim == 2 else result


def _case_functions(locale: str | None) -> tuple[Callable[[Text], Text], Callable[[Text], Text]]:
    """Return functions to lower and upper case by Unicode's rules; in Turkish and Azeri, the dot of an i is kept."""
    if (locale or "").replace("-", "_").split("_")[0].lower() in ("tr", "az"):
        to_lower, to_upper = str.maketrans("I\u0130", "\u0131i"), str.maketrans("i", "\u0130")
        return (
            lambda text: text.translate(to_lower).lower() if isinstance(text, str) else text.lower(),
            lambda text: text.translate(to_upper).upper() if isinstance(text, str) else text.upper(),
        )
    return (lambda text: text.lower()), (lambda text: text.upper())


@kernel("TfIdfVectorizer", since=9)
def tf_idf_vectorizer_9(
    x: Array,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None,
    pool_strings: Sequence[Text] | None,
    weights: Sequence[float] | None,
    context: KernelContext,
) -> Array:
    """Return for each row the counts of the n-grams of a pool, the weights of those it has, or counts times weights."""
    pool = pool_strings if x.dtype.hasobject else pool_int64s
    if not pool:
        raise Violation("C4", "X holds strings" if x.dtype.hasobject else "X holds numbers")
    sizes, grams = ngram_sizes(pool, ngram_counts, ngram_indexes, weights or ())
    words, vocabulary = _number_words(x.reshape(1, -1) if x.ndim == 1 else x, pool, context)
    width = max(ngram_indexes, default=-1) + 1
    rows = len(words)
    context.reserve(rows * (width + 2 * grams) + 8 * words.size, np.float64)
    lengths = range(min_gram_length, max_gram_length + 1)
    counts = _count_grams(words, vocabulary, sizes, lengths, max_skip_count, context)
    values = (counts > 0).astype(np.float32) if mode == "IDF" else counts.astype(np.float32)
    if mode != "TF" and weights:
        values *= np.array(weights, np.float32)
    result = np.zeros((width, rows), np.float32)
    np.add.at(result, np.array(ngram_indexes, np.intp), values.T)  # n-grams may share a coordinate
    result = np.ascontiguousarray(result.T)
    return result[0] if x.ndim == 1 else result


def _number_words(x: Array, pool: Sequence[Any], context: KernelContext) -> tuple[Array, Array]:
    """Return x and the pool as integers, the same for equal elements; -1 is not in the pool."""
    if x.dtype.hasobject:
        number_of: dict[Any, int] = {}
        numbers = [number_of.setdefault(word, len(number_of)) for word in pool]
        indices = np.fromiter((number_of.get(word, -1) for word in _texts(x, context)), np.int64, x.size)
        return indices.reshape(x.shape), np.array(numbers, np.int64)
    distinct, numbers_of_pool = np.unique(np.array(pool, np.int64), return_inverse=True)
    nearest = np.minimum(np.searchsorted(distinct, x), len(distinct) - 1)
    return np.where(distinct[nearest] == x, nearest, -1), numbers_of_pool.reshape(-1)


def _count_grams(
    words: Array, pool: Array, sizes: Sequence[int], lengths: range, max_skip: int, context: KernelContext
) -> Array:
    """Return the counts of each n-gram of the pool in each row of words."""
    # N-grams are matched word by word, at all positions of all rows at once: the number of the prefix and the next word
    # make a key, which is in a sorted table or matches no n-gram.
    rows, width = words.shape
    kinds = int(pool.max(initial=0)) + 1
    row, column = np.nonzero(words >= 0)
    begin, columns = 0, []
    for length, size in enumerate(sizes, 1):
        grams = pool[begin : begin + size].reshape(-1, length)
        begin += size
        if length not in lengths or not size:
            columns.append(np.zeros((rows, len(grams)), np.int64))
            continue
        # The sorted keys of each position in n-grams, and the index of each n-gram's last key.
        tables: list[Array] = []
        state_of_gram = np.zeros(len(grams), np.int64)
        for column_of_grams in grams.T:
            table, state_of_gram = np.unique(state_of_gram * kinds + column_of_grams, return_inverse=True)
            tables.append(table)
        states = len(tables[-1])
        counts = np.zeros(rows * states, np.int64)
        # Skipping makes no difference to single words; n-grams longer than a row occur nowhere.
        steps = 1 if length == 1 else min(max_skip + 1, (width - 1) // (length - 1))
        for step in range(1, steps + 1):
            context.check_time()
            at_row, state = _match_grams(words, row, column, step, tables, kinds)
            counts += np.bincount(at_row * states + state, minlength=len(counts))
        columns.append(counts.reshape(rows, states)[:, state_of_gram])
    return np.concatenate(columns, 1)


def _match_grams(
    words: Array, row: Array, column: Array, step: int, tables: Sequence[Array], kinds: int
) -> tuple[Array, Array]:
    """Return the row and the index of the last key of all n-grams that begin at these positions."""
    state = np.zeros(len(row), np.int64)
    for position, table in enumerate(tables):
        if position:
            inside = column + step < words.shape[1]
            row, column, state = row[inside], column[inside] + step, state[inside]
        word = words[row, column]
        key = state * kinds + word
        state = np.minimum(np.searchsorted(table, key), len(table) - 1)
        matches = (table[state] == key) & (word >= 0)
        row, column, state = row[matches], column[matches], state[matches]
    return row, state
