"""Judges are listed in one place, each can be asked for its options, and a run of all of them bounds each."""

import argparse
import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

import judges.__main__ as judges
from judges.conformance import processes, tables
from judges.conformance.coverage import pairwise
from judges.conformance.folder import folder_cases
from judges.exporters import export
from judges.exporters.drafts import Draft, some_versions

ROOT = Path(__file__).parents[1]


def run(*arguments):
    command = [sys.executable, "-m", "judges", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_each_is_listed_with_its_minutes():
    done = run()
    assert done.returncode == 0
    for name, judge in {**judges.JUDGES, **judges.TOOLS}.items():
        assert f"  {name:18}{judge.minutes:3} min  {judge.words}" in done.stdout


def test_there_is_no_other():
    done = run("nothing")
    assert done.returncode == 2 and done.stderr == "there is no judge nothing\n\n"


@pytest.mark.parametrize("name", [*judges.JUDGES, *judges.TOOLS])
def test_each_says_its_options(name, capsys):
    with pytest.raises(SystemExit) as ended:
        judges.main([name, "--help"])
    assert ended.value.code == 0 and "--help" in capsys.readouterr().out


def test_each_has_the_options_that_bound_it(capsys):
    for name, judge in judges.JUDGES.items():
        with pytest.raises(SystemExit):
            judges.main([name, "--help"])
        said = capsys.readouterr().out
        assert all(word in said for word in judge.bounded.split() if word.startswith("-")), name


def test_one_runs_with_its_own_options():
    done = run("round_trips", "-k", "Relu", "--to", "13", "--every", "20")
    assert done.returncode == 0, done.stderr


def test_a_run_of_all_stops_what_takes_longer_and_reports_what_fails(monkeypatch, capsys):
    outcomes = {"matrix": judges.CLEAN, "models": "exit status 1 after 2 s", "whole": judges.STOPPED}
    monkeypatch.setattr(judges, "IN_ALL", [*outcomes])
    asked = []

    def run_for(arguments, seconds):
        asked.append((arguments[2:], seconds))
        return outcomes[arguments[2]], ["Relu 13 -> 6: wrong"] if arguments[2] == "models" else []

    monkeypatch.setattr(judges, "run_for", run_for)
    assert judges.main(["all", "--minutes", "75", "--seed", "7"]) == 1
    whole = "whole --seconds 3600 --seed 7 --count 1000000".split()
    assert asked == [(["matrix"], 300), (["models", "--groups", "examples"], 600), (whole, 7200)]
    said = capsys.readouterr().out.splitlines()
    assert said[2:4] == ["    Relu 13 -> 6: wrong", "  again: python -m judges models --groups examples"]
    assert said[-1] == "3 judges, 1 with faults: models"


def test_what_takes_too_long_is_stopped_and_what_ends_is_reported(monkeypatch):
    monkeypatch.setattr(judges, "GRACE", 0.2)  # the interrupt is ignored if the tests run in the background
    assert judges.run_for(["-c", "import time; time.sleep(600)"], 0.1) == (judges.STOPPED, [])
    assert judges.run_for(["-c", "print(1)"], 60) == (judges.CLEAN, [])
    outcome, lines = judges.run_for(["-c", "print(*range(50), sep='\\n'); raise SystemExit(3)"], 60)
    assert outcome.startswith("exit status 3 after ")
    assert lines == [str(number) for number in range(50 - judges.SHOWN, 50)]
    assert judges.run_for(["-c", "raise ValueError('why')"], 60)[1][-1] == "ValueError: why"


STARTED = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN if sys.argv[1] == "deaf" else signal.default_int_handler)
try:
    pathlib.Path(sys.argv[2], "started").touch()
    time.sleep(600)
finally:
    pathlib.Path(sys.argv[2], "cleaned").touch()
