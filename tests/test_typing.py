"""What checkers of types see from outside: functions return the kind of model that they are given."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opset

SCRIPT = """\
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
import opset

message = onnx.ModelProto()
found_model: opset.Model = opset.convert("model.onnx", 21)
found_model = opset.convert(Path("model.onnx"), release="1.15", dims={"batch": 1, "x.0": "N"})
found_model = opset.convert(found_model, {"": 21}, freeze="all")
found_model = opset.convert(b"...", runtime="onnxruntime==1.17", inexact_types=True)
found_model = opset.lower("model.onnx", "Attention")
found_model = opset.lower("model.onnx", ["Gelu", "Attention"], dims={"N": 1})
found_model = opset.infer_shapes("model.onnx", True)
found_model = opset.inline_functions("model.onnx", exclude=["f"])
found_message: onnx.ModelProto = opset.convert(message, 21)
found_message = opset.lower(message, "Attention")
found_message = opset.infer_shapes(message, data_prop=True)
found_message = opset.inline_functions(message)
found_message = found_model.to_onnx()
version: int = found_model.ir_version
text: str = opset.get_schema("Softmax").doc
conversion: opset.Conversion = opset.plan(message, 21)
findings: list[opset.Finding] = opset.check(found_model)
with ThreadPoolExecutor(2) as executor:
    for report in opset.convert_many(["models", Path("m.onnx")], 21, output="out", executor=executor):
        path: str | None = report.output
        refused = 0 if report.result is None else report.result.conversion.nodes.refused
"""
WRONG = [
    'a: onnx.ModelProto = opset.convert("model.onnx", 21)',
    "b: opset.Model = opset.convert(message, 21)",
    'c = opset.convert("model.onnx", opset=21)',
    'd = opset.convert("model.onnx", dims=[1])',
    "e = opset.lower(message)",
    "f = opset.convert(21, 21)",
    'i = opset.convert_many("models", 21, executor=object())',
    "g = found_model.nodes",
    'h = opset.inline_functions("model.onnx", excluding=["f"])',
]
"""Lines that a checker refuses, each for a reason of its own."""


def lines_with_errors(output):
    """The numbers of the lines of script.py that a checker names."""
    lines = (line.partition("script.py:")[2] for line in output.splitlines() if "error" in line)
    return {int(line.partition(":")[0]) for line in lines if line}


@pytest.mark.parametrize(
    "checker",
    [
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--hide-error-context"],
        ["pyright", "--pythonpath", sys.executable],
    ],
    ids=["mypy", "pyright"],
)
def test_checkers_of_types_see_what_is_returned(checker, tmp_path):
    (tmp_path / "script.py").write_text(f"{SCRIPT}{chr(10).join(WRONG)}\n")
    environment = {**os.environ, "MYPYPATH": str(Path(opset.__file__).parents[1])}
    if checker[0] == "pyright":
        checker = [sys.executable, "-m", "pyright", *checker[1:]]
        (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{environment["MYPYPATH"]}"]}}')
        probe = subprocess.run([*checker[:3], "--version"], capture_output=True, text=True, cwd=tmp_path)
        if probe.returncode or "pyright " not in probe.stdout:
            pytest.skip("pyright is not installed, or cannot get what it runs on")
    done = subprocess.run([*checker, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    first = SCRIPT.count("\n") + 1
    assert lines_with_errors(done.stdout) == {*range(first, first + len(WRONG))}, done.stdout + done.stderr
