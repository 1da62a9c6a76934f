"""Hunts wrong answers: random nodes, converted to other versions, must compute what they computed.

`python -m judges converter --seed 1 --seconds 600 --operators 'Resize|Pad' --json found.json`. Nodes come from
`judges.fuzz.drawing`. Each is run by onnxruntime without graph optimization; if that works, the model is converted to
other versions, there and back, and lowered at its own. Each accepted result is examined (conformance.validity) and
run on the same inputs and on a second set with other sizes and values, by the evaluator of this project where
onnxruntime has no kernel. Where it differs, and the evaluator differs from onnxruntime before the conversion already,
it is disputed, and judges.fuzz.decided says who is right. `--case NAME` shows one case again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import opset
from judges.conformance.judge import operators, opset_of, unchanged_between
from judges.conformance.processes import Died, each
from judges.conformance.validity import faults
from judges.fuzz.differential import dispute
from judges.fuzz.drawing.models import DRAWS, ML, Case, make_case, schema_at
from judges.fuzz.sessions import JUDGES
from opset.errors import OpsetError

TARGETS = {"": range(7, 27), ML: range(1, 6)}
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-11}
ROUGH = {"GroupNormalization": 1e-3, "BatchNormalization": 1e-3} | dict.fromkeys(
    ("HannWindow", "HammingWindow", "BlackmanWindow", "DFT", "STFT"), 1e-4
)
"""Least tolerance of operators that compute in FLOAT whatever the type, or subtract what is nearly equal."""
SECONDS_PER_CASE = 60
SKIPPED = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
"""Operators whose results are random."""
FAULTS = ("wrong", "rejected", "exception", "sign", "disputed")

# (operators, what is found in "kind: difference", reason): differences that were looked into, in which the converter
# follows the standard and onnxruntime does not at one of the two versions.
KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        "Max|Min|Clip|Elu|LeakyRelu|PRelu|Gemm|CumSum|ReduceMax|ReduceMin|ThresholdedRelu|Selu|DFT|Det",
        "sign: ",
        "the standard does not say which sign a zero has there; onnxruntime's kernels for versions and types differ",
    ),
    (
        "NegativeLogLikelihoodLoss|SoftmaxCrossEntropyLoss",
        "sign: ",
        "the loss of what is ignored is stated as 0; onnxruntime negates a zero",
    ),
    (
        "Where|Mod|Dropout",
        "sign: ",
        "a value is taken as it is; onnxruntime's Where, which others are lowered to, merges two halves where it "
        "broadcasts, and loses the sign of a zero",
    ),
    (
        "BatchNormalization",
        "for np.float(32|64).nan",
        "the mean of an empty batch is not defined; onnxruntime gives NaN in one operator and 0 in another",
    ),
    (
        "Reduce.*|Arg.*",
        r"wrong: .*\b[a-z]+\d*\((\d+, )*0[,)]|rejected: .*running (Reduce|ArgM)\w+ node",
        "for an empty input onnxruntime gives the input's shape, by some of its kernels",
    ),
    (
        "OneHot",
        r"wrong: ((9|10)->|\d+->(9|10) back)",
        "version 9 gives off values for negative indices; onnxruntime counts them from the end at each version",
    ),
    (
        "Clip",
        r"wrong: .*float16\((inf|-inf|-?6.55e\+04)\)",
        "an absent bound is the type's own limit; onnxruntime computes Clip 6 and 11 of FLOAT16 as FLOAT, without it",
    ),
    (
        "MeanVarianceNormalization",
        r"bound to different types|\(op_type:Pow\): Y has inconsistent type",
        "onnxruntime expands the operator for FLOAT16 into nodes of mixed types",
    ),
    (
        "Slice|DepthToSpace|SpaceToDepth|Pad|Compress|ReverseSequence|Split",
        r"wrong: .* \['",
        "onnxruntime's Gather copies only the first of each row of strings",
    ),
    (
        "Resize|Upsample",
        r"wrong: ((9|10)->|\d+->(9|10) back)",
        "onnxruntime copies where scales above 1 change no size, and computed scales may come to that after shrinking",
    ),
    (
        "Shrink",
        r"wrong: .*float64\(",
        "onnxruntime computes DOUBLE as FLOAT",
    ),
    (
        "GatherND",
        "invalid expand shape|Concat",
        "batch dimensions that do not agree are not valid, which onnxruntime does not look at",
    ),
    (
        ".*Pool",
        "padding values must be non-negative",
        "with SAME padding and strides above the window, onnxruntime's kernels before version 22 take no input",
    ),
    (
        "Split",
        "Invalid num_outputs value",
        "onnxruntime does not split an axis of size 0 by num_outputs, though 0 can be split evenly",
    ),
    (
        "Attention",
        "inconsistent q_sequence_length",
        "onnxruntime wants a row for each query in the mask; the standard lets it broadcast",
    ),
    (
        ".*",
        "Invalid input name",
        "below IR version 4 onnxruntime takes no values for inputs that have initializers",
    ),
)


@dataclass(frozen=True)
class Finding:
    """What came out of one conversion of a case that is worth telling."""

    case: str
    source: int
    target: int
    kind: str
    why: str
    known: str = ""


def schedule() -> dict[tuple[str, str], list[int]]:
    """Return for each operator the opsets of its domain at which it exists."""
    found: dict[tuple[str, str], list[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in TARGETS and schema.name not in SKIPPED and not schema.deprecated:
            known = found.setdefault((schema.domain, schema.name), [])
            for version in TARGETS[schema.domain]:
                if version not in known and schema_at(schema.domain, schema.name, version) == schema.since_version:
                    known.append(version)
    return {key: sorted(versions) for key, versions in found.items() if versions}


def compare(expected: Sequence[Any], actual: Sequence[Any], loose: bool, rough: float = 0.0) -> tuple[str, str]:
    """Return how near two lists of outputs are, exact, near, sign (of a zero) or wrong, and where they differ."""
    worst, where = "exact", ""
    order = ["exact", "near", "sign", "wrong"]
    for number, (want, have) in enumerate(zip(expected, actual, strict=True)):
        kind, why = compare_value(want, have, loose, rough)
        if order.index(kind) > order.index(worst):
            worst, where = kind, f"output {number}: {why}"
    return worst, where


def compare_value(want: Any, have: Any, loose: bool, rough: float) -> tuple[str, str]:
    if isinstance(want, (list, tuple)):
        if not isinstance(have, (list, tuple)) or len(want) != len(have):
            return "wrong", "another sequence"
        return compare(want, have, loose, rough)
    if isinstance(want, dict) or want is None:
        return ("exact", "") if repr(want) == repr(have) else ("wrong", f"{have} for {want}")
    want, have = np.asarray(want), np.asarray(have)
    if want.shape != have.shape or want.dtype != have.dtype:
        return "wrong", f"{have.dtype}{have.shape} for {want.dtype}{want.shape}"
    if want.dtype.kind != "f":
        if np.array_equal(want, have):
            return "exact", ""
        return "wrong", f"{have.ravel()[:8].tolist()} for {want.ravel()[:8].tolist()}"
    zeros = (want == 0) & (have == 0) & (np.signbit(want) != np.signbit(have))
    equal = (want == have) | (np.isnan(want) & np.isnan(have))
    if equal.all():
        return ("sign", "the sign of a zero") if zeros.any() else ("exact", "")
    finite = np.abs(want[np.isfinite(want)], dtype=np.float64)
    rtol = 2e-2 if loose else max(rough, TOLERANCE[str(want.dtype)])
    with np.errstate(all="ignore"):
        near = equal | (np.abs(want.astype(np.float64) - have) <= rtol * max(finite.max(initial=0.0), 1e-3))
    if near.all():
        return "near", ""
    at = tuple(int(i) for i in np.argwhere(~near)[0])
    return "wrong", f"{int((~near).sum())} of {want.size}, at {list(at)} {have[at]!r} for {want[at]!r}"


def examine(case: Case, everywhere: bool, judge: str = "onnxruntime") -> Iterator[Finding]:
    """Yield what the conversions of a case come to, one Finding each; nothing where the original does not run."""
    session = JUDGES[judge](case.model)
    expected = [session.run(case.feeds[0])]
    feeds = [case.feeds[0]]
    try:
        expected.append(session.run(case.feeds[1]))
        feeds.append(case.feeds[1])
    except Exception:  # the second drawing need not fit, as where a size is known before the model runs
        pass
    rng = random.Random(f"{case.name} targets")
    loose = "FLOAT16" in str(case.model) or any(name in str(case.model).lower() for name in ("bfloat16", "float8"))
    loose = loose or bool({10, 16, 17, 18, 19, 20} & {t.elem_type for t in types_in(case.model)})
    yield from cross(case, case.model, case.version, case.version, feeds, expected, loose, judge)
    for target in targets(case, everywhere, rng):
        made = yield from cross(case, case.model, case.version, target, feeds, expected, loose, judge)
        if made is not None and made.graph != case.model.graph and rng.random() < 0.5:
            yield from cross(case, made, target, case.version, feeds, expected, loose, judge, "back: ")


def types_in(model: onnx.ModelProto) -> Iterator[Any]:
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        yield value.type.tensor_type
    for tensor in model.graph.initializer:
        yield onnx.TypeProto.Tensor(elem_type=tensor.data_type)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to":
                yield onnx.TypeProto.Tensor(elem_type=attribute.i)


def targets(case: Case, everywhere: bool, rng: random.Random) -> list[int]:
    """Return all versions, or one of each version of the operator, and two more."""
    versions = [version for version in TARGETS[case.domain] if version != case.version]
    if everywhere:
        return versions
    by_since: dict[int, list[int]] = {}
    for version in versions:
        by_since.setdefault(schema_at(case.domain, case.operator, version), []).append(version)
    return sorted({*(rng.choice(group) for group in by_since.values()), *rng.sample(versions, 2)})


def cross(
    case: Case,
    model: onnx.ModelProto,
    source: int,
    target: int,
    feeds: list[dict[str, np.ndarray]],
    expected: list[list[Any]],
    loose: bool,
    judge: str,
    note: str = "",
) -> Generator[Finding, None, onnx.ModelProto | None]:
    """Convert a model and judge the result, which is lowered where the target is its own version.

    The generator's value is the result, if accepted.
    """

    def finding(kind: str, why: str = "", made: onnx.ModelProto | None = None) -> Finding:
        known = ""
        if kind in FAULTS:
            text = f"{kind}: {source}->{target} {note}{why}"
            known = next((r for o, about, r in KNOWN if re.fullmatch(o, case.operator) and re.search(about, text)), "")
        if made is None or known or kind not in ("wrong", "rejected") or judge != "onnxruntime":
            return Finding(case.name, source, target, kind, note + why, known)
        if found := dispute(case.name):
            kind, known = "disputed", found.decided if keeps(case, made, feeds, loose) else ""
            why = f"{why}; the evaluator before the conversion: {found.why} | {found.node}"
        return Finding(case.name, source, target, kind, note + why, known)

    pair = (source, target)
    try:
        if target == source:
            made = opset.lower(model, [f"{case.domain or 'ai.onnx'}.{case.operator}"])
        else:
            made = opset.convert(model, {case.domain: target})
    except OpsetError as error:
        yield finding("refused", f"{error.findings[0].code}: {error.findings[0].why}")
        return None
    except Exception as error:
        yield finding("exception", f"{error!r} {traceback.format_exc()[-400:]}")
        return None
    if opset_of(made, case.domain) != target:
        yield finding("wrong", f"it is at {opset_of(made, case.domain)}")
        return None
    kept = case.domain == "" and not case.model.functions and made.graph == model.graph
    if kept and unchanged_between(operators(made), min(pair), max(pair)):
        yield finding("kept")
        return made
    if wrong := faults(made, model, {(case.operator, case.domain)} if target == source else ()):
        yield finding("rejected", "; ".join(wrong))
        return made
    try:
        session = JUDGES[judge](made)
        actual = [session.run(feed) for feed in feeds]
    except Exception as error:
        text = " ".join(str(error).split())
        text = text if len(text) < 400 else f"{text[:150]} ... {text[-250:]}"
        if "NOT_IMPLEMENTED" not in text and "Opset" not in text:
            yield finding("rejected", text, made)
            return made
        try:
            own = opset.ReferenceEvaluator(made, seed=0)
            actual = [own.run(None, feed) for feed in feeds]
        except OpsetError as unknown:
            yield finding("unjudged", f"{text}; {unknown}")
            return made
    rough = ROUGH.get(case.operator, 0.0)
    kinds = [compare(want, have, loose, rough) for want, have in zip(expected, actual, strict=True)]
    for kind in ("wrong", "sign", "near", "exact"):
        why = next((f"run {number}, {why}" for number, (k, why) in enumerate(kinds) if k == kind), None)
        if why is not None:
            yield finding(kind, why, made)
            break
    return made


def keeps(case: Case, made: onnx.ModelProto, feeds: Sequence[Mapping[str, Any]], loose: bool) -> bool:
    """Whether the evaluator of this project gives for a conversion what it gives before, as far as it runs that."""
    for feed in feeds:
        try:
            before = opset.ReferenceEvaluator(case.model, seed=0).run(None, feed)
        except OpsetError:
            continue
        try:
            after = opset.ReferenceEvaluator(made, seed=0).run(None, feed)
        except OpsetError:
            return False
        if compare(before, after, loose, ROUGH.get(case.operator, 0.0))[0] == "wrong":
            return False
    return True


def attempt(name: str, everywhere: bool, judge: str) -> Generator[str, None, list[Finding]]:
    """Return the findings of the conversions of a case, or one that says why there are none."""
    yield "undrawn"
    try:
        case = make_case(name)
    except Exception as error:  # there is no such node
        return [Finding(name, 0, 0, "undrawn", repr(error))]
    yield "crash"
    try:
        return list(examine(case, everywhere, judge))
    except Exception as error:
        return [Finding(name, 0, 0, "invalid", " ".join(str(error).split())[:300])]


def names(pattern: str, seed: int, seconds: float) -> Iterator[str]:
    """Yield the names of cases for some seconds: each operator of the pattern in turn, at a version by chance."""
    rng = random.Random(seed)
    known = [(key, versions) for key, versions in schedule().items() if re.search(pattern, key[1])]
    moved = {key: len({schema_at(*key, version) for version in versions}) > 1 for key, versions in known}
    number, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        (domain, operator), versions = rng.choice(known)
        share = 1.0 if operator in DRAWS else 0.5
        if rng.random() < (share if moved[domain, operator] else share / 10):
            number += 1
            yield f"{domain or 'ai.onnx'}/{operator}/{rng.choice(versions)}/{seed}.{number}"


def show(name: str, judge: str) -> int:
    """Print a case, each conversion, and the models of faults; return the exit status."""
    case = make_case(name)
    print(onnx.printer.to_text(case.model))
    for feed in case.feeds:
        print({key: (str(value.dtype), value.shape, value.tolist()) for key, value in feed.items()})
    found = list(examine(case, True, judge))
    for finding in found:
        print(finding.source, finding.target, finding.kind, finding.known, finding.why)
        if finding.kind in FAULTS and not finding.why.startswith("back") and finding.kind != "exception":
            print(onnx.printer.to_text(opset.convert(case.model, {case.domain: finding.target})))
    return int(any(finding.kind in FAULTS and not finding.known for finding in found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer and print what it found; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m judges converter", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--operators", default="", metavar="REGEX")
    parser.add_argument("--everywhere", action="store_true", help="to every version, not one of each of the operator's")
    parser.add_argument("--judge", choices=JUDGES, default="onnxruntime")
    parser.add_argument("--case", metavar="NAME", help="show one case")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--list", type=int, default=40, metavar="N", help="faults to print")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.case:
        return show(options.case, options.judge)
    counts: Counter[str] = Counter()
    found: list[Finding] = []
    job = partial(attempt, everywhere=options.everywhere, judge=options.judge)
    drawn = names(options.operators, options.seed, options.seconds)
    for name, result in each(job, drawn, options.processes, SECONDS_PER_CASE):
        if isinstance(result, Died):
            result = [Finding(name, 0, 0, result.stage, result.why)]
        counts["cases"] += 1
        counts.update("known" if finding.known else finding.kind for finding in result)
        found += [finding for finding in result if finding.kind not in ("kept", "exact")]
    for kind, count in counts.items():
        print(f"{kind:12} {count:,}")
    faults = [finding for finding in found if finding.kind in FAULTS and not finding.known]
    for finding in [*faults[: options.list], *(one for one in found if one.kind == "crash")]:
        print(f"{finding.kind} {finding.case} {finding.source}->{finding.target} {finding.why}")
    if options.json:
        options.json.write_text(json.dumps({"counts": counts, "found": [asdict(one) for one in found]}, indent=0))
    return int(bool(faults))
