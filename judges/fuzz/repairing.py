"""Puts a mendable fault into each of many valid models, mends it, and compares the model with what it was.

    python -m judges repair --count 2000 --seed 7

The models are those in examples/ and tests/corpus/, small ones of early exporters that the onnx package ships, and
models composed of drawn nodes. Afterwards the model has to be valid by our checker and by onnx's, to compute exactly
what it did, and to be what it was, but for what a fault leaves open; a second repair changes nothing. The exit status
is 1 if that fails anywhere.
"""

from __future__ import annotations

import argparse
import functools
import random
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import opset
from judges.conformance.judge import Case, difference
from judges.conformance.models import cases_of
from judges.conformance.processes import Died, each
from judges.fuzz.drawing.composed import compose
from judges.fuzz.mending import KINDS, Kind
from judges.fuzz.whole import MEMORY, run

CORPUS = Path(__file__).resolve().parents[2] / "tests" / "corpus"
DRAWN = 0.5
"""Share of models that are composed of drawn nodes."""
GOOD, UNFIT = "mended", "not fit"
TRIES = 12
"""Kinds of faults that are tried on a model, until one has a place in it."""


@functools.cache
def sources() -> Sequence[Case]:
    """Return the models that are not drawn."""
    return [*cases_of("examples"), *cases_of("simple"), *cases_of("pytorch-operator"), *_corpus_cases()]


def _corpus_cases() -> Iterator[Case]:
    """Yield the frozen models of each version of each domain."""
    for file in sorted(CORPUS.glob("*.onnx")):
        data = np.load(file.with_suffix(".npz"))
        feeds = {key.removeprefix("in."): data[key] for key in data if key.startswith("in.")}
        yield Case(f"corpus/{file.stem}", onnx.load(file), feeds, [])


def examine(name: str, kinds: Sequence[str] = ()) -> Generator[str, None, str]:
    """Return what became of a model and its fault: mended, not fit, or the kind of fault and what is wrong."""
    draw = random.Random(name)
    yield "drawing"
    if draw.random() < DRAWN:
        try:
            drawing = compose(name, run)
        except Exception:  # a drawing that came to nothing
            return UNFIT
        case = Case(name, drawing.model, drawing.feeds[0], [])
    else:
        case = draw.choice(sources())
    yield "mending"
    return judge_model(case, draw, kinds)


def judge_model(case: Case, draw: random.Random, kinds: Sequence[str] = ()) -> str:
    """Return what becomes of a fault in the model of a case, of one of these kinds or of any."""
    model = prepare(case)
    if any(found.severity == "error" for found in opset.check(model)):
        return UNFIT
    chosen = [kind for kind in KINDS if not kinds or kind.name in kinds]
    for kind in draw.sample(chosen, min(TRIES, len(chosen))):
        original = onnx.ModelProto()
        original.CopyFrom(model)
        faulty = kind.inject(original, draw)
        if faulty is not None:
            try:
                before = opset.ReferenceEvaluator(original, seed=0).run(None, dict(case.feeds))
            except opset.OpsetError:
                return UNFIT
            wrong = _fault_of(kind, original, faulty, case, before)
            return f"{kind.name}: {wrong}" if wrong else f"{GOOD} {kind.name}"
    return UNFIT


def prepare(case: Case) -> onnx.ModelProto:
    """Return the model of a case with the shapes of its inputs and outputs, which drawn ones leave out."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for value in model.graph.input:
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and not tensor.HasField("shape") and value.name in case.feeds:
            tensor.shape.SetInParent()
            for size in np.shape(case.feeds[value.name]):
                tensor.shape.dim.add(dim_value=size)
    return onnx.ModelProto.FromString(opset.repair(model).model.SerializeToString())


def _fault_of(kind: Kind, original: Any, faulty: Any, case: Case, before: Sequence[Any]) -> str:
    """Return what is wrong with the repair of a faulty model, "" if nothing is."""
    if kind.code not in {found.code for found in opset.check(faulty)}:
        return f"the checker does not find {kind.code}"
    repaired = opset.repair(faulty)
    if not repaired.mended:
        return "nothing was mended"
    left = [found for found in repaired.left if found.severity == "error" or found.code == kind.code]
    if left:
        return f"left: {left[0]}"
    mended = onnx.ModelProto.FromString(repaired.model.SerializeToString())
    if onnx_accepts(original) and not onnx_accepts(mended):
        return "onnx's checker refuses it"
    again = opset.repair(mended)
    if again.mended:
        return f"a second repair mends more: {again.mended[0]}"
    if kind.blank is not None:
        was, now = (kind.blanked(each) for each in (original, mended))
        if was != now:
            return "something else changed"
    after = opset.ReferenceEvaluator(mended, seed=0).run(None, dict(case.feeds))
    return difference(Case(case.name, original, case.feeds, before, rtol=0, atol=0), after)


def onnx_accepts(model: onnx.ModelProto) -> bool:
    """Whether onnx's checker accepts a model, types and shapes included."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges repair", description=about)
    parser.add_argument("--count", type=int, default=200, help="models (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the models and the faults")
    parser.add_argument("--kind", action="append", default=[], choices=[kind.name for kind in KINDS])
    parser.add_argument("--case", metavar="NAME", help="examine one case alone")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    options = parser.parse_args(arguments)
    sources()  # before the processes that share them start
    names = [options.case] if options.case else [f"repair/{options.seed}.{number}" for number in range(options.count)]
    counts: Counter[str] = Counter()
    faults = 0
    for name, verdict in each(
        functools.partial(examine, kinds=options.kind), iter(names), options.processes, 120, MEMORY
    ):
        if isinstance(verdict, Died):
            verdict = UNFIT if verdict.stage == "drawing" else f"{verdict.stage}: {verdict.why}"
        if verdict.startswith((GOOD, UNFIT)):
            counts[verdict] += 1
        else:
            faults += 1
            print(f"{name}: {verdict}", flush=True)
    for verdict, count in sorted(counts.items()):
        print(f"{count:5} {verdict}")
    print(f"{counts.total() - counts[UNFIT]:,} mended, {faults:,} wrong")
    return int(faults > 0)
