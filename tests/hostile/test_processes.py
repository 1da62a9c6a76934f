"""The harness of attacks: it notices what it is there for."""

import signal

import pytest

from judges.hostile.processes import attack, imported, launch, own, python


@pytest.mark.parametrize("start", [attack, launch])
def test_a_plain_command_is_done(start):
    assert "convert" in own(start("--help"), 0).text


@pytest.mark.parametrize("start", [imported, lambda code: python("-c", code)], ids=["imported", "python"])
@pytest.mark.parametrize(
    "code",
    ["x = bytes(3 << 30)", "import os; os.abort()", "raise ValueError", "import sys; sys.exit(70)"],
    ids=["memory", "crash", "traceback", "internal"],
)
def test_what_is_not_ours_is_noticed(code, start):
    with pytest.raises(AssertionError):
        own(start(code))


def test_an_endless_loop_is_ended():
    assert python("-c", "while True: pass", seconds=1).status == -signal.SIGXCPU


def test_a_copy_has_the_limits_and_the_environment_of_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("SOMETHING", "else")
    code = "import os, resource, sys; print(os.getcwd(), os.environ['SOMETHING'], sys.argv[1:], sys.stdin.read()); "
    code += "print([resource.getrlimit(each) for each in (resource.RLIMIT_AS, resource.RLIMIT_CPU)])"
    both = imported(code, "a", stdin=b"b", cwd=tmp_path), python("-c", code, "a", stdin=b"b", cwd=tmp_path)
    assert both[0].stdout == both[1].stdout and both[0].status == both[1].status == 0


@pytest.mark.parametrize("start", [imported, lambda code: python("-c", code)], ids=["imported", "python"])
def test_endless_output_is_ended(start):
    outcome = start("while True: print('x' * 100_000)")
    assert outcome.status < 0 and len(outcome.stdout) < 64 << 20
