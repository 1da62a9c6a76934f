"""Attention: short masks, padding and windows are written as masks for older versions.

Below their first versions Attention, LinearAttention, RotaryEmbedding and TensorScatter are written out.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from opset.adapters.building.positions import Size, quotient, size_along, size_name, sum_of, vector_of
from opset.adapters.building.shared import cast, known_size, need_size, positive_axis, working_type
from opset.adapters.building.subgraphs import LoopBody, add_loop
from opset.adapters.limits import MAX_VISIBLE
from opset.model.elements import ELEMENTS, NUMBERS
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, NONPAD = range(7)
FLOATS = frozenset(("float", "double", "float16", "bfloat16"))
TURNED = [0, 2, 1, 3]
"""Between (batch, heads, length, size) and (batch, length, heads, size)."""


@up("Attention", since=24)
def attention_24_up(op: Builder, node: Node) -> Result:
    """Repeat a mask of one column, which applied to all keys before 24 and to the first key alone from then on."""
    last = known_size(node, MASK, -1)
    if not node.input(MASK) or (last is not None and (last != 1 or _known_total(node) == 1)):
        return None
    inputs = list(node.inputs)
    inputs[MASK] = op.Expand(inputs[MASK], vector_of(op, [_total_keys(op, node)]))
    return op.copy(node, inputs=inputs)


@down("Attention", since=24)
def attention_24_down(op: Builder, node: Node) -> Result:
    """Write short masks and `nonpad_kv_seqlen` as whole masks with minus infinity for excluded keys."""
    inputs = list(node.inputs)
    if not node.input(NONPAD):
        if not node.input(MASK) or known_size(node, MASK, -1) == _known_total(node) is not None:
            return None
        inputs[MASK] = _full_mask(op, node)
        return op.copy(node, inputs=inputs)
    _check_no_cache_with_padding(node)
    columns = _integers_below(op, _total_keys(op, node))
    visible = op.Less(columns, op.Unsqueeze(node.input(NONPAD), op.const([1, 2, 3])))
    if node.attr("is_causal"):
        visible = op.And(visible, op.LessOrEqual(columns, _query_positions(op, node)))
    return op.copy(node, inputs=[*inputs[:MASK], _restricted_mask(op, node, visible)], drop=["is_causal"])


@up("Attention", since=25)
@refuses(
    "C204",
    "`nonpad_kv_seqlen` is used together with a cache, which the standard does not define",
    "`nonpad_kv_seqlen` is used together with present outputs, which version 25 excludes",
    "the number of heads is stated, and the input has another one",
)
def attention_25_up(op: Builder, node: Node) -> Result:
    """Remove forms that version 25 excludes: numbers of heads with four dimensions, a cache with `nonpad_kv_seqlen`.

    It requires both present outputs or neither; an unused one may be named.
    """
    drop = _heads_of_dimensions(node)
    outputs = [node.output(index) for index in range(4)]
    results = list(outputs)
    if node.input(NONPAD):
        _check_no_cache_with_padding(node)
        if outputs[1] or outputs[2]:
            if node.need_rank(KEY) != 4:
                why = "'nonpad_kv_seqlen' is used together with present outputs, which version 25 excludes"
                raise Refusal("C204", why, "take the outputs from K and V")
            # Without a past the present key and value are the given ones.
            outputs[1:3] = "", ""
            results[1:3] = node.input(KEY), node.input(VALUE)
    elif bool(outputs[1]) != bool(outputs[2]):
        outputs[1:3] = (name or op.fresh("present") for name in outputs[1:3])
        results = list(outputs)
    elif not drop:
        return None
    op.copy(node, outputs=outputs, drop=drop)
    return results


@down("Attention", since=25)
def attention_25_down(op: Builder, node: Node) -> Result:
    """Write a window as a mask with minus infinity outside of it."""
    left, right = node.attr("left_window_size"), node.attr("right_window_size")
    if left == right == -1:
        return None
    columns = _integers_below(op, _total_keys(op, node))
    positions = _query_positions(op, node)
    bounds = []
    if left >= 0:
        bounds.append(op.GreaterOrEqual(columns, op.Sub(positions, op.const(left))))
    if right >= 0:
        bounds.append(op.LessOrEqual(columns, op.Add(positions, op.const(right))))
    visible = op.And(*bounds) if len(bounds) == 2 else bounds[0]
    inputs = [*node.inputs, *[""] * (MASK + 1 - len(node.inputs))]
    inputs[MASK] = _restricted_mask(op, node, visible)
    return op.copy(node, inputs=inputs, drop=["left_window_size", "right_window_size"])


def _heads_of_dimensions(node: Node) -> list[str]:
    """Return the attributes that repeat the number of heads; raise Refusal if they differ from it, or it is unknown."""
    stated = [(name, index) for name, index in (("q_num_heads", QUERY), ("kv_num_heads", KEY)) if node.has(name)]
    if not stated or node.need_rank(QUERY) != 4:
        return []
    for name, index in stated:
        heads = known_size(node, index, 1) if node.rank(index) == 4 else None
        if heads is None:
            why = f"'{name}' is stated, and the number of heads in four-dimensional inputs is not known"
            label = "the number of heads is stated, and that of four-dimensional inputs is not known"
            raise Refusal("C207", why, f"remove '{name}', which is for three-dimensional inputs", label=label)
        if heads != node.attr(name):
            why = f"'{name}' is {node.attr(name)}, and the input has {heads} heads"
            label = "the number of heads is stated, and the input has another one"
            raise Refusal("C204", why, f"remove '{name}', which is for three-dimensional inputs", label=label)
    return [name for name, _ in stated]


def _check_no_cache_with_padding(node: Node) -> None:
    """Raise Refusal C204 if there are both a cache and `nonpad_kv_seqlen`."""
    if node.input(PAST_KEY):  # then the past value is given, too
        why = "'nonpad_kv_seqlen' is used together with a cache, which the standard does not define"
        raise Refusal("C204", why, "use one of the two")


def _length_of(op: Builder, node: Node, index: int) -> Size:
    """Return the length of queries, keys or a cache, their last dimension but one."""
    length = known_size(node, index, -2)
    return op.Squeeze(op.Shape(node.input(index), start=-2, end=-1)) if length is None else length


def _known_total(node: Node) -> int | None:
    """Return the number of keys, including the cache, None if it is unknown."""
    lengths = [known_size(node, index, -2) for index in (KEY, PAST_KEY) if node.input(index)]
    return None if None in lengths else sum(length for length in lengths if length is not None)


def _total_keys(op: Builder, node: Node) -> Size:
    """Return the number of keys, including the cache."""
    keys = _length_of(op, node, KEY)
    return sum_of(op, _length_of(op, node, PAST_KEY), keys) if node.input(PAST_KEY) else keys


def _integers_below(op: Builder, count: Size) -> str:
    """Return the integers from 0 to a count, exclusive, made by a node, since each of many layers may have many."""
    return op.Range(op.const(0), size_name(op, count), op.const(1))


def _query_positions(op: Builder, node: Node) -> str:
    """Return the positions of the queries, `(length, 1)`, or `(batch, 1, length, 1)` with `nonpad_kv_seqlen`."""
    length = _length_of(op, node, QUERY)
    rows = op.Unsqueeze(_integers_below(op, length), op.const([1]))
    if node.input(PAST_KEY):
        return op.Add(rows, size_name(op, _length_of(op, node, PAST_KEY)))
    if node.input(NONPAD):
        offset = op.Sub(node.input(NONPAD), size_name(op, length))
        return op.Add(rows, op.Unsqueeze(offset, op.const([1, 2, 3])))
    return rows


def _full_mask(op: Builder, node: Node) -> str:
    """Return the mask with a column for every key; missing columns exclude their keys, integers become floats."""
    mask = node.input(MASK)
    last = known_size(node, MASK, -1)
    total = _known_total(node)
    if (element := node.need_element(MASK)) != "bool":
        mask = cast(op, mask, element, _mask_element(node))
    if last is not None and total is not None:
        if last == total:
            return mask
        if last > total:
            raise Refusal("C103", f"the mask has {last} columns for {total} keys")
        pads = op.const([0, total - last])
    else:
        missing = op.Sub(vector_of(op, [_total_keys(op, node)]), op.Shape(mask, start=-1))
        pads = op.Concat(op.const([0]), missing, axis=0)
    return op.Pad(mask, pads, _excluding_value(op, node), op.const([-1]))


def _restricted_mask(op: Builder, node: Node, visible: str) -> str:
    """Return a mask that excludes keys that the node's mask excludes and keys that are not visible."""
    if not node.input(MASK):
        return visible
    mask = _full_mask(op, node)
    element = _mask_element(node)
    if element == "bool":
        return op.And(mask, visible)
    return op.Where(visible, mask, _excluding_value(op, node))


