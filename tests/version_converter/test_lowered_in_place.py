"""Each operator that can be lowered, at opsets that have it: its examples compute the same, without it anywhere."""

import onnx
import pytest

import opset
from judges.conformance.judge import RANDOM
from judges.conformance.lowerings import lowered
from judges.conformance.round_trips import problem
from judges.conformance.validity import faults
from opset.errors import ConversionError
from opset.opsets.registry import default_registry
from opset.reference.example_models import model_of
from opset.schemas.model import example_versions

REGISTRY = default_registry()
NEWEST = onnx.defs.onnx_opset_version()
NEVER = {"ConcatFromSequence", "MelWeightMatrix", "SequenceAt", "SequenceLength"}
"""Operators whose examples have no other form: before 11 there are no sequences, and computed sizes stay computed."""
OPERATORS = [versions for versions in lowered() if not versions[0].domain and versions[0].name not in RANDOM]


def at_opsets(versions):
    """Yield the examples of an operator, each with the first and the last opset of its version."""
    for schema, following in zip(versions, [*versions[1:], None], strict=True):
        if schema.since_version > NEWEST:
            break
        last = min(NEWEST, following.since_version - 1 if following is not None else NEWEST)
        for example in REGISTRY.examples(schema.name):
            if not example.error and example_versions(example, [schema.since_version]):
                for version in sorted({schema.since_version, last}):
                    yield example, schema, version


@pytest.mark.parametrize("versions", OPERATORS, ids=lambda versions: versions[0].name)
def test_examples_compute_the_same_without_the_operator(versions):
    name = versions[0].name
    done = 0
    for example, schema, version in at_opsets(versions):
        before = onnx.ModelProto.FromString(model_of(schema, example).SerializeToString())
        next(entry for entry in before.opset_import if not entry.domain).version = version
        try:
            after = opset.lower(before, [name])
        except ConversionError as error:
            assert all(finding.code.startswith("C2") for finding in error.findings), (example.name, version, str(error))
            assert "does not exist" not in error.why, (example.name, version, error.why)
            continue
        done += 1
        assert not faults(after, before, {(name, "")}), (example.name, version)
        assert not problem(after, example), (example.name, version)
    assert done or name in NEVER or versions[0].since_version > NEWEST


def test_a_reason_names_the_version_that_it_is_about():
    (cosh,) = (each for each in REGISTRY.examples("Cosh") if each.name == "double")
    before = model_of(REGISTRY.schema("Cosh", 13, ""), cosh)
    with pytest.raises(ConversionError) as caught:
        opset.lower(before, ["Cosh"])
    assert caught.value.why == (
        "it is expressed in operators of version 8: before version 9, nothing is exact enough for double"
    )
