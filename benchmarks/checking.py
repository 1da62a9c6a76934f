"""Measures `opset check` on a model of 1 GB, weights inside the file, beside the checker of the onnx package.

    python -m benchmarks.checking [--megabytes 1000] [--runs 3] [--folder DIR]

Every run is a process of its own, with its start-up in the time; a time is the median of the runs, a memory the highest
resident set. onnx is called with the path and `full_check`. The exit status is 1 if opset takes more than a tenth of
onnx's time. Checks of many nodes are part of `benchmarks.in_process`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed import compiled_once, run, summary, verdict

ONNX = "import sys, onnx.checker; onnx.checker.check_model(sys.argv[1], full_check=True)"
TARGET = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checking", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each, of which the median counts")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the model goes")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, compiled_once():
        path = Path(folder, "model.onnx")
        # Another process makes the model: what this one has held would count as memory of those that it starts.
        run([sys.executable, "-m", "benchmarks.speed", "--make", "inline", str(options.megabytes), str(path)])
        commands = {
            "opset": [sys.executable, "-m", "opset", "check", str(path), "--quiet"],
            "onnx": [sys.executable, "-c", ONNX, str(path)],
        }
        for command in commands.values():
            run(command)
        costs = {who: summary([run(command) for _ in range(options.runs)]) for who, command in commands.items()}
    for who, cost in costs.items():
        print(f"  {who:<6} {cost.seconds:8.3f} s {cost.megabytes:8,.0f} MB   {cost.failure}".rstrip())
    line, holds = verdict(costs["opset"].seconds / costs["onnx"].seconds, TARGET, "of the time that onnx takes")
    print(line)
    return int(not holds or bool(costs["opset"].failure))


if __name__ == "__main__":
    sys.exit(main())
