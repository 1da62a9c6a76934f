"""What a budget counts, what it leaves for a part of the work, and how it ends."""

import pytest

from opset import budget
from opset.budget import Budget, BudgetExceeded, Limits


@pytest.fixture
def clock(monkeypatch):
    """A list whose only element is the time."""
    now = [100.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: now[0])
    return now


def test_steps_are_counted_up_to_the_limit():
    counted = Budget(Limits(max_steps=10), max_steps=5)
    counted.charge()
    counted.charge(9)
    with pytest.raises(BudgetExceeded, match="more than 10 steps") as caught:
        counted.charge()
    assert (caught.value.kind, counted.steps) == ("steps", 11)
    with pytest.raises(BudgetExceeded, match="more than 5 steps"):
        Budget(Limits(), max_steps=5).charge(6)
    Budget(Limits()).charge(1 << 61)


def test_bytes_count_while_they_are_held():
    held = Budget(Limits(max_bytes=10), max_bytes=5)
    held.hold(4)
    held.hold(6)
    with pytest.raises(BudgetExceeded, match="needs 11 bytes, and 10 are allowed") as caught:
        held.hold(1)
    assert (caught.value.kind, held.live) == ("bytes", 10)
    held.release(3)
    held.check_bytes(3)
    assert held.live == 7
    with pytest.raises(BudgetExceeded, match="and 5 are allowed"):
        Budget(Limits(), max_bytes=5).hold(6)


def test_time_is_looked_at_where_there_is_a_limit(clock):
    timed = Budget(Limits(timeout=5))
    clock[0] = 105
    timed.charge()
    clock[0] = 105.5
    for look in (timed.charge, timed.check_time):
        with pytest.raises(BudgetExceeded, match="it may take 5 seconds") as caught:
            look()
        assert caught.value.kind == "seconds"
    Budget(Limits()).check_time()


def test_a_part_has_what_is_left_and_no_more_than_its_own_limits(clock):
    whole = Budget(Limits(10, 100, 5))
    whole.charge(4)
    clock[0] = 102
    assert whole.remaining_limits(Limits()) == Limits(6, 100, 3)
    assert whole.remaining_limits(Limits(7, 101, 4)) == Limits(6, 100, 3)
    assert whole.remaining_limits(Limits(2, 50, 1)) == Limits(2, 50, 1)
    clock[0] = 105
    assert whole.remaining_limits(Limits()) == Limits(6, 100, 1e-6)
    assert Budget(Limits()).remaining_limits(Limits()) == Limits()
    assert Budget(Limits()).remaining_limits(Limits(1, 2, 3)) == Limits(1, 2, 3)
    whole.steps = 11
    with pytest.raises(BudgetExceeded):
        whole.remaining_limits(Limits())


def test_limits_that_are_given_have_names():
    assert Limits(max_steps=0, timeout=1.5).as_dict() == {"max_steps": 0, "timeout": 1.5}
    assert Limits(max_bytes=3).as_dict() == {"max_bytes": 3}
