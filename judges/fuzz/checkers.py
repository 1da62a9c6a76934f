"""Mutants of models, checked by opset and by onnx's checker: what onnx rejects is rejected, with a place.

    python -m judges checkers [--count 5000] [--kinds rename,change_tensor] [--seed 7] [-j 2] [--case KIND:NUMBER]

Each kind of mutation of judges/fuzz/mutation/structure.py changes `count` sound models, each once. Both check the
result: `opset.check` by all rules that are not optional, `onnx.checker.check_model` with `full_check`. A mutant that
onnx rejects and opset passes is a fault, unless DECIDED has the reason. What opset alone rejects is counted by code:
those are rules that onnx does not have. The exit status is 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import onnx

import opset
from judges.conformance.processes import Died, each
from judges.fuzz.mutation.seeds import seed_model
from judges.fuzz.mutation.structure import GENERIC, MEANT
from opset.errors import OpsetError
from opset.model import proto as pb

KINDS = {mutation.__name__: mutation for mutation in (*GENERIC, *MEANT)}
SECONDS = 60
DECIDED: dict[str, tuple[str, str]] = {
    r"Output \d+ is out of bounds": ("", "a call may leave out the last outputs of a function"),
    r"Data of TensorProto .* (should be stored in|should be file inside|but it)": (
        "W505",
        "a model without a path has no folder of data",
    ),
    r"Location of external TensorProto .* should not be empty": ("W503", "of two locations the last one is read"),
    r"symlink_status: File name too long": ("W505", "a model without a path has no folder of data"),
    r"\(op_type:(If|Loop|Scan)": ("W802", "a branch that a condition guards, or a loop's body, may never run"),
    r"Attribute expected to have a one-dim tensor": ("", "value of ConstantOfShape has one element, of any rank"),
    r"Attribute \w+ has incorrect size": ("W303", "an empty list counts as none given, in runtimes as well"),
    r"Number of scan \w+ (axes|directions) specified \(0\)": ("", "an empty list counts as none given, as in W303"),
    r"\(op_type:LinearClassifier\b.* differ in dimension \d+: \(0\)": ("", "empty intercepts count as none given"),
    r"ShapeInferenceError": ("W304", "a flag that is neither 0 nor 1: onnx takes some for 0, and a reader may for 1"),
    r"InferenceError": ("W604", "a shape of more than 64 dimensions is not compared"),
    r"Dimension product overflow in Reshape": ("", "no rule bounds the number of elements; memory does when it runs"),
    r"\(op_type:TreeEnsemble\w+\b.* expected to have rank 2 but has rank 1": ("", "a vector counts as one row"),
    r"\(op_type:SplitToSequence\b.* differ in rank": ("", "an input without a name is left out, so keepdims counts"),
    r"op outputs should be 1 when Training_mode": ("", "outputs without a name are left out: Y is the only one"),
    r"\(op_type:Scan\b.* differ in": ("", "the text has equal shapes after iterations, not before"),
    r"\(op_type:(Average|Lp|Max)Pool\b.* differ in": ("", "a window that starts after the input is left out"),
    r"Either `sizes` or `scales` must be provided": ("", "scales without elements count as none, as before version 13"),
    r"\(op_type:(Resize|Upsample)\b.* differ in dimension \d+: \(0\)": ("", "a scale of -0.0 is not followed"),
    r"duplicate keys in metadata_props": ("W102", "keys should be unique: a SHOULD of the IR specification"),
    r"No opset import for domain 'ai.onnx'": ("", "'ai.onnx' and '' name the same domain"),
}
"""Parts of onnx's messages about what is no error here: a warning that stands for it, "" for none, and the reason."""


class Job(NamedTuple):
    """One mutant: the name of its mutation, its number, and the seed."""

    kind: str
    number: int
    seed: int


class Verdict(NamedTuple):
    """What both say of a mutant: codes of errors and warnings, onnx's message, "" if it passes, and the change."""

    codes: tuple[str, ...]
    warnings: tuple[str, ...]
    unplaced: bool
    message: str
    change: str


Judged = tuple[Job, Verdict | Died]


def mutant_of(job: Job) -> tuple[str, bytes]:
    """Return what was changed, and the bytes of the mutant; "" if the mutation fits no model that was drawn."""
    draw = random.Random(f"{job.seed} {job.kind} {job.number}")
    for _ in range(200):
        name, model = seed_model(draw)
        sound = sound_model(name, model.SerializeToString())
        if sound is None:
            continue
        model = pb.ModelProto.FromString(sound)
        change = KINDS[job.kind](draw, model)
        if change is not None:
            return f"{name}: {change}", model.SerializeToString()
    return "", b""


