"""`opset info`."""

import json

import pytest

from tests.cli.commands import SMALL, run, save
from tests.version_converter.npu import ANY, runtime_file


def test_a_model_is_described(folder):
    save("m.onnx", SMALL, folder)
    result = run("info", "m.onnx", "--runtime", "tensorrt", "--runtime", "rknn-toolkit")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "m.onnx: ai.onnx 11, IR version 6: 3 nodes"
    assert "  producer    exporter" in lines and "  inputs      x tensor(float)[2, 3]" in lines
    assert "  weights     none" in lines and "  could have  ai.onnx 1, IR version 3" in lines
    (rknn,) = (line for line in lines if "rknn" in line)
    assert rknn.split() == "rknn-toolkit (operators are not known) 1.7 -".split()
    assert not [*folder.glob("*opset*")]


def test_models_and_json(folder):
    save("a/one.onnx", SMALL, folder)
    save("a/two.onnx", SMALL, folder)
    (folder / "a" / "bad.onnx").write_bytes(b"\xff" * 40)
    result = run("info", "a", "--runtime", "tract", "--format", "json")
    data = json.loads(result.stdout)
    assert result.exit_code == 3 and data["schema_version"] == 1
    assert data["summary"] == {"models": 3, "described": 2, "failed": 1, "exit_status": 3}
    bad, one, two = data["models"]
    assert bad["status"] == "failed" and one["lowest_opsets"] == two["lowest_opsets"]
    assert one["inputs"] == [{"name": "x", "type": "tensor(float)[2, 3]"}]
    assert one["runtimes"][0]["runtime"] == "tract"
    assert run("info", "a", "-q").stdout == ""
    text = run("info", "a/one.onnx", "a/two.onnx", "--runtime", "tract", "-j", 2).stdout
    assert text.endswith("2 models: 2 described\n")


def test_runtimes_of_files_and_names_that_are_not_known(folder):
    save("m.onnx", SMALL, folder)
    runtime_file(folder, {"Relu": ANY})
    (file,) = folder.glob("*.yaml")
    result = run("info", "m.onnx", "--runtime", "npu", "--target", file)
    assert result.exit_code == 0 and "not npu 1.0: " in result.stdout
    result = run("info", "m.onnx", "--runtime", "nonesuch")
    assert result.exit_code == 2 and "error[U101]" in result.stderr


def test_the_reason_is_shown(folder):
    text = '<ir_version: 9, opset_import: ["": 20]> m (string[2] a) => (string[2] c) { c = StringConcat (a, a) }'
    save("m.onnx", text, folder)
    result = run("info", "m.onnx", "--runtime", "onnxruntime")
    assert "not onnxruntime-cpu 1.16: " in result.stdout and "StringConcat" in result.stdout
    assert "onnxruntime-cpu  1.17 to 1.31  -" in result.stdout


def test_no_runtime_takes_an_operator_that_does_not_exist(folder):
    text = '<ir_version: 8, opset_import: ["": 13]> m (float[2] x) => (float[2] y) { y = Sofmax (x) }'
    save("m.onnx", text, folder)
    result = run("info", "m.onnx", "--runtime", "onnxruntime", "--runtime", "tensorrt")
    assert [
        line.split()[1:]
        for line in result.stdout.splitlines()
        if line.startswith(("  onnxruntime-cpu  ", "  tensorrt  "))
    ] == [
        ["-", "-"],
        ["-", "-"],
    ]
    assert "there is no operator Sofmax in ai.onnx" in result.stdout


@pytest.mark.parametrize("verb", [["info", "--runtime", "nonesuch"], ["check", "--for", "nonesuch==1"]])
def test_a_runtime_that_is_not_known_is_told_once_for_all_models(folder, verb):
    for name in "ab":
        save(f"{name}.onnx", SMALL, folder)
    result = run(verb[0], "a.onnx", "b.onnx", *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.count("error[") == 1
    assert result.stderr.startswith("error[U101] no runtime 'nonesuch' is known\n  help    known: ")
