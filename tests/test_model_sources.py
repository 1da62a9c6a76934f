"""Every public function of models takes a model in the same forms."""

import inspect
import io
from pathlib import Path

import onnx
import pytest

import opset
from tests.cli.commands import REFUSED, SMALL

FORMS = {
    "text of a path": lambda path: str(path),
    "path": lambda path: path,
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "open file": lambda path: path.open("rb"),
    "stream": lambda path: io.BytesIO(path.read_bytes()),
    "Model": opset.load,
    "message of onnx": lambda path: onnx.load(path),
    "message": lambda path: opset.parse_model(path.with_suffix(".txt").read_text()),
}
NEEDED = {
    "to": 13, "operators": ["Softmax"], "sizes": {}, "inputs": None, "outputs": ["y"], "connect": {"y": "x"},
    "prefixes": ("a", "b"),
}  # fmt: skip
"""Arguments beside models, of the functions that have them."""
NAMES = {"model", "source", "before", "after", "old", "new", "first", "second"}
"""What parameters that are models are called."""
TAKERS = {
    name: getattr(opset, name)
    for name in dir(opset)
    if name == "ReferenceEvaluator" or inspect.isfunction(getattr(opset, name))
    if NAMES & {*inspect.signature(getattr(opset, name)).parameters} and name not in ("load_operator_set", "reduce")
}


def written(folder: Path, text: str) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(opset.parse_model(text).SerializeToString())
    path.with_suffix(".txt").write_text(text)
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TAKERS)
def test_a_model_is_taken_in_each_form(name, form, tmp_path):
    path = written(tmp_path, SMALL)
    parameters = inspect.signature(TAKERS[name]).parameters
    options = {key: value for key, value in NEEDED.items() if key in parameters and name != "merge"}
    if name == "merge":
        options = {"connect": {"y": "x"}, "prefixes": ("a", "b")}
    models = {key: FORMS[form](path) for key in parameters if key in NAMES}
    assert TAKERS[name](**models, **options) is not False


def test_a_model_that_is_reduced_is_taken_in_each_form(tmp_path):
    path = written(tmp_path, REFUSED)
    assert len({opset.to_text(opset.reduce(FORMS[form](path), 12)) for form in FORMS}) == 1


def test_a_text_is_the_same_from_each_form(tmp_path):
    path = written(tmp_path, SMALL)
    assert len({opset.to_text(FORMS[form](path)) for form in FORMS}) == 1
    with pytest.raises(opset.ModelError, match="M1"):
        opset.to_text(tmp_path / "no.onnx")
    with pytest.raises(opset.UsageError, match="there is no text of a int"):
        opset.to_text(3)