@cache
def sound_model(name: str, data: bytes) -> bytes | None:
    """Return a model with the types that callers need, None if one of the two rejects it."""
    try:
        data = opset.infer(data).written().SerializeToString()
        if any(finding.severity == "error" for finding in opset.check(data)):
            return None
        onnx.checker.check_model(onnx.ModelProto.FromString(data), full_check=True)
    except Exception:
        return None
    return data


def judge(job: Job) -> Generator[str, None, Verdict]:
    """Return what both say of a mutant."""
    yield "mutation"
    change, data = mutant_of(job)
    if not change:
        return Verdict((), (), False, "", "")
    yield "opset"
    try:
        findings = opset.check(data)
        codes = tuple(dict.fromkeys(each.code for each in findings if each.severity == "error"))
        warnings = tuple(dict.fromkeys(each.code for each in findings if each.severity != "error"))
        unplaced = any(not each.place for each in findings)
    except OpsetError as error:
        codes, warnings, unplaced = (error.code,), (), False
    yield "onnx"
    message = ""
    try:
        onnx.checker.check_model(onnx.ModelProto.FromString(data), full_check=True)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    return Verdict(codes, warnings, unplaced, message, change)


def decided(verdict: Verdict) -> bool:
    """Whether onnx rejects a mutant for a reason that is no error here."""
    for pattern, (code, _) in DECIDED.items():
        if re.search(pattern, verdict.message, re.DOTALL) and (not code or code in verdict.warnings):
            return True
    return False


def until_interrupted(outcomes: Iterable[Judged]) -> Iterator[Judged]:
    """Yield outcomes, up to an interruption by Ctrl+C: the table then shows what was judged."""
    with suppress(KeyboardInterrupt):
        yield from outcomes


def table(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield the rows of a table of outcomes by kind."""
    columns = ("both", "neither", "opset alone", "decided", "onnx alone", "onnx died", "opset died")
    yield f"{'kind':20}" + "".join(f"{column:>13}" for column in columns)
    for kind in (*KINDS, "all"):
        numbers = [counts[kind, column] for column in columns]
        if any(numbers):
            yield f"{kind:20}" + "".join(f"{number:13,}" for number in numbers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and the faults; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges checkers", description=about)
    parser.add_argument("--count", type=int, default=5000, help="mutants of each kind")
    parser.add_argument("--kinds", default="", help="these kinds alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", type=int, default=1, dest="processes")
    parser.add_argument("--case", help="show one: KIND:NUMBER")
    options = parser.parse_args(arguments)
    if options.case:
        kind, _, number = options.case.partition(":")
        job = Job(kind, int(number), options.seed)
        change, data = mutant_of(job)
        print(change, onnx.ModelProto.FromString(data), *opset.check(data), sep="\n")
        onnx.checker.check_model(onnx.ModelProto.FromString(data), full_check=True)
        return 0
    kinds = [kind for kind in KINDS if not options.kinds or kind in options.kinds.split(",")]
    jobs = (Job(kind, number, options.seed) for number in range(options.count) for kind in kinds)
    counts: Counter[tuple[str, str]] = Counter()
    alone: Counter[str] = Counter()
    wrong = 0
    for job, verdict in until_interrupted(each(judge, jobs, options.processes, SECONDS)):
        if isinstance(verdict, Died):
            outcome = f"{verdict.stage} died" if verdict.stage != "mutation" else "neither"
        elif verdict.message:
            outcome = "both" if verdict.codes else "decided" if decided(verdict) else "onnx alone"
        else:
            outcome = "opset alone" if verdict.codes else "neither"
            alone.update(verdict.codes)
        is_wrong = outcome in ("onnx alone", "opset died") or (not isinstance(verdict, Died) and verdict.unplaced)
        wrong += is_wrong
        if is_wrong:
            told = verdict.why if isinstance(verdict, Died) else f"{verdict.change}: {verdict.message.splitlines()[:1]}"
            print(f"{job.kind}:{job.number}: {outcome}: {told}", flush=True)
        for kind in (job.kind, "all"):
            counts[kind, outcome] += 1
    print("\n".join(table(counts)))
    print("by opset alone:", ", ".join(f"{code} {count:,}" for code, count in alone.most_common()))
    return int(wrong > 0)
