"""Types and shapes of attention, rotary embeddings, and caches of keys and values."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from opset.inference.agreement import differ, fitted, quotient, unify
from opset.inference.call import Call
from opset.inference.dimensions import Size, less
from opset.inference.registration import infer
from opset.inference.types import Shape, Type, tensor
from opset.model.elements import element_name
from opset.schemas.constraints import Violation

MaybeSize = Size | None


class _Heads(NamedTuple):
    """Sizes of a tensor with heads as a dimension, or within its last dimension, whose size is `features`."""

    batch: MaybeSize = None
    heads: MaybeSize = None
    length: MaybeSize = None
    size: MaybeSize = None
    features: MaybeSize = None


def _with_heads(call: Call, index: int, rank: int | None, attribute: str) -> _Heads:
    """Return the sizes of an input; with three dimensions, an attribute says how many heads there are."""
    if rank == 4:
        return _Heads(*unify(call, index, (None,) * 4, "C1"))
    if rank is None:
        return _Heads()
    heads = call.attribute(attribute)
    if not isinstance(heads, int) or heads < 1:
        raise Violation("C2", f"{attribute} is {'not given' if heads is None else heads}")
    batch, length, features = unify(call, index, (None,) * 3, "C1")
    return _Heads(batch, heads, length, quotient(call, features, heads, "C2", call.parameter(index)), features)


def _groups(heads: MaybeSize, shared: MaybeSize) -> MaybeSize:
    """Return how many query heads share a key/value head. Raises Violation C3 where they do not divide."""
    if isinstance(shared, int) and (shared == 0 or (isinstance(heads, int) and heads % shared)):
        raise Violation("C3", f"{heads} and {shared} heads")
    return None if heads is None or shared is None else heads // shared


def _common_rank(call: Call) -> int | None:
    """Return the rank of queries, keys and values, None where it is unknown."""
    ranks = {rank for index in range(3) if (rank := call.rank(index)) is not None}
    if len(ranks) > 1 or not ranks <= {3, 4}:
        raise Violation("C1", f"ranks {' and '.join(map(str, sorted(ranks)))}")
    if not ranks and call.version >= 25 and call.attribute("q_num_heads") is not None:
        return 3
    return next(iter(ranks), None)


@infer("Attention")
def attention_23(call: Call) -> list[Any]:
    """Return the types of the result, of keys and values with those of the past, and of the scores."""
    rank = _common_rank(call)
    if call.version >= 25:
        for name in ("q_num_heads", "kv_num_heads"):
            if rank == 4 and call.attribute(name) is not None:
                raise Violation("C2", f"{name} beside four dimensions")
        if call.has(6) and call.has(4):
            raise Violation("C10", "nonpad_kv_seqlen beside a cache")
    q = _with_heads(call, 0, rank, "q_num_heads")
    k, v = (_with_heads(call, index, rank, "kv_num_heads") for index in (1, 2))
    shared = call.same(k.heads, v.heads, "C3", "the number of key/value heads")
    batch = call.same(call.same(q.batch, k.batch, "C4", "the batch"), v.batch, "C4", "the batch")
    size, length = call.same(q.size, k.size, "C4", "the head size"), call.same(k.length, v.length, "C4", "the length")

    if call.has(4) != call.has(5):
        raise Violation("C6", "only one of past_key and past_value is given")
    total, v_size = length, v.size
    if call.has(4):
        batch, shared, past, size = unify(call, 4, (batch, shared, None, size), "C6")
        batch, shared, past, v_size = unify(call, 5, (batch, shared, past, v_size), "C6")
        total = None if past is None or length is None else past + length
    batch, heads, q_length, total = _masked(call, (batch, q.heads, q.length, total))
    groups = _groups(heads, shared)
    (batch,) = unify(call, 6, (batch,), "C7")
    if any(less(seen, 0) or less(total, seen) for seen in call.numbers(6) or ()):
        raise Violation("C7", f"{total} keys")

    y: Shape | None = (batch, heads, q_length, v_size)
    if rank == 3:
        features = groups * v.features if groups is not None and v.features is not None else None
        if heads is not None and isinstance(v_size, int):
            features = heads * v_size
        y = (batch, q_length, features)
    elif rank is None:
        call.doubt("the ranks of Q, K and V are not known")
        y = None
    present = (batch, shared, total)
    return [y, (*present, size), (*present, v_size), (batch, heads, q_length, total)]


def _masked(call: Call, scores: Shape) -> Shape:
    """Return the shape of the scores unified with that of the mask, whose last dimension may be short from 24 on."""
    mask = call.shape(3)
    if mask is None or call.version < 24 or not mask:
        return fitted(call, 3, scores, "C5")
    total = scores[-1]
    if less(total, mask[-1]):
        raise Violation("C5", f"shape(attn_mask) = {list(mask)}, and there are {total} keys")
    return (*fitted(call, 3, (*scores[:-1], mask[-1]), "C5")[:-1], total)


@infer("FlexAttention", domain="ai.onnx.preview")
def flex_attention_1(call: Call) -> Generator[Any, Any, Shape]:
    """Infer the graphs that edit scores and weights; return the shape of the result."""
    q, k, v = (_Heads(*unify(call, index, (None,) * 4, "C1")) for index in range(3))
    batch = call.same(call.same(q.batch, k.batch, "C4", "the batch"), v.batch, "C4", "the batch")
    call.same(q.size, k.size, "C4", "the head size")
    total = call.same(k.length, v.length, "C4", "the length")
    _groups(q.heads, call.same(k.heads, v.heads, "C3", "the number of key/value heads"))
    scores = tensor(_precision(call), (batch, q.heads, q.length, total))
    for name in ("score_mod", "prob_mod"):
        graph = call.attribute(name)
        if graph is not None:
            _check_edited(scores, (yield graph, [scores]))
    return (batch, q.heads, q.length, v.size)


def _precision(call: Call) -> str | None:
    """Return the element type of scores: that of `softmax_precision`; without it double for doubles, else float."""
    number = call.attribute("softmax_precision")
    if number is not None:
        return element_name(number)
    given = next(filter(None, map(call.dtype, range(3))), None)
    return None if given is None else "double" if given == "double" else "float"


def _check_edited(before: Type, outputs: list[Type | None]) -> None:
    """Raise Violation C5 where a graph certainly does not return one tensor of the type and shape of its input."""
    if len(outputs) != 1:
        raise Violation("C5", f"the graph returns {len(outputs)} outputs")
    after = outputs[0]
    if after is None:
        return
    differs = (after.kind, after.element or before.element) != (before.kind, before.element or after.element)
    if differs or (after.shape is not None and differ(after.shape, before.shape or ())):
        raise Violation("C5", f"the graph returns {after} for {before}")


@infer("LinearAttention")
def linear_attention_27(call: Call) -> list[Any]:
    """Return the types of what queries read from a state, and of the state after the last token."""
    rule = call.attribute("update_rule")
    heads, shared = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    groups = _groups(heads, shared)
    batch: MaybeSize = None
    length: MaybeSize = None
    features: list[MaybeSize] = []
    for index in range(3):
        batch, length, each = unify(call, index, (batch, length, None), "C2")
        features.append(each)
    sizes = [
        quotient(call, each, count, "C2", call.parameter(index))
        for index, (each, count) in enumerate(zip(features, (heads, shared, shared), strict=True))
    ]
    size = call.same(sizes[0], sizes[1], "C2", "the key size")
    batch, _, size, v_size = unify(call, 3, (batch, shared, size, sizes[2]), "C4")
    _check_rates(call, rule, (batch, length), shared, features[1])
    output: MaybeSize = None
    if isinstance(v_size, int):
        output = heads * v_size
    elif groups is not None and features[2] is not None:
        output = groups * features[2]
    state = call.dtype(3) if call.has(3) else call.dtype(0)
    return [(batch, length, output), tensor(state, (batch, shared, size, v_size))]


def _check_rates(call: Call, rule: str, tokens: Shape, heads: int, features: MaybeSize) -> None:
    """Raise Violation where the decay or the rate that a rule needs is missing or has another shape."""
    for needed, index, label, last in (
        (rule.startswith("gated"), 4, "C5", (heads, features)),
        (rule.endswith("delta"), 5, "C6", (heads, 1)),
    ):
        given = call.shape(index)
        if needed and not call.has(index):
            raise Violation(label, f"{call.parameter(index)} is not given")
        if needed and given is not None and all(differ(given, (*tokens, each)) for each in last):
            raise Violation(label, f"shape({call.parameter(index)}) = {list(given)}")


@infer("RotaryEmbedding")
def rotary_embedding_23(call: Call) -> Shape:
    """Return the shape of X, whose batch and length may be known from the positions."""
    rank = len(call.require_shape(0))
    if rank not in (3, 4):
        raise Violation("C1", f"rank {rank}")
    x = _with_heads(call, 0, rank, "num_heads")
    rotated: MaybeSize = call.attribute("rotary_embedding_dim") or x.size
    if less(rotated, 0) or less(x.size, rotated):
        raise Violation("C3", f"{rotated} of {x.size} features")
    pairs = quotient(call, rotated, 2, "C3", "rotary_embedding_dim")
    batch, length = unify(call, 3, (x.batch, x.length), "C4")
    cache: Shape = (None, pairs) if call.has(3) else (batch, length, pairs)
    for index in (1, 2):
        cache = unify(call, index, cache, "C4")
    if not call.has(3):
        batch, length, _ = cache
    return (batch, x.heads, length, x.size) if rank == 4 else (batch, length, x.features)


@infer("TensorScatter")
def tensor_scatter_24(call: Call) -> Shape:
    """Return the shape of the cache; all of its sizes but one may be known from the update."""
    shape = call.shape(0)
    update = call.shape(1)
    rank = len(shape if shape is not None else call.require_shape(1))
    axis = call.axis(call.attribute("axis"), rank, "C1")  # the rank may be that of the update alone
    capacity = None if shape is None else shape[axis]
    count = None if update is None or len(update) != rank else update[axis]
    if less(capacity, count):
        raise Violation("C2", f"{count} entries into {capacity}")
    result = list(shape if shape is not None else (None,) * rank)
    result[axis] = None
    result = list(unify(call, 1, tuple(result), "C2"))
    result[axis] = capacity
    (result[0],) = unify(call, 2, (result[0],), "C3")
    if call.attribute("mode") == "linear" and call.has(2):
        for first in call.numbers(2) or ():
            if first < 0 or less(capacity, None if count is None else first + count):
                raise Violation("C5", f"{count} entries from {first} on into {capacity}")
    return tuple(result)
