"""The bounds that other tests use do fail."""

from itertools import combinations

import pytest

from tests.bounds import forget_peak, growth, lines, megabytes


def test_too_many_lines_fail():
    def endless():
        while True:
            pass

    with pytest.raises(AssertionError, match="more than 1,000 lines"), lines(1000):
        endless()
    with lines(1000) as number:
        assert sum(each for each in range(100)) == 4950
    assert 100 <= number() <= 300


def test_too_many_lines_fail_where_the_error_is_caught():
    def stubborn():
        try:
            sum(each for each in range(1000))
        except AssertionError:
            return

    with pytest.raises(AssertionError, match="are allowed"), lines(100):
        stubborn()


@pytest.mark.skipif(not forget_peak(), reason="the peak of memory cannot be reset here")
def test_too_much_memory_fails():
    earlier = bytearray(200_000_000)
    del earlier
    with pytest.raises(AssertionError, match="are allowed"), megabytes(50):
        assert bytearray(100_000_000).count(1) == 0
    with megabytes(50):
        assert bytearray(10_000_000).count(1) == 0


def test_linear_and_quadratic_work_are_distinguished():
    def linear(size):
        return sum(1 for _ in range(size))

    def quadratic(size):
        return sum(1 for _ in combinations(range(size), 2))

    assert growth(lambda size: lambda: linear(size), 500, 4) == pytest.approx(1, abs=0.05)
    assert growth(lambda size: lambda: quadratic(size), 50, 4) == pytest.approx(4, abs=0.3)
