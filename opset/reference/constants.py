"""The arrays of a model's own tensors: initializers, and attributes of nodes."""

from __future__ import annotations

from typing import Any

from opset.budget import Limits
from opset.model.arrays import array_of, dense_of
from opset.model.container import Model
from opset.reference.limits import most_bytes, too_much_memory


class Constants:
    """Reads tensors of a model as arrays that cannot be written to, within the limit of bytes."""

    def __init__(self, model: Model, limits: Limits) -> None:
        self._model, self._limits = model, limits
        self._initializers: dict[int, tuple[Any, Any]] = {}
        self._held = 0

    def initializer(self, tensor: Any) -> Any:
        """Return the array of an initializer, read once."""
        key = id(tensor)
        if key not in self._initializers:
            self._initializers[key] = (tensor, self.array(tensor))  # the tensor is kept, so that its id stays its own
        return self._initializers[key][1]

    def array(self, tensor: Any) -> Any:
        """Return the array of a TensorProto, or the dense array of a SparseTensorProto. Raises RunError R302."""
        limit = most_bytes(self._limits)
        sparse = tensor.DESCRIPTOR.name == "SparseTensorProto"
        array = (dense_of if sparse else array_of)(self._model, tensor, limit)
        array.flags.writeable = False
        self._held += array.nbytes
        if self._held > limit:
            why = f"the model's own tensors have {self._held:,} bytes and more, and {limit:,} are allowed in all"
            raise too_much_memory("", why)
        return array
