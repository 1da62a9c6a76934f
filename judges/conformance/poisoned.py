"""Poisons one sample of a batch, and compares what a converted model makes of the batch with what the given one does.

    python -m judges poisoned [--operators PATTERN] [--to 28,21,13,10,9,7] [--sources examples,node,models]
        [--runtime] [--limit N] [--jobs 2] [--json FILE] [-v]

A sample is what lies at one index of the first axis of an input, in the middle; where it is the only one, the inputs
are repeated to a batch of three. First its size is open in the model, then a number where open ones are refused.
The values are NaN, the infinities, the greatest and the least number, -0.0 and the smallest positive number; they fill
the whole sample, or stand in one element of it. Of integers, the greatest and the least are put in.

No list says which outputs belong to which sample. It is seen in the given model: the sample is replaced by other
numbers, several times. An index of the first axis of an output at which anything moves, or is moved by the poison
itself, belongs to the sample, and all others to other samples. If an operator mixes samples, as a sum over the first
axis does, everything moves, and only the comparison with the kernel is left.

    other samples   what does not belong to the sample is not the same to the last bit as without the poison
    poisoned        an output is not what the kernels give: another type or shape, NaN or infinity elsewhere, more than
                    a few ulp apart, or a zero of another sign; a row of SPECIAL in judges.conformance.lowerings names
                    what is inherent, and docs/lowerings.md shows these rows

The exit status is 1 where a finding is unexplained: one about other samples always is. Each conversion is run on the
evaluator of this project, with --runtime on onnxruntime as well, beside the given model there. As its kernels differ
among operators and versions in what they make of NaN, there only findings about other samples count.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import opset
from judges.conformance.bodies import REGISTRY, Use, uses
from judges.conformance.judge import RANDOM, Case, run_onnxruntime, value_difference
from judges.conformance.lowerings import ULP, relative, special
from judges.conformance.models import cases_of
from judges.conformance.processes import Died, each
from opset import ReferenceEvaluator
from opset.errors import ConversionError, OpsetError
from opset.model import proto as pb
from opset.reference.comparison import ulps

OPSETS = (28, 21, 13, 10, 9, 7)
SAMPLES = 3
DRAWS = 4
MOST_VALUES = 1 << 16
SECONDS = 300
Run = Callable[[Mapping[str, Any]], Sequence[Any]]


class Subject(NamedTuple):
    """A model to poison: its source, the operator that it is about, its domain, and inputs."""

    source: str
    operator: str
    domain: str
    use: Use


class Finding(NamedTuple):
    """What differs: `kind` is "other samples" or "poisoned", `reason` that of a named row, "" if there is none."""

    subject: str
    operator: str
    to: int
    kind: str
    poison: str
    why: str
    reason: str


class Outcome(NamedTuple):
    """Numbers of conversions by what became of them, and all findings."""

    counts: Counter[str]
    findings: list[Finding]


class Batch(NamedTuple):
    """A model with a batch for its inputs, what it computes, and inputs that may be poisoned at an index."""

    model: Any
    feeds: dict[str, Any]
    run: Run
    outputs: Sequence[Any]
    stacked: bool


class Poison(NamedTuple):
    """Inputs of which a sample is poisoned, what the given model makes of them, and what belongs to other samples."""

    name: str
    feeds: dict[str, Any]
    outputs: Sequence[Any]
    others: Sequence[Any]


def subjects(sources: Sequence[str], pattern: str) -> Iterator[Subject]:
    """Yield each example and node case of each version of operators, and whole models, in a fixed order."""
    kinds = [kind for kind in ("examples", "node") if kind in sources]
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            if not re.fullmatch(pattern, name) or name in RANDOM:
                continue
            for schema in REGISTRY.versions(name, domain):
                for kind in kinds:
                    for use in uses(schema, [kind]):
                        label = f"{name}-{schema.since_version} {use.name}"
                        if not use.name.startswith("test_training_dropout"):
                            yield Subject(kind, name, domain, use._replace(name=label))
    for case in (case for group in ("examples", "exported") if "models" in sources for case in cases_of(group)):
        if re.fullmatch(pattern, case.name):
            model = pb.ModelProto.FromString(case.model.SerializeToString())
            yield Subject("models", case.name, "", Use(case.name, model, case.feeds))


def is_poisoned(value: Any) -> bool:
    """Whether values of an input are poisoned: of floats, and of integers that are too narrow for sizes and indices."""
    if not isinstance(value, np.ndarray) or not 0 < value.size <= MOST_VALUES:
        return False
    return is_float(value) or (value.dtype.kind in "iu" and value.dtype.itemsize < 4)


def is_float(value: Any) -> bool:
    """Whether an array holds floats, those of a type that numpy lacks included."""
    return bool(value.dtype.kind == "f" or "float" in value.dtype.name)


def poisons_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of what an array is poisoned with, those that its type has."""
    if not is_float(value):
        limits = np.iinfo(value.dtype)
        yield from (("greatest", limits.max), ("least", limits.min))
        return
    import ml_dtypes

    limits = ml_dtypes.finfo(value.dtype)
    named = {"NaN": np.nan, "+inf": np.inf, "-inf": -np.inf, "greatest": limits.max, "least": limits.min,
             "-0": -0.0, "subnormal": limits.smallest_subnormal}  # fmt: skip
    for name, number in named.items():
        held = np.asarray(number).astype(value.dtype).astype(np.float64)
        if same(np.asarray(number, np.float64), held).all():
            yield name, number


