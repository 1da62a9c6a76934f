"""The operators of index maps, written from the specification: which element of the input stands at an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import z3

from judges.proofs import index_maps as m
from judges.proofs.index_maps import Demands, Index, NotReadError, Tensor, Term, Value
from opset.model.arrays import array_of
from opset.model.attributes import attribute_value
from opset.model.elements import NUMBERS

Inputs = Sequence[Tensor | None]
"""Inputs of a node, None for one that is left out."""


class Call:
    """A node that is read: its inputs, its attributes, its opset, and the demands of the model."""

    def __init__(self, node: Any, version: int, inputs: Inputs, demands: Demands) -> None:
        self.node, self.version, self.inputs, self.demands = node, version, inputs, demands
        self.attributes = {each.name: attribute_value(each) for each in node.attribute}

    def tensor(self, position: int) -> Tensor:
        """Return an input that must be there."""
        if position >= len(self.inputs) or (tensor := self.inputs[position]) is None:
            raise NotReadError(f"{self.node.op_type} has no input {position}")
        return tensor

    def given(self, position: int) -> bool:
        """Whether there is an input at a position."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def terms(self, name: str, position: int) -> list[Term] | None:
        """Return integers that are an attribute, or an input at a position; None if there are none."""
        if name in self.attributes:
            value = self.attributes[name]
            return [int(each) for each in value]
        return m.elements(self.tensor(position)) if self.given(position) else None

    def axis(self, rank: int, default: int = 0) -> int:
        """Return the attribute `axis`, counted from the front."""
        return int(self.attributes.get("axis", default)) % max(rank, 1)


def apply(node: Any, version: int, inputs: Inputs, demands: Demands) -> list[Tensor]:
    """Return the outputs of a node; raise NotReadError if its operator is not known here."""
    call = Call(node, version, inputs, demands)
    if node.op_type in ELEMENTWISE:
        return [m.elementwise(demands, ELEMENTWISE[node.op_type], *_placed(call))]
    if node.op_type not in OPERATORS:
        raise NotReadError(f"{node.op_type} is not read")
    result = OPERATORS[node.op_type](call)
    return result if isinstance(result, list) else [result]


def tensor_of_constant(tensor: Any) -> Tensor:
    """Return the tensor of a constant: numbers if it is of integers or bool, else opaque values named after it."""
    return tensor_of_array(array_of(None, tensor))


def tensor_of_array(array: Any) -> Tensor:
    """Return the tensor of an array."""
    if array.dtype.kind in "iu":
        terms: list[Term] = [int(each) for each in array.ravel()]
    elif array.dtype.kind == "b":
        terms = [z3.BoolVal(bool(each)) for each in array.ravel()]
    else:
        terms = [z3.Const(f"constant {each!s}", Value) for each in array.ravel().tolist()]
    return m.of_elements(terms, array.shape) if array.shape else m.scalar(terms[0])


def _present(inputs: Inputs) -> list[Tensor]:
    return [each for each in inputs if each is not None]


def _opaque(name: str) -> Callable[..., Term]:
    """Return a function of data, or that of integers if all arguments are integers."""

    def function(*terms: Term) -> Term:
        is_data = [isinstance(each, z3.ExprRef) and each.sort() == Value for each in terms]
        if all(is_data):
            return z3.Function(name, *[Value] * len(terms), Value)(*terms)
        return INTEGERS[name](*(_whole(each) if own else each for each, own in zip(terms, is_data, strict=True)))

    return function


INTEGERS: dict[str, Callable[..., Term]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": m.quotient,
    "Mod": m.remainder,
    "Neg": lambda a: -a,
    "Max": lambda *terms: _folded(m.most, terms),
    "Min": lambda *terms: _folded(m.least, terms),
    "Less": lambda a, b: m.holds(a < b),
    "Greater": lambda a, b: m.holds(a > b),
    "Equal": lambda a, b: m.holds(a == b),
    "And": z3.And,
    "Or": z3.Or,
    "Xor": z3.Xor,
    "Not": z3.Not,
}
ELEMENTWISE: dict[str, Callable[..., Term]] = {
    **{name: _opaque(name) for name in (*INTEGERS, "Pow", "Mean")},
    "Sum": lambda *terms: _folded(_opaque("Add"), terms),
    "Where": m.when,
}


def _folded(function: Callable[[Term, Term], Term], terms: Sequence[Term]) -> Term:
    result = terms[0]
    for term in terms[1:]:
        result = function(result, term)
    return result


