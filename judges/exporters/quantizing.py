"""Models of torch, quantized by onnxruntime."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_dynamic,
    quantize_static,
)

from judges.exporters import torch_script
from judges.exporters.drafts import Draft, Exported, some_versions
from judges.exporters.torch_samples import Sample, samples

NAMES = (
    "conv2d conv2d_depthwise conv1d conv_transpose2d linear lstm max_pool2d_ceil adaptive_global encoder_layer "
    "multihead resnet mobilenet densenet inception vision bert gpt llama unet embedding activation_relu"
).split()
VERSIONS = (13, 17, 20)
WAYS: dict[str, dict[str, Any]] = {
    "dynamic_uint8": {"weight_type": QuantType.QUInt8},
    "dynamic_int8": {"weight_type": QuantType.QInt8},
    "dynamic_channels": {"weight_type": QuantType.QInt8, "per_channel": True, "reduce_range": True},
    "qdq_int8": {"quant_format": QuantFormat.QDQ, "activation_type": QuantType.QInt8},
    "qdq_uint8": {"quant_format": QuantFormat.QDQ, "activation_type": QuantType.QUInt8, "per_channel": True},
    "operators_uint8": {"quant_format": QuantFormat.QOperator, "activation_type": QuantType.QUInt8},
    "operators_int8": {
        "quant_format": QuantFormat.QOperator,
        "activation_type": QuantType.QInt8,
        "weight_type": QuantType.QInt8,
        "per_channel": True,
    },
}


class Once(CalibrationDataReader):
    """The inputs of a sample, once."""

    def __init__(self, feeds: dict[str, Any]) -> None:
        self.left = [feeds]

    def get_next(self) -> dict[str, Any] | None:
        return self.left.pop() if self.left else None


def drafts(seed: int, every: bool) -> Iterator[Draft]:
    """Yield some of torch's modules in two of the forms each."""
    chosen = [sample for sample in samples(seed) if sample.name in NAMES]
    for number, sample in enumerate(chosen):
        ways = [*range(len(WAYS))]
        for index in some_versions(ways, number, 3, every):
            way, version = [*WAYS][index], VERSIONS[(number + index) % len(VERSIONS)]
            yield Draft(f"quantize/{sample.name}-{way}-{version}", functools.partial(export, sample, way, version))


def export(sample: Sample, way: str, version: int) -> Exported:
    """Export a module at a version of the default domain and quantize it."""
    model, feeds = torch_script.export(sample, version)
    named = {value.name: feeds[value.name] for value in model.graph.input}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("given.onnx", "shaped.onnx", "quantized.onnx")]
        onnx.save(model, paths[0])
        # Of dimensions that are open, its inference of symbolic shapes knows too few operators.
        quant_pre_process(paths[0], paths[1], skip_symbolic_shape=True)
        quantize: Callable[..., None] = quantize_dynamic
        options = dict(WAYS[way])
        if not way.startswith("dynamic"):
            quantize = quantize_static
            options["calibration_data_reader"] = Once(named)
        quantize(paths[1], paths[2], **options)
        return onnx.load(paths[2]), feeds