def same(first: Any, second: Any) -> Any:
    """Return where two arrays have the same values to the last bit; NaN is NaN."""
    if first.dtype != second.dtype or first.shape != second.shape:
        return np.zeros(first.shape, bool)
    equal = first == second
    if is_float(first):
        equal = (equal & (np.signbit(first) == np.signbit(second))) | (np.isnan(first) & np.isnan(second))
    return np.asarray(equal)


def run_kernels(model: Any, seed: int = 0) -> Run:
    """Return a function that runs a model on the evaluator of this project."""
    evaluator = ReferenceEvaluator(model, seed=seed)
    return lambda feeds: evaluator.run(None, dict(feeds))


def run_runtime(model: Any) -> Run:
    """Return a function that runs a model on onnxruntime; it raises ValueError where that has no kernel."""
    import onnx

    proto = onnx.ModelProto.FromString(model.SerializeToString())

    def run(feeds: Mapping[str, Any]) -> Sequence[Any]:
        outputs = run_onnxruntime(proto, feeds)
        if outputs is None:
            raise ValueError("onnxruntime has no kernel")
        return outputs

    return run


def attempt(run: Run, feeds: Mapping[str, Any]) -> Sequence[Any] | str:
    """Return the outputs for inputs, or why there are none."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return run(feeds)
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def opened(model: Any, stacked: Sequence[str], size: int | None, feeds: Mapping[str, Any]) -> Any:
    """Return a copy of a model in which the first axis of these inputs has a size, open for None.

    What it states of the shapes of other values, which are those of the batch that was given, is left out.
    """
    copy = pb.ModelProto.FromString(model.SerializeToString())
    del copy.graph.value_info[:]
    for value in copy.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for value in copy.graph.input:
        if value.name in stacked:
            dims = value.type.tensor_type.shape.dim
            del dims[:]
            for axis, length in enumerate(feeds[value.name].shape):
                if axis or size is not None:
                    dims.add(dim_value=length)
                else:
                    dims.add(dim_param=f"batch_{length}")
    return copy


def batch_of(subject: Subject, run_of: Callable[[Any], Run]) -> Batch | None:
    """Return a subject with several samples, its own or repeated ones; None where it does not run.

    The first input is repeated with those that may be poisoned and have its first axis, or with all that have it, or
    alone; where the model does not take these, its inputs stay as they are.
    """
    feeds = dict(subject.use.feeds)
    data = [name for name, value in feeds.items() if isinstance(value, np.ndarray) and value.ndim and value.size]
    first = next((name for name in data if is_poisoned(feeds[name])), "")
    if not first:
        return None
    along = [name for name in data if feeds[name].shape[0] == feeds[first].shape[0]]
    choices = [[name for name in along if is_poisoned(feeds[name])], along, [first], []]
    for chosen in (choice for number, choice in enumerate(choices) if choice not in choices[:number]):
        repeated = feeds | {name: np.concatenate([feeds[name]] * SAMPLES) for name in chosen}
        if sum(value.size for value in repeated.values() if isinstance(value, np.ndarray)) > MOST_VALUES * SAMPLES:
            continue
        model = opened(subject.use.model, chosen, None, repeated)
        try:
            run = run_of(model)
        except OpsetError:
            continue
        outputs = attempt(run, repeated)
        if isinstance(outputs, str) or is_drawn(model, repeated):
            continue
        if not chosen or samples_are_apart(run, repeated, chosen[0], outputs):
            return Batch(model, repeated, run, outputs, bool(chosen))
    return None


def is_drawn(model: Any, feeds: Mapping[str, Any]) -> bool:
    """Whether the outputs depend on what is drawn at random."""
    first, second = (attempt(run_kernels(model, seed), feeds) for seed in (0, 1))
    return any(any(ulps(*pair)) for pair in zip(first, second, strict=True))


def samples_are_apart(run: Run, feeds: Mapping[str, Any], name: str, outputs: Sequence[Any]) -> bool:
    """Whether some of what a model computes does not depend on the sample in the middle, and some does."""
    moved = moves(run, feeds, name, outputs)
    return any(each is not None and each.any() and not each.all() for each in moved)


def replaced(value: Any, content: Any, whole: bool = True) -> Any:
    """Return an array with other content in the sample in the middle, or in one element of that."""
    copy = value.copy()
    if not copy.ndim:
        copy[...] = content
    elif whole:
        copy[copy.shape[0] // 2] = content
    else:
        sample = copy[copy.shape[0] // 2 : copy.shape[0] // 2 + 1].reshape(-1)
        sample[sample.size // 2] = content
        copy[copy.shape[0] // 2] = sample.reshape(copy.shape[1:])
    return copy


def moves(run: Run, feeds: Mapping[str, Any], name: str, outputs: Sequence[Any]) -> list[Any]:
    """Return for each output which elements move when the sample of an input is replaced, None where all may."""
    random = np.random.default_rng(5)
    value = feeds[name]
    moved: list[Any] = [np.zeros(np.shape(output), bool) if is_array(output) else None for output in outputs]
    for draw in range(DRAWS):
        shape = value.shape[1:]
        drawn = random.uniform(-2, 2, shape) * 10.0**draw if is_float(value) else random.integers(0, 100, shape)
        found = attempt(run, {**feeds, name: replaced(value, drawn.astype(value.dtype))})
        if isinstance(found, str):
            continue
        for number, (before, after) in enumerate(zip(outputs, found, strict=True)):
            mask = moved[number]
            if mask is not None:
                moved[number] = mask | ~same(before, after) if is_array(after, before.shape) else None
    return moved


def still(moved: Any) -> Any:
    """Return which elements have an index of the first axis at which nothing moves."""
    apart = ~moved.reshape(moved.shape[0], -1).any(1) if moved.ndim and moved.size else np.zeros(moved.shape[:1], bool)
    return np.broadcast_to(apart.reshape([-1] + [1] * (moved.ndim - 1)) if moved.ndim else apart, moved.shape)


def is_array(value: Any, shape: Any = None) -> bool:
    """Whether a value is an array, of this shape if one is given."""
    return isinstance(value, np.ndarray) and (shape is None or value.shape == shape)


def poisons(batch: Batch) -> Iterator[Poison]:
    """Yield each poison of each input that the given model computes something of."""
    for name, value in batch.feeds.items():
        if not is_poisoned(value):
            continue
        moved = moves(batch.run, batch.feeds, name, batch.outputs)
        forms = (True, False) if value.ndim and value[:1].size > 1 else (True,)
        for whole in forms:
            for label, content in poisons_of(value):
                feeds = {**batch.feeds, name: replaced(value, np.asarray(content).astype(value.dtype), whole)}
                found = attempt(batch.run, feeds)
                if isinstance(found, str):
                    continue
                # What has one index is no batch.
                several = len(np.atleast_1d(value)) > 1
                others = [
                    still(mask | ~same(before, after))
                    if several and mask is not None and is_array(after, mask.shape)
                    else None
                    for mask, before, after in zip(moved, batch.outputs, found, strict=True)
                ]
                form = f"{label} in {name}" if whole else f"{label} in an element of {name}"
                yield Poison(form, feeds, found, others)


def differences(
    clean: Sequence[Any], found: Sequence[Any] | str, poison: Poison, loose: bool
) -> Iterator[tuple[str, str]]:
    """Yield kind and reason of what is wrong with the outputs of a converted model, with those without the poison."""
    if isinstance(found, str):
        yield "poisoned", found
        return
    for number, (want, have, before, others) in enumerate(
        zip(poison.outputs, found, clean, poison.others, strict=True)
    ):
        spread = others is not None and others.any() and not is_array(have, want.shape)
        if spread or (others is not None and is_array(have, want.shape) and not same(before, have)[others].all()):
            yield "other samples", f"output {number}: {outlined(have)} instead of {outlined(before)}"
        why, ulp = ulps(want, have)
        if loose:
            why, ulp = value_difference(Case("", None, {}, []), want, have), 0.0
        if not why and ulp > ULP and relative(want, have) > ULP:
            why = f"{ulp:.3g} ulp"
        if not why and is_array(have) and is_float(have) and not loose:
            zeros = (want == 0) & (np.signbit(want) != np.signbit(have))
            why = "a zero has another sign" if zeros.any() else ""
        if why:
            yield "poisoned", f"output {number}: {why}: {outlined(have)} instead of {outlined(want)}"


def outlined(value: Any) -> str:
    """Return a value in one short line."""
    return " ".join(str(value).split())[:160]


def is_plain(before: Any, after: Any) -> bool:
    """Whether conversion left all nodes as they were."""
    return outline_of(before) == outline_of(after)


def outline_of(model: Any) -> list[Any]:
    return [
        (node.op_type, node.input[:], sorted(each.SerializeToString() for each in node.attribute))
        for node in model.graph.node
    ]


def targets(subject: Subject, opsets: Sequence[int]) -> list[int]:
    """Return the versions that a subject is converted to."""
    imports = {"" if each.domain == "ai.onnx" else each.domain: each.version for each in subject.use.model.opset_import}
    own = imports.get(subject.domain, 0)
    if subject.domain:
        newest = max(
            version.since_version
            for name in REGISTRY.operators(subject.domain)
            for version in REGISTRY.versions(name, subject.domain)
        )
        opsets = range(newest, 0, -1)
    return [to for to in opsets if to != own]


def converted_batch(subject: Subject, batch: Batch, to: int) -> Any:
    """Return the batch's model at a version, first with open sizes, then with numbers; None where it is refused."""
    names = [name for name, value in batch.feeds.items() if isinstance(value, np.ndarray) and value.ndim]
    models = [batch.model, opened(batch.model, names, 0, batch.feeds)] if batch.stacked else [batch.model]
    for model in models:
        try:
            return opset.convert(model, {subject.domain: to})
        except ConversionError:
            continue
    return None


