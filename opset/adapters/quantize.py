"""QuantizeLinear and DequantizeLinear: scales for each index of an axis or each block, and types of computation."""

from __future__ import annotations

from math import prod

from opset.adapters.shared import dimension, positive_axis
from opset.model.elements import FLOAT8, NUMBERS, element_name
from opset.model.tensor import make_tensor
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

X, SCALE, ZERO = range(3)
RANGES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}
WIDER = {("float16", "float"), ("bfloat16", "float")}
# For each type of the product, the types of x for which it holds every difference `x - zero`. The operator itself
# rounds an int32 to float as well.
PRODUCTS = {"float": {*RANGES, "int32"}, "float16": {"uint8", "int8"}, "bfloat16": {"uint8", "int8"}}
MAX_CONSTANTS = 1 << 12


@down("QuantizeLinear", "DequantizeLinear", since=13)
def quantize_linear_13_down(op: Builder, node: Node) -> Result:
    """Before 13 the scale was a scalar. Others are written out along their axis; a single element becomes a scalar."""
    shape = node.shape(SCALE)
    if node.need_rank(SCALE) == 0:
        return op.copy(node, drop=["axis"])
    if shape == (1,):
        scalars = [op.Reshape(name, op.const([], "int64", [0])) if name else "" for name in node.inputs[SCALE:]]
        return op.copy(node, inputs=[node.input(X), *scalars], drop=["axis"])
    return _in_parts(op, node)


@down("DequantizeLinear", since=19)
def dequantize_linear_19_down(op: Builder, node: Node) -> Result:
    """Before 19 the scale was a FLOAT; a product in a smaller type is written out."""
    return _in_parts(op, node) if node.element(SCALE) in ("float16", "bfloat16") else None


@down("QuantizeLinear", since=21)
def quantize_linear_21_down(op: Builder, node: Node) -> Result:
    """Before 21 the zero point determined the output type; blocks and 16-bit integers are written out."""
    element = _output_element(node)
    if element in ("uint16", "int16") or _blocked(node):
        return _in_parts(op, node)
    stated = [name for name in ("block_size", "output_dtype") if node.has(name)]
    if not stated or (element not in RANGES and element not in FLOAT8):
        return None
    inputs = list(node.inputs[:3])
    if not node.input(ZERO) and element != "uint8":
        inputs[ZERO:] = [_zeros(op, node, element)]
    return op.copy(node, inputs=inputs, drop=stated)


@down("DequantizeLinear", since=21)
def dequantize_linear_21_down(op: Builder, node: Node) -> Result:
    """Blocks and 16-bit integers, new in 21, are written out; with a scalar scale, `block_size` has no effect."""
    if _blocked(node) or node.element(X) in ("uint16", "int16"):
        return _in_parts(op, node)
    if node.attr("block_size") == 0 or node.need_element(X) in ("uint4", "int4"):
        return None
    return op.copy(node, drop=["block_size"])


@down("QuantizeLinear", since=23)
def quantize_linear_23_down(op: Builder, node: Node) -> Result:
    """Before 23 x and the scale had the type of the division, to which they are cast where that is exact."""
    x, scale = node.need_element(X), node.need_element(SCALE)
    precision = _stated_element(node, "precision") or scale
    if _output_element(node) == "float4e2m1" or (x == scale == precision and not node.has("precision")):
        return None
    inputs = [_cast(op, node, index, precision) for index in (X, SCALE)]
    return op.copy(node, inputs=[*inputs, *node.inputs[ZERO:]], drop=["precision"])


@down("DequantizeLinear", since=23)
def dequantize_linear_23_down(op: Builder, node: Node) -> Result:
    """The product had the type of the scale, which is cast to the output type where that is exact."""
    wanted = _stated_element(node, "output_dtype")
    if wanted is None or node.need_element(X) == "float4e2m1":
        return None
    scale = _cast(op, node, SCALE, wanted)
    return op.copy(node, inputs=[node.input(X), scale, *node.inputs[ZERO:]], drop=["output_dtype"])


def _stated_element(node: Node, attribute: str) -> str | None:
    """Return the type that an attribute names, None where it is 0 or absent."""
    return element_name(node.attr(attribute, 0))


def _cast(op: Builder, node: Node, index: int, wanted: str) -> str:
    """Return an input cast to a type. Raises Refusal C204 where that type cannot represent all its values."""
    element = node.need_element(index)
    if element == wanted:
        return node.input(index)
    if (element, wanted) not in WIDER:
        name = node.schema.inputs[index].name
        raise Refusal("C204", f"it computes in {wanted}, which cannot represent '{name}', a tensor of {element}")
    return op.Cast(node.input(index), to=NUMBERS[wanted])


