"""The arrays of a model's own tensors: initializers, and attributes of nodes."""

from __future__ import annotations

from typing import Any

from opset.model.arrays import array_of, bytes_needed, dense_of
from opset.model.storage.container import Model
from opset.reference.engine.limits import out_of_memory
from opset.reference.numerics.memory import nbytes


class ModelTensors:
    """Reads tensors of a model as read-only arrays, which take `held` bytes, at most `most`."""

    def __init__(self, model: Model, most: int) -> None:
        self._model = model
        self._most = most
        self._initializers: dict[int, tuple[Any, Any]] = {}
        self.held = 0

    def initializer(self, tensor: Any) -> Any:
        """Return the array of an initializer, read once."""
        key = id(tensor)
        if key not in self._initializers:
            self._initializers[key] = (tensor, self.array(tensor))  # the tensor is kept, so that its id stays its own
        return self._initializers[key][1]

    def array(self, tensor: Any) -> Any:
        """Return the array of a TensorProto, or the dense array of a SparseTensorProto. Raises RunError R302."""
        if (needed := self.held + bytes_needed(tensor)) > self._most:
            why = f"the model's own tensors have {needed:,} bytes and more, and {self._most:,} are allowed in all"
            raise out_of_memory("", why)
        sparse = tensor.DESCRIPTOR.name == "SparseTensorProto"
        array = (dense_of if sparse else array_of)(self._model, tensor, self._most)
        array.flags.writeable = False
        self.held += nbytes(array)
        return array
