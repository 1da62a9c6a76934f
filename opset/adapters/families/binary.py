"""Adapters of operators of two or more values: numpy broadcasting from versions 7 and 8 on, and newer types."""

from __future__ import annotations

import math

from opset.adapters.building.positions import integers_below, product, reshape_vector, sizes_of
from opset.adapters.building.shared import (
    FLOATS,
    INTEGERS,
    WIDE_INTEGERS,
    cast,
    float16,
    float32,
    need_dims,
    negative_mask,
    select_by_mask,
    unsqueeze,
)
from opset.model.elements import NUMBERS
from opset.model.types import Shape
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal, Result

ARITHMETIC = ("Add", "Sub", "Mul", "Div")
LOGICAL = ("And", "Or", "Xor")
COMPARISON = ("Equal", "Greater", "Less")
SWAPPED = {**{name: name for name in ("Add", "Mul", "Equal", *LOGICAL)}, "Greater": "Less", "Less": "Greater"}
"""Operators by the one that computes the same with swapped operands."""


@up(*ARITHMETIC, *LOGICAL, *COMPARISON, "Pow", since=7)
@refuses("C204", "what a negative `axis` meant before version 7 is not defined")
def axis_to_broadcasting(op: Builder, node: Node) -> Result:
    """Append dimensions of 1 to the second operand, which was aligned with the first from `axis` on."""
    a, b = node.input(0), node.input(1)
    obsolete = [name for name in ("axis", "broadcast") if node.has(name)]
    if not node.attr("broadcast") or not node.has("axis"):
        return op.copy(node, drop=obsolete) if obsolete else None
    shape = node.shape(1)
    if shape is not None and all(dim == 1 for dim in shape):
        return op.copy(node, drop=obsolete)
    rank = node.need_rank(0)
    rank_b = node.need_rank(1)
    axis = node.attr("axis")
    missing = rank - rank_b - (axis + rank if axis < 0 else axis)
    if missing < 0:
        raise Refusal("C103", f"{rank_b} dimensions from axis {axis} on do not fit into {rank}")
    if missing and axis < 0:
        label = "what a negative `axis` meant before version 7 is not defined"
        raise Refusal("C204", f"what axis {axis} meant before version 7 is not defined", label=label)
    if missing:
        b = op.Unsqueeze(b, axes=list(range(rank_b, rank_b + missing)))
    return op.copy(node, inputs=[a, b], drop=obsolete)


@down(*ARITHMETIC, *LOGICAL, *COMPARISON, "Pow", since=7)
def broadcasting_to_axis(op: Builder, node: Node) -> Result:
    """Bring the second operand to consecutive dimensions of the first, the only form that broadcasts before version 7.

    Outer dimensions of 1 are squeezed out, others are tiled. If the first operand is the smaller one, the two are
    swapped, provided that the operator allows it.
    """
    a, b = node.input(0), node.input(1)
    if a == b:
        return None
    if node.shape(1) == ():
        return op.copy(node, broadcast=1)
    shapes = [need_dims(node, index) for index in (0, 1)]
    (rank_a, rank_b) = map(len, shapes)
    rank = max(rank_a, rank_b)
    left, right = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    result = _broadcast_shape(left, right)
    op_type = node.op_type
    if (rank_a != rank or left != result) and right == result and op_type in SWAPPED and rank_b == rank:
        op_type, a, b, left, right = SWAPPED[op_type], b, a, right, left
        rank_b = rank_a
    else:
        if rank_a != rank:
            a = op.Unsqueeze(a, axes=list(range(rank - rank_a)))
        a = _tile(op, a, left, result)
    stretched = [axis for axis, dim in enumerate(right) if dim == 1 and result[axis] != 1]
    kept = [axis for axis, dim in enumerate(right) if dim != 1]
    if rank_b == rank and not stretched:
        return op.copy(node, op_type=op_type, inputs=[a, b])
    if not kept:
        return op.copy(node, op_type=op_type, inputs=[a, b], broadcast=1)
    first = kept[0]
    last = kept[-1]
    squeezed = [axis - rank + rank_b for axis in range(rank - rank_b, rank) if not first <= axis <= last]
    if squeezed:
        b = op.Squeeze(b, axes=squeezed)
    b = _tile(op, b, right[first : last + 1], result[first : last + 1])
    if (first, last) == (0, rank - 1):
        return op.copy(node, op_type=op_type, inputs=[a, b])
    axis = first if last < rank - 1 else None
    return op.copy(node, op_type=op_type, inputs=[a, b], broadcast=1, axis=axis)


