"""Whether `opset verify` finds faults in converted models, and raises no false alarm.

    python -m judges verified --count 400 --seed 1 [--markdown docs/verified.md]

Models (examples, node tests of the standard, sketches of exporters) are converted to drawn opsets and verified: none
may differ. Then faults are put into the converted models, one at a time, in the main graph, in branches, loops and
functions. What `verify` does not find is judged by onnxruntime on other inputs: a fault that changes an output there
was missed, one that does not changes nothing, and is listed. The exit status is 1 for a false alarm or a missed fault.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

import opset
from judges.conformance.judge import Case, run_onnxruntime
from judges.conformance.matrix import node_cases
from judges.conformance.models import cases_of
from judges.fuzz.equivalent import RUNS, differ, differs_on_many, reason
from judges.fuzz.injecting import FAULTS, PLACES
from opset.budget import Limits
from opset.verification.comparing import magnitude, why_different

LIMITS = Limits(timeout=300, max_bytes=1 << 30)
MEMORY = 8 << 30
"""Bytes of address space: a faulty size may ask for more than the machine has."""
OTHER_INPUTS = 12
FOUND, MISSED, WITHIN, EQUIVALENT = "found", "missed", "within tolerance", "equivalent"
INVALID, UNDECIDED = "invalid", "undecided"
DRAWN = f"equal outputs in onnxruntime, on up to {RUNS} further inputs"
FEEDS = f"equal outputs in onnxruntime, on {OTHER_INPUTS} inputs of the case's shapes"


class Outcome(NamedTuple):
    """What became of a fault: its kind, the part of the model that it was put into, and why it changes nothing."""

    kind: str
    place: str
    outcome: str
    why: str


def converted(case: Case, rng: random.Random) -> tuple[onnx.ModelProto, int] | None:
    """Return the model at a drawn opset, None if each drawn one is refused."""
    for _ in range(6):
        to = rng.randrange(7, 27)
        try:
            return opset.convert(case.model, to), to
        except opset.OpsetError:
            continue
    return None


def other_inputs(feeds: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return inputs of the same shapes: floats drawn anew, integers in another order."""
    found = {}
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize > 1:
            finite = value[np.isfinite(value)].astype(np.float64).clip(-1e6, 1e6)
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
            drawn = rng.uniform(low, high, value.shape)
            value = (np.round(drawn * 2) / 2 if rng.random() < 0.4 else drawn).astype(value.dtype)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biu" and value.size and value.ndim:
            value = rng.permutation(value.reshape(-1)).reshape(value.shape)
        found[name] = value
    return found


def judged(before: onnx.ModelProto, after: onnx.ModelProto, feeds: Mapping[str, Any], seed: int, allowed: float) -> str:
    """Return whether onnxruntime gives other outputs for the two models on any of several inputs.

    A difference is small beside the magnitude of the output on these inputs, or on the case's own: one of 1e-32 is a
    rounding, also if the output of a few inputs is 0.
    """
    rng = np.random.default_rng(seed)
    compared, small = 0, False
    usual: list[float] = []
    for number in range(OTHER_INPUTS):
        given = feeds if not number else other_inputs(feeds, rng)
        try:
            one = run_onnxruntime(before, given)
        except Exception:
            continue
        try:
            other = run_onnxruntime(after, given)
        except Exception:
            return INVALID
        if one is None or other is None:
            continue
        compared += 1
        usual = usual or [*map(magnitude, one)]
        if differ(one, other, allowed, usual):
            return MISSED
        small |= any(why_different(*pair, 0.0, 0.0) for pair in zip(one, other, strict=True))
    return UNDECIDED if not compared else WITHIN if small else EQUIVALENT


def examined(
    source: onnx.ModelProto, before: onnx.ModelProto, after: onnx.ModelProto, feeds: Mapping[str, Any], seed: int
) -> tuple[str, str]:
    """Return what became of a fault, and why if it changes nothing.

    The model `after` is verified against the source, and compared with `before` by onnxruntime.
    """
    try:
        result = opset.verify(source, after, limits=LIMITS)
    except opset.OpsetError:
        return INVALID, ""
    if result.verdict == "different":
        return INVALID if all(run.why for run in result.runs) else FOUND, ""
    if result.verdict == "not compared":
        return UNDECIDED, ""
    allowed = max((each.rtol for each in result.outputs), default=0.0)
    found = judged(before, after, feeds, seed, allowed)
    if found != EQUIVALENT:
        return found, ""
    if why := reason(before, after):
        return EQUIVALENT, why
    missed, runs = differs_on_many(source, before, after, allowed, feeds)
    return (MISSED, "") if missed else (EQUIVALENT, DRAWN if runs else FEEDS)


