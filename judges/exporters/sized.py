"""Writes models of torch, each exported at several sizes of one axis, with inputs of these sizes.

    python -m judges export_sizes --folder DIR [-k PATTERN] [--only torch,dynamo] [--seed 7]

Run it by the Python of an environment that has torch, onnxscript and onnx beside this project's dependencies. Of each
module of `judges export` whose inputs share an axis, it writes NAME-SIZE.onnx at each size in SIZES, with the same
weights, and NAME-SIZE.npz with the inputs; NAME.json says which axis of each input it is. Whether that axis is a batch
is not looked at: `python -m judges sizes` has to find out.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import warnings
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the models and say how many; return the exit status, 1 if there are fewer than 60."""
    parser = argparse.ArgumentParser(
        prog="python -m judges export_sizes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where the models are written")
    parser.add_argument("-k", dest="pattern", default="", help="only models whose name this is found in")
    parser.add_argument("--only", default=",".join(EXPORTERS), help="exporters, " + ", ".join(EXPORTERS))
    parser.add_argument("--seed", type=int, default=7, help="of weights and inputs")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    options.folder.mkdir(parents=True, exist_ok=True)
    count, failed = 0, []
    for exporter in options.only.split(","):
        for sample in samples(options.seed):
            for version in EXPORTERS[exporter][1]:
                name = f"{exporter}-{sample.name}-{version}"
                if not shared_axes(sample) or not re.search(options.pattern, name):
                    continue
                if exporter == "dynamo" and isinstance(sample.module, torch.jit.ScriptModule):
                    continue
                try:
                    write(sample, exporter, version, options.folder)
                    count += 1
                except Exception as error:  # exporters raise what they like
                    failed.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:100]}")
    print(f"{count} models at {len(SIZES)} sizes; {len(failed)} were not exported", *failed, sep="\n  ")
    return int(count < 60)


if __name__ == "__main__":
    sys.exit(main())
