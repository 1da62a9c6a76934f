"""The JSON Schemas of operator YAML for editors: they have the keys of the loader, and refuse what it refuses."""

import copy
import json
import re

import jsonschema
import pytest

from opset.errors import SchemaError
from opset.model.elements import NUMBERS
from opset.schemas.constraints import grammar, signature
from opset.schemas.index import FOLDER
from opset.schemas.yaml import examples, keys
from opset.schemas.yaml.folders import operator_files
from opset.schemas.yaml.loader import load_sets, parse_operator
from opset.schemas.yaml.printer import flow
from opset.schemas.yaml.reader import Findings, read
from tests.cli.commands import run

OPERATOR, TYPES = (json.loads((FOLDER / f"{name}.schema.json").read_text()) for name in ("operator", "types"))
PARTS = OPERATOR["$defs"]
VALIDATOR = jsonschema.Draft202012Validator(OPERATOR)
SETS = load_sets(FOLDER / "types.yaml")


def plain(path):
    return read(path.read_bytes(), Findings(str(path))).plain()


@pytest.mark.parametrize("schema", [OPERATOR, TYPES])
def test_they_are_json_schemas_that_a_command_prints(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    name = schema["$id"].partition(".")[0]
    assert json.loads(run("lint", "--json-schema", name).stdout) == schema


def test_they_have_the_keys_of_the_loader_and_no_others():
    known = {
        "version": keys.VERSION_KEYS,
        "parameter": keys.PARAMETER_KEYS,
        "attribute": keys.ATTRIBUTE_KEYS,
        "body": keys.BODY_KEYS,
        "note": keys.NOTE_KEYS,
        "change": keys.CHANGE_KEYS,
        "parameter_change": keys.PARAMETER_CHANGE_KEYS,
        "attribute_change": keys.ATTRIBUTE_CHANGE_KEYS,
        "example": examples._KEYS,
        "condition": (*grammar.KINDS, "where", "text"),
    }
    for part, names in known.items():
        assert set(PARTS[part]["properties"]) == set(names), part
        assert PARTS[part]["additionalProperties"] is False and PARTS[part]["description"], part
    assert set(OPERATOR["properties"]) == set(keys.OPERATOR_KEYS)
    change = PARTS["change"]["properties"]
    assert set(change["adapters"]["properties"]) == set(keys.ADAPTERS_KEYS)
    version, attribute = PARTS["version"]["properties"], PARTS["attribute"]["properties"]
    assert change["determinism"]["items"]["enum"] == list(keys.DETERMINISM)
    assert version["determinism"]["enum"] == [*keys.DETERMINISM, None]
    assert set(attribute["type"]["enum"]) == set(keys.ATTRIBUTE_TYPES)
    assert set(attribute["kind"]["enum"]) == {*signature.KINDS, None}
    (pattern,) = PARTS["value"]["patternProperties"]
    elements = [each for each in NUMBERS if re.search(pattern, each)]
    assert elements == list(NUMBERS) and not re.search(pattern, "flaot")


@pytest.mark.parametrize("name", ["Attention", "Softmax", "Resize", "If", "Optional", "Upsample"])
def test_operators_of_the_standard_are_valid(name):
    VALIDATOR.validate(plain(FOLDER / "ai.onnx" / f"{name}.yaml"))


def test_versions_of_the_standard_are_valid():
    validator = jsonschema.Draft202012Validator(PARTS["version"] | {"$defs": PARTS})
    for path in operator_files(FOLDER)[::12]:
        for version in plain(path)["versions"]:
            assert [each.message for each in validator.iter_errors(version)] == [], path


def test_type_sets_are_valid():
    validator = jsonschema.Draft202012Validator(TYPES)
    assert validator.is_valid(plain(FOLDER / "types.yaml"))
    for wrong in ([], {"a": []}, {"a": 3}, {"a": [{}]}, {"a": [""]}):
        assert not validator.is_valid(wrong)


RIGHT = {
    "operator": "Scale",
    "family": "acme",
    "versions": [
        {
            "since": 2,
            "change": {
                "attributes": {"axis": {"added": "int", "default": 1}}, "types": {"T": ["+bfloat16"]},
                "adapters": {"up": "derived", "down": "impossible: it is"},
            },
            "doc": "Scales.",
            "inputs": [{"name": "X", "type": "T", "doc": "values"}],
            "outputs": [{"name": "Y", "type": "T", "doc": "results"}],
            "attributes": {"axis": {"type": "int", "default": 1, "range": ">= 0", "constraint": "C1", "doc": "where"}},
            "types": {"T": ["float", "bfloat16"]},
            "constraints": {"C2": {"rank": {"X": ">= 1"}, "where": {"axis": 1}}},
            "function": [{"opset": 13, "nodes": "Y = Exp (X)"}],
        },
        {
            "since": 1, "like": 2, "inputs": ["X"], "outputs": [{"name": "Y", "doc": "more"}],
            "attributes": {"axis": {"default": None}}, "types": {"T": "float"},
            "constraints": {"C2": None, "C3": "it is"}, "function": None,
        },
    ],
    "special_cases": [
        "it", {"text": "that", "since": 2, "chosen": "ties"}, {"text": "this", "until": 1, "stated": "2 summary"},
    ],
    "implementations": {
        "tract": [{"text": "it", "tested": "1.3", "since": 2, "until": 2, "examples": ["one"]}],
        "opset": [{"text": "it"}],
    },
    "examples": [
        {"name": "one", "since": 1, "inputs": [{"float": [1, 2]}], "outputs": [{"float": "0..3", "shape": [2, 2]}]},
        {
            "name": "two", "since": 2, "stated": "2 attribute axis", "attributes": {"axis": -1},
            "inputs": [{"float": 1}], "error": "C1",
        },
    ],
}  # fmt: skip
NEWER = ("versions", 0)
NULL = object()
EDITS = [
    (("family",), None), (("operator",), 3), (("kind",), "x"), (("versions",), []), (("versions",), {}),
    ((*NEWER, "since"), None), ((*NEWER, "since"), 0), ((*NEWER, "since"), "2"), ((*NEWER, "dok"), "x"),
    ((*NEWER, "doc"), None), ((*NEWER, "doc"), 3), ((*NEWER, "deprecated"), "yes"), ((*NEWER, "determinism"), "no"),
    ((*NEWER, "inputs"), {"X": "T"}), ((*NEWER, "inputs", 0, "name"), None), ((*NEWER, "inputs", 0, "nmae"), "X"),
    ((*NEWER, "inputs", 0, "optional"), 1), ((*NEWER, "inputs", 0, "min_arity"), 1), ((*NEWER, "types", "T"), []),
    ((*NEWER, "attributes", "axis", "type"), "integer"), ((*NEWER, "attributes", "axis", "required"), True),
    ((*NEWER, "attributes", "axis", "kind"), "index"), ((*NEWER, "attributes", "axis", "constraint"), "1"),
    ((*NEWER, "constraints", "X1"), "x"), ((*NEWER, "constraints", "C2", "ranks"), {}),
    ((*NEWER, "constraints", "C2", "rank"), None), ((*NEWER, "function"), []), ((*NEWER, "function", 0, "opset"), None),
    ((*NEWER, "change", "adapters"), None), ((*NEWER, "change", "adapters", "up"), "impossible"),
    ((*NEWER, "change", "types", "T"), ["bfloat16"]), ((*NEWER, "change", "attributes", "axis", "new"), 1),
    ((*NEWER, "change", "attributes", "axis", "added"), "number"), (("special_cases",), [""]),
    (("special_cases",), [{"text": "it", "chosen": "a", "stated": "1 summary"}]),
    (("special_cases",), [{"chosen": "a"}]), (("special_cases", 1, "since"), "2"), (("examples", 1, "chosen"), ""),
    (("implementations", "tract", 0, "tested"), None), (("implementations", "tract", 0, "tested"), 1.3),
    (("implementations", "opset", 0), "it"), (("implementations", "opset", 0, "text"), None),
    (("implementations", "tract"), {}), (("implementations",), []), (("implementations", "opset", 0, "cases"), []),
    (("implementations", "tract", 0, "until"), "2"), (("implementations", "tract", 0, "examples"), "one"),
    (("versions", 1, "like"), None), (("versions", 1, "like"), "2"), (("versions", 1, "inputs"), [3]),
    (("versions", 1, "inputs"), [{"type": "T"}]), (("versions", 1, "attributes", "axis", "type"), "integer"),
    ((*NEWER, "inputs", 0), "X"), ((*NEWER, "attributes", "axis", "type"), None), ((*NEWER, "types", "T"), NULL),
    ((*NEWER, "function"), NULL), ((*NEWER, "attributes", "axis", "range"), NULL),
    (("examples", 0, "name"), "a b"), (("examples", 0, "error"), "C1"), (("examples", 0, "outputs"), None),
    (("examples", 1, "tolerance"), 0.1), (("examples", 0, "inputs"), [{"flaot": 1}]),
    (("examples", 0, "inputs"), [{"float": 1, "double": 1}]), (("examples", 0, "inputs"), [3]),
]  # fmt: skip


def edited(path, value):
    """Return the right document with one value another one, or without it."""
    document = copy.deepcopy(RIGHT)
    *outer, last = path
    at = document
    for key in outer:
        at = at[key]
    if value is None:
        del at[last]
    else:
        at[last] = None if value is NULL else value
    return document


def load(document):
    """Return the operator of a document."""
    return parse_operator(f"{flow(document)}\n".encode(), "com.acme/Scale.yaml", SETS)


def test_the_document_that_is_edited_is_right():
    VALIDATOR.validate(RIGHT)
    assert load(RIGHT).name == "Scale"


@pytest.mark.parametrize(("path", "value"), EDITS)
def test_what_the_loader_refuses_in_form_is_not_valid(path, value):
    document = edited(path, value)
    with pytest.raises(SchemaError):
        load(document)
    assert not VALIDATOR.is_valid(document)
