"""Untrusted JSON: whatever one of their values is, only errors of the package's own come of it."""

import copy
import json

import pytest

from opset.docgen import documentation
from opset.errors import OpsetError
from opset.opsets.registry import default_registry
from opset.schemas.lock import parse_lock
from opset.schemas.untrusted_files import parse_json
from opset.tensor_io import json_values
from opset.workflow.breaking.comparison import compare
from opset.workflow.breaking.documents import file_state
from opset.workflow.breaking.states import registry_state
from opset.workflow.conformance.matrix import read_report
from opset.workflow.conformance.results import read_corpus
from tests.bounds import THOROUGH

STRANGE = [
    "1e400", "-1e400", "Infinity", "-Infinity", "NaN", "1" + "0" * 307, "1" + "0" * 350, "9" * 5000, "-1", "0", "1.5",
    "true", "null", '""', '"x"', '"\\ud800"', "[]", "{}", "[[]]", '{"a": 1, "a": 2}', "[" * 100_000,
]  # fmt: skip
MANIFEST = {
    "format": 1,
    "cases": [
        {"name": "abs", "kind": "node", "domain": "", "operator": "Abs", "example": "e", "shows": "s", "version": 13,
         "types": ["tensor(float)"], "files": {"node/abs/model.onnx": "0" * 64},
         "tolerance": {"rtol": 1e-3, "atol": 1e-7}},
        {"name": "drawn", "kind": "random", "domain": "", "operator": "RandomUniform", "example": "e", "shows": "s",
         "version": 1, "types": [], "files": {"random/drawn/model.onnx": "0" * 64},
         "outputs": [{"type": "tensor(float)", "shape": [2, 3]}]},
    ],
}  # fmt: skip
REPORT = {"format": 1, "cases": [{"name": "abs", "result": "pass"}]}
LOCK = {"com.acme": {"Scale": {"1": "0" * 64}}}
MARK = "a value of its own"


def places(data, path=()):
    """Yield the path to each value of JSON, and the value."""
    yield path, data
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*path, key))


def texts(data):
    """Yield JSON with a strange text in place of one value: any for the first number of its kind, else one."""
    seen = set()
    for number, (path, value) in enumerate(places(data)):
        kind = tuple(each for each in path if isinstance(each, str))
        is_first = THOROUGH or kind not in seen
        seen.add(kind)
        whole = copy.deepcopy([data])
        inner, key = whole, 0
        for each in path:
            inner, key = inner[key], each
        inner[key] = MARK
        text = json.dumps(whole[0])
        strange = STRANGE if type(value) in (int, float) and is_first else [STRANGE[number % len(STRANGE)]]
        yield from (text.replace(json.dumps(MARK), each) for each in strange)


def outcome(read):
    """Check that reading ends well, or with an error of ours."""
    try:
        read()
    except OpsetError as error:
        assert error.code


@pytest.mark.parametrize(
    ("name", "data", "read"),
    [
        ("manifest.json", MANIFEST, lambda path: read_corpus(str(path.parent))),
        ("report.json", REPORT, lambda path: read_report(str(path))),
        ("lock.json", LOCK, lambda path: parse_lock(path.read_bytes(), path)),
    ],
    ids=["manifest", "report", "lock"],
)
def test_files_of_numbers_that_there_are_not(name, data, read, tmp_path):
    path = tmp_path / name
    path.write_text(json.dumps(data))
    read(path)
    for text in texts(data):
        path.write_text(text)
        outcome(lambda: read(path))


def test_documents_of_numbers_that_there_are_not(tmp_path):
    registry = default_registry()
    present = registry_state(registry, "new")
    new = present.within(key for key in present.operators if key[0] == "ai.onnx.preview.training")
    files = dict(documentation(registry, "json", ["ai.onnx.preview.training"]))
    data = json.loads(files["operators.json"])
    (one, *_) = data["domains"][0]["operators"]
    data["domains"][0]["operators"] = [{**one, "examples": one["examples"][:1]}]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(data))
    compare(file_state(path, new)[0], new)
    for number, text in enumerate(texts(data)):
        if number % 4 and not THOROUGH:
            continue
        path.write_text(text)
        outcome(lambda: file_state(path, new))
        if number % 50 == 0:
            outcome(lambda: compare(file_state(path, new)[0], new))


@pytest.mark.parametrize("text", STRANGE)
def test_values_and_all_else_are_read_alike(text):
    for read in (parse_json, json_values.parse):
        try:
            read(f'{{"x": {text}}}')
        except ValueError as error:
            assert str(error)
