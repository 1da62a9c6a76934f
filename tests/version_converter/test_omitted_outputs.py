"""Outputs that a node leaves out stay left out: examples of several outputs, without one of them, elsewhere.

Of each operator these are the smallest examples that have, at each version, each output that is left out with each
attribute, and each set of inputs; at any version each choice and type. `python -m judges omitted_outputs` takes all.
"""

import pytest

from judges.conformance.coverage import covering
from judges.conformance.omitted_outputs import SEVERAL, omissions, problems

pytestmark = pytest.mark.judged


@pytest.mark.parametrize("name", SEVERAL)
def test_outputs_that_are_left_out(name):
    made = [*covering(omissions(name), lambda each: each.model, each_version=False)]
    assert made
    assert [each for omission in made for each in problems(name, omission)] == []
