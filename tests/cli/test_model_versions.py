"""`opset diff` of two models: what changed for callers, and the version that is written."""

import io
import os
import sys

import onnx
import pytest

import opset
from opset.cli.model_versions import ModelDifference, _difference_lines
from opset.description.interface import KINDS, InterfaceChange, InterfaceComparison
from opset.description.structure.comparing import PartCounts, StructureComparison
from opset.errors import SHOWN, FindingList
from tests.cli.commands import run, run_json

OLD = """<ir_version: 8, opset_import: ["": 17], model_version: 281483566645251>
    m (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }"""
MINOR = (
    OLD.replace("=> (", "=> (float z, ")
    .replace("{ y", "{ z = ReduceMax <keepdims = 0> (x) y")
    .replace("(float z, float[N, 3] y)", "(float[N, 3] y, float z)")
)
MAJOR = OLD.replace("float[N, 3] x", "float[8, 3] x")
PATCH = OLD.replace("Relu", "Abs")
KINDS_OF_CHANGES = (
    ("MAJOR", "input-order", ("x", "y")),
    ("MAJOR", "input-removed", ("", "")),
    ("MINOR", "input-widened", ("", "z")),
)


def put(folder, **models):
    for name, text in models.items():
        (folder / f"{name}.onnx").write_bytes(opset.parse_model(text).SerializeToString())


def version_of(path):
    return str(opset.ModelVersion.of(onnx.load(path).model_version))


def test_what_changed_is_shown(folder):
    put(folder, old=OLD, new=MAJOR)
    result = run("diff", "old.onnx", "new.onnx")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "old.onnx -> new.onnx: MAJOR",
        "  MAJOR input-narrowed: some values that callers feed are no longer taken (our reading)",
        "    input 'x', dimension 0: N -> 8",
        "  MAJOR output-widened: callers may read values that did not occur before (our reading)",
        "    output 'y', dimension 0: N -> N, another size",
        "  model version 1.2.3 -> 1.2.3; MAJOR asks for 2.0.0 or higher",
    ]


def test_the_same(folder):
    put(folder, old=OLD, new=OLD.replace("281483566645251", "5"))
    assert (
        run("diff", "old.onnx", "new.onnx").stdout
        == "old.onnx -> new.onnx: NONE, the same\n  model version 1.2.3 -> 5\n"
    )


def test_json_has_all_of_it(folder):
    put(folder, old=OLD, new=MINOR)
    data = run_json("diff", "old.onnx", "new.onnx", "--set-version", "-o", "out.onnx")
    changes = data.pop("changes")
    assert data.pop("structure")["nodes"]["added"] == 1
    assert data == {
        "old": "old.onnx", "new": "new.onnx", "level": "MINOR", "omitted": 0, "version_before": "1.2.3",
        "version_after": "1.2.3", "next_version": "1.3.0", "set_version": "1.3.0", "output": "out.onnx", "report": None,
        "notes": [], "errors": [], "exit_status": 0,
    }  # fmt: skip
    assert changes[0] == {
        "level": "MINOR", "kind": "output-added", "place": "output 'z'", "before": "", "after": "tensor(float)[]",
        "why": "callers do not read the new output", "stated": False,
    }  # fmt: skip
    assert [each["kind"] for each in changes[1:]] == ["nodes"]


@pytest.mark.parametrize(
    ("new", "given", "written"),
    [
        (MAJOR, [], "2.0.0"), (MINOR, [], "1.3.0"), (PATCH, [], "1.2.4"), (OLD, [], "1.2.3"),
        (MINOR, ["1.3.0"], "1.3.0"), (MINOR, ["1.3.7"], "1.3.7"), (PATCH, ["4.0.0"], "4.0.0"),
        (MINOR, ["0x0001000400000000"], "1.4.0"), (OLD, ["1.2.3"], "1.2.3"),
    ],
)  # fmt: skip
def test_the_version_is_written_and_nothing_else(folder, new, given, written):
    put(folder, old=OLD, new=new)
    result = run("diff", "old.onnx", "new.onnx", "--set-version", *given, "-o", "out.onnx")
    assert result.exit_code == 0 and f"  wrote out.onnx, version {written}\n" in result.stdout
    assert version_of("out.onnx") == written and version_of("new.onnx") == "1.2.3"
    out, before = onnx.load("out.onnx"), onnx.load("new.onnx")
    out.model_version = before.model_version
    assert out.SerializeToString() == before.SerializeToString()


@pytest.mark.parametrize("given", ["1.2.9", "7", "1.3.0"])
def test_a_version_that_is_too_low_is_refused(folder, given):
    put(folder, old=OLD, new=MAJOR)
    result = run("diff", "old.onnx", "new.onnx", "--set-version", given, "-o", "out.onnx")
    assert result.exit_code == 1 and not (folder / "out.onnx").exists()
    assert (
        f"error[V101] {given} is too low for what changed" in result.stderr
        and "give 2.0.0 or a higher" in result.stderr
    )
    assert "MAJOR asks for 2.0.0" in result.stdout
    data = run_json("diff", "old.onnx", "new.onnx", "--set-version", given, "-o", "out.onnx")
    assert [each["code"] for each in data["errors"]] == ["V101"] and data["exit_status"] == 1
    assert data["output"] is data["set_version"] is None


