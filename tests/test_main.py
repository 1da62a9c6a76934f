"""How the command line starts: from which folders modules are imported, and what an interrupt does until it runs."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest

import opset.cli
from opset.__main__ import leave_working_folder, main
from opset.cli import signals

LIBRARY = os.path.dirname(os.__file__)
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(opset.__file__)))


@pytest.fixture
def start(tmp_path, monkeypatch):
    """A function that starts in a folder with a path of modules, and returns what is left of it and of PYTHONPATH."""
    monkeypatch.setenv("PYTHONSAFEPATH", "")

    def start(path, python_path=None, folder=tmp_path):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", path)
        monkeypatch.delenv("PYTHONPATH", raising=False)
        if python_path is not None:
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join(python_path))
        leave_working_folder()
        assert os.environ["PYTHONSAFEPATH"] == "1"
        return sys.path, os.environ.get("PYTHONPATH")

    return start


def test_the_working_folder_and_relative_ones_are_left_out_before_the_library(start, tmp_path):
    here, inside = str(tmp_path), str(tmp_path / "lib")
    (tmp_path / "link").symlink_to(tmp_path)
    given = [here, "", ".", str(tmp_path / "link"), inside, "/other"]
    assert start([*given, LIBRARY, "/site", here]) == ([inside, "/other", LIBRARY, "/site", here], None)
    assert start([*given, LIBRARY], ["lib", "", "/other", here]) == (["/other", LIBRARY], "/other")
    assert start([*given, "/site"]) == ([inside, "/other", "/site"], None)  # without the library, all are looked at
    assert start([LIBRARY], [inside]) == ([LIBRARY], inside)


def test_the_folder_of_this_package_stays(start):
    assert start([PACKAGE, "/other", LIBRARY], [".", "/other"], PACKAGE) == (
        [PACKAGE, "/other", LIBRARY],
        os.pathsep.join([PACKAGE, "/other"]),
    )


def test_a_working_folder_that_was_removed_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["", "/other", LIBRARY])
    leave_working_folder()
    assert sys.path == ["", "/other", LIBRARY]


@pytest.mark.parametrize(
    ("before", "after"),
    [(signal.SIG_IGN, signal.SIG_IGN), (signal.SIG_DFL, signal.SIG_DFL), (signal.default_int_handler, signal.SIG_DFL)],
)
def test_an_interrupt_ends_the_start_unless_it_is_ignored(before, after, monkeypatch):
    calls = []
    monkeypatch.setattr("opset.__main__.leave_working_folder", lambda: calls.append("path"))
    monkeypatch.setattr(opset.cli, "main", lambda: calls.append(signal.getsignal(signal.SIGINT)))
    old = signal.signal(signal.SIGINT, before)
    try:
        main()
    finally:
        signal.signal(signal.SIGINT, old)
    assert calls == ["path", after]


@pytest.mark.parametrize(
    ("ended", "status", "said"),
    [(5, 5, ""), (signals.Stopped(130), 130, "interrupted\n"), (signals.Stopped(143), 143, "")],
)
def test_a_command_runs_between_signals_that_are_heard_and_ignored(ended, status, said, monkeypatch, capsys):
    calls = []

    def run_command_line():
        calls.append("run")
        if isinstance(ended, BaseException):
            raise ended
        return ended

    for name in ("install_handlers", "ignore_signals"):
        monkeypatch.setattr(signals, name, lambda name=name: calls.append(name))
    monkeypatch.setattr("opset.cli._run_command_line", run_command_line)
    monkeypatch.setattr("opset.cli.gc", SimpleNamespace(set_threshold=lambda *numbers: None, freeze=lambda: None))
    with pytest.raises(SystemExit) as left:
        opset.cli.main()
    assert (left.value.code, calls) == (status, ["install_handlers", "run", "ignore_signals"])
    assert capsys.readouterr().err == said


def test_a_file_that_cannot_be_written_is_an_internal_error_where_streams_are_meant(capsys):
    assert opset.cli._report_unwritable(FileNotFoundError(2, "No such file", "gone")) == opset.cli.INTERNAL
    line = capsys.readouterr().err
    assert line.startswith("opset: internal error: FileNotFoundError: ") and line.endswith("happened)\n")