def _broadcast_shape(left: Shape, right: Shape) -> Shape:
    """Return the shape to which two shapes of one rank broadcast; raise Refusal C103 if none, C207 if it is unknown."""
    result: list[int | str | None] = []
    for left_size, right_size in zip(left, right, strict=True):
        if right_size == 1 or (left_size == right_size and left_size):
            result.append(left_size)
        elif left_size == 1:
            result.append(right_size)
        elif left_size == right_size == 0:
            result.append(0)
        elif isinstance(left_size, int) and isinstance(right_size, int):
            raise Refusal("C103", f"dimensions {left_size} and {right_size} do not broadcast")
        else:
            raise Refusal("C207", "it is not known whether an operand is broadcast", FIX_SIZES)
    return tuple(result)


def _tile(op: Builder, x: str, shape: Shape, result: Shape) -> str:
    """Return a value repeated to a larger result; raise Refusal C207 if a size that decides this is not known."""
    if shape == result:
        return x
    repeats = [result_size if size == 1 else 1 for size, result_size in zip(shape, result, strict=True)]
    if not all(isinstance(repeat, int) for repeat in repeats):
        raise Refusal("C207", "an operand has to be repeated, and how often is not known", FIX_SIZES)
    return op.Tile(x, op.const(repeats))


@down("Max", "Min", since=8)
def max_8_down(op: Builder, node: Node) -> Result:
    """Subtract zeros of the broadcast shape, which gives each operand that shape and keeps -0.0 and NaN, too."""
    if _has_one_shape(node):
        return None
    element = node.need_element(0)
    zeros = [op.Cast(op.Less(x, x), to=NUMBERS[element]) for x in node.inputs]
    total = zeros[0]
    for zero in zeros[1:]:
        total = op.Add(total, zero)
    return op.copy(node, inputs=[op.Sub(x, total) for x in node.inputs])


@down("Sum", "Mean", since=8)
def sum_8_down(op: Builder, node: Node) -> Result:
    """Add operands one by one, since Add broadcasts; divide the sum by their number for Mean.

    Several steps on float16 are done in float, so that the result is rounded once, as the operator does it.
    """
    if _has_one_shape(node):
        return None
    is_mean = node.op_type == "Mean"
    if not is_mean and len(node.inputs) == 2:
        return op.Add(*node.inputs)
    element = node.need_element(0)
    wide = "float" if element == "float16" else element
    total, *others = [cast(op, name, element, wide) for name in node.inputs]
    for other in others:
        total = op.Add(total, other)
    if is_mean:
        total = op.Div(total, op.const(float(len(node.inputs)), wide))
    return cast(op, total, wide, element)


def _has_one_shape(node: Node) -> bool:
    """Whether all inputs are one value, or have one known shape."""
    shapes = {node.shape(index) for index in range(len(node.inputs))}
    shape = shapes.pop()
    is_known = shape is not None and all(dim or dim == 0 for dim in shape)
    return len(set(node.inputs)) == 1 or (is_known and not shapes)


@down("Max", "Min", since=12)
def max_12_down(op: Builder, node: Node) -> Result:
    """Compare integers of 64 bits by Less and Where."""
    if node.element(0) not in ("int64", "uint64"):
        return None
    best, *others = node.inputs
    for other in others:
        larger, smaller = (other, best) if node.op_type == "Max" else (best, other)
        best = op.Where(op.Less(smaller, larger), other, best)
    return best


