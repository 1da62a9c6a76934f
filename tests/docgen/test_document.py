"""The JSON form: it follows its JSON Schema, nothing of the registry is lost, and hostile text is inert."""

import json
import math
import re
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import opset.docgen
from opset.docgen import document as document_module
from opset.docgen import documentation
from opset.docgen.convertibility import Convertibility
from opset.docgen.operator_pages import _comparisons_data, _example_data
from opset.opsets.registry import default_registry, registry_with
from opset.opsets.releases import RELEASES
from opset.schemas import model
from opset.schemas.documentation import Docs, ImplementationNote, SpecialCase
from opset.schemas.example import Example, ExampleValue
from tests.docgen import domains

SCHEMA = json.loads((Path(opset.docgen.__file__).parent / "operators.schema.json").read_bytes())

CONVERTIBILITY = Convertibility(default_registry())


@cache
def validator(part):
    return jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{part}"})


def document(registry, *chosen):
    files = dict(documentation(registry, "json", chosen or None))
    assert files["operators.schema.json"] == (Path(opset.docgen.__file__).parent / "operators.schema.json").read_bytes()
    text = files["operators.json"].decode("ascii")
    assert text.replace("\n", "").isprintable()
    return json.loads(text, parse_constant=pytest.fail)


def operator(registry, name):
    """An operator of the standard as the document has it."""
    return json.loads(document_module._json_line(document_module.operator_data(registry, "", name, CONVERTIBILITY)))


@pytest.fixture(scope="module")
def training():
    return document(default_registry(), "ai.onnx.preview.training")


@pytest.fixture(scope="module")
def acme(tmp_path_factory):
    return registry_with([domains.hostile(tmp_path_factory.mktemp("schemas"))])


def operators(data):
    return {(each["domain"], each["operator"]): each for domain in data["domains"] for each in domain["operators"]}


def frozen(value):
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def schema_of(data):
    """The schema that a version in the document was made of."""
    name = "" if data["domain"] == "ai.onnx" else data["domain"]
    parameters = [
        [model.Parameter(**{key: value for key, value in each.items() if key != "doc"}) for each in data[side]]
        for side in ("inputs", "outputs")
    ]
    attributes = [
        model.Attribute(**{key: frozen(value) for key, value in each.items() if key != "doc"})
        for each in data["attributes"]
    ]
    change = data["change"] and change_of(data["change"])
    flags = {key: data[key] for key in ("deprecated", "replacement", "experimental", "determinism", "shape")}
    return model.OpSchema(
        name,
        data["operator"],
        data["since"],
        data["family"],
        *map(tuple, parameters),
        {each.name: each for each in attributes},
        {name: tuple(types) for name, types in data["types"].items()},
        **flags,
        change=change,
        conditions=tuple(
            model.Condition(**{**each, "where": (*each["where"].items(),)}) for each in data["conditions"]
        ),
        function=tuple(
            model.FunctionBody(
                **{
                    **each,
                    "where": (*each["where"].items(),),
                    "types": {name: tuple(types) for name, types in each["types"].items()},
                }
            )
            for each in data["function"]
        ),
    )


def change_of(data):
    attributes = {
        name: model.AttributeChange(**{key: frozen(value) for key, value in each.items()})
        for name, each in data["attributes"].items()
    }
    return model.Change(
        data["difference"] if data["declared"] is None else data["declared"],
        attributes,
        data["emulate"],
        data["renamed"],
        data["meaning"],
        data["clarified"],
        data["up"]["declared"],
        data["down"]["declared"],
    )


def docs_of(data):
    phrases = [{each["name"]: each["doc"] for each in data[side]} for side in ("inputs", "outputs", "attributes")]
    return Docs(
        data["doc"],
        *phrases,
        data["constraints"],
        data["formula"],
        tuple(map(case_of, data["special_cases"])),
        data["counterparts"],
        tuple(ImplementationNote(**each | {"examples": (*each["examples"],)}) for each in data["implementations"]),
    )


def case_of(data):
    return SpecialCase(data["text"], *grounds_of(data))


def grounds_of(data):
    return [data["because"] if data["status"] == status else "" for status in ("stated", "chosen")]


def example_of(data):
    stated, chosen = grounds_of(data)
    return Example(
        stated=stated,
        chosen=chosen,
        **{
            **{key: each for key, each in data.items() if key not in ("status", "because")},
            "attributes": {name: value_of(each) for name, each in data["attributes"].items()},
            "inputs": tuple(map(value_of, data["inputs"])),
            "outputs": data["outputs"] and tuple(map(value_of, data["outputs"])),
        },
    )


def value_of(data):
    """A value of an example; those of tensors are flat."""
    if isinstance(data, list):
        return [value_of(each) for each in data]
    if not isinstance(data, dict):
        return data
    content, shape = data["content"], data["shape"]
    if shape is not None and isinstance(content, list):
        for _ in shape[1:]:
            content = [each for part in content for each in part]
    if isinstance(content, list):
        content = [value_of(each) for each in content]
    elif isinstance(content, dict):
        inner = content if "content" not in content else value_of(content)
        content = {key: value_of(each) for key, each in inner.items()} if isinstance(inner, dict) else inner
    return ExampleValue(data["type"], content, None if shape is None else tuple(shape))


