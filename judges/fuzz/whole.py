"""Hunts wrong answers of whole models: composed of drawn nodes, converted and lowered, judged by onnxruntime.

`python -m judges whole --seed 1 --count 200 --keep DIR`. Model number 7 of seed 1 is the case `composed/1.7`, the
same at each run; `--case composed/1.7` examines it alone. The exit status is 1 where a result is wrong, an error is
not of this project, or evaluators disagree with onnxruntime about the unconverted model and judges.fuzz.decided does
not say who is right. `judges.fuzz.mutations` does the same with mutants of real models.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import opset
from judges.conformance.judge import (
    SOURCE,
    Case,
    Judge,
    Verdict,
    element_types,
    messages,
    operators,
    opset_of,
    run_onnxruntime,
    run_own,
)
from judges.conformance.matrix import versions
from judges.conformance.processes import Died, each
from judges.conformance.validity import faults
from judges.fuzz.decided import DECIDED
from judges.fuzz.differential import of_values
from judges.fuzz.drawing.composed import compose
from judges.fuzz.drawing.models import schema_at
from judges.fuzz.drawing.rewriting import OPSETS, Drawing, Run, named

FAULTS = ("wrong", "error", "disputed")
ASKED = ("onnxruntime", "evaluator", "own evaluator", SOURCE)
MEMORY = 4 << 30


@dataclass(frozen=True)
class Finding:
    """What became of one conversion: same, refused, wrong, error, unjudged, disputed or decided."""

    target: int
    kind: str
    why: str = ""


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Return the outputs by onnxruntime."""
    found = run_onnxruntime(model, feeds)
    if found is None:
        raise LookupError("onnxruntime has no kernel")
    return found


def cases(drawing: Drawing, name: str) -> list[Case]:
    """Return the model with the inputs and outputs of each run. Raises LookupError where it does not run."""
    found: list[Case] = []
    for given in drawing.feeds:
        try:
            found.append(Case(name, drawing.model, given, run(drawing.model, given), atol=1e-5))
        except Exception as error:  # the second inputs need not fit
            if not found:
                raise LookupError(f"it does not run: {error}") from None
    return found


def nudged(value: np.ndarray) -> np.ndarray:
    """Return floats that differ by rounding alone, and other values as they are."""
    return (value * (1 + 1e-6)).astype(value.dtype) if value.dtype.kind == "f" else value


def unstable(case: Case) -> bool:
    """Whether inputs and weights that differ by rounding alone give other outputs: then a difference says nothing."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for tensor in [part for part in messages(model) if isinstance(part, onnx.TensorProto)]:
        if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
            tensor.CopyFrom(numpy_helper.from_array(nudged(numpy_helper.to_array(tensor)), tensor.name))
    feeds = {name: nudged(value) if isinstance(value, np.ndarray) else value for name, value in case.feeds.items()}
    try:
        return Judge(replace(case, expected=run(model, feeds)), "none", {}).runtime_before.kind != "same"
    except Exception:  # sizes were computed of floats
        return True


def doubtful(case: Case, made: onnx.ModelProto) -> str:
    """Return why a result by onnxruntime says nothing, "" where it does."""
    if onnx.TensorProto.STRING in element_types(made) and "Gather" in operators(made):
        return "onnxruntime's Gather copies only the first of each row of strings"
    return "rounding decides" if unstable(case) else ""


def disagreement(case: Case) -> list[tuple[str, str]]:
    """Return the operators of the first node that evaluator and onnxruntime disagree on, and the difference of each.

    They are its own, and those of the nodes in its graphs or in the function that it calls.
    """
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.output[:]
    model.graph.output.extend(named(name for node in model.graph.node for name in node.output if name))
    names = [value.name for value in model.graph.output]
    found = zip(names, run(model, case.feeds), run_own(model, case.feeds) or [], strict=True)
    makers = {name: node for node in model.graph.node for name in node.output}
    for name, want, have in found:
        kind, why = of_values(want, have, 1e-5, True, False)
        if kind == "differ":
            nodes = nodes_of(model, makers[name])
            return [(node.op_type, describe(model, node, f"differ: {name}: {why}")) for node in nodes]
    return []


def nodes_of(model: onnx.ModelProto, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Return a node and those that run for it."""
    functions = {(function.domain, function.name): function for function in model.functions}
    found: list[onnx.NodeProto] = []
    waiting: list[Any] = [node]
    while waiting:
        inner = [part for part in messages(waiting.pop()) if isinstance(part, onnx.NodeProto)]
        waiting += [functions[key] for key in {(one.domain, one.op_type) for one in inner} & functions.keys()]
        found += inner
    return found


def describe(model: onnx.ModelProto, node: onnx.NodeProto, what: str) -> str:
    """Return a node's operator and version, what is said of it, and its attributes."""
    plain = [each for each in node.attribute if not each.HasField("g") and not each.ref_attr_name]
    values = [(each.name, helper.get_attribute_value(each)) for each in plain]
    stated = " ".join(f"{name}={value.decode() if isinstance(value, bytes) else value}" for name, value in values)
    since = schema_at(node.domain, node.op_type, opset_of(model, node.domain) or 0)
    return f"{node.op_type} {since} {what} | {node.op_type}() {stated}"


