"""Leaves out one output of each example that has several, and compares the others elsewhere, and lowered.

    python -m judges omitted_outputs [-k PATTERN]

An example goes to both sides of each version of its operator. The exit status is 1 where an output is another one, or
a converted model is not valid. `tests/version_converter/test_omitted_outputs.py` does this with some of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import onnx

import opset
from judges.conformance.judge import RANDOM, Case, difference
from judges.conformance.validity import faults
from opset.errors import ConversionError, RunError
from opset.opsets.registry import default_registry
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema

REGISTRY = default_registry()
NEWEST = onnx.defs.onnx_opset_version()
SEVERAL = [
    name
    for name in REGISTRY.operators("")
    if name not in RANDOM and max(schema.max_output for schema in REGISTRY.versions(name)) > 1
]


class Omission(NamedTuple):
    """A model of an example without one of its outputs, the opsets that it goes to, and its inputs."""

    model: onnx.ModelProto
    targets: Sequence[int]
    feeds: dict[str, Any]


def omissions(name: str) -> Iterator[Omission]:
    """Yield each example of an operator at each of its versions, without each of its outputs."""
    versions = REGISTRY.versions(name)
    for schema in versions:
        since = schema.since_version
        if since > NEWEST:
            continue
        boundaries = {each for other in versions for each in (other.since_version - 1, other.since_version)}
        targets = [each for each in sorted(boundaries - {since}) if 1 <= each <= NEWEST]
        for example in REGISTRY.examples(name):
            if not example.error and example_versions(example, [since]):
                for model in _without_one(schema, example):
                    yield Omission(model, targets, feeds_of(example))


def _without_one(schema: OpSchema, example: Example) -> Iterator[onnx.ModelProto]:
    """Yield models of an example that leave out one output, as an empty name, and none where it is the last one."""
    model = onnx.ModelProto.FromString(model_of(schema, example).SerializeToString())
    (node,) = model.graph.node
    for position, name in enumerate(node.output):
        if name and sum(map(bool, node.output)) > 1:
            made = onnx.ModelProto()
            made.CopyFrom(model)
            made.graph.node[0].output[position] = ""
            kept = [value for value in model.graph.output if value.name != name]
            del made.graph.output[:]
            made.graph.output.extend(kept)
            yield made


def problems(name: str, omission: Omission) -> Iterator[str]:
    """Yield what is wrong with the conversions of an example that leaves out an output."""
    before = omission.model
    try:
        expected = opset.ReferenceEvaluator(before, seed=0).run(None, omission.feeds)
    except RunError:  # present keys come with present values, say
        return
    case = Case(name, before, omission.feeds, expected, random=name == "Dropout")
    for to in [*omission.targets, None]:
        try:
            after = opset.convert(before, to) if to else opset.lower(before, [name])
        except ConversionError as error:
            if any(finding.code[0] != "C" for finding in error.findings):
                yield f"{name} to {to}: {error}"
            continue
        wrong = faults(after, before, {(name, "")} if to is None else ())
        wrong.append(difference(case, opset.ReferenceEvaluator(after, seed=0).run(None, omission.feeds)))
        yield from (f"{name} to {to}: {each}: {before}" for each in wrong if each)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges omitted_outputs", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="part of operators' names")
    options = parser.parse_args(arguments)
    wrong = 0
    for name in SEVERAL:
        if options.pattern not in name:
            continue
        made = [*omissions(name)]
        for omission in made:
            for each in problems(name, omission):
                wrong += 1
                print(each)
        print(f"{name}: {len(made)} models", flush=True)
    return int(wrong > 0)
