"""Converts each node test case of the onnx package to each opset and judges what comes out.

    python -m judges matrix [--targets 7-28] [--converter opset|onnx] [--bake] [--archive FOLDER] [--verify] ...

With --verify, `opset verify` is judged: it compares each case before and after, on inputs of its own. As conversions
are right (that is what the judge shows without it), each difference is a false alarm, which is told as `wrong`.

The exit status is 1 when anything is wrong, an error, or disputed: judges.conformance.disputes decides.

    same      the converted model gives the outputs of the case
    refused   the converter declined, with reasons
    wrong     it gives others, is not valid, is not at the target, or has another interface
    unjudged  no judge runs the unconverted case, or the converted model
    disputed  judges disagree, on the unconverted case or so that one may be mistaken (see judges.conformance.judge)
    error     an exception that is not the converter's own, a crash, or no end
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import multiprocessing.connection
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import opset
from judges.conformance.archive import archived_cases
from judges.conformance.converters import CONVERTERS, Refused, Target
from judges.conformance.judge import Case, Judge, Verdict, is_random, opset_of
from judges.conformance.processes import started
from opset.budget import Limits

KINDS = ("same", "refused", "wrong", "unjudged", "disputed", "error")
FAULTS = ("wrong", "error", "disputed")
SECONDS_PER_CONVERSION = 120
VERIFICATION = Limits(timeout=60)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one conversion; `reasons` of a refusal are code, operator and message."""

    case: str
    to: Target
    direction: str
    kind: str
    by: str = ""
    why: str = ""
    reasons: tuple[tuple[str, str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Settings:
    """What all conversions of a run have in common."""

    converter: str
    optimize: str = "none"
    verdicts: Mapping[str, Verdict] = dataclasses.field(default_factory=dict)
    verify: bool = False


def node_cases(pattern: str = "", limit: int | None = None) -> list[Case]:
    """Return the node test cases of the installed onnx package whose name the pattern is found in."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    cases = []
    for test in collected:
        if not re.search(pattern, test.name):
            continue
        assert test.model is not None and test.data_sets is not None
        (inputs, outputs), *_ = test.data_sets
        names = [value.name for value in test.model.graph.input]
        feeds = dict(zip(names, map(as_array, inputs), strict=True))
        expected = [as_array(value) for value in outputs]
        random = is_random(test.name, test.model)
        cases.append(Case(test.name, test.model, feeds, expected, test.rtol, test.atol, random))
    return cases[:limit]


def as_array(value: Any) -> Any:
    """Return a case's value as arrays, lists of arrays or None."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [as_array(item) for item in value]
    return value if value is None else np.asarray(value)


def baked(case: Case) -> Case:
    """Return the case with small integer side inputs (shapes, axes, sizes) as initializers, as exporters write them."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    feeds = dict(case.feeds)
    for value_info in list(model.graph.input)[1:]:
        value = feeds.get(value_info.name)  # an initializer that IR 3 lists among the inputs is not fed
        if not isinstance(value, np.ndarray) or value.dtype not in (np.int32, np.int64) or value.ndim > 1:
            continue
        if value.size > 16 or value_info.type.WhichOneof("value") != "tensor_type":
            continue
        model.graph.initializer.append(numpy_helper.from_array(feeds.pop(value_info.name), value_info.name))
        if model.ir_version >= 4:
            model.graph.input.remove(value_info)
    return dataclasses.replace(case, model=model, feeds=feeds)


def targets_of(case: Case, opsets: Iterable[int], ml_opsets: Iterable[int]) -> list[tuple[Target, str]]:
    """Return the targets of a case with their directions: every other version of the domains that it imports."""
    found = []
    for domain, versions in (("", opsets), ("ai.onnx.ml", ml_opsets)):
        own = opset_of(case.model, domain)
        if own is not None:
            found += [((domain, v), "up" if v > own else "down") for v in versions if v != own]
    return found


def verified(before: onnx.ModelProto, after: onnx.ModelProto) -> Verdict:
    """Return what `opset verify` says of a conversion."""
    try:
        report = opset.verify(before, after, limits=VERIFICATION)
    except opset.OpsetError as error:
        return Verdict("unjudged", "verification", str(error))
    kind = {"same": "same", "different": "wrong"}.get(report.verdict, "unjudged")
    finding = next(iter(report.errors), None)
    return Verdict(kind, "verification", "" if finding is None else f"{finding.message}: {finding.why}")


def convert_and_judge(judge: Judge, settings: Settings, to: Target, direction: str) -> Outcome:
    """Return the outcome of one conversion."""
    case = judge.case
    before = case.model.SerializeToString(deterministic=True)
    try:
        converted = CONVERTERS[settings.converter](case.model, to)
    except Refused as refused:
        only = {node.op_type for node in case.model.graph.node}
        fallback = only.pop() if len(only) == 1 else "not told"
        reasons = tuple((code, name or fallback, message) for code, name, message in refused.reasons)
        return Outcome(case.name, to, direction, "refused", reasons=reasons)
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return Outcome(case.name, to, direction, "error", "converter", why)
    if case.model.SerializeToString(deterministic=True) != before:
        return Outcome(case.name, to, direction, "error", "converter", "the input model was changed")
    verdict = verified(case.model, converted) if settings.verify else judge.judge(converted, to)
    return Outcome(case.name, to, direction, verdict.kind, verdict.by, verdict.why)


def work(
    pipe: multiprocessing.connection.Connection,
    cases: Sequence[Case],
    settings: Settings,
) -> None:
    """Answer jobs (a case's number and its targets) with an outcome each and, at the end of a job, the new verdicts."""
    while True:
        number, targets = pipe.recv()
        judge = Judge(cases[number], settings.optimize, settings.verdicts)
        for to, direction in targets:
            pipe.send(convert_and_judge(judge, settings, to, direction))
        pipe.send(judge.fresh)


def run_all(
    cases: Sequence[Case],
    jobs: list[tuple[int, list[tuple[Target, str]]]],
    processes: int,
    settings: Settings,
) -> Iterator[Outcome | dict[str, Verdict]]:
    """Yield outcomes as they come, and new verdicts after each job; a worker that dies or hangs is replaced.

    The conversion that a worker died in is an error, and the rest of its job is done by the next worker.
    """
    context = multiprocessing.get_context("fork")
    waiting = list(reversed(jobs))
    running: dict[Any, tuple[Any, tuple[int, list[tuple[Target, str]]], float]] = {}
    idle: list[tuple[Any, Any]] = []
    while waiting or running:
        while waiting and len(running) < processes:
            if not idle:
                idle.append(started(context, work, cases, settings))
            pipe, process = idle.pop()
            job = waiting.pop()
            pipe.send(job)
            running[pipe] = (process, job, time.monotonic())
        ready = multiprocessing.connection.wait(list(running), timeout=5)
        for pipe in list(running):
            process, (number, targets), since = running[pipe]
            late = time.monotonic() - since > SECONDS_PER_CONVERSION
            if pipe not in ready and not late:
                continue
            try:
                if pipe not in ready:
                    raise EOFError
                message = pipe.recv()
            except (EOFError, ConnectionError):
                process.kill()
                process.join()
                del running[pipe]
                why = f"no end within {SECONDS_PER_CONVERSION} s" if late else f"crash, status {process.exitcode}"
                to, direction = targets[0]
                yield Outcome(cases[number].name, to, direction, "error", "process", why)
                if targets[1:]:
                    waiting.append((number, targets[1:]))
                continue
            if isinstance(message, Outcome):
                running[pipe] = (process, (number, targets[1:]), time.monotonic())
            else:
                del running[pipe]
                idle.append((pipe, process))
            yield message
    for pipe, process in idle:
        pipe.close()
        process.kill()


def collect(
    cases: Sequence[Case], jobs: list[tuple[int, list[tuple[Target, str]]]], processes: int, settings: Settings
) -> tuple[list[Outcome], dict[str, Verdict]]:
    """Return all outcomes in the order of the cases, and the new verdicts; tell the progress on a terminal."""
    total = sum(len(targets) for _, targets in jobs)
    outcomes: list[Outcome] = []
    fresh: dict[str, Verdict] = {}
    for message in run_all(cases, jobs, processes, settings):
        if isinstance(message, dict):
            fresh.update(message)
            continue
        outcomes.append(message)
        if sys.stderr.isatty() and len(outcomes) % 10 == 0:
            print(f"\r{len(outcomes):,} of {total:,}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r" + " " * 30 + "\r", end="", file=sys.stderr)
    order = {case.name: number for number, case in enumerate(cases)}
    return sorted(outcomes, key=lambda o: (order[o.case], o.to)), fresh


def load_verdicts(folder: Path | None) -> dict[str, Verdict]:
    """Return the verdicts kept in a cache folder, which hold as long as judges and rules are the same."""
    if folder is None or not (folder / "verdicts.jsonl").exists():
        return {}
    rows = map(json.loads, (folder / "verdicts.jsonl").read_text().splitlines())
    return {key: Verdict(*rest) for stamp, key, *rest in rows if stamp == judge_stamp()}


def judge_stamp() -> str:
    """Return what tells a state of the judges from another."""
    import hashlib

    import onnxruntime

    source = Path(__file__).with_name("judge.py").read_bytes()
    return f"{onnx.__version__} {onnxruntime.__version__} {hashlib.sha256(source).hexdigest()[:16]}"


def save_verdicts(folder: Path | None, fresh: Mapping[str, Verdict]) -> None:
    """Append new verdicts to the cache folder."""
    if folder is not None and fresh:
        folder.mkdir(parents=True, exist_ok=True)
        stamp = judge_stamp()
        with (folder / "verdicts.jsonl").open("a") as file:
            file.writelines(json.dumps([stamp, key, *dataclasses.astuple(v)]) + "\n" for key, v in fresh.items())


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in short: 7-9, 12."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def report(outcomes: Sequence[Outcome], listed: int) -> Iterator[str]:
    """Yield the lines of the report."""
    for direction in ("down", "up"):
        rows = [o for o in outcomes if o.direction == direction]
        if rows:
            yield f"{direction}: {len(rows):,} conversions of {len({o.case for o in rows}):,} cases"
            yield table_head("to")
            for to in sorted({o.to for o in rows}):
                yield table_row(f"{to[0]} {to[1]}".strip(), [o for o in rows if o.to == to])
            yield table_row(direction, rows)
            yield ""
    yield table_row("all", outcomes)
    yield from details(outcomes, listed)


def details(outcomes: Sequence[Outcome], listed: int) -> Iterator[str]:
    """Yield the lines that tell who judged, why conversions were refused, and which are wrong."""
    by = Counter(o.by for o in outcomes if o.kind == "same")
    yield "same, by judge: " + ", ".join(f"{name} {count:,}" for name, count in by.most_common())
    refused = [o for o in outcomes if o.kind == "refused"]
    for column, title in enumerate(("code", "operator")):
        counts = Counter(text for o in refused for text in {reason[column] for reason in o.reasons})
        if counts:
            yield f"refused, by {title}: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common(40))
    for kind in FAULTS:
        groups: dict[tuple[str, str, str, str, str], list[int]] = defaultdict(list)
        for o in outcomes:
            if o.kind == kind:
                groups[o.case, o.direction, o.by, o.why, o.to[0]].append(o.to[1])
        if groups:
            affected = len({key[0] for key in groups})
            yield f"\n{kind}: {sum(map(len, groups.values())):,} conversions of {affected:,} cases"
        for (case, _, judge, why, domain), versions in list(groups.items())[:listed]:
            yield f"  {case} -> {domain} {ranges(versions)}: {judge}: {why}"
        if len(groups) > listed:
            yield f"  and {len(groups) - listed} lines more (--list, --json)"


def table_head(title: str) -> str:
    return f"{title:>18} {'total':>7} " + " ".join(f"{kind:>9}" for kind in KINDS)


def table_row(title: str, outcomes: Sequence[Outcome]) -> str:
    counts = Counter(o.kind for o in outcomes)
    share = f"{100 * counts['same'] / len(outcomes):5.1f} % same" if outcomes else ""
    return f"{title:>18} {len(outcomes):>7,} " + " ".join(f"{counts[kind]:>9,}" for kind in KINDS) + "  " + share


def versions(text: str) -> list[int]:
    """Return the versions in a text such as 7-12,21."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix and print the report; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges matrix", description=about)
    parser.add_argument("--targets", type=versions, default=versions("7-28"), help="opsets, such as 7-28 or 13,21")
    parser.add_argument("--ml-targets", type=versions, default=[], help="versions of ai.onnx.ml, where imported")
    parser.add_argument("--converter", choices=CONVERTERS, default="opset")
    parser.add_argument("--archive", type=Path, metavar="FOLDER", help="what judges.conformance.archive fetched")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only cases whose name this is found in")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N cases")
    parser.add_argument("--bake", action="store_true", help="small integer side inputs become initializers")
    parser.add_argument("--verify", action="store_true", help="judge by opset verify, on inputs that it draws")
    parser.add_argument("--optimize", choices=("none", "basic", "all"), default="none", help="by onnxruntime")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep verdicts here for the next run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome here")
    parser.add_argument("--list", type=int, default=60, metavar="N", help="lines for each kind of fault")
    options = parser.parse_args(arguments)

    start = time.monotonic()
    if options.archive:
        cases = archived_cases(options.archive, options.cases, options.limit)
    else:
        cases = node_cases(options.cases, options.limit)
    if options.bake:
        cases = [baked(case) for case in cases]
    wanted = ((i, targets_of(case, options.targets, options.ml_targets)) for i, case in enumerate(cases))
    jobs = [(i, targets) for i, targets in wanted if targets]
    settings = Settings(options.converter, options.optimize, load_verdicts(options.cache), options.verify)
    outcomes, fresh = collect(cases, jobs, options.processes, settings)
    save_verdicts(options.cache, fresh)
    print(f"converter {options.converter}, onnx {onnx.__version__}, {time.monotonic() - start:.0f} s")
    print("\n".join(report(outcomes, options.list)))
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(o) for o in outcomes], indent=0))
    return int(any(o.kind in FAULTS for o in outcomes))