def plain(value):
    """A value of an example as it is compared: keys and numbers that JSON lacks are text."""
    if isinstance(value, ExampleValue):
        content = value.content
        one = value.shape == () and isinstance(content, list) and len(content) == 1
        return value.type, plain(content[0] if one else content), value.shape
    if isinstance(value, Example):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def given(part):
    """A part of the prose without phrases that are empty."""
    return {name: text for name, text in part.items() if text} if isinstance(part, dict) else part


def same(registry, data):
    """Assert that nothing of an operator of a registry is lost in its data."""
    versions = registry.versions(data["operator"], data["domain"])
    assert [schema_of(each) for each in data["versions"]] == [*versions]
    for schema, each in zip(versions, data["versions"], strict=True):
        assert (each["change"] and change_of(each["change"])) == schema.change
        assert [*map(given, docs_of(each))] == [*map(given, registry.documentation(schema))]
    examples = registry.examples(data["operator"], data["domain"])
    assert repr([plain(example_of(each)) for each in data["examples"]]) == repr([*map(plain, examples)])


@pytest.mark.parametrize("first", [0, 1])
def test_nothing_of_the_standard_is_lost(first):
    registry = default_registry()
    for name in registry.operators()[first::20]:
        same(registry, operator(registry, name))


def test_nothing_of_a_hostile_domain_is_lost(acme):
    data = operators(document(acme, "Com.Acme", "CON", "com.acme"))
    assert {name for _, name in data} >= {*acme.operators("com.acme"), *acme.operators("Com.Acme")}
    for each in data.values():
        same(acme, each)


def test_the_document_follows_its_schema(acme, training):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for data in (training, document(acme, "CON")):
        jsonschema.Draft202012Validator(SCHEMA).validate(data)


@pytest.mark.parametrize("name", ["Softmax", "If", "SequenceMap", "Upsample", "Cast", "Optional"])
def test_operators_of_the_standard_follow_the_schema(name):
    data = operator(default_registry(), name)
    validator("operator").validate({**data, "examples": data["examples"][:3]})


OPEN = ("difference", "parameters_difference", "attribute_difference", "refusal", "refusal_of_made", "lowered")


def test_the_schema_allows_nothing_else():
    for name, part in [("", SCHEMA), *SCHEMA["$defs"].items()]:
        if "properties" in part:
            assert part["additionalProperties"] is False, name
            if name not in OPEN:
                assert part["required"] == list(part["properties"]), name
    with pytest.raises(jsonschema.ValidationError):
        validator("release").validate({"release": "1.0", "ir_version": 3, "opsets": {}, "more": 1})


def test_what_the_head_says(training):
    assert training["format"] == 2 and training["opset"] == opset.__version__
    assert training["releases"][-1] == {
        "release": RELEASES[-1].name,
        "ir_version": RELEASES[-1].ir,
        "opsets": {"ai.onnx.preview.training": 1},
    }
    assert training["type_sets"]["floats"] == ["tensor(double)", "tensor(float)", "tensor(float16)"]
    assert training["element_types"][0] == {"name": "float", "number": 1, "bits": 32, "ir_version": 1, "opset": 1}
    assert sum(map(len, training["families"].values())) == len(training["domains"][0]["operators"]) == 4
    assert [each["domain"] for each in training["domains"]] == ["ai.onnx.preview.training"]


def test_conversions_are_those_of_the_site(training):
    data = operators(training)["ai.onnx.preview.training", "Adam"]["convertibility"]
    assert {**data, "domain": "ai.onnx.preview.training", "operator": "Adam"} == json.loads(
        json.dumps(CONVERTIBILITY.table_of("Adam", "ai.onnx.preview.training"))
    )
    assert {each["code"] for each in training["refusals"]} == {"C103", "C206", "C401"}


def test_a_page_shows_the_elements_of_an_attribute_that_is_a_tensor():
    registry = default_registry()
    versions = registry.versions("ConstantOfShape", "")
    examples = [each for each in registry.examples("ConstantOfShape", "") if "value" in each.attributes]
    shown = [_example_data(tuple(versions), each, 1, 23)["attributes"] for each in examples]
    assert shown and not any("content" in each["text"] for attributes in shown for each in attributes)


def test_a_page_shows_texts_in_quotes_but_graphs_line_by_line():
    registry = default_registry()
    shown = {}
    for operator in ("Einsum", "Loop"):
        versions = tuple(registry.versions(operator, ""))
        example = next(each for each in registry.examples(operator, "") if each.attributes)
        (attribute, *_) = _example_data(versions, example, 1, 23)["attributes"]
        shown[attribute["name"]] = attribute["text"]
    assert re.fullmatch('".*"', shown["equation"]) and shown["body"].count("\n") > 1 and '"' not in shown["body"]


def test_the_difference_of_two_versions_leads_to_what_each_version_between_them_says():
    registry = default_registry()
    table = _comparisons_data(registry, registry.versions("Cast", "")[:4])
    assert table["columns"] == [6, 9, 13]
    assert [(each["title"], each["said"]) for each in table["pairs"]] == [
        ("1 → 6", [6]),
        ("1 → 9", [6, 9]),
        ("1 → 13", [6, 9]),
        ("6 → 9", [9]),
        ("6 → 13", [9]),
        ("9 → 13", []),
    ]
    cells = [[each and each["title"] for each in row["cells"]] for row in table["rows"]]
    assert cells == [["1 → 6", "1 → 9", "1 → 13"], [None, "6 → 9", "6 → 13"], [None, None, "9 → 13"]]
