"""The harness of attacks: it notices what it is there for."""

import pytest

from tests.hostile.processes import attack, own, python


def test_a_plain_command_is_done():
    assert "convert" in own(attack("--help"), 0).text


@pytest.mark.parametrize(
    "code",
    ["x = bytes(3 << 30)", "import os; os.abort()", "raise ValueError", "import sys; sys.exit(70)"],
    ids=["memory", "crash", "traceback", "internal"],
)
def test_what_is_not_ours_is_noticed(code):
    with pytest.raises(AssertionError):
        own(python("-c", code))


def test_an_endless_loop_is_ended():
    assert python("-c", "while True: pass").status < 0


def test_endless_output_is_ended():
    outcome = python("-c", "while True: print('x' * 100_000)")
    assert outcome.status < 0 and len(outcome.stdout) < 64 << 20
