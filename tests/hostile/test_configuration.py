"""A pyproject.toml and schema folders of strangers: one clear error, whatever the file is; no verb hangs or fails."""

import os
import socket
from pathlib import Path

import onnx.parser
import pytest

from judges.hostile.processes import attack, own

GOOD = """\
operator: Twice
family: example
versions:
- since: 1
  doc: Returns `2 * X`.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [float]}
examples: [{name: one, since: 1, inputs: [{float: 1}], outputs: [{float: 2}]}]
"""
MODEL = '<ir_version: 8, opset_import: ["": 13]> main (float[2] x) => (float[2] y) { y = Relu (x) }'
VERBS = [
    ("convert", "model.onnx", "--to", "21"),
    ("infer", "model.onnx"),
    ("run", "model.onnx", "--random"),
    ("show", "model.onnx"),
    ("list", "domains"),
    ("diff", "Relu", "1", "14"),
    ("lint",),
]
LIST = ("list", "domains")


@pytest.fixture
def project(tmp_path) -> Path:
    folder = tmp_path / "project"
    (folder / "schemas" / "com.example").mkdir(parents=True)
    (folder / "schemas" / "com.example" / "Twice.yaml").write_text(GOOD)
    (folder / "model.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    return folder


def configured(project: Path, text: str | bytes) -> Path:
    data = text if isinstance(text, bytes) else text.encode()
    (project / "pyproject.toml").write_bytes(data)
    return project


def schemas(*folders: str) -> str:
    return f"[tool.opset]\nschemas = [{', '.join(map(repr, folders))}]\n"


# What the file is


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 << 30)


def folder(path: Path) -> None:
    path.mkdir()


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def listening(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [pipe, endless, sparse, folder, circle, terminal, listening], ids=lambda f: f.__name__)
def test_a_configuration_that_is_no_file(project, make):
    make(project / "pyproject.toml")
    found = own(attack(*LIST, cwd=project), 2)
    assert found.text.count("error[U103] the configuration cannot be used") == 1
    assert found.megabytes < 200


@pytest.mark.parametrize("arguments", VERBS, ids=lambda arguments: arguments[0])
def test_no_verb_waits_for_a_pipe(project, arguments):
    pipe(project / "pyproject.toml")
    assert "error[U103]" in own(attack(*arguments, cwd=project), 2).text