def inject_into(
    case: Case, model: onnx.ModelProto, to: int, options: argparse.Namespace, rng: random.Random
) -> list[Outcome]:
    """Return what became of faults that were put into a converted model."""
    found: list[Outcome] = []
    place, subject = "main graph", model
    if to >= 13 and rng.random() < 0.45:
        place = rng.choice([*PLACES])
        try:
            subject = PLACES[place](model)
            if not opset.verify(model, subject, seeds=1, limits=LIMITS).same:
                place, subject = "main graph", model
        except opset.OpsetError:
            place, subject = "main graph", model
    kinds = [*FAULTS]
    rng.shuffle(kinds)
    for kind in kinds:
        if len(found) >= options.faults:
            break
        mutant = onnx.ModelProto()
        mutant.CopyFrom(subject)
        try:
            if not FAULTS[kind](mutant, rng):
                continue
        except (ValueError, IndexError, TypeError):
            continue
        outcome, why = examined(case.model, subject, mutant, case.feeds, rng.randrange(1 << 30))
        found.append(Outcome(kind, place, outcome, why))
        if outcome == MISSED:
            print(f"MISSED {kind}, {place}: {case.name} at {to}", flush=True)
        if options.keep is not None and outcome not in (FOUND, INVALID):
            keep(
                options.keep / f"{outcome}-{case.name.replace('/', '-')}-{to}-{kind.replace(' ', '-')}",
                case,
                subject,
                mutant,
            )
    return found


def keep(folder: Path, case: Case, before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Write the original model, the converted one, and that with a fault into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in (("source", case.model), ("before", before), ("after", after)):
        onnx.save(model, folder / f"{name}.onnx")
    np.savez(
        folder / "inputs.npz", **{name: value for name, value in case.feeds.items() if isinstance(value, np.ndarray)}
    )


def sources(count: int, rng: random.Random) -> list[Case]:
    """Return the models: all examples, sketches of exporters' models, and node tests of all operators in turn."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in node_cases():
        if not case.random:
            groups[re.sub(r"^test_(cc_)?|_.*", "", case.name)].append(case)
    for group in groups.values():
        rng.shuffle(group)
    names = [*groups]
    rng.shuffle(names)
    nodes = [
        groups[name][turn]
        for turn in range(max(map(len, groups.values())))
        for name in names
        if turn < len(groups[name])
    ]
    sketches = [*cases_of("exported")]
    rng.shuffle(sketches)
    return [*cases_of("examples"), *sketches[: count // 8], *nodes][:count]


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the counts by kind as lines of Markdown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, place, outcome, _ in outcomes:
        counts[kind][outcome] += 1
        if place != "main graph":
            counts[f"*any, {place}*"][outcome] += 1
    lines = [
        "| fault | found | missed | within tolerance | changes nothing | invalid | undecided |",
        "|---|---|---|---|---|---|---|",
    ]
    columns = (FOUND, MISSED, WITHIN, EQUIVALENT, INVALID, UNDECIDED)
    for kind in sorted(counts):
        lines.append(f"| {kind} | " + " | ".join(str(counts[kind][each]) for each in columns) + " |")
    total = Counter(each.outcome for each in outcomes)
    lines += ["| **all** | " + " | ".join(str(total[each]) for each in columns) + " |", ""]
    reasons = Counter(each.why for each in outcomes if each.outcome == EQUIVALENT)
    lines += ["| why a fault changes nothing | faults |", "|---|---|"]
    return [*lines, *(f"| {why} | {count} |" for why, count in reasons.most_common())]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="models")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=4, help="faults for each model")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no model is begun")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the models of faults that were not found")
    parser.add_argument("--markdown", type=Path, help="the page to write the table to")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))  # onnxruntime has no limit of its own
    rng, started = random.Random(options.seed), time.monotonic()
    verdicts: Counter[str] = Counter()
    outcomes: list[Outcome] = []
    alarms = []
    for case in sources(options.count, rng):
        if time.monotonic() - started > options.seconds:
            break
        made = converted(case, rng)
        if made is None:
            verdicts["refused"] += 1
            continue
        try:
            result = opset.verify(case.model, made[0], limits=LIMITS)
        except opset.OpsetError as error:
            verdicts[f"error {error.code}"] += 1
            continue
        verdicts[result.verdict] += 1
        if result.verdict == "different":
            alarms.append(f"{case.name} to {made[1]}: {result.errors[0].message}: {result.errors[0].why}")
            print(f"ALARM {alarms[-1]}", flush=True)
        elif result.same:
            outcomes += inject_into(case, made[0], made[1], options, rng)
    lines = table(outcomes)
    kinds = len({each.kind for each in outcomes if each.outcome == FOUND})
    models = sum(verdicts.values())
    summary = f"{models} models: " + ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    summary += f"; {kinds} kinds of fault found, {len(alarms)} false alarms"
    print(*lines, summary, sep="\n")
    if options.markdown is not None:
        head = ["# Faults that verification finds", "", PAGE, "", *lines, "", f"{summary}.", ""]
        options.markdown.write_text("\n".join(head))
    return int(bool(alarms) or any(each.outcome == MISSED for each in outcomes))


PAGE = """`opset verify` is measured by faults that are put into converted models, one at a time: the examples and the
node tests of the standard, at drawn opsets. A fault that it does not find is judged by onnxruntime on other inputs:
one that changes no output there changes nothing. Invalid are models that no longer run, which are found, too, but count
for nothing. `python -m judges verified --count 400 --seed 1 --markdown docs/verified.md` writes this page."""

if __name__ == "__main__":
    raise SystemExit(main())
