"""Called as onnx.printer: `to_text(proto)`, which reads back to the same message."""

from __future__ import annotations

from typing import Any

from opset.model.text import printing

__all__ = ["to_text"]


def to_text(proto: Any) -> str:
    """Return a model, graph, function or node in ONNX text syntax.

    Args:
        proto: A message, or an opset.Model.

    Raises:
        ModelError: M106 if a name is not UTF-8, which text cannot hold.
        UsageError: U103 if it is anything else.
    """
    return printing.to_text(proto)
