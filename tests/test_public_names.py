"""What `import opset` offers: exactly the names of `__all__`, each imported when it is first used."""

import importlib
import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opset
from opset import errors, extend

NAMES = [
    "CheckError", "Conversion", "ConversionError", "Finding", "Inference", "InferenceError", "InterfaceComparison",
    "Limits", "Model", "ModelComparison", "ModelDescription", "ModelError", "ModelReport", "ModelVersion", "OpSchema",
    "OperatorSet", "OpsetError", "ReferenceEvaluator", "Registry", "Repair", "RunError", "SchemaError", "UsageError",
    "Verification", "change_sizes", "check", "check_attribute", "check_function", "check_graph", "check_model",
    "check_node", "check_sparse_tensor", "check_tensor", "check_value_info", "compare_interfaces", "compare_models",
    "convert", "convert_many", "extract", "get_operator_set", "get_schema", "infer", "infer_shapes", "info",
    "inline_functions", "load", "load_operator_set", "lower", "merge", "parse_function", "parse_graph", "parse_model",
    "parse_node", "plan", "reduce", "repair", "to_text", "verify",
]  # fmt: skip


def test_the_names_are_these_and_sorted():
    assert opset.__all__ == NAMES
    assert dir(opset) == sorted([*NAMES, "__version__"])


def test_every_name_is_there_and_documented():
    for name in NAMES:
        thing = getattr(opset, name)
        assert inspect.getdoc(thing), name
        assert thing.__name__ == name


def test_other_names_are_not():
    with pytest.raises(AttributeError, match=r"has no attribute 'Convert'; did you mean .*\bconvert\b"):
        _ = opset.Convert
    with pytest.raises(AttributeError, match=r"dir\(opset\) lists its names, and opset.compat.onnx has those of"):
        _ = opset.version_converterr


FOR_AUTHORS = """
    Builder Call Constant Dim KernelContext NUMBERS Node Refusal Result Shape Size Type Unknown Violation broadcast
    ceil_div data differences down element_name equal example_versions feeds_of infer kernel less lower maximum minimum
    model_of optional parse_model product registry_with rounded_once sequence tensor up value_of variable
""".split()


def test_the_names_for_authors_are_these():
    assert extend.__all__ == dir(extend) == sorted(FOR_AUTHORS)
    with pytest.raises(AttributeError, match="has no attribute 'Kernel'"):
        _ = extend.Kernel


def test_every_name_for_authors_is_there_and_documented():
    for name in FOR_AUTHORS:
        thing = getattr(extend, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing) and thing.__name__ == name
        else:
            assert name in ("NUMBERS", "Result", "Shape", "Size")


def test_a_file_of_adapters_does_not_wait_for_numpy():
    code = (
        "import sys; from opset.extend import Builder, NUMBERS, Node, Refusal, Result, down, element_name, up; "
        "from opset.extend import Call, Dim, Unknown, Violation, data, infer, tensor; print(*sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert not {"numpy", "ml_dtypes", "yaml"} & set(done.stdout.split())


def test_the_version_is_a_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+", opset.__version__)


@pytest.mark.parametrize("package", ["opset.model", "opset.version_converter"])
def test_a_package_has_what_it_lists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("Error")])
def test_an_error_carries_its_parts_and_survives_pickling(name):
    kind = getattr(opset, name)
    finding = opset.Finding("C204", "it would", "node 'a'", "because", "do so", "m.onnx")
    other = finding._replace(message="it would not")
    error = pickle.loads(pickle.dumps(kind([finding, other])))
    assert type(error) is kind and isinstance(error, opset.OpsetError)
    assert error.findings == (finding, other)
    assert (error.code, error.message, error.place, error.why, error.help, error.file) == (
        "C204",
        "it would",
        "node 'a'",
        "because",
        "do so",
        "m.onnx",
    )
    assert str(error).count("error[C204] it would") == 2


@pytest.mark.parametrize(
    ("name", "status"), [("UsageError", 2), ("ModelError", 3), ("ConversionError", 1), ("SchemaError", 1)]
)
def test_exit_statuses_of_errors(name, status):
    assert getattr(opset, name).exit_status == status


def test_every_code_is_of_a_known_kind():
    assert [code for code in errors.CODES if not re.fullmatch(r"[USMGWICRVBT]\d{3}", code)] == []
    assert list(errors.CODES) == list(dict.fromkeys(errors.CODES))
    assert len(set(errors.CODES.values())) == len(errors.CODES)


def test_every_code_is_given_by_a_statement():
    folder = Path(errors.__file__).parent
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "errors.py")
    told = re.sub(r"frozenset\(.*\)", "", texts)  # sets of codes name what others give
    assert errors.CODES.keys() - re.findall(r'"([A-Z]\d{3})"', told) == set()
