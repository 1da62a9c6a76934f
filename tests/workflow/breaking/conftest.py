"""Folders of schemas, and git repositories of them, to compare."""

import os
import subprocess

import pytest

THIN = """operator: Thin
family: activation
versions:
- since: 1
  doc: Returns `alpha * X`.
  inputs:
  - {name: X, type: T, doc: values}
  outputs:
  - {name: Y, type: T, doc: results}
  attributes:
    alpha: {type: float, default: 1.0, doc: factor}
  types:
    T: [double, float]
  shape: same(X)
examples:
- {name: plain, since: 1, attributes: {alpha: 2.0}, inputs: [{float: [1, 2]}], outputs: [{float: [2, 4]}]}
"""


def write(folder, **operators):
    """Write operators of com.acme into a folder of schemas; THIN where none is given."""
    (folder / "com.acme").mkdir(parents=True, exist_ok=True)
    for name, text in (operators or {"Thin": THIN}).items():
        (folder / "com.acme" / f"{name}.yaml").write_text(text)
    return folder


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository whose tag v1 has com.acme.Thin in the folder schemas; the working directory is its top."""
    write(tmp_path / "schemas")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    git(tmp_path, "tag", "v1")
    monkeypatch.chdir(tmp_path)
    return tmp_path
