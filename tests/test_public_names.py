"""What `import opset` offers: exactly the names of `__all__`, each imported when it is first asked for."""

import importlib
import inspect
import pickle
import re

import pytest

import opset
from opset import errors

NAMES = [
    "CheckError", "ConversionError", "Finding", "Inference", "InferenceError", "Limits", "Model", "ModelError",
    "OpSchema", "OpsetError", "Plan", "ReferenceEvaluator", "Registry", "RunError", "SchemaError", "UsageError",
    "apply", "convert", "get_schema", "infer", "infer_shapes", "load", "plan",
]  # fmt: skip


def test_the_names_are_these_and_sorted():
    assert opset.__all__ == NAMES
    assert dir(opset) == sorted([*NAMES, "__version__"])


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there_and_documented(name):
    thing = getattr(opset, name)
    assert inspect.getdoc(thing)
    assert thing.__name__ == name


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="has no attribute 'Convert'"):
        _ = opset.Convert


def test_the_version_is_a_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+", opset.__version__)


@pytest.mark.parametrize("package", ["opset.errors", "opset.model", "opset.version_converter"])
def test_a_package_has_what_it_lists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("Error")])
def test_an_error_carries_its_parts_and_survives_pickling(name):
    kind = getattr(opset, name)
    finding = opset.Finding("C204", "it would", "node 'a'", "because", "do so", "m.onnx")
    error = pickle.loads(pickle.dumps(kind([finding, finding])))
    assert type(error) is kind and isinstance(error, opset.OpsetError)
    assert error.findings == (finding, finding)
    assert (error.code, error.message, error.place, error.why, error.help, error.file) == (
        "C204", "it would", "node 'a'", "because", "do so", "m.onnx",
    )  # fmt: skip
    assert str(error).count("error[C204] it would") == 2


@pytest.mark.parametrize(
    ("name", "status"), [("UsageError", 2), ("ModelError", 3), ("ConversionError", 1), ("SchemaError", 1)]
)
def test_exit_statuses_of_errors(name, status):
    assert getattr(opset, name).exit_status == status


def test_every_code_is_of_a_known_kind():
    assert [code for code in errors.CODES if not re.fullmatch(r"[USMGICR]\d{3}", code)] == []
    assert list(errors.CODES) == list(dict.fromkeys(errors.CODES))
    assert len(set(errors.CODES.values())) == len(errors.CODES)
