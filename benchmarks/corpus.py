"""Measures the conformance corpus, beside the node cases that the onnx package generates, written in the same layout.

    python -m benchmarks.corpus [--runs 3]

Every run is a process of its own, with its start-up in the time; a time is the median of the runs, a memory the highest
resident set. "again" writes the corpus to a folder that has it. The exit status is 1 when the corpus of every version
takes more than 60 seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed import compiled_once, run, summary

SECONDS = 60.0
ONNX = """
import pathlib, sys, warnings
warnings.simplefilter("ignore")
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests

def message(value):
    if isinstance(value, TensorProto):
        return value
    kind = {list: numpy_helper.from_list, dict: numpy_helper.from_dict, type(None): numpy_helper.from_optional}
    return kind.get(type(value), numpy_helper.from_array)(value)

for case in load_node_model_tests():
    folder = pathlib.Path(sys.argv[1], "node", case.name)
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, sides in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for side, values in zip(("input", "output"), sides):
            for at, value in enumerate(values):
                (data / f"{side}_{at}.pb").write_bytes(message(value).SerializeToString())
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the report; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description=about)
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    options = parser.parse_args(arguments)
    testgen = ["-m", "opset", "testgen", "--all", "--format", "json"]
    missed = False
    print(f"medians of {options.runs} runs")
    print(f"{'corpus':<14} {'seconds':>8} {'MB':>6} {'cases':>6} {'files':>7} {'written':>8}")
    with tempfile.TemporaryDirectory() as top, compiled_once():
        forms = {"onnx": ["-c", ONNX], "first": [*testgen, "-o"], "every version": [*testgen, "--every-version", "-o"]}
        for form, command in forms.items():
            folders = [Path(top, f"{form}{number}") for number in range(options.runs)]
            again = {"": folders} if form == "onnx" else {"": folders, ", again": folders[:1] * options.runs}
            for suffix, each in again.items():
                found = summary([run([sys.executable, *command, str(folder)]) for folder in each])
                if found.failure:
                    print(f"{form:<14} fails: {found.failure[-80:]}")
                    missed |= form != "onnx"
                    break
                sizes = [path.stat().st_size / 1e6 for path in each[0].rglob("*") if path.is_file()]
                cases = sum(1 for _ in each[0].glob("*/*/model.onnx"))
                missed |= form == "every version" and found.seconds > SECONDS
                name = "again" if suffix else form
                print(
                    f"{name:<14} {found.seconds:>8.2f} {found.megabytes:>6.0f} {cases:>6,} {len(sizes):>7,}"
                    f" {sum(sizes):>5.1f} MB"
                )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
