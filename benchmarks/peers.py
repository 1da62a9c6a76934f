"""Converts the same models by opset, and by what else there is: onnx, onnxscript and onnxsim.

    python -m benchmarks.peers [--python INTERPRETER]

INTERPRETER is that of an environment with `onnx`, `onnxscript` and `onnxsim`, by default the one that runs this; what
is not installed is left out. Each conversion is a process of its own. Of a result, the opset is read, its local
functions are counted, and its outputs are compared with those that the framework computed, or those of the model
before, on the reference kernels of opset.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import opset
from opset import ReferenceEvaluator

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
OPSET = "import sys, opset; opset.convert(sys.argv[1], int(sys.argv[3])).save(sys.argv[2])"
PEERS = {
    "onnx": "import sys, onnx, onnx.version_converter as v\n"
    "onnx.save(v.convert_version(onnx.load(sys.argv[1]), int(sys.argv[3])), sys.argv[2])",
    "onnxscript": "import sys, onnx_ir, onnxscript.version_converter as v\n"
    "model = onnx_ir.load(sys.argv[1])\n"
    "v.convert_version(model, int(sys.argv[3]), fallback=True)  # beyond its range it calls onnx\n"
    "onnx_ir.save(model, sys.argv[2])",
    "onnxsim": "import sys, onnx, onnxsim\nonnx.save(onnxsim.simplify(onnx.load(sys.argv[1]))[0], sys.argv[2])",
}
"""The program of each peer: it reads a model, converts it to an opset if it can, and writes it."""
OLD = """
<ir_version: 3, opset_import: ["" : 6]>
old (float[2, 3, 4, 4] x) => (float[2, 3] y)
<float[3] bias = {0.5, -1, 2}, float[3] scale = {1, 2, 0.5}, float[3] mean = {0, 1, -1}, float[3] var = {1, 4, 2}> {
    sum = Add <broadcast = 1, axis = 1> (x, bias)
    normal = BatchNormalization <is_test = 1> (sum, scale, bias, mean, var)
    dropped = Dropout <is_test = 1, ratio = 0.5> (normal)
    pooled = GlobalAveragePool (dropped)
    y = Squeeze <axes = [2, 3]> (pooled)
}
"""
FUNCTIONS = """
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
functions (float[N, 4] x) => (float[M] y) {
    scaled = local.Scaled (x)
    y = local.Total (scaled)
}
<domain: "local", opset_import: ["" : 17]>
Scaled (x) => (y) {
    two = Constant <value = float {2}> ()
    y = Mul (x, two)
}
<domain: "local", opset_import: ["" : 17]>
Total (x) => (y) {
    y = ReduceMax <axes = [1], keepdims = 0> (x)
}
"""


class Task(NamedTuple):
    """A model to convert, its target, inputs, and the outputs that the result has to compute."""

    title: str
    model: Path
    target: int
    feeds: Mapping[str, Any]
    expected: Mapping[str, Any]


def tasks(folder: Path) -> Iterator[Task]:
    """Yield the models: those of examples/ with what their framework computed, and two that are written as text."""
    for name, target in (("segmenter_opset9", 21), ("tagger_opset11", 21), ("search_opset12", 21),
                         ("decoder_opset23", 17), ("search_opset12", 9), ("segmenter_opset9", 7)):  # fmt: skip
        path = EXAMPLES / f"{name}.onnx"
        values = dict(np.load(EXAMPLES / f"{name}.npz"))
        graph = opset.load(path).proto.graph
        constants = {each.name for each in graph.initializer}
        feeds = {each.name: values[f"input/{each.name}"] for each in graph.input if each.name not in constants}
        expected = {each.name: values[f"output/{each.name}"] for each in graph.output}
        word = "up" if target > int(name.rpartition("opset")[2]) else "down"
        yield Task(f"{name.replace('_opset', ', opset ')} {word} to {target}", path, target, feeds, expected)
    generator = np.random.default_rng(0)
    for title, text, shape in (
        ("Add with `axis`, BatchNormalization of opset 6 up to 21", OLD, (2, 3, 4, 4)),
        ("two local functions, opset 17 up to 21", FUNCTIONS, (3, 4)),
    ):
        model = opset.parse_model(text)
        path = folder / f"{model.graph.name}.onnx"
        path.write_bytes(model.SerializeToString())
        feeds = {"x": generator.standard_normal(shape).astype("float32")}
        yield Task(title, path, 21, feeds, {"y": ReferenceEvaluator(path).run(None, feeds)[0]})


def verdict(task: Task, interpreter: str, program: str, folder: Path) -> str:
    """Return what became of a model that a program converted, in a few words."""
    result = folder / "result.onnx"
    result.unlink(missing_ok=True)
    command = [interpreter, "-c", program, str(task.model), str(result), str(task.target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    if done.returncode < 0:
        return "crash"
    if done.returncode:
        return "refused" if "ConversionError" in done.stderr else "error"
    proto = opset.load(result).proto
    found = next(each.version for each in proto.opset_import if each.domain in ("", "ai.onnx"))
    if found != task.target:
        return f"still opset {found}"
    before = len(opset.load(task.model).proto.functions)
    lost = f", functions {before} -> {len(proto.functions)}" if before != len(proto.functions) else ""
    try:
        outputs = ReferenceEvaluator(result).run([*task.expected], dict(task.feeds))
    except opset.OpsetError as error:
        return f"invalid ({error.code}){lost}"
    pairs = zip(task.expected.values(), outputs, strict=True)
    return ("same" if all(np.allclose(a, b, 1e-4, 1e-5, equal_nan=True) for a, b in pairs) else "WRONG") + lost


def versions(interpreter: str) -> dict[str, str]:
    """Return the versions of the peers that an environment has, by name."""
    program = "import sys, importlib.metadata as m\nprint(m.version(sys.argv[1]))"
    found = {}
    for peer in PEERS:
        done = subprocess.run([interpreter, "-c", program, peer], capture_output=True, text=True, cwd=ROOT)
        if not done.returncode:
            found[peer] = done.stdout.strip()
    return found


def main() -> int:
    """Print the table of models by converters as Markdown; return 1 if opset gave a wrong or an invalid model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter of an environment with the peers")
    interpreter = parser.parse_args().python
    found = versions(interpreter)
    titles = [f"opset {opset.__version__}", *(f"{name} {version}" for name, version in found.items())]
    print(f"| model | {' | '.join(titles)} |")
    print(f"|{'---|' * (len(titles) + 1)}")
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(Path(folder)):
            ours = verdict(task, sys.executable, OPSET, Path(folder))
            wrong |= ours not in ("same", "refused")
            cells = [ours, *(verdict(task, interpreter, PEERS[peer], Path(folder)) for peer in found)]
            print(f"| {task.title} | {' | '.join(cells)} |", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
