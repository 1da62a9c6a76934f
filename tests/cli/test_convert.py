"""`opset convert`: targets, inputs, outputs, reports, refusals and exit statuses."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opset.cli import batch
from opset.cli.configuration import MAX_BYTES, MAX_FOLDERS
from opset.cli.convert import WORDS
from opset.cli.records import finding_of_json
from opset.errors import FindingList
from opset.version_converter.report import (
    ConversionReport,
    ImportedVersion,
    IrVersions,
    NodeCounts,
    OperatorGroup,
    PassedOperator,
    headline,
    report_lines,
)
from tests.cli.commands import SMALL, run, run_json, save, version


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_model_is_converted_beside_itself_and_the_report_tells_how(small, folder):
    before = small.read_bytes()
    result = run("convert", "small.onnx", "--to", 21)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "small.onnx: ai.onnx 11 -> 21, IR version 6",
        "  operator   version   nodes  what happens",
        "  Squeeze    11 -> 21      1  converted to Constant, Squeeze",
        "  Unsqueeze  11 -> 21      1  converted to Constant, Unsqueeze",
        "  Relu       6 -> 14       1  kept",
        "  3 nodes: 2 converted, 1 kept",
        "  wrote small-opset21.onnx",
    ]
    assert files(folder) == ["small-opset21.onnx", "small.onnx"]
    assert version("small-opset21.onnx") == 21
    assert small.read_bytes() == before


@pytest.mark.parametrize(
    ("target", "name", "opset", "ir"),
    [
        (["--to", "13"], "small-opset13.onnx", 13, 6),
        (["--to", "ai.onnx=9"], "small-opset9.onnx", 9, 4),
        (["--to", "8", "--ir-version", "3"], "small-opset8.onnx", 8, 3),
        (["--to", "21", "--ir-version", "10"], "small-opset21.onnx", 21, 10),
        (["--release", "1.15"], "small-opset20.onnx", 20, 6),
        (["--release", "1.3"], "small-opset8.onnx", 8, 3),
        (["--for", "onnxruntime==1.17"], "small-opset11.onnx", 11, 6),
        (["--for", "windows-ml==windows-10-1903"], "small-opset8.onnx", 8, 3),
    ],
)
def test_targets(target, name, opset, ir, small, folder):
    result = run("convert", "small.onnx", *target)
    assert result.exit_code == 0, result.output
    assert files(folder) == sorted(["small.onnx", name])
    assert version(name) == opset
    assert onnx.load(name).ir_version == ir


def test_a_domain_of_its_own_and_several_at_once(folder):
    text = SMALL.replace('["": 11]', '["": 11, "ai.onnx.ml": 2]')
    save("two.onnx", text, folder)
    assert run("convert", "two.onnx", "--to", "ai.onnx.ml=3").exit_code == 0
    assert run("convert", "two.onnx", "--to", "ai.onnx.ml=3", "--to", "13").exit_code == 0
    imports = [
        {entry.domain: entry.version for entry in onnx.load(name).opset_import}
        for name in ("two-ai.onnx.ml3.onnx", "two-opset13.onnx")
    ]
    assert imports == [{"": 11, "ai.onnx.ml": 3}, {"": 13, "ai.onnx.ml": 3}]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "U103"),
        (["--to", "21", "--release", "1.15"], "U103"),
        (["--to", "99"], "U101"),
        (["--to", "0"], "U101"),
        (["--to", "-1"], "U101"),
        (["--to", "9" * 5000], "U101"),
        (["--to", "twenty"], "U101"),
        (["--to", "com.example=3"], "U101"),
        (["--to", "21", "--to", "20"], "U101"),
        (["--release", "0.9"], "U101"),
        (["--for", "onnxruntime"], "U101"),
        (["--for", "onnxrumtime==1.17"], "U101"),
        (["--to", "21", "--ir-version", "99"], "U101"),
        (["--to", "21", "--in-place", "-o", "x.onnx"], "U103"),
        (["--to", "21", "-o", "missing/x.onnx"], "U104"),
        (["--to", "21", "--external-data", "move", "-o", "-"], "U103"),
        (["--to", "21", "-o", "x.onnx", "--report", "x.onnx", "--force"], "U103"),
        (["--to", "21", "-o", "x.html", "--report", "./x.html"], "U103"),
        (["--to", "21", "--in-place", "--report", "small.onnx"], "U103"),
        (["--to", "21", "--plan", "--report", "small.onnx", "--force"], "U103"),
    ],
)
def test_usage_errors(arguments, code, small, folder):
    there = sorted(folder.iterdir())
    result = run("convert", "small.onnx", *arguments)
    assert (result.exit_code, result.stdout, sorted(folder.iterdir())) == (2, "", there)
    assert result.stderr.startswith(f"error[{code}] ")
    assert f"more: opset explain {code}" in result.stderr
    assert files(folder) == ["small.onnx"]


@pytest.mark.parametrize("arguments", [["--nonesuch"], ["--to"], ["--format", "x"], ["-j", "0"], ["--ir-version", "x"]])
def test_options_that_click_refuses(arguments, small):
    result = run("convert", "small.onnx", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error:" in result.stderr


def test_every_refusal_is_told_and_nothing_is_written(refused, folder):
    result = run("convert", "refused.onnx", "--to", 12)
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    assert [line.split("]")[0] for line in lines if line.startswith("error")] == [
        "error[C201",
        "error[C103",
        "error[C101",
    ]
    assert lines[:4] == [
        "error[C201] StringConcat cannot go from 20 to 12",
        "  where   graph 'main', node number 0 (StringConcat); graph 'main', node number 1 (StringConcat), "
        "refused.onnx",
        "  why     StringConcat came with version 20",
        "  help    convert to 20 or newer",
    ]
    assert lines[-2:] == [
        "more: opset explain C201 C103 C101",
        "4 of 5 nodes cannot be converted; nothing was written.",
    ]
    assert files(folder) == ["refused.onnx"]


def test_refusals_of_one_kind_are_one_entry(folder):
    nodes = "".join(f"y{n} = Nonesuch (x{n}) " for n in range(300)) + "z = Missing (x0)"
    inputs = ", ".join(f"float[1] x{n}" for n in range(300))
    save("many.onnx", f'<ir_version: 8, opset_import: ["": 17]> m ({inputs}) => (float[1] z) {{ {nodes} }}', folder)
    text = run("convert", "many.onnx", "--to", 12).stderr
    assert text.count("error[") == 2
    assert "number 1 (Nonesuch); graph 'm', node number 2 (Nonesuch); and 297 more, many.onnx" in text
    (data,) = json.loads(run("convert", "many.onnx", "--to", 12, "--format", "json").stdout)["models"]
    assert len({error["place"] for error in data["errors"]}) == 301


def test_a_refusal_leaves_an_existing_output_alone(refused, folder):
    (folder / "out.onnx").write_text("as it was")
    assert run("convert", "refused.onnx", "--to", 12, "-o", "out.onnx", "--force").exit_code == 1
    assert (folder / "out.onnx").read_text() == "as it was"
    before = refused.read_bytes()
    assert run("convert", "refused.onnx", "--to", 12, "--in-place").exit_code == 1
    assert refused.read_bytes() == before
    assert files(folder) == ["out.onnx", "refused.onnx"]


def test_an_ir_version_too_low_is_refused_for_the_whole_model(folder):
    function = '<domain: "f", opset_import: ["": 17]> g (a) => (b) { b = Relu (a) }'
    save(
        "f.onnx",
        f'<ir_version: 8, opset_import: ["": 17, "f": 1]> m (float[1] x) => (float[1] y) {{ y = f.g (x) }} {function}',
        folder,
    )
    result = run("convert", "f.onnx", "--to", 18, "--ir-version", 7)
    assert result.exit_code == 1
    assert "error[C301]" in result.stderr
    assert result.stderr.endswith("the model cannot be converted; nothing was written.\n")
    assert files(folder) == ["f.onnx"]


def test_plan_writes_nothing_and_shows_all_on_stdout(small, refused, folder):
    fine = run("convert", "small.onnx", "--to", 21, "--plan")
    not_fine = run("convert", "refused.onnx", "--to", 12, "--plan")
    assert (fine.exit_code, fine.stderr) == (0, "")
    assert "converted to Constant, Squeeze" in fine.stdout and "wrote" not in fine.stdout
    assert (not_fine.exit_code, not_fine.stderr) == (1, "")
    assert not_fine.stdout.startswith("refused.onnx: ai.onnx 20 -> 12, IR version 9")
    assert not_fine.stdout.count("error[") == 3
    assert not_fine.stdout.endswith("4 of 5 nodes cannot be converted; nothing was written.\n")
    assert files(folder) == ["refused.onnx", "small.onnx"]


@pytest.mark.parametrize(("name", "to"), [("small.onnx", 21), ("small.onnx", 11), ("refused.onnx", 12)])
@pytest.mark.parametrize("more", [[], ["--plan"]])
def test_json_holds_all_that_the_text_shows(name, to, more, small, refused):
    text = run("convert", name, "--to", to, *more, "-o", "a.onnx")
    result = run("convert", name, "--to", to, *more, "-o", "b.onnx", "--format", "json")
    assert (result.exit_code, result.stderr) == (text.exit_code, "")
    (data,) = json.loads(result.stdout)["models"]
    if text.stdout:
        result = ConversionReport(
            opsets=[ImportedVersion(**each) for each in data["opsets"]],
            ir_version=IrVersions(**data["ir_version"]),
            operators=[OperatorGroup(**each) for each in data["operators"]],
            graphs=data["graphs"],
            passed=[PassedOperator(**each) for each in data["passed"]],
            notes=data["notes"],
            nodes=NodeCounts(**data["nodes"]),
        )
        shown = [f"{data['input']}: {headline(result)}", *report_lines(result)]
        assert text.stdout.splitlines()[: len(shown)] == shown
    findings = FindingList(map(finding_of_json, data["errors"]), data["omitted"])
    for finding in findings.group_by_kind():
        assert str(finding) in text.stdout + text.stderr
    assert data["exit_status"] == text.exit_code
    assert (data["output"] == "b.onnx") == ("wrote a.onnx" in text.stdout)


def test_json_in_detail(small):
    data = run_json("convert", "small.onnx", "--to", 13)
    assert data["summary"] == {
        "models": 1,
        "converted": 1,
        "unchanged": 0,
        "invalid": 0,
        "unverified": 0,
        "planned": 0,
        "refused": 0,
        "failed": 0,
        "exit_status": 0,
    }
    (model,) = data["models"]
    assert model["opsets"] == [{"domain": "ai.onnx", "before": 11, "after": 13}]
    assert model["ir_version"] == {"before": 6, "after": 6}
    assert model["nodes"] == {"total": 3, "converted": 2, "kept": 1, "passed": 0, "refused": 0, "removed": 0}
    assert model["operators"][0] == {
        "domain": "ai.onnx",
        "operator": "Squeeze",
        "before": 11,
        "after": 13,
        "nodes": 1,
        "kept": False,
        "steps": ["Squeeze 11 -> 13"],
        "becomes": ["Constant", "Squeeze"],
        "example": {
            "given": "y = Squeeze <axes: ints = [0]> (r)",
            "made": ['y__const = Constant <value: tensor = int64[1] "" = !{0}> ()', "y = Squeeze (r, y__const)"],
        },
        "places": [{"graph": 0, "node": 2, "name": ""}],
        "removed": False,
    }
    assert model["graphs"] == ["graph 'main'"]
    assert (model["status"], model["output"], model["errors"]) == ("converted", "small-opset13.onnx", [])


def test_sizes_that_a_conversion_needs_are_given(folder):
    text = """<ir_version: 7, opset_import: ["": 5]>
    main (float[1, 2, side, 4] x) => (float[1, 2, side, 4] y) {
        r = Reciprocal (x)
        s = Shape (x)
        y = Reshape (r, s)
    }"""
    save("m.onnx", text, folder)
    assert "error[C205]" in run("convert", "m.onnx", "--to", 4).stderr
    assert "side" in run("convert", "m.onnx", "--to", 4, "--dim", "width=3").stderr
    result = run("convert", "m.onnx", "--to", 4, "--dim", "side=3")
    assert result.exit_code == 0
    assert "  note: valid for side = 3 alone, which the inputs state" in result.stdout.splitlines()
    dims = onnx.load("m-opset4.onnx").graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [1, 2, 3, 4]


def test_what_has_no_schemas_passes_through_and_is_told(folder):
    text = SMALL.replace("Relu", "com.example.Fast").replace('["": 11]', '["": 11, "com.example": 1]')
    save("own.onnx", text, folder)
    result = run("convert", "own.onnx", "--to", 13)
    assert result.exit_code == 0
    assert "  passed through, as there are no schemas of com.example: Fast (1)\n" in result.stdout
    assert "own.onnx: ai.onnx 11 -> 13, com.example 1, IR version 6\n" in result.stdout
    assert "3 nodes: 2 converted, 1 passed through" in result.stdout


def test_what_older_readers_skip_is_noted(folder):
    model = onnx.parser.parse_model(SMALL.replace("ir_version: 6", "ir_version: 10"))
    model.graph.node[1].metadata_props.add(key="where", value="here")
    onnx.save(model, "meta.onnx")
    result = run("convert", "meta.onnx", "--to", 9)
    assert result.exit_code == 0
    assert "  note: kept for readers of IR version 10, older ones skip it: metadata" in result.stdout


def test_a_model_that_is_there_already_is_copied_byte_for_byte(small, folder):
    result = run("convert", "small.onnx", "--to", 11)
    assert result.exit_code == 0
    assert "nothing to convert" in result.stdout
    assert (folder / "small-opset11.onnx").read_bytes() == small.read_bytes()
    planned = run("convert", "small.onnx", "--to", 11, "--plan")
    assert planned.exit_code == 0 and "nothing to convert" in planned.stdout
    assert run_json("convert", "small.onnx", "--to", 11, "--plan")["models"][0]["status"] == "unchanged"


def test_a_model_with_warnings_alone_that_is_there_already_is_valid(folder):
    axes = "{ y = Unsqueeze (x, a) }"
    save(
        "warned.onnx",
        f'<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[1, 3] y) <int64 a = {{0}}> {axes}',
        folder,
    )
    (model,) = run_json("convert", "warned.onnx", "--to", 17, "--plan")["models"]
    assert (model["status"], model["notes"]) == ("unchanged", [])


def test_quiet_writes_errors_alone(small, refused):
    assert run("convert", "small.onnx", "--to", 21, "-q").output == ""
    result = run("convert", "refused.onnx", "nope.onnx", "--to", 12, "-o", "to/", "-q")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.count("error[C") == 3 and "error[M101]" in result.stderr


def test_json_is_written_quietly_as_ever(small):
    report = run("convert", "small.onnx", "--to", 22, "--plan", "--format", "json").output
    assert run("convert", "small.onnx", "--to", 22, "--plan", "-q", "--format", "json").output == report != ""


# Outputs.


def test_an_output_that_exists_is_overwritten_only_with_force(small, folder):
    (folder / "out.onnx").write_text("as it was")
    result = run("convert", "small.onnx", "--to", 21, "-o", "out.onnx")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[U102]" in result.stderr
    assert (folder / "out.onnx").read_text() == "as it was"
    assert run("convert", "small.onnx", "--to", 21, "-o", "out.onnx", "--force").exit_code == 0
    assert version("out.onnx") == 21
    assert files(folder) == ["out.onnx", "small.onnx"]


def test_the_input_itself_is_no_output_unless_asked(small):
    before = small.read_bytes()
    assert run("convert", "small.onnx", "--to", 21, "-o", "small.onnx").exit_code == 2
    assert small.read_bytes() == before
    assert run("convert", "small.onnx", "--to", 21, "--in-place").exit_code == 0
    assert version(small) == 21
    again = small.stat()
    result = run("convert", "small.onnx", "--to", 21, "--in-place")
    assert result.exit_code == 0 and "wrote" not in result.stdout
    assert small.stat().st_mtime_ns == again.st_mtime_ns


@pytest.mark.parametrize("given", ["out", "out/"])
def test_an_output_folder(given, small, folder):
    if not given.endswith("/"):
        (folder / "out").mkdir()
    assert run("convert", "small.onnx", "--to", 21, "-o", given).exit_code == 0
    assert files(folder) == ["out/small-opset21.onnx", "small.onnx"]


def test_streams(small, folder):
    result = run("convert", "-", "--to", 21, "-o", "-", stdin=small.read_bytes())
    assert result.exit_code == 0
    assert onnx.load_from_string(result.stdout_bytes).opset_import[0].version == 21
    assert "stdin: ai.onnx 11 -> 21" in result.stderr and "wrote" not in result.stderr
    same = run("convert", "-", "--to", 21, "--format", "json", stdin=small.read_bytes())
    assert same.stdout_bytes == result.stdout_bytes
    assert json.loads(same.stderr)["models"][0]["output"] == "-"
    planned = run("convert", "-", "--to", 21, "--plan", stdin=small.read_bytes())
    assert "stdin: ai.onnx 11 -> 21" in planned.stdout and planned.stderr == ""
    assert run("convert", "-", "--to", 21, "-o", "to/", stdin=small.read_bytes()).exit_code == 0
    assert files(folder) == ["small.onnx", "to/stdin-opset21.onnx"]
    both = run("convert", "-", "small.onnx", "--to", 22, "-o", "to/", "-j", 2, stdin=small.read_bytes())
    assert both.exit_code == 0 and both.stdout.endswith("2 models: 2 converted\n")


@pytest.mark.parametrize("reports", [["r.jsonl"], ["r.jsonl", "r.html"], ["r.html"]])
def test_reports_have_the_model_of_stdin_each_time(small, folder, reports):
    options = [part for path in reports for part in ("--report", path)]
    for to in 13, 14, 14:
        result = run("convert", "-", small, "--to", to, "-o", "to/", "--force", *options, stdin=small.read_bytes())
        assert result.exit_code == 0, result.output
        if "r.jsonl" in reports:
            lines = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
            assert [each["input"] for each in lines] == ["-", str(small)]
        if "r.html" in reports:
            data = re.search(r'id="report">(.*)</script>', Path("r.html").read_text())[1]
            assert [each["input"] for each in json.loads(data)["models"]] == ["-", str(small)]
        assert version(f"to/stdin-opset{to}.onnx") == to


@pytest.mark.parametrize(
    "arguments",
    [["-", "--in-place"], ["-", "small.onnx"], ["-", "small.onnx", "-o", "-"], ["small.onnx", ".", "-o", "-"]],
)
def test_streams_do_not_fit_everywhere(arguments, small, folder):
    save("other.onnx", SMALL, folder)
    result = run("convert", *arguments, "--to", 21, stdin=small.read_bytes())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[U103]" in result.stderr


# Many inputs.


def test_a_folder_is_taken_with_all_below_and_not_its_own_products(folder):
    save("in/a.onnx", SMALL, folder)
    save("in/deep/b.onnx", SMALL, folder)
    save("in/c-opset13.onnx", SMALL, folder)
    (folder / "in/readme.txt").write_text("no model")
    first = run("convert", "in", "--to", 13)
    assert first.exit_code == 0
    assert first.stdout.endswith("3 models: 3 converted\n")
    expected = ["in/a-opset13.onnx", "in/a.onnx", "in/c-opset13-opset13.onnx", "in/c-opset13.onnx",
                "in/deep/b-opset13.onnx", "in/deep/b.onnx", "in/readme.txt"]  # fmt: skip
    assert files(folder) == expected
    assert run("convert", "in", "--to", 13, "--force").stdout.endswith("3 models: 3 converted\n")
    assert files(folder) == expected


def test_an_output_folder_keeps_the_structure(folder):
    save("in/a.onnx", SMALL, folder)
    save("in/deep/a.onnx", SMALL, folder)
    assert run("convert", "in", "--to", 13, "-o", "out").exit_code == 0
    assert files(folder / "out") == ["a-opset13.onnx", "deep/a-opset13.onnx"]


def test_the_output_for_a_folder_is_a_folder_even_for_one_model(folder):
    save("in/a.onnx", SMALL, folder)
    assert run("convert", "in", "--to", 13, "-o", "out").exit_code == 0
    assert files(folder / "out") == ["a-opset13.onnx"]


@pytest.mark.parametrize("pattern", ["in/*.onnx", "in/**/a.onnx", "in/[ab].onnx"])
def test_a_pattern_is_expanded(pattern, folder):
    save("in/a.onnx", SMALL, folder)
    save("in/b.onnx", SMALL, folder)
    count = {"in/**/a.onnx": 1}.get(pattern, 2)
    data = run_json("convert", pattern, "--to", 13)
    assert data["summary"]["converted"] == count


def test_a_file_whose_name_looks_like_a_pattern(folder):
    save("a[1].onnx", SMALL, folder)
    assert run("convert", "a[1].onnx", "--to", 13).exit_code == 0
    assert files(folder) == ["a[1]-opset13.onnx", "a[1].onnx"]


@pytest.mark.parametrize("argument", ["empty", "*.onnx", "nope.onnx"])
def test_nothing_there_is_an_error(argument, folder):
    (folder / "empty").mkdir()
    result = run("convert", argument, "--to", 13)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "error[M101]" in result.stderr and argument in result.stderr


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_inputs_get_one_summary_and_the_worst_status(jobs, small, refused, folder):
    (folder / "text.onnx").write_text("not a model")
    save("there.onnx", SMALL.replace('"": 11', '"": 12'), folder)
    result = run("convert", "small.onnx", "refused.onnx", "text.onnx", "there.onnx", "--to", 12, "-j", jobs)
    assert result.exit_code == 3
    assert result.stdout.endswith("4 models: 1 converted, 1 already there, 1 refused, 1 failed\n")
    assert result.stdout.index("small.onnx:") < result.stdout.index("there.onnx:")
    assert "error[M102]" in result.stderr and "4 of 5 nodes" in result.stderr
    assert files(folder) == [
        "refused.onnx",
        "small-opset12.onnx",
        "small.onnx",
        "text.onnx",
        "there-opset12.onnx",
        "there.onnx",
    ]
    assert run("convert", "small.onnx", "refused.onnx", "--to", 12, "--force", "-j", jobs).exit_code == 1
    assert run("convert", "small.onnx", "--to", 13, "--force", "-j", jobs).exit_code == 0


def test_two_models_of_one_name_do_not_overwrite_each_other(folder):
    save("a/m.onnx", SMALL, folder)
    save("b/m.onnx", SMALL, folder)
    result = run("convert", "a/m.onnx", "b/m.onnx", "--to", 13, "-o", "out/")
    assert result.exit_code == 2
    assert "'a/m.onnx' and 'b/m.onnx' would be written to the same file" in result.stderr
    assert not (folder / "out").exists()
    assert run("convert", "a/m.onnx", "b/m.onnx", "--to", 13).exit_code == 0
    save("a/m.pb", SMALL, folder)
    assert run("convert", "a/m.onnx", "a/m.pb", "--to", 13, "--force").exit_code == 2


def test_several_models_do_not_go_into_one_file(small, refused, folder):
    (folder / "file").write_text("as it was")
    assert run("convert", "small.onnx", "refused.onnx", "--to", 21, "-o", "file", "--force").exit_code == 2
    assert (folder / "file").read_text() == "as it was"


def test_an_input_given_twice_is_taken_once(small):
    assert run_json("convert", "small.onnx", ".", "./small.onnx", "--to", 13, "--plan")["summary"]["models"] == 1


# External data.

SHAPES = {"x": [1, 2, 300], "y": None}


@pytest.fixture
def external(folder):
    """`model/m.onnx` with its weights in `model/weights.bin`."""
    weights = numpy_helper.from_array(np.arange(600, dtype=np.float32).reshape(2, 300), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Squeeze", ["a"], ["y"], axes=[0])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in SHAPES.items())
    graph = helper.make_graph(nodes, "main", [x], [y], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)
    (folder / "model").mkdir()
    onnx.save(model, "model/m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    return folder


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("auto", ["out/m-opset13.onnx", "out/weights.bin"]),
        ("copy", ["out/m-opset13.onnx", "out/weights.bin"]),
        ("link", ["out/m-opset13.onnx", "out/weights.bin"]),
        ("keep", ["out/m-opset13.onnx"]),
        ("inline", ["out/m-opset13.onnx"]),
        ("move", ["out/m-opset13.onnx", "out/m-opset13.onnx.data"]),
    ],
)
def test_external_data_goes_where_it_is_asked_to(mode, expected, external):
    result = run("convert", "model/m.onnx", "--to", 13, "-o", "out/", "--external-data", mode)
    assert result.exit_code == 0, result.output
    assert [name for name in files(external) if name.startswith("out")] == expected
    if mode == "link":
        assert (external / "out/weights.bin").samefile(external / "model/weights.bin")
        assert "note: data files that were linked have two names" in result.output
    elif mode != "keep":
        assert numpy_helper.to_array(onnx.load("out/m-opset13.onnx").graph.initializer[0]).sum() == sum(range(600))


def test_where_the_data_of_a_model_is_told(external):
    for verb in ("info", "show"):
        lines = [re.split("  +", line.strip()) for line in run(verb, "model/m.onnx").stdout.splitlines()]
        assert ["external data", "weights.bin: 1 tensor, 2,400 bytes"] in lines
        assert ["weights", "1 with 600 parameters, 2,400 bytes: float 2,400 bytes"] in lines


def test_external_data_beside_the_input_is_left_alone(external):
    os.chmod("model/weights.bin", 0)
    assert run("convert", "model/m.onnx", "--to", 13).exit_code == 0
    assert files(external) == ["model/m-opset13.onnx", "model/m.onnx", "model/weights.bin"]


def test_a_stream_tells_of_external_data_that_stays_behind(external):
    result = run("convert", "model/m.onnx", "--to", 13, "-o", "-")
    assert "note: external data is not part of the stream" in result.stderr
    whole = run("convert", "model/m.onnx", "--to", 13, "-o", "-", "--external-data", "inline")
    assert len(whole.stdout_bytes) > 2400 and "note" not in whole.stderr


def test_external_data_elsewhere_needs_permission(external):
    model = onnx.load("model/m.onnx", load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "../weights.bin"
    onnx.save(model, "model/m.onnx")
    (external / "model/weights.bin").rename(external / "weights.bin")
    asked = ["convert", "model/m.onnx", "--to", 13, "-o", "out.onnx", "--external-data", "inline"]
    result = run(*asked)
    assert result.exit_code == 3 and "error[M201]" in result.stderr and "--allow-external-root" in result.stderr
    assert not (external / "out.onnx").exists()
    assert run(*asked, "--allow-external-root", ".").exit_code == 0
    assert onnx.load("out.onnx").graph.initializer[0].raw_data


def test_in_place_does_not_overwrite_a_data_file_that_happens_to_be_there(external):
    (external / "model/m.onnx.data").write_text("as it was")
    before = (external / "model/m.onnx").read_bytes()
    asked = ["convert", "model/m.onnx", "--to", 13, "--in-place", "--external-data", "move"]
    assert run(*asked).exit_code == 2
    assert (external / "model/m.onnx.data").read_text() == "as it was"
    assert (external / "model/m.onnx").read_bytes() == before
    assert run(*asked, "--force").exit_code == 0


# Operators of one's own.

OWN = """\
operator: Twice
family: example
versions:
- since: 2
  change:
    attributes: {scale: {added: float, default: 2.0}}
    adapters: {up: derived, down: derived}
  doc: "Gives `scale * X`."
  inputs:
  - {name: X, type: T, doc: values}
  outputs:
  - {name: Y, type: T, doc: the product}
  attributes:
    scale: {type: float, default: 2.0, doc: factor}
  types:
    T: [float]
