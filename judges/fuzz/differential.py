"""Compares the reference evaluator with onnxruntime on random nodes of every operator version that both have.

    python -m judges differential [--seed N] [--seconds S | --count N] [--operators REGEX] [-j 2] [--case NAME]

Nodes come from `judges.fuzz.drawing`, and so do the models around them. Both run the same model on the same inputs,
onnxruntime without graph optimisation; outputs must have the same type and shape, and values within TOLERANCE.
The table counts, for each version of each operator:

    exact     the same values; the sign of a zero and of NaN aside
    near      the same within tolerance
    decided   a disagreement that was decided from the specification (DECIDED)
    differ    other types, shapes or values
    fails     onnxruntime gives outputs, and the evaluator an error
    crash     the evaluator's process ended, ran too long, or raised something that is not its own
    more      onnxruntime rejects the model or its inputs, or crashes, and the evaluator gives outputs
    neither   both reject it
    unknown   onnxruntime has no kernel for these types
    undrawn   no case came out of the name

The exit status is 1 when anything differs, fails or crashes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (numpy learns the names of its types)
import numpy as np
import onnx

import opset
from judges.conformance.judge import RANDOM
from judges.conformance.processes import Died, each
from judges.fuzz.decided import DECIDED
from judges.fuzz.drawing.models import ML, Case, make_case, schema_at
from judges.fuzz.drawing.nodes import NARROW, Argument, draft
from judges.fuzz.sessions import Session
from opset.budget import Limits

OPSETS = {"": range(7, 27), ML: range(1, 6)}
"""What onnxruntime takes of each domain."""
LIMITS = Limits(max_bytes=2 << 30, timeout=20)
KINDS = ("exact", "near", "decided", "differ", "fails", "crash", "more", "neither", "unknown", "undrawn")
FAULTS = ("differ", "fails", "crash")

# Relative tolerance by element type. Where a kernel adds up many products, the order of which is free, it is relative
# to the greatest value of the output: what is left of terms that cancel has no digits of its own. SINGLE are operators
# that onnxruntime computes in single precision for DOUBLE, too, or whose attributes have no more.
TOLERANCE = {
    "float64": 1e-10,
    "float32": 2e-5,
    "float16": 2**-9,
    "bfloat16": 2**-6,
    "float8_e4m3fn": 2**-3,
    "float8_e4m3fnuz": 2**-3,
    "float8_e5m2": 2**-2,
    "float8_e5m2fnuz": 2**-2,
}
SUMS = re.compile(
    r".*Conv.*|.*MatMul.*|Gemm|Einsum|Reduce.*|.*Norm.*|.*Pool|CumSum|DFT|STFT|.*Window|RNN|GRU|LSTM|Attention|Resize|"
    r"Upsample|GridSample|AffineGrid|RoiAlign|.*Loss|LRN|Mean|Sum|Det|.*Softmax|Col2Im|SVM.*|Tree.*|Linear.*|"
    r"RotaryEmbedding|MelWeightMatrix|Scatter.*|Scaler|Celu|Gelu|Mish|Scan|.*Attention.*|Sigmoid|Swish|Tanh|Selu|Elu|HardSwish"
)

SINGLE = re.compile(r".*Norm.*|.*Window|DFT|STFT|Shrink|HardSwish|Attention|MelWeightMatrix|LRN|Resize|Upsample")
SMALL = {True: 0.1, False: 1e-3}
"""Least value that a tolerance is relative to, for sums and for others."""


Key = tuple[str, str, int]


@dataclass(frozen=True)
class Finding:
    """What came out of one case; `since` is the version of the operator, `decided` who is right, once that is clear."""

    case: str
    operator: str
    since: int
    kind: str
    why: str = ""
    node: str = ""
    decided: str = ""


@dataclass(frozen=True)
class Trial:
    """What became of a case, its node with the types and shapes of inputs, and the versions that onnxruntime ran."""

    kind: str
    why: str
    node: str = ""
    ran: tuple[Key, ...] = ()


def runtime_versions() -> dict[Key, range]:
    """Return the (domain, operator, since_version) that onnxruntime has, with the opsets at which they are met."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    kernels: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider":
            kernels.setdefault((kernel.domain, kernel.op_name), []).append(tuple(kernel.version_range))
    found: dict[Key, list[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        domain, name, since = schema.domain, schema.name, schema.since_version
        if domain not in OPSETS or schema.deprecated:
            continue
        ranges = kernels.get((domain, name), [])
        if schema.has_function or schema.has_context_dependent_function or any(a <= since <= b for a, b in ranges):
            found[domain, name, since] = [v for v in OPSETS[domain] if schema_at(domain, name, v) == since]
    return {key: range(opsets[0], opsets[-1] + 1) for key, opsets in sorted(found.items()) if opsets}


def narrow_outputs(model: onnx.ModelProto) -> dict[str, str]:
    """Return the outputs that were cast, as Python does not get their types from onnxruntime, with the type before."""
    casts = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Cast"}
    names = [value.name for value in model.graph.output]
    made = {name: casts[name] for name in names if f"{casts.get(name)}_f" == name}
    if not made:
        return {}
    known = onnx.shape_inference.infer_shapes(model)
    kinds = {value.name: value.type.tensor_type.elem_type for value in known.graph.value_info}
    found = {}
    for output, name in made.items():
        element = onnx.TensorProto.DataType.Name(kinds.get(name, 0)).lower()
        if element in NARROW:
            found[output] = np.dtype(NARROW[element]).name
    return found


def difference(case: Case, want: Sequence[Any], have: Sequence[Any], narrow: dict[str, str]) -> tuple[str, str]:
    """Return how near two lists of outputs are (exact, near or differ) and what the first difference is."""
    names = [value.name for value in case.model.graph.output]
    worst, told = "exact", ""
    for name, first, second in zip(names, want, have, strict=True):
        tolerance = TOLERANCE.get(narrow.get(name, ""), 1e-6 if SINGLE.fullmatch(case.operator) else 0.0)
        kind, why = of_values(first, second, tolerance, bool(SUMS.fullmatch(case.operator)), case.operator in RANDOM)
        if kind == "differ":
            return kind, f"{name}: {why}"
        if kind == "near":
            worst, told = kind, f"{name}: {why}"
    return worst, told


def of_values(want: Any, have: Any, tolerance: float, sums: bool, chance: bool) -> tuple[str, str]:
    if isinstance(want, list | dict):
        if type(want) is not type(have) or len(want) != len(have):
            return "differ", f"{shown(have)} for {shown(want)}"
        if isinstance(want, dict):
            if want.keys() != have.keys():
                return "differ", f"keys {shown(list(have))} for {shown(list(want))}"
            want, have = list(want.values()), [have[key] for key in want]
        found = [of_values(a, b, tolerance, sums, chance) for a, b in zip(want, have, strict=True)]
        return next((each for kind in ("differ", "near") for each in found if each[0] == kind), ("exact", ""))
    if want is None or have is None:
        return ("exact", "") if want is have else ("differ", f"{shown(have)} for {shown(want)}")
    want, have = np.asarray(want), np.asarray(have)
    if want.dtype.kind in "OUS" and have.dtype.kind in "OUS":
        want, have = want.astype(object), have.astype(object)
    if want.dtype != have.dtype or want.shape != have.shape:
        return "differ", f"{have.dtype}{list(have.shape)} for {want.dtype}{list(want.shape)}"
    if chance:
        return "exact", ""
    if want.dtype.kind != "f":
        wrong = want != have
        return ("differ", first_of(wrong, want, have)) if wrong.any() else ("exact", "")
    a, b = want.astype(np.float64), have.astype(np.float64)
    with np.errstate(all="ignore"):
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        rtol = max(TOLERANCE[want.dtype.name], tolerance)
        finite = np.abs(a[np.isfinite(a)])
        atol = rtol * (max(SMALL[True], float(finite.max(initial=0))) if sums else SMALL[False])
        wrong = ~(equal | (np.abs(a - b) <= atol + rtol * np.abs(a)))
    if wrong.any():
        return "differ", first_of(wrong, want, have)
    return ("exact", "") if equal.all() else ("near", first_of(~equal, want, have))


def first_of(wrong: Any, want: Any, have: Any) -> str:
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    count = f"{int(wrong.sum())} of {wrong.size}" + (f", at {list(at)}" if at else "")
    return f"{want.dtype} {count}: {have[at]!s} for {want[at]!s}"


def shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value[:3]))}{', …' * (len(value) > 3)}]"
    text = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) < 100 else f"{text[:100]}…"


