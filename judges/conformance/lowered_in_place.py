"""Lowers each operator that can be lowered at opsets that have it: its examples compute the same, without it anywhere.

    python -m judges lowered_in_place [-k PATTERN]

An example is lowered at the first and the last opset of each version of its operator. The exit status is 1 where a
value is another one, the model is not valid, or a refusal has no reason.
`tests/version_converter/test_lowered_in_place.py` does this with some of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import onnx

import opset
from judges.conformance.judge import RANDOM
from judges.conformance.lowerings import lowered
from judges.conformance.round_trips import problem
from judges.conformance.validity import faults
from opset.errors import ConversionError
from opset.opsets.registry import default_registry
from opset.reference.example_models import model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema

REGISTRY = default_registry()
NEWEST = onnx.defs.onnx_opset_version()
OPERATORS = [versions for versions in lowered() if not versions[0].domain and versions[0].name not in RANDOM]


class Placed(NamedTuple):
    """An example, and its model at one opset."""

    example: Example
    model: onnx.ModelProto

    @property
    def version(self) -> int:
        """The opset."""
        return next(entry.version for entry in self.model.opset_import if not entry.domain)


def at_opsets(versions: Sequence[OpSchema]) -> Iterator[Placed]:
    """Yield the examples of an operator at the first and the last opset of each of its versions."""
    for schema, following in zip(versions, [*versions[1:], None], strict=True):
        if schema.since_version > NEWEST:
            break
        last = min(NEWEST, following.since_version - 1 if following is not None else NEWEST)
        for example in REGISTRY.examples(schema.name):
            if not example.error and example_versions(example, [schema.since_version]):
                for version in sorted({schema.since_version, last}):
                    model = onnx.ModelProto.FromString(model_of(schema, example).SerializeToString())
                    next(entry for entry in model.opset_import if not entry.domain).version = version
                    yield Placed(example, model)


def outcome(name: str, placed: Placed) -> tuple[bool, str]:
    """Return whether an operator is lowered in a model, and what is wrong with the result or with the refusal."""
    try:
        after = opset.lower(placed.model, [name])
    except ConversionError as error:
        reasoned = all(finding.code.startswith("C2") for finding in error.findings)
        return False, "" if reasoned and "does not exist" not in error.why else str(error)
    return True, "; ".join(faults(after, placed.model, {(name, "")})) or problem(after, placed.example)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges lowered_in_place", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="part of operators' names")
    options = parser.parse_args(arguments)
    wrong = 0
    for versions in OPERATORS:
        name = versions[0].name
        if options.pattern not in name:
            continue
        lowerings = models = 0
        for placed in at_opsets(versions):
            done, why = outcome(name, placed)
            models += 1
            lowerings += done
            if why:
                wrong += 1
                print(f"{name} at {placed.version}, {placed.example.name}: {why}")
        print(f"{name}: {lowerings} of {models} models", flush=True)
    return int(wrong > 0)
