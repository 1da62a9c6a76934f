"""Kernels of attention, rotary embeddings, and caches of keys and values."""

from __future__ import annotations

from collections.abc import Generator
from math import prod, sqrt
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.products import matrix_product
from opset.reference.numerics.small_floats import SMALL_FLOATS, rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


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
    """Return softmax(scale * Q @ K^T + mask) @ V, keys and values behind the past ones, and the scores of a stage."""
    if context.version >= 25:
        if context.wants(1) != context.wants(2):
            raise Violation("C10", "only one of the present outputs is named")
        if nonpad_kv_seqlen is not None and context.wants(1):
            raise Violation("C10", "nonpad_kv_seqlen beside a cache")
    queries, keys, values = _split_heads(q, q_num_heads), _split_heads(k, kv_num_heads), _split_heads(v, kv_num_heads)
    past = None
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        keys, values = np.concatenate((past_key, keys), 2), np.concatenate((past_value, values), 2)
    batch, heads, length, size = queries.shape
    total = keys.shape[2]
    context.reserve(batch * heads * length * (3 * total + values.shape[3]), q.dtype)

    root = float(np.sqrt(_default_scale(size) if scale is None else scale))
    wide = np.dtype(np.float64 if q.dtype == np.float64 else np.float32)
    stage, scores_at = None, qk_matmul_output_mode if context.wants(3) else None
    scores = _multiply_groups(queries.astype(wide) * root, keys.astype(wide).swapaxes(2, 3) * root, context)
    if scores_at == 0:
        stage = scores.astype(q.dtype)
    if softcap > 0:
        scores = softcap * np.tanh(scores / softcap)
    if scores_at == 1:
        stage = scores.astype(q.dtype)
    if attn_mask is not None:
        mask = _extend_mask(attn_mask, scores.shape, context.version >= 24)
        if mask.dtype == np.bool_:
            np.copyto(scores, -np.inf, where=~mask)
        else:
            scores += mask.astype(scores.dtype)
    visible = _visible_keys(queries, total, past, nonpad_kv_seqlen, is_causal, left_window_size, right_window_size)
    if visible is not None:
        np.copyto(scores, -np.inf, where=~visible)
    may_exclude_all = attn_mask is not None or visible is not None
    if scores_at == 2:
        stage = scores.astype(q.dtype)
    excludes_all = scores.max(-1, keepdims=True) == -np.inf if may_exclude_all and total else None
    weights = _softmax(scores, q.dtype if softmax_precision is None else DTYPES[softmax_precision], q.dtype)
    if excludes_all is not None:
        np.copyto(weights, 0, where=excludes_all)
    if scores_at == 3:
        stage = weights.astype(q.dtype)
    result = _multiply_groups(weights, values.astype(np.result_type(wide, values.dtype)), context).astype(q.dtype)
    if q.ndim == 3:
        result = result.swapaxes(1, 2).reshape(batch, length, heads * values.shape[3])
    return result, keys, values, stage


def _default_scale(size: int) -> float:
    """Return the scale of products of vectors of a size."""
    return 1 / sqrt(size) if size else 1.0


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
    """Return prob_mod(softmax(score_mod(scale * Q @ K^T))) @ V; the two graphs edit scores and weights."""
    wide = np.dtype(np.float64 if q.dtype == np.float64 else np.float32)
    precision = wide if softmax_precision is None else DTYPES[softmax_precision]
    context.reserve(prod(q.shape[:3]) * (3 * k.shape[2] + v.shape[3]), precision)
    factor = _default_scale(q.shape[3]) if scale is None else scale
    wide = np.promote_types(wide, precision) if precision not in SMALL_FLOATS else wide
    products = _multiply_groups(q.astype(wide), k.astype(wide).swapaxes(2, 3), context)
    scores = (products * factor).astype(precision, copy=False)
    if score_mod is not None:
        scores = _check_edit(scores, (yield score_mod, [scores]))
    weights = _softmax(scores.copy(), precision, precision)  # the output of a graph must not be changed
    if prob_mod is not None:
        weights = weights.astype(precision, copy=False)
        weights = _check_edit(weights, (yield prob_mod, [weights]))
    return _multiply_groups(weights.astype(wide, copy=False), v.astype(wide), context).astype(q.dtype, copy=False)


def _check_edit(before: Array, outputs: list[Any]) -> Array:
    """Return the output of a graph that edits scores. Raises Violation C5 if it is not one tensor like its input."""
    after = outputs[0] if len(outputs) == 1 else None
    if not isinstance(after, np.ndarray) or after.shape != before.shape or after.dtype != before.dtype:
        outcome = f"{after.dtype}{list(after.shape)}" if isinstance(after, np.ndarray) else f"{len(outputs)} outputs"
        raise Violation("C5", f"the graph returns {outcome} for {before.dtype}{list(before.shape)}")
    return after


