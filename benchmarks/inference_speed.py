"""Measures what inference costs in time and memory, beside that of the onnx package.

    python -m benchmarks.inference_speed [--only nodes-2000,nodes,nodes-200000,inline] [--runs 3] [--quick]
                                         [--folder DIR]

Models and runs are as in benchmarks.speed: every run is a process of its own that reads a file and writes another, with
its start-up in the time; modules are compiled before, as those of an installed package are. The graphs are a chain as
exporters write it, attention and normalisation with the arithmetic on shapes, at opset 13, with two sizes left open.
The exit status is 1 when a target does not hold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.speed import Run, compiled_once, make_inline, options_of, run, summary, verdict

if TYPE_CHECKING:
    from onnx import NodeProto

OURS = """
import sys, opset
opset.infer_shapes(sys.argv[1], data_prop=True).save(sys.argv[2])
"""
ONNX = """
import sys, onnx
from onnx.shape_inference import infer_shapes
onnx.save(infer_shapes(onnx.load(sys.argv[1]), data_prop=True), sys.argv[2])
"""
LOOK = """
import sys, opset
print(opset.infer(sys.argv[1]).coverage)
"""
SCRIPTS = {"opset": OURS, "look": LOOK, "onnx": ONNX}
"""What is run: ours and onnx write the model with what they found, `look` is ours and only tells how much is known."""
BLOCK = 20  # nodes of a block of the chain


@dataclass(frozen=True)
class Bench:
    """A model to infer: how it is made in the size asked for."""

    title: str
    make: Callable[[Path, int], None]
    size: int


def block(number: int, value: str) -> Iterator[NodeProto]:
    """Yield the nodes of one block, from a value on; the last one gives `block<number>/out`."""
    from onnx.helper import make_node

    def named(name: str) -> str:
        return f"block{number}/{name}"

    def node(operator: str, inputs: Sequence[str], output: str, **attributes: object) -> NodeProto:
        return make_node(operator, inputs, [named(output)], name=named(f"{output}/{operator}"), **attributes)

    yield node("MatMul", [value, named("w")], "product")
    yield node("Add", [named("product"), named("b")], "sum")
    yield node("Shape", [named("sum")], "shape")
    yield node("Gather", [named("shape"), "zero"], "n", axis=0)
    yield node("Gather", [named("shape"), "one"], "l", axis=0)
    yield node("Unsqueeze", [named("n"), "axes"], "nu")
    yield node("Unsqueeze", [named("l"), "axes"], "lu")
    yield node("Concat", [named("nu"), named("lu"), f"heads{number % 3}"], "split", axis=0)
    yield node("Reshape", [named("sum"), named("split")], "heads")
    yield node("Transpose", [named("heads")], "turned", perm=[0, 2, 1, 3])
    yield node("Softmax", [named("turned")], "weights", axis=-1)
    yield node("Transpose", [named("weights")], "back", perm=[0, 2, 1, 3])
    yield node("Concat", [named("nu"), named("lu"), "width"], "whole", axis=0)
    yield node("Reshape", [named("back"), named("whole")], "joined")
    yield node("Add", [named("joined"), value], "skip")
    yield node("ReduceMean", [named("skip")], "mean", axes=[-1])
    yield node("Sub", [named("skip"), named("mean")], "centred")
    yield node("Mul", [named("centred"), named("b")], "scaled")
    yield node("Relu", [named("scaled")], "relu")
    yield node("Identity", [named("relu")], "out")


def make_chain(path: Path, nodes: int) -> None:
    """Write a chain of so many nodes with tiny weights."""
    from onnx import TensorProto, helper, save

    count, width = nodes // BLOCK, 8
    constants = {"zero": [0], "one": [1], "axes": [0], "width": [width]} | {
        f"heads{number}": [1 << number, width >> number] for number in range(3)
    }
    weights = [
        helper.make_tensor(name, TensorProto.INT64, [] if name in ("zero", "one") else [len(values)], values)
        for name, values in constants.items()
    ]
    chain, value = [], "x"
    for number in range(count):
        chain += block(number, value)
        value = f"block{number}/out"
        for name, shape in (("w", [width, width]), ("b", [width])):
            weights.append(helper.make_tensor(f"block{number}/{name}", 1, shape, bytes(4 * width ** len(shape)), True))
    graph = helper.make_graph(
        chain,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "sequence", width])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
        weights,
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)


BENCHES = {
    "nodes-2000": Bench("nodes", make_chain, 2_000),
    "nodes": Bench("nodes", make_chain, 20_000),
    "nodes-200000": Bench("nodes", make_chain, 200_000),
    "inline": Bench("MB of weights in the file, 300 nodes", make_inline, 1000),
}


def targets(name: str, runs: dict[str, dict[str, Run]]) -> Iterator[tuple[str, float, float]]:
    """Yield what is asked of us on a model: a value, and the most that it may be."""
    ours, theirs = runs[name]["opset"], runs[name]["onnx"]
    if name == "nodes":
        yield "seconds, 3 x onnx", ours.seconds, 3 * theirs.seconds
        yield "seconds, 1 x onnx, which is wished for", ours.seconds, theirs.seconds
    elif name == "nodes-200000" and "nodes" in runs:
        yield "seconds, 12 x those of 20,000 nodes", ours.seconds, 12 * runs["nodes"]["opset"].seconds
    elif name == "inline":
        yield "seconds of a look, a 20th of onnx", runs[name]["look"].seconds, theirs.seconds / 20
        yield "MB", ours.megabytes, 150


def measure(name: str, size: int, runs: int, folder: Path) -> dict[str, Run]:
    """Return the median cost for us and for onnx."""
    source, output = folder / "model.onnx", folder / "output.onnx"
    made = run([sys.executable, "-m", "benchmarks.inference_speed", "--make", name, str(size), str(source)])
    if made.failure:
        raise SystemExit(f"the model could not be made: {made.failure}")
    found: dict[str, list[Run]] = {who: [] for who in SCRIPTS}
    for _ in range(runs):
        for who, before in found.items():
            before.append(run([sys.executable, "-c", SCRIPTS[who], str(source), str(output)]))
            output.unlink(missing_ok=True)
    source.unlink()
    return {who: summary(each) for who, each in found.items()}


def report(name: str, size: int, runs: dict[str, dict[str, Run]]) -> tuple[list[str], bool]:
    """Return the lines about one model, and whether all targets hold; what is wished for is told alone."""
    bench, ours = BENCHES[name], runs[name]["opset"]
    lines = [f"{size:,} {bench.title}"]
    for who, cost in runs[name].items():
        ratio = "" if who == "opset" else f"   opset takes {ours.seconds / cost.seconds:.2f} of it"
        lines.append(f"  {who:<6} {cost.seconds:8.3f} s {cost.megabytes:8,.0f} MB{ratio}   {cost.failure}".rstrip())
    good = not ours.failure
    for what, value, most in targets(name, runs) if size == bench.size else ():
        line, holds = verdict(value, most, what)
        lines.append(line)
        good &= holds or "wished" in what
    return lines, good


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    program = "python -m benchmarks.inference_speed"
    options = options_of(arguments, program, __doc__ or "", list(BENCHES), runs=3, room=3)
    if options.make:
        name, size, path = options.make
        BENCHES[name].make(Path(path), int(size))
        return 0
    good, runs = True, {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, compiled_once():
        measure("nodes", BLOCK, 1, Path(folder))
        for name in options.only:
            size = BENCHES[name].size // 10 if options.quick else BENCHES[name].size
            runs[name] = measure(name, size, 1 if options.quick else options.runs, Path(folder))
            lines, holds = report(name, size, runs)
            good &= holds
            print("\n".join(lines), flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
