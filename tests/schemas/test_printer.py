"""Every character that a document may hold is written so that the reader gives it back, wherever it is."""

import sys
import unicodedata

import pytest

from opset.schemas.printer import dump_document
from tests.schemas.test_reader import plain

PRINTED = [chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
PLACES = {
    "alone": lambda each: each,
    "at the end of a word": lambda each: f"word{each}",
    "at the beginning of a line": lambda each: f"one line\n{each}another line\n",
    "in a long text": lambda each: f"{'many words ' * 15}{each} and {'many more ' * 15}".strip(),
}


def document(text):
    """An operator with a text in each kind of place that has one."""
    return {
        "operator": "Scale", "family": "acme",
        "versions": [{
            "since": 1, "doc": text, "special_cases": [text, f"first {text}"],
            "inputs": [{"name": "X", "type": "T", "doc": text}],
            "attributes": {"way": {"type": "string", "default": text, "doc": text, "choices": [text, "other"]}},
            "types": {"T": "floats"}, "constraints": {"C1": text},
        }],
        "examples": [{"name": "one", "doc": text, "attributes": {"way": text}, "inputs": [{"string": [text]}]}],
    }  # fmt: skip


def one_of_each_kind():
    """Yield characters of each category and number of bytes, and those that YAML has rules for."""
    found = {}
    for character in PRINTED:
        kind = unicodedata.category(character), len(character.encode("utf-8")), ord(character) >> 16
        found.setdefault(kind, character)
    yield from found.values()
    yield from "\U000e0001\x85\u2028\u2029\ufeff\x7f\xa0\xad\u200b\t\r\x1b\u00e9#:-?,[]{}&*!|>'\"%@`~"


@pytest.mark.parametrize("place", PLACES)
def test_a_character_of_each_kind_is_read_as_it_was_written(place):
    for character in one_of_each_kind():
        written = document(PLACES[place](character))
        assert plain(dump_document(written)) == written, hex(ord(character))
