"""Cuts a model with much external data, and merges the parts, beside a copy of the files: time and peak memory.

    python -m benchmarks.parts [--gigabytes 3] [--folder DIR] [--dense]

The data is a file of zeros without content (sparse), which takes no space on the disk, and neither do copies of it;
with --dense it is written out. Everything is removed afterwards. The time of a command includes the start of Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import opset

LAYERS = 96
CHUNK = 1 << 24


def write_model(folder: Path, gigabytes: float, dense: bool) -> Path:
    """Write a model of many matrix products with its weights in another file; return its path."""
    width = int((gigabytes * 2**30 / 4 / LAYERS) ** 0.5) // 64 * 64
    size = width * width * 4
    with open(folder / "weights.bin", "wb") as file:
        if dense:
            zeros = bytes(CHUNK)
            for start in range(0, LAYERS * size, CHUNK):
                file.write(zeros[: min(CHUNK, LAYERS * size - start)])
        file.truncate(LAYERS * size)
    path = folder / "whole.onnx"
    path.write_bytes(_model(width, size))
    return path


def _model(width: int, size: int) -> bytes:
    """Return the bytes of a model with square weights, each of `size` bytes in another file."""
    nodes = "\n".join(f"  h{layer + 1} = MatMul (h{layer}, w{layer})" for layer in range(LAYERS))
    weights = ", ".join(f"float[{width}, {width}] w{layer}" for layer in range(LAYERS))
    proto = opset.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]>\nmain (float[N, {width}] h0, {weights}) => '
        f"(float[N, {width}] h{LAYERS}) {{\n{nodes}\n}}"
    )
    graph = proto.graph
    del graph.input[1:]
    for layer in range(LAYERS):
        tensor = graph.initializer.add(name=f"w{layer}", data_type=1, dims=[width, width], data_location=1)
        for key, value in (("location", "weights.bin"), ("offset", layer * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
    data: bytes = proto.SerializeToString()
    return data


def measure(label: str, command: Sequence[str]) -> None:
    """Run a command, and print its time, its processor time and its peak memory."""
    before = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    if status:
        sys.exit(f"{label}: status {status}")
    peak = usage.ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    work = usage.ru_utime + usage.ru_stime
    print(f"{label:44}{seconds:7.2f} s, {work:5.2f} s of the processor, {peak:5.0f} MB", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; return the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks.parts", description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=3)
    parser.add_argument("--folder", type=Path, help="in which the files are made, by default a temporary one")
    parser.add_argument("--dense", action="store_true", help="write the zeros, which take space then")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        whole = write_model(folder, options.gigabytes, options.dense)
        print(f"{(folder / 'weights.bin').stat().st_size / 2**30:.2f} GiB of weights, {LAYERS} nodes")
        program = [sys.executable, "-m", "opset"]
        middle, last = f"h{LAYERS // 2}", f"h{LAYERS}"
        front, back, other = folder / "front.onnx", folder / "back.onnx", folder / "other"
        other.mkdir()
        cut = [*program, "extract", str(whole)]
        measure("cp --sparse=always weights.bin", ["cp", "--sparse=always", *_pair(folder, "copy.bin")])
        (folder / "copy.bin").unlink()
        measure("cut, weights stay where they are", [*cut, "--outputs", middle, "-o", str(front)])
        measure("cut, the other half", [*cut, "--inputs", middle, "--outputs", last, "-o", str(back)])
        merge = [*program, "merge", str(front), str(back)]
        measure("merge, weights stay where they are", [*merge, "-o", str(folder / "merged.onnx")])
        measure("merge, weights copied to another folder", [*merge, "-o", str(other / "merged.onnx")])
        shutil.rmtree(other)
        other.mkdir()
        inside = [*cut, "--outputs", middle, "--external-data", "move", "-o", str(other / "front.onnx")]
        measure("cut, its weights in a file of their own", inside)
        measure(
            "merge of parts of two folders",
            [*program, "merge", str(other / "front.onnx"), str(back), "-o", str(other / "merged.onnx")],
        )
    return 0


def _pair(folder: Path, copy: str) -> list[str]:
    """Return the paths of the weights, and of a copy."""
    return [str(folder / "weights.bin"), str(folder / copy)]


if __name__ == "__main__":
    sys.exit(main())