def _mask_element(node: Node) -> str:
    """Return the type of a mask that can exclude keys: for a mask of integers the type of the scores, else its own."""
    element = node.need_element(MASK)
    return element if element == "bool" or element in FLOATS else working_type(node.need_element(QUERY))


def _excluding_value(op: Builder, node: Node) -> str:
    """Return the scalar of the mask's type that excludes a key."""
    element = _mask_element(node)
    return op.const(False) if element == "bool" else op.const(float("-inf"), element)


@lower("Attention", since=23)
def attention_lowered(op: Builder, node: Node) -> Result:
    """Write the formula, in float or double up to the result: softmax(softcap(scale * Q @ K^T) + mask) @ V."""
    element = node.need_element(QUERY)
    wide = working_type(node.need_element(QUERY))
    flat = (node.has("q_num_heads") or node.has("kv_num_heads")) and node.need_rank(QUERY) == 3
    queries = _with_heads(op, node, QUERY, "q_num_heads", flat)
    keys, values = (_with_heads(op, node, index, "kv_num_heads", flat) for index in (KEY, VALUE))
    if node.input(PAST_KEY):
        keys = op.Concat(node.input(PAST_KEY), keys, axis=2)
        values = op.Concat(node.input(PAST_VALUE), values, axis=2)
    present = keys, values

    root = _root_of_scale(op, node, wide, flat)
    queries = op.Mul(cast(op, queries, element, wide), root)
    transposed_keys = op.Mul(op.Transpose(cast(op, keys, element, wide), perm=[0, 1, 3, 2]), root)
    value_element = node.need_element(VALUE)
    value_wide = "double" if "double" in (wide, value_element) else "float"
    values = cast(op, values, value_element, value_wide)
    if repeated := _heads_to_repeat(op, node, flat):
        transposed_keys = op.Gather(transposed_keys, repeated, axis=1)
        values = op.Gather(values, repeated, axis=1)

    stages = [op.MatMul(queries, transposed_keys)]
    cap = node.attr("softcap")
    stages.append(op.Mul(op.Tanh(op.Div(stages[0], limit := op.const(cap, wide))), limit) if cap > 0 else stages[0])
    stages.append(_mask_scores(op, node, stages[1], wide))
    # Inference may not find the rank of masks that older operators make, and negative axes need it.
    op.state(stages[2], wide, (None, None, None, None))
    weights = _softmax_in(op, node, stages[2], element, wide)
    if stages[2] != stages[1]:
        # A query that may attend to nothing gets zeros; Softmax makes NaN of such rows.
        lowest = op.const(LOWEST[wide], wide)
        excluded = op.Less(op.ReduceMax(stages[2], op.const([3])), lowest)
        weights = op.Where(excluded, op.const(0.0, wide), weights)
    stages.append(weights)
    stage = cast(op, stages[node.attr("qk_matmul_output_mode")], wide, element) if node.output(3) else ""

    y = cast(op, op.MatMul(cast(op, weights, wide, value_wide), values), value_wide, element)
    if flat:
        y = _join_heads(op, node, op.Transpose(y, perm=TURNED), VALUE, ("q_num_heads", "kv_num_heads"))
    return y, *present, stage


