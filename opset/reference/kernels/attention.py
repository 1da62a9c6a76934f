"""Kernels of attention and of what stands around it: rotated positions, and caches of keys and values."""

from __future__ import annotations

from collections.abc import Generator
from math import prod, sqrt
from typing import Any

import ml_dtypes
import numpy as np

from opset.reference.kernels.linalg import matrix_product
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import SMALL_FLOATS, rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation

_PRECISIONS: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.float32),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
    16: np.dtype(ml_dtypes.bfloat16),
}


@kernel("Attention", since=23)
def attention_23(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    left_window_size: int = -1,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    right_window_size: int = -1,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
    context: KernelContext,
) -> tuple[Array | None, ...]:
    """Return scaled dot-product attention, keys and values with those of the past, and scores at one stage."""
    if q.ndim not in (3, 4) or not q.ndim == k.ndim == v.ndim:
        raise Violation("C1", f"ranks {q.ndim}, {k.ndim} and {v.ndim}")
    if context.version >= 25:
        if q.ndim == 4 and (q_num_heads is not None or kv_num_heads is not None):
            raise Violation("C2", "numbers of heads beside four dimensions")
        if context.wants(1) != context.wants(2):
            raise Violation("C10", "one of two present outputs is named")
        if nonpad_kv_seqlen is not None and (past_key is not None or context.wants(1)):
            raise Violation("C10", "nonpad_kv_seqlen beside a cache")
        if min(left_window_size, right_window_size) < -1:
            raise Violation("C11", f"{left_window_size} and {right_window_size}")
    if qk_matmul_output_mode not in range(4):
        raise Violation("C8", f"qk_matmul_output_mode {qk_matmul_output_mode}")
    precision = q.dtype if softmax_precision is None else _PRECISIONS.get(softmax_precision)
    if precision is None:
        raise Violation("C9", f"softmax_precision {softmax_precision}")
    queries, keys, values = _with_heads(q, q_num_heads), _with_heads(k, kv_num_heads), _with_heads(v, kv_num_heads)
    if (past_key is None) != (past_value is None):
        raise Violation("C6", "one of both is given")
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2] if past_key.ndim == 4 else 0
        for cache, new in ((past_key, keys), (past_value, values)):
            if cache.shape != (*new.shape[:2], past, new.shape[3]):
                raise Violation("C6", f"shapes {list(past_key.shape)} and {list(past_value.shape)}")
        keys, values = np.concatenate((past_key, keys), 2), np.concatenate((past_value, values), 2)
    _check_together(queries, keys, values)
    batch, heads, length, size = queries.shape
    total = keys.shape[2]
    context.reserve(batch * heads * length * (3 * total + values.shape[3]), q.dtype)

    root = float(np.sqrt((1 / sqrt(size) if size else 1.0) if scale is None else scale))
    wide = np.dtype(np.float64 if q.dtype == np.float64 else np.float32)
    scores = _by_groups(queries.astype(wide) * root, keys.astype(wide).swapaxes(2, 3) * root)
    stages: list[Array | None] = [None] * 4
    wanted = qk_matmul_output_mode if context.wants(3) else None
    if wanted == 0:
        stages[0] = scores.astype(q.dtype)
    if softcap > 0:
        scores = softcap * np.tanh(scores / softcap)
    if wanted == 1:
        stages[1] = scores.astype(q.dtype)
    may_be_empty = False
    if attn_mask is not None:
        attn_mask = _whole_mask(attn_mask, scores.shape, context.version >= 24)
        if attn_mask.dtype != np.bool_:
            scores += attn_mask.astype(wide)
            attn_mask, may_be_empty = None, True
    before = past if past_key is not None else None
    seen = _visible(
        queries, total, before, nonpad_kv_seqlen, is_causal, left_window_size, right_window_size
    )
    for allowed in (attn_mask, seen):
        if allowed is not None:
            np.copyto(scores, -np.inf, where=~allowed)
            may_be_empty = True
    if wanted == 2:
        stages[2] = scores.astype(q.dtype)
    empty = scores.max(-1, keepdims=True) == -np.inf if may_be_empty and total else None
    weights = _softmax(scores, precision, q.dtype)
    if empty is not None:
        np.copyto(weights, 0, where=empty)
    if wanted == 3:
        stages[3] = weights.astype(q.dtype)
    result = _by_groups(weights, values.astype(np.result_type(wide, values.dtype))).astype(q.dtype)
    if q.ndim == 3:
        result = result.swapaxes(1, 2).reshape(batch, length, heads * values.shape[3])
    return result, keys, values, stages[qk_matmul_output_mode]


