"""Runs the conformance corpus in onnx's backend runner, on onnx's reference evaluator and on onnxruntime.

    python -m judges corpus [--first] [--judge onnx,onnxruntime] [-k PATTERN] [-j 2] [--write]

The corpus is written by `opset testgen`, read by onnx's loader, and compared by onnx's runner with the tolerances that
it states. The exit status is 1 where a case fails that REASONS does not explain, or a reason explains none. With
`--write`, what was found becomes opset/workflow/corpus/judgements.json, from which the manifest of a corpus takes its
judges.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import json
import re
import tempfile
import time
import unittest
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test import runner as runners
from onnx.backend.test.loader import load_model_tests

from judges.conformance.corpus_reasons import limit_for, reason_for
from judges.conformance.judge import run_evaluator, run_onnxruntime
from judges.conformance.processes import Died, each
from opset.opsets.registry import default_registry
from opset.workflow.corpus.cases import NODE, Pick, build_corpus, pick_cases, write_corpus
from opset.workflow.corpus.judgements import FILE, Case, judgement_data
from opset.workflow.corpus.judging import Judge

REGISTRY = default_registry()
SECONDS_PER_CASE = 60
PASSED, CANNOT, FAILED = "agrees", "cannot run it", "breaks off or differs"
JUDGES = {
    "onnxruntime": f"onnxruntime {version('onnxruntime')}",
    "onnx": f"reference evaluator of onnx {version('onnx')}",
}
CHOICE = "the standard leaves it open: "
LISTED = 8
"""Operators that the page names for one reason."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "judgements.md"
HEAD = """# What judges say of the corpus

The [conformance corpus](corpus.md) in onnx's backend runner, each example at every version that it holds for: {total}
cases of the standard's operators with outputs. Where a judge does not agree, the reason was decided by reading the
operator's text. The manifest names a judge in `judged_by` where it agrees.

"""


class Prepared(BackendRep):
    """A model that a function runs on inputs by name; what it cannot run is skipped."""

    def __init__(self, function: Any, model: onnx.ModelProto) -> None:
        self.function, self.model = function, model

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Return the outputs of inputs in the order of the model's, in the types that the model declares."""
        feeds = {value.name: each for value, each in zip(self.model.graph.input, inputs, strict=True)}
        outputs = self.function(self.model, feeds)
        if outputs is None:
            raise unittest.SkipTest("no kernel, or the model is too new")
        declared = (value.type.tensor_type.elem_type for value in self.model.graph.output)
        return tuple(typed(*pair) for pair in zip(outputs, declared, strict=True))


def typed(value: Any, number: int) -> Any:
    """Return a tensor that was widened to leave onnxruntime in the type that is declared."""
    if not number or not isinstance(value, np.ndarray) or value.dtype != np.float32:
        return value
    return value.astype(onnx.helper.tensor_dtype_to_np_dtype(number))


class OnnxBackend(Backend):
    """onnx's reference evaluator."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Prepared:
        """Return a model that can be run."""
        return Prepared(run_evaluator, model)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device."""
        return device == "CPU"


class RuntimeBackend(OnnxBackend):
    """onnxruntime on the CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Prepared:
        """Return a model that can be run."""
        return Prepared(run_onnxruntime, model)


BACKENDS: dict[str, type[Backend]] = {"onnx": OnnxBackend, "onnxruntime": RuntimeBackend}


def loaded(folder: Path) -> list[Any]:
    """Return the cases in the folder `node` of a corpus, by onnx's loader; of that name, it knows cases of its own."""
    with tempfile.TemporaryDirectory() as other:
        Path(other, "corpus").symlink_to(folder / NODE, target_is_directory=True)
        cases = load_model_tests(other, "corpus")
    return [dataclasses.replace(case, model_dir=str(folder / NODE / case.name)) for case in cases]


def runner_tests(cases: Sequence[Any], backend: type[Backend]) -> type[unittest.TestCase]:
    """Return the tests that onnx's runner makes of cases; each method is a case's name and `_cpu`."""
    with mock.patch.object(runners, "load_model_tests", lambda kind: cases if kind == "simple" else []):
        return runners.Runner(backend).test_cases["OnnxBackendSimpleModelTest"]


class Outcome(NamedTuple):
    """What a judge finds of a case, and why where it does not agree."""

    kind: str
    why: str = ""


Judged = tuple[str, str, Outcome]
"""Judge, case and outcome."""
Explained = tuple[str, str, str, str]
"""Judge, case, kind of outcome and reason."""


def outcome(tests: type[unittest.TestCase], name: str) -> Outcome:
    """Return what becomes of a case."""
    result = unittest.TestResult()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(None):  # on which the runner says that it reads no maps
            tests(f"{name}_cpu").run(result)
    if result.skipped:
        return Outcome(CANNOT, result.skipped[0][1])
    found = [*result.errors, *result.failures]
    return Outcome(FAILED, last(found[0][1])) if found else Outcome(PASSED)


def last(traceback: str) -> str:
    """Return the error at the end of a traceback, on one line."""
    text = re.split(r"^  File .*(?:\n    .*)*\n", traceback, flags=re.MULTILINE)[-1]
    return " ".join(text.split())[:1000]


def job(tests: Mapping[str, type[unittest.TestCase]], each: tuple[str, str]) -> Generator[str, None, Outcome]:
    """Return what a judge finds of a case."""
    yield each[1]
    return outcome(tests[each[0]], each[1])