def ours(case: Case, feeds: dict[str, Any], narrow: dict[str, str]) -> tuple[list[Any], str]:
    """Return the outputs by the evaluator, and what is wrong with the types of those that go through a Cast."""
    names = [value.name for value in case.model.graph.output]
    before = [name.removesuffix("_f") for name in narrow]
    values = opset.ReferenceEvaluator(case.model, seed=0, limits=LIMITS).run([*names, *before], feeds)
    for name, value, kind in zip(before, values[len(names) :], narrow.values(), strict=True):
        if value.dtype.name != kind:
            return values, f"{name}: {value.dtype.name} for {kind}"
    return values[: len(names)], ""


def examine(name: str) -> Generator[str, None, Trial]:
    """Return what becomes of a case."""
    yield "drawing"
    try:
        case = make_case(name)
        narrow = narrow_outputs(case.model)
    except Exception as error:  # a drawing that comes to nothing
        return Trial("undrawn", repr(error))
    yield "onnxruntime"
    expected: list[list[Any]] = []
    said = ""
    try:
        session = Session(case.model)
        expected.append(session.run(case.feeds[0]))
        expected.append(session.run(case.feeds[1]))
    except Exception as error:  # the second drawing need not fit
        said = " ".join(str(error).split())
    if not expected and ("NOT_IMPLEMENTED" in said or "is till opset" in said):
        return Trial("unknown", said)
    ran = versions_in(case) if expected else ()
    worst, told, node = "", "", ""
    for number, feeds in enumerate(case.feeds[: max(1, len(expected))]):
        yield f"opset, run {number}"
        node = described(case, number, expected[number] if expected else ())
        try:
            actual, wrong = ours(case, feeds, narrow)
        except opset.OpsetError as error:
            first = error.findings[0]
            if not expected:
                return Trial("neither", f"{said} | {first.code}: {first.message}", node)
            why = "; ".join(filter(None, (first.message, first.why)))
            return Trial("fails", f"run {number}: {first.code}: {why}", node, ran)
        except Exception as error:
            return Trial("crash", f"run {number}: {error!r}", node, ran)
        if not expected:
            return Trial("more", said, node)
        kind, why = ("differ", wrong) if wrong else difference(case, expected[number], actual, narrow)
        if kind == "differ":
            return Trial(kind, f"run {number}, {why}", node, ran)
        if kind == "near" or not worst:
            worst, told = kind, why
    return Trial(worst, told, node, ran)


