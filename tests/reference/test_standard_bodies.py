"""The standard's own function bodies give what our examples say, but for what is decided case by case."""

import re
import warnings

import numpy as np
import pytest

from judges.conformance.standard_bodies import outcomes
from judges.conformance.standard_bodies_decided import DECIDED


@pytest.fixture(scope="module")
def found():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(outcomes(""))


def test_every_difference_is_decided(found):
    assert len(found) > 700
    different = [each for each in found if not each.agree]
    assert [each for each in different if not any(re.fullmatch(pattern, each.case) for pattern in DECIDED)] == []


@pytest.mark.parametrize("pattern", DECIDED)
def test_every_decision_is_needed(found, pattern):
    assert any(not each.agree for each in found if re.fullmatch(pattern, each.case))


def test_a_window_of_one_value_is_compared(found):
    cases = {each.case: each.agree for each in found}
    assert all(cases[f"{name}Window 17 one_value"] for name in ("Hann", "Hamming", "Blackman"))
