"""The Python code of examples runs with onnx.helper and numpy, and computes what the example says."""

import contextlib
import io
import json
from importlib.resources import files

import onnx
import pytest

import opset
from opset.catalog import example_data, example_rows
from opset.docgen.operator_pages import _shorten
from opset.docgen.python_examples import _is_value, python_parts
from opset.opsets.registry import default_registry
from opset.reference.comparison import differences
from opset.reference.example_models import value_of
from opset.schemas.model import ExampleValue, example_versions
from tests.docgen.v8 import run_scripts

REGISTRY = default_registry()


def shown_examples():
    """Each example with outputs, and the version at which a page shows it."""
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            versions = {each.since_version: each for each in REGISTRY.versions(name, domain)}
            for example in REGISTRY.examples(name, domain):
                if example.outputs is not None:
                    yield versions[example_versions(example, [*versions])[-1]], example


ALL = [*shown_examples()]


def parts_of(schema, example):
    """The parts of an example's code, and its inputs as a page shows them."""
    shown = [_shorten(text) for _, _, text in example_rows(schema, example_data(example))[0]]
    return python_parts(schema, example, REGISTRY.domains[""], shown), shown


@pytest.fixture(scope="module")
def code_of():
    """A function that returns the code of an example, as a page shows it."""
    with run_scripts([files("opset.docgen").joinpath("assets", "site.js").read_text()], "opsetSite.pythonCode") as call:

        def code_of(schema, example):
            parts, shown = parts_of(schema, example)
            return parts and call(json.loads(parts), shown)

        yield code_of


def outputs_of_code(code, monkeypatch, check=True):
    """What the code computes before it prints it; files that it saves are left out."""
    seen = []
    monkeypatch.setattr(onnx, "save", lambda model, path: check and onnx.checker.check_model(model))
    run = opset.ReferenceEvaluator.run
    monkeypatch.setattr(opset.ReferenceEvaluator, "run", lambda self, *args: seen.append(run(self, *args)) or seen[-1])
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, {})
    return seen[0]


@pytest.mark.parametrize("part", range(4))
def test_code_of_examples_computes_their_outputs(part, code_of, monkeypatch):
    """An eighth of all examples; random ones are compared by their number alone."""
    for schema, example in ALL[2 * part :: 8]:
        code = code_of(schema, example)
        if not code:
            continue
        found = outputs_of_code(code, monkeypatch, check=not schema.deprecated)
        expected = [value for value in example.outputs if value is not None]
        assert len(found) == len(expected), code
        for value, output in zip(expected, found, strict=True):
            if value.content is not None:
                wrong = [each for each in differences(value_of(value), output, example.tolerance) if each.why]
                assert not wrong, f"{schema.name}: {wrong}\n{code}"


def test_most_examples_have_code():
    lacking = [(schema.name, example.name) for schema, example in ALL if not parts_of(schema, example)[0]]
    assert len(lacking) < len(ALL) // 20, lacking


def test_the_code_of_a_plain_example(code_of):
    schema, example = next(pair for pair in ALL if pair[0].name == "Softmax")
    code = code_of(schema, example)
    assert 'helper.make_node("Softmax", ["input"], ["output"]' in code and "opset run Softmax.onnx --set" in code


@pytest.mark.parametrize(
    ("value", "text", "is_value"),
    [
        (ExampleValue("tensor(float)", 1.5, ()), "1.5", True),
        (ExampleValue("tensor(float)", [1.5, 2], (2,)), "[1.5, 2]", True),
        (ExampleValue("tensor(float)", [1, 2, 3, 4], (2, 2)), "[[1, 2], [3, 4]]", True),
        (ExampleValue("tensor(float)", [1.5, 2]), "[1.5, 2]", True),
        (ExampleValue("tensor(float)", 1.5, (2,)), "1.5", False),  # all elements are
        (ExampleValue("tensor(float)", None, (2,)), "any values", False),
        (ExampleValue("tensor(float)", [], (2, 0)), "[[], []]", False),
        (ExampleValue("tensor(float)", -0.0, ()), "-0", False),
        (ExampleValue("tensor(float)", [-0.5, 1], (2,)), "[-0.5, 1]", True),
        (ExampleValue("tensor(float)", [1, 2, 3], (3,)), "[1, 2, …]", False),
        (ExampleValue("tensor(bool)", True, ()), "true", False),
        (ExampleValue("tensor(bfloat16)", 1.5, ()), "1.5", False),
        (ExampleValue("seq(tensor(float))", [], None), "[]", False),
    ],
)
def test_what_a_page_shows_is_python_only_for_plain_numbers(value, text, is_value):
    assert _is_value(value, text) == is_value