- since: 1
  like: 2
  doc: "Gives `2 * X`."
  attributes: {scale: null}
"""


@pytest.fixture
def own(folder):
    (folder / "schemas/com.example").mkdir(parents=True)
    (folder / "schemas/com.example/Twice.yaml").write_text(OWN)
    save(
        "own.onnx",
        SMALL.replace("Relu (u)", "com.example.Twice <scale = 3.0> (u)").replace(
            '["": 11]', '["": 11, "com.example": 2]'
        ),
        folder,
    )
    return folder


def test_schemas_of_a_folder_make_a_domain_known(own):
    assert run("convert", "own.onnx", "--to", "com.example=1").exit_code == 2
    refused = run("convert", "own.onnx", "--to", "com.example=1", "--schemas", "schemas")
    assert refused.exit_code == 1 and "error[C204]" in refused.stderr
    save("own.onnx", SMALL.replace("Relu", "com.example.Twice").replace('["": 11]', '["": 11, "com.example": 1]'), own)
    up = run("convert", "own.onnx", "--to", "com.example=2", "--to", 13, "--schemas", "schemas", "-j", 2)
    assert up.exit_code == 0
    assert "com.example.Twice  1 -> 2" in up.stdout and "passed through" not in up.stdout


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ('[tool.opset]\nschemas = ["schemas"]', 0, "com.example 2"),
        ("[tool.other]\nx = 1", 2, "no schemas for the domain"),
        ("[tool.opset]\nschemas = 'schemas'", 2, "is no list of folders"),
        ("[tool.opset]\nschemata = []", 2, "unknown key 'schemata'"),
        ("[tool.opset\n", 2, "pyproject.toml"),
        ("[tool]\nopset = 3 # tool.opset", 2, "is no list of folders"),
        ('[tool.opset]\nschemas = ["nowhere"]', 2, "nowhere"),
        (f"[tool.opset]\nschemas = {['schemas'] * (MAX_FOLDERS + 1)}", 2, f"at most {MAX_FOLDERS} are accepted"),
        (f"tool.opset = {'[' * 99}{']' * 99}", 2, "it is nested more than"),
        ("# opset" + " " * MAX_BYTES, 2, "put a file in its place"),
        ('[tool.opset]\nschemas = [".."]', 2, "leads out of the project"),
    ],
)
def test_schemas_of_the_project(text, status, says, own):
    (own / "pyproject.toml").write_text(text)
    result = run("convert", "own.onnx", "--to", "com.example=2", "--plan")
    assert result.exit_code == status, result.output
    assert says in result.output


def test_schemas_that_do_not_read_are_configuration(own):
    (own / "schemas/com.example/Twice.yaml").write_text(OWN.replace("family", "familly"))
    result = run("convert", "own.onnx", "--to", 13, "--schemas", "schemas")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[S103]" in result.stderr and "Twice.yaml:2:1" in result.stderr


def test_colour_is_for_terminals_that_want_it_and_models_for_none(refused, monkeypatch):
    import sys

    from opset.plain_text import style_text

    class Terminal:
        def isatty(self):
            return True

    assert "\x1b" not in run("convert", "refused.onnx", "--to", 12).output
    monkeypatch.setattr(batch, "sys", SimpleNamespace(stdout=Terminal()))
    for verb in (["convert", "--to", 12], ["text"]):
        assert "a model is not written to a terminal" in run(*verb, "refused.onnx", "-o", "-").stderr
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert style_text("x", "red", Terminal()) == "\x1b[1;31mx\x1b[0m"
    assert style_text("x", "red", sys.stdout) == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert style_text("x", "red", Terminal()) == "x"
    monkeypatch.delenv("TERM")
    monkeypatch.setenv("NO_COLOR", "1")
    assert style_text("x", "red", Terminal()) == "x"


def test_the_guide_names_each_status():
    guide = (Path(__file__).parents[2] / "docs" / "converting.md").read_text(encoding="utf-8")
    section = guide.partition("## As JSON")[2].partition("\n## ")[0]
    assert [status for status in WORDS if f"`{status}`" not in section] == []
