import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _as_in_an_evaluation():
    """Overflow and the like are results, not warnings, as while the evaluator runs."""
    with np.errstate(all="ignore"):
        yield
