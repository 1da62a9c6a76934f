"""Output types of optimizers, which are the types of the tensors that are updated, and of Gradient."""

from __future__ import annotations

from functools import partial

from opset.inference.building.agreement import common_shape
from opset.inference.building.call import Call
from opset.inference.building.gradient_graphs import DOMAIN
from opset.inference.building.types import Type, tensor
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation


def _types_of_update(parts: int, call: Call) -> list[Type]:
    """Return the types of an optimizer's outputs: all new tensors, then for each kind of state all new states.

    A new state has the type of its tensor. If a rank is unknown, the reason is added to `call.doubts`. Raises Violation
    C2 for a wrong number of inputs, C3 if the inputs for a tensor differ in type or shape.

    Args:
        parts: the number of inputs for each tensor: 3 for Adagrad and Momentum (tensor, gradient and one state), 4 for
            Adam (two states).
        call: the node.
    """
    # From the third on, the inputs are all tensors, all gradients, then all states of one kind: `parts` lists in all.
    tensors, left = divmod(call.input_count - 2, parts)
    if left or tensors < 1:
        raise Violation("C2", f"{call.input_count - 2} inputs are not {parts} for each tensor")
    return [_common_type(call, range(2 + number, call.input_count, tensors)) for number in range(tensors)] * (parts - 1)


def _common_type(call: Call, indices: range) -> Type:
    """Return the tensor type that the inputs at `indices` must have in common, as far as it is known.

    If no rank is known, the reason is added to `call.doubts`. Raises Violation C3 if the types certainly differ.
    """
    elements = list(dict.fromkeys(filter(None, map(call.dtype, indices))))
    if len(elements) > 1:
        raise Violation("C3", f"tensors of {' and '.join(elements)}")
    shape = common_shape(call, indices, "C3")
    if shape is None:
        call.doubt("the rank of a tensor is not known")
    return tensor(next(iter(elements), None), shape)


infer("Adagrad", "Momentum", domain=DOMAIN)(partial(_types_of_update, 3))
infer("Adam", domain=DOMAIN)(partial(_types_of_update, 4))


@infer("Gradient", domain=DOMAIN)
def gradient_1(call: Call) -> list[Type]:
    """Return the types of the derivatives: for each name in `xs`, the type of the input in the same position.

    Raises Violation C1 if there are not as many inputs as names in `xs` and `zs`, C2 if an input for `xs` certainly
    does not hold floats.
    """
    names = call.attribute("xs") or ()
    others = call.attribute("zs") or ()
    if call.input_count != len(names) + len(others):
        raise Violation("C1", f"{call.input_count} inputs for {len(names)} names of xs and {len(others)} of zs")
    types = []
    for index in range(len(names)):
        element = call.dtype(index)
        if element is not None and not element.startswith(("float", "double", "bfloat")):
            raise Violation("C2", f"{names[index]!r:.80} is of {element}")
        types.append(tensor(element, call.shape(index)))
    return types
