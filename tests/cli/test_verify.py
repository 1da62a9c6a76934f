"""`opset verify`, and --verify of verbs that write models."""

import os

import pytest

import opset.verification.verifying
import opset.version_converter.conversion
from tests.cli.commands import run, run_json, save

MODEL = """<ir_version: 8, opset_import: ["": 11]>
    main (float[N, 3] x) => (float[N, 3] y) { a = Relu (x) y = Softmax <axis = 1> (a) }"""
OTHER = MODEL.replace("Relu", "Abs")


def test_two_models_are_compared_and_the_status_says_so(folder):
    save("a.onnx", MODEL, folder)
    save("b.onnx", OTHER, folder)
    same = run("verify", "a.onnx", "a.onnx")
    assert (same.exit_code, same.stderr) == (0, "") and "y: same" in same.stdout
    different = run("verify", "a.onnx", "b.onnx")
    assert different.exit_code == 1 and "error[C701] the output 'y' differs" in different.stderr
    assert "first difference: a, " in different.stdout and "(Abs)" in different.stdout
    data = run_json("verify", "a.onnx", "b.onnx", "--dim", "N=2", "--seeds", "1")
    assert data["verdict"] == "different" and data["runs"][0]["sizes"] == {"N": 2}
    assert data["first_difference"]["value"] == "a" and data["exit_status"] == 1
    assert run("verify", "a.onnx", "b.onnx", "--atol", "10").exit_code == 0
    assert run("verify", "-", "-").exit_code == 2


def test_a_conversion_is_verified_before_it_is_written(folder):
    save("a.onnx", MODEL, folder)
    result = run("convert", "a.onnx", "--to", "13", "--verify", "-o", "out.onnx")
    assert result.exit_code == 0 and "verified with the reference evaluator: same, 20 runs" in result.stdout
    assert os.path.exists("out.onnx")
    (report,) = run_json("convert", "a.onnx", "--to", "13", "--verify", "-o", "more.onnx")["models"]
    assert report["verification"]["verdict"] == "same"


def test_nothing_is_written_if_the_data_cannot_be_read(folder):
    save("a.onnx", MODEL, folder)
    result = run("convert", "a.onnx", "--to", "13", "--verify", "--data", "none.npz", "-o", "out.onnx")
    assert result.exit_code == 3 and "R105" in result.stderr and not os.path.exists("out.onnx")


def test_nothing_is_written_if_nothing_could_be_compared(folder):
    save("a.onnx", MODEL, folder)
    result = run("convert", "a.onnx", "--to", "13", "--verify", "--max-bytes", "40", "-o", "out.onnx")
    assert result.exit_code == 1 and not os.path.exists("out.onnx")


def test_a_wrong_conversion_is_not_written(folder, monkeypatch):
    save("a.onnx", MODEL, folder)
    wrong = opset.load(save("b.onnx", OTHER, folder))
    convert_model = opset.version_converter.conversion.convert_model

    def convert_wrongly(*arguments):
        conversion = convert_model(*arguments)
        conversion.model = wrong
        return conversion

    monkeypatch.setattr("opset.cli.convert.convert_model", convert_wrongly)
    result = run("convert", "a.onnx", "--to", "13", "--verify", "-o", "out.onnx")
    assert result.exit_code == 1 and "C701" in result.stderr and "nothing was written" in result.stdout
    assert not os.path.exists("out.onnx")


@pytest.mark.parametrize("verb", [["lower", "--ops", "Relu"], ["inline"]])
def test_other_verbs_verify_too(folder, verb):
    text = """<ir_version: 8, opset_import: ["": 17, "d": 1]>
        main (float[2, 3] x) => (float[2, 3] y) { a = Gelu2 (x) y = d.F (a) }
        <domain: "d", opset_import: ["": 17]> F (a) => (b) { b = Abs (a) }"""
    save("m.onnx", text.replace("Gelu2", "Relu"), folder)
    result = run(verb[0], "m.onnx", *verb[1:], "--verify", "-o", "out.onnx")
    assert result.exit_code == 0 and "same, 20 runs" in result.stdout


@pytest.mark.parametrize("option", [["--rtol", "1"], ["--atol", "0"], ["--seeds", "2"], ["--data", "x.npz"]])
def test_options_of_a_verification_need_it(folder, option):
    save("a.onnx", MODEL, folder)
    (folder / "x.npz").touch()
    result = run("convert", "a.onnx", "--to", "13", *option)
    assert result.exit_code == 2 and "error[U103] --data, --seeds, --rtol and --atol are for --verify" in result.stderr


@pytest.mark.parametrize(
    ("page", "status", "said"),
    [
        ("taken.html", 2, "error[U102] the file is there, and is no page that opset made"),
        ("folder.html", 2, "error[U104] the report cannot be written"),
        ("page.txt", 2, "its name ends in .html"),
        ("made.HTML", 0, ""),
    ],
)
def test_a_page_that_cannot_be_written_is_told_before_anything_is_run(folder, monkeypatch, page, status, said):
    def verify_models(*arguments, **options):
        called.append(arguments)
        return verify(*arguments, **options)

    called, verify = [], opset.verification.verifying.verify_models
    monkeypatch.setattr("opset.verification.verifying.verify_models", verify_models)
    save("a.onnx", MODEL, folder)
    (folder / "taken.html").write_text("mine")
    (folder / "folder.html").mkdir()
    result = run("verify", "a.onnx", "a.onnx", "--report", page)
    assert result.exit_code == status and said in result.stderr and len(called) == (status == 0)


@pytest.mark.parametrize(("size", "note"), [("8", "verified at x.0=8, which the original"), ("N", "size of x.0 that")])
def test_a_conversion_that_changes_a_size_is_verified_at_one_that_both_have(folder, size, note):
    save("a.onnx", MODEL.replace("[N, 3]", "[1, M]"), folder)
    sizes = ["--dim", "M=3", "--dim", f"x.0={size}"]  # of which the model states a number for one
    (report,) = run_json("convert", "a.onnx", "--to", "13", *sizes, "--verify", "-o", "out.onnx")["models"]
    assert os.path.exists("out.onnx") and any(note in each for each in report["notes"])
    verification = report["verification"]
    assert verification["verdict"] == "same" and {str(each["sizes"]) for each in verification["runs"]} == {"{'M': 3}"}


def test_a_runtime_to_verify_with_asks_for_a_verification(folder):
    save("a.onnx", MODEL, folder)
    result = run("convert", "a.onnx", "--to", "13", "--verify-with", "onnxruntime", "--seeds", "1", "-o", "out.onnx")
    assert result.exit_code == 0 and "verified with onnxruntime" in result.stdout