def _split_heads(x: Array, heads: int | None) -> Array:
    """Return a tensor as (batch, heads, length, size); with three dimensions the last one is split into heads."""
    if x.ndim == 4:
        return x
    batch, length, features = x.shape
    assert heads is not None
    return x.reshape(batch, length, heads, features // heads).swapaxes(1, 2)


def _multiply_groups(a: Array, b: Array, context: KernelContext) -> Array:
    """Return a @ b for each head; consecutive heads of a share one of b."""
    batch, heads, length, size = a.shape
    groups = b.shape[1]
    if not b.size:  # there may be no heads to share
        return np.zeros((batch, heads, length, b.shape[3]), np.result_type(a, b))
    joined = a.reshape(batch, groups, heads // groups * length, size)
    return matrix_product(joined, b, context).reshape(batch, heads, length, b.shape[3])


def _extend_mask(mask: Array, shape: tuple[int, ...], may_be_short: bool) -> Array:
    """Return a mask that broadcasts to the shape of the scores; keys that a short mask lacks are excluded."""
    stated_shape = mask.shape
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
        raise Violation("C5", f"shape(attn_mask) = {list(stated_shape)}, and the scores are {list(shape)}")
    return mask


def _visible_keys(
    queries: Array, total: int, past: int | None, nonpad: Array | None, is_causal: int, left: int, right: int
) -> Array | None:
    """Return a mask of the keys visible to each query by position: (batch or 1, 1, queries, keys); None for all."""
    length = queries.shape[2]
    offset = np.zeros((1, 1, 1, 1), np.int64)
    allowed: Array | None = None
    keys = np.arange(total)
    if nonpad is not None:
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
    """Return the softmax of rows computed in a precision, and rounded to it unless it is their own type `kind`.

    The scores may be overwritten.
    """
    if not scores.size:
        return scores
    narrow = precision in SMALL_FLOATS and precision != kind
    if narrow:
        weights = scores.astype(precision).astype(np.float32)
    else:
        weights = scores.astype(np.float32 if precision in SMALL_FLOATS else precision, copy=False)
    weights -= weights.max(-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(-1, keepdims=True)
    if narrow:
        weights = weights.astype(precision)
    return weights.astype(np.float32 if scores.dtype in SMALL_FLOATS else scores.dtype, copy=False)


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
    """Return the values that queries read from a state that each token updates, and the state after the last token."""
    batch, length, _ = query.shape
    q, k, v = map(_split_tokens, (query, key, value), (q_num_heads, kv_num_heads, kv_num_heads))
    size, v_size = k.shape[3], v.shape[3]
    q = q.reshape(length, batch, kv_num_heads, q_num_heads // kv_num_heads, size)
    shape = (batch, kv_num_heads, size, v_size)
    context.reserve(2 * prod(shape) + prod(q.shape[:-1]) * v_size)
    state = np.zeros(shape, np.float32) if past_state is None else past_state.astype(np.float32)
    factors = rates = None
    if decay is not None and update_rule.startswith("gated"):
        factors = np.exp(_split_tokens(decay, kv_num_heads))[..., None]
    if beta is not None and update_rule.endswith("delta"):
        rates = beta.astype(np.float32).swapaxes(0, 1)[..., None]
    results = np.empty((*q.shape[:-1], v_size), np.float32)
    if results.size:
        for token in range(length):
            context.check_time()
            if factors is not None:
                state *= factors[token]
            new = v[token]
            if rates is not None:
                new = rates[token] * (new - (k[token][:, :, None] @ state)[:, :, 0])
            state += k[token][..., None] * new[:, :, None]
            np.matmul(q[token], state, out=results[token])
    results *= scale or _default_scale(size)
    results = results.reshape(length, batch, q_num_heads * v_size).swapaxes(0, 1)
    return results.astype(query.dtype), state.astype(query.dtype if past_state is None else past_state.dtype)


def _split_tokens(x: Array, heads: int) -> Array:
    """Return (batch, length, heads * size) as (length, batch, heads, size) in float32."""
    batch, length, features = x.shape
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
    heads = _split_heads(x, num_heads)
    rotated = rotary_embedding_dim or heads.shape[3]
    if position_ids is not None:
        if np.any(position_ids < 0) or np.any(position_ids >= len(cos)):
            raise Violation("C5", f"shape(cos_cache) = {list(cos.shape)}")
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
    """Return the cache with new entries written into it, for each sample from its own index on."""
    axis %= past_cache.ndim
    rest = [(*x.shape[:axis], *x.shape[axis + 1 :]) for x in (past_cache, update)]
    if rest[0] != rest[1]:
        raise Violation("C2", f"shapes {list(past_cache.shape)} and {list(update.shape)}, axis {axis}")
    batch, capacity, count = past_cache.shape[0], past_cache.shape[axis], update.shape[axis]
    context.reserve(2 * batch * (count + 1), np.int64)
    first = np.zeros(batch, np.int64) if write_indices is None else write_indices
    capacity = max(capacity, 1)
    indices = (first[:, None] % capacity + np.arange(count)) % capacity
    result = past_cache.copy()
    np.moveaxis(result, axis, 1)[np.arange(batch)[:, None], indices] = np.moveaxis(update, axis, 1)
    return result
