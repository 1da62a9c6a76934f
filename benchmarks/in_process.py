"""Measures conversion, inference and checks beside the onnx package in one process, and the start-up of a command.

    python -m benchmarks.in_process [--only start-up,1000,20000,100000] [--runs 5] [--quick] [--folder DIR]

A chain of MatMul, Relu, Add and Softmax at opset 11 is converted to 17 and inferred, given as an onnx.ModelProto and
returned as one. Each Softmax leaves its axis to the default, which changed between these opsets. Runs take turns; a
time is the median of the CPU time of the runs, and small models have more runs; a memory is how far the resident set
grew at most. Start-up is the wall clock time of `opset convert` on a small model beside a script that imports onnx and
does the same, with compiled modules. The exit status is 1 when a target does not hold.

This module imports nothing big: what a process starts from counts in the memory of what it starts.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed import Run, command, compiled_once, make_small, options_of, run, summary, verdict

VERSION, TO = 11, 17
SIZES = {1_000: 10, 20_000: 2, 100_000: 1}
"""Nodes of the chain, and how many times the runs."""
TARGETS = {"convert": 1.0, "infer": 2.0, "check": 3.0, "start-up": 0.7}
WIDTH = 4


def chain(nodes: int) -> Any:
    """Return a model of so many nodes, four to a layer that has its own weights."""
    from onnx import TensorProto, helper

    made, weights, value = [], [], "x"
    for i in range(nodes // 4):
        names = [f"layer{i}/{part}" for part in ("product", "relu", "sum", "soft")]
        for name, shape in ((f"w{i}", [WIDTH, WIDTH]), (f"b{i}", [WIDTH])):
            weights.append(helper.make_tensor(name, TensorProto.FLOAT, shape, bytes(4 * WIDTH ** len(shape)), True))
        made += [
            helper.make_node("MatMul", [value, f"w{i}"], [names[0]], name=names[0]),
            helper.make_node("Relu", [names[0]], [names[1]], name=names[1]),
            helper.make_node("Add", [names[1], f"b{i}"], [names[2]], name=names[2]),
            helper.make_node("Softmax", [names[2]], [names[3]], name=names[3]),
        ]
        value = names[-1]
    graph = helper.make_graph(
        made,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["N", WIDTH])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", VERSION)], ir_version=6)


def steps() -> dict[str, dict[str, Callable[[Any], Any]]]:
    """Return what is measured: for each step, who does it."""
    import onnx.checker
    import onnx.shape_inference
    import onnx.version_converter

    import opset

    return {
        "convert": {
            "opset": lambda model: opset.convert(model, TO),
            "onnx": lambda model: onnx.version_converter.convert_version(model, TO),
        },
        "infer": {
            "opset": lambda model: opset.infer_shapes(model),
            "onnx": lambda model: onnx.shape_inference.infer_shapes(model),
        },
        "check": {
            "opset": lambda model: opset.check(model),
            "onnx": lambda model: onnx.checker.check_model(model, full_check=True),
        },
    }


def memory(field: str) -> float:
    """Return a figure of this process in MB: VmRSS, or VmHWM since it was last reset; 0 where the system has none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith(f"{field}:")), 0.0)


def cost(step: Callable[[Any], Any], model: Any) -> Run:
    """Return the CPU time of one step, and how far the resident set grew during it."""
    gc.collect()
    resettable = Path("/proc/self/clear_refs")
    if resettable.exists():
        resettable.write_text("5")  # sets VmHWM to VmRSS
    before, start = memory("VmRSS"), time.process_time()
    result = step(model)
    seconds = time.process_time() - start
    grown = memory("VmHWM") - before
    assert result is not model
    return Run(seconds, max(grown, 0.0))


def measure(nodes: int, runs: int) -> dict[str, dict[str, Run]]:
    """Return the median cost of each step by each, after one run that is not counted."""
    model = chain(nodes)
    found = {}
    for name, peers in steps().items():
        for step in peers.values():
            step(chain(40))
        costs: dict[str, list[Run]] = {who: [] for who in peers}
        for _ in range(runs):
            for who, step in peers.items():
                costs[who].append(cost(step, model))
        found[name] = {who: summary(each) for who, each in costs.items()}
    return found


def start_up(runs: int, folder: Path) -> dict[str, Run]:
    """Return the median cost of the whole command on a small model, after one run that compiles the modules."""
    source, output = folder / "model.onnx", folder / "output.onnx"
    make_small(source, 1)
    costs: dict[str, list[Run]] = {"opset": [], "onnx": []}
    for turn in range(runs + 1):
        for who, each in costs.items():
            done = run(command(who, source, output))
            output.unlink(missing_ok=True)
            if turn or done.failure:
                each.append(done)
    return {who: summary(each) for who, each in costs.items()}


def report(name: str, costs: dict[str, Run], judged: bool = True) -> tuple[list[str], bool]:
    """Return the lines about one step, and whether its target holds."""
    lines = [
        f"  {name:<8} {who:<5} {each.seconds:9.4f} s {each.megabytes:8,.0f} MB   {each.failure}".rstrip()
        for who, each in costs.items()
    ]
    ours, theirs = costs["opset"], costs["onnx"]
    line, holds = verdict(ours.seconds / theirs.seconds, TARGETS[name], "of the time that onnx takes")
    holds &= not (ours.failure or theirs.failure)
    return [*lines, line] if judged else lines, holds or not judged


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    names = ["start-up", *map(str, SIZES)]
    options = options_of(arguments, "python -m benchmarks.in_process", __doc__ or "", names, runs=5, room=1)
    runs = 1 if options.quick else options.runs
    good = True
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, compiled_once():
        for name in sorted(options.only, key=names.index):
            if name == "start-up":
                print("start-up: a command that converts a small model")
                found = {name: start_up(3 * runs, Path(folder))}
            else:
                nodes = int(name) // 10 if options.quick else int(name)
                print(f"{nodes:,} nodes")
                found = measure(nodes, runs if options.quick else runs * SIZES[int(name)])
            for step, costs in found.items():
                lines, holds = report(step, costs, not options.quick)
                good &= holds
                print("\n".join(lines), flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