def _output_element(node: Node) -> str:
    """Return the type that a QuantizeLinear quantizes to."""
    stated = _stated_element(node, "output_dtype")
    if not node.input(ZERO):
        return stated or "uint8"
    element = node.need_element(ZERO)
    if stated not in (None, element):
        raise Refusal("C103", f"'output_dtype' is {stated}, and the zero point is {element}")
    return element


def _zeros(op: Builder, node: Node, element: str) -> str:
    """Return a zero point of 0 in the shape of the scale."""
    shape = node.shape(SCALE)
    dims = [dim for dim in shape or () if isinstance(dim, int) and 0 <= dim <= MAX_CONSTANTS]
    if shape is not None and len(shape) == len(dims) <= 1:
        return op.const([0] * prod(dims), element, dims)
    return op.ConstantOfShape(op.Shape(node.input(SCALE)), value=make_tensor("", NUMBERS[element], [1], [0]))


def _blocked(node: Node) -> bool:
    """Whether there is one scale for each block; it then has the rank of x, and `block_size` is not 0."""
    size = node.attr("block_size", 0)
    if not size or (rank := node.need_rank(SCALE)) == 0:
        return False
    return rank > 1 or node.need_rank(X) == 1


def _in_parts(op: Builder, node: Node) -> Result:
    """Return the operator written out, with its scale and zero point broadcast against x."""
    scale = _laid_out(op, node, SCALE)
    if node.op_type == "QuantizeLinear":
        return _quantized(op, node, scale)
    x, product = node.need_element(X), node.need_element(SCALE)
    if x not in PRODUCTS.get(product, ()):
        why = f"'x' is {x} and 'x_scale' is {product}, a combination that version {op.version} does not take"
        raise Refusal("C202", why, "cast the scale to float, where its product with such numbers is exact")
    value = op.Cast(node.input(X), to=NUMBERS["int32"])
    if node.input(ZERO):
        value = op.Sub(value, op.Cast(_laid_out(op, node, ZERO), to=NUMBERS["int32"]))
    return op.Mul(op.Cast(value, to=NUMBERS[product]), scale)


def _quantized(op: Builder, node: Node, scale: str) -> Result:
    """Return `saturate(round(x / scale) + zero)`: by a QuantizeLinear of scale 1, or rounded, clipped and cast."""
    for index in (X, SCALE):
        if (kind := node.need_element(index)) != "float":
            name = node.schema.inputs[index].name
            raise Refusal("C202", f"'{name}' is {kind}; only for float is a division that is written out certain")
    element, constant = _output_element(node), node.constant(ZERO)
    quotient = op.Div(node.input(X), scale)
    zeros = set(constant.values) if constant is not None else set() if node.input(ZERO) else {0}
    if len(zeros) == 1 and (element in ("uint8", "int8") or element in FLOAT8):
        inputs = [quotient, op.const(1.0, "float", []), op.const(zeros.pop(), element, [])]
        return op.copy(node, inputs=inputs, drop=["axis", "block_size", "output_dtype"])
    if element not in RANGES:
        raise Refusal("C202", f"the result is {element}, which version {op.version} cannot compute in parts")
    rounded = op.Round(quotient)
    if node.input(ZERO):
        rounded = op.Add(rounded, op.Cast(_laid_out(op, node, ZERO), to=NUMBERS["float"]))
    low, high = (op.const(float(bound), "float", []) for bound in RANGES[element])
    return op.Cast(op.Clip(rounded, low, high), to=NUMBERS[element])


def _laid_out(op: Builder, node: Node, index: int) -> str:
    """Return the scale, or the zero point, which has its shape, so that it broadcasts against x."""
    value, rank = node.input(index), node.need_rank(SCALE)
    if rank == 0:
        return value
    if _blocked(node):
        axis = positive_axis(node.attr("axis"), node.need_rank(X))
        return op.Gather(value, _blocks(op, node, axis), axis=axis)
    if rank > 1:
        raise Refusal("C103", f"the scale has {rank} dimensions and no 'block_size'")
    dimensions = node.need_rank(X)
    # A vector may have an axis that is out of range.
    axis = positive_axis(node.attr("axis"), dimensions) if dimensions != 1 else 0
    trailing = dimensions - 1 - axis
    return op.Reshape(value, op.const([-1] + [1] * trailing)) if trailing else value


def _blocks(op: Builder, node: Node, axis: int) -> str:
    """Return for each index of an axis the number of its block."""
    length, size = (node.shape(X) or ())[axis], node.attr("block_size")
    if isinstance(length, int) and length <= MAX_CONSTANTS:
        return op.const([index // size for index in range(length)])
    return op.Div(op.Range(op.const(0), dimension(op, node, X, axis), op.const(1)), op.const(size))