def described(case: Case, number: int, outputs: Sequence[Any]) -> str:
    """A case's node in one line: types and shapes of inputs and outputs in the run of a number, and attributes."""
    drawn = draft(onnx.defs.get_schema(case.operator, case.version, case.domain), case.version, case.name, number)
    inputs = []
    for given in drawn.inputs:
        if isinstance(given, Argument):
            shape, values = list(given.value.shape), f"={given.value.tolist()}" if given.value.size < 9 else ""
            inputs.append(f"{given.element}{shape}{values}{' extreme' * extreme(given.value)}")
        else:
            inputs.append("-" if given is None else given.element)
    stated = [f"{name}={value}" for name, value in drawn.attributes.items() if "Proto" not in type(value).__name__]
    made = ", ".join(map(shown, outputs))
    return f"{case.operator}({', '.join(inputs)}) -> ({made}) {' '.join(sorted(stated, key=len))}"[:3000]


def extreme(array: Any) -> bool:
    """Return whether floats are so great that the square of one has no place in FLOAT, or are infinite or NaN."""
    return array.dtype.kind == "f" and not bool((np.abs(array.astype(np.float64)) < 1e18).all())


def versions_in(case: Case) -> tuple[Key, ...]:
    """Return the operator versions that a case's model has anywhere."""
    imports = {entry.domain: entry.version for entry in case.model.opset_import}
    found: set[Key] = set()
    pending: list[Any] = [case.model.graph, *case.model.functions]
    while pending:
        for node in pending.pop().node:
            if node.domain in OPSETS:
                found.add((node.domain, node.op_type, schema_at(node.domain, node.op_type, imports[node.domain])))
            pending += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return tuple(sorted(found))


def names(versions: dict[Key, range], seed: int, rounds: int | None, seconds: float) -> Iterator[str]:
    """Yield the names of cases: in each round one for each operator version, at one of its opsets by chance."""
    rng = random.Random(seed)
    until = time.monotonic() + seconds
    number = 0
    while number != rounds:
        for (domain, operator, _), opsets in versions.items():
            if rounds is None and time.monotonic() > until:
                return
            yield f"{domain or 'ai.onnx'}/{operator}/{rng.choice(opsets)}/{seed}.{number}"
        number += 1


def finding_of(name: str, trial: Trial | Died) -> Finding:
    """Return the finding of a case, with the decision where there is one."""
    domain, operator, opset_, _ = name.split("/")
    since = schema_at("" if domain == "ai.onnx" else domain, operator, int(opset_))
    if isinstance(trial, Died):
        trial = Trial("crash" if trial.stage.startswith("opset") else "more", f"{trial.stage}: {trial.why}")
    decided = ""
    if trial.kind in FAULTS:
        text = f"{operator} {since} {trial.kind}: {trial.why} | {trial.node}"
        decided = next((r for o, about, r in DECIDED if re.fullmatch(o, operator) and re.search(about, text)), "")
    return Finding(name, operator, since, trial.kind, trial.why, trial.node, decided)


