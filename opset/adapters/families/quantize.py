"""Quantization: scales for each index of an axis or each block, types of computation, and all of it by formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opset.adapters.building.positions import size_along, size_name
from opset.adapters.building.shared import cast, known_size, need_dims, positive_axis, round_to_even
from opset.adapters.limits import MAX_CONSTANTS, MAX_ELEMENTS, MAX_TERMS
from opset.model import proto as pb
from opset.model.elements import FLOAT8, NUMBERS, element_name
from opset.model.storage.tensor import make_tensor
from opset.version_converter.registration import down, lower, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

X, SCALE, ZERO = range(3)
RANGES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}
WIDER = {("float16", "float"), ("bfloat16", "float")}
HALVES = ("float16", "bfloat16")
"""Types in which the operators compute in float, and round once."""
SMALL = {"int2": "int8", "uint2": "uint8", "int4": "int8", "uint4": "uint8"}
"""Types of less than a byte with those that hold them."""
DIGITS = ((1, 256, 1), (15, 16, 2), (63, 4, 4))
"""How many times MAX_TERMS products FLOAT holds if one factor has digits: of which base, and how many digits."""
CONVOLUTION = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


@down("QuantizeLinear", "DequantizeLinear", since=13)
def quantize_linear_13_down(op: Builder, node: Node) -> Result:
    """Write out scales along their axis, and make a single scale a scalar, the only form before 13."""
    shape = node.shape(SCALE)
    if node.need_rank(SCALE) == 0:
        return op.copy(node, drop=["axis"])
    if shape == (1,):
        scalars = [_scalar(op, name) if name else "" for name in node.inputs[SCALE:]]
        return op.copy(node, inputs=[node.input(X), *scalars], drop=["axis"])
    return _write_out(op, node)


@down("DequantizeLinear", since=19)
def dequantize_linear_19_down(op: Builder, node: Node) -> Result:
    """Compute in float what has another type, and cast it to that type: before 19, a scale was float."""
    element = node.element(SCALE)
    if element not in HALVES:
        return _with_legal_axis(op, node)
    inputs = [node.input(X), op.Cast(node.input(SCALE), to=NUMBERS["float"]), *node.inputs[ZERO:]]
    axis: dict[str, Any] = {"axis": 0} if _has_illegal_axis(node) else {}
    return op.Cast(op.copy(node, inputs=inputs, outputs=[op.fresh("wide")], **axis), to=NUMBERS[element])


@down("QuantizeLinear", since=19)
def quantize_linear_19_down(op: Builder, node: Node) -> Result:
    """Write out a division in a type that came with 19, and leave out `saturate`, which is for newer types."""
    if node.element(SCALE) in HALVES:
        return _write_out(op, node)
    return op.copy(node, inputs=node.inputs, drop=["saturate"]) if node.has("saturate") else None


@up("DequantizeLinear", since=21)
def dequantize_linear_21_up(op: Builder, node: Node) -> Result:
    """State the axis of a vector, which does not count before 21."""
    return _with_legal_axis(op, node)


@down("QuantizeLinear", since=21)
def quantize_linear_21_down(op: Builder, node: Node) -> Result:
    """Write out blocks and 16-bit integers; before 21 the zero point determined the output type."""
    element = _output_element(node)
    if element in ("uint16", "int16") or _is_blocked(node):
        return _write_out(op, node)
    stated = [name for name in ("block_size", "output_dtype") if node.has(name)]
    if not stated or (element not in RANGES and element not in FLOAT8):
        return _with_legal_axis(op, node)
    inputs = list(node.inputs[:3])
    if not node.input(ZERO) and element != "uint8":
        inputs[ZERO:] = [_zero_points(op, node, element)]
    axis: dict[str, Any] = {"axis": 0} if _has_illegal_axis(node) else {}
    return op.copy(node, inputs=inputs, drop=stated, **axis)


@down("DequantizeLinear", since=21)
def dequantize_linear_21_down(op: Builder, node: Node) -> Result:
    """Write out blocks and 16-bit integers, new in 21; with a scalar scale, `block_size` has no effect.

    Constants of four bits become bytes, which hold them.
    """
    node = _in_bytes(op, node)
    if _is_blocked(node) or node.element(X) in ("uint16", "int16"):
        return _write_out(op, node)
    if node.need_element(X) in SMALL:
        return None
    return op.copy(node, inputs=node.inputs, drop=["block_size"])


@down("DequantizeLinear", since=25)
def dequantize_linear_25_down(op: Builder, node: Node) -> Result:
    """Write constants of two bits as bytes, which hold them."""
    wide = _in_bytes(op, node) if node.element(X) in ("int2", "uint2") else node
    return None if wide is node else op.copy(wide)


def _in_bytes(op: Builder, node: Node) -> Node:
    """Return the node with constants of two or four bits as bytes; any other node is returned unchanged."""
    wide = SMALL.get(node.element(X) or "")
    present = [(index, node.input(index)) for index in (X, ZERO) if node.input(index)]
    constants = {index: node.values.stored_constant(name, MAX_ELEMENTS) for index, name in present}
    if wide is None or None in constants.values():
        return node
    proto = pb.NodeProto()
    proto.CopyFrom(node.proto)
    for index, constant in constants.items():
        if constant is not None:
            proto.input[index] = op.const(list(constant.values), wide, constant.dims)
    return Node(proto, node.schema, node.values)


@down("QuantizeLinear", since=23)
def quantize_linear_23_down(op: Builder, node: Node) -> Result:
    """Cast x and the scale to the type of the division, which both had before 23; refuse a cast that loses values."""
    x = node.need_element(X)
    scale = node.need_element(SCALE)
    precision = _stated_element(node, "precision") or scale
    if _output_element(node) == "float4e2m1" or (x == scale == precision and not node.has("precision")):
        return None
    inputs = [_cast_exactly(op, node, index, precision) for index in (X, SCALE)]
    return op.copy(node, inputs=[*inputs, *node.inputs[ZERO:]], drop=["precision"])


@down("DequantizeLinear", since=23)
def dequantize_linear_23_down(op: Builder, node: Node) -> Result:
    """Cast the scale to the output type, which it had before 23; refuse a cast that loses values."""
    target = _stated_element(node, "output_dtype")
    if target is None or node.need_element(X) == "float4e2m1":
        return None
    scale = _cast_exactly(op, node, SCALE, target)
    return op.copy(node, inputs=[node.input(X), scale, *node.inputs[ZERO:]], drop=["output_dtype"])


@lower("QuantizeLinear", "DequantizeLinear", since=10)
def quantize_linear_lowered(op: Builder, node: Node) -> Result:
    """Write the formula, with one scale and one zero point."""
    return _write_out(op, node)


@lower("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear_lowered(op: Builder, node: Node) -> Result:
    """Find the range of the input, extended to 0.

    Its scale may be 0. Then quotients are infinite, or NaN, which becomes 0.
    """
    x = node.input(X)
    values = op.Concat(op.Reshape(x, op.const([-1])), op.const([0.0], "float"), axis=0)
    low = op.ReduceMin(values, keepdims=0)
    high = op.ReduceMax(values, keepdims=0)
    scale = op.Div(op.Sub(high, low), op.const(255.0, "float"))
    zero_point = op.QuantizeLinear(op.Neg(low), scale)
    return op.QuantizeLinear(x, scale, zero_point), scale, zero_point


@lower("MatMulInteger", since=10)
def mat_mul_integer_lowered(op: Builder, node: Node) -> Result:
    """Multiply in double, which holds every sum of products of bytes."""
    return _product_of_integers(op, node, (0, 2), (1, 3))


@lower("QLinearMatMul", since=10)
def q_linear_mat_mul_lowered(op: Builder, node: Node) -> Result:
    """Multiply, scale the product, and quantize it."""
    product = op.Cast(_product_of_integers(op, node, (0, 2), (3, 5)), to=NUMBERS["float"])
    of_matrices = node.need_rank(0) > 1 and node.need_rank(3) > 1
    a, b, y, zero = (_parameter_of_rows(op, node, index, of_matrices and index != 4) for index in (1, 4, 6, 7))
    zero = op.Cast(zero, to=NUMBERS["float"])
    return _saturate(op, op.Mul(product, op.Div(op.Mul(a, b), y)), zero, node.need_element(7))


@lower("ConvInteger", since=10)
def conv_integer_lowered(op: Builder, node: Node) -> Result:
    """Convolve in a type that holds every sum."""
    return _convolution_of_integers(op, node, (0, 2), (1, 3))


@lower("QLinearConv", since=10)
def q_linear_conv_lowered(op: Builder, node: Node) -> Result:
    """Convolve, add the bias, scale the sums, and quantize them."""
    sums = _convolution_of_integers(op, node, (0, 2), (3, 5))
    ones = [1] * (node.need_rank(3) - 2)
    if node.input(8):
        sums = op.Add(sums, op.Reshape(node.input(8), op.const([-1, *ones])))
    scale = op.Reshape(node.input(4), op.const([-1, *ones]))
    factor = op.Div(op.Mul(_scalar(op, node.input(1)), scale), _scalar(op, node.input(6)))
    quotient = op.Mul(op.Cast(sums, to=NUMBERS["float"]), factor)
    zero = _scalar(op, op.Cast(node.input(7), to=NUMBERS["float"]))
    return _saturate(op, quotient, zero, node.need_element(7))


def _scalar(op: Builder, value: str) -> str:
    """Return a value of one element as a scalar."""
    return str(op.Reshape(value, op.const([], "int64", [0])))


def _subtract_zero(op: Builder, value: str, zero: str, element: str, shape: Sequence[int] | None = None) -> str:
    """Return a value in another type, minus its zero point if there is one ("" for none), which may get a shape."""
    wide = op.Cast(value, to=NUMBERS[element])
    if not zero:
        return str(wide)
    shift = op.Cast(zero, to=NUMBERS[element])
    if shape is not None:
        shift = op.Reshape(shift, op.const([*shape], "int64", [len(shape)]))
    return str(op.Sub(wide, shift))


def _parameter_of_rows(op: Builder, node: Node, index: int, rows: bool) -> str:
    """Return scales or zero points in a shape that broadcasts against matrices: one, or one for each row or column."""
    shape = need_dims(node, index)
    if not shape:
        return node.input(index)
    if all(size == 1 for size in shape):
        return _scalar(op, node.input(index))
    return str(op.Unsqueeze(node.input(index), axes=[1])) if len(shape) == 1 and rows else node.input(index)


def _product_of_integers(op: Builder, node: Node, left: tuple[int, int], right: tuple[int, int]) -> str:
    """Return the product, modulo 2**32, of two inputs, each minus its zero point; each pair is (input, zero point)."""
    operands = []
    for (index, zero), rows in ((left, True), (right, False)):
        vector = node.need_rank(index) == 1
        shift = _parameter_of_rows(op, node, zero, rows and not vector) if node.input(zero) else ""
        operands.append(_subtract_zero(op, node.input(index), shift, "double"))
    return str(op.Cast(op.Cast(op.MatMul(*operands), to=NUMBERS["int64"]), to=NUMBERS["int32"]))


def _convolution_of_integers(op: Builder, node: Node, values: tuple[int, int], filters: tuple[int, int]) -> str:
    """Return the convolution, modulo 2**32, of two (input, zero point)."""
    x_zero, w_zero = (node.input(index) for _, index in (values, filters))
    shape = need_dims(node, filters[0])
    rank = len(shape)
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    terms = math.prod(sizes) if len(sizes) == len(shape) - 1 else math.inf
    # FLOAT holds the sums of few products; of more, those with digits of the filters: in base 16, or in base 4.
    base, digits = next((form for most, *form in DIGITS if terms <= MAX_TERMS * most), (0, 1))
    element = "float" if base else "double"
    # A runtime may reshape floats alone.
    x = _subtract_zero(op, node.input(values[0]), x_zero, element, [])
    w = _subtract_zero(op, node.input(filters[0]), w_zero, element, [-1] + [1] * (rank - 1))
    attributes = {name: node.attr(name) for name in CONVOLUTION if node.has(name)}
    if digits == 1:
        return str(op.Cast(op.Cast(op.Conv(x, w, **attributes), to=NUMBERS["int64"]), to=NUMBERS["int32"]))
    total = ""
    for power in (base**exponent for exponent in reversed(range(digits))):
        size = op.const(float(power), "float")
        digit = op.Floor(op.Div(w, size)) if power > 1 else w
        w = op.Sub(w, op.Mul(digit, size)) if power > 1 else w
        part = op.Mul(op.Cast(op.Conv(x, digit, **attributes), to=NUMBERS["int32"]), op.const(power, "int32"))
        total = str(op.Add(total, part) if total else part)
    return total


def _with_legal_axis(op: Builder, node: Node) -> Result:
    """Return a node with axis 0 if it is a vector whose stated axis is out of range, else None."""
    return op.copy(node, axis=0) if _has_illegal_axis(node) else None


def _has_illegal_axis(node: Node) -> bool:
    """Whether x is a vector with several scales, and `axis` out of its range, which some versions ignore."""
    several = node.rank(SCALE) == 1 and node.shape(SCALE) != (1,)
    return several and node.rank(X) == 1 and node.attr("axis") not in (0, -1)


def _stated_element(node: Node, attribute: str) -> str | None:
    """Return the type that an attribute names, None if it is 0 or absent."""
    return element_name(node.attr(attribute, 0))


def _cast_exactly(op: Builder, node: Node, index: int, target: str) -> str:
    """Return an input cast to a type; raise Refusal C204 if that type cannot represent all its values."""
    element = node.need_element(index)
    if element == target:
        return node.input(index)
    if (element, target) not in WIDER:
        name = node.schema.inputs[index].name
        label = "it computes in a type that cannot represent one of the inputs"
        why = f"it computes in {target}, which cannot represent '{name}', a tensor of {element}"
        raise Refusal("C204", why, label=label)
    return op.Cast(node.input(index), to=NUMBERS[target])


def _output_element(node: Node) -> str:
    """Return the output type of a QuantizeLinear; raise Refusal C103 if the node states two types."""
    stated = _stated_element(node, "output_dtype")
    if not node.input(ZERO):
        return stated or "uint8"
    element = node.need_element(ZERO)
    if stated not in (None, element):
        raise Refusal("C103", f"'output_dtype' is {stated}, and the zero point is {element}")
    return element


def _zero_points(op: Builder, node: Node, element: str) -> str:
    """Return a zero point of 0 in the shape of the scale."""
    shape = node.shape(SCALE)
    dims = [dim for dim in shape or () if isinstance(dim, int) and 0 <= dim <= MAX_CONSTANTS]
    if shape is not None and len(shape) == len(dims) <= 1:
        return op.const([0] * math.prod(dims), element, dims)
    return op.ConstantOfShape(op.Shape(node.input(SCALE)), value=make_tensor("", NUMBERS[element], [1], [0]))


def _is_blocked(node: Node) -> bool:
    """Whether there is one scale for each block; it then has the rank of x, and `block_size` is not 0."""
    size = node.attr("block_size", 0)
    if not size or (rank := node.need_rank(SCALE)) == 0:
        return False
    return rank > 1 or node.need_rank(X) == 1


def _write_out(op: Builder, node: Node) -> Result:
    """Return the operator written out; raise Refusal C202 if the product of these types is not exact."""
    scale = _broadcast_parameter(op, node, SCALE)
    if node.op_type == "QuantizeLinear":
        return _quantize(op, node, scale)
    x = node.need_element(X)
    element = node.need_element(SCALE)
    if (x not in RANGES and x != "int32") or element not in ("float", *HALVES):
        why = f"'x' is {x} and 'x_scale' is {element}, a combination that version {op.version} does not take"
        label = f"the types of `x` and `x_scale` are a combination that version {op.version} does not take"
        raise Refusal("C202", why, label=label)
    value = node.input(X)
    if node.input(ZERO):
        # The difference of two int32 may be none.
        wide = NUMBERS["double" if x == "int32" else "int32"]
        value = op.Sub(op.Cast(value, to=wide), op.Cast(_broadcast_parameter(op, node, ZERO), to=wide))
    return cast(op, op.Mul(op.Cast(value, to=NUMBERS["float"]), cast(op, scale, element, "float")), "float", element)


def _quantize(op: Builder, node: Node, scale: str) -> Result:
    """Return `saturate(round(x / scale) + zero)`; raise Refusal C202 for types in which it is not certain."""
    division = _stated_element(node, "precision") or node.need_element(SCALE)
    for index in (X, SCALE):
        kind = node.need_element(index)
        if division not in ("float", *HALVES) or (kind != division and (kind, division) not in WIDER):
            name = node.schema.inputs[index].name
            label = "the division is in a type in which it is not certain if it is written out"
            why = f"'{name}' is {kind}, and the division is in {division}, which is not certain if it is written out"
            raise Refusal("C202", why, label=label)
    element = _output_element(node)
    constant = node.constant(ZERO)
    operands = [
        cast(op, node.input(X), node.need_element(X), "float"),
        cast(op, scale, node.need_element(SCALE), "float"),
    ]
    # A quotient of two halves is the one of floats, rounded.
    quotient = cast(op, cast(op, op.Div(*operands), "float", division), division, "float")
    zeros = set() if node.input(ZERO) else {0}
    if constant is not None:
        zeros = set(constant.values)
    # A runtime that lacks the operator for halves gets none of it.
    is_supported = op.version >= 10 and (element in FLOAT8 or (element in ("uint8", "int8") and division == "float"))
    if len(zeros) == 1 and is_supported:
        inputs = [quotient, op.const(1.0, "float"), op.const(zeros.pop(), element)]
        drop = ["axis", "block_size", "output_dtype", "precision", *["saturate"] * (element in RANGES)]
        return op.copy(node, inputs=inputs, drop=drop)
    if element not in RANGES:
        label = f"the result is of a type which version {op.version} cannot compute in parts"
        why = f"the result is {element}, which version {op.version} cannot compute in parts"
        raise Refusal("C202", why, label=label)
    zero = op.Cast(_broadcast_parameter(op, node, ZERO), to=NUMBERS["float"]) if node.input(ZERO) else ""
    return _saturate(op, quotient, zero, element)


def _saturate(op: Builder, quotient: str, zero: str, element: str) -> str:
    """Return quotients rounded, plus the zero point if any, which is a float, and limited to the range of a type."""
    values = op.Round(quotient) if op.version >= 11 else round_to_even(op, quotient, "float")
    if zero:
        values = op.Add(values, zero)
    low, high = RANGES[element]
    lowest = op.const(float(low), "float")
    if op.version < 11:
        limited = op.Clip(values, min=float(low), max=float(high))
    else:
        limited = op.Clip(values, lowest, op.const(float(high), "float"))
    # NaN is not above the least value, and becomes that. The result of a Cast of NaN is not defined.
    whole = op.Cast(limited, to=NUMBERS["int32"])
    whole = op.Where(op.Less(lowest, values), whole, op.const(low, "int32"))
    return str(op.Cast(whole, to=NUMBERS[element]))


def _broadcast_parameter(op: Builder, node: Node, index: int) -> str:
    """Return the scale, or the zero point, in a shape that broadcasts against x."""
    value = node.input(index)
    rank = node.need_rank(SCALE)
    if rank == 0:
        return _scalar(op, value) if node.shape(index) else value
    if op.version < 10 and (rank > 1 or (known_size(node, SCALE, 0) or 0) <= 1):
        return _scalar(op, value)
    if _is_blocked(node):
        axis = positive_axis(node.attr("axis"), node.need_rank(X))
        return op.Gather(value, _block_numbers(op, node, axis), axis=axis)
    if rank > 1:
        raise Refusal("C103", f"the scale has {rank} dimensions and no 'block_size'")
    dimensions = node.need_rank(X)
    # A vector may have an axis that is out of range. Before version 13, runtimes take scales for the indices of axis 1.
    axis = positive_axis(node.attr("axis", 1), dimensions) if dimensions != 1 else 0
    trailing = dimensions - 1 - axis
    return op.Reshape(value, op.const([-1] + [1] * trailing)) if trailing else value


def _block_numbers(op: Builder, node: Node, axis: int) -> str:
    """Return for each index of an axis the number of its block."""
    length = known_size(node, X, axis)
    size = node.attr("block_size")
    if length is not None and length <= MAX_CONSTANTS:
        return op.const([index // size for index in range(length)])
    return op.Div(op.Range(op.const(0), size_name(op, size_along(op, node, X, axis)), op.const(1)), op.const(size))
