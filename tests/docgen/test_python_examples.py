"""The Python code of examples runs with onnx.helper and numpy, and computes what the example says."""

import contextlib
import io
import json
from dataclasses import replace
from importlib.resources import files
from unittest import mock

import onnx
import pytest

import opset
from opset.catalog import example_data, example_rows
from opset.docgen.operator_pages import _shorten
from opset.docgen.python_examples import (
    _attribute_text,
    _command_values,
    _is_json,
    _is_value,
    _json_value,
    _name_values,
    _type_text,
    _Unsupported,
    _value_text,
    python_parts,
)
from opset.opsets.registry import default_registry
from opset.reference.comparison import differences
from opset.reference.example_models import value_of
from opset.schemas.example import Example, ExampleValue, example_versions
from opset.schemas.model import Parameter
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


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tensor(float)", "helper.make_tensor_type_proto(TensorProto.FLOAT, None)"),
        (
            "seq(optional(tensor(int64)))",
            "helper.make_sequence_type_proto(helper.make_optional_type_proto("
            "helper.make_tensor_type_proto(TensorProto.INT64, None)))",
        ),
        (
            "map(string, float)",
            "helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))",
        ),
        ("sparse_tensor(float)", None),
        ("seq(sparse_tensor(float))", None),
    ],
)
def test_types_are_code_for_the_type_protos(text, code):
    if code is None:
        with pytest.raises(_Unsupported):
            _type_text(text)
        return
    assert _type_text(text) == code
    made = eval(code, {"helper": onnx.helper, "TensorProto": onnx.TensorProto})
    assert made.WhichOneof("value") == f"{text.partition('(')[0]}_type".replace("seq_", "sequence_")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (ExampleValue("tensor(float)", 1.5, ()), 'array(1.5, "float32")'),
        (ExampleValue("tensor(float)", [1.5]), 'array([1.5], "float32")'),
        (ExampleValue("tensor(float)", [1, 2], (2, 1)), 'array([1, 2], "float32").reshape(2, 1)'),
        (ExampleValue("tensor(float)", [1], ()), 'array([1], "float32").reshape(())'),
        (ExampleValue("tensor(int8)", 3, (2, 4)), 'array(3, "int8").repeat(8).reshape(2, 4)'),
        (ExampleValue("tensor(int8)", 3, (1,)), 'array(3, "int8").repeat(1).reshape(1)'),
        (ExampleValue("tensor(bfloat16)", 1.5, ()), "array(1.5, ml_dtypes.bfloat16)"),
        (ExampleValue("tensor(string)", ["a"], (1,)), "array(['a'], \"object\")"),
        (ExampleValue("tensor(complex64)", ["1+2j"], (1,)), 'array([(1+2j)], "complex64")'),
        (ExampleValue("tensor(complex128)", "1j", ()), 'array(1j, "complex128")'),
        (ExampleValue("tensor(float)", None, (2,)), None),
        (ExampleValue("seq(tensor(float))", [ExampleValue("tensor(float)", 1, ())] * 2), '[array(1, "float32"), '
         'array(1, "float32")]'),
        (ExampleValue("optional(tensor(float))", None), "None"),
        (ExampleValue("optional(tensor(float))", ExampleValue("tensor(float)", 1, ())), 'array(1, "float32")'),
        (ExampleValue("map(string, float)", {"a": 1.0}), None),
    ],
)  # fmt: skip
def test_values_are_code(value, code):
    if code is None:
        with pytest.raises(_Unsupported):
            _value_text(value)
    else:
        assert _value_text(value) == code


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("int", 3, "3"),
        ("float", 2, "2.0"),
        ("floats", (1, 0.5), "[1.0, 0.5]"),
        ("ints", (1, 2), "[1, 2]"),
        ("string", "a'b", '"a\'b"'),
        ("strings", ("a",), "['a']"),
        ("ints", (), None),
        ("strings", [], None),
        ("string", "input_0", None),
        ("string", "my_input_0 input_x", "'my_input_0 input_x'"),
        ("graph", " g () => () {}\n", 'parser.parse_graph("""g () => () {}""")'),
        ("tensor", ExampleValue("tensor(float)", 1.5, ()), 'helper.make_tensor("", TensorProto.FLOAT, [], [1.5])'),
        ("tensor", ExampleValue("tensor(int64)", [1, 2], (2, 1)),
         'helper.make_tensor("", TensorProto.INT64, [2, 1], [1, 2])'),
        ("tensor", ExampleValue("tensor(int64)", 1, (2,)), None),
        ("tensor", ExampleValue("tensor(int8)", [1], (1,)), None),
        ("tensor", ExampleValue("seq(tensor(float))", [], None), None),
        ("tensor", "text", None),
        ("type_proto", "float", None),
        ("sparse_tensor", 1, None),
    ],
)  # fmt: skip
def test_attributes_are_code(kind, value, code):
    if code is None:
        with pytest.raises(_Unsupported):
            _attribute_text(kind, value)
    else:
        assert _attribute_text(kind, value) == code


