"""What pyproject.toml and the environment say: bounds, what is wrong with them, and what is noted."""

import os
from pathlib import Path

import pytest

from opset.cli.configuration import (
    FORM,
    MAX_DEPTH,
    MAX_FOLDERS,
    Folders,
    _left_out_note,
    _parse_toml,
    _project_of,
    _split,
    _trusted_folders,
    folders_for,
    folders_of,
    read_project,
    rule_choice,
    target_files,
)
from opset.errors import UsageError
from tests.cli.commands import run

FILE = Path("p/pyproject.toml")


def refused(made, *arguments):
    with pytest.raises(UsageError) as caught:
        made(*arguments)
    (finding,) = caught.value.findings
    assert finding.code == "U103"
    return finding.message, finding.why, finding.help


def test_how_deep_a_document_may_be():
    lists, tables = ["a = " + "[" * depth + "]" * depth for depth in (MAX_DEPTH, MAX_DEPTH + 1)], "a = {b = " * 17
    assert [*_parse_toml(lists[0].encode())] == ["a"]
    for text in (lists[1], tables):
        with pytest.raises(ValueError, match=f"it is nested more than {MAX_DEPTH} levels deep"):
            _parse_toml(text.encode())
    keys = ".".join("abcdefghijklmnopqr"[:MAX_DEPTH] + "x")
    assert keys.count(".") == MAX_DEPTH and _parse_toml(f"{keys} = 1\n{keys}2 = 2\n".encode())
    with pytest.raises(ValueError, match="levels deep"):
        _parse_toml(f"{keys}.y = 1".encode())


@pytest.mark.parametrize(
    "text", ['a = """[[[[[[[[[[[[[[[[[["""', "a = '''[[[[[[[[[[[[[[[[[['''", 'a = "[[[[[[[[[[[[[[[[[[[["',
             "a = '[[[[[[[[[[[[[[[[[[[[[['", "# [[[[[[[[[[[[[[[[[[[[\na = 1", f"a = [{'[1], ' * 20}]",
             'a = "\\"[[[[[[[[[[[[[[[[[[[["', 'a = "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18"'],
)  # fmt: skip
def test_brackets_and_dots_in_texts_and_comments_are_no_depth(text):
    assert [*_parse_toml(text.encode())] == ["a"]


@pytest.mark.parametrize(
    ("table", "why", "help"),
    [
        (3, "[tool.opset] schemas is no list of folders", FORM),
        ({"schemas": "a"}, "[tool.opset] schemas is no list of folders", FORM),
        ({"targets": [1]}, "[tool.opset] targets is no list of files", FORM),
        ({"ignore": [["a"]]}, "[tool.opset] ignore is no list of codes", FORM),
        ({"select": ["a"] * (MAX_FOLDERS + 1)}, "[tool.opset] select lists 101 codes; at most 100 are accepted", FORM),
        ({"schema": ["a"]}, "[tool.opset] has the unknown key 'schema'", "did you mean schemas?"),
        ({"xyzzy": 1, "aaa": 2, "convert": {}}, "[tool.opset] has the unknown key 'aaa'", FORM),
        ({"x" * 101: 1}, f"[tool.opset] has the unknown key '{'x' * 100}'", FORM),
    ],
)
def test_tables_that_cannot_be_used(table, why, help):
    assert refused(_project_of, FILE, table) == ("the configuration cannot be used", why, help)


def test_a_table():
    found = _project_of(FILE, {"schemas": ["a"] * MAX_FOLDERS, "convert": {"to": 21}, "check": {}})
    assert found.lists == {"schemas": ["a"] * MAX_FOLDERS, "targets": [], "select": [], "ignore": []}
    assert found.verbs == {"convert": {"to": 21}, "check": {}} and found.folder == Path("p")


def test_codes_of_rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _split(["W, G3", "G4"]) == ["W", "G3", "G4"] and _split([]) == []
    assert rule_choice((), ()) == ([], [])
    (tmp_path / "pyproject.toml").write_text('[tool.opset]\nselect = ["W"]\nignore = ["G1"]\n')
    assert rule_choice((), ()) == (["W"], ["G1"])
    assert rule_choice(("G",), ()) == (["G"], ["G1"]) and rule_choice((), ("W1,W2",)) == (["W"], ["W1", "W2"])


