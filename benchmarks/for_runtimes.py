"""Measures conversion for a runtime beside conversion to the opset that it gets.

    python -m benchmarks.for_runtimes [--only types,fallback] [--runs 5] [--quick] [--folder DIR]

The chain of `in_process` is converted from opset 11 to 17, and for a runtime that takes 17 alone and has kernels for
float (`types`), or that leaves Relu to onnxruntime (`fallback`). Runs take turns; a time is the median of the CPU time
of the runs. The exit status is 1 if the conversion for the runtime takes more than 1.5 times as long.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.in_process import TO, chain, cost
from benchmarks.speed import Run, options_of, summary, verdict

NODES = 20_000
MOST = 1.5
OPERATORS = ("MatMul", "Relu", "Add", "Softmax")


def write_runtime(path: Path, lacks: Sequence[str] = ()) -> None:
    """Write the file of a runtime with kernels for float, some of which its fallback has in its place."""
    kernels = {name: [{"versions": [1, None], "types": {"T": ["float"]}}] for name in OPERATORS if name not in lacks}
    content = {
        "runtime": "npu",
        "match": "range",
        "releases": [{"release": "1.0", "opset": [TO, TO], "how": "documented", "fallback_release": "1.17"}],
        "operators": {"ai.onnx": kernels},
    }
    path.write_text(json.dumps(content | ({"fallback": "onnxruntime-cpu"} if lacks else {})))


def measure(file: Path, nodes: int, runs: int) -> dict[str, Run]:
    """Return the median cost of both conversions, after one of each that is not counted."""
    import opset

    steps: dict[str, Callable[[Any], Any]] = {
        "--to": lambda model: opset.convert(model, TO),
        "--for": lambda model: opset.convert(model, runtime="npu==1.0", targets=[file]),
    }
    for step in steps.values():
        assert step(chain(40)).opset_import[0].version == TO
    model = chain(nodes)
    costs: dict[str, list[Run]] = {each: [] for each in steps}
    for _ in range(runs):
        for name, step in steps.items():
            costs[name].append(cost(step, model))
    return {name: summary(each) for name, each in costs.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    names = ["types", "fallback"]
    options = options_of(arguments, "python -m benchmarks.for_runtimes", __doc__ or "", names, runs=5, room=1)
    nodes = NODES // 10 if options.quick else NODES
    good = True
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        file = Path(folder) / "npu.yaml"
        for name in sorted(options.only, key=names.index):
            write_runtime(file, ("Relu",) if name == "fallback" else ())
            costs = measure(file, nodes, 1 if options.quick else options.runs)
            print(f"{nodes:,} nodes, {name}")
            for step, each in costs.items():
                print(f"  {step:<6} {each.seconds:9.4f} s {each.megabytes:8,.0f} MB")
            line, holds = verdict(costs["--for"].seconds / costs["--to"].seconds, MOST, "of the time of --to")
            print(line, flush=True)
            good &= holds or options.quick
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
