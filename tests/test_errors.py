"""Findings as text, many of them, and refusals of one kind as one."""

import pickle
import re

import pytest

from opset.advice import PAGES, advice_of
from opset.errors import (
    CODES,
    KEPT,
    LONGEST,
    MOST,
    NOTEBOOK,
    SHOWN,
    WIDTH,
    ComparisonError,
    ConversionError,
    CorpusError,
    Finding,
    FindingList,
    ModelError,
    OpsetError,
    RunError,
    brief_name,
    escape_text,
    listing,
    quote,
    safe_text,
)


def refusal(place, name="x", code="C204", **more):
    return Finding(code, "it is not converted", place, f"the attribute '{name}' is given", **more)


def test_a_finding_says_what_it_knows():
    assert str(Finding("G101", "a\x1b")) == "error[G101] a\\x1b"
    assert str(Finding("M101", "a", "b", "c", "d", "e")) == "error[M101] a\n  where   b, e\n  why     c\n  help    d"
    assert str(Finding("G101", "a", file="e")) == "error[G101] a\n  where   e"


def test_a_file_is_named_where_none_is():
    found = FindingList([Finding("M101", "a"), Finding("M101", "b", file="other")], 4)
    assert [each.file for each in found.in_file("f")] == ["f", "other"]
    assert found.in_file("f").omitted == 4
    assert type(ModelError(found).in_file("f")) is ModelError


def test_refusals_of_one_kind_are_one_with_the_first_places():
    found = FindingList([
        refusal("n0"), refusal("n1", "y"), Finding("M101", "a", "m0"), Finding("M101", "a", "m1"), refusal("n2", "z"),
        refusal("n3", file="f"), refusal("n4", code="C205"), refusal("n5"), refusal("n6"), refusal("n7", help="h"),
        refusal("n8", help="h"),
    ])  # fmt: skip
    assert [each.place for each in found.group_by_kind()] == [
        "n0; n1; n2; and 2 more",
        "m0",
        "m1",
        "n3",
        "n4",
        "n7; n8",
    ]
    assert found.group_by_kind()[0].why == "the attribute 'x' is given"
    assert str(ConversionError(found)).count("error[") == 6


def test_the_first_are_kept_and_of_a_further_kind_one():
    found = FindingList([refusal("n")] * KEPT)
    found += [refusal("n"), Finding("M101", "a"), refusal("n", code="C205"), refusal("n", code="C205")]
    assert (len(found), found.omitted) == (KEPT + 1, 3)
    assert found[-1].code == "C205"
    found.extend(FindingList([refusal("n")], 5))
    assert (len(found), found.omitted) == (KEPT + 1, 9)
    found += FindingList([Finding("W101", "a")] * (KEPT + 2))
    for same in (found, found.in_file("m.onnx"), pickle.loads(pickle.dumps(found))):
        assert (len(same), same.omitted, same.omitted_errors) == (KEPT + 1, 9 + KEPT + 2, 4)
    kinds = FindingList(refusal("n", help=str(number)) for number in range(2 * KEPT))
    assert (len(kinds), kinds.omitted) == (KEPT, KEPT)


def test_long_parts_are_cut():
    (found,) = FindingList([Finding("M101", "a" * MOST, "b" * (MOST + 1))])
    assert found == Finding("M101", "a" * MOST, "b" * MOST + "…")


@pytest.mark.parametrize("code", [code for code in CODES if (PAGES / f"{code}.md").is_file()])
def test_a_finding_without_help_gets_what_the_page_of_its_code_advises(code):
    found = Finding(code, "a")
    assert str(found).endswith(f"\n  help    {found.advice}") and ModelError(found).help == found.advice
    assert 5 < len(found.advice) <= 180 and not set("`\n") & set(found.advice) and found.advice[-1] not in ".:"
    assert not re.match("(the|it|this) (message|reason|help|finding|report) ", found.advice)
    assert found.help == "" and Finding(code, "a", help="b").advice == "b"


def test_an_error_says_the_first_and_counts_the_others():
    error = ModelError(FindingList([Finding("G101", f"a{number}") for number in range(SHOWN + 1)], 2))
    assert str(error).splitlines()[-2:] == [f"error[G101] a{SHOWN - 1}", "… and 3 more"]
    assert (error.code, error.message, error.omitted, len(error.findings)) == ("G101", "a0", 2, SHOWN + 1)
    assert str(ModelError(error.findings[:SHOWN])).endswith(f"a{SHOWN - 1}")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.findings, again.omitted) == (ModelError, error.findings, 2)


