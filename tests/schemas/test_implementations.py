"""Notes about implementations, and the disagreements of onnxruntime that the conformance corpus has."""

from pathlib import Path

import pytest

from opset.opsets.registry import default_registry
from opset.workflow.conformance.expectations import read_expectations
from opset.workflow.corpus.cases import pick_cases

REGISTRY = default_registry()
LIST = Path(__file__).parents[2] / "judges" / "conformance" / "disagreements.yaml"
NAMES = [(domain, name) for domain in REGISTRY.domains for name in REGISTRY.operators(domain)]


@pytest.fixture(scope="module")
def disagreements():
    """The cases with which onnxruntime disagrees."""
    return {name for entry in read_expectations(str(LIST), "onnxruntime") for name in entry.cases}


def named_examples(schema):
    """Return the examples that the notes about onnxruntime at one version of an operator name."""
    notes = REGISTRY.documentation(schema).implementations
    return {example for note in notes if note.name == "onnxruntime" for example in note.examples}


def test_notes_about_onnxruntime_name_the_examples_with_which_it_disagrees(disagreements):
    """A note may also name what the standard leaves open, and errors, which a runtime accepts."""
    for domain, name in NAMES:
        versions = REGISTRY.versions(name, domain)
        noted = any(named_examples(each) for each in versions)
        for pick in pick_cases(REGISTRY, [versions], every_version=True):
            schema, example = pick.schema, pick.example
            if example.name in named_examples(schema):
                assert pick.name in disagreements or example.chosen or example.error, pick.name
            elif noted:
                assert pick.name not in disagreements, f"no note about onnxruntime names the example of {pick.name}"
