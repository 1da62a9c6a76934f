"""Writes small models that real exporters make, each with inputs and outputs beside it.

    python -m judges export --folder DIR [-k PATTERN] [--only torch,dynamo] [--every-version] [--seed 7]

Run it by the Python of an environment that has the exporters beside this project's dependencies and onnx 1.23; those
that it lacks are named and left out, so that several environments can write into one folder:

    torch, dynamo   torch 2.9 or later and onnxscript: torch.onnx.export of the older exporter and of the newer one
    skl2onnx        scikit-learn, skl2onnx
    lightgbm        lightgbm, xgboost, onnxmltools
    tf2onnx         tensorflow, tf2onnx
    quantize        torch, onnxruntime: quantized forms of some of torch's models

All of them take onnxruntime, which computes the outputs. Beside NAME.onnx lies NAME.npz with `input/…` and `output/…`,
as `judges models --folder` and `judges runtimes --folder` read them. A model is exported at some of the versions that
its exporter has, at every one with `--every-version`. What an exporter refuses to export is named at the end, and so
is what comes out and is no model: onnx's checker or onnxruntime says why.
The exit status is 1 if fewer than 300 models come out of all exporters.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from judges.conformance.judge import run_onnxruntime
from judges.exporters.drafts import Draft

EXPORTERS = {
    "torch": "torch_script",
    "dynamo": "torch_dynamo",
    "skl2onnx": "scikit_learn",
    "lightgbm": "boosting",
    "tf2onnx": "keras_layers",
    "quantize": "quantizing",
}
LEAST = 300
"""How many models all exporters together have to write."""


def drafts_of(exporter: str, seed: int, every: bool) -> Iterator[Draft]:
    """Yield the models of an exporter; ImportError says that it is not there."""
    yield from import_module(f"judges.exporters.{EXPORTERS[exporter]}").drafts(seed, every)


def write(draft: Draft, folder: Path) -> int:
    """Export a model, run it, and write both below a folder; return the size of the model."""
    model, values = draft.export()
    onnx.checker.check_model(model)
    initialized = {tensor.name for tensor in model.graph.initializer}
    feeds = {value.name: np.asarray(values[value.name]) for value in model.graph.input if value.name not in initialized}
    outputs = outputs_of(model, feeds)
    file = folder / f"{draft.name}.onnx"
    file.parent.mkdir(parents=True, exist_ok=True)
    data = model.SerializeToString(deterministic=True)
    file.write_bytes(data)
    arrays = {f"input/{name}": value for name, value in feeds.items()}
    arrays |= {f"output/{name}": value for name, value in outputs.items()}
    np.savez_compressed(file.with_suffix(".npz"), **arrays)
    return len(data)


def outputs_of(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the outputs by onnxruntime; none if it lacks a kernel, or if a file of arrays cannot hold one."""
    outputs = run_onnxruntime(model, feeds)
    if outputs is None or not all(isinstance(each, np.ndarray) for each in outputs):
        return {}
    named = zip(model.graph.output, outputs, strict=True)
    # numpy would pickle objects, which nobody wants to load.
    return {value.name: each.astype(str) if each.dtype == object else each for value, each in named}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the models and say how many; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m judges export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where the models are written")
    parser.add_argument("-k", dest="pattern", default="", help="only models whose name this is found in")
    parser.add_argument("--only", default=",".join(EXPORTERS), help="exporters, " + ", ".join(EXPORTERS))
    parser.add_argument("--every-version", action="store_true", help="at every version, not at some")
    parser.add_argument("--seed", type=int, default=7, help="of weights and inputs")
    parser.add_argument("-v", "--verbose", action="store_true", help="name each model, with its size")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in EXPORTERS]:
        parser.error(f"there is no exporter {unknown[0]}; there are {', '.join(EXPORTERS)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    failed: list[str] = []
    total, size = 0, 0
    for exporter in chosen:
        sizes = []
        try:
            for draft in drafts_of(exporter, options.seed, options.every_version):
                if re.search(options.pattern, draft.name):
                    write_or_note(draft, options, sizes, failed)
        except ImportError as error:
            print(f"{exporter:10} left out: {error}", flush=True)
        print(f"{exporter:10}{len(sizes):5} models, {sum(sizes) / 1e6:.1f} MB", flush=True)
        total, size = total + len(sizes), size + sum(sizes)
    print(f"{total} models, {size / 1e6:.1f} MB; {len(failed)} were not exported", *failed, sep="\n  ")
    whole = not options.pattern and set(chosen) == set(EXPORTERS)
    return int(whole and total < LEAST)


@contextmanager
def _silence() -> Iterator[None]:
    """Send what this process prints nowhere: exporters say much about their steps, also from C++."""
    sys.stdout.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, each in zip((1, 2), kept, strict=True):
            os.dup2(each, number)
            os.close(each)
        os.close(nowhere)


def write_or_note(draft: Draft, options: argparse.Namespace, sizes: list[int], failed: list[str]) -> None:
    """Write a model and add its size to `sizes`; if its exporter fails, add its name and the reason to `failed`."""
    try:
        with _silence():
            sizes.append(write(draft, options.folder))
    except Exception as error:  # exporters raise what they like
        text = " ".join(str(error).split())[:150]
        failed.append(f"{draft.name}: {type(error).__name__}: {text}")
        return
    if options.verbose:
        print(f"{sizes[-1]:9} {draft.name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