@pytest.mark.parametrize(("codes", "status"), [(["R101"], 1), (["R101", "R105"], 3)])
def test_a_file_of_values_that_cannot_be_read_is_an_unreadable_input(codes, status):
    assert RunError([Finding(code, "a") for code in codes]).exit_status == status


def test_texts_of_strangers_are_short_and_safe():
    assert safe_text("abc", 3) == "abc" and safe_text("abcd", 3) == "ab…" and safe_text("a\x1b", 3) == "a\\…"
    assert safe_text(b"\xff", 9) == "\\xff" and safe_text(7) == "7"
    assert listing(["a", "b", "c"]) == listing(["a", "b", "c"], 3) == "a, b, c"
    assert listing([*"abc"] * 500, 2) == "a, b and 1,498 more"
    assert listing([*"ab"] * 10) == ", ".join([*"ab"] * 10) and listing([*"ab"] * 11).endswith("b and 2 more")
    assert listing(["a\x1b"]) == "a\\x1b" and listing(["a", "b"], show=str.upper) == "A, B"
    for shown, width in ((safe_text, LONGEST), (brief_name, WIDTH)):
        assert shown("a" * width) == "a" * width and shown("a" * (width + 1)) == "a" * (width - 1) + "…"
    assert quote("a" * (WIDTH + 1)) == f"'{'a' * (WIDTH - 1)}…'" and quote(b"a\x1b") == r"'a\x1b'"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a b"), ("é", "é"), ("a\nb", r"a\nb"), ("é\u202e", r"é\u202e"), ("\ud800", r"\ud800"),
        (b"a\xff\x1b", r"a\xff\x1b"), ("é".encode(), "é"), (7, "7"), (Finding("M101", "a\nb").message, r"a\nb"),
    ],
)  # fmt: skip
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert escape_text(text) == shown


def test_limits_are_those_that_messages_have():
    assert (WIDTH, LONGEST, MOST, KEPT, SHOWN) == (200, 1000, 4096, 1000, 100)


@pytest.mark.parametrize(
    ("kind", "status"), [(ComparisonError, 3), (CorpusError, 3), (ModelError, 3), (OpsetError, 1), (RunError, 1)]
)
def test_the_exit_status_is_that_of_the_kind(kind, status):
    assert kind(Finding("B191", "a")).exit_status == status


def test_refusals_that_differ_in_names_of_values_alone_are_of_one_kind():
    one = refusal("n0", "x", help="rename 'a'")
    assert one.kind == refusal("n1", "y", help="rename 'b'").kind != ()
    others = [
        one._replace(code="C205"),
        one._replace(message="m"),
        one._replace(why="w"),
        one._replace(help="h"),
        one._replace(file="f"),
    ]
    assert len({each.kind for each in (one, *others)}) == 6
    assert Finding("M101", "a").kind == Finding("", "a").kind == ()


@pytest.mark.parametrize(
    ("kinds", "omitted", "shown", "more"),
    [(0, 0, 0, ""), (3, 0, 3, ""), (NOTEBOOK, 0, NOTEBOOK, ""), (NOTEBOOK + 2, 0, NOTEBOOK, "2"),
     (2, 1500, 2, "1,500"), (NOTEBOOK + 2, 1500, NOTEBOOK, "1,502")],
)  # fmt: skip
def test_a_notebook_shows_the_first_kinds_and_counts_the_others(kinds, omitted, shown, more):
    found = FindingList((Finding("M101", f"a<{number}") for number in range(kinds)), omitted)
    html = found._repr_html_()
    assert html.count("<pre>error[M101] a&lt;") == shown and ("<p>no findings</p>" in html) == (kinds == 0)
    assert html.endswith(f"<p>… and {more} more</p>") if more else "more" not in html
    assert Finding("M101", "a<b", help="c")._repr_html_() == "<pre>error[M101] a&lt;b\n  help    c</pre>"


def test_findings_in_a_line():
    assert repr(Finding("M101", "a\nb")) == "<Finding M101: a\\nb>"
    assert repr(Finding("M101", "a", "b", "c")) == "<Finding M101: a at b>"
    assert len(repr(Finding("M101", "a" * 999))) < WIDTH + 40
    assert repr(FindingList()) == "<FindingList of 0>"
    assert repr(FindingList([refusal("n"), Finding("M101", "a"), refusal("m")], 2000)) == (
        "<FindingList of 3 and 2,000 more: C204, M101>"
    )


def test_an_error_needs_no_page(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr("opset.advice.PAGES", tmp_path / "file")  # nothing below it can be read
    assert advice_of.__wrapped__("M101") == ""
