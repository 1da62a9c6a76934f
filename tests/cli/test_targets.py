"""`opset targets`: the runtimes, a release, an operator; files of further runtimes."""

import json
import re

import pytest

from opset.opsets.runtimes import names, runtime_names
from tests.cli.commands import SMALL, run, run_json, save
from tests.opsets.runtimes.test_loader import RIGHT

NPU = """runtime: npu
match: range
releases:
- {release: "1.0", opset: [7, 15], ir: 8, how: documented}
operators: {ai.onnx: {Relu: [{versions: [6, null], input_rank: [2, 4], notes: [slow]}]}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "npu.yaml").write_text(NPU)
    return tmp_path


def test_list_has_all_runtimes():
    rows = run_json("targets", "list")["listed"]
    assert [each["runtime"] for each in rows] == runtime_names()
    text = run("targets", "list").stdout
    head, *lines = text.splitlines()
    assert head.split() == ["runtime", "releases", "known", "how", "operators", "title"] and len(lines) == len(rows)
    end = head.index("known") + len("known")
    assert [line[:end].split()[-1] for line in lines] == [str(len(each["releases"])) for each in rows]
    assert {line[end : end + 2] for line in lines} == {"  "}  # numbers stand on the right
    assert all(each["title"] in text and each["releases"] and each["how"] for each in rows)


def test_show_has_the_releases_of_a_runtime():
    rows = run_json("targets", "show", "ort")["listed"]
    assert (rows[0]["release"], rows[-1]["release"]) == ("1.4", "1.31")
    assert rows[-1]["opsets"] == {"ai.onnx": {"lowest": 7, "highest": 26}, "ai.onnx.ml": {"lowest": None, "highest": 5}}
    lines = run("targets", "show", "ort").stdout.splitlines()
    assert len(lines) == len(rows) + 2 and "also onnxruntime, ort" in lines[0]
    assert lines[2].split() == "1.4 ai.onnx 7 to 12, ai.onnx.ml up to 2 up to 7 documented no".split()


def test_show_has_all_of_a_release():
    data = run_json("targets", "show", "onnxruntime==1.17.1:cuda")
    assert (data["runtime"], data["release"], data["max_ir_version"]) == ("onnxruntime-cuda", "1.17", 9)
    assert data["fallback"] == "onnxruntime-cpu==1.17" and "1.17.1 is not known: taken as 1.17" in data["notes"]
    assert data["union_types"] is True and len(data["operators"]) == 130
    (relu,) = (each for each in data["operators"] if each["operator"] == "Relu")
    assert relu["domain"] == "ai.onnx" and relu["kernels"][0]["versions"] == {"lowest": 6, "highest": 12}
    text = run("targets", "show", "onnxruntime==1.17.1:cuda").stdout
    for words in (
        "ai.onnx 7 to 20",
        "up to 9",
        "documented: ",
        "runs the nodes",
        "1.17.1 is not known",
        "130 of ai.onnx",
    ):
        assert words in text
    assert all(f"\n{each['operator']} " in text for each in data["operators"])


def test_show_has_one_operator():
    last = run("targets", "show", "trt==8.5", "Conv").stdout.splitlines()[-1]
    assert last.split() == "Conv all float, float16, int8".split()
    data = run_json("targets", "show", "ort==1.31", "ai.onnx.ml.TreeEnsemble")
    assert [each["operator"] for each in data["operators"]] == ["TreeEnsemble"]
    assert data["operators"][0]["domain"] == "ai.onnx.ml" and data["operators"][0]["kernels"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["trt==8.5", "LayerNormalization"], "U105", "opset lower --ops LayerNormalization"),
        (["trt==8.5", "ai.onnx.ml.Scaler"], "U105", "opset lower --ops ai.onnx.ml.Scaler puts"),
        (["trt==8.5", "Convv"], "U105", "did you mean Conv?"),
        (["ort-gpu==1.17", "Convv"], "U105", "did you mean Conv"),
        (["ort-gpu==1.17", "Celu"], "U105", "onnxruntime-cpu==1.17 runs such nodes"),
        (["ort==1.17", "Gelu"], "U105", "its function in the standard"),
        (["ort==1.4", "Abs"], "U105", "operators of onnxruntime-cpu 1.4 are not known"),
        (["ort", "Abs"], "U101", "write ort==RELEASE"),
        (["nonesuch"], "U101", "known: ascend-cann"),
        ([], "U103", "opset targets list has the names"),
    ],
)
def test_what_cannot_be_shown(arguments, code, words):
    result = run("targets", "show", *arguments)
    assert result.exit_code == 2 and f"error[{code}]" in result.stderr and words in result.stderr


def test_list_takes_no_runtime():
    assert "error[U103]" in run("targets", "list", "ort").stderr
    for option in (["--force"], ["-o", "file"]):
        assert "error[U103] list writes no file" in run("targets", "list", *option).stderr


def test_limits_are_shown():
    expected = {
        ("trt==5.1", "Pad"): "mode: constant; constant_value: 0",
        ("openvino==2026.4", "Resize"): "types of T2 not tried",
        ("onnx-mlir==0.4.1", "Add"): "opsets 6 to 19  not int16, int8, uint16, uint8",
        ("onnxruntime-web==1.18:webnn", "BatchNormalization"): "outputs: 1",
        ("openvino==2026.4", "Relu"): "1 to ",
        ("onnx-mlir==0.5", "Expand"): "shapes are known",
    }
    for arguments, words in expected.items():
        assert words in run("targets", "show", *arguments).stdout


def test_a_file_of_a_further_runtime(folder):
    text = run("targets", "show", "npu==1.0", "--target", "npu.yaml").stdout
    assert "rank 2 or 4; slow" in text and "6 and later" in text
    assert "npu" in [each["runtime"] for each in run_json("targets", "list", "--target", "npu.yaml")["listed"]]
    (row,) = (row for row in run("targets", "list", "--target", "npu.yaml").stdout.splitlines() if row[:4] == "npu ")
    assert row.split()[:3] == ["npu", "1.0", "1"]
    (folder / "npu.yaml").write_text(NPU.replace("match: range", "match: rang").replace("slow", "''"))
    result = run("targets", "list", "--target", "npu.yaml")
    assert result.exit_code == 2
    assert "npu.yaml:2:8" in result.stderr and "did you mean range?" in result.stderr and "npu.yaml:5:" in result.stderr
    assert "error[S101]" in run("targets", "list", "--target", "nonesuch.yaml").stderr


ACME_1_10 = """\
acme-npu 1.10: the NPU of ACME
  opsets      ai.onnx from 7 on
  IR version  not known
  known       measured: its table
  fallback    onnxruntime-cpu==1.20 runs the nodes that it does not take
  casts       double to float
  inputs      and outputs of a model have none of bfloat16
  match       6 to 12 serves all versions from 6 to 12; 13 and later serves version 13 and all above
              it
  types       types of several parameters are unions over kernels: not every combination need have
              one
  operators   1 of ai.onnx, 1 of com.acme
  note        later ones were not read