def decide(case: Case, made: onnx.ModelProto, verdict: Verdict) -> Verdict:
    """Return what a dispute about the unconverted model comes to: by the evaluator, where it was decided for it."""
    found = disagreement(case)
    if not any(re.fullmatch(o, one) and re.search(about, text) for one, text in found for o, about, _ in DECIDED):
        return replace(verdict, why=f"{found[0][1] if found else 'no node alone'}; {verdict.why}")
    own = Judge(case, "none", {}).by("own evaluator", made)
    return replace(own, kind="decided") if own.kind == "same" else own


def judged(drawn: Sequence[Case], target: int, lowered: str = "") -> Finding:
    """Return what a conversion comes to, or the lowering of an operator at the opset of the model."""
    model = drawn[0].model
    try:
        made = opset.lower(model, [f"ai.onnx.{lowered}"]) if lowered else opset.convert(model, target)
    except opset.OpsetError as error:
        return Finding(target, "refused", f"{error.findings[0].code}: {error.findings[0].why}")
    except Exception as error:
        return Finding(target, "error", repr(error))
    if lowered and (wrong := faults(made, model, {(lowered, "")})):
        return Finding(target, "wrong", f"{lowered} lowered: {'; '.join(wrong)}")
    for case in drawn:
        verdict = Judge(case, "none", {}).judge(made, ("", target))
        if verdict.by == SOURCE:
            verdict = decide(case, made, verdict)
        if verdict.kind not in ("same", "decided"):
            break
    if verdict.kind in ("wrong", "disputed") and verdict.by in ASKED and (why := doubtful(case, made)):
        verdict = Verdict("unjudged", verdict.by, why)
    return Finding(target, verdict.kind, f"{verdict.by}: {verdict.why}")


def examine(
    name: str, draw: Callable[[str, Run], Drawing], targets: Sequence[int], count: int
) -> Generator[str, None, list[Finding]]:
    """Return what the conversions of a case come to, and what was tried for the drawing in vain."""
    yield "drawing"
    try:
        drawing = draw(name, run)
        drawn = cases(drawing, name)
    except Exception as error:
        return [Finding(0, "undrawn", repr(error))]
    found = [Finding(0, "dropped", why) for why in drawing.dropped]
    others = [version for version in targets if version != opset_of(drawing.model)]
    for target in sorted(random.Random(f"{name} targets").sample(others, min(count, len(others)))):
        yield f"to {target}"
        found.append(judged(drawn, target))
    known = opset_of(drawing.model) or 0
    here = sorted(operators(drawing.model))
    for operator in random.Random(f"{name} lowered").sample(here, min(2, len(here))):
        yield f"to {known} without {operator}"
        found.append(judged(drawn, known, operator))
    return found


def names(kind: str, seed: int, count: int, seconds: float | None) -> Iterator[str]:
    """Yield the names of cases."""
    until = time.monotonic() + (seconds or float("inf"))
    for number in range(count):
        if time.monotonic() >= until:
            break
        yield f"{kind}/{seed}.{number}"


def keep(drawing: Drawing, name: str, folder: Path) -> None:
    """Write the model of a case."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(drawing.model, folder / f"{name.replace('/', '_')}.onnx")


def hunt(kind: str, draw: Callable[[str, Run], Drawing], about: str, arguments: Sequence[str] | None) -> int:
    """Draw models, convert them and print what was found; return the exit status."""
    parser = argparse.ArgumentParser(prog=f"judges {about}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100, metavar="N", help="models (default: 100)")
    parser.add_argument("--seconds", type=float, metavar="T", help="draw models for no longer than this")
    parser.add_argument("--targets", type=versions, default=[*OPSETS], metavar="A-B,C", help="opsets (default: 7-26)")
    parser.add_argument("--conversions", type=int, default=4, metavar="N", help="of each model (default: 4)")
    parser.add_argument("--case", metavar="NAME", help="examine one case alone")
    parser.add_argument("--reasons", action="store_true", help="count the reasons of refusals and of what was dropped")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the models of faults here")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    options = parser.parse_args(arguments)
    chosen = names(kind, options.seed, options.count, options.seconds) if not options.case else iter([options.case])
    counts: Counter[str] = Counter()
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    job = partial(examine, draw=draw, targets=options.targets, count=options.conversions)
    for name, result in each(job, chosen, options.processes, 60, MEMORY):
        if isinstance(result, Died):
            wrong = "error" if result.stage.startswith("to") else "undrawn"
            result = [Finding(0, wrong, f"{result.stage}: {result.why}")]
        for finding in result:
            counts[finding.kind] += 1
            why = finding.why.split(":")[0] if finding.kind == "dropped" else finding.why
            if finding.kind not in ("same", *FAULTS):
                reasons[f"{finding.kind}: {why}"].append(f"{name} -> {finding.target}")
            if finding.kind in FAULTS or options.case:
                print(f"{finding.kind} {name} -> {finding.target}: {finding.why}", flush=True)
        if options.keep and (options.case or any(finding.kind in FAULTS for finding in result)):
            keep(draw(name, run), name, options.keep)
    if options.reasons:
        for reason, found in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
            print(f"{len(found):5} {reason} ({found[0]})")
    print(", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())))
    return int(any(counts[kind] for kind in FAULTS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer; return the exit status."""
    return hunt("composed", compose, "whole", arguments)
