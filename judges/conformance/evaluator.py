"""Runs test cases of the standard on the reference evaluator, each at its own opset, and tells which it gets right.

    python -m judges evaluator [-k PATTERN] [--cases node,models] [--archive FOLDER] [--evaluator opset|onnx]
                                     [-j 2] [--by opset,operator] [--json FILE]

`node` are the cases that the installed onnx package generates, `models` the light, pytorch-converted, pytorch-operator
and simple ones that it ships; `--archive` names a folder that `judges.conformance.archive` fetched. A case passes when
every output has the expected type, shape and values, within the tolerances that the case states. The exit status is 1
when a case fails that is not in WRONG.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import opset
from judges.conformance.archive import archived_cases, is_broken
from judges.conformance.judge import Case, difference, operators, opset_of, run_evaluator
from judges.conformance.matrix import node_cases
from judges.conformance.models import GROUPS, cases_of
from judges.conformance.processes import Died, each

# Cases that are wrong in themselves, or whose result the standard leaves open: a pattern of names, and the reason.
# Those of the archive that no evaluator could pass are in judges.conformance.archive.BROKEN.
WRONG: dict[str, str] = {
    r"test_attention_4d_causal_fp16_expanded": (
        "two of 192 values are two steps of float16 off, and the tolerance is less than that"
    ),
    r"test_dft_inverse(_opset19)?": "outputs of single precision, up to 2e-7 where 0 is meant; the tolerance is 1e-7",
    r"test_maxunpool_export_with_output_shape(@.*)?": (
        "the indices are those of the default output of 4x4; the text counts in the output that is asked for, 5x5"
    ),
    r"test_resize_downsample_scales_(linear|cubic)_align_corners(@.*)?": (
        "divides by input size times scale less 1, 1.4; the text says length_resized - 1, and that length is 2"
    ),
    r"test_shrink@1\.4\.0": "the model declares an input of [1, 5], the input is [5]",
    r"test_castlike_FLOAT_to_BFLOAT16(_expanded)?@1\.1[24]\.0": "`like` has not the shape that the model declares",
    r"test_mod_float_mixed_sign_example@1\.5\.0": "fmod is 0 for floats, which the operator forbids before version 28",
    r"test_softplus(_example)?_expanded@1\.13\.0": "Add of opset 1 without `broadcast`, on shapes [3] and []",
    r"test_(nesterov_)?momentum(_multiple)?@1\.7\.0": "the expected X_new is X itself",
    r"test_adam_multiple@1\.7\.0": "the outputs are of epsilon 0.01, and the model leaves it out",
}
SECONDS_PER_CASE = 600  # onnx's evaluator takes minutes for some models


def with_opset(case: Case) -> Sequence[Any]:
    """Return the outputs by the evaluator of this project."""
    return opset.ReferenceEvaluator(case.model, seed=0).run(None, case.feeds)


def with_onnx(case: Case) -> Sequence[Any]:
    """Return the outputs by the evaluator of the onnx package."""
    outputs = run_evaluator(case.model, case.feeds)
    if outputs is None:
        raise NotImplementedError("not implemented")
    return outputs


EVALUATORS: dict[str, Callable[[Case], Sequence[Any]]] = {"opset": with_opset, "onnx": with_onnx}


def judged(case: Case, evaluator: str) -> str:
    """Return why a case fails, "" where it passes."""
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
    """Return the first pair of outputs whose element types differ; `difference` compares narrow types as wider ones."""
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
    """Yield the cases of these sources whose name or operators the pattern is found in."""
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


@dataclass(frozen=True)
class Outcome:
    """What became of a case: `why` it fails ("" where it passes), `known` where it is wrong in itself; seconds."""

    case: str
    opset: str
    operator: str
    why: str
    known: str
    seconds: float

    @property
    def kind(self) -> str:
        """Return passed, known or failed."""
        return "passed" if not self.why else "known" if self.known else "failed"


def job(cases: Sequence[Case], evaluator: str, number: int) -> Generator[str, None, tuple[str, float]]:
    """Return why the case of a number fails, and how long that took."""
    yield cases[number].name
    begun = time.perf_counter()
    why = judged(cases[number], evaluator)
    return why, time.perf_counter() - begun


def outcome_of(case: Case, result: tuple[str, float] | Died) -> Outcome:
    """Return the outcome of a case; one of a single operator, its body or functions aside, has that one's name."""
    why, seconds = (f"process: {result.why}", 0.0) if isinstance(result, Died) else result
    known = next((reason for name, reason in WRONG.items() if re.fullmatch(name, case.name)), "")
    imports = [("", opset_of(case.model)), *((e.domain, e.version) for e in case.model.opset_import if e.domain)]
    opsets = " ".join(f"{domain} {version}".strip() for domain, version in imports if version is not None)
    names = {node.op_type for node in case.model.graph.node}
    return Outcome(case.name, opsets, names.pop() if len(names) == 1 else "(several)", why, known, seconds)


def summary(outcomes: Sequence[Outcome], column: str) -> Iterator[str]:
    """Yield a line for each opset or operator, those that fail first."""
    groups: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        groups.setdefault(getattr(outcome, column), Counter())[outcome.kind] += 1
    yield f"{column:>40} {'passed':>7} {'known':>7} {'failed':>7}"
    for name, counts in sorted(groups.items(), key=lambda pair: (-pair[1]["failed"], order_of(pair[0]))):
        yield f"{name:>40} {counts['passed']:>7,} {counts['known']:>7,} {counts['failed']:>7,}"


def order_of(name: str) -> list[Any]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in name.split()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases, and tell which fail."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges evaluator", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="regular expression of cases, or whole operator names")
    parser.add_argument("--cases", default="node,models", help="node, models, both, or an empty string")
    parser.add_argument("--archive", type=Path, help="a folder that judges.conformance.archive fetched")
    parser.add_argument("--evaluator", choices=[*EVALUATORS], default="opset")
    parser.add_argument("-v", dest="verbose", action="store_true", help="tell all of each failure, not one line")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--by", default="", help="print a summary by opset, by operator, or both: opset,operator")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome here")
    options = parser.parse_args(arguments)
    sources = [name for name in options.cases.split(",") if name]
    cases = list(selected(sources, options.archive, options.pattern))
    outcomes = []
    work = functools.partial(job, cases, options.evaluator)
    for number, result in each(work, range(len(cases)), options.processes, SECONDS_PER_CASE):
        outcome = outcome_of(cases[number], result)
        outcomes.append(outcome)
        if outcome.why:
            why = outcome.why if options.verbose else outcome.why[:300].splitlines()[0]
            print(f"{outcome.case}: {why}{f' ({outcome.known})' * bool(outcome.known)}")
    for column in filter(None, options.by.split(",")):
        print("\n".join(summary(outcomes, column)))
    counts = Counter(outcome.kind for outcome in outcomes)
    total, spent = len(outcomes), sum(outcome.seconds for outcome in outcomes)
    share = 100 * counts["passed"] / total if total else 100
    print(
        f"{options.evaluator} on onnx {onnx.__version__}: {total:,} cases, {counts['passed']:,} pass ({share:.2f} %), "
        f"{counts['known']:,} are wrong in themselves, {counts['failed']:,} fail; {spent:.1f} s"
    )
    if options.archive:
        left_out = sum(map(is_broken, (options.archive / "cases").iterdir()))
        print(f"{left_out:,} more of the archive are wrong in themselves, and not run: archive.BROKEN")
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=0))
    return 1 if counts["failed"] else 0