def outcomes(folder: Path, judges: Sequence[str], processes: int) -> Iterator[Judged]:
    """Yield judge, case and outcome."""
    cases = loaded(folder)
    tests = {judge: runner_tests(cases, BACKENDS[judge]) for judge in judges}
    jobs = [(judge, case.name) for judge in judges for case in cases]
    for (judge, name), found in each(functools.partial(job, tests), jobs, processes, SECONDS_PER_CASE):
        yield judge, name, Outcome(FAILED, f"process: {found.why}") if isinstance(found, Died) else found


def picks_of(pattern: str, every_version: bool) -> list[Pick]:
    """Return the examples with outputs of the standard's operators whose name a pattern is found in."""
    operators = [
        REGISTRY.versions(name, domain)
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        if re.search(pattern, name)
    ]
    return [pick for pick in pick_cases(REGISTRY, operators, every_version) if pick.kind == NODE]


def explained(found: Iterable[Judged], picks: Mapping[str, Pick]) -> tuple[list[Explained], list[Judged]]:
    """Return what judges do not agree with, with the reasons, and what no reason is known for.

    Where the standard leaves an example open, what it leaves open is the reason.
    """
    with_reason, others = [], []
    for judge, name, each_ in found:
        if each_.kind != PASSED:
            reason = reason_for(judge, name, each_.why)
            if (chosen := picks[name].example.chosen) and not limit_for(judge, each_.why):
                reason = f"{CHOICE}{chosen}"
            with_reason += [(judge, name, each_.kind, reason)] if reason else []
            others += [] if reason else [(judge, name, each_)]
    return with_reason, others


def page(counts: Counter[tuple[str, str]], reasons: Iterable[Explained], picks: Mapping[str, Pick]) -> str:
    """Return the page of what judges do not agree with."""
    lines = ["| judge | agrees | no agreement, for the reasons below |", "|---|---|---|"]
    for judge, title in JUDGES.items():
        others = sum(count for (who, kind), count in counts.items() if who == judge and kind != PASSED)
        lines.append(f"| {title} | {counts[judge, PASSED]:,} | {others:,} |")
    for judge, title in JUDGES.items():
        ours = [(name, reason) for who, name, _, reason in reasons if who == judge]
        lines += ["", f"## {title}", "", "| reason | cases | operators, with an example |", "|---|---|---|"]
        lines += rows(((picks[name], reason) for name, reason in ours if not reason.startswith(CHOICE)))
        lines += ["", "The standard leaves these open, and the examples say so: no disagreement is a fault."]
        lines += ["", "| what is open | cases | operators, with an example |", "|---|---|---|"]
        lines += rows((picks[name], reason[len(CHOICE) :]) for name, reason in ours if reason.startswith(CHOICE))
    return HEAD.format(total=f"{len(picks):,}") + "\n".join(lines) + "\n"


def rows(explained: Iterable[tuple[Pick, str]]) -> Iterator[str]:
    """Yield a row of a table for each reason, that of the most cases first."""
    named: dict[str, list[Pick]] = {}
    for pick, reason in explained:
        named.setdefault(reason, []).append(pick)
    for reason, cases in sorted(named.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        first = {case.schema.name: case.example.name for case in sorted(cases, key=lambda case: case.name)}
        shown = ", ".join(f"{operator} ({example})" for operator, example in [*sorted(first.items())][:LISTED])
        more = f" and {len(first) - LISTED} more" if len(first) > LISTED else ""
        yield f"| {reason} | {len(cases)} | {shown}{more} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the corpus, and print what the judges say; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges corpus", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="pattern of operators' names")
    parser.add_argument("--first", action="store_true", help="only the first version that each example holds for")
    parser.add_argument("--judge", default=",".join(JUDGES), help="onnxruntime, onnx or both")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--list", type=int, default=50, metavar="N", help="lines of what no reason is known for")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} and {PAGE.name}")
    options = parser.parse_args(arguments)
    if options.write and (options.pattern or options.first or options.judge != ",".join(JUDGES)):
        parser.error("--write takes the whole corpus")
    start = time.monotonic()
    picks = {pick.name: pick for pick in picks_of(options.pattern, not options.first)}
    with tempfile.TemporaryDirectory() as folder:
        with mock.patch.object(Judge, "judge_example", lambda *_: []):  # by the kernels: opset testgen does that
            made = build_corpus(REGISTRY, [*picks.values()])
        write_corpus(folder, made)
        print(f"{len(made.cases):,} cases written, {time.monotonic() - start:.0f} s", flush=True)
        found = [*outcomes(Path(folder), options.judge.split(","), options.processes)]
    counts = Counter((judge, each_.kind) for judge, _, each_ in found)
    reasons, others = explained(found, picks)
    for (judge, kind), count in sorted(counts.items()):
        print(f"{JUDGES[judge]}: {count:,} {kind}")
    print(f"{len(reasons):,} have a reason, {len(others):,} have none; {time.monotonic() - start:.0f} s")
    for judge, name, each_ in others[: options.list]:
        print(f"  {judge} {name}: {each_.why[:300]}")
    if options.write:
        agreed: dict[str, set[Case]] = {judge: set() for judge in JUDGES}
        for judge, name, each_ in found:
            if each_.kind == PASSED:
                schema = picks[name].schema
                agreed[judge].add((schema.domain, schema.name, schema.since_version, picks[name].example.name))
        FILE.write_text(text_of(judgement_data(REGISTRY, JUDGES, agreed)), encoding="utf-8")
        PAGE.write_text(page(counts, reasons, picks), encoding="utf-8")
    return int(bool(others or made.findings))


def text_of(data: Mapping[str, Any]) -> str:
    """Return judgements as JSON, a line for each operator."""
    lines = [f"{json.dumps(name)}: {json.dumps(each_)}" for name, each_ in data["operators"].items()]
    return f'{{"judges": {json.dumps(data["judges"])}, "operators": {{\n' + ",\n".join(lines) + "\n}}\n"
