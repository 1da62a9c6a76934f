"""Matrix products and sums of products."""

from __future__ import annotations

from opset.inference.axes.carriers.elementwise import CONVERT_FIRST, require_other
from opset.inference.axes.places import Blocked, Place, carries
from opset.inference.axes.steps import AxisStep


@carries("MatMul", "MatMulInteger", "QLinearMatMul")
def matmul(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of MatMul, MatMulInteger or QLinearMatMul.

    The axis may be an axis in front of the last two, along which matrices are stacked. It may also be the rows of the
    left factor, or the columns of the right factor. A factor without the axis may have equal matrices stacked at the
    place of the axis, such as one for each sample. Then the node is changed to read only the first of these matrices.

    Raises Blocked in these cases:

    - the product sums over the axis;
    - both factors have the axis, but not as the same axis of stacked matrices;
    - a factor without the axis has several matrices stacked at its place that the first cannot stand for;
    - a scale or zero point has the axis, or a shape other than () and (1,).
    """
    right = 3 if step.call.schema.name == "QLinearMatMul" else 1
    step.require_shared(*(index for index in range(step.count) if index not in (0, right)))
    places = {index: place for index in (0, right) if (place := step.place(index)) is not None}
    for index in range(step.count):
        if index not in (0, right) and len(step.shape(index)) and step.shape(index) != (1,):
            raise Blocked("its scales may differ along the axis")
    ranks = {index: len(step.shape(index)) for index in (0, right)}
    if min(ranks.values()) < 2:
        return _vector_product(places, ranks, right)
    rank = max(ranks.values())
    stacked = {index: place.axis - ranks[index] < -2 for index, place in places.items()}
    if all(stacked.values()):
        aligned = {place._replace(axis=place.axis + rank - ranks[index]) for index, place in places.items()}
        if len(aligned) > 1:
            raise Blocked("it would combine each slice with each other one")
        (place,) = aligned
        for index in (0, right):
            axis = place.axis - (rank - ranks[index])
            if index not in places and axis >= 0 and step.shape(index)[axis] != 1:
                if not step.is_old_size(step.shape(index)[axis]):
                    raise Blocked(f"{step.shape(index)[axis]} matrices of the other input stand along it")
                step.narrow(index, axis)
        return place
    if len(places) > 1:
        raise Blocked("it would combine each slice with each other one")
    ((index, place),) = places.items()
    contracted = ranks[index] - 1 if index == 0 else ranks[index] - 2
    require_other(step, place, contracted)
    return place._replace(axis=place.axis + rank - ranks[index])


def _vector_product(places: dict[int, Place], ranks: dict[int, int], right: int) -> Place:
    """Return the Place of the resized axis in a product of a vector with a matrix, stacked matrices, or a vector.

    Args:
        places: the places in the factors that have the axis, by index of the input; at least one.
        ranks: the ranks of both factors, by index of the input.
        right: the index of the right factor; the left one has 0.

    Raises:
        Blocked: the product sums over the axis, or both factors have it.
    """
    (index, place), *others = places.items()
    contracted = ranks[index] - 1 if index == 0 else max(ranks[index] - 2, 0)
    if others or place.axis == contracted:
        raise Blocked("it sums along the axis")
    return place._replace(axis=place.axis - (index == right and place.axis > contracted))


@carries("Gemm")
def gemm(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in Gemm's output.

    The axis may be the rows of A or the columns of B. If the input C has the old size along the axis, and its slices
    are equal, the node is changed to read only the first slice. Raises Blocked if the product sums over the axis, if A
    and B both have it, or for versions before 7. Raises Blocked, too, if C has the axis in another place, or has slices
    along it that may differ.
    """
    places = {index: place for index in (0, 1) if (place := step.place(index)) is not None}
    if len(places) > 1:
        raise Blocked("it would combine each slice with each other one")
    if not places:
        step.require_shared(2)
    if step.call.version < 7:
        raise Blocked(f"Gemm {step.call.version} broadcasts in another way than later versions", CONVERT_FIRST)
    ((index, place),) = places.items()
    transposed = bool(step.call.attribute("transB" if index else "transA"))
    kept = (1 if index else 0) ^ transposed
    require_other(step, place, 1 - kept)
    place = place._replace(axis=index)
    if step.call.has(2):
        rank = len(step.shape(2))
        added = step.place(2)
        axis = index - (2 - rank)
        if added is not None and (added._replace(axis=added.axis + 2 - rank) != place):
            raise Blocked("C has the slices along another axis")
        if added is None and axis >= 0 and step.shape(2)[axis] != 1:
            if not step.is_old_size(step.shape(2)[axis]):
                raise Blocked("C has another size along the axis")
            step.narrow(2, axis)
    return place


@carries("Einsum")
def einsum(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Einsum.

    The axis has one letter in the equation, such as "b" in "bij,bjk->bik". An input may have this letter, but
    lack the resized axis, as a constant does. Such an input is repeated to the new size. Raises Blocked in these cases:

    - an input cannot be repeated;
    - the axis has different letters in the inputs;
    - the output lacks the letter, or a term has the letter twice;
    - the equation has "..." or no "->".
    """
    equation = str(step.call.attribute("equation")).replace(" ", "")
    if "..." in equation or "->" not in equation:
        raise Blocked("its equation does not name each axis")
    left, output = equation.split("->")
    terms = left.split(",")
    found = {
        (terms[index][place.axis], place.outer, place.inner)
        for index in range(step.count)
        if (place := step.place(index)) is not None
    }
    letter, outer, inner = next(iter(found))
    if len(found) > 1 or letter not in output or any(term.count(letter) > 1 for term in terms):
        raise Blocked(f"it sums along the axis, or pairs its slices with each other: {equation}")
    for index, term in enumerate(terms):
        axis = term.find(letter)
        # A dimension of size 1 beside a larger one is repeated anyway.
        if axis >= 0 and step.place(index) is None and (step.before == 1 or step.shape(index)[axis] != 1):
            step.repeat(index, axis)
    return Place(output.index(letter), outer, inner)


@carries("Det")
def determinant(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Det.

    Raises Blocked if the axis is one of the last two axes, rows and columns of a matrix.
    """
    place = step.data_place()
    rank = len(step.shape(0))
    require_other(step, place, rank - 2, rank - 1)
    return place
