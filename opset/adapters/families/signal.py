"""Fourier transforms as products with tables of cosines and sines, DFT, whose axis became an input, and mel filters."""

from __future__ import annotations

import math

from opset.adapters.building.positions import (
    Size,
    at_most,
    difference,
    integers_below,
    product,
    quotient,
    size_along,
    size_name,
    sum_of,
    vector_of,
)
from opset.adapters.building.shared import constant_ints, known_size, need_value, positive_axis, unsqueeze
from opset.model.elements import NUMBERS
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import down, lower
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@down("DFT", since=20)
def dft_20_down(op: Builder, node: Node) -> Result:
    """Write the axis as an attribute; if the input is absent, the axis is the last but one.

    An axis that is computed at run time is brought to the middle of three, by a table of shapes.
    """
    if not node.input(2) or node.constant(2) is not None:
        axis = constant_ints(node, 2) if node.input(2) else [-2]
        if len(axis) != 1:
            raise Refusal("C103", f"the axis is {axis}, which is not one number")
        return op.copy(node, inputs=[node.input(0), node.input(1)], axis=axis[0])
    shape = node.shape(0) or ()
    sizes = [size for size in shape if isinstance(size, int)]
    if len(sizes) < max(len(shape), 2) or not all(sizes):
        node.need_constant(2)
    rank = len(sizes)
    count = _count_parts(node)
    rows = [[math.prod(sizes[:axis]), sizes[axis], math.prod(sizes[axis + 1 : -1])] for axis in range(rank - 1)]
    backs = [[-1 if at == axis else size for at, size in enumerate(sizes[:-1])] for axis in range(rank - 1)]
    # One row for each axis from -rank on; the last dimension is no axis.
    row = op.Add(op.Cast(node.input(2), to=NUMBERS["int64"]), op.const(rank))

    def read_row(table: list[list[int]]) -> str:
        width = len(table[0])
        numbers = [size for sizes_of_row in 2 * [*table, [1] * width] for size in sizes_of_row]
        return op.Reshape(op.Gather(op.const(numbers, "int64", [2 * rank, width]), row), op.const([-1]))

    around, back = read_row(rows), read_row(backs)
    x = op.Cast(node.input(0), to=NUMBERS["double"])
    signal = [
        op.Transpose(op.Reshape(op.Gather(x, op.const(part), axis=rank - 1), around), perm=[0, 2, 1])
        for part in range(count)
    ]
    spectrum = _transform(op, node, signal, 2, op.Gather(around, op.const(1)))
    return _join_parts(op, [op.Reshape(op.Transpose(part, perm=[0, 2, 1]), back) for part in spectrum], node)


@lower("DFT", since=17)
def dft_lowered(op: Builder, node: Node) -> Result:
    """Multiply the axis, brought to the end, by tables, in double, as the kernel computes."""
    shape = node.shape(0)
    rank = node.need_rank(0)
    axis = positive_axis(node.attr("axis"), rank)
    if axis == rank - 1 or shape is None:
        raise Refusal("C103", "the last dimension holds the parts of a number, and is no axis")
    order = [other_axis for other_axis in range(rank - 1) if other_axis != axis] + [axis]
    back = sorted(range(rank - 1), key=order.__getitem__)
    moved = order != list(range(rank - 1))

    def along(part: str) -> str:
        return op.Transpose(part, perm=order) if moved else part

    x = op.Cast(node.input(0), to=NUMBERS["double"])
    signal = [along(op.Gather(x, op.const(part), axis=rank - 1)) for part in range(_count_parts(node))]
    spectrum = _transform(op, node, signal, rank - 2, size_along(op, node, 0, axis))
    return _join_parts(op, [op.Transpose(part, perm=back) if moved else part for part in spectrum], node)


def _count_parts(node: Node) -> int:
    """Return the number of parts of a number in the first input, 1 or 2; raise Refusal C207 if it is not known."""
    parts = known_size(node, 0, -1)
    if parts not in (1, 2):
        raise Refusal("C207", "it is not known whether the last dimension holds an imaginary part", "give it a size")
    return int(parts)


