"""What is said of calls that are wrong: what, where, why and what to do, and the exit status that belongs to it."""

import json
from pathlib import Path

import click
import numpy as np
import pytest
from onnx import numpy_helper

from opset.cli import VERBS
from opset.cli.suggestions import option_error, plain_message
from tests.cli.commands import SMALL, run, run_json, save

SUM = """<ir_version: 8, opset_import: ["": 13]>
    g (float[2] a, float[2] b) => (float[2] y) { y = Add (a, b) }"""
A, B = np.float32([1, 2]), np.float32([3, 4])


@pytest.fixture
def files(folder):
    """Models, files of values and others in the working folder."""
    save("small.onnx", SMALL, folder)
    save("sum.onnx", SUM, folder)
    np.savez("in.npz", a=A, b=B)
    np.save("a.npy", A)
    Path("a.pb").write_bytes(numpy_helper.from_array(A).SerializeToString())
    Path("file.yaml").write_text("a: 1\n", encoding="utf-8")
    Path("page.onnx").write_text("<!DOCTYPE html><html></html>", encoding="utf-8")
    Path("empty.json").write_text("", encoding="utf-8")
    Path("list.json").write_text("[1]", encoding="utf-8")
    Path("dir").mkdir()
    return folder


def parts_of(stderr):
    """Return the label and text of each line of a finding: "why", "help", or "error[…]" with its message."""
    lines = [line.strip().split(maxsplit=1) for line in stderr.splitlines()]
    return {label: text for label, *rest in filter(None, lines) for text in rest}


@pytest.mark.parametrize(
    ("arguments", "status", "parts"),
    [
        (["run", "sum.onnx", "nope.npz"], 3, {"why": "there is no such file or folder", "help": "check the path"}),
        (["run", "sum.onnx", "a.pb"], 3, {"why": "it names no input", "help": "write NAME=a.pb; the inputs are a, b"}),
        (
            ["run", "sum.onnx", "a=in.npz"],
            3,
            {
                "why": "its values have names, so it is not for the input 'a' alone",
                "help": "leave the name out: in.npz; NAME= is for .npy and .pb",
            },
        ),
        (["run", "sum.onnx", "a=dir"], 3, {"why": "its values have names, so it is not for the input 'a' alone"}),
        (
            ["run", "sum.onnx", "dir"],
            3,
            {
                "why": "there is no input_0.pb in it",
                "help": "name a folder of test data, with input_0.pb, input_1.pb and so on, or a file",
            },
        ),
        (["run", "sum.onnx", "empty.json"], 3, {"why": "it is empty"}),
        (
            ["run", "sum.onnx", "a.npy"],
            1,
            {
                "error[R101]": "the input 'b' is missing",
                "help": "it has to be tensor(float) of shape [2]: "
                "name a file of values, or --set NAME=JSON, or --random",
            },
        ),
        (
            ["run", "sum.onnx", "in.npz", "--compare", "-"],
            3,
            {"why": "inputs alone come from stdin", "help": "name a file or folder"},
        ),
        (["run", "in.npz", "sum.onnx"], 3, {"help": "this is a file of values: opset run MODEL FILE.npz"}),
        (["convert", "page.onnx", "--to", 14], 3, {"help": "this is a page of the web: download the file itself"}),
        (
            ["check", "file.yaml"],
            3,
            {"help": "operator YAML is checked by opset lint, and shown by opset show OPERATOR --schemas DIR"},
        ),
        (["show", "dir"], 3, {"why": "it is a folder", "help": "name a file of a model in it"}),
        (["show", "Softmax@x"], 2, {"error[U105]": "'x' is no version of an operator set"}),
        (["show", "Softmax@²"], 2, {"error[U105]": "'²' is no version of an operator set"}),
        (["show", "Softmax@123456789"], 2, {"error[U105]": "there is no ai.onnx 123456789"}),
        (["show", "Softmax@1234567890"], 2, {"error[U105]": "'1234567890' is no version of an operator set"}),
        (["check", "small.onnx", "--report", "dir"], 2, {"why": "it is a folder"}),
        (["check", "small.onnx", "--report", "dir"], 2, {"help": "name another file with --report"}),
        (
            ["verify", "small.onnx", "small.onnx", "--data", "in.npz"],
            1,
            {"error[R102]": "the model has no input 'a', 'b'", "where": "in.npz", "help": "its inputs are x"},
        ),
        (["diff", "nope.onnx", "other.onnx"], 3, {"error[M101]": "the file cannot be read", "where": "nope.onnx"}),
        (
            ["diff", "Softmax", 1, 13, "--format", "html", "--force"],
            2,
            {"error[U103]": "--force, --format html: for models, not for operators", "help": "opset diff OLD NEW"},
        ),
        (["test", "nope.yaml"], 3, {"why": "there is no such file or folder", "help": "check the path"}),
        (["test", "small.onnx"], 3, {"help": "a model is checked by opset check"}),
        (["explain", "C10"], 2, {"help": "there are C101, C102, C103, C104, C105, C106"}),
        (
            ["examples", ""],
            2,
            {"error[U103]": "the folder to write to has no name", "help": "name one: opset examples DIR"},
        ),
        (["examples", "file.yaml"], 2, {"why": "it is no folder", "help": "name another folder: opset examples DIR"}),
        (["import", "empty.json"], 3, {"where": "empty.json", "why": "it is empty"}),
        (["export", "--domain", "ai.onnx.ml", "-o", "dir"], 2, {"error[U104]": "the output cannot be written"}),
        (["export", "--domain", "ai.onnx.ml", "-o", "dir"], 2, {"why": "it is a folder", "help": "name a file in it"}),
        (["conformance", "dir", "--runtime", "opset", "--expect", "nope"], 2, {"help": "check the path"}),
        (
            ["conformance", "dir", "--runtime", "opset", "--baseline", "empty.json"],
            2,
            {"why": "Expecting value: line 1 column 1 (char 0)"},
        ),
        (
            ["conformance", "dir", "--runtime", "opset", "--baseline", "list.json"],
            2,
            {"why": "its parts have other types"},
        ),
    ],
)
def test_a_mistake_is_told_with_what_to_do(arguments, status, parts, files):
    before = {path.name for path in files.iterdir()}
    result = run(*arguments)
    assert result.exit_code == status
    assert parts.items() <= parts_of(result.stderr).items()
    assert {path.name for path in files.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["convert", "small.onnx", "--to"], "Option '--to' requires an argument."),
        (["export", "ai.onnx"], "Got unexpected extra argument (ai.onnx); a domain is named by --domain"),
        (["diff", 1, 2, 3, 4], "Got unexpected extra argument (4)"),
        (["verify", "a", "b", "--rtol", "x"], "Invalid value for '--rtol': 'x' is not a number"),
        (["verify", "a", "b", "--atol", "nan"], "Invalid value for '--atol': 'nan' is not a number"),
        (["convert", "a", "--to", 13, "--timeout", "nan"], "Invalid value for '--timeout': 'nan' is not a number"),
        (
            ["convert", "small.onnx", "--for", "tensorrt==8.6", "--for=openvino==2024.6"],
            "--for is given 2 times, and takes one value; make a call for each",
        ),
        (["check", "small.onnx", "--for", "ort==1", "--for", "ort==2"], "--for is given 2 times, and takes one value"),
        (["convert", "small.onnx", "--to", 13, "-oa", "--output", "b"], "--output is given 2 times, and takes one"),
        (["text", "a", "--limit", "x"], "Invalid value for '--limit': 'x' is not a whole number"),
        (
            ["merge", "small.onnx", "sum.onnx", "--connect", "y"],
            "Invalid value for '--connect': 'y' is not OUTPUT=INPUT",
        ),
        (
            ["lower", "small.onnx", "--to", 14],
            "there is no option '--to'; it is an option of convert, blockers, merge, reduce",
        ),
        (["info", "small.onnx", "--for", "x"], "there is no option '--for'; did you mean --runtime?"),
        (["check", "small.onnx", "--strict"], "there is no option '--strict'; it is an option of infer, breaking, "),
    ],
)
def test_a_wrong_option_is_told_below_the_usage_of_its_verb(arguments, said, files):
    result = run(*arguments)
    usage, hint, *_, error = result.stderr.splitlines()
    assert result.exit_code == 2
    assert usage.startswith(f"Usage: opset {arguments[0]} ") and hint == f"Try 'opset {arguments[0]} --help' for help."
    assert error.startswith(f"Error: {said}")
    data = json.loads(run(*arguments[:2], "--format", "json", *arguments[2:]).stdout)
    assert [each["code"] for each in data["errors"]] == ["U109"] and data["exit_status"] == 2