def _placed(call: Call) -> list[Tensor]:
    """Return the inputs of an elementwise node; a second one as the old attributes `axis` and `broadcast` place it."""
    tensors = _present(call.inputs)
    if "broadcast" not in call.attributes and "axis" not in call.attributes:
        return tensors
    a, b = tensors
    axis = int(call.attributes.get("axis", a.rank - b.rank))
    axis += a.rank if axis < 0 else 0
    for own, size in enumerate(b.shape):
        if not m.same(size, 1):
            call.demands.add(z3.Or(size == a.shape[axis + own], size == 1))
    sizes = (*b.shape, *[1] * (a.rank - axis - b.rank))
    return [a, Tensor(sizes, lambda index: b.at(index[: b.rank]))]


def constant(call: Call) -> Tensor:
    """Constant."""
    for name, value in call.attributes.items():
        if name == "value":
            return tensor_of_constant(value)
        if name in ("value_int", "value_ints"):
            return tensor_of_array(np.asarray(value, np.int64))
    raise NotReadError("a Constant without a tensor")


def cast(call: Call) -> Tensor:
    """Cast between integers and bool."""
    x, to = call.tensor(0), int(call.attributes["to"])

    def convert(term: Term) -> Term:
        is_bool = isinstance(term, bool) or (isinstance(term, z3.ExprRef) and z3.is_bool(term))
        if isinstance(term, z3.ExprRef) and term.sort() == Value:
            raise NotReadError("a Cast of data")
        if to == NUMBERS["bool"]:
            return term if is_bool else z3.BoolVal(term != 0) if isinstance(term, int) else term != 0
        if to in (NUMBERS["int64"], NUMBERS["int32"]):
            return m.when(term, 1, 0) if is_bool else term
        if (
            to in (NUMBERS["float"], NUMBERS["double"])
            and isinstance(m.plain(term), int)
            and abs(m.plain(term)) < 2**24
        ):
            return term
        raise NotReadError("a Cast to another type")

    return Tensor(x.shape, lambda index: convert(x.at(index)))


def shape(call: Call) -> Tensor:
    """Shape, from `start` to `end`."""
    sizes = call.tensor(0).shape
    return m.vector(sizes[call.attributes.get("start", 0) : call.attributes.get("end")])


def gather(call: Call) -> Tensor:
    """Gather."""
    x, indices = call.tensor(0), call.tensor(1)
    axis = call.axis(x.rank)
    size = x.shape[axis]

    def at(index: Index) -> Term:
        chosen = indices.at(index[axis : axis + indices.rank])
        call.demands.reads += [chosen >= (-size if call.version >= 11 else 0), chosen < size]
        front = m.when(chosen < 0, chosen + size, chosen)
        return x.at([*index[:axis], m.plain(front), *index[axis + indices.rank :]])

    return Tensor((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), at)


def slice_(call: Call) -> Tensor:
    """Slice, with bounds as attributes or inputs."""
    x = call.tensor(0)
    starts, ends = call.terms("starts", 1), call.terms("ends", 2)
    assert starts is not None and ends is not None
    axes = call.terms("axes", 3) or list(range(len(starts)))
    steps = (call.terms("steps", 4) if call.version >= 10 else None) or [1] * len(starts)
    maps: dict[int, tuple[Term, Term, Term]] = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        maps[m.number(axis) % x.rank] = _bounds(x.shape[m.number(axis) % x.rank], start, end, step)
    sizes = tuple(maps[axis][1] if axis in maps else size for axis, size in enumerate(x.shape))

    def at(index: Index) -> Term:
        return x.at(
            [
                m.plain(maps[axis][0] + place * maps[axis][2]) if axis in maps else place
                for axis, place in enumerate(index)
            ]
        )

    return Tensor(sizes, at)


def _bounds(size: Term, start: Term, end: Term, step: Term) -> tuple[Term, Term, Term]:
    """Return the first index of a slice, the number of its elements, and its step."""
    start, end = (m.when(each < 0, each + size, each) for each in (start, end))
    forward = (m.least(m.most(start, 0), size), m.least(m.most(end, 0), size))
    backward = (m.least(m.most(start, 0), size - 1), m.least(m.most(end, -1), size - 1))
    first, last = (m.when(step > 0, a, b) for a, b in zip(forward, backward, strict=True))
    if isinstance(step, int) and step == 1:
        return first, m.plain(m.most(last - first, 0)), step
    count = m.when(
        step > 0,
        m.floor_div(last - first + step - 1, m.most(step, 1)),
        m.floor_div(first - last - step - 1, m.most(-step, 1)),
    )
    return first, m.plain(m.most(count, 0)), step


