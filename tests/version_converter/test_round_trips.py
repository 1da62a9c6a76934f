"""Examples of the YAML keep their values on the way to an opset and back.

`python -m tests.conformance.round_trips` makes all trips; this is one in 97.
"""

import warnings

import numpy as np
import pytest

from tests.conformance.round_trips import result, trips

SAMPLE = [pytest.param(trip, id=trip.name) for trip in [*trips()][::97]]


@pytest.mark.parametrize("trip", SAMPLE)
def test_an_example_goes_to_an_opset_and_back(trip):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        kind, why = result(trip)
    assert kind != "wrong", why
    assert kind == "same" or why.startswith("C2")


def test_the_sample_crosses_both_ways():
    up = [trip for param in SAMPLE for trip in param.values if trip.to > trip.schema.since_version]
    assert len(up) > 100 and len(SAMPLE) - len(up) > 80