@down("Less", "Greater", since=9)
def less_9_down(op: Builder, node: Node) -> Result:
    """Compare integers of 64 bits in two parts, the higher one first.

    However the quotient by 2**31 is rounded, it is monotonic, and so is the remainder.
    """
    element = node.element(0)
    if element not in ("int64", "uint64"):
        return None
    parts = []
    for x in node.inputs:
        divisor = op.const(2**31, element)
        quotient = op.Div(x, divisor)
        rest = op.Sub(x, op.Mul(quotient, divisor))
        parts.append([op.Cast(part, to=NUMBERS["double"]) for part in (quotient, rest)])
    if node.op_type == "Greater":
        parts.reverse()
    (high, low), (other_high, other_low) = parts
    level = op.Not(op.Or(op.Less(high, other_high), op.Less(other_high, high)))
    first = op.copy(node, op_type="Less", inputs=[high, other_high], outputs=[op.fresh("first")])
    return op.Or(first, op.And(level, op.Less(low, other_low)))


@down("Equal", since=19)
def equal_19_down(op: Builder, node: Node) -> Result:
    """Compare strings by their numbers among the distinct strings of both operands."""
    if node.need_element(0) != "string":
        return None
    flat = [op.Reshape(name, op.const([-1])) for name in node.inputs]
    _, _, numbers = op.Unique(op.Concat(*flat, axis=0), outputs=3)
    half = op.Shape(flat[0])
    end = op.const([2**63 - 1])
    sides = (op.Slice(numbers, op.const([0]), half), op.Slice(numbers, half, end))
    return op.Equal(*(reshape_vector(op, side, sizes_of(op, node, index)) for index, side in enumerate(sides)))


@down("Equal", since=11)
def equal_11_down(op: Builder, node: Node) -> Result:
    """Test that neither is less and that both are below 1 or above 0, which holds for all numbers but not NaN."""
    element = node.element(0)
    a, b = node.input(0), node.input(1)
    if element == "uint64":
        return op.Not(op.Or(op.Less(a, b), op.Greater(a, b)))
    if element not in FLOATS:
        return None
    one = op.const(1.0, element)
    zero = op.const(0.0, element)
    numbers = op.And(*(op.Or(op.Less(x, one), op.Greater(x, zero)) for x in (a, b)))
    return op.And(numbers, op.Not(op.Or(op.Less(a, b), op.Greater(a, b))))


@down("BitShift", since=28)
def bit_shift_28_down(op: Builder, node: Node) -> Result:
    """Replace shifts by the width or more, which were not defined before, by a result without bits of the number.

    Signed numbers are shifted as unsigned numbers of the same bits; negative ones, to the right, as their complement.
    """
    element = node.need_element(0)
    x, y = node.input(0), node.input(1)
    signed = not element.startswith("u")
    unsigned = element if not signed else f"u{element}"
    width = int(unsigned.removeprefix("uint"))
    constant = node.constant(1)
    small = constant is not None and all(0 <= value < width for value in constant.values)
    if small and not signed:
        return None
    negative = ""
    if signed:
        if node.attr("direction") == "RIGHT":
            minus_one = op.const(-1, element)
            negative = op.Less(x, op.const(0, element))
            x = op.Where(negative, op.Sub(minus_one, x), x)
        x, y = op.Cast(x, to=NUMBERS[unsigned]), op.Cast(y, to=NUMBERS[unsigned])
    bits = op.const(width, unsigned)
    z = op.copy(node, inputs=[x, y if small else op.Mod(y, bits)], outputs=[op.fresh("shifted")])
    if not small:
        z = op.Where(op.Less(y, bits), z, op.const(0, unsigned))
    if signed:
        z = op.Cast(z, to=NUMBERS[element])
    return op.Where(negative, op.Sub(minus_one, z), z) if negative else z


