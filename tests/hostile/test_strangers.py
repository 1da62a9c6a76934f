"""Folders of strangers decide neither what is imported, nor what is waited for or written, nor what memory is taken."""

import json
import os
import subprocess

import numpy as np
import pytest

from judges.hostile.attacks.files import scale
from judges.hostile.attacks.models import SAMPLE
from judges.hostile.processes import ROOT, attack, imported, launch, own
from opset.cli.output import shortage
from tests.reference.graphs import results

SPINNING = """
import importlib, sys
from opset.cli import processes
processes.STARTING = 0  # all that a process does here is to spin: no work could be ended too soon
module = importlib.import_module("opset.cli." + {"lower": "convert"}.get(sys.argv[1], sys.argv[1]))
name = {"infer": "infer", "inline": "inline_model"}.get(sys.argv[1], "convert_model")
setattr(module, name, lambda *arguments, **also: sum(range(10**12)))
from opset.__main__ import main
main()
"""
"""A verb whose work is one long call that looks at no clock."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "--to", "7"],
        ["lower", "--ops", "Relu"],
        ["infer"],
        ["inline", "-o", "out.onnx"],
        ["convert", "--to", "7", "--plan", "-j", "2"],
    ],
    ids=" ".join,
)
def test_time_ends_what_looks_at_no_clock(arguments, tmp_path):
    verb, *more = arguments
    for name in ("a", "b"):
        (tmp_path / f"{name}.onnx").write_bytes(SAMPLE)
    inputs = ["a.onnx", "b.onnx"] if "-j" in more else ["a.onnx"]
    ended = own(imported(SPINNING, verb, *inputs, *more, "--timeout", "0.2", cwd=tmp_path), 1)
    assert ("I401" if verb == "infer" else "C401") in ended.text and "--timeout" in ended.text
    assert {each.name for each in tmp_path.iterdir()} == {"a.onnx", "b.onnx"}


@pytest.mark.parametrize(
    "verb", [["convert", "--to", "21"], ["infer", "--values"], ["lower", "--ops", "Gelu"]], ids="-".join
)
def test_reports_are_the_same_with_a_time(verb, tmp_path):
    (tmp_path / "m.onnx").write_bytes(SAMPLE)
    form = ["-o", "-", "--format", "json"]
    plain, timed = (
        own(attack(verb[0], "m.onnx", *verb[1:], *form, *more, cwd=tmp_path), 0) for more in ([], ["--timeout", "60"])
    )
    assert (plain.stdout, plain.stderr) == (timed.stdout, timed.stderr)


def test_what_cannot_be_imported_for_want_of_memory():
    try:
        try:
            raise ImportError("libblas.so: failed to map segment from shared object")
        except ImportError as error:
            raise ImportError("IMPORTANT: PLEASE READ THIS") from error
    except ImportError as error:
        found = shortage(error)
    assert found.code == "U106" and "libblas" in found.why
    assert shortage(MemoryError()).code == "U106"
    assert shortage(ImportError("no module named numpy")) is None


def test_a_lack_of_memory_is_no_internal_error(tmp_path):
    (tmp_path / "m.onnx").write_bytes(SAMPLE)
    code = SPINNING.replace("sum(range(10**12))", "bytearray(1 << 60)")
    for more in ([], ["--timeout", "60"]):
        ended = own(imported(code, "convert", "m.onnx", "--to", "7", *more, cwd=tmp_path), 2)
        assert "U106" in ended.text


@pytest.mark.parametrize("verb", [["new", "com.acme.Thin"], ["bump", "com.acme.Scale"]], ids="-".join)
def test_a_link_in_place_of_the_folder_of_schemas_is_not_used(verb, tmp_path):
    other = tmp_path / "other" / "com.acme"
    other.mkdir(parents=True)
    (other / "Scale.yaml").write_text(scale())
    here = tmp_path / "here"
    here.mkdir()
    (here / "schemas").symlink_to(tmp_path / "other")
    assert "U104" in own(attack(*verb, cwd=here), 2).text
    assert [each.name for each in other.iterdir()] == ["Scale.yaml"] and (other / "Scale.yaml").read_text() == scale()
    own(attack(*verb, "--schemas", "schemas", cwd=here), 0)


@pytest.mark.parametrize("name", ["*.onnx", "[ab].onnxtxt", "?"])
@pytest.mark.parametrize("verb", [["convert", "--to", "21"], ["infer"], ["inline", "-o", "out/"]], ids="-".join)
def test_a_pipe_that_is_called_like_a_pattern_is_not_waited_for(verb, name, tmp_path):
    os.mkfifo(tmp_path / name)
    assert "M101" in own(attack(verb[0], name, *verb[1:], cwd=tmp_path), 3).text


def test_workers_import_nothing_from_the_working_folder(tmp_path):
    own(attack("testgen", "-o", "corpus", "Abs@13", cwd=tmp_path), 0)
    for name in ("onnx", "numpy", "json", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / name)!r}, 'w').close()\n")
    (tmp_path / "sitecustomize.py").unlink()
    for given in ("", f".{os.pathsep}{tmp_path}"):
        path = f"{given}{os.pathsep}{ROOT}"
        ended = launch("conformance", "corpus", "--runtime", "onnx", cwd=tmp_path, env={"PYTHONPATH": path})
        assert "pass" in own(ended, 0, 1).text
    assert not [name for name in ("onnx", "numpy", "json") if (tmp_path / name).exists()]


def git(folder, *arguments, given=""):
    """Return what a command of git prints."""
    who = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=given, capture_output=True, text=True, check=True, env=os.environ | who
    )
    return done.stdout.strip()


def test_a_repository_whose_trees_hold_each_other_ten_times(tmp_path):
    git(tmp_path, "init", "-q")
    inner = git(tmp_path, "hash-object", "-w", "--stdin", given=scale())
    acme = git(tmp_path, "mktree", given=f"100644 blob {inner}\tScale.yaml\n")
    tree, kind = inner, "100644 blob"
    for _ in range(9):
        tree, kind = git(tmp_path, "mktree", given="".join(f"{kind} {tree}\t{n}\n" for n in range(10))), "040000 tree"
    schemas = git(tmp_path, "mktree", given=f"040000 tree {acme}\tcom.acme\n040000 tree {tree}\tzzz\n")
    top = git(tmp_path, "mktree", given=f"040000 tree {schemas}\tschemas\n")
    git(tmp_path, "update-ref", "refs/tags/v1", git(tmp_path, "commit-tree", top, "-m", "m"))
    (tmp_path / "schemas" / "com.acme").mkdir(parents=True)
    (tmp_path / "schemas" / "com.acme" / "Scale.yaml").write_text(scale().replace("since: 1", "since: 2"))
    ended = own(attack("breaking", "rev:v1", "--schemas", "schemas", "--format", "json", cwd=tmp_path), 0, 1)
    assert json.loads(ended.stdout) and ended.megabytes < 300


def test_text_of_comments_alone_takes_little(tmp_path):
    (tmp_path / "m.onnxtxt").write_text("# c\n" * 3_000_000 + "y = ")
    ended = own(attack("show", "m.onnxtxt", cwd=tmp_path), 3)
    assert "M301" in ended.text and ended.megabytes < 200


def test_protobuf_text_of_long_lines_takes_little(tmp_path):
    for line in (" " * 3_000_000 + "}", "graph { initializer { raw_data: '" + "\\000" * 750_000):
        (tmp_path / "m.textproto").write_text(f"ir_version: 8 {line}")
        ended = own(attack("show", "m.textproto", cwd=tmp_path), 3)
        assert "M301" in ended.text and "where   1:" in ended.text and ended.megabytes < 200


@pytest.mark.parametrize("digits", ["1" * 5000, "-" + "9" * 5000, "+" + "7" * 19, "-1", "00" + "3" * 25])
def test_whole_numbers_of_many_digits_are_read(digits):
    """Python refuses more than 4300 digits at once, and takes time with their square."""
    number = 0
    for digit in digits.lstrip("+-"):
        number = number * 10 + int(digit)
    number = -number if digits[0] == "-" else number
    (y,) = results("g (string[1] x) => (int64[1] y) { y = Cast <to = 7> (x) }", {"x": np.array([digits], object)})
    assert y[0] == (number + 2**63) % 2**64 - 2**63
