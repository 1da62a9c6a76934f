"""Where versions and their keys are in the lines of an operator file."""

import pytest

from opset.errors import UsageError
from opset.schemas.yaml.reader import Findings, read
from opset.workflow.authoring.blocks import key_lines, line_end, lines_of, locate_versions

TEXT = """operator: A
versions:
- since: 2
  doc: b
  types: {T: [float]}

  # about the types
# about the next version
- since: 1
  doc: |
    c

    d
  # inside

# about the examples
examples:
- {name: x}
"""


def located(text):
    lines = lines_of(text)
    return lines, locate_versions("A.yaml", read(text.encode(), Findings("A.yaml")), lines)


def test_the_lines_of_versions_and_of_their_keys():
    lines, (newer, older) = located(TEXT)
    assert (newer.since, newer.start, newer.end, newer.column) == (2, 2, 7, 2)
    assert newer.keys == {"since": (2, 3), "doc": (3, 4), "types": (4, 7)}
    assert (older.since, older.start, older.end, older.column) == (1, 8, 14, 2)
    assert older.keys == {"since": (8, 9), "doc": (9, 14)}
    assert key_lines(newer, lines, "since") == ["  since: 2\n"] and lines[2] == "- since: 2\n"
    assert key_lines(newer, lines, "types") == ["  types: {T: [float]}\n", "\n", "  # about the types\n"]
    assert key_lines(older, lines, "doc") == ["  doc: |\n", "    c\n", "\n", "    d\n", "  # inside\n"]


def test_versions_at_the_end_of_a_file_and_with_deeper_keys():
    lines, (only,) = located("operator: A\nfamily: f\nversions:\n  -  since: 1\n     doc: b\n\n\n")
    assert (only.start, only.end, only.column, only.keys) == (3, 5, 5, {"since": (3, 4), "doc": (4, 5)})
    assert key_lines(only, lines, "since") == ["     since: 1\n"]
    assert located("versions:\n- since: 1\noperator: A\n")[1][0].end == 2


@pytest.mark.parametrize(
    ("versions", "place"),
    [
        ("- {since: 1, doc: b}", "3:3"),
        ("- {since: 1,\n  doc: b}", "3:3"),
        ("- {\n  since: 1,\n  doc: b}", "3:3"),
        ("- since: 1\n  doc: b\n- {since: 2}", "5:3"),
        ("-\n  since: 1", "4:3"),
        ("- ? since\n  : 1", "3:3"),
        ("[{since: 1}]", "3:2"),
    ],
)
def test_versions_that_cannot_be_edited_by_lines(versions, place):
    text = f"operator: A\nversions:{' ' if versions.startswith('[') else chr(10)}{versions}\n"
    if versions.startswith("["):
        place = "2:12"
    with pytest.raises(UsageError) as raised:
        located(text)
    (finding,) = raised.value.findings
    assert (finding.code, finding.place) == ("U103", f"A.yaml:{place}")
    assert finding.help == "opset lint --fix DIR writes the layout of operator files"


@pytest.mark.parametrize(
    ("text", "lines", "end"),
    [
        ("a\nb\n", ["a\n", "b\n"], "\n"),
        ("a", ["a"], "\n"),
        ("a\r\nb\n", ["a\r\n", "b\n"], "\r\n"),
        ("a\r\n\r\nb", ["a\r\n", "\r\n", "b"], "\r\n"),
        ("a\rb", ["a\r", "b"], "\r"),
        ("a\u2028b\x85c", ["a\u2028", "b\x85", "c"], "\u2028"),
        ("a\x0bb", ["a\x0bb"], "\n"),
    ],
)
def test_lines_end_as_in_yaml(text, lines, end):
    assert lines_of(text) == lines and line_end(lines) == end