@down("Mod", since=28)
def mod_28_down(op: Builder, node: Node) -> Result:
    """Add the divisor to negative remainders of truncated division, which `fmod` computes.

    With a negative divisor both operands and the result are negated: a zero has the sign of the divisor.
    """
    if node.attr("fmod") or (element := node.need_element(0)) in INTEGERS:
        return None
    (a, b) = node.inputs
    zero = op.const(0.0, element)
    sign = op.Where(op.Less(b, zero), op.const(-1.0, element), op.const(1.0, element))
    divisor = op.Abs(b)
    rest = op.copy(node, inputs=[op.Mul(a, sign), divisor], outputs=[op.fresh("rest")], fmod=1)
    return op.Mul(op.Where(op.Less(rest, zero), op.Add(rest, divisor), op.Abs(rest)), sign)


@down("Pow", since=15)
def pow_15_down(op: Builder, node: Node) -> Result:
    """Cast a bfloat16 exponent to float: an exponent may have a type of its own."""
    if node.element(1) != "bfloat16":
        return None
    return op.copy(node, inputs=[node.input(0), op.Cast(node.input(1), to=NUMBERS["float"])])


@down("Pow", since=12)
@refuses("C204", "the square or cube is by an exponent of another type, which is not certain in floating point")
def pow_12_down(op: Builder, node: Node) -> Result:
    """Compute in the smallest float type that holds base and exponent, and cast back to the type of the base.

    Constants of the type of the base need no cast. `_integer_power` computes powers of integers.
    """
    base = node.need_element(0)
    exponent = node.need_element(1)
    constant = node.constant(1)
    if base in INTEGERS:
        return _integer_power(op, node, base, exponent)
    if base == exponent:
        return None
    if constant is not None and all(_is_exact_in(base, value) for value in constant.values):
        values = [float(value) for value in constant.values]
        return op.copy(node, inputs=[node.input(0), op.const(values, base, constant.dims)])
    common = _common_type(base, exponent)
    return cast(op, _power_in_type(op, node, common), common, base)


def _integer_power(op: Builder, node: Node, base: str, exponent: str) -> Result:
    """Return integer powers: products, or in DOUBLE, which holds all of 32 bits; overflowing ones are not defined."""
    # Powers of 64 bits with integers as exponents are exact. With other exponents runtimes compute in DOUBLE, too,
    # except for squares and cubes by a single exponent, which they multiply: the exponents have to show which it is.
    constant = node.constant(1)
    x = node.input(0)
    integral = exponent in INTEGERS
    values, dims = (constant.values, constant.dims) if constant is not None else ((), ())
    natural = constant is not None and all(0 <= value < 64 and value == int(value) for value in values)
    single = natural and len(values) == 1 and len(dims) <= (node.rank(0) or 0)
    if single and (integral or values[0] in (2, 3)):
        return _repeated_product(op, x, base, int(values[0]))
    if integral and base == "int64":
        if natural:
            count = max(max(map(int, values), default=0).bit_length(), 1)
            bits = [op.const([int(value) >> bit & 1 for value in values], base, dims) for bit in range(count)]
            return _masked_powers(op, x, bits)
        return _power_of_integers(op, x, cast(op, node.input(1), exponent, base))
    if base == "int64" and not (constant is not None and all(value not in (2, 3) for value in values)):
        last = (node.shape(1) or (1,))[-1]
        if not isinstance(last, int) or last == 1:
            label = "the square or cube is by an exponent of another type, which is not certain in floating point"
            why = f"the square or cube of {base} by an exponent of type {exponent} is not certain in floating point"
            raise Refusal("C204", why, "make the exponent an integer, or a constant", label=label)
    power = _power_in_type(op, node, "double")
    return op.Cast(op.Round(power) if integral else power, to=NUMBERS[base])