@pytest.mark.parametrize(
    ("value", "nested"),
    [
        (ExampleValue("tensor(float)", 1.5, ()), 1.5),
        (ExampleValue("tensor(float)", [1, 2, 3, 4], (2, 2)), [[1, 2], [3, 4]]),
        (ExampleValue("tensor(float)", [], (2, 0)), None),
        (ExampleValue("tensor(float)", 1.5, (2,)), None),
        (ExampleValue("tensor(float)", None, (2,)), None),
        (ExampleValue("tensor(complex64)", "1j", ()), None),
        (ExampleValue("seq(tensor(float))", [], None), None),
    ],
)
def test_elements_are_nested_lists_where_json_holds_them(value, nested):
    assert _json_value(value) == nested


def test_a_command_has_the_values_that_the_page_does_not_show():
    one, number = ExampleValue("tensor(float)", [1, 2], (2,)), ExampleValue("tensor(float)", 1, ())
    empty = ExampleValue("tensor(float)", [], (0,))
    assert _command_values("Op", [("x", one, "[1, 2]"), ("y", number, "1.0"), ("z", one, "[1, …]")]) == [
        0, "1", "[1, 2]",
    ]  # fmt: skip
    assert _command_values("Op", [("x", one, "[1, 2]"), ("y", empty, "[]")]) == []
    for content in (float("nan"), float("-inf"), "it's"):
        assert _command_values("Op", [("x", ExampleValue("tensor(float)", content, ()), "")]) == []
    texts = [("x", ExampleValue("tensor(string)", "s" * length, ()), "") for length in (55, 56)]  # and two quotes
    assert [_command_values("Op", [each]) for each in texts] == [[f'"{"s" * 55}"'], []]
    assert not _is_json("[1, …]") and _is_json("[1]")


def test_parts_name_what_an_example_gives_and_computes():
    schema = opset.get_schema("Concat")
    x, y = ExampleValue("tensor(float)", [1], (1,)), ExampleValue("tensor(float)", [1, 1], (2,))
    example = Example("e", 1, inputs=(x, x), outputs=(y,), attributes={"axis": 0})
    parts = json.loads(python_parts(schema, example, 20, ["[1]", "1"]))
    assert parts == [
        "Concat", "", [["", 13]], "axis=0",
        [["inputs_1", "FLOAT", [1], 1], ["inputs_2", "FLOAT", [1], 'array([1], "float32")']],
        [["concat_result", "FLOAT", [2]]],
        [0, "[1]"],
    ]  # fmt: skip
    assert python_parts(schema, example._replace(outputs=None), 20, ["[1]", "1"]) == ""
    assert python_parts(schema, example._replace(attributes={"axis": "input_0"}), 20, ["[1]", "1"]) == ""
    for length in (len(json.dumps(parts, separators=(",", ":"))), 1):
        with mock.patch("opset.docgen.python_examples.LONGEST", length):
            assert bool(python_parts(schema, example, 20, ["[1]", "1"])) == (length > 1)
    clip = Example("e", 1, inputs=(x, None, x), outputs=(x,))
    parts = json.loads(python_parts(opset.get_schema("Clip"), clip, 20, ["[1]", "", "[1]"]))
    assert [each and each[0] for each in parts[4]] == ["input", 0, "max"] and parts[5][0][0] == "output"
    absent = replace(opset.get_schema("Clip"), outputs=(Parameter("min", "T"),))
    assert json.loads(python_parts(absent, clip, 20, ["[1]", "", "[1]"]))[5][0][0] == "min"
    formal = [Parameter("X", "T"), Parameter("Y", "T")]
    assert [name for name, _ in _name_values(formal, [x, x])] == ["X", "Y"]
    named = replace(schema, outputs=(Parameter("inputs_2", "T"),))
    assert json.loads(python_parts(named, example, 20, ["[1]", "1"]))[5][0][0] == "new_inputs_2"
    own = replace(opset.get_schema("If"), domain="com.acme")
    graphs = {"then_branch": "g () => (y) { y = Neg (x) }", "else_branch": "g () => (y) { y = Abs (x) }"}
    example = Example("e", 1, inputs=(ExampleValue("tensor(bool)", True, ()),), outputs=(x,), attributes=graphs)
    assert json.loads(python_parts(own, example, 20, ["true"]))[2] == [["com.acme", own.since_version], ["", 20]]
    plain = opset.get_schema("If")
    assert json.loads(python_parts(plain, example, 20, ["true"]))[2] == [["", plain.since_version]]
