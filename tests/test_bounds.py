"""The bounds that other tests use do fail."""

from itertools import combinations

import pytest

from tests.bounds import cpu_seconds, forget_peak, growth, megabytes

pytestmark = pytest.mark.clock


def test_too_much_cpu_time_fails():
    with pytest.raises(AssertionError, match="are allowed"), cpu_seconds(0.02):
        sum(range(50_000_000))
    with cpu_seconds(5):
        sum(range(1000))


@pytest.mark.skipif(not forget_peak(), reason="the peak of memory cannot be reset here")
def test_too_much_memory_fails():
    earlier = bytearray(200_000_000)
    del earlier
    with pytest.raises(AssertionError, match="are allowed"), megabytes(50):
        assert bytearray(100_000_000).count(1) == 0
    with megabytes(50):
        assert bytearray(10_000_000).count(1) == 0


def test_linear_and_quadratic_work_are_distinguished():
    assert growth(lambda size: lambda: sum(range(size)), 2_000_000, 5) < 2
    assert growth(lambda size: lambda: sum(1 for _ in combinations(range(size), 2)), 600, 5) > 3
