"""Examples of the YAML cross every transition on both sides of which they hold, and give the same values there."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import opset
from opset.errors import ConversionError
from opset.reference.examples import model_of
from opset.schemas.model import example_versions
from opset.schemas.names import shown
from tests.conformance.round_trips import REGISTRY, problem

# Transitions that some examples do not cross although they hold on both sides: the code of the refusal.
REFUSED = {
    ("AveragePool", 19, 22): "C204",  # a last window that holds only padding is left out from version 22 on
    ("Gather", 11, 1): "C202",  # indices that may be negative need arithmetic, which version 1 has for floats alone
    ("LpPool", 18, 22): "C204",
    ("MaxPool", 12, 22): "C204",
    ("RoiAlign", 16, 10): "C204",  # the default of version 16 means something that version 10 lacks
}


def crossings():
    """Each transition in each direction, with the examples that hold on both sides."""
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            versions = REGISTRY.versions(name, domain)
            for older, newer in pairwise(versions):
                numbers = [older.since_version, newer.since_version]
                examples = [
                    each
                    for each in REGISTRY.examples(name, domain)
                    if not each.error and set(numbers) <= set(example_versions(each, numbers))
                ]
                for before, after in ((older, newer), (newer, older)):
                    title = f"{shown(domain)}-{name}-{before.since_version}-{after.since_version}"
                    yield pytest.param(before, after, examples, id=title)


CROSSINGS = list(crossings())


def crossed(before, after, example):
    """What is wrong with an example after the transition, "" if it is right; the codes of a refusal."""
    try:
        model = opset.convert(model_of(before, example), {before.domain: after.since_version})
    except ConversionError as error:
        return " ".join(sorted({finding.code for finding in error.findings}))
    return problem(model, example)


@pytest.mark.parametrize(("before", "after", "examples"), CROSSINGS)
def test_an_example_crosses_the_transition(before, after, examples):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        problems = {each.name: why for each in examples if (why := crossed(before, after, each))}
    refused = REFUSED.get((before.name, before.since_version, after.since_version))
    assert set(problems.values()) == ({refused} if refused else set()), problems


def test_nearly_every_transition_is_crossed_by_an_example():
    assert len(CROSSINGS) > 800
    assert sum(bool(param.values[2]) for param in CROSSINGS) > 0.95 * len(CROSSINGS)
