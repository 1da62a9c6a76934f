"""Called as onnx.compose, of which opset has nothing: an error says what to use for each name."""

from __future__ import annotations

from typing import Any

from opset.compat.onnx.absent import absent_error


def __getattr__(name: str) -> Any:
    raise absent_error("compose", name)