def test_a_model_without_a_version_gets_a_first_one(folder):
    put(folder, old=OLD.replace(", model_version: 281483566645251", ""), new=PATCH)
    run("diff", "old.onnx", "new.onnx", "--set-version", "-o", "out.onnx")
    assert version_of("out.onnx") == "1"


def test_no_version_is_left(folder):
    put(folder, old=OLD.replace("281483566645251", "-1"), new=PATCH)
    result = run("diff", "old.onnx", "new.onnx")
    assert result.exit_code == 0 and "no version is left that follows" in result.stdout
    result = run("diff", "old.onnx", "new.onnx", "--set-version", "-o", "out.onnx")
    assert result.exit_code == 1 and "error[V102]" in result.stderr and not (folder / "out.onnx").exists()


def test_outputs_that_are_there_and_the_new_model_itself(folder):
    put(folder, old=OLD, new=PATCH)
    arguments = ("diff", "old.onnx", "new.onnx", "--set-version", "-o", "new.onnx")
    result = run(*arguments)
    assert result.exit_code == 2 and "error[U102]" in result.stderr and version_of("new.onnx") == "1.2.3"
    assert run(*arguments, "--force").exit_code == 0 and version_of("new.onnx") == "1.2.4"
    result = run("diff", "old.onnx", "new.onnx", "--set-version", "-o", ".")
    assert result.exit_code == 2 and "error[U104]" in result.stderr


def test_external_data_goes_with_the_model(folder):
    message = opset.parse_model(PATCH)
    tensor = message.graph.initializer.add(name="w", data_type=1, dims=[2], data_location=1)
    tensor.external_data.add(key="location", value="weights")
    (folder / "new").mkdir()
    (folder / "new" / "m.onnx").write_bytes(message.SerializeToString())
    (folder / "new" / "weights").write_bytes(b"12345678")
    put(folder, old=OLD)
    result = run("diff", "old.onnx", "new/m.onnx", "--set-version", "-o", "out.onnx")
    assert result.exit_code == 0 and (folder / "weights").read_bytes() == b"12345678"
    linked = run("diff", "old.onnx", "new/m.onnx", "--set-version", "-o", "in.onnx", "--external-data", "inline")
    assert linked.exit_code == 0 and onnx.load("in.onnx").graph.initializer[0].raw_data == b"12345678"


def test_streams_and_texts(folder):
    put(folder, old=OLD, new=MINOR)
    (folder / "old.onnxtxt").write_text(OLD)
    new = (folder / "new.onnx").read_bytes()
    assert "old.onnxtxt -> -: MINOR" in run("diff", "old.onnxtxt", "-", stdin=new).stdout
    assert "text:- -> new.onnx: MINOR" in run("diff", "text:-", "new.onnx", stdin=OLD).stdout
    result = run("diff", "old.onnx", "new.onnx", "--set-version", "-o", "text:-")
    assert "model_version: 281487861612544" in result.stdout and "wrote stdout, version 1.3.0" in result.stderr
    result = run("diff", "-", "-", stdin=new)
    assert result.exit_code == 2 and "only one of two models" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["old.onnx", "new.onnx", "--set-version"], "-o FILE is missing"),
        (["old.onnx", "new.onnx", "-o", "out.onnx"], "--set-version is missing"),
        (["old.onnx", "new.onnx", "--domain", "ai.onnx"], "do not fit models"),
        (["old.onnx", "new.onnx", "--schemas", "."], "do not fit models"),
        (["old.onnx", "new.onnx", "13"], "Invalid value for 'A': 'new.onnx' is not a whole number"),
        (["Softmax", "x"], "'x' is neither a version nor the file of a model"),
        (["Softmax", "1", "13", "--set-version", "-o", "o"], "-o: for models, not for operators"),
        (["17", "21", "--allow-external-root", "."], "--allow-external-root: for models, not for operators"),
        (["Softmax", "13"], "a version is missing"),
        (["1234567890", "13"], "a version is missing"),
        (["²", "13"], "a version is missing"),
        (
            ["old.onnx", "new.onnx", "--set-version", "1.2", "-o", "out.onnx"],
            "error[U107] '1.2' is not a model version",
        ),
    ],
)
def test_arguments_that_do_not_fit(folder, arguments, why):
    put(folder, old=OLD, new=PATCH)
    result = run("diff", *arguments)
    assert result.exit_code == 2 and why in result.stderr and not (folder / "out.onnx").exists()


def test_a_model_that_cannot_be_read(folder):
    put(folder, old=OLD)
    (folder / "bad.onnx").write_bytes(b"\xff" * 40)
    for pair in (("old.onnx", "bad.onnx"), ("gone.onnx", "old.onnx"), ("old.onnx", "gone")):
        result = run("diff", *pair)
        assert result.exit_code == 3 and (pair[0] if pair[0] != "old.onnx" else pair[1]) in result.stderr


