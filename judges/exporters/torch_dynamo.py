"""The exporter of torch that writes what torch.export captures."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

from judges.exporters.drafts import Draft, Exported, some_versions
from judges.exporters.torch_samples import Sample, samples

VERSIONS = (18, 21, 23)


def drafts(seed: int, every: bool) -> Iterator[Draft]:
    """Yield each module at two of the versions; torch.export takes no scripts."""
    for number, sample in enumerate(samples(seed)):
        if isinstance(sample.module, torch.jit.ScriptModule):
            continue
        for version in some_versions(VERSIONS, number, 2, every):
            yield Draft(f"dynamo/{sample.name}-{version}", functools.partial(export, sample, version))


def export(sample: Sample, version: int) -> Exported:
    """Export a module at a version of the default domain."""
    with torch.no_grad():
        program = torch.onnx.export(
            sample.module,
            sample.inputs,
            input_names=sample.names,
            dynamic_shapes=sample.shapes,
            opset_version=version,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program.model_proto, sample.feeds
