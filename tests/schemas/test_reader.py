"""YAML read strictly: values, places and refusals, with and without libyaml."""

import math
import re
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from opset.errors import SchemaError
from opset.schemas.yaml.reader import (
    MAX_DEPTH,
    MAX_FINDINGS,
    MAX_KEY,
    MAX_MESSAGE,
    MAX_SIZE,
    MAX_STEPS,
    Findings,
    YamlNode,
    read,
    reading_budget,
    scalar,
)
from tests.bounds import draws, lines

LOADERS = [yaml.SafeLoader, yaml.CSafeLoader]


def plain(text, loader=yaml.CSafeLoader):
    findings = Findings("f.yaml")
    root = read(text.encode() if isinstance(text, str) else text, findings, loader)
    assert findings == []
    return root.plain()


def refused(text, loader=yaml.CSafeLoader):
    findings = Findings("f.yaml")
    try:
        read(text.encode() if isinstance(text, str) else text, findings, loader)
    except SchemaError as error:
        assert list(error.findings) == findings
    assert findings
    return [(finding.code, finding.place) for finding in findings]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[
            (text, text)
            for text in ("no", "yes", "on", "off", "y", "N", "1_000", "0b1", "1:30", "2026-01-01", "=", "<<")
        ],
        *[(text, text) for text in ("012x", "1e", "e5", "+", "-", ".", "0x", "0o8", "--1", "nan", "inf", "True1")],
        *[("true", True), ("False", False), ("null", None), ("~", None), ("", None)],
        *[("012", 12), ("-7", -7), ("+3", 3), ("0o17", 15), ("0xfF", 255), ("-0", 0)],
        *[
            ("1e-5", 1e-5),
            ("1e-05", 1e-5),
            ("1.", 1.0),
            (".5", 0.5),
            ("-1.5E+3", -1500.0),
            ("3.4028235e+38", 3.4028235e38),
        ],
        *[(".inf", math.inf), ("-.INF", -math.inf), ("1e999", math.inf)],
        ("9" * 41, "9" * 41),
    ],
)
def test_plain_scalars_are_those_of_yaml_1_2(text, value):
    found = scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_nan_and_minus_zero():
    assert math.isnan(scalar(".NaN"))
    assert repr(scalar("-0.0")) == "-0.0"


@pytest.mark.parametrize("loader", LOADERS)
def test_quoted_and_block_scalars_are_text(loader):
    text = "a: '1'\nb: \"true\"\nc: |-\n  null\nd: >-\n  1\n  2\ne: no\n"
    assert plain(text, loader) == {"a": "1", "b": "true", "c": "null", "d": "1 2", "e": "no"}


@pytest.mark.parametrize("loader", LOADERS)
def test_places_count_from_one(loader):
    root = read("a:\n- {b: 1,\n   c: é}\n".encode(), Findings("f"), loader)
    inner = root.value["a"].value[0]
    assert (root.line, root.column) == (1, 1)
    assert (inner.line, inner.column) == (2, 3)
    assert (inner.keys["c"].line, inner.keys["c"].column) == (3, 4)
    assert (inner.value["c"].line, inner.value["c"].column) == (3, 7)


REFUSED = [
    ("", [("S101", "f.yaml:1:1")]),
    ("# nothing\n", [("S101", "f.yaml:1:1")]),
    ("a: 1\n---\nb: 2\n", [("S101", "f.yaml:2:1")]),
    ("a: &x 1\nb: *x\n", [("S101", "f.yaml:1:4"), ("S101", "f.yaml:2:4")]),
    ("a: &x [1]\n", [("S101", "f.yaml:1:4")]),
    ("a: !!python/object:os.system x\n", [("S101", "f.yaml:1:4")]),
    ("a: !x {}\n", [("S101", "f.yaml:1:4")]),
    ("a: 1\nb: 2\na: 3\na: 4\n", [("S106", "f.yaml:3:1"), ("S106", "f.yaml:4:1")]),
    ("1: x\n", [("S105", "f.yaml:1:1")]),
    ("null: x\n[a]: y\n", [("S105", "f.yaml:1:1"), ("S105", "f.yaml:2:1")]),
    ("a: [1\n", [("S101", "f.yaml:2:1")]),
    ("a: {b: > 0}\n", [("S101", "f.yaml:1:8")]),
    (b"a: \xff\n", [("S101", "f.yaml:1:4")]),
    (b"a: 1\nb: \x00\n", None),
    ('a: "\\ud800"\n', None),
    ('a: "\\U00110000"\n', None),
    ('a: "\\q"\n', None),
    ("\tx: 1\n", None),
    ("%YAML 3.0\n---\na\n", None),
    (b"\xff\xfea\x00", [("S101", "f.yaml:1:1")]),
    (b"\n\xff", [("S101", "f.yaml:2:1")]),
    (b"\n\na: \xc3\xa9\xff\n", [("S101", "f.yaml:3:5")]),
]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(("text", "places"), REFUSED)
def test_what_is_not_accepted(text, places, loader):
    found = refused(text, loader)
    if places is None:
        assert found[0][0] == "S101"
    else:
        assert found == places