"""


def test_all_of_a_release_is_shown(folder):
    (folder / "acme.yaml").write_text(json.dumps(RIGHT))

    def shown(spec, *form):
        return run("targets", "show", spec, "--target", "acme.yaml", *form).stdout

    head, blank, table = shown("acme-npu==1.10").partition("\n\n")
    assert f"{head}\n" == ACME_1_10 and blank
    assert [re.split("  +", line) for line in table.splitlines()] == [
        ["operator", "versions", "types", "limits"],
        ["Conv", "11 and later", "float, seq(tensor(float)); not int8", "B: not negative; outputs: Y; "
         "shapes are known; ranks are known; types of T not tried; it is slow"],
        ["com.acme.Scale", "all", "any", "outputs: 1"],
    ]  # fmt: skip
    release = json.loads(shown("acme-npu==1.10", "--format", "json"))
    conv = release["operators"][0]["kernels"]
    assert conv == [
        {"versions": {"lowest": 11, "highest": None}, "types": {"": ["float", "seq(tensor(float))"]},
         "types_not": ["int8"], "unasked": ["T"], "attributes": {}, "values": {"B": "not negative"}, "outputs": ["Y"],
         "static_shape": True, "known_ranks": True, "notes": ["it is slow"]},
    ]  # fmt: skip
    (first,) = json.loads(shown("acme-npu==1.9", "--format", "json"))["operators"][0]["kernels"]
    assert first == {
        "versions": {"lowest": 1, "highest": 11}, "types": {"T": ["float"]}, "input_ranks": [4], "values": {},
        "constant_inputs": ["W"], "attributes": {"group": 1, "auto_pad": ["NOTSET", "VALID"]},
    }  # fmt: skip
    assert "\n  operators   1 of ai.onnx, 1 of com.acme\n" in shown("acme-npu==1.9")
    later = {**RIGHT, "operators": {**RIGHT["operators"], "com.acme": {"Scale": [{"since": "1.10"}]}}}
    (folder / "acme.yaml").write_text(json.dumps(later))
    assert "\n  operators   1 of ai.onnx\n" in shown("acme-npu==1.9")
    assert [json.loads(shown(f"acme-npu=={name}", "--format", "json"))["source"] for name in ("1.9", "1.10")] == [
        "its table; a page", "its table"
    ]  # fmt: skip
    assert shown("acme-npu").splitlines() == [
        "acme-npu: the NPU of ACME; also npu, acme:npu",
        "  release  opsets                               IR version  how         operators",
        "  1.9      ai.onnx 7 to 15, ai.onnx.ml up to 3  up to 8     documented  yes",
        "  1.10     ai.onnx from 7 on                    -           measured    yes",
        "  2.0      -                                    -           derived     no",
        "  note: later ones were not read",
    ]


def test_a_release_may_state_its_source_alone(folder):
    (folder / "acme.yaml").write_text(json.dumps({key: each for key, each in RIGHT.items() if key != "source"}))
    for release, source in (("1.9", "a page"), ("1.10", "")):
        assert run_json("targets", "show", f"acme-npu=={release}", "--target", "acme.yaml")["source"] == source


def test_a_runtime_with_the_kernels_of_another(folder):
    listed = {each["runtime"]: each["lists_operators"] for each in run_json("targets", "list")["listed"]}
    assert listed["triton"] and listed["onnxruntime-cpu"] and not listed["ascend-cann"]
    rows = {line.split()[0]: line for line in run("targets", "list").stdout.splitlines()}
    assert rows["ascend-cann"].split()[:7] == ["ascend-cann", "6.0", "to", "7.0", "2", "documented", "no"]
    shown = run("targets", "show", "triton==21.10").stdout
    assert "  kernels     those of onnxruntime-cuda==1.9\n" in shown
    assert "  known       documented: " in shown and "  fallback    onnxruntime-cpu==1.9 runs the nodes" in shown


def test_an_operator_that_the_standard_lacks_is_noted(folder):
    (folder / "npu.yaml").write_text(NPU.replace("Relu:", "Rleu:"))
    for spec in ("npu", "npu==1.0"):
        text = " ".join(run("targets", "show", spec, "--target", "npu.yaml").stdout.split())
        assert "ai.onnx has no 'Rleu' (did you mean Relu or PRelu?), which npu.yaml lists" in text
    assert "has no" not in run("targets", "show", "onnxruntime-cpu==1.20").stdout
    help = run("targets", "show", "npu.yaml").stderr
    assert "--target npu.yaml reads a file, and --for takes the name of its runtime" in help


def test_faults_are_shown():
    text = " ".join(run("targets", "show", "openvino==2026.4").stdout.partition("\nfaults\n")[2].split())
    assert "DFT 20, with axis: wrong, transforms another axis" in text
    assert "ReduceL1 13 to 17: wrong, does not see the axes" in text
    assert "If, known: cond: fails, does not load if the branch" in text
    (operator,) = run_json("targets", "show", "openvino==2026.4", "Mod")["operators"]
    assert {"result": "fails", "gives": "does not load"}.items() <= operator["faults"][0].items()
    assert operator["faults"][0]["nodes"]["attributes"] == {"fmod": 0}
    assert "faults" not in run("targets", "show", "openvino==2026.4", "Relu").stdout


def test_files_that_the_configuration_names(folder):
    save("small.onnx", SMALL, folder)
    (folder / "pyproject.toml").write_text('[tool.opset]\ntargets = ["npu.yaml"]\n')
    assert "npu" in [each["runtime"] for each in run_json("targets", "list")["listed"]]
    assert len(run_json("targets", "list", "--target", "npu.yaml")["listed"]) == len(
        run_json("targets", "list")["listed"]
    )
    result = run("convert", "small.onnx", "--for", "npu==1.0", "--plan", "--format", "json")
    assert json.loads(result.stdout)["models"][0]["opsets"][0]["after"] <= 15


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ('["nonesuch.yaml"]', "targets: 'nonesuch.yaml' is no file"),
        ('["."]', "targets: '.' is no file"),
        ('"npu.yaml"', "targets is no list of files"),
        ('["../outside.yaml"]', "leads out of the project"),
        ('["link.yaml"]', "leads out of the project"),
        (str(["npu.yaml"] * 101), "lists 101 files"),
    ],
)
def test_a_configuration_that_cannot_be_used(folder, targets, words):
    project = folder / "project"
    project.mkdir()
    (folder / "outside.yaml").write_text(NPU)
    (project / "npu.yaml").write_text(NPU)
    (project / "link.yaml").symlink_to(folder / "outside.yaml")
    (project / "pyproject.toml").write_text(f"[tool.opset]\ntargets = {targets}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        result = run("targets", "list")
    assert result.exit_code == 2 and "error[U103] the configuration cannot be used" in result.stderr
    assert words in result.stderr


def test_so_many_files_of_runtimes_are_read(monkeypatch, folder):
    (folder / "npu.yaml").write_text(NPU)
    monkeypatch.setattr(names, "MAX_FILES", 1)
    assert run("targets", "show", "npu", "--target", "npu.yaml").exit_code == 0
    result = run("targets", "show", "npu", "--target", "npu.yaml", "--target", "npu.yaml")
    assert result.exit_code == 2 and "2 files of runtimes are given; at most 1 are read" in result.stderr