LOWEST = {"float": -3.4028234663852886e38, "double": -1.7976931348623157e308}
"""The least finite number of a type: less is minus infinity alone."""


def _head_count(node: Node, name: str) -> int:
    """Return the number of heads in an attribute; raise Refusal C103 if it is absent or less than 1."""
    heads = node.attr(name)
    if heads is None or heads < 1:
        raise Refusal("C103", f"'{name}' is needed with three dimensions, and at least 1")
    return int(heads)


def _size_of_head(node: Node, index: int, heads: int) -> int | None:
    """Return the size of a head of a value (batch, length, features), None if it is not known."""
    features = known_size(node, index, 2) if node.rank(index) == 3 else None
    if features is None:
        return None
    if features % heads:
        raise Refusal("C103", f"{features} features cannot be divided into {heads} heads")
    return features // heads


def _split_heads(op: Builder, node: Node, index: int, heads: int) -> str:
    """Return a value (batch, length, features) as (batch, length, heads, size)."""
    size = _size_of_head(node, index, heads)
    if size is not None:
        return op.Reshape(node.input(index), op.const([0, 0, heads, size]))
    size_per_head = op.Div(vector_of(op, [size_along(op, node, index, 2)]), op.const([heads]))
    return op.Reshape(node.input(index), op.Concat(op.const([0, 0, heads]), size_per_head, axis=0))