def test_verbs_without_operators_read_no_configuration(project):
    pipe(project / "pyproject.toml")
    for arguments in (("explain", "U103"), ("list", "releases"), ("completion", "fish"), ("convert", "--help")):
        own(attack(*arguments, cwd=project), 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_configuration_that_may_not_be_read(project):
    configured(project, schemas("schemas")).joinpath("pyproject.toml").chmod(0)
    assert "error[U103]" in own(attack(*LIST, cwd=project), 2).text


# What is in it

WRONG = {
    "brackets": b"tool.opset.schemas = " + b"[" * 600,
    "tables in a line": b"tool.opset.schemas = " + b"{a = " * 600,
    "a long key": b"tool.opset." + b"a." * 100_000 + b"b = 1",
    "brackets behind quotes": b'tool.opset.schemas = ["""a"""", ' + b"[" * 600 + b", ]",
    "depth that is balanced": b"tool.opset.schemas = " + b"[" * 300 + b"]" * 300,
    "one byte too many": b"[tool.opset]\nschemas = []\n" + b"#" * (1 << 18),
    "a number of many digits": b"tool.opset.schemas = " + b"1" * 200_000,
    "no UTF-8": b"[tool.opset]\nschemas = ['\xff\xfe']",
    "NUL in a path": b'[tool.opset]\nschemas = ["schemas\\u0000"]',
    "a long path": b"[tool.opset]\nschemas = ['" + b"a/../" * 40_000 + b"schemas']",
    "many folders": b"[tool.opset]\nschemas = [" + b"'schemas'," * 20_000 + b"]",
    "a number": b"[tool.opset]\nschemas = [1]",
    "a table": b"[tool.opset]\nschemas = {a = 'schemas'}",
    "a text": b"tool.opset = 'schemas'",
    "an unknown key that writes to a terminal": b'[tool.opset]\n"\\u001b[31m" = 1',
    "parents": b"[tool.opset]\nschemas = ['../other']",
    "the root": b"[tool.opset]\nschemas = ['/']",
    "files of processes": b"[tool.opset]\nschemas = ['/proc/self/fd']",
    "a device": b"[tool.opset]\nschemas = ['/dev/zero']",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_configuration_that_is_wrong(project, name):
    (project.parent / "other" / "com.other").mkdir(parents=True)
    found = own(attack(*LIST, cwd=configured(project, WRONG[name])), 2)
    assert found.text.count("error[U103] the configuration cannot be used") == 1
    assert "\x1b" not in found.text and len(found.text) < 1500
    assert found.megabytes < 300


def test_another_projects_file_is_not_read_further_than_its_first_words(project):
    configured(project, b"[tool.other]\nx = " + b"[" * 600)
    assert "com.example" not in own(attack(*LIST, cwd=project), 0).text


# The folders that it names


def test_a_folder_that_is_none(project):
    (project / "file").write_text("")
    for name in ("file", "nowhere", "model.onnx/x", "a" * 300):
        found = own(attack(*LIST, cwd=configured(project, schemas(name))), 2)
        assert "error[U103]" in found.text


def test_a_folder_within_the_project_may_be_named_in_any_way(project):
    (project / "link").symlink_to("schemas")
    for name in ("schemas", "./schemas/", "schemas/../schemas", "../project/schemas", "link", str(project / "schemas")):
        assert "com.example" in own(attack(*LIST, cwd=configured(project, schemas(name))), 0).text
    both = configured(project, schemas("schemas", "link", "./schemas"))  # one folder by several names is read once
    assert "com.example" in own(attack(*LIST, cwd=both), 0).text


@pytest.mark.parametrize(
    "link", ["schemas", "schemas/com.other", "schemas/com.example/Other.yaml", "schemas/types.yaml"]
)
def test_a_link_out_of_the_project_is_not_read(project, link):
    outside = project.parent / "outside"
    (outside / "com.other").mkdir(parents=True)
    (outside / "com.other" / "Other.yaml").write_text("secret: 1\n")
    (outside / "types.yaml").write_text("secret: 1\n")
    if link == "schemas":
        (project / link).rename(project / "old")
    target = outside / Path(link).relative_to("schemas")
    (project / link).symlink_to(outside / "com.other" / "Other.yaml" if target.name == "Other.yaml" else target)
    found = own(attack(*LIST, cwd=configured(project, schemas("schemas"))), 2)
    assert "error[U103]" in found.text and "--schemas" in found.text and "secret" not in found.text
    named = own(attack(*LIST, "--schemas", "schemas", cwd=configured(project, "")), 2)  # the call names it
    assert "error[S10" in named.text


@pytest.mark.parametrize("names", [["com.example/Other.yaml", "com.other"], ["types.yaml"]])
@pytest.mark.parametrize("make", [pipe, endless, sparse, folder, circle, listening], ids=lambda made: made.__name__)
def test_what_is_no_file_in_a_folder_of_operators(project, names, make):
    for name in names:
        make(project / "schemas" / name)
    own(attack("lint", "schemas", cwd=project), 0, 1)
    if names == ["types.yaml"] and make is not circle:
        own(attack("lint", cwd=configured(project, schemas("schemas"))), 1, 2)


def test_many_folders_of_many_domains(project):
    for number in range(90):
        (project / f"s{number}").symlink_to("schemas")
    for number in range(3000):
        (project / "schemas" / f"com.d{number}").mkdir()
    own(attack(*LIST, cwd=configured(project, schemas(*(f"s{number}" for number in range(90))))), 0)


# What lint writes

WITHOUT_LAYOUT = GOOD.replace("family: example", "family:   example")


@pytest.mark.parametrize(
    "link", ["schemas/lock.json", "schemas/com.example/Twice.yaml", "schemas/com.example", "inner"]
)
def test_lint_writes_through_no_link(project, link):
    outside = project.parent / "outside"
    (outside / "com.example").mkdir(parents=True)
    (outside / "lock.json").write_text("{}")
    victims = [outside / "lock.json", outside / "com.example" / "Twice.yaml"]
    if link == "inner":  # a link within the folder is one as well
        (project / "schemas" / "other.json").write_text("{}")
        (project / "schemas" / "lock.json").symlink_to("other.json")
        victims = [project / "schemas" / "other.json"]
    else:
        (outside / "com.example" / "Twice.yaml").write_text(WITHOUT_LAYOUT)
        if (project / link).exists():
            (project / link).rename(project / "old")
        (project / link).symlink_to(outside / Path(link).relative_to("schemas"))
    before = [(victim.read_bytes(), victim.stat().st_ino) for victim in victims]
    entries = sorted(outside.rglob("*"))
    how = "--lock" if "lock" in link or link == "inner" else "--fix"
    found = own(attack("lint", how, "schemas", cwd=project), 2)
    assert "error[U104]" in found.text and "link" in found.text
    assert [(victim.read_bytes(), victim.stat().st_ino) for victim in victims] == before
    assert sorted(outside.rglob("*")) == entries
    if how == "--lock":
        assert (project / "schemas" / "lock.json").is_symlink()


def test_lint_writes_into_a_folder_that_the_call_names_by_a_link(project):
    (project / "schemas" / "com.example" / "Twice.yaml").write_text(WITHOUT_LAYOUT)
    (project / "link").symlink_to("schemas")
    found = own(attack("lint", "--fix", "--lock", "link", cwd=project))
    assert "fixed link/com.example/Twice.yaml" in found.text
    assert "family:  " not in (project / "schemas" / "com.example" / "Twice.yaml").read_text()
    assert not [each for each in project.rglob("*") if each.name.startswith(".opset")]


@pytest.mark.parametrize("make", [pipe, endless, sparse, folder, circle, listening], ids=lambda made: made.__name__)
def test_a_lock_that_is_no_file_is_neither_read_nor_replaced(project, make):
    make(project / "schemas" / "lock.json")
    before = (project / "schemas" / "lock.json").lstat()
    found = own(attack("lint", "--lock", "schemas", cwd=project), 1)
    assert "error[S204] the lock file cannot be read" in found.text and found.megabytes < 200
    assert (project / "schemas" / "lock.json").lstat().st_ino == before.st_ino


LOCKS = ["[" * 100_000, '{"a":' * 100_000, '{"ai.onnx": 3}', '{"a": {"b": {"' + "9" * 5000 + '": "ab"}}}', "\xff"]


@pytest.mark.parametrize("text", LOCKS, ids=range(len(LOCKS)))
def test_a_lock_that_is_wrong(project, text):
    (project / "schemas" / "lock.json").write_bytes(text.encode("latin-1"))
    found = own(attack("lint", "--lock", "schemas", cwd=project), 1)
    assert "error[S204] the lock file cannot be read" in found.text and len(found.text) < 2000