def concat(call: Call) -> Tensor:
    """Concat."""
    tensors = _present(call.inputs)
    axis = call.axis(tensors[0].rank, 1 if call.version < 4 else 0)
    ends: list[Term] = []
    for tensor in tensors:
        ends.append(m.plain((ends[-1] if ends else 0) + tensor.shape[axis]))
        for other, size in enumerate(tensor.shape):
            if other != axis and not m.same(size, tensors[0].shape[other]):
                call.demands.add(size == tensors[0].shape[other])

    def at(index: Index) -> Term:
        place = index[axis]
        result = None
        for number in reversed(range(len(tensors))):
            before = ends[number - 1] if number else 0
            if m.same(ends[number], before) or (isinstance(place, int) and isinstance(before, int) and place < before):
                continue
            inside = place < ends[number]
            if isinstance(inside, bool) and not inside:
                continue
            element = tensors[number].at([*index[:axis], m.plain(place - before), *index[axis + 1 :]])
            result = element if result is None else m.when(inside, element, result)
        if result is None:
            raise NotReadError("an element of nothing")
        return result

    return Tensor((*tensors[0].shape[:axis], ends[-1], *tensors[0].shape[axis + 1 :]), at)


def reshape(call: Call) -> Tensor:
    """Reshape."""
    x = call.tensor(0)
    terms = call.terms("shape", 1)
    assert terms is not None
    zero = not call.attributes.get("allowzero", 0)
    sizes: list[Term] = []
    for axis, term in enumerate(terms):
        copied = x.shape[axis] if axis < x.rank else None
        if not zero or (isinstance(term, int) and term != 0):
            sizes.append(term)
        elif isinstance(term, int):
            if copied is None:
                raise NotReadError("a size is copied from no axis")
            sizes.append(copied)
        else:
            if copied is None:
                call.demands.add(term != 0)
            sizes.append(term if copied is None or m.same(term, copied) else m.when(term == 0, copied, term))
    stated = [size if isinstance(size, int) else None for size in sizes]
    if not zero and 0 in stated and -1 in stated:
        call.demands.add(z3.BoolVal(False))
    unsure = [axis for axis, size in enumerate(sizes) if not isinstance(size, int) and _has_choice(size)]
    for free in [stated.index(-1)] if -1 in stated else unsure[:1]:
        left = _left_over(
            call.demands, x.shape, [size for axis, size in enumerate(sizes) if axis != free], free in unsure
        )
        sizes[free] = left if free not in unsure else m.when(sizes[free] == -1, left, sizes[free])
    return m.reshape(call.demands, x, sizes)


def _has_choice(term: Term) -> bool:
    """Whether a term chooses between others, so that it may be -1."""
    return z3.is_app_of(term, z3.Z3_OP_ITE) or any(_has_choice(each) for each in term.children())


def _left_over(demands: Demands, before: Sequence[Term], after: Sequence[Term], is_unsure: bool) -> Term:
    """Return the size that a -1 stands for: what is left of the sizes before if those after are divided out.

    If it is not sure that there is a -1, nothing is demanded: as many elements as before are demanded in any case.
    """
    demands = Demands() if is_unsure else demands
    rest = list(before)
    divisor: Term = 1
    for size in after:
        match = next((each for each in rest if m.same(each, size)), None)
        if match is not None:
            rest.remove(match)
            if not isinstance(m.plain(size), int):
                demands.add(size != 0)
        else:
            divisor = divisor * size
    if m.same(divisor, 1):
        return m.times(rest)
    demands.add(m.floor_mod(m.times(rest), divisor) == 0)
    if not isinstance(divisor, int):
        demands.add(divisor != 0)
    return m.floor_div(m.times(rest), divisor)


def flatten(call: Call) -> Tensor:
    """Flatten."""
    x = call.tensor(0)
    axis = int(call.attributes.get("axis", 1))
    axis += x.rank if axis < 0 else 0
    return m.reshape(call.demands, x, [m.times(x.shape[:axis]), m.times(x.shape[axis:])])


