"""Types and shapes of attention, and of caches of keys and values."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from opset.inference.building.agreement import certainly_differ, complete_broadcast_target, unify_shape
from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, less
from opset.inference.building.types import Shape, Type, tensor
from opset.inference.registration import infer
from opset.model.elements import element_name
from opset.schemas.constraints.violation import Violation

MaybeSize = Size | None


@infer("Attention")
def attention_23(call: Call) -> list[Any]:
    """Return the shapes of Y, present key, present value and scores (qk_matmul_output).

    A size is None if it is unknown. The rank of Y is the rank of Q, K or V. If these ranks are unknown, a node of
    version 25 or later with the attribute `q_num_heads` counts as having the rank 3. For all other nodes without known
    rank, the shape of Y is None, and the reason is added to `call.doubts`.

    Raises Violation C5 if the mask does not fit. From version 25 on, raises Violation C10 if the node has only one of
    the present outputs, or a present key beside the input `nonpad_kv_seqlen`.
    """
    if call.version >= 25 and call.wants(1) != call.wants(2):
        raise Violation("C10", "only one of the present outputs is named")
    if call.version >= 25 and call.has(6) and call.wants(1):
        raise Violation("C10", "nonpad_kv_seqlen beside a cache")
    rank = next((rank for index in range(3) if (rank := call.rank(index)) is not None), None)
    if rank is None and call.version >= 25 and call.attribute("q_num_heads") is not None:
        rank = 3
    batch, q_length, total, past = (call.size(name) for name in ("batch", "q_length", "kv_length", "past_length"))
    heads, shared, size, v_size = (call.size(name) for name in ("q_heads", "kv_heads", "size", "v_size"))
    v_features = call.size("v_features")
    if rank == 3:
        heads, shared = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
        size = call.same(
            call.same(_quotient(call.size("q_features"), heads), _quotient(call.size("k_features"), shared)), size
        )
        v_size = call.same(_quotient(v_features, shared), v_size)
    if call.has(4):
        total = None if past is None or total is None else past + total
    batch, heads, q_length, total = _unify_with_mask(call, (batch, heads, q_length, total))

    y: Shape | None = (batch, heads, q_length, v_size)
    if rank == 3:
        groups = _quotient(heads, shared)
        features = groups * v_features if groups is not None and v_features is not None else None
        if heads is not None and isinstance(v_size, int):
            features = heads * v_size
        y = (batch, q_length, features)
    elif rank is None:
        call.doubt("the ranks of Q, K and V are not known")
        y = None
    present = (batch, shared, total)
    return [y, (*present, size), (*present, v_size), (batch, heads, q_length, total)]


def _quotient(size: MaybeSize, parts: MaybeSize) -> MaybeSize:
    """Return `size // parts`, or None if one of them is unknown (None) or `parts` is 0."""
    return None if size is None or not parts else size // parts


def _unify_with_mask(call: Call, scores: Shape) -> Shape:
    """Return `scores`, the shape of the attention scores, with unknown sizes taken from the mask's shape.

    From version 24 on, the mask's last size may be smaller than the number of keys. Raises Violation C5 if the mask
    certainly does not fit.
    """
    mask = call.shape(3)
    if mask is None or call.version < 24 or not mask:
        return complete_broadcast_target(call, 3, scores, "C5")
    total = scores[-1]
    if less(total, mask[-1]):
        raise Violation("C5", f"shape(attn_mask) = {list(mask)}, and there are {total} keys")
    return (*complete_broadcast_target(call, 3, (*scores[:-1], mask[-1]), "C5")[:-1], total)


@infer("FlexAttention", domain="ai.onnx.preview")
def flex_attention_1(call: Call) -> Generator[Any, Any, Shape]:
    """Yield requests to infer the graphs `score_mod` and `prob_mod`; return the shape of Y.

    A request is a tuple (graph, [type of the scores]); the types of the graph's outputs are sent back. A size of Y is
    None if it is unknown. Raises Violation C5 if a graph certainly changes the type of the scores, or does not have one
    output.
    """
    batch, heads, length, total = (call.size(name) for name in ("batch", "q_heads", "q_length", "kv_length"))
    precision = call.attribute("softmax_precision")
    dtype = next(filter(None, map(call.dtype, range(3))), None)
    if precision is not None:
        dtype = element_name(precision)
    elif dtype not in (None, "double"):
        dtype = "float"
    scores = tensor(dtype, (batch, heads, length, total))
    for name in ("score_mod", "prob_mod"):
        graph = call.attribute(name)
        if graph is not None:
            _check_edited_type(scores, (yield graph, [scores]))
    return (batch, heads, length, call.size("v_size"))


def _check_edited_type(before: Type, outputs: list[Type | None]) -> None:
    """Raise Violation C5 if a graph does not have one output, or if its output certainly is not of the type `before`.

    `before` is the type of the graph's input; `outputs` are the types of the outputs, None if unknown. Kind, element
    type and shape are compared; an unknown part fits.
    """
    if len(outputs) != 1:
        raise Violation("C5", f"the graph returns {len(outputs)} outputs")
    after = outputs[0]
    if after is None:
        return
    differs = (after.kind, after.element or before.element) != (before.kind, before.element or after.element)
    if differs or (after.shape is not None and certainly_differ(after.shape, before.shape or ())):
        raise Violation("C5", f"the graph returns {after} for {before}")


@infer("LinearAttention")
def linear_attention_27(call: Call) -> list[Any]:
    """Return two things: the shape of the output, and the type of the state after the last token.

    An unknown size is None. The state has the element type of the past state; if this is absent, the query's.
    """
    heads, shared = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    q_features, k_features, v_features = (call.size(name) for name in ("q_features", "k_features", "v_features"))
    size = call.same(call.same(_quotient(q_features, heads), _quotient(k_features, shared)), call.size("key_size"))
    v_size = call.same(_quotient(v_features, shared), call.size("value_size"))
    output: MaybeSize = None
    if isinstance(v_size, int):
        output = heads * v_size
    elif v_features is not None:
        output = heads // shared * v_features
    state = call.dtype(3) if call.has(3) else call.dtype(0)
    batch = call.size("batch")
    return [(batch, call.size("length"), output), tensor(state, (batch, shared, size, v_size))]


@infer("TensorScatter")
def tensor_scatter_24(call: Call) -> Shape:
    """Return the shape of the cache; a size that is unknown in it is taken from the update, except along `axis`.

    If the cache's rank is unknown, the shape is the update's, with None along `axis`. Raises Unknown if neither rank is
    known. Raises Violation C1 if `axis` is out of range, C2 if the update does not fit.
    """
    shape = call.shape(0)
    rank = len(shape if shape is not None else call.require_shape(1))
    axis = call.axis(call.attribute("axis"), rank, "C1")  # the rank may be that of the update alone
    result = list(shape if shape is not None else (None,) * rank)
    capacity = result[axis]
    result[axis] = None
    result = list(unify_shape(call, 1, tuple(result), "C2"))
    result[axis] = capacity
    result[0] = call.size("batch")
    return tuple(result)