@kernel("FlexAttention", domain="ai.onnx.preview")
def flex_attention_1(
    q: Array,
    k: Array,
    v: Array,
    *,
    prob_mod: Any,
    scale: float | None,
    score_mod: Any,
    softmax_precision: int | None,
    context: KernelContext,
) -> Generator[Any, Any, Array]:
    """Return scaled dot-product attention with graphs that edit scores and weights."""
    if not q.ndim == k.ndim == v.ndim == 4:
        raise Violation("C1", f"ranks {q.ndim}, {k.ndim} and {v.ndim}")
    _check_together(q, k, v)
    wide = np.dtype(np.float64 if q.dtype == np.float64 else np.float32)
    precision = wide if softmax_precision is None else _PRECISIONS.get(softmax_precision)
    if precision is None:
        raise Violation("C2", f"softmax_precision {softmax_precision}")
    context.reserve(prod(q.shape[:3]) * (3 * k.shape[2] + v.shape[3]), precision)
    factor = (1 / sqrt(q.shape[3]) if q.shape[3] else 1.0) if scale is None else scale
    wide = np.promote_types(wide, precision) if precision not in SMALL_FLOATS else wide
    scores = (_by_groups(q.astype(wide), k.astype(wide).swapaxes(2, 3)) * factor).astype(precision, copy=False)
    if score_mod is not None:
        scores = _edited(scores, (yield score_mod, [scores]))
    weights = _softmax(scores.copy(), precision, precision)  # a graph may have given what is not ours to change
    if prob_mod is not None:
        weights = weights.astype(precision, copy=False)
        weights = _edited(weights, (yield prob_mod, [weights]))
    return _by_groups(weights.astype(wide, copy=False), v.astype(wide)).astype(q.dtype, copy=False)


def _edited(before: Array, outputs: list[Any]) -> Array:
    """Return what a graph made of scores. Raises Violation C5 where it is not one tensor of their type and shape."""
    after = outputs[0] if len(outputs) == 1 else None
    if not isinstance(after, np.ndarray) or after.shape != before.shape or after.dtype != before.dtype:
        said = f"{after.dtype}{list(after.shape)}" if isinstance(after, np.ndarray) else f"{len(outputs)} outputs"
        raise Violation("C5", f"it gives {said} for {before.dtype}{list(before.shape)}")
    return after


