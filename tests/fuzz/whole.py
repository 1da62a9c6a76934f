"""Hunts wrong answers of whole models: composed of drawn nodes, converted up and down, judged by onnxruntime.

`python -m tests.fuzz.whole --seed 1 --count 200 --keep DIR`. Model number 7 of seed 1 is the case `composed/1.7`, the
same at each run. The exit status is 1 where a result is wrong or an error is not of this project.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx

import opset
from tests.conformance.judge import Case, Judge, Verdict, run_onnxruntime
from tests.conformance.processes import Died, each
from tests.fuzz.drawing.composed import OPSETS, compose

FAULTS = ("wrong", "error")
MEMORY = 4 << 30


@dataclass(frozen=True)
class Finding:
    """What became of one conversion: same, refused, wrong, error or unjudged."""

    target: int
    kind: str
    why: str = ""


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Return the outputs by onnxruntime."""
    found = run_onnxruntime(model, feeds)
    if found is None:
        raise LookupError("onnxruntime has no kernel")
    return found


def cases(name: str) -> list[Case]:
    """Return the model of a name with the inputs and outputs of each run. Raises LookupError where none runs."""
    model, feeds = compose(name, run)
    found = []
    for given in feeds:
        try:
            found.append(Case(name, model, given, run(model, given), rtol=2e-3, atol=1e-4))
        except Exception as error:  # the second inputs need not fit
            if not found:
                raise LookupError(f"it does not run: {error}") from None
    return found


def unstable(case: Case) -> bool:
    """Whether inputs that differ by rounding alone give other outputs: then a difference says nothing."""
    nudged = {
        key: (value * (1 + 1e-6)).astype(value.dtype) if value.dtype.kind == "f" else value
        for key, value in case.feeds.items()
    }
    return Judge(replace(case, feeds=nudged), "none", {}).runtime_before.kind != "same"


def examine(name: str) -> Generator[str, None, list[Finding] | str]:
    """Return what the conversions of a case come to, or why there is no case."""
    yield "drawing"
    try:
        drawn = cases(name)
    except Exception as error:
        return repr(error)
    rng = random.Random(f"{name} targets")
    source = next(entry.version for entry in drawn[0].model.opset_import if entry.domain == "")
    others = [version for version in OPSETS if version != source]
    found = []
    for target in sorted(rng.sample(others, 4)):
        yield f"to {target}"
        try:
            made = opset.convert(drawn[0].model, target)
        except opset.OpsetError as error:
            found.append(Finding(target, "refused", f"{error.findings[0].code}: {error.findings[0].why}"))
            continue
        except Exception as error:
            found.append(Finding(target, "error", repr(error)))
            continue
        for case in drawn:
            verdict = Judge(case, "none", {}).judge(made, ("", target))
            if verdict.kind != "same":
                break
        if verdict.kind == "wrong" and verdict.by == "onnxruntime" and unstable(case):
            verdict = Verdict("unjudged", verdict.by, "rounding decides")
        found.append(Finding(target, verdict.kind, f"{verdict.by}: {verdict.why}"))
    return found


def names(seed: int, count: int | None, minutes: float | None) -> Iterator[str]:
    """Yield the names of cases."""
    until = time.monotonic() + 60 * (minutes or 0)
    number = 0
    while (count is None or number < count) and (minutes is None or time.monotonic() < until):
        yield f"composed/{seed}.{number}"
        number += 1


def keep(name: str, folder: Path) -> None:
    """Write the model of a case."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(cases(name)[0].model, folder / f"{name.replace('/', '_')}.onnx")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer and print what it found; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.whole", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100, metavar="M", help="models (default: 100)")
    parser.add_argument("--minutes", type=float, metavar="K", help="draw models for no longer than this")
    parser.add_argument("--case", metavar="NAME", help="examine one case alone")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the models of faults here")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    options = parser.parse_args(arguments)
    chosen = iter([options.case]) if options.case else names(options.seed, options.count, options.minutes)
    counts: Counter[str] = Counter()
    for name, result in each(examine, chosen, options.processes, 60, MEMORY):
        if isinstance(result, Died):
            kind = "error" if result.stage.startswith("to") else "undrawn"
            result = [Finding(0, kind, f"{result.stage}: {result.why}")]
        elif isinstance(result, str):
            result = [Finding(0, "undrawn", result)]
        counts.update(finding.kind for finding in result)
        for finding in result:
            if finding.kind in FAULTS or options.case:
                print(f"{finding.kind} {name} -> {finding.target}: {finding.why}", flush=True)
        if options.keep and any(finding.kind in FAULTS for finding in result):
            keep(name, options.keep)
    print(", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())))
    return int(any(counts[kind] for kind in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
