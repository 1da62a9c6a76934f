"""Constants in newer forms or types, and operators that create tensors of newer types."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opset.adapters.building.positions import integers_below, sizes_of, vector_along
from opset.adapters.building.shared import BFLOAT16, SMALL_FLOATS, cast, float32, negative_mask
from opset.adapters.limits import MAX_WRITTEN_OUT
from opset.model.elements import CONSTANT_FORMS, NUMBERS, element_name
from opset.model.storage.tensor import make_tensor
from opset.model.types import MAX_CONSTANT, Constant
from opset.version_converter.registration import down, lower, refuses
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

STASH_TYPES = (NUMBERS["float"], NUMBERS["double"])


@down("Constant", since=12)
def constant_12_down(op: Builder, node: Node) -> Result:
    """Write a number or string as a scalar tensor, and a list as a vector."""
    name = _attribute_of_value(node)
    if name not in CONSTANT_FORMS:
        return None
    value = node.attr(name)
    values, dims = (value, [len(value)]) if name.endswith("s") else ([value], [])
    return op.copy(node, drop=[name], value=make_tensor("", NUMBERS[CONSTANT_FORMS[name]], dims, values))


@down("Constant", since=11)
@refuses("C204", "the sparse constant is large or of an unknown type")
def constant_11_down(op: Builder, node: Node) -> Result:
    """Write a sparse tensor as a dense one, with zeros or empty strings for elements without an entry."""
    if _attribute_of_value(node) != "sparse_value":
        return None
    sparse = node.attr("sparse_value")
    dims = list(sparse.dims)
    values = node.values.elements(sparse.values)
    indices = node.values.elements(sparse.indices)
    if any(dim < 0 for dim in dims):
        raise Refusal("C103", f"the sparse constant has dims {dims}")
    size = math.prod(dims)
    if values is None or indices is None or size > MAX_CONSTANT:
        raise Refusal("C204", "the sparse constant is large or of an unknown type", "write the dense tensor as 'value'")
    dense: list[object] = ["" if values.element == "string" else 0] * size
    positions = _positions_of_entries(indices, dims, size)
    if len(positions) != len(values.values):
        raise Refusal("C103", f"there are {len(values.values)} values at {len(positions)} positions")
    for position, value in zip(positions, values.values, strict=True):
        dense[position] = value
    return op.copy(node, drop=["sparse_value"], value=make_tensor("", NUMBERS[values.element], dims, dense))


def _positions_of_entries(indices: Constant, dims: list[int], size: int) -> list[int]:
    """Return the row-major positions of the entries of a sparse tensor; raise Refusal C103 if they do not fit."""
    numbers = list(indices.values)
    if len(indices.dims) == 2 and indices.dims[1] == len(dims):
        positions = [0] * indices.dims[0]
        for axis, dim in enumerate(dims):
            coordinates = numbers[axis :: len(dims)]
            if not all(isinstance(index, int) and 0 <= index < dim for index in coordinates):
                raise Refusal("C103", "an index of the sparse constant is out of range")
            positions = [position * dim + index for position, index in zip(positions, coordinates, strict=True)]
        return positions
    if len(indices.dims) != 1 or not all(isinstance(index, int) and 0 <= index < size for index in numbers):
        raise Refusal("C103", "the indices of the sparse constant do not fit its dims")
    return numbers


def _attribute_of_value(node: Node) -> str:
    """Return the name of the one attribute that holds the constant; raise Refusal C103 if there are more or none."""
    if len(node.proto.attribute) != 1:
        raise Refusal("C103", f"a constant has one attribute, and this has {len(node.proto.attribute)}")
    return node.proto.attribute[0].name


@down("Constant", since=9)
def constant_9_down(op: Builder, node: Node) -> Result:
    """Replace a constant whose elements are not floats by an initializer, which may have any type."""
    value = node.attr("value")
    if element_name(value.data_type) in ("float16", "float", "double"):
        return None
    return op.tensor(value, node.output(0))


@down("ConstantOfShape", since=20)
def constant_of_shape_20_down(op: Builder, node: Node) -> Result:
    """Fill with the value in float, and cast to the type."""
    value = node.attr("value")
    element = element_name(value.data_type) if value is not None else None
    if element not in {**BFLOAT16, **SMALL_FLOATS}:
        return None
    constant = _single_element(node)
    tensor = make_tensor("", NUMBERS["float"], [1], constant.values)
    wide = op.copy(node, outputs=[op.fresh("wide")], value=tensor)
    return op.Cast(wide, to=NUMBERS[constant.element])


def _single_element(node: Node) -> Constant:
    """Return the `value` of a ConstantOfShape; raise Refusal C103 if it is not one element."""
    constant = node.values.elements(node.attr("value"))
    if constant is None or len(constant.values) != 1:
        raise Refusal("C103", "'value' is no tensor with one element")
    return constant


@lower("ConstantOfShape", since=9)
def constant_of_shape_lowered(op: Builder, node: Node) -> Result:
    """Expand a scalar to the shape, or write out the constant if the shape is a constant and small."""
    element = "float"
    fill = 0.0
    if node.has("value"):
        element, _, (fill,) = _single_element(node)
    shape = node.constant(0)
    if shape is not None and all(dim >= 0 for dim in shape.values) and math.prod(shape.values) <= MAX_WRITTEN_OUT:
        return op.const([fill] * math.prod(shape.values), element, shape.values)
    return op.Expand(op.const(fill, element), node.input(0))


@down("Range", since=27)
@refuses("C204", "`stash_type` is none of the element types whose ranges can be expressed before version 27")
def range_27_down(op: Builder, node: Node) -> Result:
    """Compute ranges of the newer types in `stash_type`, and cast back; other types ignore the attribute."""
    element = node.need_element(0)
    stash = node.attr("stash_type")
    if element not in ("float16", "bfloat16"):
        return op.copy(node, drop=["stash_type"]) if node.has("stash_type") else None
    if stash not in STASH_TYPES:
        shown = (element_name(stash) or str(stash)).upper()
        label = "`stash_type` is none of the element types whose ranges can be expressed before version 27"
        raise Refusal("C204", f"'stash_type' is {shown}; ranges in it need version 27", "set stash_type=1", label=label)
    inputs = [op.Cast(name, to=stash) for name in node.inputs]
    wide = op.copy(node, inputs=inputs, outputs=[op.fresh("wide")], drop=["stash_type"])
    return op.Cast(wide, to=NUMBERS[element])


WIDE_RANGE = "`limit` less `start` has more than 64 bits"


@lower("Range", since=11)
@refuses("C204", WIDE_RANGE)
def range_lowered(op: Builder, node: Node) -> Result:
    """Count the elements, and multiply their positions by the step; a range of known numbers is a constant.

    If the limit less the start does not fit into 64 bits, it is refused where both are known. Otherwise, the difference
    wraps around, as it does in runtimes.
    """
    element = node.need_element(0)
    bounds = [node.constant(index) for index in range(3)]
    start, limit, delta = (
        bound.values[0] if bound is not None and len(bound.values) == 1 else None for bound in bounds
    )
    if start is not None and limit is not None and delta is not None:
        folded = _elements_of_range(start, limit, delta, element)
        if folded is not None:
            return op.tensor(make_tensor("", NUMBERS[element], [len(folded)], folded), node.output(0))
    if element in ("float", "double"):
        # The length is computed in DOUBLE, the elements in their own type.
        first, last, step = (cast(op, x, element, "double") for x in node.inputs)
        count = op.Cast(op.Ceil(op.Div(op.Sub(last, first), step)), to=NUMBERS["int64"])
        positions = op.Cast(integers_below(op, _at_least_zero(op, count)), to=NUMBERS[element])
        return op.Add(op.Mul(positions, node.input(2)), node.input(0))
    first, last, step = (cast(op, x, element, "int64") for x in node.inputs)
    if start is not None and limit is not None and not -(2**63) <= limit - start < 2**63:
        if not delta:
            raise Refusal("C204", WIDE_RANGE, "state 'delta' as a constant, or compute the numbers otherwise")
        count = str(op.const(min(max(-((start - limit) // delta), 0), 2**63 - 1)))
    else:
        count = _at_least_zero(op, _count_of_range(op, (first, last, step), start, delta))
    values = integers_below(op, count)
    if delta != 1:
        values = op.Mul(values, step)
    if start != 0:
        values = op.Add(values, first)
    return cast(op, values, "int64", element)


def _count_of_range(op: Builder, bounds: Sequence[str], start: int | None, delta: int | None) -> str:
    """Return how many elements a range of int64 has, at most 0 if none; an unknown `start` or `delta` is None."""
    first, last, step = bounds
    if delta == -1:
        return str(op.Sub(first, last))
    span = last if start == 0 else str(op.Sub(last, first))
    if delta == 1:
        return span
    if delta is not None and 1 < delta <= 2**31:
        # A span that overflows so would give 2**32 elements.
        return str(op.Div(op.Add(span, op.const(delta - 1)), step))
    # The steps to the last element, which is before the limit, and one.
    sign = op.Sign(span)
    one = sign if delta is not None and delta > 0 else op.Mul(sign, op.Sign(step))
    return str(op.Add(op.Div(op.Sub(span, sign), step), one))


def _at_least_zero(op: Builder, count: str) -> str:
    """Return a number, or 0 for a negative one."""
    return op.Sub(count, op.Mul(count, negative_mask(op, count)))


def _elements_of_range(start: float, limit: float, delta: float, element: str) -> list[float] | None:
    """Return the elements of a range, None if there are too many or the range is not defined."""
    if delta == 0 or not all(map(math.isfinite, (start, limit, delta))):
        return None
    if element not in ("float", "double"):
        numbers: range = range(int(start), int(limit), int(delta))
        return None if numbers[MAX_CONSTANT:] else list(numbers)  # len() fails beyond 64 bits
    exact = (limit - start) / delta
    if not exact <= MAX_CONSTANT:
        return None
    round_to_type = float32 if element == "float" else float
    return [round_to_type(round_to_type(number * delta) + start) for number in range(math.ceil(exact))]


@lower("EyeLike", since=9)
def eye_like_lowered(op: Builder, node: Node) -> Result:
    """Compare the numbers of rows and columns."""
    stated = node.attr("dtype")
    element = element_name(stated) if stated is not None else node.need_element(0)
    sizes = sizes_of(op, node, 0)
    if len(sizes) != 2 or element is None:
        raise Refusal("C103", "the input is no matrix, or 'dtype' is no element type")
    rows, columns = (integers_below(op, size) for size in sizes)
    diagonal = op.Equal(op.Sub(columns, vector_along(op, rows, 0, 2)), op.const(node.attr("k")))
    return cast(op, diagonal, "bool", element)