def _join_parts(op: Builder, parts: list[str], node: Node) -> str:
    """Return the real and the imaginary part in a last dimension, in the type of the first input."""
    last = 3 if node.op_type == "STFT" else node.need_rank(0) - 1
    joined = [unsqueeze(op, part, [last]) for part in parts]
    y = op.Concat(*joined, axis=last) if len(joined) > 1 else joined[0]
    return op.Cast(y, to=NUMBERS[node.need_element(0)])


def _transform(op: Builder, node: Node, signal: list[str], last: int, rows: Size) -> list[str]:
    """Return the parts of the transform of a signal along the dimension `last`, whose size is `rows`."""
    inverse = node.attr("inverse")
    onesided = node.attr("onesided")
    if node.input(1):
        length = _length_of(op, node, 1)
    else:
        length = product(op, [difference(op, rows, 1), 2]) if inverse and onesided else rows
    return _spectrum(op, signal, last, rows, length, inverse, onesided)


def _length_of(op: Builder, node: Node, index: int) -> Size:
    """Return the value of an input that is one positive number; raise Refusal C103 for any other constant."""
    constant = node.constant(index)
    if constant is None:
        number = op.Cast(node.input(index), to=NUMBERS["int64"])
        return number if node.shape(index) == () else op.Reshape(number, op.const([], dims=[0]))
    if len(constant.values) != 1 or not constant.values[0] > 0:
        raise Refusal("C103", f"a length is {list(constant.values)}, which is not one positive number")
    return int(constant.values[0])


def _spectrum(
    op: Builder, signal: list[str], last: int, rows: Size, length: Size, inverse: int, onesided: int
) -> list[str]:
    """Return the transform of a signal of `rows`, cut or continued to a length; `onesided` halves one of the two."""
    half = sum_of(op, quotient(op, length, 2), 1)
    used = half if inverse and onesided else length
    if not (isinstance(rows, int) and isinstance(used, int) and rows <= used) and rows != used:
        signal = [op.Slice(part, op.const([0]), vector_of(op, [used]), op.const([last])) for part in signal]
        rows = at_most(op, rows, used)
    bins = half if onesided and not inverse else length
    angle_steps = op.Mul(op.Reshape(integers_below(op, rows), op.const([-1, 1])), integers_below(op, bins))
    angle_steps = op.Mod(angle_steps, size_name(op, length))
    cosines, sines = (op.Gather(table, angle_steps) for table in _cosines_and_sines(op, length))
    if onesided and not inverse:
        signal = signal[:1]
    if inverse and onesided:
        signal = [op.Mul(part, _bin_counts(op, rows, length)) for part in signal]
    real = signal[0]
    imaginary = signal[1] if len(signal) > 1 else ""
    spectrum = [op.MatMul(real, cosines)]
    if imaginary:
        crossed = op.MatMul(imaginary, sines)
        spectrum = [op.Sub(spectrum[0], crossed) if inverse else op.Add(spectrum[0], crossed)]
    if not (inverse and onesided):
        other = op.MatMul(real, sines)
        if imaginary:
            straight = op.MatMul(imaginary, cosines)
            spectrum.append(op.Add(straight, other) if inverse else op.Sub(straight, other))
        else:
            spectrum.append(other if inverse else op.Neg(other))
    if inverse:
        spectrum = [op.Div(part, op.Cast(size_name(op, length), to=NUMBERS["double"])) for part in spectrum]
    return spectrum


