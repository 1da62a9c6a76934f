"""More."""

import json
import os
import threading
from pathlib import Path
from shutil import copytree

import numpy as np
import onnx
import onnx.numpy_helper
import psutil
import pytest
from click.testing import CliRunner

import opset
from opset.budget import ALLOW_MORE
from opset.cli import cli
from opset.cli.configuration import Folders, folders_for
from opset.cli.inputs import expand_inputs
from opset.cli.processes import _data_size
from opset.docgen.outcomes import FILE
from opset.errors import UsageError
from opset.workflow.examples.examination import examine_subject
from tests.cli.commands import SMALL, run, run_json, save
from tests.cli.test_inputs import tree  # noqa: F401
from tests.cli.test_process import finish, process, wait_until
from tests.workflow.corpora import case, write
from tests.workflow.test_outcomes import OWN


# test_check
def test_a_runtime_check_that_is_stopped_says_all_of_it(folder):
    (
        folder / "new.onnxtxt"
    ).write_text("""<ir_version: 8, opset_import: ["": 18, "com.acme": 1]> g (float[N] a) => (float[M] b) {
        t = ReduceMean (a)  u = ReduceMean (t)  b = Relu (u) }""")
    brief = ["--no-inference", "--for", "onnxruntime==1.13", "--max-steps", 1]
    (report,) = run_json("check", "new.onnxtxt", "--ignore", "W", *brief)["models"]
    assert report["errors"][-1] == {
        "code": "C401",
        "message": "the check for the runtime was stopped",
        "place": "model",
        "why": "more than 1 step is needed",
        "help": ALLOW_MORE,
        "file": "new.onnxtxt",
    }


# test_many
def test_external_data_is_written_from_python_as_by_the_verb(folder):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 11]> g (float[300] x) => (float[300] y) { y = Add (x, w) }'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full(300, 1.5, np.float32), "w"))
    (folder / "in").mkdir()
    onnx.save(model, "in/m.onnx", save_as_external_data=True, size_threshold=0, location="w.bin")
    assert run("convert", "in", "--to", 13, "-o", "verb").exit_code == 0
    assert [each.status for each in opset.convert_many("in", 13, output="python")] == ["converted"]
    made, expected = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("python", "verb")
    )
    assert made == expected and sorted(made) == ["m-opset13.onnx", "w.bin"]


# test_processes
def test_the_size_of_this_process():
    assert 0.9 < _data_size() / psutil.Process().memory_info().data < 1.1


# test_inputs
@pytest.mark.parametrize(
    ("pattern", "same"),
    [("deep/**/", "deep/**"), ("deep//e*//*.onnx", "deep/e*/*.onnx"), ("deep/*.onnx/", "deep/*.onnx")],
)
def test_doubled_separators_mean_nothing_in_a_pattern(tree, pattern, same):  # noqa: F811
    assert expand_inputs([pattern], products=False)
    assert [each.path for each in expand_inputs([pattern], products=False)] == [
        each.path for each in expand_inputs([same], products=False)
    ]


# test_conformance
@pytest.mark.parametrize("names", [["md"], ["json", "html"]])
def test_a_report_that_exists_is_told_before_anything_is_run(folder, names):
    write(folder / "cases", case("one"))
    (folder / "out").mkdir()
    for name in names:
        (folder / "out" / f"conformance.{name}").touch()
    result = run("conformance", "cases", "--runtime", "touch started", "-o", "out")
    assert result.exit_code == 2 and not (folder / "started").exists() and result.stdout == ""
    assert [line for line in result.stderr.splitlines() if "where" in line] == [
        f"  where   out/conformance.{name}" for name in names
    ]
    assert all((folder / "out" / f"conformance.{name}").read_bytes() == b"" for name in names)
    assert run("conformance", "cases", "--runtime", "touch started", "-o", "out", "--force").exit_code == 1
    assert (folder / "started").exists() and all(Path(f"out/conformance.{name}").stat().st_size for name in names)


# test_many
def test_a_model_is_in_the_report_while_an_earlier_one_is_at_work(folder):
    os.mkfifo(folder / "slow.onnx")
    data = save("quick.onnx", SMALL, folder).read_bytes()
    started = process("check", "slow.onnx", "quick.onnx", "-j", 2, "--report", "out.jsonl")
    pipe = os.open("slow.onnx", os.O_RDWR)  # a reader waits until something is written
    wait_until(lambda: Path("out.jsonl").exists() and '"quick.onnx"' in Path("out.jsonl").read_text())
    writer = threading.Thread(target=lambda: (os.write(pipe, data), os.close(pipe)))
    writer.start()
    status, stdout, stderr = finish(started)
    writer.join()
    assert (status, stderr) == (0, "")
    assert stdout.decode() == "quick.onnx: no findings\nslow.onnx: no findings\n2 models: 2 clean\n"
    assert [json.loads(line)["input"] for line in Path("out.jsonl").read_text().splitlines()] == [
        "slow.onnx", "quick.onnx",
    ]  # fmt: skip