def _with_heads(x: Array, heads: int | None) -> Array:
    """Return a tensor as (batch, heads, length, size), whose heads may lie in its last dimension."""
    if x.ndim == 4:
        return x
    batch, length, features = x.shape
    if not heads or heads < 0 or features % heads:
        raise Violation("C2", f"{heads} heads of {features} features")
    return x.reshape(batch, length, heads, features // heads).swapaxes(1, 2)


def _check_together(q: Array, k: Array, v: Array) -> None:
    if k.shape[1] == 0 or q.shape[1] % k.shape[1] or k.shape[1] != v.shape[1]:
        raise Violation("C3", f"{q.shape[1]}, {k.shape[1]} and {v.shape[1]} heads")
    if not q.shape[0] == k.shape[0] == v.shape[0] or q.shape[3] != k.shape[3] or k.shape[2] != v.shape[2]:
        raise Violation("C4", f"shapes {list(q.shape)}, {list(k.shape)} and {list(v.shape)} with heads apart")


def _by_groups(a: Array, b: Array) -> Array:
    """Return the products of heads; consecutive heads of a share one of b."""
    batch, heads, length, size = a.shape
    groups = b.shape[1]
    if not a.size or not b.size:  # numpy would go through all matrices, also those without elements
        return np.zeros((batch, heads, length, b.shape[3]), np.result_type(a, b))
    joined = a.reshape(batch, groups, heads // groups * length, size)
    return matrix_product(joined, b).reshape(batch, heads, length, b.shape[3])


def _whole_mask(mask: Array, shape: tuple[int, ...], may_be_short: bool) -> Array:
    """Return a mask that broadcasts to this shape, keys that a short one does not name excluded."""
    said = f"shape(attn_mask) = {list(mask.shape)}, and the scores are {list(shape)}"
    missing = shape[-1] - mask.shape[-1] if mask.ndim else 0
    if may_be_short and missing > 0:
        excluded: Any = False
        if mask.dtype != np.bool_:
            mask, excluded = mask.astype(np.float64 if mask.dtype == np.float64 else np.float32), -np.inf
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=excluded)
    try:
        fits = np.broadcast_shapes(mask.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise Violation("C5", said)
    return mask


def _visible(
    queries: Array, total: int, past: int | None, nonpad: Array | None, is_causal: int, left: int, right: int
) -> Array | None:
    """Return which keys each query may see by its position, as (batch or 1, 1, queries, keys); None for all."""
    batch, _, length, _ = queries.shape
    offset = np.zeros((1, 1, 1, 1), np.int64)
    allowed: Array | None = None
    keys = np.arange(total)
    if nonpad is not None:
        if nonpad.shape != (batch,) or np.any(nonpad < 0) or np.any(nonpad > total):
            raise Violation("C7", f"shape(nonpad_kv_seqlen) = {list(nonpad.shape)}, {batch} samples, {total} keys")
        valid = nonpad.reshape(-1, 1, 1, 1)
        allowed = keys < valid
        offset = valid - length
    if past is not None:
        offset = np.full((1, 1, 1, 1), past)
    positions = np.arange(length)[:, None] + offset
    bounds = []
    if is_causal:
        bounds.append(keys <= positions)
    if left >= 0:
        bounds.append(keys >= positions - left)
    if right >= 0:
        bounds.append(keys <= positions + right)
    for bound in bounds:
        allowed = bound if allowed is None else allowed & bound
    return allowed


def _softmax(scores: Array, precision: np.dtype[Any], kind: np.dtype[Any]) -> Array:
    """Return the softmax of rows in a precision, rounded to it where it is not that of their own type `kind`.

    The scores may be overwritten.
    """
    if not scores.size:
        return scores
    narrow = precision in SMALL_FLOATS and precision != kind
    if narrow:
        powers = scores.astype(precision).astype(np.float32)
    else:
        powers = scores.astype(np.float32 if precision in SMALL_FLOATS else precision, copy=False)
    powers -= powers.max(-1, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(-1, keepdims=True)
    if narrow:
        powers = powers.astype(precision)
    return powers.astype(np.float32 if scores.dtype in SMALL_FLOATS else scores.dtype, copy=False)


@kernel("LinearAttention", since=27)
def linear_attention_27(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    *,
    chunk_size: int,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    update_rule: str,
    context: KernelContext,
) -> tuple[Array, Array]:
    """Return what queries read from a state that each token updates, and the state after the last."""
    if update_rule not in ("linear", "gated", "delta", "gated_delta"):
        raise Violation("C1", f"update_rule {update_rule!r}")
    if not query.ndim == key.ndim == value.ndim == 3 or not query.shape[:2] == key.shape[:2] == value.shape[:2]:
        raise Violation("C2", f"shapes {list(query.shape)}, {list(key.shape)} and {list(value.shape)}")
    if kv_num_heads < 1 or q_num_heads < 1 or q_num_heads % kv_num_heads:
        raise Violation("C3", f"{q_num_heads} and {kv_num_heads} heads")
    batch, length, _ = query.shape
    q, k, v = (
        _tokens(each, heads) for each, heads in ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads))
    )
    size, v_size = k.shape[3], v.shape[3]
    if q.shape[3] != size:
        raise Violation("C2", f"shapes {list(query.shape)} and {list(key.shape)}")
    q = q.reshape(length, batch, kv_num_heads, q_num_heads // kv_num_heads, size)
    shape = (batch, kv_num_heads, size, v_size)
    if past_state is not None and past_state.shape != shape:
        raise Violation("C4", f"shape(past_state) = {list(past_state.shape)}")
    context.reserve(2 * prod(shape) + prod(q.shape[:-1]) * v_size)
    state = np.zeros(shape, np.float32) if past_state is None else past_state.astype(np.float32)
    kept = rates = None
    if update_rule.startswith("gated"):
        if decay is None or decay.shape not in ((*key.shape[:2], kv_num_heads), key.shape):
            raise Violation("C5", f"shape(decay) = {None if decay is None else list(decay.shape)}")
        kept = np.exp(_tokens(decay, kv_num_heads))[..., None]
    if update_rule.endswith("delta"):
        if beta is None or beta.shape not in ((*key.shape[:2], kv_num_heads), (*key.shape[:2], 1)):
            raise Violation("C6", f"shape(beta) = {None if beta is None else list(beta.shape)}")
        rates = beta.astype(np.float32).swapaxes(0, 1)[..., None]
    results = np.empty((*q.shape[:-1], v_size), np.float32)
    for token in range(length) if results.size else ():
        context.check_time()
        if kept is not None:
            state *= kept[token]
        new = v[token]
        if rates is not None:
            new = rates[token] * (new - (k[token][:, :, None] @ state)[:, :, 0])
        state += k[token][..., None] * new[:, :, None]
        np.matmul(q[token], state, out=results[token])
    results *= scale or (1 / sqrt(size) if size else 1.0)
    results = results.reshape(length, batch, q_num_heads * v_size).swapaxes(0, 1)
    return results.astype(query.dtype), state.astype(query.dtype if past_state is None else past_state.dtype)


def _tokens(x: Array, heads: int) -> Array:
    """Return (batch, length, heads * size) as (length, batch, heads, size) in float32."""
    batch, length, features = x.shape
    if features % heads:
        raise Violation("C2", f"{heads} heads of {features} features")
    return x.astype(np.float32).swapaxes(0, 1).reshape(length, batch, heads, features // heads)


@kernel("RotaryEmbedding", since=23)
@rounded_once
def rotary_embedding_23(
    x: Array,
    cos: Array,
    sin: Array,
    position_ids: Array | None = None,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> Array:
    """Return pairs of features rotated by the angles of their positions."""
    if x.ndim not in (3, 4):
        raise Violation("C1", f"rank {x.ndim}")
    heads = _with_heads(x, num_heads)
    batch, _, length, size = heads.shape
    rotated = rotary_embedding_dim or size
    if rotated % 2 or not 0 <= rotated <= size:
        raise Violation("C3", f"rotary_embedding_dim {rotary_embedding_dim}, heads of {size}")
    if position_ids is not None:
        if position_ids.shape != (batch, length) or cos.ndim != 2:
            raise Violation("C4", f"shapes {list(cos.shape)} and {list(position_ids.shape)}")
        if np.any(position_ids < 0) or np.any(position_ids >= len(cos)):
            raise Violation("C5", f"shape(cos_cache) = {list(cos.shape)}")
    expected = (len(cos), rotated // 2) if position_ids is not None else (batch, length, rotated // 2)
    if cos.shape != expected or sin.shape != cos.shape:
        raise Violation("C4", f"shapes {list(cos.shape)} and {list(sin.shape)}, {rotated} features are rotated")
    if position_ids is not None:
        cos, sin = cos[position_ids], sin[position_ids]
    cos, sin = cos[:, None], sin[:, None]
    if interleaved:
        first, second = slice(0, rotated, 2), slice(1, rotated, 2)
    else:
        first, second = slice(0, rotated // 2), slice(rotated // 2, rotated)
    result = np.empty(heads.shape, x.dtype)
    a, b = heads[..., first], heads[..., second]
    result[..., first] = a * cos - b * sin
    result[..., second] = a * sin + b * cos
    result[..., rotated:] = heads[..., rotated:]
    return result if x.ndim == 4 else result.swapaxes(1, 2).reshape(x.shape)


@kernel("TensorScatter", since=24)
def tensor_scatter_24(
    past_cache: Array,
    update: Array,
    write_indices: Array | None = None,
    *,
    axis: int,
    mode: str,
    context: KernelContext,
) -> Array:
    """Return a cache into which new entries are written, for each sample from its own index on."""
    rank = past_cache.ndim
    if not -rank < axis < rank or axis == 0:
        raise Violation("C1", f"axis {axis}, rank {rank}")
    axis %= rank
    most = past_cache.shape[axis]
    rest = [(*each.shape[:axis], *each.shape[axis + 1 :]) for each in (past_cache, update)]
    if update.ndim != rank or rest[0] != rest[1] or update.shape[axis] > most:
        raise Violation("C2", f"shapes {list(past_cache.shape)} and {list(update.shape)}, axis {axis}")
    batch, count = past_cache.shape[0], update.shape[axis]
    context.reserve(2 * batch * (count + 1), np.int64)
    first = np.zeros(batch, np.int64) if write_indices is None else write_indices
    if first.shape != (batch,):
        raise Violation("C3", f"shape(write_indices) = {list(first.shape)}, {batch} samples")
    if mode == "circular":
        first = first % max(most, 1)
    elif mode != "linear":
        raise Violation("C4", f"mode {mode!r}")
    elif np.any(first < 0) or np.any(first > most - count):
        raise Violation("C5", f"{count} entries into {most}")
    places = (first[:, None] + np.arange(count)) % max(most, 1)
    result = past_cache.copy()
    np.moveaxis(result, axis, 1)[np.arange(batch)[:, None], places] = np.moveaxis(update, axis, 1)
    return result