def _cosines_and_sines(op: Builder, length: Size) -> tuple[str, str]:
    """Return the cosines and the sines of a whole turn in `length` steps."""
    if isinstance(length, int) and length <= MAX_CONSTANT:
        angles = [2 * math.pi * step / length for step in range(length)]
        cosines, sines = (op.const([*map(function, angles)], "double") for function in (math.cos, math.sin))
        return cosines, sines
    numbers = integers_below(op, length), size_name(op, length)
    steps, whole = (op.Cast(number, to=NUMBERS["double"]) for number in numbers)
    turns = op.Mul(op.Div(steps, whole), op.const(2 * math.pi, "double"))
    # Runtimes that have no Cos of DOUBLE have a Sin.
    quarter = op.const(math.pi / 2, "double")
    return op.Sin(op.Add(turns, quarter)), op.Sin(turns)


def _bin_counts(op: Builder, rows: Size, length: Size) -> str:
    """Return the count of each bin of a one-sided spectrum in the whole one: 1 at both ends, else 2."""
    if isinstance(rows, int) and isinstance(length, int):
        return op.const([1.0 if 2 * row in (0, length) else 2.0 for row in range(op.charge_elements(rows))], "double")
    row = integers_below(op, rows)
    double = op.Mul(row, op.const(2))
    ends = op.Or(op.Equal(row, op.const(0)), op.Equal(double, size_name(op, length)))
    return op.Sub(op.const(2.0, "double"), op.Cast(ends, to=NUMBERS["double"]))


@lower("STFT", since=17)
def stft_lowered(op: Builder, node: Node) -> Result:
    """Gather the frames, multiply them by the window, and transform each."""
    x = node.input(0)
    shape = node.shape(0)
    if node.need_rank(0) not in (2, 3) or shape is None:
        raise Refusal("C103", f"the signal has {node.rank(0)} dimensions, and 3 are batch, samples and parts")
    samples = size_along(op, node, 0, 1)
    step = _length_of(op, node, 1)
    if node.input(3):
        length = _length_of(op, node, 3)
    else:
        length = size_along(op, node, 2, 0) if node.input(2) else samples
    frames = sum_of(op, quotient(op, difference(op, samples, length), step), 1)
    first = op.Mul(integers_below(op, frames), size_name(op, step))
    at = op.Add(op.Reshape(first, op.const([-1, 1])), integers_below(op, length))
    x = op.Cast(x, to=NUMBERS["double"])
    # Runtimes take a real signal without the last dimension, too.
    parts = [op.Gather(x, op.const(part), axis=2) for part in range(_count_parts(node))] if len(shape) == 3 else [x]
    signal = [op.Gather(part, at, axis=1) for part in parts]
    if node.input(2):
        window = op.Cast(node.input(2), to=NUMBERS["double"])
        signal = [op.Mul(part, window) for part in signal]
    return _join_parts(op, _spectrum(op, signal, 2, length, length, 0, node.attr("onesided")), node)


@lower("MelWeightMatrix", since=17)
def mel_weight_matrix_lowered(op: Builder, node: Node) -> Result:
    """Compute the matrix at conversion: an edge that is rounded at run time may fall into another bin."""
    node.need_constants(range(5))  # names all that are not known
    bands, length, rate, lower_edge, upper_edge = (need_value(node, index) for index in range(5))
    bands = int(bands)
    length = int(length)
    if not (0 <= lower_edge <= upper_edge and rate > 0 and length > 0 <= bands):
        raise Refusal("C103", f"{bands} bands of {lower_edge} to {upper_edge} Hz, {length} samples at {rate} Hz")
    count = length // 2 + 1
    node.charge(count * bands)
    low, high = (2595 * math.log10(1 + edge / 700) for edge in (lower_edge, upper_edge))
    mels = [low + band * ((high - low) / (bands + 2)) for band in range(bands + 2)]
    edges = [math.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate) for mel in mels]
    weights = []
    for at in range(count):
        for left, middle, right in zip(edges, edges[1:], edges[2:], strict=False):
            rising, falling = (at - left) / max(middle - left, 1), (right - at) / max(right - middle, 1)
            weights.append(1.0 if at == middle else max(rising if at < middle else falling, 0.0))
    return op.Cast(op.const(weights, "double", [count, bands]), to=node.attr("output_datatype"))
