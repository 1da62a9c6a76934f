"""Defaults of options in pyproject.toml, here or above: they hold unless the call says otherwise; they are data."""

import os
from pathlib import Path

import click
import pytest

from opset.cli import VERBS, cli, defaults
from tests.cli.commands import SMALL, run, save, version


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a model in a folder two levels below, which is the working folder."""
    save("in/deep/small.onnx", SMALL, tmp_path)
    monkeypatch.chdir(tmp_path / "in" / "deep")
    return tmp_path


def configure(project, text, folder=""):
    (project / folder / "pyproject.toml").write_text(text)


def test_a_default_of_a_folder_above_holds(project):
    configure(project, "[tool.opset.convert]\nto = 13\n")
    assert run("convert", "small.onnx").exit_code == 0
    assert version("small-opset13.onnx") == 13


def test_a_call_says_otherwise(project):
    configure(project, "[tool.opset.convert]\nto = 13\nplan = true\n")
    assert run("convert", "small.onnx", "--to", 14).exit_code == 0
    assert [path.name for path in Path().iterdir()] == ["small.onnx"]
    result = run("convert", "small.onnx", "--release", "1.10")
    assert "ai.onnx 11 -> 15" in result.stdout, result.output


def test_the_nearest_configuration_holds(project):
    configure(project, "[tool.opset.convert]\nto = 13\n")
    configure(project, "[tool.opset.convert]\nto = 14\n", "in")
    configure(project, "[tool.other]\nto = 15\n", "in/deep")
    run("convert", "small.onnx")
    assert Path("small-opset14.onnx").exists()


def test_the_search_ends_with_the_repository(project):
    configure(project, "[tool.opset.convert]\nto = 13\n")
    (project / "in" / ".git").mkdir()
    assert "pass --to, --release or --for" in run("convert", "small.onnx").stderr


def test_the_search_passes_over_what_belongs_to_others(project, monkeypatch):
    configure(project, "[tool.opset.convert]\nto = 13\n")
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(".").st_uid + 1)
    status = os.stat(project / "pyproject.toml")
    if status.st_uid == 0:
        monkeypatch.setattr(os, "stat", _as_owned_by(4321, os.stat))
    assert "pass --to, --release or --for" in run("convert", "small.onnx").stderr


def _as_owned_by(owner, stat):
    def stat_of(path, *arguments, **more):
        status = stat(path, *arguments, **more)
        if not str(path).endswith("pyproject.toml"):
            return status
        return os.stat_result((*status[:4], owner, *status[5:]))

    return stat_of


def test_schemas_and_targets_are_those_of_the_folder_above(project):
    folder = project / "schemas" / "com.example"
    folder.mkdir(parents=True)
    (folder / "Twice.yaml").write_text(
        "operator: Twice\nfamily: example\nversions:\n- since: 1\n  doc: Returns `2 * X`.\n"
        "  inputs: [{name: X, type: T, doc: values}]\n  outputs: [{name: Y, type: T, doc: results}]\n"
        "  types: {T: [float]}\n"
        "examples: [{name: one, since: 1, inputs: [{float: 1}], outputs: [{float: 2}]}]\n"
    )
    configure(project, '[tool.opset]\nschemas = ["schemas"]\n')
    assert run("show", "com.example.Twice").exit_code == 0
    configure(project, '[tool.opset]\nschemas = ["../.."]\n')
    assert "leads out of the project" in run("show", "com.example.Twice").stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.opset.convert]\npaln = true", "did you mean plan?"),
        ("[tool.opset.conver]\nplan = true", "did you mean convert"),
        ("[tool.opset.convert]\nplan = 1", "plan is neither true nor false"),
        ("[tool.opset.convert]\nrelease = ['1.15']", "release takes one value"),
        ("[tool.opset.convert]\nto = {a = 1}", "to is no text, number or truth value"),
        ("[tool.opset.convert]\njobs = 100000", "jobs is more than there are processors"),
        ("[tool.opset.convert]\nfor = 'installed:onnxruntime'", "only a call asks an installed package"),
        *(
            (f"[tool.opset.convert]\n{name} = {value}", "only a call sets this option")
            for name, value in {
                "output": "'/etc/passwd'",
                "o": "'/etc/passwd'",
                "schemas": "['/tmp']",
                "target": "['x.yaml']",
                "allow-hooks": "true",
                "in-place": "true",
                "force": "true",
                "allow-external-root": "['/']",
                "max-bytes": "'900T'",
                "timeout": "1e9",
                "debug": "true",
            }.items()
        ),
    ],
)
def test_what_a_configuration_cannot_set(project, text, said):
    configure(project, text)
    result = run("convert", "small.onnx", "--to", 13)
    assert result.exit_code == 2 and said in result.stderr, result.output
    assert [path.name for path in Path().iterdir()] == ["small.onnx"]


def test_no_option_that_names_files_or_programs_is_configured():
    """Of text, only what is listed: an option of a new verb is none of them until somebody decides that."""
    context = click.Context(cli, info_name="opset")
    decided = defaults._TEXTS | defaults._OF_CALLS
    for verb in VERBS:
        for option in cli.get_command(context, verb).params:
            if isinstance(option, click.Option) and isinstance(option.type, click.Path):
                assert decided.isdisjoint(option.opts), (verb, option.opts)
    assert defaults._TEXTS.isdisjoint(defaults._OF_CALLS)


@pytest.mark.parametrize("verb", ["import", "new", "bump", "explain", "completion", "conformance"])
def test_verbs_that_read_no_configuration(project, verb):
    configure(project, f"[tool.opset.{verb}]\nformat = 'nonsense'\n")
    assert "nonsense" not in run(verb, "--format", "json", "bash" if verb == "completion" else "U103").output


def test_help_is_shown_whatever_the_configuration_is(project):
    configure(project, "[tool.opset.convert]\npaln = true")
    assert run("convert", "--help").exit_code == 0


def test_operators_that_a_configuration_names_are_required_no_more(project):
    configure(project, "[tool.opset.lower]\nops = ['Relu']\nplan = true")
    assert run("lower", "small.onnx").exit_code in (0, 1)
