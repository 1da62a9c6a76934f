"""The elements of small values: read from initializers and Constants, or computed by nodes from such elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.errors import ModelError
from opset.inference.building.call import Call, Constant, Unknown
from opset.inference.building.dimensions import Dim, TooComplex
from opset.inference.building.types import Type
from opset.inference.building.work import ELEMENT_BYTES, PART_BYTES, can_follow_elements, charge
from opset.inference.engine.outcomes import MALFORMED, is_representable, small_element_count
from opset.inference.engine.scopes import Scope
from opset.inference.limits import MAX_DATA, MAX_FLOATS, MAX_PASSED
from opset.model.elements import element_name
from opset.model.storage.container import Model
from opset.model.storage.tensor import tensor_values
from opset.opsets.hooks import Hook
from opset.schemas.constraints.violation import Violation

_FOLLOWED = frozenset("int64 int32 bool float double float16 uint8 int8 uint64 uint32 int16 uint16".split())
_INTEGERS = frozenset("int64 int32 bool uint8 int8 uint64 uint32 int16 uint16".split())
_PASSED = frozenset(("int64", "int32", "bool"))


class ConstantElements:
    """Reads and computes the elements of small tensors of one model."""

    def __init__(self, model: Model) -> None:
        """Store the model, from whose files elements of tensors are read."""
        self._model = model

    def find(self, scope: Scope, name: str) -> Constant | None:
        """Return the elements of the value `name`, which is visible in a scope's graph or function; None if unknown.

        Elements of initializers and Constants are read from the model, and cached; they count as unknown if they are
        too many to compute with, or cannot be read.
        """
        around: Scope | None = scope
        while around is not None:
            if name in around.constants:
                return around.constants[name]
            if name in around.tensors:
                if name not in around.read:
                    around.read[name] = self._read_tensor(around.tensors[name])
                return around.read[name]
            if name in around.types:
                return None
            around = around.parent
        return None

    def _read_tensor(self, message: Any) -> Constant | None:
        """Return the elements of a TensorProto, or None if they are too many or cannot be read.

        An element with which inference does not compute exactly, such as -0.0, is None. The budget is charged.
        """
        dims = tuple(message.dims)
        count = small_element_count(dims)
        if count is None:
            return None
        charge(count, count * ELEMENT_BYTES)
        try:
            elements = tensor_values(self._model, message, MAX_DATA)
        except ModelError:  # reported by whoever needs the data itself
            return None
        values = tuple([element if is_representable(element, False) else None for element in elements])
        return Constant(element_name(message.data_type) or "undefined", dims, values)

    def find_for_body(self, scope: Scope, name: str, type_: Type | None) -> Constant | None:
        """Return the elements of a value that crosses the border of a subgraph or function, or None.

        Elements that a node computed, or that were passed into the graph, are returned. Elements of initializers and
        Constants are returned only if they may be sizes: at most MAX_PASSED elements of type int64, int32 or bool.

        The result is None in each of these cases:

        - the elements are unknown;
        - they are too many, or no sizes;
        - half of the budget is used up, as only types are inferred from then on.

        Raises BudgetExceeded if the whole budget is used up.

        Args:
            scope: the scope in which the value is visible.
            name: the name of the value, "" for an input that is left out.
            type_: its type, None if unknown.
        """
        if not name or type_ is None:
            return None
        count = small_element_count(type_.shape)
        if count is None or not can_follow_elements():
            return None
        if not scope.is_followed(name) and (type_.element not in _PASSED or count > MAX_PASSED):
            return None
        charge(count)
        return self.find(scope, name)

    def compute_elements(
        self, call: Call, hook: Hook, types: Sequence[Type | None], followed: Sequence[int]
    ) -> tuple[Constant | None, ...]:
        """Return the elements of a node's outputs, computed by the operator's data function; () if nothing is computed.

        Elements are computed only if the first output is a small tensor of numbers or booleans with known sizes. The
        result for an output is None if its elements are unknown or too many, or if one of its sizes is no number.

        Args:
            call: the node.
            hook: the data function of its operator.
            types: the inferred types of the outputs.
            followed: the indices of the inputs whose elements were computed by nodes or passed in, not read from
                weights. Without such inputs, floats are computed only if each input has at most MAX_FLOATS elements.

        Raises:
            Exception: any error of a wrong data function that a user registered.
        """
        first = types[0] if types else None
        if first is None or first.kind != "tensor" or first.element not in _FOLLOWED or not can_follow_elements():
            return ()
        # Weights are never read to compute with them; a few numbers are, and attributes such as value_floats.
        are_few = all(
            type_.kind == "tensor" and (count := small_element_count(type_.shape)) is not None and count <= MAX_FLOATS
            for type_ in call.types
            if type_
        )
        if first.element not in _INTEGERS and not followed and not are_few:
            return ()
        if small_element_count(first.shape) is None:
            return ()
        try:
            raw = hook.function(call)
        except (Violation, Unknown, TooComplex):
            return ()
        except MALFORMED:
            if not hook.is_ours:
                raise
            return ()
        if raw is None:
            return ()
        outputs = zip(types, raw if isinstance(raw, list) else [raw], strict=False)
        return tuple([self._output_constant(type_, elements) for type_, elements in outputs])

    def _output_constant(self, type_: Type | None, elements: Sequence[Any] | None) -> Constant | None:
        """Return the computed `elements` of an output of type `type_` as a Constant, and charge the budget for them.

        The result is None if no element is known, or if the shape in `type_` may have another number of elements.
        """
        shape = type_.shape if type_ is not None else None
        count = small_element_count(shape)
        if elements is None or count != len(elements) or (elements and all(element is None for element in elements)):
            return None
        assert type_ is not None
        assert type_.element is not None
        parts = sum([element.size for element in elements if isinstance(element, Dim)])
        charge(count, count * ELEMENT_BYTES + parts * PART_BYTES)
        integers = type_.element in _INTEGERS
        values = tuple([element if is_representable(element, integers) else None for element in elements])
        return Constant(type_.element, tuple([size for size in shape or () if isinstance(size, int)]), values)