def test_the_nearest_configuration_is_in_force_up_to_a_repository(tmp_path, monkeypatch):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    (tmp_path / "pyproject.toml").write_text('[tool.opset]\nselect = ["TOP"]\n')
    assert rule_choice((), ())[0] == ["TOP"] and read_project().folder == tmp_path
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nopset = 1\n")  # has no table
    assert rule_choice((), ())[0] == ["TOP"]
    (tmp_path / "a" / ".git").mkdir()
    assert rule_choice((), ())[0] == []
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.opset]\nselect = ["A"]\n')
    assert rule_choice((), ())[0] == ["A"]
    (below / "pyproject.toml").write_text("[tool]\nopset = {}\n")
    assert rule_choice((), ())[0] == []
    (below / "pyproject.toml").write_text("tool = 'opset'\n")
    assert rule_choice((), ())[0] == ["A"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_configuration_above_is_a_file(tmp_path, monkeypatch, make):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    (tmp_path / "pyproject.toml").write_text('[tool.opset]\nselect = ["TOP"]\n')
    make(tmp_path / "a" / "pyproject.toml")
    assert rule_choice((), ())[0] == ["TOP"]


def test_a_configuration_above_that_belongs_to_others_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    (tmp_path / "pyproject.toml").write_text('[tool.opset]\nselect = ["TOP"]\n')
    assert rule_choice((), ())[0] == ["TOP"]
    owner = (tmp_path / "pyproject.toml").stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert rule_choice((), ())[0] == ([] if owner else ["TOP"])


def test_files_of_runtimes_are_those_of_the_call_and_further_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_text('[tool.opset]\ntargets = ["a.yaml", "b.yaml"]\n')
    assert target_files([]) == (Path("a.yaml"), Path("b.yaml"))
    assert target_files([tmp_path / "b.yaml"]) == (tmp_path / "b.yaml", Path("a.yaml"))


def test_folders_that_are_trusted(monkeypatch, tmp_path):
    monkeypatch.setenv("OPSET_ALLOW_HOOKS", os.pathsep.join([str(tmp_path), "", str(tmp_path / "a" / "..")]))
    assert _trusted_folders() == {os.path.realpath(tmp_path)}
    monkeypatch.setenv("OPSET_ALLOW_HOOKS", os.pathsep.join([str(tmp_path), "here"]))
    message, why, help = refused(_trusted_folders)
    assert (
        message == "OPSET_ALLOW_HOOKS cannot be used" and why.startswith("'here' is relative, ") and "absolute" in help
    )
    monkeypatch.delenv("OPSET_ALLOW_HOOKS")
    assert _trusted_folders() == frozenset()
    one, other = (Path("a"),), (Path("b"),)
    assert folders_of(one, False, other) == Folders((), (*one, *other))
    assert folders_of(one, True, other) == folders_of(one, None, other) == Folders(one, other, other)


def test_files_that_are_not_run_are_noted(tmp_path, capsys):
    many = [tmp_path / f"{number}.py" for number in range(1005)]
    advice = "If you trust the code, name the folder in the call, or allow it: --allow-hooks, or its absolute path in "
    for count, names in ((1, "0.py in {} was"), (5, "0.py, 1.py, 2.py, 3.py, 4.py in {} were"),
                         (1005, "0.py, 1.py, 2.py, 3.py, 4.py and 1,000 more in {} were")):  # fmt: skip
        assert _left_out_note(tmp_path, many[:count]) == (
            f"{names.format(tmp_path)} not run: pyproject.toml names the folder, and this call does not. "
            f"{advice}OPSET_ALLOW_HOOKS"
        )
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "kernels.py").touch()
    folders = Folders((), (tmp_path,), (tmp_path,))
    notes = folders.note_left_out(False, "kernels.py", "adapters.py")
    assert [each.partition(" in ")[0] for each in notes] == ["com.acme/kernels.py"]
    assert capsys.readouterr().err == f"note: {notes[0]}\n"
    assert folders.note_left_out(True, "kernels.py") == notes and capsys.readouterr().err == ""
    assert folders.note_left_out(False, "adapters.py") == [] == Folders((tmp_path,)).note_left_out(False, "kernels.py")


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