def squeeze(call: Call) -> Tensor:
    """Squeeze: without axes, those that are 1."""
    x = call.tensor(0)
    axes = call.terms("axes", 1)
    if axes is None:
        chosen = {axis for axis, size in enumerate(x.shape) if m.number(size) == 1}
    else:
        chosen = {m.number(axis) % x.rank for axis in axes}
    for axis in chosen:
        call.demands.add(x.shape[axis] == 1)
    kept = [axis for axis in range(x.rank) if axis not in chosen]

    def at(index: Index) -> Term:
        own: list[Term] = [0] * x.rank
        for axis, place in zip(kept, index, strict=True):
            own[axis] = place
        return x.at(own)

    return Tensor(tuple(x.shape[axis] for axis in kept), at, x.flat)


def unsqueeze(call: Call) -> Tensor:
    """Unsqueeze."""
    x = call.tensor(0)
    axes = call.terms("axes", 1)
    assert axes is not None
    rank = x.rank + len(axes)
    added = {m.number(axis) % rank for axis in axes}
    sizes = iter(x.shape)
    return Tensor(
        tuple(1 if axis in added else next(sizes) for axis in range(rank)),
        lambda index: x.at([place for axis, place in enumerate(index) if axis not in added]),
        x.flat,
    )


def transpose(call: Call) -> Tensor:
    """Transpose."""
    x = call.tensor(0)
    order = list(call.attributes.get("perm", reversed(range(x.rank))))

    def at(index: Index) -> Term:
        own: list[Term] = [0] * x.rank
        for axis, place in zip(order, index, strict=True):
            own[axis] = place
        return x.at(own)

    return Tensor(tuple(x.shape[axis] for axis in order), at)


def expand(call: Call) -> Tensor:
    """Expand."""
    x = call.tensor(0)
    sizes = call.terms("shape", 1)
    assert sizes is not None
    whole = m.broadcast_shape(call.demands, x.shape, sizes)
    if x.flat is None or x.rank != len(whole):
        return Tensor(whole, m.broadcast(x, whole))
    unchanged = m.both(*(a == b for a, b in zip(x.shape, whole, strict=True) if not m.same(a, b)))
    flat = x.flat
    return Tensor(
        whole, m.broadcast(x, whole), lambda position: m.when(unchanged, flat(position), z3.FreshConst(Value, "other"))
    )


def _whole(term: Term) -> int:
    """Return the whole number that a constant of data is."""
    if isinstance(term, int):
        return term
    kind, _, text = str(term).partition(" ")
    if kind != "constant":
        raise NotReadError(f"{term} is no number")
    return int(float(text))


def tile(call: Call) -> Tensor:
    """Tile: counts for all axes, or before version 6 a count and an axis."""
    x = call.tensor(0)
    counts = m.elements(call.tensor(1))
    if call.version < 6:
        axis = _whole(m.elements(call.tensor(2))[0])
        counts = [_whole(counts[0]) if each == axis else 1 for each in range(x.rank)]
    sizes = tuple(m.plain(size * count) for size, count in zip(x.shape, counts, strict=True))

    def at(index: Index) -> Term:
        return x.at(
            [
                0 if m.same(size, 1) else place if m.same(count, 1) else m.floor_mod(place, size)
                for place, size, count in zip(index, x.shape, counts, strict=True)
            ]
        )

    return Tensor(sizes, at)


def range_(call: Call) -> Tensor:
    """Range by steps of 1."""
    start, limit, step = (m.elements(call.tensor(position))[0] for position in range(3))
    if not m.same(step, 1):
        raise NotReadError("a Range with another step")
    return Tensor((m.plain(m.most(limit - start, 0)),), lambda index: m.plain(start + index[0]))


def constant_of_shape(call: Call) -> Tensor:
    """ConstantOfShape."""
    value = call.attributes.get("value")
    whole = tensor_of_array(np.zeros(1, np.float32)) if value is None else tensor_of_constant(value)
    filled = whole.at([0])
    return Tensor(tuple(m.elements(call.tensor(0))), lambda _: filled)


def non_zero(call: Call) -> Tensor:
    """NonZero of a vector that has no zeros."""
    x = call.tensor(0)
    element = m.plain(x.at([z3.Int("any")]))
    if x.rank != 1 or not isinstance(element, int) or element == 0:
        raise NotReadError("NonZero of values that are not known")
    return Tensor((1, x.shape[0]), lambda index: index[1])