# test_info
@pytest.mark.parametrize("verb", [["info", "--runtime", "nonesuch"], ["check", "--for", "nonesuch==1"]])
def test_a_runtime_that_is_not_known_is_told_once_for_all_models(folder, verb):
    for name in "ab":
        save(f"{name}.onnx", SMALL, folder)
    result = run(verb[0], "a.onnx", "b.onnx", *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.count("error[") == 1
    assert result.stderr.startswith("error[U101] no runtime 'nonesuch' is known\n  help    known: ")


# test_configuration
def test_which_folders_may_run_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ours", "theirs", "named"):
        (tmp_path / name).mkdir()
    ours, theirs, named = Path("ours"), Path("theirs"), Path("named")
    monkeypatch.setenv("OPSET_ALLOW_HOOKS", str(tmp_path / "ours"))
    assert folders_for((named,)) == Folders((named,))
    monkeypatch.setenv("OPSET_ALLOW_HOOKS", "relative")
    assert folders_for((named,)) == Folders((named,))  # nothing is asked of it without a configuration
    Path("pyproject.toml").write_text('[tool.opset]\nschemas = ["ours", "theirs"]\n')
    with pytest.raises(UsageError, match="OPSET_ALLOW_HOOKS cannot be used"):
        folders_for((named,))
    both = (ours, theirs)
    assert folders_for((named,), False) == Folders((), (named, *both))
    assert folders_for((named,), True) == Folders((named, *both))
    assert folders_for((theirs, named), True) == Folders((named, ours, theirs))
    monkeypatch.setenv("OPSET_ALLOW_HOOKS", str(tmp_path / "ours"))
    real = Path(os.path.realpath("ours"))
    assert folders_for((named,)) == Folders((named, real), (theirs,), (theirs,))
    assert folders_for((theirs,)) == Folders((theirs, real))
    monkeypatch.delenv("OPSET_ALLOW_HOOKS")
    assert folders_for((named,)) == Folders((named,), both, both)
    assert folders_for((Path("named/../ours"),)) == Folders((Path("named/../ours"),), (theirs,), (theirs,))


# test_defaults
def test_a_list_with_an_installed_package_is_for_a_call(folder):
    save("small.onnx", SMALL, folder)
    (folder / "pyproject.toml").write_text('[tool.opset.info]\nruntime = ["tract", "installed:onnxruntime"]\n')
    result = run("info", "small.onnx")
    assert result.exit_code == 2
    assert "[tool.opset.info] runtime: only a call asks an installed package" in result.stderr
    assert "write it on the command line: --runtime" in result.stderr
    (folder / "pyproject.toml").write_text('[tool.opset.info]\nruntime = ["tract", "tensorrt"]\n')
    (report,) = run_json("info", "small.onnx")["models"]
    assert [each["runtime"] for each in report["runtimes"]] == ["tract", "tensorrt"]


# test_text
def test_a_width_is_for_text_alone(folder):
    save("m.onnx", SMALL, folder)
    wrapped = run("text", "m.onnx", "--width", 40).stdout
    assert run("text", "m.onnx", "--width", 40, "-o", "out.onnx").exit_code == 0
    assert (folder / "out.onnx").read_bytes() == (folder / "m.onnx").read_bytes()
    assert run("text", "m.onnx", "--width", 40, "-o", "out.onnxtxt").stdout == ""
    assert (
        (folder / "out.onnxtxt").read_text() == wrapped == run("text", "m.onnx", "--width", 40, "-o", "text:-").stdout
    )
    assert run("text", "m.onnx", "-o", "text:-").stdout == run("text", "m.onnx").stdout != wrapped
    assert run("text", "m.onnx", "--width", 40, "-o", "-").stdout_bytes == (folder / "m.onnx").read_bytes()


# test_outcomes
def test_outcomes_are_not_recorded_if_a_test_ends_in_an_internal_error(tmp_path, monkeypatch):
    def examine(runner, subject, parts):
        if subject.example and (parts == ("kernel",) or subject.example == "whole_axis"):
            raise RuntimeError("such")
        return examine_subject(runner, subject, parts)

    copytree(OWN, tmp_path / "own")
    file = tmp_path / "own" / "com.example" / FILE
    command = ["test", str(tmp_path / "own"), "--allow-hooks"]
    monkeypatch.setattr("opset.cli.test.examine_subject", examine)
    for more in ([], ["--record"], ["--only", "kernel", "-j", "2"]):
        found = CliRunner().invoke(cli, [*command, *more])
        assert found.exit_code == 70 and found.stderr.startswith("opset: internal error: RuntimeError: such (test_more")
        assert found.stderr.count("internal error") == 1 and not file.exists()
