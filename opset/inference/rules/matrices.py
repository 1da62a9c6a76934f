"""Products of stacks of matrices."""

from __future__ import annotations

from opset.inference.building.agreement import certainly_differ, has_one_element
from opset.inference.building.call import Call
from opset.inference.building.types import KnownShape, Shape
from opset.inference.registration import rule
from opset.inference.rules.elementwise import broadcast_shapes
from opset.schemas.constraints.violation import Violation


@rule("matmul")
def matmul(call: Call, output: int, left: int, right: int, *quantization: int) -> Shape:
    """Return the shape of the product of two tensors of matrices, as numpy.matmul: the rule `matmul(A, B)`.

    Args:
        call: the node.
        output: the index of the output; it is not used.
        left: the index of A.
        right: the index of B.
        quantization: the indices of up to three scales or zero points: of A (one element, or one for each row), of B
            (one element, or one for each column), and of the product (one element, or one for each row).

    Raises:
        Unknown: the rank of A or B is unknown.
        Violation: A or B is a scalar, or shapes certainly do not fit.
    """
    a = call.require_shape(left)
    b = call.require_shape(right)
    if not a or not b:
        raise Violation("C1", f"ranks {len(a)} and {len(b)}")
    inner = "C1" if quantization else "C2"
    call.same(a[-1], b[-2] if len(b) > 1 else b[0], inner, f"with shapes {list(a)} and {list(b)}, the inner size")
    batch = broadcast_shapes(a[:-2], b[:-2])
    shape = (*batch, *a[-2:-1], *b[1:][-1:])
    rows = (*batch, a[-2] if len(a) > 1 else 1, 1)
    expected = (("C2", _shapes_by_row(a)), ("C3", _shapes_by_column(b)), ("C5", _shapes_by_row(rows)))
    for index, (label, legal) in zip(quantization, expected, strict=False):
        actual = call.shape(index)
        if actual is None or has_one_element(actual) is not False:
            continue
        if all(certainly_differ(actual, legal_shape) for legal_shape in legal):
            raise Violation(label, f"shape({call.parameter(index)}) = {list(actual)}, and the product is {list(shape)}")
    return shape


def _shapes_by_row(shape: KnownShape) -> tuple[KnownShape, ...]:
    """Return the legal shapes of scales that have one element for each row of matrices of this shape.

    For [B, M, N], these are (M,) and (B, M, 1). The result is empty if the rank is below 2.
    """
    return (shape[-2:-1], (*shape[:-1], 1)) if len(shape) > 1 else ()


def _shapes_by_column(shape: KnownShape) -> tuple[KnownShape, ...]:
    """Return the legal shapes of scales that have one element for each column of matrices of this shape.

    For [B, M, N], these are (N,) and (B, 1, N). The result is empty if the rank is below 2.
    """
    return (shape[-1:], (*shape[:-2], 1, shape[-1])) if len(shape) > 1 else ()
