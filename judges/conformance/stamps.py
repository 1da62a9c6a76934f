"""Stamps valid models with another opset, and reads them with `--assume-opset auto`: right or refused, never wrong.

    python -m judges stamps --count 1000 --seed 7

The models are made of the examples of all operators, each at every version for which it holds. A model that is valid
at the wrong stamp too is left as it is stamped: nobody can see that from the model, and it counts as hidden. Of the
others, one that is read as another version has to compute what the original computes. The exit status is 1 if one does
not.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import onnx

import opset
from judges.conformance.judge import RANDOM, Case, difference
from opset.errors import ConversionError, RunError
from opset.opsets.registry import default_registry
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import example_versions
from opset.version_converter.stamps import AUTO, assume_opsets

REGISTRY = default_registry()
RIGHT, HIDDEN, REFUSED, WRONG = "right", "hidden", "refused", "wrong"


def example_cases() -> Iterator[Case]:
    """Yield a case for each example of each operator at each of its versions."""
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            if name in RANDOM:
                continue
            for schema in REGISTRY.versions(name, domain):
                for example in REGISTRY.examples(name, domain):
                    if (
                        not example.error
                        and example_versions(example, [schema.since_version])
                        and not schema.deprecated
                    ):
                        made = model_of(schema, example)
                        model = onnx.ModelProto.FromString(made.SerializeToString())
                        label = f"{name} {schema.since_version} {example.name}"
                        yield Case(label, model, feeds_of(example), example.outputs)


def judge_case(case: Case, draw: random.Random) -> str:
    """Return the verdict on one case, stamped with another version of the domain of its first node."""
    node = case.model.graph.node[0]
    domain = "" if node.domain == "ai.onnx" else node.domain
    names = (domain,) if domain else ("", "ai.onnx")
    stated = next(each for each in case.model.opset_import if each.domain in names)
    others = [each for each in range(1, REGISTRY.domains[domain] + 1) if each != stated.version]
    if not others:
        return HIDDEN
    stamped = onnx.ModelProto()
    stamped.CopyFrom(case.model)
    wrong = draw.choice(others)
    for each in stamped.opset_import:
        if each.domain == stated.domain:
            each.version = wrong
    try:
        found, notes = assume_opsets(opset.load(stamped), AUTO, REGISTRY)
    except ConversionError:
        return REFUSED
    if not notes:
        return HIDDEN
    try:
        expected = opset.ReferenceEvaluator(case.model, seed=0).run(None, case.feeds)
    except RunError:
        return HIDDEN
    try:
        actual: Any = opset.ReferenceEvaluator(found, seed=0).run(None, case.feeds)
    except RunError as error:
        return f"{WRONG}: {error}"
    told = difference(Case(case.name, case.model, case.feeds, expected), actual)
    return f"{WRONG}: stamped {wrong}: {notes[0]}: {told}" if told else RIGHT


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges stamps", description=about)
    parser.add_argument("--count", type=int, default=1000, help="models that are stamped wrongly and seen to be")
    parser.add_argument("--seed", type=int, default=0, help="of the models and the stamps")
    options = parser.parse_args(arguments)
    draw = random.Random(options.seed)
    cases = [*example_cases()]
    counts: Counter[str] = Counter()
    while counts.total() - counts[HIDDEN] < options.count:
        case = draw.choice(cases)
        verdict = judge_case(case, draw)
        counts[verdict.partition(":")[0]] += 1
        if verdict.startswith(WRONG):
            print(f"{case.name}: {verdict}", flush=True)
    print(", ".join(f"{count:,} {word}" for word, count in sorted(counts.items())))
    return int(counts[WRONG] > 0)
