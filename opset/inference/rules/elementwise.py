"""Outputs that have the shape of an input, or of all inputs broadcast together; fixed shapes.

Inputs whose shapes do not broadcast, or are not the same, break C1 of their operator.
"""

from __future__ import annotations

from opset.inference.building.agreement import common_shape
from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, broadcast, equal
from opset.inference.building.types import Shape, Type
from opset.inference.registration import rule
from opset.schemas.constraints.violation import Violation


@rule("same")
def same(call: Call, output: int, source: int) -> Shape | None:
    """Return the shape of the input at index `source`: the rule `same(X)`.

    `output`, the index of the output, is not used. Raises Unknown if the rank of the input is unknown.
    """
    return call.require_shape(source)


@rule("same_type")
def same_type(call: Call, output: int, source: int) -> Type | None:
    """Return the type and shape of the input at index `source`, also of a sequence or optional: rule `same_type(X)`.

    The result is None if the type is unknown. `output`, the index of the output, is not used.
    """
    return call.type(source)


@rule("broadcast")
def broadcast_all(call: Call, output: int, *sources: int) -> Shape:
    """Return the shape to which inputs broadcast, for the rule `broadcast`.

    `sources` are the indices of the inputs; without them, all inputs count. An input that the node leaves out does not
    count. `output`, the index of the output, is not used. Raises Unknown if the rank of an input is unknown, Violation
    C1 if the inputs certainly cannot be broadcast together.
    """
    indices = sources or range(call.input_count)
    return broadcast_shapes(*(call.require_shape(index) for index in indices if call.has(index)))


@rule("onto")
def broadcast_onto(call: Call, output: int, target: int, *sources: int) -> Shape:
    """Return the shape of the input at index `target`, to which other inputs must broadcast: the rule `onto`.

    `sources` are the indices of the other inputs. An input of unknown rank is not checked. `output`, the index of the
    output, is not used. Raises Unknown if the rank of the target is unknown, Violation C1 if another input certainly
    cannot be broadcast to the shape.
    """
    shape = call.require_shape(target)
    for source in sources:
        source_shape = call.shape(source)
        if source_shape is None:
            continue
        spread = broadcast_shapes(shape, source_shape)
        if len(spread) > len(shape) or any(equal(a, b) is False for a, b in zip(spread, shape, strict=True)):
            name = call.parameter(source)
            raise Violation("C1", f"{name} of shape {list(source_shape)} does not broadcast to {list(shape)}")
    return shape


@rule("all_same")
def all_same(call: Call, output: int) -> Shape | None:
    """Return the shape that all inputs of a node must have, for the rule `all_same`; None if no rank is known.

    Each size is the most precise that an input has. `output`, the index of the output, is not used. Raises Violation C1
    if the shapes certainly differ.
    """
    return common_shape(call, range(call.input_count), "C1")


@rule("scalar")
def scalar(call: Call, output: int) -> Shape:
    """Return (), the shape of a scalar, for the rule `scalar`; neither argument is used."""
    return ()


def broadcast_shapes(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """Return the shape to which shapes broadcast together, () for no shapes. Raises Violation C1 if they cannot."""
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0] if shapes else ()
    rank = max(map(len, shapes))
    result: list[Size] = []
    for axis in range(-rank, 0):
        sizes = [shape[axis] for shape in shapes if -axis <= len(shape)]
        try:
            result.append(broadcast(*sizes))
        except ValueError as error:
            raise Violation("C1", f"on axis {axis}, {error}") from error
    return tuple(result)