def _repeated_product(op: Builder, x: str, base: str, power: int) -> str:
    """Return integers to a constant power, by repeated squares."""
    result = ""
    square = x
    while power:
        if power % 2:
            result = op.Mul(result, square) if result else square
        power //= 2
        if power:
            square = op.Mul(square, square)
    return result or op.Add(op.Mul(x, op.const(0, base)), op.const(1, base))


def _masked_powers(op: Builder, x: str, bits: list[str]) -> str:
    """Return the product of the powers x, x**2, x**4, … whose bit is 1."""
    one = op.const(1)
    square = x
    result = ""
    for bit in bits:
        if result:
            square = op.Mul(square, square)
        factor = op.Add(op.Mul(op.Sub(square, one), bit), one)
        result = op.Mul(result, factor) if result else factor
    return result


def _power_of_integers(op: Builder, x: str, exponent: str) -> str:
    """Return int64 powers with exponents that are computed at run time."""
    # From an exponent of 64 on only powers of 0, 1 and -1 fit: the lowest bit counts, and whether there are higher
    # ones. A negative exponent leaves 1 and -1, and makes larger numbers 0.
    two = op.const(2)
    bits = []
    rest = op.Abs(exponent)
    for _ in range(6):
        half = op.Div(rest, two)
        bits.append(op.Sub(rest, op.Mul(half, two)))
        rest = half
    bits.append(cast(op, op.Cast(rest, to=NUMBERS["bool"]), "bool", "int64"))
    large = op.Greater(op.Abs(op.Cast(x, to=NUMBERS["float"])), op.const(1.0, "float"))
    gone = op.Mul(negative_mask(op, exponent), cast(op, large, "bool", "int64"))
    return op.Mul(_masked_powers(op, x, bits), op.Sub(op.const(1), gone))


def _power_in_type(op: Builder, node: Node, common: str) -> str:
    """Return the power, computed in a type that holds both operands."""
    elements = (node.need_element(0), node.need_element(1))
    inputs = [cast(op, name, element, common) for name, element in zip(node.inputs, elements, strict=True)]
    return str(op.copy(node, inputs=inputs, outputs=None if elements[0] == common else [op.fresh("wide")]))


def _common_type(base: str, exponent: str) -> str:
    """Return the float type that holds base and exponent; DOUBLE also for integers of 32 and 64 bits, as in numpy."""
    if "double" in (base, exponent) or exponent in ("int32", "int64", "uint32", "uint64"):
        return "double"
    return "float" if "float" in (base, exponent) or exponent in ("int16", "uint16") else "float16"


def _is_exact_in(element: str, value: float) -> bool:
    """Whether a float type holds exactly this number."""
    nearest = {"float16": float16, "float": float32}.get(element, float)(value)
    return nearest == value or math.isnan(nearest)


@lower("LessOrEqual", "GreaterOrEqual", since=12)
def less_or_equal_lowered(op: Builder, node: Node) -> Result:
    """Write "not greater" for integers; compare floats for equal or less, as NaN is neither."""
    a, b = node.inputs
    strict, reverse = (op.Less, op.Greater) if node.op_type == "LessOrEqual" else (op.Greater, op.Less)
    if node.need_element(0) in INTEGERS:
        return op.Not(reverse(a, b))
    return op.Or(strict(a, b), op.Equal(a, b))


@lower("Where", since=9)
def where_lowered(op: Builder, node: Node) -> Result:
    """Combine both values by masks; gather values that are no numbers from one row of both."""
    condition, x, y = node.inputs
    element = node.need_element(1)
    if element == "bool" or element in INTEGERS or element in FLOATS:
        return select_by_mask(op, condition, x, y, element)
    first, second = (_element_numbers(op, node, index) for index in (1, 2))
    second = op.Add(second, op.Size(x))
    number = op.Add(second, op.Mul(op.Cast(condition, to=NUMBERS["int64"]), op.Sub(first, second)))
    row = op.const([-1])
    return op.Gather(op.Concat(op.Reshape(x, row), op.Reshape(y, row), axis=0), number)


