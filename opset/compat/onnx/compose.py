"""Called as onnx.compose: `merge_models(m1, m2, io_map)`; other names raise an error that says what to use."""

from __future__ import annotations

from typing import Any

from opset.compat.onnx.absent import absent_error
from opset.compat.onnx.messages import model_message
from opset.composition.extraction import extract
from opset.composition.merging import merge
from opset.model import load
from opset.preparation import copy_model

__all__ = ["merge_models"]


def merge_models(
    m1: Any,
    m2: Any,
    io_map: list[tuple[str, str]],
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    prefix1: str | None = None,
    prefix2: str | None = None,
    name: str | None = None,
    doc_string: str | None = None,
    producer_name: str | None = "onnx.compose.merge_models",
    producer_version: str | None = "1.0",
    domain: str | None = "",
    model_version: int | None = 1,
) -> Any:
    """Return two models as one, in which outputs of the first are inputs of the second; neither is changed.

    The models may have different opsets and IR versions, and the same names.

    Args:
        m1: A ModelProto, an opset.Model, a path or bytes.
        m2: The same.
        io_map: Pairs of an output of the first model and an input of the second.
        inputs: Names of the inputs that the whole has, by default all.
        outputs: Names of the outputs that the whole has, by default all.
        prefix1: A prefix for all names of the first model.
        prefix2: A prefix for all names of the second model.
        name: The name of the graph, by default made of both.
        doc_string: The documentation of the model, by default both.
        producer_name: The producer of the whole.
        producer_version: The producer's version.
        domain: The domain of the model.
        model_version: The version of the model.

    Returns:
        A ModelProto of the caller's class; an opset.Model for one.

    Raises:
        ConversionError: The connected values do not fit each other, or no versions suit both models.
        ModelError: A model is malformed.
        UsageError: A name does not exist.
    """
    first = load(m1)
    whole = merge(load(first), load(m2), io_map, prefixes=(prefix1 or "", prefix2 or ""))
    whole = load(whole)
    if inputs or outputs:
        whole = load(extract(whole, inputs or None, outputs or None))
    whole = copy_model(whole)
    proto = whole.proto
    if name:
        proto.graph.name = name
    stated = {
        "doc_string": doc_string,
        "producer_name": producer_name,
        "producer_version": producer_version,
        "domain": domain,
        "model_version": model_version,
    }
    for key, value in stated.items():
        if value is not None:
            setattr(proto, key, value)
    return model_message(whole.as_given(), m1)


def __getattr__(name: str) -> Any:
    raise absent_error("compose", name)
