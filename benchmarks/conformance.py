"""Runs test cases of the standard on the reference evaluator, each at its own opset, and tells which it gets right.

    python -m benchmarks.conformance [-k PATTERN] [--cases node,models] [--archive FOLDER] [--evaluator opset|onnx]

`node` are the cases that the installed onnx package generates, `models` the light, pytorch-converted, pytorch-operator
and simple ones that it ships; `--archive` names a folder that `benchmarks.archive` fetched. A case passes when every
output has the expected type, shape and values, within the tolerances that the case states. The exit status is 1 when a
case fails that is not in WRONG.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import opset
from benchmarks.archive import archived_cases
from benchmarks.judge import Case, difference, operators, run_evaluator
from benchmarks.matrix import node_cases
from benchmarks.models import GROUPS, cases_of

# Cases that are wrong in themselves, or whose result the standard leaves open: a pattern of names, and the reason.
# Those of the archive that no evaluator could pass are in benchmarks.archive.BROKEN.
WRONG: dict[str, str] = {}


def with_opset(case: Case) -> Sequence[Any]:
    """Give the outputs by the evaluator of this project."""
    return opset.ReferenceEvaluator(case.model, seed=0).run(None, case.feeds)


def with_onnx(case: Case) -> Sequence[Any]:
    """Give the outputs by the evaluator of the onnx package."""
    outputs = run_evaluator(case.model, case.feeds)
    if outputs is None:
        raise NotImplementedError("not implemented")
    return outputs


EVALUATORS: dict[str, Callable[[Case], Sequence[Any]]] = {"opset": with_opset, "onnx": with_onnx}


def judged(case: Case, evaluator: str) -> str:
    """Give why a case fails, "" where it passes."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            actual = EVALUATORS[evaluator](case)
    except opset.OpsetError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return difference(case, actual) or other_types(case.expected, actual)


def other_types(expected: Iterable[Any], actual: Iterable[Any]) -> str:
    """Give the first pair of outputs whose element types differ; `difference` compares narrow types as wider ones."""
    for number, (want, have) in enumerate(zip(expected, actual, strict=True)):
        if isinstance(want, list | tuple):
            found = other_types(want, have)
        else:
            found = "" if want is None or kind_of(want) == kind_of(have) else f"{kind_of(have)} for {kind_of(want)}"
        if found:
            return f"output {number}: {found}"
    return ""


def kind_of(value: Any) -> str:
    dtype = np.asarray(value).dtype
    return "text" if dtype.kind in "OUS" else dtype.name


def selected(names: Sequence[str], archive: Path | None, pattern: str) -> Iterator[Case]:
    """Give the cases of these sources whose name or operators the pattern is found in."""
    for source in names:
        if source == "node":
            yield from (case for case in node_cases() if fits(case, pattern))
        elif source == "models":
            groups = [group for group in GROUPS if group not in ("light-drawn", "examples")]
            yield from (case for group in groups for case in cases_of(group) if fits(case, pattern))
    if archive is not None:
        yield from (case for case in archived_cases(archive) if fits(case, pattern))


def fits(case: Case, pattern: str) -> bool:
    return bool(re.search(pattern, case.name)) or any(re.fullmatch(pattern, name) for name in operators(case.model))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases, and tell which fail."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="regular expression of cases, or whole operator names")
    parser.add_argument("--cases", default="node,models", help="node, models, both, or an empty string")
    parser.add_argument("--archive", type=Path, help="a folder that benchmarks.archive fetched")
    parser.add_argument("--evaluator", choices=[*EVALUATORS], default="opset")
    parser.add_argument("-v", dest="verbose", action="store_true", help="tell all of each failure, not one line")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    spent = 0.0
    for case in selected([name for name in options.cases.split(",") if name], options.archive, options.pattern):
        begun = time.perf_counter()
        why = judged(case, options.evaluator)
        spent += time.perf_counter() - begun
        known = next((reason for name, reason in WRONG.items() if re.fullmatch(name, case.name)), "")
        counts["passed" if not why else "known" if known else "failed"] += 1
        if why:
            print(f"{case.name}: {why if options.verbose else why[:300].splitlines()[0]}{f' ({known})' * bool(known)}")
    total = sum(counts.values())
    share = 100 * counts["passed"] / total if total else 100
    print(
        f"{options.evaluator} on onnx {onnx.__version__}: {total:,} cases, {counts['passed']:,} pass ({share:.2f} %), "
        f"{counts['known']:,} are wrong in themselves, {counts['failed']:,} fail; {spent:.1f} s"
    )
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