def dispute(name: str) -> Finding | None:
    """Return on what evaluator and onnxruntime disagree in a case, None where they agree."""
    stages = examine(name)
    while True:
        try:
            next(stages)
        except StopIteration as end:
            finding = finding_of(name, end.value)
            return finding if finding.kind in FAULTS else None


def table(found: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the table."""
    rows: dict[tuple[str, int], Counter[str]] = {}
    for finding in found:
        kind = "decided" if finding.decided else finding.kind
        rows.setdefault((finding.operator, finding.since), Counter())[kind] += 1
    yield f"{'operator':>30} {'since':>5} {'ran':>6} " + " ".join(f"{kind:>7}" for kind in KINDS)
    total: Counter[str] = Counter()
    for (operator, since), counts in sorted(rows.items()):
        total += counts
        yield row(operator, str(since), counts)
    yield row("all", "", total)


def row(title: str, since: str, counts: Counter[str]) -> str:
    ran = sum(counts[kind] for kind in KINDS[:6])
    return f"{title:>30} {since:>5} {ran:>6,} " + " ".join(f"{counts[kind] or '':>7}" for kind in KINDS)


def disagreements(found: Sequence[Finding], listed: int) -> Iterator[str]:
    """Yield a line for each way in which an operator version disagrees: how often, and the first case."""
    groups: dict[tuple[str, str, int, str], list[Finding]] = {}
    lacking: set[str] = set()
    for finding in found:
        if finding.kind == "fails" and (match := re.search(r"[\w.]+ (\w+ \d+) has no kernel", finding.why)):
            lacking.add(match[1])
        elif finding.kind in FAULTS and not finding.decided:
            alike = re.sub(r"[-+\d.e]*\d|nan|inf|'[^']*'", "#", finding.why)[:90]
            groups.setdefault((finding.kind, finding.operator, finding.since, alike), []).append(finding)
    if lacking:
        yield f"fails: no kernel of {', '.join(sorted(lacking))}"
    for number, ((kind, operator, since, _), members) in enumerate(sorted(groups.items())):
        if number == listed:
            yield f"and {len(groups) - listed} more (--list, --json)"
            return
        first = members[0]
        yield f"{kind} {operator} {since}, {len(members)} times: {first.case}: {first.why[:300]} | {first.node[:300]}"


def show(name: str) -> int:
    """Print a case, what both compute, and what becomes of it; return the exit status."""
    case = make_case(name)
    print(onnx.printer.to_text(case.model))
    narrow = narrow_outputs(case.model)
    for number, feeds in enumerate(case.feeds):
        print(f"run {number}")
        for key, value in feeds.items():
            print(f"  {key} = {value!r}")
        for title, run in (("onnxruntime", Session(case.model).run), ("opset", lambda f: ours(case, f, narrow)[0])):
            try:
                print(f"  {title}: {run(feeds)}")
            except Exception as error:
                print(f"  {title}: {' '.join(str(error).split())}")
    finding = dispute(name)
    print("no dispute" if finding is None else f"{finding.kind}: {finding.why} {finding.decided}")
    return int(finding is not None and not finding.decided)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the table and the disagreements; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges differential", description=about)
    parser.add_argument("--seed", type=int, default=0)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=120, help="how long cases are drawn (default: 120)")
    length.add_argument("--count", type=int, metavar="N", help="cases for each version of each operator instead")
    parser.add_argument("--operators", default="", metavar="REGEX", help="whole names of operators")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--case", metavar="NAME", help="show one case")
    parser.add_argument("--list", type=int, default=100, metavar="N", help="disagreements to print")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every case here")
    options = parser.parse_args(arguments)
    if options.case:
        return show(options.case)
    versions = runtime_versions()
    chosen = {key: opsets for key, opsets in versions.items() if re.fullmatch(options.operators or ".*", key[1])}
    found: list[Finding] = []
    ran: set[Key] = set()
    for name, result in each(examine, names(chosen, options.seed, options.count, options.seconds), options.processes):
        found.append(finding_of(name, result))
        if not isinstance(result, Died):
            ran.update(result.ran)
    print("\n".join(table(found)))
    print("\n".join(disagreements(found, options.list)))
    missed = [f"{operator} {since}" for domain, operator, since in chosen if (domain, operator, since) not in ran]
    print(f"{len(chosen)} operator versions; no case ran for {len(missed)}: {', '.join(missed) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps([asdict(finding) for finding in found], indent=0))
    return int(any(finding.kind in FAULTS and not finding.decided for finding in found))