SAID = [
    (b"", "the file holds no document"),
    (b"a: \xff\n", "the file is not UTF-8"),
    (b"a: 1\n---\nb: 2\n", "a second document starts here"),
    (b"a: &x 1\n", "anchors and aliases are not accepted; write the value out"),
    (b"a: !x {}\n", "tags are not accepted; leave it out; quote a string that looks otherwise"),
    (b"a: 1\na: 3\n", "the key 'a' is duplicate in this mapping"),
    (b"1: x\n", "a key has to be text; quote it"),
    (b"a: 1e999\n", "the number is larger than a float can be; write .inf for infinity"),
    (b"a: -1e999\n", "the number is larger than a float can be; write .inf for infinity"),
    (b"a" * 257 + b": 1\n", "a key has at most 256 characters"),
    (b"a: 1\n\tb: 2\n", "indent with blanks: the line has a tab"),
    ("a: 1\n\u00a0\u00a0b: c: 2\n".encode(), "indent with blanks: the line has U+00A0"),
    (b"a: {b: > 0}\n", "put text that begins with a sign in quotes: '> 0'"),
    (b"a: |\n  b\n  \tb\nc: 1\nd: {b: > 0}\n", "put text that begins with a sign in quotes: '> 0'"),
    (b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2), f"more than {MAX_DEPTH} levels are nested here"),
    (b"\ta: 1\nb: 2\n", "indent with blanks: the line has a tab"),
]


def test_what_a_loader_raises_is_said():
    findings = Findings("f.yaml")
    with pytest.raises(SchemaError):
        read(b'a: "\\UFFFFFFFF"', findings, yaml.SafeLoader)
    assert [finding.message for finding in findings] != ["the file holds no document"] and len(findings) == 1


@pytest.mark.parametrize(("text", "said"), SAID)
def test_what_is_said_and_what_helps(text, said):
    findings = Findings("f.yaml")
    with suppress(SchemaError):
        read(text, findings)
    (finding,) = findings
    assert "; ".join(filter(None, (finding.message, finding.help))).endswith(said)


def test_what_is_accepted_at_its_limit():
    assert plain("a" * MAX_KEY + ": .inf\n") == {"a" * MAX_KEY: math.inf}
    assert plain("a: '1e999'\nb: -.inf\n") == {"a": "1e999", "b": -math.inf}


def test_a_second_document_is_not_read():
    findings = Findings("f.yaml")
    assert read(b"a: 1\n---\n&x b: 2\n---\nc: 3\n", findings).plain() == {"a": 1}
    assert [each.place for each in findings] == ["f.yaml:2:1"]


def test_a_node_knows_its_size_and_places():
    root = read(b"a: [1, {b: 2}]\nc: x\n", Findings("f"))
    assert root.size() == 6
    assert sorted(root.places()) == ["1:1", "1:1", "1:12", "1:4", "1:5", "1:8", "1:9", "2:1", "2:4"]


def test_files_of_a_folder_share_a_budget():
    budget = reading_budget()
    Findings("f", budget).charge(MAX_STEPS)
    node = YamlNode(None, 2, 3)
    findings = Findings("g", budget)
    with pytest.raises(SchemaError) as caught:
        findings.charge(1, node)
    assert (caught.value.code, caught.value.place) == ("S102", "g:2:3")
    assert caught.value.message == f"reading the files of this folder takes more than {MAX_STEPS:,} steps"
    assert caught.value.help.startswith("values count") and [*caught.value.findings] == findings


def test_a_finding_is_noted_once_and_cut():
    findings = Findings("f")
    for message in ("a", "a", "b" * (MAX_MESSAGE + 1)):
        findings.add("S105", message, help=message)
    assert [(each.message, each.help, each.place) for each in findings] == [
        ("a", "a", "f:1:1"),
        ("b" * MAX_MESSAGE, "b" * MAX_MESSAGE, "f:1:1"),
    ]


def test_size_is_limited():
    assert refused(b"a" * (MAX_SIZE + 1)) == [("S102", "f.yaml:1:1")]
    assert plain("'" + "a" * (MAX_SIZE - 2) + "'") == "a" * (MAX_SIZE - 2)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_depth_is_limited(opening, loader):
    with lines(30_000_000):
        assert refused(opening * (MAX_SIZE // len(opening)), loader)[-1][0] == "S102"


def test_thirty_two_levels_are_enough():
    assert plain("[" * 32 + "]" * 32)
    assert refused("[" * 33 + "]" * 33) == [("S102", "f.yaml:1:33")]


def test_findings_are_limited():
    found = refused("".join(f"k{n}: !t 1\n" for n in range(1000)))
    assert len(found) == MAX_FINDINGS


@settings(max_examples=draws(300))
@given(st.text(alphabet="ab:-?[]{}&*!|>'\"%@`#,.\n\t ~0e<=\\ux\u2028\ufeff\x00", max_size=60), st.sampled_from(LOADERS))
def test_any_text_is_read_or_refused(text, loader):
    is_read_or_refused(text.encode("utf-8", "surrogatepass"), loader)


@settings(max_examples=draws(200))
@given(st.binary(max_size=60), st.sampled_from(LOADERS))
def test_any_bytes_are_read_or_refused(data, loader):
    is_read_or_refused(data, loader)


def is_read_or_refused(data, loader):
    findings = Findings("f")
    try:
        read(data, findings, loader).plain()
    except SchemaError as error:
        assert findings
        assert list(error.findings) == findings
    assert all(re.fullmatch(r"S1\d\d", finding.code) and finding.place.startswith("f") for finding in findings)