def judge(subject: Subject, opsets: Sequence[int], run_of: Callable[[Any], Run]) -> Outcome:
    """Return what became of all conversions of a subject."""
    counts: Counter[str] = Counter()
    findings: list[Finding] = []
    batch = batch_of(subject, run_of)
    if batch is None:
        return Outcome(Counter({"nothing to poison": 1}), [])
    given: list[Poison] | None = None
    for to in targets(subject, opsets):
        model = converted_batch(subject, batch, to)
        if model is None:
            counts["refused"] += 1
            continue
        if is_plain(batch.model, model):
            counts["same nodes"] += 1
            continue
        if given is None:
            given = list(poisons(batch))
        try:
            run = run_of(model)
            clean = attempt(run, batch.feeds)
        except OpsetError as error:
            clean = str(error)
        if isinstance(clean, str):
            counts["not run"] += 1
            if run_of is run_kernels:
                findings.append(Finding(subject.use.name, subject.operator, to, "other samples", "", clean, ""))
            continue
        counts["run"] += 1
        counts["apart"] += any(others is not None and others.any() for each in given for others in each.others)
        for poison in given:
            counts["poisoned runs"] += 1
            for kind, why in differences(clean, attempt(run, poison.feeds), poison, subject.source == "models"):
                reason = special(subject.operator, poison.name) if kind == "poisoned" else ""
                findings.append(Finding(subject.use.name, subject.operator, to, kind, poison.name, why, reason))
    return Outcome(counts, findings)