@pytest.mark.parametrize("path", ["a" * 300, "/" + "a" * 5000, "a/" * 3000, "a\\u0000b"], ids=len)
@pytest.mark.parametrize(("key", "kind"), [("schemas", "folder"), ("targets", "file")])
def test_paths_that_no_system_takes_are_no_folders_and_files(folder, path, key, kind):
    (folder / "pyproject.toml").write_text(f'[tool.opset]\n{key} = ["{path}"]\n')
    result = run("targets", "list")
    shown = repr(path.replace("\\u0000", "\x00")[:100])
    assert result.exit_code == 2 and f"  why     [tool.opset] {key}: {shown} is no {kind}\n" in result.stderr


OPERATOR = """operator: {name}
family: example
versions:
- since: 1
  doc: {doc}
  inputs: [{{name: X, type: T, doc: values}}]
  outputs: [{{name: Y, type: T, doc: results}}]
  types: {{T: [float]}}
  function: [{{opset: 7, nodes: "Y = {body} (X)"}}]
"""


def operators(folder, body, *names):
    for name in names:
        domain, _, operator = name.rpartition(".")
        (folder / domain).mkdir(parents=True, exist_ok=True)
        text = OPERATOR.format(name=operator, doc=f"Returns what {body} returns.", body=body)
        (folder / domain / f"{operator}.yaml").write_text(text)
    return folder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The folder of an installed package with two domains."""
    site = tmp_path / "site"
    package = operators(site / "acme_operators", "Neg", "com.a.One", "com.b.Two")
    information = site / "acme-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[opset.schemas]\nacme = acme_operators\n")
    monkeypatch.syspath_prepend(site)
    model = tmp_path / "model.onnxtxt"
    model.write_text(
        '<ir_version: 8, opset_import: ["": 17, "com.a": 1, "com.b": 1]>\n'
        "g (float[1] x) => (float[1] y) { z = com.a.One (x)  y = com.b.Two (z) }"
    )
    return package


def test_a_folder_that_the_call_names_is_used_in_place_of_an_installed_package(installed, tmp_path):
    """It has the same domains, and may have other operators of them."""
    checkout = operators(tmp_path / "checkout", "Abs", "com.a.One", "com.a.New", "com.b.Two")
    values = run("run", tmp_path / "model.onnxtxt", "--set", "x=[-2]")
    assert "[-2]" in values.stdout and "note" not in values.stderr
    values = run("run", tmp_path / "model.onnxtxt", "--set", "x=[-2]", "--schemas", checkout)
    note = f"note: {installed}, of an installed package, is not used: the call names a folder with the same operators\n"
    assert "[2]" in values.stdout and values.stderr == note
    shown = run("show", "com.a.One", "--schemas", checkout)
    assert shown.exit_code == 0 and shown.stderr == note and "Returns what Abs returns." in shown.stdout
    converted = run(
        "convert", tmp_path / "model.onnxtxt", "--to", "18", "--schemas", checkout, "-o", tmp_path / "o.onnx"
    )
    assert converted.exit_code == 0 and converted.stderr == note
    assert folders_for((checkout,), False).replaced == (installed,)
    assert folders_for((installed,)).replaced == ()


@pytest.mark.parametrize(
    ("names", "code"),
    [(["com.a.Other"], ""), (["com.c.Other"], ""), (["com.a.One"], "S108")],
    ids=["the same domain, another operator", "another domain", "one of two domains"],
)
def test_an_installed_package_stays_beside_a_folder_with_other_domains_or_operators(installed, tmp_path, names, code):
    other = operators(tmp_path / "other", "Abs", *names)
    known = folders_for((other,))
    assert known.replaced == () and set(known.trusted) == {other, installed}
    done = run("run", tmp_path / "model.onnxtxt", "--set", "x=[-2]", "--schemas", other)
    assert ("[-2]" in done.stdout, code in done.stderr) == (not code, True)
    if code:
        assert "--schemas takes precedence over an installed package if it has all domains" in " ".join(
            done.stderr.split()
        )
