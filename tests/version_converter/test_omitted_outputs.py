"""Outputs that a node leaves out stay left out: examples of several outputs, without one of them, elsewhere.

Of each operator these are the smallest examples that have, at each version, each set of outputs; at any version each
set of inputs and each attribute with each set of outputs, each choice and type. `python -m judges omitted_outputs`
takes all.
"""

import pytest

from judges.conformance.coverage import distinguished, features
from judges.conformance.omitted_outputs import SEVERAL, omissions, problems

pytestmark = pytest.mark.judged


def distinguishing(model):
    """Yield the features of a model: of what is left out at its version, of all else at any."""
    for at, kind, *rest in features(model, False):
        is_of_version = isinstance(at, str) or kind == "outputs"
        yield (at if is_of_version else at[1], kind, *rest)


@pytest.mark.parametrize("name", SEVERAL)
def test_outputs_that_are_left_out(name):
    smallest = sorted(omissions(name), key=lambda each: each.model.ByteSize())
    made = [*distinguished(smallest, lambda each: distinguishing(each.model))]
    assert made
    assert [each for omission in made for each in problems(name, omission)] == []
