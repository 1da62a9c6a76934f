"""Size of a report as a page, `--report FILE.html`, and the seconds of a processor that it adds to a conversion.

    python -m benchmarks.reports

The models are stacks of layers of 50 nodes, of which 4 change. The aims are less than 300 kB and a second at 500 nodes
and 40 changes, and less than 1 MB at 20,000 nodes. The last row has a model of which every node changes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from opset.model.text.syntax import parse_model

PLAIN = 46
"""Nodes of a layer that stay as they are."""
TRIES = 3


def layered_text(layers: int) -> str:
    """Return a model with layers of 50 nodes; four of each change on the way to opset 13."""
    lines = []
    last = "x"
    for layer in range(layers):
        start = f"layers.{layer}"
        lines += [
            f'["{start}.norm"] "{start}.n" = LayerNormalization <axis = -1> ("{last}", scale, bias)',
            f'["{start}.act"] "{start}.g" = Gelu ("{start}.n")',
            f'["{start}.mean"] "{start}.m" = ReduceMean <keepdims = 1> ("{start}.g", axes)',
            f'["{start}.sum"] "{start}.s" = Add ("{start}.g", "{start}.m")',
            f'["{start}.split"] "{start}.p", "{start}.q" = Split <axis = -1, num_outputs = 2> ("{start}.s")',
            f'["{start}.join"] "{start}.0" = Concat <axis = -1> ("{start}.q", "{start}.p")',
        ]
        lines += [
            f'["{start}.relu.{number}"] "{start}.{number + 1}" = LeakyRelu ("{start}.{number}")'
            for number in range(PLAIN - 2)
        ]
        last = f"{start}.{PLAIN - 2}"
    return _model_text(20, "float[4] scale, float[4] bias, int64[1] axes = {-1}", lines, last)


def changing_text(nodes: int) -> str:
    """Return a model of which every node changes on the way to opset 13."""
    lines = [
        f'["layers.{number}.mean"] "v{number + 1}" = ReduceMean <keepdims = 1> ("v{number}", axes)'
        for number in range(nodes)
    ]
    text = _model_text(20, "int64[1] axes = {-1}", lines, f"v{nodes}")
    return text.replace("[2, 4] x)", "[2, 4] v0)")


def _model_text(opset: int, weights: str, lines: list[str], last: str) -> str:
    weights = weights.replace("scale", "scale = {1, 1, 1, 1}").replace("bias", "bias = {0, 0, 0, 0}")
    body = "\n".join(lines)
    head = f'<ir_version: 9, opset_import: ["": {opset}]> net (float[2, 4] x) => (float[2, 4] "{last}")'
    return f"{head} <{weights}> {{\n{body}\n}}"


def _seconds_of(command: list[str]) -> float:
    """Return the seconds of a processor that a command takes."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def measure(name: str, text: str, folder: Path) -> str:
    """Return the row of a model: size of the page, and seconds with and without it."""
    path, page = folder / "model.onnx", folder / "page.html"
    path.write_bytes(parse_model(text).SerializeToString())
    seconds = []
    for options in ([], ["--report", str(page)]):
        command = [sys.executable, "-m", "opset", "convert", str(path), "--to", "13", "--plan", "-q", *options]
        seconds.append(min(_seconds_of(command) for _ in range(TRIES)))
    size = os.path.getsize(page) / 1000
    without, with_page = seconds
    page.unlink()
    return (
        f"{name:34} {size:7.0f} kB   {with_page:5.2f} s with the page, {with_page - without:5.2f} s of it for the page"
    )


def main() -> None:
    """Print a row for each model."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (
            ("500 nodes, 40 changes", layered_text(10)),
            ("20,000 nodes, 1,600 changes", layered_text(400)),
            ("20,000 nodes, 20,000 changes", changing_text(20_000)),
        ):
            print(measure(name, text, Path(folder)))


if __name__ == "__main__":
    main()
