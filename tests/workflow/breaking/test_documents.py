"""States that one file holds: a document of `opset docs`, read back as the schemas are, and the YAML of an operator."""

import json

import pytest

from opset.docgen import document
from opset.docgen.convertibility import Convertibility
from opset.errors import ComparisonError
from opset.opsets.registry import default_registry
from opset.schemas.example import ExampleValue
from opset.workflow.breaking import documents
from opset.workflow.breaking.comparison import compare
from opset.workflow.breaking.documents import _parse_number, _parse_value, file_state
from opset.workflow.breaking.states import folder_state, registry_state
from tests.workflow.breaking.conftest import THIN, write

REGISTRY = default_registry()
CONVERTIBILITY = Convertibility(REGISTRY)
# Sequences, maps, sparse tensors, graphs, text, optionals, changes of every kind, bodies, attributes of every type.
NAMES = {
    "": "BatchNormalization Bernoulli Cast Clip Constant CumSum If Loop LSTM OptionalGetElement Pad Resize Scan Selu "
    "SequenceAt SequenceInsert StringNormalizer TopK Unsqueeze Upsample".split(),
    "ai.onnx.ml": ["DictVectorizer", "TreeEnsembleClassifier", "ZipMap"],
    "ai.onnx.preview.training": ["Momentum"],
}


def data_of(domain, name):
    """An operator as the document has it."""
    return json.loads(document._json_line(document.operator_data(REGISTRY, domain, name, CONVERTIBILITY)))


@pytest.fixture
def present():
    keys = {(domain, name) for domain, names in NAMES.items() for name in names}
    return registry_state(REGISTRY, "now").within(keys)


def test_a_document_has_all_that_is_compared(present, tmp_path):
    domains = [{"operators": [data_of(domain, name) for name in names]} for domain, names in NAMES.items()]
    sets = {name: [*types] for name, types in REGISTRY.type_sets.items()}
    path = tmp_path / "operators.json"
    path.write_text(json.dumps({"domains": domains, "type_sets": sets}))
    state, alone = file_state(path, present)
    assert not alone and state.name == str(path) and state.sets == REGISTRY.type_sets
    assert state.operators.keys() == present.operators.keys()
    for key, operator in state.operators.items():
        other = present.operators[key]
        assert operator.family == other.family
        assert [each.schema for each in operator.versions.values()] == [
            each.schema for each in other.versions.values()
        ], key
    assert [f"{each.title}: {each.message}" for each in compare(state, present).findings] == []
    one, _ = file_state(path, present.within([("ai.onnx.ml", "ZipMap")]))
    assert {domain for domain, _ in one.operators} == {"ai.onnx.ml"}


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (1, 1), ("a", "a"), ([1, [2]], [1, [2]]), ({"a": 1}, {"a": 1}),
        ({"type": "tensor(float)", "shape": [], "content": 1}, ("tensor(float)", 1, ())),
        ({"type": "tensor(float)", "shape": [2], "content": [1, 2]}, ("tensor(float)", [1, 2], (2,))),
        ({"type": "tensor(float)", "shape": [1, 2, 1], "content": [[[1], [2]]]}, ("tensor(float)", [1, 2], (1, 2, 1))),
        ({"type": "tensor(float)", "shape": [0, 2], "content": []}, ("tensor(float)", [], (0, 2))),
        ({"type": "tensor(float)", "shape": [2], "content": None}, ("tensor(float)", None, (2,))),
        ({"type": "map(int64, tensor(float))", "shape": None,
          "content": {"1": {"type": "tensor(float)", "shape": [], "content": 2}}},
         ("map(int64, tensor(float))", {"1": ExampleValue("tensor(float)", 2, ())}, None)),
        ({"type": "seq(tensor(float))", "shape": None,
          "content": [{"type": "tensor(float)", "shape": [1, 1], "content": [[2]]}]},
         ("seq(tensor(float))", [ExampleValue("tensor(float)", [2], (1, 1))], None)),
        ({"type": "optional(tensor(float))", "shape": None,
          "content": {"type": "tensor(float)", "shape": [], "content": 2}},
         ("optional(tensor(float))", ExampleValue("tensor(float)", 2, ()), None)),
        ({"type": "sparse_tensor(float)", "shape": None,
          "content": {"type": "float", "shape": [2], "content": [1, 2]}},
         ("sparse_tensor(float)", {"type": "float", "shape": [2], "content": [1, 2]}, None)),
    ],
)  # fmt: skip
def test_values_of_examples_are_read_as_the_loader_reads_them(data, value):
    assert _parse_value(data) == (ExampleValue(*value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("operator", 3, "3 is no text"),
        ("operator", ["Selu"], "['Selu'] is no text"),
        ("versions", 3, "TypeError"),
        ("examples", [{}], "KeyError"),
        ("domain", None, "None is no text"),
    ],
)
def test_a_document_that_was_edited_is_not_compared(present, tmp_path, key, value, why):
    path = tmp_path / "operators.json"
    path.write_text(json.dumps({"domains": [{"operators": [{**data_of("", "Selu"), key: value}]}], "type_sets": {}}))
    with pytest.raises(ComparisonError) as caught:
        file_state(path, present)
    (found,) = caught.value.findings
    assert (found.code, found.message) == ("B192", f"the schemas of {path} cannot be read")
    assert found.why.startswith("it is no document of operators: ") and why in found.why
    assert found.help == "give the YAML of an operator, or the JSON that opset docs wrote"


