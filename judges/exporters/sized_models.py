"""Models of torch at several sizes of one axis, with inputs of these sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

from judges.exporters import torch_dynamo, torch_script
from judges.exporters.torch_samples import Sample, flat, samples

SIZES = (1, 3, 4)
EXPORTERS = {"torch": (torch_script.export, (11, 17)), "dynamo": (torch_dynamo.export, (18,))}
_BATCHES = ("batch", "rows")


def shared_axes(sample: Sample) -> dict[str, int]:
    """Return the axis of each input that a sample calls its batch, else the first that all inputs have in one size."""
    named = {
        name: axis
        for name, axes in sample.axes.items()
        for axis, label in axes.items()
        if label in _BATCHES and name in sample.names
    }
    if named:
        return named
    shapes = [tuple(value.shape) for value in flat(sample.inputs)]
    for axis in (0, 1):
        if all(len(shape) > axis for shape in shapes) and len({shape[axis] for shape in shapes}) == 1:
            return dict.fromkeys(sample.names, axis)
    return {}


def resized(value: Any, size: int, axes: Sequence[int | None]) -> Any:
    """Return nested inputs with another size along the axis of each tensor; `axes` is used up from the front."""
    if isinstance(value, (tuple, list)):
        return type(value)(resized(each, size, axes) for each in value)
    axis = axes.pop(0)  # type: ignore[attr-defined]
    return value if axis is None else with_size(value, axis, size)


def with_size(value: Tensor, axis: int, size: int) -> Tensor:
    """Return a tensor with `size` slices along an axis, all of them different, made of those that it has."""
    slices = []
    for number in range(size):
        part = value.select(axis, number % value.shape[axis])
        if part.is_floating_point():
            part = part * (1 + 0.125 * (number // value.shape[axis]))
        elif part.dtype != torch.bool:
            part = (part + number // value.shape[axis]) % (value.max() + 1)
        slices.append(part)
    return torch.stack(slices, axis).contiguous()


def write(sample: Sample, exporter: str, version: int, folder: Path) -> None:
    """Export a module at each size."""
    axes = shared_axes(sample)
    name = f"{exporter}-{sample.name}-{version}"
    made: dict[int, tuple[onnx.ModelProto, Mapping[str, Any]]] = {}
    for size in SIZES:
        inputs = resized(tuple(sample.inputs), size, [axes.get(each) for each in sample.names])
        fixed = sample._replace(inputs=inputs, axes={})
        torch.manual_seed(7)
        made[size] = EXPORTERS[exporter][0](fixed, version)
    for size, (model, feeds) in made.items():
        given = {value.name for value in model.graph.input}
        (folder / f"{name}-{size}.onnx").write_bytes(model.SerializeToString(deterministic=True))
        np.savez_compressed(
            folder / f"{name}-{size}.npz", **{key: np.asarray(v) for key, v in feeds.items() if key in given}
        )
    (folder / f"{name}.json").write_text(json.dumps(axes))


def write_all(folder: Path, exporters: Sequence[str], pattern: str, seed: int) -> tuple[int, list[str]]:
    """Write the models into a folder; return their number, and a line about each that was not exported."""
    count, failed = 0, []
    for exporter in exporters:
        for sample in samples(seed):
            for version in EXPORTERS[exporter][1]:
                name = f"{exporter}-{sample.name}-{version}"
                if not shared_axes(sample) or not re.search(pattern, name):
                    continue
                if exporter == "dynamo" and isinstance(sample.module, torch.jit.ScriptModule):
                    continue
                try:
                    write(sample, exporter, version, folder)
                    count += 1
                except Exception as error:  # exporters raise what they like
                    failed.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:100]}")
    return count, failed
