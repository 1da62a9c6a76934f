"""Every character that a document may hold is written so that the reader gives it back, wherever it is."""

import json
import math
import sys
import unicodedata

import pytest

from opset.schemas.index import FOLDER
from opset.schemas.yaml.layout import dump_operator
from opset.schemas.yaml.loader import load_operator, load_sets
from opset.schemas.yaml.printer import dump_document, flow
from tests.schemas.test_reader import plain
from tests.schemas.texts import SCALE

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
        "operator": "Scale",
        "family": "acme",
        "versions": [
            {
                "since": 1,
                "doc": text,
                "inputs": [{"name": "X", "type": "T", "doc": text}],
                "attributes": {"way": {"type": "string", "default": text, "doc": text, "choices": [text, "other"]}},
                "types": {"T": "floats"},
                "constraints": {"C1": text},
            }
        ],
        "special_cases": [text, f"first {text}", {"text": text, "since": 1, "chosen": text}],
        "implementations": {text[:9]: [{"text": text, "tested": text[:9]}]},
        "examples": [{"name": "one", "doc": text, "attributes": {"way": text}, "inputs": [{"string": [text]}]}],
    }


def test_a_long_text_in_a_list_goes_over_several_lines():
    made = document("it is so")
    clauses = [{"rank": {"X": 1}}, "word " * 40 + "end"]
    made["versions"][0]["constraints"] = {"C1": clauses}
    text = dump_document(made)
    assert max(map(len, text.splitlines())) <= 120
    assert plain(text)["versions"][0]["constraints"]["C1"] == clauses


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


def test_no_line_ends_with_a_space():
    made = document("one \ntwo\n")
    text = dump_document(made)
    assert [line for line in text.splitlines() if line != line.rstrip()] == [] and plain(text) == made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (False, "false"), (1.5, "1.5"), (-0.0, "-0.0"), (7, "7"),
        (math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan"),
        ("a", "a"), ("1", '"1"'), ("a, b", '"a, b"'), ("no", '"no"'), ("", '""'), ("0..5", "0..5"),
        ("0..5.", '"0..5."'), ("+float", "+float"), ("-x y", '"-x y"'), ("a:b", "a:b"), ("a: b", '"a: b"'),
        ("a#", "a#"), ("a #", '"a #"'),
        ([1, {"a b": 2, "c": []}], '[1, {"a b": 2, c: []}]'), ("a  b", r'"a \x20b"'), (" a", r'"\x20a"'),
        pytest.param(10**400, f"1{'0' * 400}", id="beyond floats"),
        ("\x01\u2028\U000e0001", r'"\x01\u2028\U000e0001"'), ('"\\\n', r'"\"\\\n"'),
    ],
)  # fmt: skip
def test_a_value_in_flow_style(value, text):
    assert flow(value) == text


WORDS = "a" * 80
WHOLE = f"""\
operator: A
family: f
versions:
- since: 2
  deprecated: true
  change:
    meaning: >-
      {WORDS}
      {WORDS}
    types:
      T: [+{WORDS},
        +{WORDS}]
    adapters: {{up: derived, down: derived}}
  doc: |-
    one

    two
  formula: |-
    \\frac{{x}}{{y}}
  counterparts:
    numpy: f(x)
    "a b": >-
      {WORDS}
      {WORDS}
  inputs:
  - name: X
    type: T
    doc: >-
      {WORDS}
      {WORDS}
  attributes:
    a: {{type: int, default: 1}}
    b:
      type: string
      default: |
        x
        y
      doc: >-
        {WORDS}
        {WORDS}
        {WORDS}
  types:
    T: [float]
  constraints:
    C1:
    - {{rank: {{X: 1}}, where: {{mode: a}}}}
    - rank:
        {"a" * 30}: 1
        {"b" * 30}: 1
        {"c" * 30}: 1
        {"d" * 30}: 1
    C2: {{rank: {{X: 2}}}}
    C3: []
    C10: ten
  function:
  - opset: 7
    nodes: |
      a
      b
  outputs: []
special_cases:
- a
- >-
  {WORDS} more
  {WORDS}
- text: t
  since: 2
  chosen: c
implementations:
  "a b":
  - {{text: t, tested: "1.0", until: 3}}
  - text: {WORDS}
    tested: "1.0"
    since: 2
    examples: [e]
examples:
- {{name: e, since: 1,
   inputs: [{{float: [{WORDS},
     {WORDS}]}}],
   outputs: [null]}}
- name: g
  like: e
  since: 2
  doc: d
  attributes:
    body: |
      x
      y
  outputs: []
"""