def _element_numbers(op: Builder, node: Node, index: int) -> str:
    """Return a tensor that numbers its elements, in the shape of an input."""
    shape = op.Shape(node.input(index))
    sizes = None if node.rank(index) is None else sizes_of(op, node, index)
    count = op.Size(node.input(index)) if sizes is None else product(op, sizes)
    return reshape_vector(op, integers_below(op, count), sizes, shape)


QUOTIENT = 28
"""Bits of a quotient of two FLOATs, computed in DOUBLE, up to which both it and its product are exact."""
STAGES = {"float16": (41, 1), "float": (QUOTIENT, 10)}
"""For each type, by how many bits of the quotient a stage reduces a number, and how many stages there are."""


@lower("Mod", since=10)
def mod_lowered(op: Builder, node: Node) -> Result:
    """Subtract the truncated quotient times the divisor; without `fmod`, integers then get the sign of the divisor."""
    element = node.need_element(0)
    if element not in INTEGERS:
        if not node.attr("fmod"):
            raise Refusal("C103", "'fmod' is 0, and the operands are no integers")
        return _floating_remainder(op, node, element)
    # Runtimes have kernels for these divisions, and nothing overflows.
    wide = "int32" if element in WIDE_INTEGERS else "int64"
    if element == "uint64":
        wide = element
    a, b = (cast(op, name, element, wide) for name in node.inputs)
    signed = element.startswith("int")
    constant = node.constant(1)
    positive = not signed or (constant is not None and all(value > 0 for value in constant.values))
    # The least integer cannot be divided by -1; the sign of the divisor does not matter here.
    divisor = b if positive else op.Abs(b)
    rest = op.Sub(a, op.Mul(op.Div(a, divisor), divisor))
    if signed and not node.attr("fmod"):
        sign = op.Cast(rest, to=NUMBERS["float"])
        if not positive:
            sign = op.Mul(sign, op.Cast(b, to=NUMBERS["float"]))
        wrong = op.Less(sign, op.const(0.0, "float"))
        rest = op.Add(rest, op.Mul(op.Cast(wrong, to=NUMBERS[wide]), b))
    return cast(op, rest, wide, element)


def _floating_remainder(op: Builder, node: Node, element: str) -> str:
    """Return the remainder with the sign of the dividend; raise Refusal C204 for a type with too many bits."""
    # In DOUBLE, the quotient by the divisor times a power of two, from the largest one on, and its product are exact
    # while they have few bits; so is each difference.
    if element not in STAGES:
        label = "a remainder of this element type is not exact by other operators"
        why = f"a remainder of {element} is not exact by other operators"
        raise Refusal("C204", why, "cast the operands to FLOAT where that is precise enough", label=label)
    bits, stages = STAGES[element]
    a, b = node.inputs
    rest, divisor = (op.Abs(op.Cast(name, to=NUMBERS["double"])) for name in (a, b))
    smaller = op.Less(rest, divisor)
    for stage in reversed(range(stages)):
        scaled = op.Mul(divisor, op.const(2.0 ** (bits * stage), "double")) if stage else divisor
        rest = op.Sub(rest, op.Mul(op.Floor(op.Div(rest, scaled)), scaled))
    rest = op.Cast(rest, to=NUMBERS[element])
    negative = op.Less(a, op.const(0.0, element))
    # A number smaller than the divisor, which may be infinite, is its own remainder, a negative zero as well.
    return op.Where(smaller, a, op.Where(negative, op.Neg(rest), rest))