def _with_heads(op: Builder, node: Node, index: int, attribute: str, flat: bool) -> str:
    """Return an input as (batch, heads, length, size); `flat` says that the last of three dimensions has the heads."""
    if not flat:
        return node.input(index)
    return op.Transpose(_split_heads(op, node, index, _head_count(node, attribute)), perm=TURNED)


def _join_heads(op: Builder, node: Node, x: str, index: int, attributes: tuple[str, str]) -> str:
    """Return (batch, length, heads, size) as (batch, length, features); attributes count the heads of x and input."""
    heads, heads_of_input = (_head_count(node, name) for name in attributes)
    size = _size_of_head(node, index, heads_of_input)
    if size is not None:
        return op.Reshape(x, op.const([0, 0, heads * size]))
    features = op.Mul(
        op.Div(vector_of(op, [size_along(op, node, index, 2)]), op.const([heads_of_input])), op.const([heads])
    )
    return op.Reshape(x, op.Concat(op.const([0, 0]), features, axis=0))


def _heads_to_repeat(op: Builder, node: Node, flat: bool) -> str:
    """Return the key/value head of each query head, "" if they need not be repeated."""
    heads: list[Any] = [node.attr(name) for name in ("q_num_heads", "kv_num_heads")]
    if not flat:
        heads = [known_size(node, index, 1) if node.rank(index) == 4 else None for index in (QUERY, KEY)]
    if heads[1] == 1 or (heads[0] == heads[1] and heads[0] is not None):
        return ""
    if not all(isinstance(count, int) for count in heads):
        queries, keys = (size_along(op, node, index, 1) for index in (QUERY, KEY))
        return op.Div(_integers_below(op, queries), size_name(op, quotient(op, queries, keys)))
    if heads[1] < 1 or heads[0] % heads[1]:
        raise Refusal("C103", f"{heads[0]} query heads cannot share {heads[1]} key/value heads")
    node.charge(heads[0])
    return op.const([head // (heads[0] // heads[1]) for head in range(heads[0])])


def _root_of_scale(op: Builder, node: Node, wide: str, flat: bool) -> str:
    """Return the square root of the scale, a factor of both queries and keys."""
    scale = node.attr("scale")
    if scale is None:
        size = known_size(node, QUERY, -1)
        heads = _head_count(node, "q_num_heads") if flat else 1
        if size is None:
            counted = op.Cast(size_name(op, size_along(op, node, QUERY, 2 if flat else 3)), to=NUMBERS[wide])
            counted = op.Div(counted, op.const(float(heads), wide)) if flat else counted
            return op.Sqrt(op.Reciprocal(op.Sqrt(counted)))
        scale = 1 / sqrt(size // heads) if size >= heads else 1.0
    return op.const(sqrt(scale), wide)


def _mask_scores(op: Builder, node: Node, scores: str, wide: str) -> str:
    """Return the scores with the mask added, and minus infinity for each key that may not be attended to."""
    allowed = ""
    if node.input(MASK):
        element = node.need_element(MASK)
        if element == "bool":
            allowed = node.input(MASK)
        else:
            scores = op.Add(scores, cast(op, node.input(MASK), element, wide))
    if node.attr("is_causal"):
        visible = _causal_mask(op, node)
        allowed = op.And(allowed, visible) if allowed else visible
    return op.Where(allowed, scores, op.const(float("-inf"), wide)) if allowed else scores


def _causal_mask(op: Builder, node: Node) -> str:
    """Return a mask of the keys that are not after the query; the first keys are the cache."""
    length, keys = known_size(node, QUERY, -2), known_size(node, KEY, -2)
    past = known_size(node, PAST_KEY, -2) if node.input(PAST_KEY) else 0
    if length is not None and keys is not None and past is not None and length * (past + keys) <= MAX_VISIBLE:
        flags = [key <= query + past for query in range(length) for key in range(past + keys)]
        return op.const(flags, "bool", [length, past + keys])
    return op.Not(op.Greater(_integers_below(op, _total_keys(op, node)), _query_positions(op, node)))


def _softmax_in(op: Builder, node: Node, scores: str, element: str, wide: str) -> str:
    """Return the softmax of rows in the type of `softmax_precision`; a narrow type rounds before and after it."""
    number = node.attr("softmax_precision")
    precision = element if number is None else ELEMENTS[number].name
    if working_type(precision) == wide and precision in (element, wide):
        return op.Softmax(scores, axis=-1)
    rounded = cast(op, scores, wide, precision)
    weights = op.Softmax(cast(op, rounded, precision, working_type(precision)), axis=-1)
    return cast(op, cast(op, weights, working_type(precision), precision), precision, wide)


@lower("RotaryEmbedding", since=23)
def rotary_embedding_lowered(op: Builder, node: Node) -> Result:
    """Write the formula for two halves of the rotated features; interleaved ones are brought to halves and back."""
    element = node.need_element(0)
    wide = working_type(node.need_element(0))
    flat = node.has("num_heads") and node.need_rank(0) == 3
    size, rotated = _rotated_sizes(node, flat)
    half = rotated // 2
    node.charge(rotated)
    heads = x = _split_heads(op, node, 0, _head_count(node, "num_heads")) if flat else node.input(0)
    if rotated != size:
        x = op.Slice(x, op.const([0]), op.const([rotated]), op.const([3]))
    x = cast(op, x, element, wide)
    if node.attr("interleaved"):
        x = op.Gather(x, op.const([*range(0, rotated, 2), *range(1, rotated, 2)]), axis=3)
    axis = op.const([2 if flat else 1])
    cos, sin = (
        cast(op, op.Unsqueeze(op.Gather(cache, node.input(3)) if node.input(3) else cache, axis), element, wide)
        for cache in node.inputs[1:3]
    )
    a, b = op.Split(x, op.const([half, half]), axis=3, outputs=2)
    halves = op.Sub(op.Mul(a, cos), op.Mul(b, sin)), op.Add(op.Mul(a, sin), op.Mul(b, cos))
    y = op.Concat(*halves, axis=3)
    if node.attr("interleaved"):
        y = op.Gather(y, op.const([index // 2 + index % 2 * half for index in range(rotated)]), axis=3)
    y = cast(op, y, wide, element)
    if rotated != size:
        y = op.Concat(y, op.Slice(heads, op.const([rotated]), op.const([2**63 - 1]), op.const([3])), axis=3)
    return _join_heads(op, node, y, 0, ("num_heads", "num_heads")) if flat else y


def _rotated_sizes(node: Node, flat: bool) -> tuple[int | None, int]:
    """Return the size of a head, None if it is not known, and the number of its rotated features."""
    rotated = node.attr("rotary_embedding_dim")
    size = _size_of_head(node, 0, _head_count(node, "num_heads")) if flat else known_size(node, 0, -1)
    if not rotated:
        rotated = size = 2 * need_size(node, 1, -1) if size is None else size
    if rotated < 0 or rotated % 2:
        raise Refusal("C103", f"{rotated} features are rotated, and they make no pairs")
    return size, rotated


@lower("TensorScatter", since=24)
def tensor_scatter_lowered(op: Builder, node: Node) -> Result:
    """Write the update to the elements that follow the first index of each sample."""
    cache = node.input(0)
    update = node.input(1)
    rank = node.need_rank(0)
    axis = positive_axis(node.attr("axis"), rank)
    if axis == 0:
        raise Refusal("C103", "'axis' is that of the batch")
    index = _integers_below(op, size_along(op, node, 1, axis))
    if axis < rank - 1:
        index = op.Unsqueeze(index, op.const(list(range(1, rank - axis))))
    if node.input(2):
        index = op.Add(index, op.Unsqueeze(node.input(2), op.const(list(range(1, rank)))))
    if node.attr("mode") == "circular":
        index = op.Mod(index, size_name(op, size_along(op, node, 0, axis)))
    return op.ScatterElements(cache, op.Expand(index, op.Shape(update)), update, axis=axis)


@lower("LinearAttention", since=27)
def linear_attention_lowered(op: Builder, node: Node) -> Result:
    """Update the state in a Loop over the tokens, in float."""
    element = node.need_element(0)
    rule = node.attr("update_rule")
    queries, heads = _head_count(node, "q_num_heads"), _head_count(node, "kv_num_heads")
    size = need_size(node, 1, 2) // heads
    value_size = need_size(node, 2, 2) // heads

    def tokens(index: int, *dims: int) -> str:
        """Return an input as (length, batch, *dims)."""
        wide = cast(op, node.input(index), node.need_element(index), "float")
        return op.Reshape(op.Transpose(wide, perm=[1, 0, 2]), op.const([0, 0, *dims]))

    decay = rate = ""
    if rule.startswith("gated"):
        decay = op.Exp(tokens(4, heads, need_size(node, 4, 2) // heads, 1))
    if rule.endswith("delta"):
        rate = tokens(5, need_size(node, 5, 2), 1, 1)
    state_element = node.need_element(3) if node.input(3) else element
    if node.input(3):
        state = cast(op, node.input(3), state_element, "float")
    else:
        sizes = vector_of(op, [size_along(op, node, 0, 0), heads, size, value_size])
        state = op.Expand(op.const(0.0, "float"), sizes)
    query = tokens(0, heads, queries // heads, size)
    value = tokens(2, heads, 1, value_size)
    key = tokens(1, heads, 1, size) if rate else ""
    column = tokens(1, heads, size, 1)

    body = LoopBody(op, "token")
    before = body.input("float", (None, heads, size, value_size))

    def of_token(name: str) -> str:
        return body.node("Gather", name, body.turn)

    kept = before
    new = of_token(value)
    if decay:
        kept = body.node("Mul", kept, of_token(decay))
    if rate:
        missing = body.node("Sub", new, body.node("MatMul", of_token(key), kept))
        new = body.node("Mul", of_token(rate), missing)
    after = body.node("Add", kept, body.node("Mul", of_token(column), new))
    body.output(body.going, "bool", ())
    body.output(after, "float", (None, heads, size, value_size))
    body.output(body.node("MatMul", of_token(query), after), "float", (None, heads, queries // heads, value_size))
    present, y = add_loop(op, size_name(op, size_along(op, node, 0, 1)), [state], body)

    factor = op.const(node.attr("scale") or (1 / sqrt(size) if size else 1.0), "float")
    y = op.Mul(op.Transpose(y, perm=[1, 0, 2, 3, 4]), factor)
    y = op.Reshape(y, op.Concat(op.Shape(node.input(0), end=2), op.const([queries * value_size]), axis=0))
    return cast(op, y, "float", element), cast(op, present, "float", state_element)