def test_a_document_with_all_that_there_is_prints_as_it_is():
    document = plain(WHOLE)
    assert dump_document(document) == WHOLE
    (version,) = document["versions"]
    version["constraints"] = dict(reversed(version["constraints"].items()))
    document["examples"] = [dict(reversed(each.items())) for each in document["examples"]]
    document["special_cases"][2] = dict(reversed(document["special_cases"][2].items()))
    assert dump_document(document) == WHOLE


@pytest.mark.parametrize("length", [115, 116, 117, 118, 125, 140])
def test_a_formula_is_folded_where_its_line_would_be_too_long(length, tmp_path):
    formula = ("\\frac{x}{y} + " * 20)[: length - 1] + "z"
    text = SCALE.replace("  doc: Scales.\n", f"  doc: Scales.\n  formula: {json.dumps(formula)}\n", 1)
    (tmp_path / "com.acme").mkdir()
    path = tmp_path / "com.acme" / "Scale.yaml"
    path.write_text(text)
    printed = dump_operator(load_operator(path, load_sets(FOLDER / "types.yaml")))
    lines = printed.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  formula:"))
    assert lines[start] == ("  formula: |-" if length <= 116 else "  formula: >-")
    assert max(map(len, lines)) <= 120
    path.write_text(printed)
    assert load_operator(path, load_sets(FOLDER / "types.yaml")).docs[-1].formula == formula


@pytest.mark.parametrize("formula", ["a \x07 b\nc", "a + " * 20 + "b\n" + "c + " * 20 + "d", "a  + " * 30 + "b"])
def test_a_formula_that_cannot_be_folded_reads_back_the_same(formula, tmp_path):
    text = SCALE.replace("  doc: Scales.\n", f"  doc: Scales.\n  formula: {json.dumps(formula)}\n", 1)
    (tmp_path / "com.acme").mkdir()
    path = tmp_path / "com.acme" / "Scale.yaml"
    path.write_text(text)
    path.write_text(dump_operator(load_operator(path, load_sets(FOLDER / "types.yaml"))))
    assert load_operator(path, load_sets(FOLDER / "types.yaml")).docs[-1].formula == formula


@pytest.mark.parametrize(
    ("case", "is_folded"),
    [
        ("so " * 38 + "it", False),
        ("so " * 39 + "it", True),
        ("so  " * 30 + "it", False),
        ("s\u00a0o " * 30 + "it", False),
    ],
)
def test_a_special_case_is_folded_where_it_reads_back_the_same(case, is_folded, tmp_path):
    text = f"{SCALE}special_cases: [{json.dumps(case)}]\n"
    sets = load_sets(FOLDER / "types.yaml")
    (tmp_path / "com.acme").mkdir()
    path = tmp_path / "com.acme" / "Scale.yaml"
    path.write_text(text)
    printed = dump_operator(load_operator(path, sets))
    assert ("- >-" in printed) == is_folded
    path.write_text(printed)
    assert [each.text for each in load_operator(path, sets).docs[-1].special_cases] == [case]


@pytest.mark.parametrize(
    ("character", "escape"),
    [("\x07", "\\x07"), ("\u2028", "\\u2028"), ("\ue000", "\\ue000"), ("\uffff", "\\uffff"),
     ("\U000e0001", "\\U000e0001")],
)  # fmt: skip
def test_what_cannot_be_printed_is_escaped(character, escape, tmp_path):
    text = f'{SCALE}special_cases: ["{escape}a"]\n'
    (tmp_path / "com.acme").mkdir()
    path = tmp_path / "com.acme" / "Scale.yaml"
    path.write_text(text)
    operator = load_operator(path, load_sets(FOLDER / "types.yaml"))
    assert operator.docs[-1].special_cases[0].text == f"{character}a"
    assert dump_operator(operator).endswith(f'- "{escape}a"\n')
