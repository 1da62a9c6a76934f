"""Declarations of inputs and outputs of models and graphs: name, type and shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opset.errors import safe_text
from opset.model.types import Shape, shape_of, type_string


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An input or output: its name, type string and shape (None if not declared), and whether it has a default.

    An input has a default if an initializer has its name.
    """

    name: str
    type: str | None = None
    shape: Shape | None = None
    has_default: bool = False

    def __str__(self) -> str:
        """Return type and shape in words: "tensor(float) of shape [N, 3]"."""
        kind = self.type or "any type"
        if self.shape is None:
            return safe_text(kind)
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return safe_text(f"{kind} of shape [{dims}]")


def value_info_of(proto: Any, has_default: bool = False) -> ValueInfo:
    """Return the declaration in a ValueInfoProto."""
    return ValueInfo(proto.name, type_string(proto.type), shape_of(proto.type), has_default)
