"""What a call that is nearly right is told: the option, verb or name that is meant, and nothing is done."""

import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from opset.cli import VERBS, cli
from opset.cli.words import Words
from tests.cli.commands import SMALL, run, save, version


def test_a_package_without_examples_writes_none(folder, monkeypatch):
    monkeypatch.setattr("opset.cli.examples.example_files", dict)
    result = run("examples")
    assert result.exit_code == 2 and "error[U104] there are no examples to write" in result.stderr
    assert [*folder.iterdir()] == []


def test_what_a_stream_cannot_encode_is_escaped(folder):
    save("\xfc.onnx", SMALL, folder)
    runner = CliRunner(charset="ascii")
    assert runner.invoke(cli, ["info", "\xfc.onnx"]).stdout.startswith("\\xfc.onnx: ai.onnx 11")
    assert "where   \\xe9.onnx" in runner.invoke(cli, ["info", "\xe9.onnx"]).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["conver", "small.onnx"], "there is no verb 'conver'; did you mean convert?"),
        (["upgrade", "small.onnx"], "there is no verb 'upgrade'; did you mean convert?"),
        (["xyzzy"], "there is no verb 'xyzzy'; opset --help lists all"),
        (["convert", "small.onnx", "--opset", "20"], "there is no option '--opset'; did you mean --to?"),
        (["convert", "small.onnx", "--dry-run"], "there is no option '--dry-run'; did you mean --plan?"),
        (["check", "small.onnx", "--dry-run"], "there is no option '--dry-run'; opset check --help lists all"),
        (["check", "small.onnx", "--json"], "there is no option '--json'; did you mean --format json?"),
        (["convert", "small.onnx", "--realese", "1.15"], "did you mean --release"),
        (["convert", "small.onnx"], "pass --to, --release or --for"),
        (["blockers", "small.onnx"], "pass --to, --release or --for"),
        (["convert", "small.onnx", "--target", "20"], "pass --to in its place"),
        (["convert", "small.onnx", "--target", "onnxruntime"], "pass --to, --release or --for in its place"),
        (["convert", "small.onnx", "--to", "20", "--release", "1.15"], "--to and --release exclude each other"),
        (["convert", "small.onnx", "--to", "1.15"], "--release 1.15"),
        (["convert", "small.onnx", "--to", "onnxruntime==1.17"], "a runtime is named by --for"),
        (["convert", "small.onnx", "--release", "21"], "pass --to 21"),
        (["convert", "small.onnx", "--for", "onnxruntme==1.17"], "did you mean onnxruntime"),
        (["lower", "small.onnx", "--ops", "Atention"], "did you mean Attention"),
        (["show", "Softmx"], "did you mean Softmax"),
        (["convert", "small.onnx", "out.onnx", "--to", "20"], "to write the result there: -o out.onnx"),
        (["show", "Scaler", "--domain", "ai.onnx"], "Scaler is an operator of ai.onnx.ml"),
        (["lower", "small.onnx", "--ops", "Scaler"], "Scaler is an operator of ai.onnx.ml"),
        (["list", "opertors"], "; did you mean operators?"),
        (["targets", "shwo"], "; did you mean show?"),
        (["completion", "bsh"], "; did you mean bash"),
        (["schema", "chek"], "; did you mean check?"),
        (["check", "small.onnx", "--format", "JSON"], "; did you mean json?"),
        (["convert", "small.onnx", "--to", "20", "--external-data", "kep"], "; did you mean keep?"),
        (
            ["test", "--only", "krnel"],
            "is none of kernel, inference, function, conversion, claims; did you mean kernel?",
        ),
        (["list", "--domain", "ai.onx"], "did you mean ai.onnx or ai.onnx.ml? known: ai.onnx, ai.onnx.ml, "),
        (["export", "--domain", "ai.onnx.mll"], "did you mean ai.onnx.ml or "),
        (["convert", "small.onnx", "--to", "ai.onnx.mll=3"], "did you mean ai.onnx.ml or "),
        (
            ["conformance", "--runtime", "onnxrutime"],
            "did you mean onnxruntime? name one of onnxruntime, onnx, opset, ",
        ),
    ],
)
def test_a_call_that_is_nearly_right_is_told_what_is_meant(arguments, said, small):
    result = run(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert said in result.stderr
    assert [path.name for path in small.parent.iterdir()] == ["small.onnx"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_word_that_is_none_of_a_few_is_told_the_one_that_is_meant(verb):
    command = cli.get_command(None, verb)
    choices = [each for each in command.params if isinstance(each.type, click.Choice)]
    assert [each.name for each in choices if not isinstance(each.type, Words)] == []


UNKNOWN = """<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] z) {
    y = Sofmax (x)
    z = Scaler (y)
}"""


@pytest.mark.parametrize(
    "verb",
    [["convert", "--to", 14], ["lower", "--ops", "Gelu"], ["check"], ["run", "--random"], ["blockers", "--to", 14]],
)
def test_an_operator_that_does_not_exist_is_told_the_one_that_is_meant(verb, folder):
    Path("wrong.onnxtxt").write_text(UNKNOWN, encoding="utf-8")
    result = run(verb[0], "wrong.onnxtxt", *verb[1:])
    said = (result.stderr or result.stdout).splitlines()
    assert result.exit_code == 1 and [path.name for path in folder.iterdir()] == ["wrong.onnxtxt"]
    helps = [line.split(maxsplit=1)[1] for line in said if line.split()[:1] in (["help"], ["help:"])]
    assert helps == ["did you mean Softmax or LogSoftmax?", "Scaler is an operator of ai.onnx.ml"]


def test_an_unknown_operator_has_no_version(folder):
    Path("wrong.onnxtxt").write_text(UNKNOWN, encoding="utf-8")
    lines = run("blockers", "wrong.onnxtxt", "--to", 14).stdout.splitlines()
    assert "  Sofmax: 1 node, graph 'g', node number 0 (Sofmax)" in lines


def test_an_option_that_means_something_else_is_not_taken_for_it(small):
    """`infer` has no target: its help does not name --to."""
    assert "did you mean --to" not in run("infer", "small.onnx", "--opset", "20").stderr


def test_two_models_do_not_become_one_file(small):
    shutil.copy("small.onnx", "other.onnx")
    result = run("convert", "small.onnx", "other.onnx", "--to", 20, "-o", "out")
    assert result.exit_code == 2
    assert "several models do not fit into one file, 'out'" in result.stderr and "-o out/" in result.stderr
    assert not Path("out").exists()
    for given in ("out/", "out"):  # from then on the folder exists
        assert run("convert", "small.onnx", "other.onnx", "--to", 20, "-o", given, "--force").exit_code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["other-opset20.onnx", "small-opset20.onnx"]


@pytest.mark.parametrize(("given", "made"), [("new/", "new/small-opset20.onnx"), ("new", "new")])
def test_a_folder_is_one_that_exists_or_ends_with_a_slash(given, made, small):
    assert run("convert", "small.onnx", "--to", 20, "-o", given).exit_code == 0
    assert version(made) == 20


def test_a_folder_of_models_does_not_become_one_file(folder, small):
    result = run("convert", ".", "--to", 20, "-o", "out.onnx")
    assert result.exit_code == 2 and not Path("out.onnx").exists()
    assert run("convert", ".", "--to", 20, "-o", "out").exit_code == 0
    assert version("out/small-opset20.onnx") == 20
