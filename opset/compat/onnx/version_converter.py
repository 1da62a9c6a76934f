"""Called as onnx.version_converter: `convert_version(model, target_version)`."""

from __future__ import annotations

from typing import Any

from opset.compat.onnx.messages import model_message
from opset.errors import ConversionError as ConvertError
from opset.version_converter import convert

__all__ = ["ConvertError", "convert_version"]


def convert_version(model: Any, target_version: int) -> Any:
    """Return the model at another version of ai.onnx, computing the same; the given one is not touched.

    Args:
        model: A ModelProto, an opset.Model, a path or bytes.
        target_version: The version, above or below the model's.

    Returns:
        A ModelProto of the caller's class; an opset.Model for one.

    Raises:
        ConvertError: The conversion is refused; the error has all refusals.
        ModelError: The model is malformed.
        UsageError: U101 if there is no such version.
    """
    return model_message(convert(model, target_version), model)