def test_a_document_that_is_nested_deeply_is_not_compared(present, tmp_path):
    path = tmp_path / "operators.json"
    for depth in (documents.MAX_DEPTH, documents.MAX_DEPTH + 1):
        inner = "[" * (depth - 1) + "]" * (depth - 1)  # the document is a level, too
        path.write_text(f'{{"more": {inner}, "domains": [], "type_sets": {{}}}}')
        with pytest.raises(ComparisonError) as caught:
            file_state(path, present)
        deep = "it is nested more than 64 levels deep" in caught.value.why
        assert (deep, caught.value.code) == ((True, "B192") if depth > documents.MAX_DEPTH else (False, "B193"))


@pytest.fixture
def twins(tmp_path):
    """A state in which two domains have the operator Thin, and one of them Wide."""
    now = write(tmp_path / "now", Thin=THIN, Wide=THIN.replace("Thin", "Wide"))
    (now / "com.example").mkdir()
    (now / "com.example" / "Thin.yaml").write_text(THIN)
    return folder_state(now, "now")


def put(path, name):
    path.parent.mkdir()
    path.write_text(THIN.replace("Thin", name))
    return path


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("com.acme/Thin.yaml", ("com.acme", "Thin")),
        ("com.example/Thin.yaml", ("com.example", "Thin")),
        ("com.acme/Thick.yaml", ("com.acme", "Thin")),
        ("else/Wide.yaml", ("com.acme", "Wide")),
    ],
)
def test_the_operator_of_a_file_is_that_of_its_folder_or_of_its_name(tmp_path, twins, file, key):
    path = put(tmp_path / file, key[1])
    state, alone = file_state(path, twins)
    assert (alone, [*state.operators], state.name, state.sets) == (True, [key], str(path), twins.sets)


@pytest.mark.parametrize(
    ("file", "message", "why"),
    [
        ("com.acme/Gone.yaml", "there is no operator com.acme.Gone to compare with {}", ""),
        (
            "else/Gone.yaml",
            "{} has no operator that is compared",
            "no domain has an operator Gone, and the file's folder names none",
        ),
        (
            "else/Thin.yaml",
            "{} has no operator that is compared",
            "com.acme, com.example has an operator Thin, and the file's folder names none",
        ),
    ],
)
def test_a_file_of_no_operator_that_there_is_is_not_compared(tmp_path, twins, file, message, why):
    path = tmp_path / file
    with pytest.raises(ComparisonError) as caught:
        file_state(put(path, path.stem), twins)
    (found,) = caught.value.findings
    assert (found.code, found.message, found.why) == ("B193", message.format(path), why)
    assert found.help == ("keep the file as <domain>/<Operator>.yaml" if why else "")


def test_a_file_that_cannot_be_read_is_not_compared(tmp_path, twins):
    path = tmp_path / "com.acme" / "Thin.yaml"
    path.parent.mkdir()
    path.write_text("operator: Thin\n")
    with pytest.raises(ComparisonError) as caught:
        file_state(path, twins)
    head, *more = caught.value.findings
    assert (head.code, head.message) == ("B192", f"the schemas of {path} cannot be read") and more
    path.unlink()
    with pytest.raises(ComparisonError) as caught:
        file_state(path, twins)
    assert (caught.value.code, caught.value.why) == ("B192", "No such file or directory")


def test_numbers_that_json_lacks_are_text():
    values = [_parse_number(each, "float") for each in ("inf", "-inf", "nan", "other", 2, 0.5, None)]
    assert [str(each) for each in values] == ["inf", "-inf", "nan", "other", "2", "0.5", "None"]
    assert [type(each).__name__ for each in values[:5]] == ["float", "float", "float", "str", "int"]
    assert _parse_number("inf", "string") == _parse_number("inf") == "inf"
    assert _parse_number([["inf"], 1], "floats") == ((float("inf"),), 1) and _parse_number(["inf"], "strings") == (
        "inf",
    )


def test_a_note_about_an_implementation_has_each_part_in_its_place():
    data = {"name": "onnxruntime", "text": "It copies.", "tested": "1.31", "examples": ["one", "two"]}
    note = documents._parse_note(data)
    assert (note.name, note.text, note.tested, note.examples) == ("onnxruntime", "It copies.", "1.31", ("one", "two"))
