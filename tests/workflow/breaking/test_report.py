"""What the report on a comparison says of given findings: counts, verdict, order, text and Markdown."""

import pytest

from opset.workflow.breaking.report import (
    ERR,
    FORBIDDEN,
    INFO,
    NEW_OPSET,
    NEW_VERSION,
    NONE,
    SHOWN,
    WARN,
    Break,
    ComparisonReport,
    group_findings,
    markdown_lines,
    sort_findings,
    text_lines,
)

BREAK = Break("B125", ERR, NEW_VERSION, "", "Scale", 3, "it\x1b changed", "a|b.yaml:3", "it is so", "restore it")
WARNED = Break("B162", WARN, NONE, "com.acme", "", 0, "so", help="look")
NOTICE = Break("B105", INFO, NEW_OPSET, "com.acme", "Wide", 2, "came", "c.yaml", "w", "h")
APPROVED = BREAK._replace(rule="B126", approved="we know", requires=FORBIDDEN)


def report(*findings, notes=()):
    return ComparisonReport("old beside new", 3, 4, findings, notes)


@pytest.mark.parametrize(
    ("findings", "requires", "statuses", "summary", "counts"),
    [
        ((), NONE, (0, 0), "no breaks, no warnings, no notices", (0, 0, 0, 0)),
        ((NOTICE,), NEW_OPSET, (0, 0), "no breaks, no warnings, 1 notice", (0, 0, 1, 0)),
        ((WARNED, WARNED, NOTICE, NOTICE), NEW_OPSET, (0, 1), "no breaks, 2 warnings, 2 notices", (0, 2, 2, 0)),
        ((BREAK, WARNED), NEW_VERSION, (1, 1), "1 break, 1 warning, no notices", (1, 1, 0, 0)),
        ((APPROVED,), FORBIDDEN, (0, 0), "no breaks, no warnings, no notices, 1 approved", (0, 0, 0, 1)),
        ((APPROVED, WARNED._replace(approved="so")), FORBIDDEN, (0, 0),
         "no breaks, no warnings, no notices, 2 approved", (0, 0, 0, 2)),
    ],
)  # fmt: skip
def test_the_verdict(findings, requires, statuses, summary, counts):
    made = report(*findings)
    assert (made.status(), made.status(strict=True)) == statuses
    assert (made.requires, made.summary()) == (requires, f"old beside new: {summary}")
    assert made.counts() == dict(zip((ERR, WARN, INFO, "approved"), counts, strict=True))
    for strict, status in zip((False, True), statuses, strict=True):
        data = made.data(strict)
        assert data["clean"] == (not status) and data["requires"] == requires and data["counts"] == made.counts()
        assert (data["compared"], data["operators"], data["versions"]) == ("old beside new", 3, 4)
        assert [each["domain"] for each in data["findings"]] == [each.domain or "ai.onnx" for each in findings]


def test_findings_are_in_the_order_of_gravity_operator_version_and_rule():
    other = BREAK._replace(rule="B100")
    older, first = BREAK._replace(version=1, rule="B199"), BREAK._replace(operator="Abs", rule="B198")
    every = [NOTICE, WARNED, BREAK, other, older, first, BREAK, NOTICE]
    assert sort_findings(every) == (first, older, other, BREAK, WARNED, NOTICE)


def test_findings_that_differ_in_the_version_alone_are_one():
    older = BREAK._replace(version=1, place="other", help="another")
    other = BREAK._replace(version=5, message="else")
    assert group_findings([BREAK, other, older, WARNED]) == [
        (BREAK, "ai.onnx.Scale 3, 1"),
        (other, "ai.onnx.Scale 5"),
        (WARNED, "com.acme"),
    ]


def test_text():
    def style(text, kind):
        return f"<{kind}>{text}</>"

    assert text_lines(report(BREAK, APPROVED, WARNED, NOTICE, notes=("n\x1b",)), style) == [
        "<ERR>error[B125]</> ai.onnx.Scale 3: it\\x1b changed",
        "  where   a|b.yaml:3",
        "  needs   new version",
        "  why     it is so",
        "  help    restore it",
        "<approved>approved[B126]</> ai.onnx.Scale 3: it\\x1b changed",
        "  where   a|b.yaml:3",
        "  reason  we know",
        "<WARN>warning[B162]</> com.acme: so",
        "  help    look",
        "<INFO>notice[B105]</> com.acme.Wide 2: came",
        "more: opset explain B125 B126 B162",
        "note: n\\x1b",
        "old beside new: 1 break, 1 warning, 1 notice, 1 approved",
    ]
    assert text_lines(report(NOTICE))[-1:] == ["old beside new: no breaks, no warnings, 1 notice"]
    assert "more" not in "".join(text_lines(report(NOTICE)))


def test_markdown():
    head = ["| | rule | operator | what changed | requires | where |", "|---|---|---|---|---|---|"]
    breaks = "### Breaking: old beside new: 1 break, 1 warning, no notices, 1 approved"
    assert markdown_lines(report(BREAK, APPROVED, WARNED, notes=("a*b", "c"))) == [
        breaks, "", "a&#42;b", "", "c", "", *head,
        "| error | B125 | ai.onnx.Scale 3 | it\\x1b changed | new version | a&#124;b.yaml:3 |".replace("\\", "&#92;"),
        "| approved: we know | B126 | ai.onnx.Scale 3 | it\\x1b changed | forbidden | a&#124;b.yaml:3 |".replace(
            "\\", "&#92;"),
        "| warning | B162 | com.acme | so | none |  |",
        "", "What mends it:", "", "- restore it",
    ]  # fmt: skip
    (first, *_), (strict, *_) = markdown_lines(report(WARNED)), markdown_lines(report(WARNED), strict=True)
    assert first.startswith("### Clean: ") and strict.startswith("### Breaking: ")
    assert markdown_lines(report()) == ["### Clean: old beside new: no breaks, no warnings, no notices", ""]
    helpless = BREAK._replace(help="")
    assert markdown_lines(report(helpless))[-1].startswith("| error |")
    assert markdown_lines(report(helpless, BREAK._replace(version=4), BREAK))[-3:] == [
        "What mends it:",
        "",
        "- restore it",
    ]
    long = markdown_lines(report(BREAK._replace(message="x" * 1001)))[4]
    assert f"| {'x' * 999}… |" in long
    assert f"| {'x' * 1000} |" in markdown_lines(report(BREAK._replace(message="x" * 1000)))[4]


def test_the_first_of_many_are_shown():
    many = [BREAK._replace(message=f"m{number}", rule=f"B{number}", help=f"h{number}") for number in range(1200)]
    lines = text_lines(report(*many, NOTICE))
    assert lines[5 * SHOWN : 5 * SHOWN + 2] == [
        f"… and {1200 - SHOWN:,} more errors; --format json has all",
        "notice[B105] com.acme.Wide 2: came",
    ]
    assert lines[-2] == f"more: opset explain {' '.join(f'B{number}' for number in range(10))}"
    assert not any("…" in each for each in text_lines(report(*many[:SHOWN])))
    marked = markdown_lines(report(*many))
    assert marked[4 + SHOWN : 4 + SHOWN + 2] == ["", f"… and {1200 - SHOWN:,} more."]
    assert marked[-1] == f"- h{SHOWN - 1}" and marked[-SHOWN - 2 : -SHOWN] == ["What mends it:", ""]
    assert not any("…" in each for each in markdown_lines(report(*many[:SHOWN])))
