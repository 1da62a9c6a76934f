"""Called as onnx.utils: `extract_model(input_path, output_path, input_names, output_names)`."""

from __future__ import annotations

import os
from typing import Any

from opset.compat.onnx.absent import absent_error
from opset.compat.onnx.checker import check_model as check
from opset.composition.extraction import extract

__all__ = ["extract_model"]


def extract_model(
    input_path: str | os.PathLike[str],
    output_path: str | os.PathLike[str],
    input_names: list[str],
    output_names: list[str],
    check_model: bool = True,
    infer_shapes: bool = True,
) -> None:
    """Write the part of a model that computes some values from others; weights are not read.

    Args:
        input_path: The model's path.
        output_path: The path of the part; a file that is there is replaced.
        input_names: Names of the values that become inputs.
        output_names: Names of the values that become outputs.
        check_model: Whether the model and the part are checked.
        infer_shapes: Counts for nothing: the types of inputs and outputs are always inferred.

    Raises:
        CheckError: With `check_model`, the model breaks a rule of the specification.
        ConversionError: The inputs do not determine the outputs, or the part has no certain meaning.
        ModelError: The model is malformed.
        UsageError: A name does not exist, or the part cannot be written.
    """
    source, target = os.fspath(input_path), os.fspath(output_path)
    if check_model:
        check(source)
    extract(source, input_names, output_names).save(target, force=True)
    if check_model:
        check(target)


def __getattr__(name: str) -> Any:
    raise absent_error("utils", name)