def _reduce(function: Callable[[Sequence[Term]], Term]) -> Callable[[Call], Tensor]:
    """Return a reduction along axes whose sizes are numbers."""

    def reduce(call: Call) -> Tensor:
        x = call.tensor(0)
        axes = call.terms("axes", 1)
        keeps = call.attributes.get("keepdims", 1)
        chosen = {*range(x.rank)} if axes is None else {m.number(axis) % x.rank for axis in axes}
        sizes = {axis: m.number(x.shape[axis]) for axis in chosen}

        def at(index: Index) -> Term:
            rest = list(index)
            places = iter([place for axis, place in enumerate(rest) if axis not in chosen] if keeps else rest)
            own = [None if axis in chosen else next(places) for axis in range(x.rank)]
            lists: list[list[Term]] = [[]]
            for axis, place in enumerate(own):
                lists = [[*each, p] for each in lists for p in (range(sizes[axis]) if place is None else [place])]
            return m.plain(function([x.at(each) for each in lists]))

        shape = [1 if axis in chosen else size for axis, size in enumerate(x.shape) if keeps or axis not in chosen]
        return Tensor(tuple(shape), at)

    return reduce


def split(call: Call) -> list[Tensor]:
    """Split into stated parts, or equal ones."""
    x = call.tensor(0)
    axis = call.axis(x.rank)
    size, count = x.shape[axis], len(call.node.output)
    parts = call.terms("split", 1)
    if parts is None:
        if call.version >= 18:
            each = m.floor_div(size + count - 1, count)
            call.demands.add(size - each * (count - 1) >= 0)
            parts = [each] * (count - 1) + [size - each * (count - 1)]
        else:
            call.demands.add(m.floor_mod(size, count) == 0)
            parts = [m.floor_div(size, count)] * count
    call.demands.add(sum(parts) == size)
    results = []
    start: Term = 0
    for part in parts:
        results.append(_part(x, axis, start, part))
        start = m.plain(start + part)
    return results


def _part(x: Tensor, axis: int, start: Term, size: Term) -> Tensor:
    """Return some elements along an axis."""
    return Tensor(
        (*x.shape[:axis], size, *x.shape[axis + 1 :]),
        lambda index: x.at([*index[:axis], m.plain(index[axis] + start), *index[axis + 1 :]]),
    )


