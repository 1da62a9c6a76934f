"""The models that a command line names, where results go, and sizes: as functions give them."""

import json
import os
from pathlib import Path

import click
import pytest

from opset.cli import inputs
from opset.cli.inputs import (
    Input,
    Output,
    Stamp,
    dims_option,
    expand_inputs,
    output_for,
    parse_input,
    refuse_output_as_input,
    refuse_report_as_model,
    stamp_of,
    suffix_of,
)
from opset.cli.limits import parse_size
from opset.errors import ModelError, UsageError
from tests.cli.commands import SMALL, run, save

FILES = """
a.onnx b.onnxtxt c.txt a-opset13.onnx b-inferred.onnxtxt lone-inlined.onnx a-lowered.onnx .hidden.onnx
deep/a.onnx deep/er/a.onnx deep/.git/x.onnx deep/folder.onnx/in.onnx deep/er/b[1].onnx other/a.onnx
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in FILES.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("deep")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def paths(*arguments, products=False):
    return " ".join(each.path for each in expand_inputs(arguments, products=products))


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        (
            ".",
            "./.hidden.onnx ./a.onnx ./b.onnxtxt ./lone-inlined.onnx ./deep/a.onnx ./deep/.git/x.onnx "
            "./deep/er/a.onnx ./deep/er/b[1].onnx ./deep/folder.onnx/in.onnx ./other/a.onnx",
        ),
        ("link", "link/a.onnx link/.git/x.onnx link/er/a.onnx link/er/b[1].onnx link/folder.onnx/in.onnx"),
        ("*.onnx", "a.onnx lone-inlined.onnx"),
        (".*.onnx", ".hidden.onnx"),
        ("*", "a.onnx b.onnxtxt c.txt lone-inlined.onnx"),
        ("*/a.onnx", "deep/a.onnx link/a.onnx other/a.onnx"),
        ("**/a.onnx", "a.onnx deep/a.onnx deep/er/a.onnx other/a.onnx"),
        ("deep/**", "deep/a.onnx deep/er/a.onnx deep/er/b[1].onnx deep/folder.onnx/in.onnx"),
        ("deep/**/*.onnx", "deep/a.onnx deep/er/a.onnx deep/er/b[1].onnx deep/folder.onnx/in.onnx"),
        (
            "**/*.onnx",
            "a.onnx deep/a.onnx deep/er/a.onnx deep/er/b[1].onnx deep/folder.onnx/in.onnx lone-inlined.onnx "
            "other/a.onnx",
        ),
        ("**/**/er/a.onnx", "deep/er/a.onnx"),
        ("deep/er/b[1].onnx", "deep/er/b[1].onnx"),
        ("deep/e?/[ab]*", "deep/er/a.onnx deep/er/b[1].onnx"),
        ("d*/er/../a.onnx", "deep/er/../a.onnx"),
        ("-", "-"),
        ("nowhere.onnx", "nowhere.onnx"),
    ],
)
def test_what_an_argument_stands_for(tree, argument, found):
    assert paths(argument) == found


def test_patterns_from_the_root_on(tree):
    for pattern in ("**/a.onnx", "deep/*.onnx"):
        assert paths(f"{tree}/{pattern}") == " ".join(f"{tree}/{each}" for each in paths(pattern).split())


def test_products_are_left_out_beside_their_originals_alone(tree):
    assert paths("*", products=True) == (
        "a-lowered.onnx a-opset13.onnx a.onnx b-inferred.onnxtxt b.onnxtxt c.txt lone-inlined.onnx"
    )
    assert paths("a-*.onnx") == "a-lowered.onnx a-opset13.onnx"
    assert paths("a-opset13.onnx", "a.onnx", "./a.onnx", "deep/../a.onnx") == "a-opset13.onnx a.onnx"


def test_what_is_known_of_an_input(tree):
    assert expand_inputs(["deep/er"], products=False) == [
        Input("deep/er/a.onnx", True, "deep/er", ""),
        Input("deep/er/b[1].onnx", True, "deep/er", ""),
    ]
    assert expand_inputs(["deep"], products=False)[2] == Input("deep/er/a.onnx", True, "deep", "er")
    assert expand_inputs(["a.*", "deep/er/b[1].onnx"], products=False) == [
        Input("a.onnx", True, tree=""),
        Input("deep/er/b[1].onnx", True),
    ]
    assert [parse_input(each) for each in ("-", "text:-", "a")] == [Input("-"), Input("-", text=True), Input("a")]


def test_arguments_that_stand_for_nothing_are_all_told(tree):
    (tree / "empty").mkdir()
    with pytest.raises(ModelError) as raised:
        expand_inputs(["*.none", "a.onnx", "empty", "*/none"], products=False)
    assert [each.file for each in raised.value.finding_list] == ["*.none", "empty", "*/none"]
    first = raised.value.finding_list[0]
    assert first.why == "no file *.onnx was found, and no model as text" and first.help.startswith("check the path; ")


def test_folders_that_cannot_be_read_are_reported_like_models(tree, monkeypatch):
    listed = inputs._Listing.list_entries

    def entries(self, folder):
        if folder.endswith("deep/.git"):
            raise PermissionError(folder)
        return listed(self, folder)

    monkeypatch.setattr(inputs._Listing, "list_entries", entries)
    assert paths("deep") == "deep/a.onnx deep/.git deep/er/a.onnx deep/er/b[1].onnx deep/folder.onnx/in.onnx"
    assert expand_inputs(["deep"], products=False)[1] == Input("deep/.git", True, "deep", ".git")
    assert paths("deep/**/a.onnx") == "deep/a.onnx deep/er/a.onnx"
    with pytest.raises(ModelError):
        expand_inputs(["deep/.git/*"], products=False)


def test_entries_are_counted_for_all_arguments_together(tree, monkeypatch):
    count = sum(len([*Path(folder).iterdir()]) for folder in ("deep/er", "other"))
    monkeypatch.setattr(inputs, "MOST_ENTRIES", count)
    assert len(expand_inputs(["deep/er", "other"], products=False)) == 3
    monkeypatch.setattr(inputs, "MOST_ENTRIES", count - 1)
    with pytest.raises(UsageError, match="the folder is too large") as raised:
        expand_inputs(["deep/er", "other"], products=False)
    assert f"more than {count - 1} files" in raised.value.findings[0].why


FOUND = Input("in/deep/a.onnx", True, "in", "deep")


@pytest.mark.parametrize(
    ("where", "model", "place"),
    [
        (Output(), Input("in/a.onnx"), ("in", "a-x.onnx")),
        (Output(), Input("a.pb"), ("", "a-x.onnx")),
        (Output(), Input("a.onnxtxt"), ("", "a-x.onnxtxt")),
        (Output(), FOUND, ("in", "deep/a-x.onnx")),
        (Output(in_place=True), Input("in/a.pb"), ("in", "a.pb")),
        (Output(in_place=True), FOUND, ("in", "deep/a.onnx")),
        (Output(folder="out"), Input("in/a.onnx"), ("out", "a-x.onnx")),
        (Output(folder="out"), FOUND, ("out", "deep/a-x.onnx")),
        (Output(folder="out"), Input("-"), ("out", "stdin-x.onnx")),
        (Output(folder="out"), Input("-", text=True), ("out", "stdin-x.onnxtxt")),
    ],
)
def test_where_a_result_is_placed(where, model, place):
    assert where.result_path(model, "x") == place


@pytest.mark.parametrize(
    ("given", "models", "where"),
    [
        (None, "a.onnx", Output()),
        (None, "a.onnx deep/a.onnx", Output()),
        (None, "-", Output(stream=True)),
        (None, "text:-", Output(stream=True, text=True)),
        ("-", "a.onnx", Output(stream=True)),
        ("text:-", "a.onnx", Output(stream=True, text=True)),
        ("new.onnx", "a.onnx", Output(file="new.onnx")),
        ("new/", "a.onnx", Output(folder="new/")),
        ("deep", "a.onnx", Output(folder="deep")),
        ("new/", "a.onnx b.onnxtxt", Output(folder="new/")),
        ("new", "*.onnx*", Output(folder="new")),
        ("new", "deep/er", Output(folder="new")),
        ("new", "b.onnxtxt deep/er", Output(folder="new")),
        ("c.txt", "a.onnx", Output(file="c.txt")),
    ],
)
def test_where_results_go(tree, given, models, where):
    assert output_for(given, False, expand_inputs(models.split(), products=True)) == where


@pytest.mark.parametrize(
    ("given", "in_place", "models", "said"),
    [
        ("x", True, "a.onnx", "--in-place and -o exclude each other"),
        (None, True, "- a.onnx", "a stream cannot be converted in place"),
        (None, False, "- a.onnx", "several models do not fit into one stream"),
        ("c.txt", False, "a.onnx b.onnxtxt", "'c.txt' is no folder, and several models are to be written there"),
        ("c.txt", False, "deep/er", "'c.txt' is no folder"),
        ("new/", False, "a.onnx other/a.onnx", "two models have one name"),
        ("new", False, "a.onnx b.onnxtxt", "several models do not fit into one file, 'new'"),
        ("new.onnx", False, "deep/er", "several models do not fit into one file, 'new.onnx'"),
        (None, False, "a.onnx a.pb", "two models have one name"),
    ],
)
def test_results_that_cannot_go_anywhere(tree, given, in_place, models, said):
    with pytest.raises(UsageError, match=said):
        output_for(given, in_place, expand_inputs(models.split(), products=True))


def test_an_input_with_absolute_paths(tree):
    assert Input("a.onnx").absolute() == Input(str(tree / "a.onnx"))
    found = Input("deep/a.onnx", True, "deep", "").absolute()
    assert found == Input(str(tree / "deep/a.onnx"), True, str(tree / "deep"), "")
    for each in Input("-"), Input("s3://a/b.onnx"):
        assert each.absolute() == each


def test_a_file_that_is_gone_has_another_state_than_any_file(tree):
    assert stamp_of(Input("gone.onnx")) == Stamp(-1, 0) and stamp_of(Input("a\0b")) == Stamp(-1, 0)
    (tree / "a.onnx").write_bytes(b"abc")
    os.utime("a.onnx", ns=(5, 7))
    assert stamp_of(Input("a.onnx")) == Stamp(3, 7)


def test_a_place_with_absolute_paths(tree):
    assert Output(file="a", folder="b", text=True).absolute() == Output(
        file=str(tree / "a"), folder=str(tree / "b"), text=True
    )
    assert Output(in_place=True).absolute() == Output(in_place=True)
    remote = Output(file="s3://a/b", folder="s3://a/c")
    assert remote.absolute() == remote


def test_results_in_place():
    assert output_for(None, True, [Input("a.onnx")]) == Output(in_place=True)


def test_a_report_is_no_model(tree):
    for report, output in ((None, None), ("./-", None), (".", Output(folder="out")), ("r.html", Output(file="a.onnx"))):
        assert refuse_report_as_model(report, [Input("-"), Input("b.onnx")], output) is None
    for report in ("./b.onnx", "a.onnx"):
        with pytest.raises(UsageError, match="is the report and a model"):
            refuse_report_as_model(report, [Input("-"), Input("b.onnx")], Output(file="a.onnx"))


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        (Input("a.onnx"), Input("new.onnx"), True),
        (Input("a.onnx"), Input("b.onnxtxt"), False),
        (Input("gone.onnx"), Input("new.onnx"), False),
        (Input("a.onnx", found=True), Input("new.onnx"), False),
        (Input("a.onnx"), Input("new.onnx", found=True), False),
        (Input("a.onnx"), Input("-"), False),
        (Input("-"), Input("new.onnx"), False),
    ],
)
def test_a_second_input_that_is_not_there_is_meant_as_the_output(tree, first, second, is_refused):
    assert refuse_output_as_input([first]) is None and refuse_output_as_input([first, second, second]) is None
    if not is_refused:
        assert refuse_output_as_input([first, second]) is None
        return
    with pytest.raises(UsageError, match=r"'new\.onnx' is named as an input, and does not exist") as caught:
        refuse_output_as_input([first, second])
    assert (caught.value.code, caught.value.findings[0].help) == ("U103", "to write the result there: -o new.onnx")


@pytest.mark.parametrize(
    ("call", "code", "status"),
    [
        (["convert", "a.onnx", "new.onnx"], "U103", 2),
        (["convert", "a.onnx", "new.onnx", "-o", "out/"], "M101", 3),
        (["convert", "a.onnx", "new.onnx", "--in-place"], "M101", 3),
        (["convert", "a.onnx", "new.onnx", "--plan"], "M101", 3),
        (["check", "a.onnx", "new.onnx"], "M101", 3),
    ],
)
def test_a_second_name_without_a_file_is_an_output_only_where_one_is_needed(folder, call, code, status):
    save("a.onnx", SMALL, folder)
    result = run(*call, *(["--to", "12"] if call[0] == "convert" else []), "--format", "json")
    data = json.loads(result.stdout)
    errors = data.get("errors") or data["models"][1]["errors"]
    assert (result.exit_code, [each["code"] for each in errors]) == (status, [code])


def test_names_of_results():
    assert suffix_of({"": 21, "ai.onnx.ml": 3}) == "opset21"
    assert suffix_of({"b": 2, "a": 1}) == "a1-b2"


def test_sizes_of_dimensions():
    command = click.command()(dims_option(lambda dims: click.echo(dims)))
    assert command.main(["--dim", "N=1", "--dim", "a=b=020", "--dim", "N=1"], standalone_mode=False) is None
    parsed = command.make_context("x", ["--dim", "a=b=020", "--dim", f"N={'9' * 18}", "--dim", "a=b=20"]).params["dims"]
    assert parsed == {"a=b": 20, "N": 10**18 - 1}
    for wrong in ("N", "=1", "N=", f"N={'9' * 19}", "N=-1", "N=1.0", "N=\u0661"):
        with pytest.raises(click.BadParameter, match="is not NAME=N"):
            command.make_context("x", ["--dim", wrong])
    with pytest.raises(click.BadParameter, match="'N' is given two sizes: 1 and 2"):
        command.make_context("x", ["--dim", "N=1", "--dim", "N=2"])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1000000", 1000000), ("0", 0), ("3K", 3 << 10), ("512M", 512 << 20), ("2g", 2 << 30), ("5tib", 5 << 40),
        ("7b", 7), ("1GiB", 1 << 30), ("1kB", 1 << 10), ("9" * 18, 10**18 - 1), (None, None),
    ],
)  # fmt: skip
def test_sizes_in_bytes(text, count):
    assert parse_size(None, None, text) == count


@pytest.mark.parametrize("text", ["", "K", "1.5G", "-1", "1P", "1 G", "9" * 19, "\u0661", "1GiBs"])
def test_what_is_no_size(text):
    with pytest.raises(click.BadParameter, match="is no size such as 1000000, 512M or 2G"):
        parse_size(None, None, text)


def test_a_link_to_nothing_is_named_as_it_is(tree):
    os.symlink("nothing", "to[1].onnx")
    assert expand_inputs(["to[1].onnx"], products=False) == [Input("to[1].onnx", True)]


@pytest.mark.parametrize(
    ("pattern", "same"),
    [("deep/**/", "deep/**"), ("deep//e*//*.onnx", "deep/e*/*.onnx"), ("deep/*.onnx/", "deep/*.onnx")],
)
def test_doubled_separators_mean_nothing_in_a_pattern(tree, pattern, same):
    assert expand_inputs([pattern], products=False)
    assert [each.path for each in expand_inputs([pattern], products=False)] == [
        each.path for each in expand_inputs([same], products=False)
    ]