"""


@pytest.mark.parametrize("kind", ["deaf", "listening"])
def test_a_judge_may_clean_up_before_it_is_killed(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(judges, "GRACE", 0.2 if kind == "deaf" else 60)
    seconds = 0.1
    while not (tmp_path / "started").exists():  # as long as a loaded machine needs to start it
        seconds *= 2
        assert judges.run_for(["-c", STARTED, kind, str(tmp_path)], seconds) == (judges.STOPPED, [])
    assert (tmp_path / "cleaned").exists() == (kind == "listening")


def test_models_of_exporters_are_read_with_what_they_compute(tmp_path):
    """An exporter that is not installed is named; what is no model is named and not written."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> main (float[2] x) => (float[2] y) { y = Neg (x) }'
    )
    other = onnx.ModelProto.FromString(model.SerializeToString())
    other.graph.node[0].op_type = "Erfc"
    feeds = {"x": np.float32([1, 2]), "unused": np.float32(0)}
    drafts = [Draft("torch/neg", lambda: (model, feeds)), Draft("torch/erfc", lambda: (other, feeds))]
    failed, sizes = [], []
    options = argparse.Namespace(folder=tmp_path, verbose=False)
    for draft in drafts:
        export.write_or_note(draft, options, sizes, failed)
    (case,) = folder_cases(tmp_path, "torch")
    assert case.name == "folder/torch/neg" and [*case.feeds] == ["x"] and len(sizes) == 1
    assert [each.tolist() for each in case.expected] == [[-1, -2]]
    assert len(failed) == 1 and failed[0].startswith("torch/erfc: ValidationError: ")
    assert [*folder_cases(tmp_path, "other")] == []


@pytest.mark.parametrize(("count", "every", "versions"), [(2, False, [[9, 13], [11, 17], [13, 20]]), (1, True, None)])
def test_versions_take_turns(count, every, versions):
    all_versions = (9, 11, 13, 17, 20)
    drawn = [some_versions(all_versions, number, count, every) for number in range(3)]
    assert drawn == (versions or [[*all_versions]] * 3)


def test_a_process_does_so_many_jobs():
    jobs = [*processes.each(_own_process, range(5), lifetime=2)]
    counts = Counter(process for _, process in jobs)
    assert sorted(counts.values()) == [1, 2, 2]


def _own_process(job):
    yield "asked"
    return os.getpid()


def test_combinations_that_are_kept_have_every_pair_that_there_is():
    rows = [row for row in itertools.product(range(4), range(3), "ab", "cd") if row[:2] != (3, 2)]
    kept = [rows[index] for index in pairwise(rows)]
    pairs, of_kept = (
        {pair for row in each for pair in itertools.combinations(enumerate(row), 2)} for each in (rows, kept)
    )
    assert of_kept == pairs and 11 <= len(kept) < 15 < len(rows)
    assert pairwise(list(itertools.product(range(3), range(2)))) == [*range(6)]


def test_figures_of_a_checkout_stand_beside_those_of_this_one(tmp_path, monkeypatch):
    for name, text in {
        "tests/test_architecture.py": 'ORDER = "low high".split()\n',
        "opset/__init__.py": "",
        "opset/low/__init__.py": "",
        "opset/low/one.py": "import opset.high.two\n\n\ndef converted(x):\n    a, b = x, 1\n    return id(a), b\n",
        "opset/high/__init__.py": "",
        "opset/high/two.py": 'from opset.low import one\n\n\nclass Step:\n    """A step, where it goes."""\n',
        "opset/schemas/ai.onnx/Relu.yaml": "name: Relu\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    code = tables.Code(tmp_path)
    assert tables.lines(code).figures == {
        "high, lines": 5, "low, lines": 6, "opset itself, lines": 0, "high, files": 2, "low, files": 2,
        "opset itself, files": 1, "all, lines": 11, "all, files": 5, "YAML": 1,
    }  # fmt: skip
    assert tables.imports(code).figures == {"imports that go up": 1, "circles": 1}
    assert tables.words(code).figures["participles, in 100"] == 100
    assert tables.words(code).figures["where"] == 2_000
    assert tables.habits(code).figures["id()"] == 1
    assert tables.habits(code).figures["a, b = x, y, in 1,000 lines"] == 1_000 / 11
    assert "        2        2  opset itself, files" not in [*tables.report(code, code)]
    assert "        1        1  imports that go up" in [*tables.report(code, code)]
