"""Shapes of matrix products, determinants, and sums of products in Einstein notation."""

from __future__ import annotations

from opset.inference.building.call import Call, Unknown
from opset.inference.building.einsum import parse_equation
from opset.inference.building.types import Shape
from opset.inference.registration import infer


@infer("Det")
def det_11(call: Call) -> Shape:
    """Return the shape of the input without its last two dimensions, the rows and columns of a matrix.

    Raises Unknown if the rank is unknown.
    """
    return call.require_shape(0)[:-2]


@infer("Gemm")
def gemm_1(call: Call) -> Shape:
    """Return (M, N): the rows of A and the columns of B, after the transpositions by `transA` and `transB`.

    A size is None if it is unknown.
    """
    return (call.size("M"), call.size("N"))


@infer("Einsum")
def einsum_12(call: Call) -> Shape:
    """Return the sizes of the labels in the equation's output; each is None if it is unknown.

    For "ij,jk->ik", these are the sizes of i and k. Raises Unknown if the equation, or a rank that decides the output's
    rank, is not known. Raises Violation C1 to C5 if the equation is malformed or does not fit the inputs.
    """
    equation = call.attribute("equation")
    if not isinstance(equation, str):
        raise Unknown("the equation is not known")
    contraction = parse_equation(equation, [call.shape(index) for index in range(call.input_count)])
    if contraction.output is None:
        raise Unknown("the rank of no input with an ellipsis is known")
    return tuple([contraction.sizes.get(label) for label in contraction.output])
