"""Standard forms of inputs that runtimes accept against the standard: see opset/schemas/quirks.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def standard_inputs(op_type: str, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of a node that breaks a constraint in the form of the standard that means the same."""
    if op_type == "Clip":
        return [*inputs[:1], *map(_as_scalar, inputs[1:])]
    if op_type == "STFT" and isinstance(inputs[0], np.ndarray) and inputs[0].ndim == 2:
        return [inputs[0][..., None], *inputs[1:]]
    return [*inputs]


def _as_scalar(value: Any) -> Any:
    """Return a tensor of shape [1] as a scalar, other values unchanged."""
    return value.reshape(()) if isinstance(value, np.ndarray) and value.shape == (1,) else value
