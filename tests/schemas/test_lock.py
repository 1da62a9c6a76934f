"""The lock of released versions."""

import json
from dataclasses import replace

import pytest

from opset.errors import SchemaError
from opset.opsets.registry import get_schema
from opset.schemas.index import FOLDER
from opset.schemas.lock import lock_versions, parse_lock, read_lock, signature_hash
from opset.schemas.model import Attribute, Change
from opset.schemas.yaml.loader import load_folder

HASH = "ab" * 32
TEXT = """\
operator: A
family: f
versions:
- since: {since}
  doc: it
  attributes:
    a: {{type: int, default: {default}, doc: x}}
"""


def folder(tmp_path, since=1, default=0):
    (tmp_path / "com.acme").mkdir(exist_ok=True)
    (tmp_path / "com.acme" / "A.yaml").write_text(TEXT.format(since=since, default=default))
    return load_folder(tmp_path)[0]


def test_every_released_version_of_the_standard_is_locked():
    lock = read_lock(FOLDER)
    assert sum(len(versions) for operators in lock.values() for versions in operators.values()) == 659
    assert lock["ai.onnx"]["Softmax"]["13"] == signature_hash(get_schema("Softmax", 13))


def test_only_new_versions_are_added(tmp_path):
    assert read_lock(tmp_path) == {}
    assert lock_versions(tmp_path, folder(tmp_path)) == ["com.acme.A:1"]
    first = read_lock(tmp_path)
    assert lock_versions(tmp_path, folder(tmp_path, default=1)) == []
    assert read_lock(tmp_path) == first
    assert lock_versions(tmp_path, folder(tmp_path, since=10)) == ["com.acme.A:10"]
    assert lock_versions(tmp_path, folder(tmp_path, since=2)) == ["com.acme.A:2"]
    assert list(read_lock(tmp_path)["com.acme"]["A"]) == ["1", "2", "10"]
    assert read_lock(tmp_path)["com.acme"]["A"]["1"] == first["com.acme"]["A"]["1"]


def test_the_hash_is_that_of_the_signature():
    schema = get_schema("Clip", 13)
    same = [
        replace(schema, family="other"),
        replace(schema, replacement="Other"),
        replace(schema, change=Change(meaning="other")),
        replace(schema, inputs=tuple(each._replace(differentiable=False) for each in schema.inputs)),
    ]
    other = [
        replace(schema, name="Other"),
        replace(schema, since_version=14),
        replace(schema, inputs=schema.inputs[:2]),
        replace(schema, outputs=(schema.outputs[0]._replace(option="optional"),)),
        replace(schema, attributes={"a": Attribute("a", "float", 0.0)}),
        replace(schema, attributes={"a": Attribute("a", "float", -0.0)}),
        replace(schema, types={"T": ("tensor(float)",)}),
        replace(schema, deprecated=True),
        replace(schema, experimental=True),
        replace(schema, determinism="unknown"),
    ]
    assert {signature_hash(each) for each in same} == {signature_hash(schema)}
    assert len({signature_hash(each) for each in [schema, *other]}) == len(other) + 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a": 1}', '{"a": {"B": {"x": "00"}}}', '{"a": {"B": {"1": "xyz"}}}', "[" * 100000]
    + [f'{{"a": {{"B": {{"{key}": "{text}"}}}}}}' for key, text in (("1", ""), ("01", HASH), ("1", HASH.upper()))]
    + [f'{{"a": {{"B": {{"1": "{HASH}", "1": "{HASH}"}}}}}}'],
)
def test_a_broken_lock_is_told(text, tmp_path):
    (tmp_path / "lock.json").write_text(text)
    with pytest.raises(SchemaError) as caught:
        read_lock(tmp_path)
    assert caught.value.code == "S204"
    assert caught.value.place == str(tmp_path / "lock.json")


def test_the_lock_is_json_with_one_version_a_line():
    text = (FOLDER / "lock.json").read_text()
    assert json.dumps(json.loads(text), indent=1) + "\n" == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": {"B": {"0": "' + HASH + '"}}}', "'0' is no version with a SHA-256"),
        ('{"a": {"B": {"' + "x" * 21 + '": ""}}}', f"'{'x' * 20}' is no version with a SHA-256"),
        ('{"a": {"B": {"12345678901": "' + HASH + '"}}}', "'12345678901' is no version with a SHA-256"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
def test_a_broken_lock_says_why(text, why, tmp_path):
    with pytest.raises(SchemaError, match="the lock file cannot be read") as caught:
        parse_lock(text.encode(), tmp_path)
    assert (caught.value.why, caught.value.place) == (why, str(tmp_path))
    lock = {"a": {"B": {"1234567890": HASH}}}
    assert parse_lock(json.dumps(lock).encode(), "f") == lock


def test_a_lock_that_cannot_be_opened_says_why(tmp_path):
    (tmp_path / "lock.json").symlink_to("lock.json")
    with pytest.raises(SchemaError) as caught:
        read_lock(tmp_path)
    assert caught.value.why == "Too many levels of symbolic links"
    (tmp_path / "lock.json").unlink()
    (tmp_path / "lock.json").mkdir()
    with pytest.raises(SchemaError) as caught:
        read_lock(tmp_path)
    assert caught.value.why in ("it is no regular file", "Is a directory")
    (tmp_path / "file").touch()
    assert read_lock(tmp_path / "file") == {}


def test_a_lock_is_in_the_order_of_domains_operators_and_versions(tmp_path):
    (tmp_path / "lock.json").write_text(f'{{"org": {{"B": {{"10": "{HASH}", "9": "{HASH}"}}, "A": {{}}}}}}')
    lock_versions(tmp_path, folder(tmp_path))
    lock = read_lock(tmp_path)
    assert [*lock] == ["com.acme", "org"] and [*lock["org"]] == ["A", "B"] and [*lock["org"]["B"]] == ["9", "10"]
    text = (tmp_path / "lock.json").read_text()
    assert text.endswith("}\n") and '\n   "9": ' in text
    before = (tmp_path / "lock.json").stat()
    assert lock_versions(tmp_path, folder(tmp_path)) == []
    assert (tmp_path / "lock.json").stat().st_ino == before.st_ino
