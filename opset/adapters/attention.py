"""Adapters of Attention: short masks, padding and windows are written as masks for older versions."""

from __future__ import annotations

from opset.version_converter.registration import down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, NONPAD = range(7)
FLOATS = frozenset(("float", "double", "float16", "bfloat16"))


@up("Attention", since=24)
def attention_24_up(op: Builder, node: Node) -> Result:
    """Repeat a mask of one column, which applied to all keys before 24 and to the first key alone from then on."""
    last = _last_of_mask(node)
    if not node.input(MASK) or (last is not None and (last != 1 or _known_total(node) == 1)):
        return None
    inputs = list(node.inputs)
    inputs[MASK] = op.Expand(inputs[MASK], _vector(op, _total(op, node)))
    return op.copy(node, inputs=inputs)


@down("Attention", since=24)
def attention_24_down(op: Builder, node: Node) -> Result:
    """Write short masks and `nonpad_kv_seqlen` as whole masks with minus infinity for excluded keys."""
    inputs = list(node.inputs)
    if not node.input(NONPAD):
        if not node.input(MASK) or _last_of_mask(node) == _known_total(node) is not None:
            return None
        inputs[MASK] = _full_mask(op, node)
        return op.copy(node, inputs=inputs)
    _no_cache_and_padding(node)
    columns = _numbers(op, _total(op, node))
    visible = op.Less(columns, op.Unsqueeze(node.input(NONPAD), op.const([1, 2, 3])))
    if _is_causal(node):
        visible = op.And(visible, op.LessOrEqual(columns, _positions(op, node)))
    return op.copy(node, inputs=[*inputs[:MASK], _restricted_mask(op, node, visible)], drop=["is_causal"])


@up("Attention", since=25)
def attention_25_up(op: Builder, node: Node) -> Result:
    """Remove what version 25 excludes: numbers of heads beside four dimensions, a cache beside `nonpad_kv_seqlen`.

    It requires both present outputs or neither; one that is unused may be named.
    """
    drop = _heads_of_dimensions(node)
    outputs = [node.output(index) for index in range(4)]
    results = list(outputs)
    if node.input(NONPAD):
        _no_cache_and_padding(node)
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
    columns, positions = _numbers(op, _total(op, node)), _positions(op, node)
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
    """Return the attributes with a number of heads that four-dimensional inputs have as a dimension."""
    stated = [(name, index) for name, index in (("q_num_heads", QUERY), ("kv_num_heads", KEY)) if node.has(name)]
    if not stated or node.need_rank(QUERY) != 4:
        return []
    for name, index in stated:
        shape = node.shape(index)
        heads = shape[1] if shape is not None and len(shape) == 4 else None
        if not isinstance(heads, int):
            why = f"'{name}' is stated, and the number of heads in four-dimensional inputs is not known"
            raise Refusal("C207", why, f"remove '{name}', which is for three-dimensional inputs")
        if heads != node.attr(name):
            why = f"'{name}' is {node.attr(name)}, and the input has {heads} heads"
            raise Refusal("C204", why, f"remove '{name}', which is for three-dimensional inputs")
    return [name for name, _ in stated]


def _no_cache_and_padding(node: Node) -> None:
    if node.input(PAST_KEY) or node.input(PAST_VALUE):
        why = "'nonpad_kv_seqlen' is used together with a cache, which the standard does not define"
        raise Refusal("C204", why, "use one of the two")


def _is_causal(node: Node) -> bool:
    causal = node.attr("is_causal")
    if causal not in (0, 1):
        raise Refusal("C103", "'is_causal' is neither 0 nor 1")
    return bool(causal)


def _known_length(node: Node, index: int) -> int | None:
    """Return the length of queries, keys or a cache (the last dimension but one), None where it is unknown."""
    shape = node.shape(index)
    length = shape[-2] if shape is not None and len(shape) >= 2 else None
    return length if isinstance(length, int) else None


def _length(op: Builder, node: Node, index: int) -> str:
    known = _known_length(node, index)
    if known is not None:
        return op.const(known)
    return op.Squeeze(op.Shape(node.input(index), start=-2, end=-1))


def _known_total(node: Node) -> int | None:
    lengths = [_known_length(node, index) for index in (KEY, PAST_KEY) if node.input(index)]
    return None if None in lengths else sum(length for length in lengths if length is not None)


def _total(op: Builder, node: Node) -> str:
    """Return the number of keys, those of the cache included, as a scalar."""
    known = _known_total(node)
    if known is not None:
        return op.const(known)
    keys = _length(op, node, KEY)
    return op.Add(_length(op, node, PAST_KEY), keys) if node.input(PAST_KEY) else keys


def _vector(op: Builder, scalar: str) -> str:
    return op.Unsqueeze(scalar, op.const([0]))


def _numbers(op: Builder, count: str) -> str:
    """Return the integers from 0 to a count, exclusive."""
    return op.Range(op.const(0), count, op.const(1))


def _positions(op: Builder, node: Node) -> str:
    """Return the positions of the queries, `(length, 1)`, or `(batch, 1, length, 1)` with `nonpad_kv_seqlen`."""
    length = _length(op, node, QUERY)
    rows = op.Unsqueeze(_numbers(op, length), op.const([1]))
    if node.input(PAST_KEY):
        return op.Add(rows, _length(op, node, PAST_KEY))
    if node.input(NONPAD):
        offset = op.Sub(node.input(NONPAD), length)
        return op.Add(rows, op.Unsqueeze(offset, op.const([1, 2, 3])))
    return rows


def _last_of_mask(node: Node) -> int | None:
    shape = node.shape(MASK)
    last = shape[-1] if shape else None
    return last if isinstance(last, int) else None


def _full_mask(op: Builder, node: Node) -> str:
    """Return the mask with a column for every key; missing columns exclude their keys."""
    mask, last, total = node.input(MASK), _last_of_mask(node), _known_total(node)
    if last is not None and total is not None:
        if last == total:
            return mask
        if last > total:
            raise Refusal("C103", f"the mask has {last} columns for {total} keys")
        pads = op.const([0, total - last])
    else:
        missing = op.Sub(_vector(op, _total(op, node)), op.Shape(mask, start=-1))
        pads = op.Concat(op.const([0]), missing, axis=0)
    return op.Pad(mask, pads, _excluded(op, node), op.const([-1]))


def _restricted_mask(op: Builder, node: Node, visible: str) -> str:
    """Return a mask that excludes keys that the node's mask excludes and keys that are not visible."""
    if not node.input(MASK):
        return visible
    mask, element = _full_mask(op, node), node.need_element(MASK)
    if element == "bool":
        return op.And(mask, visible)
    excluded = _excluded(op, node)
    return op.Add(mask, op.Where(visible, op.const(0.0, element, []), excluded))


def _excluded(op: Builder, node: Node) -> str:
    """Return the scalar of the mask's type that excludes a key."""
    element = node.need_element(MASK)
    if element == "bool":
        return op.const(False, "bool", [])
    if element not in FLOATS:
        raise Refusal("C204", f"a mask of type {element} has no value that excludes a key", "use a boolean mask")
    return op.const(float("-inf"), element, [])
