"""Converts each example of the operators' YAML to an opset and back, and compares the values at both ends.

    python -m judges round_trips [-k PATTERN] [--to 7,13,21,28] [--every 1] [-v]

An example runs at each version for which it holds. From there it goes to each opset of `--to`, for the other domains to
each of their versions, and back to its own: a lower one is down and up, a higher one up and down. Where both
conversions are possible, the reference evaluator computes the values at both ends. The exit status is 1 where
a value differs or a converted model does not run.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

import opset
from judges.conformance.validity import faults
from opset import ReferenceEvaluator
from opset.errors import ConversionError, OpsetError
from opset.opsets.registry import default_registry
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.workflow.examples.runner import disagreements

REGISTRY = default_registry()
OPSETS = (7, 13, 21, 28)


class Trip(NamedTuple):
    """An example at one version of its operator, and where it goes from there."""

    schema: OpSchema
    example: Example
    to: int

    @property
    def name(self) -> str:
        """What the trip is called in reports."""
        schema = self.schema
        return f"{domain_name(schema.domain)}-{schema.name}-{schema.since_version}-{self.to}-{self.example.name}"


def trips(opsets: Sequence[int] = OPSETS) -> Iterator[Trip]:
    """Yield each trip of each example at each version for which it holds, in a fixed order."""
    for domain in REGISTRY.domains:
        operators = {name: REGISTRY.versions(name, domain) for name in REGISTRY.operators(domain)}
        newest = max(versions[-1].since_version for versions in operators.values())
        for name, versions in operators.items():
            for schema in versions:
                since = schema.since_version
                for example in REGISTRY.examples(name, domain):
                    if not example.error and example_versions(example, [since]):
                        for to in range(1, newest + 1) if domain else opsets:
                            if to != since:
                                yield Trip(schema, example, to)


def problem(model: Any, example: Example) -> str:
    """Return what is wrong with the values of an example's converted model, "" if nothing is."""
    try:
        outputs = ReferenceEvaluator(model, seed=0).run(None, feeds_of(example))
    except OpsetError as error:
        return " ".join(str(error).split())
    return "; ".join(disagreements(example, outputs))


def result(trip: Trip) -> tuple[str, str]:
    """Return "same", "refused there", "refused back" or "wrong", and why."""
    domain, since = trip.schema.domain, trip.schema.since_version
    given = onnx.ModelProto.FromString(model_of(trip.schema, trip.example).SerializeToString())
    try:
        there = opset.convert(given, {domain: trip.to})
    except ConversionError as error:
        return "refused there", error.findings[0].code
    if why := "; ".join(faults(there, given)) or problem(there, trip.example):
        return "wrong", f"at {trip.to}: {why}"
    try:
        back = opset.convert(there, {domain: since})
    except ConversionError as error:
        return "refused back", error.findings[0].code
    why = "; ".join(faults(back, given)) or problem(back, trip.example)
    return ("wrong", f"back at {since}: {why}") if why else ("same", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the trips, and print what they gave; 1 where a value is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-k", dest="pattern", default="", help="part of the names of trips to make")
    parser.add_argument("--to", default=",".join(map(str, OPSETS)), help="opsets of the default domain")
    parser.add_argument("--every", type=int, default=1, help="make one trip in so many")
    parser.add_argument("-v", dest="verbose", action="store_true", help="name what is refused, too")
    options = parser.parse_args(arguments)
    chosen = [each for each in trips([int(to) for to in options.to.split(",")]) if options.pattern in each.name]
    counts: Counter[tuple[str, str]] = Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for trip in chosen[:: options.every]:
            kind, why = result(trip)
            direction = "up and down" if trip.to > trip.schema.since_version else "down and up"
            counts[direction, kind] += 1
            if kind == "wrong" or (options.verbose and kind != "same"):
                print(f"{kind}: {trip.name}: {why}")
    for (direction, kind), count in sorted(counts.items()):
        print(f"{direction}, {kind}: {count}")
    return int(any(kind == "wrong" for _, kind in counts))
