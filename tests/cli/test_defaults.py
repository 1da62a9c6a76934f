"""Defaults of options in pyproject.toml, here or above: they hold unless the call says otherwise; they are data."""

import os
from pathlib import Path

import click
import pytest

from opset.cli import VERBS, cli, defaults
from tests.cli.commands import SMALL, run, run_json, save, version


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


def test_as_many_processes_as_processors_may_be_configured(project, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    configure(project, "[tool.opset.convert]\nto = 13\njobs = 8\n")
    assert run("convert", "small.onnx").exit_code == 0
    configure(project, "[tool.opset.convert]\nto = 13\njobs = 9\n")
    assert "write at most 8" in run("convert", "small.onnx").stderr


@pytest.mark.parametrize(("release", "opset"), [("1.10", 15), ("1.2", 7), ("'1.10'", 15)])
def test_a_release_is_the_text_that_is_written(project, release, opset):
    configure(project, f"[tool.opset.convert]\nrelease = {release}\n")
    result = run("convert", "small.onnx", "--plan")
    assert f"ai.onnx 11 -> {opset}" in result.stdout, result.output


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
        ("[tool.opset.convert]\ninput = 'small.onnx'", "help    opset convert --help lists them"),
        ("[tool.opset.conver]\nplan = true", "did you mean convert"),
        ("[tool.opset.convert]\nplan = 1", "plan is neither true nor false"),
        ("[tool.opset.convert]\nplan = 1.5", "help    write true or false, without quotes"),
        ("[tool.opset.convert]\nrelease = ['1.15']", "release takes one value"),
        ("[tool.opset.convert\n", "help    correct the file, which has to be TOML"),
        ("[tool.opset.convert]\nto = {a = 1}", "to is no text, number or boolean"),
        ("[tool.opset.convert]\nto = ['13', {a = 1}]", "to is no text, number or boolean"),
        ("[tool.opset.convert]\nto = ['13', ['14']]", "to is no text, number or boolean"),
        (f"[tool.opset.convert]\nto = {[*map(str, range(defaults.MOST + 1))]}", "to is no text, number or boolean"),
        ("[tool.opset.convert]\njobs = 100000", "jobs is more than there are processors"),
        ("[tool.opset.convert]\ntimeout = 1e9", "timeout allows more work: at most 3600"),
        ("[tool.opset.explain]\nformat = 'json'", "has the unknown key 'explain'"),
        ("[tool.opset.convert]\nschemas = ['schemas']", "list it below [tool.opset]: schemas = [...]"),
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
                "max-steps": "1",
                "verify-with": "'onnxruntime'",
                "executor": "'dask://evil.example:1'",
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


def options_of_all():
    context = click.Context(cli, info_name="opset")
    for verb in VERBS:
        command = cli.get_command(context, verb)
        yield from ((verb, command, each) for each in command.params if isinstance(each, click.Option))


def test_each_option_has_a_default_in_the_configuration_or_a_reason_why_not():
    """A new option of text is neither until somebody decides that it names no file and no program."""
    for verb, command, option in options_of_all():
        reason = defaults.reason_for_call(verb, command, option)
        assert not reason.startswith("nobody has decided"), (verb, option.opts)
        if isinstance(option.type, click.Path):
            assert reason, (verb, option.opts)
    assert defaults._TEXTS.isdisjoint(defaults.ONLY_CALLS)
    names = {name for verb, _, option in options_of_all() for each in option.opts for name in (each, f"{verb}:{each}")}
    assert {*defaults.ONLY_CALLS, *defaults._TEXTS, *defaults._LIMITS} <= names | {"--help"}


def test_the_guide_lists_what_only_a_call_sets():
    page = (Path(__file__).parents[2] / "docs" / "converting.md").read_text()
    for name, why in defaults.ONLY_CALLS.items():
        row = next(line for line in page.splitlines() if line.endswith(f"| {why} |"))
        verb, _, option = name.rpartition(":")
        assert f"`{verb} {option}`" in row if verb else f"`{option}`" in row


@pytest.mark.parametrize("verb", ["explain", "completion", "schema", "examples"])
def test_verbs_that_read_no_configuration(project, verb):
    configure(project, f"[tool.opset.{verb}]\nformat = 'nonsense'\n")
    argument = {"completion": "bash", "schema": "check", "examples": "there/"}.get(verb, "U103")
    assert run(verb, argument).exit_code == 0


def test_limits_of_a_configuration_hold(project):
    configure(project, "[tool.opset.conformance]\ntimeout = 61\n")
    assert "timeout allows more work: at most 60" in run("conformance", "cases").stderr
    configure(project, "[tool.opset.convert]\nmax-memory = 'nonsense'\ntimeout = 5\n")
    assert "'nonsense' is no size" in run("convert", "small.onnx", "--to", 13).stderr
    configure(project, "[tool.opset.conformance]\nruntime = 'sh -c evil'\n")
    assert "it runs programs" in run("conformance", "cases").stderr


def test_names_of_a_new_operator_are_configured(project):
    configure(project, "[tool.opset.new]\nfamily = 'unary'\n")
    result = run("new", "com.example.Twice", "--schemas", "there")
    assert "family: unary" in Path("there/com.example/Twice.yaml").read_text(), result.output


def test_help_is_shown_whatever_the_configuration_is(project):
    configure(project, "[tool.opset.convert]\npaln = true")
    assert {run("convert", form).exit_code for form in ("--help", "-h")} == {0}


def test_operators_that_a_configuration_names_are_required_no_more(project):
    configure(project, "[tool.opset.lower]\nops = ['Relu']\nplan = true")
    assert run("lower", "small.onnx").exit_code in (0, 1)


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