def test_of_choices_and_numbers_the_last_one_counts(files):
    options = ("--jobs", 1, "--format", "sarif", "--jobs", 2, "--format", "json", "--quiet", "--quiet", "--timeout", 9)
    result = run(
        "convert", "small.onnx", "--to", 13, *options, "--timeout", 8, "--max-memory", "1G", "--max-memory", "2G"
    )
    assert result.exit_code == 0 and json.loads(result.stdout)["models"][0]["status"] == "converted", result.output


def test_an_unknown_runtime_is_told_once_for_many_models(files):
    result = run("check", "small.onnx", "sum.onnx", "--for", "nope==1")
    assert result.exit_code == 2 and result.stderr.count("error[U101] no runtime 'nope' is known") == 1
    data = run_json("check", "small.onnx", "sum.onnx", "--for", "nope==1")
    assert [each["code"] for each in data["errors"]] == ["U101"]


def test_options_of_one_or_two_letters_are_like_none():
    command = click.Command("verb", params=[click.Option(["--to"]), click.Option(["-o", "--output"])])
    context = click.Context(command, info_name="verb")
    messages = [option_error(click.NoSuchOption(name, ctx=context), ()) for name in ("-t", "--tt", "--outputs")]
    assert [each.partition("; ")[2] for each in messages] == [
        "verb --help lists all",
        "verb --help lists all",
        "did you mean --output?",
    ]


def test_other_messages_of_click_stay_as_they_are():
    assert plain_message(click.UsageError("Missing argument 'FILE'.")) == "Missing argument 'FILE'."


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("list", "docs", "lint", "test", "explain")])
def test_an_option_of_no_verb_has_the_usage_of_its_verb(verb):
    result = run(verb, "--xyzzy")
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(f"Usage: opset {verb} ")
    assert f"there is no option '--xyzzy'; opset {verb} --help lists all" in result.stderr