def test_a_file_whose_name_is_a_number_is_a_model_by_its_path(folder):
    put(folder, old=OLD)
    os.rename("old.onnx", "13")
    assert run("diff", "./13", "./13").stdout.startswith("./13 -> ./13: NONE")


def test_more_places_than_are_shown(folder):
    names = ", ".join(f"float v{number}" for number in range(150))
    put(folder, old=OLD, new=OLD.replace("y) {", f"y, {names}) {{"))
    lines = run("diff", "old.onnx", "new.onnx").stdout.splitlines()
    assert sum(line.startswith("    output 'v") for line in lines) == 100 and "    … and 50 more" in lines


@pytest.mark.parametrize(
    ("version", "shown"), [("281483566645251", "1.2.3"), ("7", "7"), ("-1", "65535.65535.4294967295")]
)
def test_info_shows_the_version(folder, version, shown):
    put(folder, old=OLD.replace("281483566645251", version))
    assert f"  model version  {shown}\n" in run("info", "old.onnx", "--runtime", "tract").stdout
    assert run_json("info", "old.onnx", "--runtime", "tract")["models"][0]["model_version"] == shown


def test_info_of_a_model_without_a_version(folder):
    put(folder, old=OLD.replace(", model_version: 281483566645251", ""))
    assert "model version" not in run("info", "old.onnx", "--runtime", "tract").stdout
    assert run_json("info", "old.onnx", "--runtime", "tract")["models"][0]["model_version"] == "0"


def test_a_terminal_gets_no_model(folder, monkeypatch):
    put(folder, old=OLD, new=PATCH)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: self is sys.stdout, raising=False)
    result = run("diff", "old.onnx", "new.onnx", "--set-version", "-o", "-")
    assert result.exit_code == 2 and "a model is not written to a terminal" in result.stderr
    result = run("export", "--domain", "ai.onnx.ml", "--format", "proto")
    assert result.exit_code == 2 and "a message is not written to a terminal" in result.stderr


def test_the_difference_between_interfaces_is_cut():
    def lines(**counts):
        changes = [
            InterfaceChange(level, kind, f"{kind} {at}", *states, "why", True)
            for (level, kind, states), count in zip(KINDS_OF_CHANGES, counts["changes"], strict=True)
            for at in range(count)
        ]
        level = next((each.level for each in changes), "NONE")
        compared = InterfaceComparison(
            level, changes, counts.get("omitted", 0), "1.0.0", counts.get("after", "1.0.0"), counts.get("next", "2.0.0")
        )
        structure = StructureComparison(PartCounts(0, 0, 0, 0, 0, 0, 0), PartCounts(0, 0, 0, 0, 0, 0, 0), 0, [], 0, [])
        report = ModelDifference("a\x1b", "b", compared, structure, None, None, None, [], FindingList(), 0)
        return [*_difference_lines(report, io.StringIO())]

    order, removed = (f"  MAJOR {kind}: {KINDS[kind].why} (our reading)" for kind in ("input-order", "input-removed"))
    widened = f"  MINOR input-widened: {KINDS['input-widened'].why}"
    asked = "  model version 1.0.0 -> 1.0.0; MAJOR asks for 2.0.0 or higher"
    assert lines(changes=(0, 0, 0)) == ["a\\x1b -> b: NONE, the same", "  model version 1.0.0 -> 1.0.0"]
    assert lines(changes=(1, 1, 1)) == [
        "a\\x1b -> b: MAJOR",
        order,
        "    input-order 0: x -> y",
        removed,
        "    input-removed 0",
        widened,
        "    input-widened 0: z",
        asked,
    ]
    full = [f"    input-order {at}: x -> y" for at in range(SHOWN)]
    assert lines(changes=(SHOWN, 0, 0))[1:] == [order, *full, asked]
    assert lines(changes=(SHOWN - 1, 2, 1200), omitted=1300)[1:] == [
        order,
        *full[:-1],
        removed,
        "    input-removed 0",
        "    … and 1 more",
        widened,
        "    … and 1,200 more",
        "  … and 1,300 more",
        asked,
    ]
    assert lines(changes=(1, 0, 0), next=None)[-1] == "  model version 1.0.0 -> 1.0.0; no version is left that follows"
    assert lines(changes=(1, 0, 0), after="2.0.0")[-1] == (
        "  model version 1.0.0 -> 2.0.0; MAJOR asks for 2.0.0, and has it"
    )


def test_an_operator_set_replaces_a_file_only_with_force(folder):
    (folder / "there.yaml").write_text("precious")
    command = ("export", "--domain", "ai.onnx.ml", "--format", "yaml", "-o", folder / "there.yaml")
    assert run(*command).exit_code == 2 and (folder / "there.yaml").read_text() == "precious"
    assert run(*command, "--force").exit_code == 0 and (folder / "there.yaml").read_text() != "precious"
