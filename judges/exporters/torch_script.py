"""The exporter of torch that writes what TorchScript traces or compiles."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator

import onnx
import torch

from judges.exporters.drafts import Draft, Exported, some_versions
from judges.exporters.torch_samples import Sample, samples

VERSIONS = (9, 11, 13, 17, 20)


def drafts(seed: int, every: bool) -> Iterator[Draft]:
    """Yield each module at three of the versions."""
    for number, sample in enumerate(samples(seed)):
        for version in some_versions(VERSIONS, number, 3, every):
            yield Draft(f"torch/{sample.name}-{version}", functools.partial(export, sample, version))


def export(sample: Sample, version: int) -> Exported:
    """Export a module at a version of the default domain."""
    file = io.BytesIO()
    with torch.no_grad():
        torch.onnx.export(
            sample.module,
            sample.inputs,
            file,
            input_names=sample.names,
            dynamic_axes={name: dict(axes) for name, axes in sample.axes.items()},
            opset_version=version,
            dynamo=False,
        )
    return onnx.load_from_string(file.getvalue()), sample.feeds