def pad(call: Call) -> Tensor:
    """Pad: what negative pads remove is removed first."""
    x = call.tensor(0)
    pads = call.terms("paddings" if call.version < 2 else "pads", 1)
    assert pads is not None
    axes = [m.number(each) % x.rank for each in (call.terms("axes", 3) or range(len(pads) // 2))]
    mode = call.attributes.get("mode", "constant")
    mode = mode.decode() if isinstance(mode, bytes) else mode
    value = z3.Const(f"constant {float(call.attributes.get('value', 0.0))!s}", Value)
    fill = m.elements(call.tensor(2))[0] if call.given(2) else value
    before = {axis: pads[at] for at, axis in enumerate(axes)}
    after = {axis: pads[at + len(axes)] for at, axis in enumerate(axes)}
    for axis in axes:
        size = x.shape[axis]
        call.demands.add(size + m.least(before[axis], 0) + m.least(after[axis], 0) >= 0)
        if mode != "constant":
            added = z3.Or(m.holds(before[axis] > 0), m.holds(after[axis] > 0))
            call.demands.add(z3.Implies(added, size + m.least(before[axis], 0) + m.least(after[axis], 0) > 0))
    sizes = [size + before.get(axis, 0) + after.get(axis, 0) for axis, size in enumerate(x.shape)]

    def at(index: Index) -> Term:
        own = list(index)
        outside: list[Term] = []
        for axis in axes:
            first = m.most(-before[axis], 0)
            whole = x.shape[axis] - first - m.most(-after[axis], 0)
            place = index[axis] - m.most(before[axis], 0)
            if mode == "constant":
                outside.append(z3.Or(place < 0, place >= whole))
            own[axis] = m.plain(first + _source(mode, place, whole))
        element = x.at(own)
        return m.when(z3.Or(*outside), fill, element) if outside else element

    return Tensor(tuple(map(m.plain, sizes)), at)


def _source(mode: str, place: Term, size: Term) -> Term:
    """Return the index that a place beside or in the data is copied from."""
    if mode == "edge":
        return m.least(m.most(place, 0), size - 1)
    if mode == "wrap":
        return m.remainder(place, size)
    if mode == "reflect":
        turn = 2 * size - 2
        forward = m.remainder(place, m.most(turn, 1))
        return m.least(forward, turn - forward)
    return place


def depth_to_space(call: Call) -> Tensor:
    """DepthToSpace: channels are (block, block, depth) for DCR, (depth, block, block) for CRD."""
    x, block = call.tensor(0), int(call.attributes["blocksize"])
    depth = m.number(x.shape[1]) // block**2
    is_dcr = call.attributes.get("mode", "DCR") in ("DCR", b"DCR")

    def at(index: Index) -> Term:
        batch, channel, y, x_ = index
        row, column = m.floor_mod(y, block), m.floor_mod(x_, block)
        source = (row * block + column) * depth + channel if is_dcr else (channel * block + row) * block + column
        return x.at([batch, m.plain(source), m.floor_div(y, block), m.floor_div(x_, block)])

    return Tensor((x.shape[0], depth, m.plain(x.shape[2] * block), m.plain(x.shape[3] * block)), at)


def space_to_depth(call: Call) -> Tensor:
    """SpaceToDepth: the reverse of DepthToSpace."""
    x, block = call.tensor(0), int(call.attributes["blocksize"])
    depth = m.number(x.shape[1])
    is_dcr = call.attributes.get("mode", "DCR") in ("DCR", b"DCR")
    for size in x.shape[2:]:
        call.demands.add(m.floor_mod(size, block) == 0)

    def at(index: Index) -> Term:
        batch, channel, y, x_ = index
        if is_dcr:
            place, own = m.floor_div(channel, depth), m.floor_mod(channel, depth)
        else:
            place, own = m.floor_mod(channel, block**2), m.floor_div(channel, block**2)
        return x.at([batch, own, y * block + m.floor_div(place, block), x_ * block + m.floor_mod(place, block)])

    return Tensor((x.shape[0], depth * block**2, m.floor_div(x.shape[2], block), m.floor_div(x.shape[3], block)), at)


def trilu(call: Call) -> Tensor:
    """Trilu: the others are 0."""
    x = call.tensor(0)
    k = m.elements(call.tensor(1))[0] if call.given(1) else 0
    upper = call.attributes.get("upper", 1)
    zero = z3.Const("constant 0.0", Value)

    def at(index: Index) -> Term:
        distance = index[-1] - index[-2]
        return m.when(distance >= k if upper else distance <= k, x.at(index), zero)

    return Tensor(x.shape, at)


def reverse_sequence(call: Call) -> Tensor:
    """ReverseSequence: the first elements of each sequence, as many as its length, backwards."""
    x, lengths = call.tensor(0), call.tensor(1)
    batch, time = int(call.attributes.get("batch_axis", 1)), int(call.attributes.get("time_axis", 0))

    def at(index: Index) -> Term:
        length = lengths.at([index[batch]])
        call.demands.reads += [length >= 0, length <= x.shape[time]]
        own = list(index)
        own[time] = m.when(index[time] < length, length - 1 - index[time], index[time])
        return x.at(own)

    return Tensor(x.shape, at)


def gather_elements(call: Call) -> Tensor:
    """GatherElements."""
    x, indices = call.tensor(0), call.tensor(1)
    axis = call.axis(x.rank)

    def at(index: Index) -> Term:
        chosen = indices.at(index)
        call.demands.reads += [chosen >= -x.shape[axis], chosen < x.shape[axis]]
        own = list(index)
        own[axis] = m.when(chosen < 0, chosen + x.shape[axis], chosen)
        return x.at(own)

    return Tensor(indices.shape, at)


def cumulative_sum(call: Call) -> Tensor:
    """CumSum of a vector whose size is a number."""
    terms = m.elements(call.tensor(0))
    if call.tensor(0).rank != 1 or call.attributes:
        raise NotReadError("another form of CumSum")
    return m.vector([sum(terms[: at + 1]) for at in range(len(terms))])


OPERATORS: dict[str, Callable[[Call], Tensor | list[Tensor]]] = {
    "Identity": lambda call: call.tensor(0),
    "Constant": constant,
    "Cast": cast,
    "Shape": shape,
    "Size": lambda call: m.scalar(m.times(call.tensor(0).shape)),
    "Gather": gather,
    "Slice": slice_,
    "Concat": concat,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Expand": expand,
    "Tile": tile,
    "Range": range_,
    "ConstantOfShape": constant_of_shape,
    "NonZero": non_zero,
    "ReduceSum": _reduce(sum),
    "ReduceProd": _reduce(m.times),
    "ReduceMax": _reduce(lambda terms: _folded(m.most, terms)),
    "CumSum": cumulative_sum,
    "Split": split,
    "Pad": pad,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Trilu": trilu,
    "ReverseSequence": reverse_sequence,
    "GatherElements": gather_elements,
}