def job(chosen: Sequence[Subject], opsets: Sequence[int], runtime: bool, number: int) -> Generator[str, None, Outcome]:
    """Return the outcome of the subject of a number."""
    yield chosen[number].use.name
    outcome = judge(chosen[number], opsets, run_kernels)
    if runtime:
        beside = judge(chosen[number], opsets, run_runtime)
        for name, count in beside.counts.items():
            outcome.counts[f"onnxruntime: {name}"] += count
        for finding in beside.findings:
            reason = finding.reason or ("kernels of onnxruntime" if finding.kind == "poisoned" else "")
            outcome.findings.append(finding._replace(poison=f"onnxruntime: {finding.poison}", reason=reason))
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Poison the batches, and tell what is found; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges poisoned", description=about)
    parser.add_argument("--operators", default=".*", help="regular expression of whole names of operators or models")
    parser.add_argument("--to", default=",".join(map(str, OPSETS)), help="opsets of the default domain")
    parser.add_argument("--sources", default="examples,node,models", help="what is poisoned")
    parser.add_argument("--runtime", action="store_true", help="run on onnxruntime, too")
    parser.add_argument("--limit", type=int, help="take so many subjects, spread evenly")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every finding here")
    parser.add_argument("-v", dest="verbose", action="store_true", help="print every finding, not one of an operator")
    options = parser.parse_args(arguments)
    chosen = list(subjects(options.sources.split(","), options.operators))
    if options.limit:
        chosen = chosen[:: max(1, len(chosen) // options.limit)]
    counts: Counter[str] = Counter()
    findings: list[Finding] = []
    shown: Counter[tuple[str, ...]] = Counter()
    work = functools.partial(job, chosen, [int(to) for to in options.to.split(",")], options.runtime)
    for number, outcome in each(work, range(len(chosen)), options.jobs, SECONDS):
        subject = chosen[number]
        if isinstance(outcome, Died):
            died = Finding(subject.use.name, subject.operator, 0, "poisoned", "", outcome.why, "")
            outcome = Outcome(Counter({"died": 1}), [died])
        counts += outcome.counts
        findings += outcome.findings
        for finding in outcome.findings:
            key = (finding.operator, finding.kind, finding.reason)
            shown[key] += 1
            if not finding.reason and (options.verbose or shown[key] == 1):
                where = f"{finding.subject} -> {finding.to}: {finding.kind}"
                print(f"{where}: {finding.poison}: {finding.why}", flush=True)
    for (operator, kind, reason), count in sorted(shown.items()):
        print(f"{operator}: {kind}: {count} {f'explained: {reason}' if reason else 'UNEXPLAINED'}")
    unexplained = sum(not finding.reason for finding in findings)
    print(f"{len(chosen)} subjects; {', '.join(f'{name}: {count:,}' for name, count in sorted(counts.items()))}")
    print(f"findings: {len(findings):,}, unexplained: {unexplained:,}")
    if options.json:
        options.json.write_text(json.dumps([finding._asdict() for finding in findings], indent=0), encoding="utf-8")
    return int(unexplained > 0)
