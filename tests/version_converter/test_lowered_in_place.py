"""Each operator that can be lowered, at opsets that have it: examples compute the same, without it anywhere.

Of each operator these are every second of the smallest examples that have each set of inputs and attributes at each
opset, and at any each choice and each type; `python -m judges lowered_in_place` takes all.
"""

import pytest

import opset
from judges.conformance.coverage import covering
from judges.conformance.lowered_in_place import NEWEST, OPERATORS, REGISTRY, at_opsets, outcome
from opset.errors import ConversionError
from opset.reference.example_models import model_of

NEVER = {"ConcatFromSequence", "MelWeightMatrix", "SequenceAt", "SequenceLength"}
"""Operators whose examples have no other form: before 11 there are no sequences, and computed sizes stay computed."""

pytestmark = pytest.mark.judged


@pytest.mark.parametrize("versions", OPERATORS, ids=lambda versions: versions[0].name)
def test_examples_compute_the_same_without_the_operator(versions):
    name, done = versions[0].name, 0
    for placed in [*covering(at_opsets(versions), lambda each: each.model, each_version=False)][::-2]:
        lowered, wrong = outcome(name, placed)
        assert not wrong, (placed.example.name, placed.version, wrong)
        done += lowered
    assert done or name in NEVER or versions[0].since_version > NEWEST


@pytest.mark.parametrize(
    ("operator", "example", "version", "why"),
    [
        ("Cosh", "double", 13,
         "it is expressed in operators of version 8: before version 9, nothing is exact enough for double"),
        ("SequenceLength", "plain", 11,
         "it is expressed in operators of version 10: before version 11 there are no sequences, and 'input_0' is one "
         "whose elements are not known"),
    ],
)  # fmt: skip
def test_a_reason_names_the_version_that_it_is_about(operator, example, version, why):
    (found,) = (each for each in REGISTRY.examples(operator) if each.name == example)
    before = model_of(REGISTRY.schema(operator, version, ""), found)
    with pytest.raises(ConversionError) as caught:
        opset.lower(before, [operator])
    assert caught.value.why == why
