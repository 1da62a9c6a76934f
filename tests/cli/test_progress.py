"""Progress on a terminal: how much of how many units is done, on a line that is erased at the end."""

import re
import sys

import pytest
import tqdm

from opset.cli import cli
from tests.cli.commands import SMALL, save
from tests.workflow.corpora import COPY, case, write

RUN = ["conformance", "cases", "--runtime", COPY]


@pytest.fixture
def shown(folder, monkeypatch, capsys):
    """A call of the command line with stderr, or stderr and stdout, as terminals: what it writes to both."""
    for name in "abc":
        save(f"in/{name}.onnx", SMALL, folder)
    monkeypatch.setenv("NO_COLOR", "1")
    write(folder / "cases", *(case(name) for name in ("one", "two")))

    def call(*arguments, terminals=("stderr",)):
        with monkeypatch.context() as patch:
            for name in terminals:
                patch.setattr(getattr(sys, name), "isatty", lambda: True)
            cli.main([*arguments], standalone_mode=False)
        return capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["convert", "in", "--to", "13", "--plan"], "0/3 [00:00<?, ? models/s]"),
        (["check", "in/a.onnx", "in/b.onnx", "-j", "2"], "0/2 [00:00<?, ? models/s]"),
        (["convert", "in", "--to", "13", "--plan", "--quiet"], "0/3 [00:00<?, ? models/s]"),
        (["info", "in/a.onnx", "--runtime", "tract"], ""),
        (RUN, "0/2 [00:00<?, ? cases/s]"),
        ([*RUN, "--quiet"], ""),
        (["test", "Cos", "Erf", "--only", "kernel"], " examples/s]"),
        (["testgen", "Erf", "-o", "made"], " cases/s]"),
    ],
)  # fmt: skip
def test_work_on_several_things_is_shown_and_erased(shown, arguments, first):
    stdout, stderr = shown(*arguments)
    begin, *rest, end = stderr.split("\r") if first else ("", "")
    assert first in "\r".join(rest) and begin == end == "" and stderr.endswith("\r") == bool(first)
    assert not first or rest[-1].strip(" ") == ""  # spaces over the line
    assert "/s]" not in stdout and shown(*arguments, terminals=()) == (stdout.replace("33 written", "0 written"), "")


@pytest.fixture
def eager(monkeypatch):
    """Progress that draws its line at each call."""

    class Eager(tqdm.tqdm):
        monitor = None

        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **{**options, "mininterval": 0, "miniters": 0})

    monkeypatch.setattr(tqdm, "tqdm", Eager)


@pytest.mark.parametrize(
    ("arguments", "unit", "counts"),
    [
        (["convert", "in", "--to", "13", "--plan"], "models", "0123"),
        (RUN, "cases", "012"),
    ],
)
def test_each_unit_is_shown_when_it_is_done(shown, eager, arguments, unit, counts):
    drawn = re.findall(rf"(\d+)/(\d+) \[.*? {unit}/s\]", shown(*arguments).err)
    assert [done for done, _ in drawn] == [*counts] and {total for _, total in drawn} == {counts[-1]}
    assert tqdm.tqdm.monitor is None  # no thread that looks at it


@pytest.mark.parametrize("arguments", [["in"], ["in/a.onnx", "-o", "-"]])
def test_a_plan_on_a_terminal_is_no_model_and_needs_no_line_of_progress(shown, arguments):
    arguments = ["convert", *arguments, "--to", "13", "--plan"]
    assert shown(*arguments, terminals=("stdout",)) == shown(*arguments, terminals=())


def test_lines_of_a_report_do_not_stand_on_the_line_of_progress(shown):
    arguments = ["convert", "in", "--to", "13", "--plan"]
    plain = shown(*arguments, terminals=())
    stdout, stderr = shown(*arguments, terminals=("stdout", "stderr"))
    assert [each.strip(" ") for each in stdout.split("\r")][-1].endswith("3 models: 3 can be converted\n")
    assert [line for line in stdout.replace("\r", "\n").splitlines() if line.strip()] == plain.out.splitlines()
    assert stderr.count("models/s]") > 3  # it is drawn again after each report
