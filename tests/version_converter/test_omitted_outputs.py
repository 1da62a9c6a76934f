"""Outputs that a node leaves out stay left out: examples of several outputs, without one of them, elsewhere.

Of each operator these are every second of the smallest examples that have at any version each set of outputs and of
inputs, each attribute with each set of outputs, each choice and type; and one of each version. `python -m judges
omitted_outputs` takes all.
"""

import pytest

from judges.conformance.coverage import distinguished, features
from judges.conformance.omitted_outputs import SEVERAL, omissions, problems

pytestmark = pytest.mark.judged


def distinguishing(model):
    """Yield the features of a model at any version, and its versions."""
    yield tuple(sorted((entry.domain, entry.version) for entry in model.opset_import))
    for at, kind, *rest in features(model, False):
        yield (at if isinstance(at, str) else at[1], kind, *rest)


@pytest.mark.parametrize("name", SEVERAL)
def test_outputs_that_are_left_out(name):
    smallest = sorted(omissions(name), key=lambda each: each.model.ByteSize())
    made = [*distinguished(smallest, lambda each: distinguishing(each.model))][::2]
    assert made
    assert [each for omission in made for each in problems(name, omission)] == []
