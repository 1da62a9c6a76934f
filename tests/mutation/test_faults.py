"""Each fault that was mended can be brought back: what is reverted occurs once, and its test exists."""

import ast
import shlex

import pytest

from judges.__main__ import JUDGES
from judges.mutation.faults import ROOT, Fault, command, faults, judge, reverted
from judges.mutation.scratch import Outcome

FAULTS = list(faults())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.words)
def test_what_is_reverted_occurs_once_and_its_test_exists(fault):
    for name, text in reverted(fault).items():
        assert name.startswith("opset/")
        if name.endswith(".py"):
            ast.parse(text)
    words = shlex.split(fault.found_by)
    if words[0] == "python":
        assert words[1:3] == ["-m", "judges"] and words[3] in JUDGES
    else:
        file, _, test = words[0].partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test.split('::')[-1].partition('[')[0]}(" in text


def test_no_fault_is_listed_twice():
    assert len({fault.words for fault in FAULTS}) == len(FAULTS)


class Copy:
    """A checkout in which a test fails where a file has the text `wrong`."""

    def __init__(self, folder, fails_now=False):
        self.folder, self.fails_now = folder, fails_now
        (folder / "opset.py").write_text("right = 1\n")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def restore(self):
        (self.folder / "opset.py").write_text("right = 1\n")

    def python(self, *arguments, seconds):
        failed = self.fails_now or "wrong" in (self.folder / "opset.py").read_text()
        return Outcome(int(failed), f"{len(arguments)} arguments")


def fault(now, before):
    return Fault("words", "kind", (("opset.py", now, before),), "tests/test_x.py -k 'a or b'", "mine.yaml")


def test_a_fault_is_found_where_its_test_fails_with_the_mend_reverted_alone(tmp_path):
    assert judge(fault("right", "wrong"), Copy(tmp_path), {}) == "yes"
    assert judge(fault("right", "other"), Copy(tmp_path), {}) == "no: exit status 0, 6 arguments"
    assert judge(fault("absent", "wrong"), Copy(tmp_path), {}).startswith("no: mine.yaml: words: in opset.py")
    assert judge(fault("right", "wrong"), Copy(tmp_path, fails_now=True), {}).startswith("no: fails as it is now")
    assert (tmp_path / "opset.py").read_text() == "right = 1\n"


def test_lines_of_a_block_are_found_with_their_indentation(tmp_path):
    (tmp_path / "opset.py").write_text("def f():\n    if right:\n        return 1\n")
    assert reverted(fault("if right:\n    return 1", "if wrong:\n    return 1"), tmp_path) == {
        "opset.py": "def f():\n    if wrong:\n        return 1\n"
    }


def test_a_command_and_a_test_are_run_by_this_python():
    assert command("python -m judges whole --seed 1") == ("-m", "judges", "whole", "--seed", "1")
    assert command("tests/a.py::test_b -k 'c d'")[-3:] == ("tests/a.py::test_b", "-k", "c d")
