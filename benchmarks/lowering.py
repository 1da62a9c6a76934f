"""Measures conversions that lower nodes: a transformer of opset 23 to older opsets, beside the converter of onnx.

    python -m benchmarks.lowering [--blocks 100] [--to 17,13,9] [--runs 5]

A block has five nodes that older opsets lack: two normalizations, attention, rotary embedding, Gelu. Every run is a
process of its own, with its start-up in the time; a time is the median of the runs, a memory the highest resident set.
The exit status is 1 when 500 nodes take more than a second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed import ONNX, compiled_once, run, summary

WIDTH = 16
LIMIT = 1.0
"""Seconds for 500 nodes."""
BLOCK = """
    n{0} = RMSNormalization (h{0}, g)
    q{0} = MatMul (n{0}, w)
    r{0} = RotaryEmbedding <num_heads: int = 4> (q{0}, cos, sin, positions)
    a{0} = Attention <q_num_heads: int = 4, kv_num_heads: int = 4, is_causal: int = 1> (r{0}, r{0}, q{0})
    s{0} = Add (h{0}, a{0})
    l{0} = LayerNormalization <axis: int = -1> (s{0}, g, g)
    m{0} = MatMul (l{0}, w)
    e{0} = Gelu <approximate: string = "tanh"> (m{0})
    h{1} = Add (s{0}, e{0})"""


def make(path: Path, blocks: int) -> None:
    """Write a model of so many blocks."""
    import numpy as np
    from onnx import numpy_helper, parser, save

    nodes = "".join(BLOCK.format(block, block + 1) for block in range(blocks))
    model = parser.parse_model(
        f"""<ir_version: 11, opset_import: ["": 23]>
        m (float[B, S, {WIDTH}] h0, int64[B, S] positions) => (float[B, S, {WIDTH}] h{blocks}) {{{nodes}
        }}"""
    )
    for name, shape in {"g": (WIDTH,), "w": (WIDTH, WIDTH), "cos": (64, 2), "sin": (64, 2)}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    save(model, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the report; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lowering", description=about)
    parser.add_argument("--blocks", type=int, default=100, metavar="N")
    parser.add_argument("--to", default="17,13,9", metavar="OPSETS")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    options = parser.parse_args(arguments)
    late = False
    with tempfile.TemporaryDirectory() as folder:
        model, output = Path(folder, "model.onnx"), Path(folder, "output.onnx")
        make(model, options.blocks)
        lowered = 5 * options.blocks
        print(f"{lowered} nodes to lower of {9 * options.blocks}, medians of {options.runs} runs")
        print(f"{'to':>4} {'seconds':>8} {'MB':>6} {'nodes':>7}  onnx")
        for to in map(int, options.to.split(",")):
            convert = ["-m", "opset", "convert", str(model), "--to", str(to), "-o", str(output), "--force", "-q"]
            with compiled_once():
                run([sys.executable, *convert])
                ours = summary([run([sys.executable, *convert]) for _ in range(options.runs)])
                peer = run([sys.executable, "-c", ONNX, str(model), str(output), str(to)])
            said = f"fails: {peer.failure[-60:]}" if peer.failure else f"{ours.seconds / peer.seconds:.2f} of its time"
            late |= bool(ours.failure) or ours.seconds > LIMIT * max(lowered / 500, 1)
            made = ours.failure or f"{count(output):,}"
            print(f"{to:>4} {ours.seconds:>8.2f} {ours.megabytes:>6.0f} {made:>7}  {said}")
    return int(late)


def count(path: Path) -> int:
    """Return the number of nodes of a model."""
    import onnx

    return len(onnx.load(path).graph.node)


if __name__ == "__main__":
    sys.exit(main())
