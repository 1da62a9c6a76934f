"""Changes a size of models by real exporters, and compares them with what the exporter itself writes at that size.

    python -m judges sizes --folder DIR [-k PATTERN] [-v]

DIR holds what `python -m judges export_sizes --folder DIR` wrote: each model at several sizes of one axis. Each is
changed from 1 to 4 and to a variable, from 4 to 1 and to a variable. Onnxruntime and this project's evaluator run the
result at the old size and at others, and the exporter's own model of that size has to have given the same outputs. The
exit status is 1 if one of them differs. Refusals are counted by the operator of their node; they are no faults.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import opset
from judges.conformance.judge import run_onnxruntime
from opset.reference.comparison import differences

CHANGES: tuple[tuple[int, int | str], ...] = ((1, 4), (1, "N"), (4, 1), (4, "N"))
SIZES = (1, 3, 4)
TOLERANCE = 1e-3


def judge(folder: Path, name: str, before: int, after: int | str) -> tuple[str, str]:
    """Return what came of one change, "same", "refused", "wrong" or "not run", and why."""
    axes = json.loads((folder / f"{name}.json").read_text())
    model = onnx.load(folder / f"{name}-{before}.onnx")
    have = {value.name for value in model.graph.input}
    sizes = {f"{input}.{axis}": after for input, axis in axes.items() if input in have}
    if not sizes:
        return "not run", "no input has the axis"
    try:
        resized = opset.change_sizes(model, sizes)
    except opset.OpsetError as error:
        return "refused", str(error)
    compared = 0
    for size in (before, *SIZES) if after == "N" else (after,):
        if (why := compare(folder, name, resized, size)) is None:
            continue
        if why:
            return "wrong", f"at size {size}: {why}"
        compared += 1
    return ("same", "") if compared else ("not run", "neither onnxruntime nor the evaluator ran the exporter's own")


def compare(folder: Path, name: str, resized: onnx.ModelProto, size: int) -> str | None:
    """Return how a model differs from the exporter's own at a size, "" if it does not, None if that does not run."""
    own = onnx.load(folder / f"{name}-{size}.onnx")
    with np.load(folder / f"{name}-{size}.npz") as data:
        feeds = {key: data[key] for key in data}
    given = {value.name: feeds[value.name] for value in resized.graph.input if value.name in feeds}
    needed = {value.name: feeds[value.name] for value in own.graph.input if value.name in feeds}
    runs = 0
    for run in (run_onnxruntime, run_ours):
        try:
            expected = run(own, needed)
        except Exception:  # a model that its own exporter's runtime refuses says nothing
            continue
        if expected is None:
            continue
        runs += 1
        try:
            outputs = run(resized, given)
        except Exception as error:
            return f"{run.__name__}: {' '.join(str(error).split())[:200]}"
        if outputs is None:
            return f"{run.__name__} runs the exporter's own alone"
        why = next((each.why for each in differences(expected, outputs, TOLERANCE) if each.why), "")
        if why:
            return f"{run.__name__}: {why}"
    return "" if runs else None


def run_ours(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """Return the outputs by this project's evaluator."""
    return opset.ReferenceEvaluator(model, seed=0).run(None, feeds)


def cases(folder: Path, pattern: str) -> Iterator[str]:
    """Yield the names of the models in a folder."""
    for file in sorted(folder.glob("*.json")):
        if re.search(pattern, file.stem):
            yield file.stem


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge all changes of all models; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m judges sizes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="what export_sizes wrote")
    parser.add_argument("-k", dest="pattern", default="", help="only models whose name this is found in")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what is refused, with its reason")
    options = parser.parse_args(arguments)
    counts: dict[tuple[int, int | str], Counter[str]] = {change: Counter() for change in CHANGES}
    refusals: Counter[str] = Counter()
    models = 0
    for name in cases(options.folder, options.pattern):
        models += 1
        for before, after in CHANGES:
            outcome, why = judge(options.folder, name, before, after)
            counts[before, after][outcome] += 1
            if outcome == "refused":
                node = re.search(r"\((\w+)\)", why)
                refusals[node[1] if node else "output"] += 1
            if outcome == "wrong" or (outcome == "refused" and options.verbose):
                print(f"{outcome:8} {name} {before} -> {after}: {' '.join(why.split())}", flush=True)
    print(f"{models} models")
    for (before, after), found in counts.items():
        print(f"  {before} -> {after}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items())))
    print("  refused at: " + ", ".join(f"{operator} {count}" for operator, count in refusals.most_common()))
    return int(any(found["wrong"] for found in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
