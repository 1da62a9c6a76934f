"""Untrusted files: regular ones of a bounded size, and JSON of finite numbers and keys that occur once."""

import os

import pytest

from opset.schemas.untrusted_files import TooLarge, file_bytes, parse_json


def test_a_file_is_read_up_to_its_most(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert file_bytes(tmp_path / "f", 3) == b"abc" and file_bytes(str(tmp_path / "f"), 4) == b"abc"
    with pytest.raises(TooLarge) as caught:
        file_bytes(tmp_path / "f", 2)
    assert str(caught.value) == "it has 3 bytes, and at most 2 are read"
    with pytest.raises(FileNotFoundError):
        file_bytes(tmp_path / "g", 2)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match="it is no regular file"):
            file_bytes(path, 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, -2.5, null, true, "x"]}', {"a": [1, -2.5, None, True, "x"]}),
        (b"1e308", 1e308),
        ("9" * 308, int("9" * 308)),
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    ],
)
def test_json_is_read(text, value):
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9" * 309, "a number has 309 digits, which is out of range"),
        ("-1e309", "-1e309 is out of range of a double"),
        ("1" * 400 + ".0", "1" * 308 + " is out of range of a double"),
        ("NaN", 'NaN is not JSON: a value is written as text, "nan", "inf" or "-inf"'),
        ("[-Infinity]", '-Infinity is not JSON: a value is written as text, "nan", "inf" or "-inf"'),
        ('{"b": 1, "a": 1, "a": 2}', "the key 'a' occurs twice"),
        ("[" * 200_000, "it is nested too deeply"),
        ("[1", "Expecting ',' delimiter: line 1 column 3 (char 2)"),
    ],
)
def test_json_that_is_refused(text, why):
    with pytest.raises(ValueError) as caught:
        parse_json(text)
    assert str(caught.value) == why