@lower("BitShift", since=11)
def bit_shift_lowered(op: Builder, node: Node) -> Result:
    """Multiply or divide by a power of two from a table; only the lowest bits of a product are kept."""
    element = node.need_element(0)
    left = node.attr("direction") == "LEFT"
    width = int(element.removeprefix("uint"))
    wide = "uint64" if width == 64 else "int64"
    most = 2**63 if width == 64 else 2**62
    beyond = 0 if left else most
    powers = [2**shift if shift < width else beyond for shift in range(64)]
    constant = node.constant(1)
    if constant is not None:
        power = op.const([powers[min(int(value), 63)] for value in constant.values], wide, constant.dims)
    else:
        # FLOAT keeps every number below 64, and Min takes it always.
        places = op.Min(op.Cast(node.input(1), to=NUMBERS["float"]), op.const(63.0, "float"))
        power = op.Gather(op.const(powers, wide), op.Cast(places, to=NUMBERS["int64"]))
    shifted = (op.Mul if left else op.Div)(cast(op, node.input(0), element, wide), power)
    return cast(op, shifted, wide, element)


BITWISE = {"BitwiseAnd": int.__and__, "BitwiseOr": int.__or__, "BitwiseXor": int.__xor__}
SIGN_OF_64_BITS = -(2**63)


@lower(*BITWISE, since=18)
def bitwise_lowered(op: Builder, node: Node) -> Result:
    """Look the result up for each pair of hexadecimal digits, which have a last dimension of their own."""
    element = node.need_element(0)
    count = int(element.lstrip("uint")) // 4
    # If signed numbers are raised by half their range, the highest digits have the sign bit inverted.
    offset = 8 if element.startswith("int") and count < 16 else 0
    function = BITWISE[node.op_type]
    table = [function(a, b) for a in range(16) for b in range(16)]
    if offset:
        # The second half is for the highest digit, and gives signed ones.
        table += [(function(a ^ 8, b ^ 8) ^ 8) - 8 for a in range(16) for b in range(16)]
    weights = [16**digit for digit in range(count)]
    left, right = (_hexadecimal_digits(op, node, index, count, offset, weights) for index in (0, 1))
    index = op.Add(op.Mul(left, op.const(16)), right)
    if offset:
        index = op.Add(index, op.const([*[0] * (count - 1), 256]))
    digits = op.Cast(op.Gather(op.const(table), index), to=NUMBERS["double"])

    def weighted_sum(digit_weights: list[int]) -> str:
        # DOUBLE holds 32 bits. A product of empty tensors has the right shape in all runtimes, a sum does not.
        column = op.const([float(weight) for weight in digit_weights], "double", [count, 1])
        return op.Squeeze(op.MatMul(digits, column), op.const([-1]))

    if count < 16:
        return op.Cast(weighted_sum(weights), to=NUMBERS[element])
    halves = (weights[:8] + [0] * 8, [0] * 8 + weights[:8])
    low, high = (op.Cast(weighted_sum(half), to=NUMBERS["int64"]) for half in halves)
    return cast(op, op.Add(op.Mul(high, op.const(2**32)), low), "int64", element)


def _hexadecimal_digits(op: Builder, node: Node, index: int, count: int, offset: int, weights: list[int]) -> str:
    """Return the hexadecimal digits of an input in a last dimension, the lowest digit first."""
    constant = node.constant(index)
    raised = offset << 4 * (count - 1)
    if constant is not None and len(constant.values) <= 64:
        values = [(int(value) + raised) % 16**count for value in constant.values]
        digits = [value >> 4 * digit & 15 for value in values for digit in range(count)]
        return op.const(digits, "int64", [*constant.dims, count])
    x = cast(op, node.input(index), node.need_element(index), "int64")
    negative = ""
    if count == 16:
        negative = negative_mask(op, x)
        x = op.Sub(x, op.Mul(negative, op.const(SIGN_OF_64_BITS)))
    elif raised:
        x = op.Add(x, op.const(raised))
    quotients = op.Div(unsqueeze(op, x, [-1]), op.const(weights))
    sixteen = op.const(16)
    digits = op.Sub(quotients, op.Mul(op.Div(quotients, sixteen), sixteen))
    if negative:
        digits = op.Add(digits, op.Mul(unsqueeze(op, negative, [-1]), op.const([*[0] * 15, 8])))
    return digits
