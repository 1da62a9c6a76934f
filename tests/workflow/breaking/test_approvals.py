"""Approved breaks: what an entry needs, what it approves, and what is said of one that is of no use."""

import datetime

import pytest

from opset.errors import ComparisonError
from opset.workflow.breaking import approvals
from opset.workflow.breaking.approvals import KEYS, WHY, approve, read_approvals
from opset.workflow.breaking.report import Break, ComparisonReport

ENTRY = {
    "rule": "B125",
    "operator": "com.acme.Thin",
    "versions": "[1, 2]",
    "message": "it changed",
    "reason": "nobody",
    "until": "2027-03-31",
}
UNTIL = datetime.date(2027, 3, 31)


def read(path, *entries):
    path.write_text("".join(f"- {{{', '.join(f'{key}: {text}' for key, text in each.items())}}}\n" for each in entries))
    return read_approvals(path)


def without(*keys, **more):
    return {**{key: text for key, text in ENTRY.items() if key not in keys}, **more}


@pytest.mark.parametrize(
    ("entry", "message", "at", "help"),
    [
        (without(rule="B999"), "there is no rule 'B999'", "B999", ""),
        (without("rule"), "the key 'rule' is missing", "{", ""),
        (without(until="2027-02-30"), "'until' is no day", "2027-02-30", "write 2027-03-31"),
        (without(until="2027-3-31"), "'until' is no day", "2027-3-31", "write 2027-03-31"),
        (without(until="'20270331'"), "'until' is no day", "'20270331'", "write 2027-03-31"),
        (without(until="20270331"), "'until' is no day", "20270331", "write 2027-03-31"),
        (without("until"), "the key 'until' is missing", "{", ""),
        (without(reason="''"), "the reason is empty", "''", ""),
        (without("reason"), "the key 'reason' is missing", "{", ""),
        (without(message="''"), "the text must not be empty", "''", ""),
        (without("message"), "the key 'message' is missing", "{", ""),
        (without(versions="[1, 0]"), "a number from 1 to 2147483647 has to stand here", "0]", ""),
        (without(domain="com.acme"), "one of 'operator' and 'domain' is needed", "{", ""),
        (without("operator"), "one of 'operator' and 'domain' is needed", "{", ""),
        (without(more="1"), "the key 'more' is not known here", "more: ", ""),
    ],
)
def test_an_entry_that_is_not_complete_approves_nothing(tmp_path, entry, message, at, help):
    path = tmp_path / "approved.yaml"
    found, faults = read(path, entry, ENTRY)
    assert [each.place for each in found] == [f"{path}:2:3"]
    (fault,) = (each for each in faults if each.message == message)
    place = f"{path}:1:{path.read_text().index(at) + 1}"
    help = help or f"an entry has {', '.join(KEYS)}"
    assert fault == Break("B186", "ERR", "none", "approved.yaml", "", 0, message, place, WHY, help)


def test_an_entry_that_is_complete(tmp_path):
    path = tmp_path / "approved.yaml"
    ((thin, domain), faults) = read(path, ENTRY, without("operator", "versions", domain="com.acme"))
    assert faults == []
    assert thin == ("B125", "com.acme.Thin", (1, 2), "it changed", "nobody", UNTIL, f"{path}:1:3", False)
    assert domain == ("B125", "com.acme", (), "it changed", "nobody", UNTIL, f"{path}:2:3", True)


def test_what_is_no_list_of_entries_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "approved.yaml"
    assert read_approvals(path) == read_approvals(path / "none") == ([], [])
    path.write_text("- 3\n")
    found, (fault,) = read_approvals(path)
    assert (found, fault.message, fault.place) == ([], "a mapping has to stand here", f"{path}:1:3")
    monkeypatch.setattr(approvals, "MAX_ENTRIES", 2)
    assert len(read(path, ENTRY, ENTRY)[0]) == 2
    too_many = "- {}\n" * 3
    for text, why in (("rule: B125\n", "it is no list of at most 2 entries"), (too_many, "it is no list of at most 2")):
        path.write_text(text)
        with pytest.raises(ComparisonError) as caught:
            read_approvals(path)
        head, found = caught.value.findings
        message = "the list of approved findings cannot be read"
        assert (head.code, head.message, head.place) == ("B194", message, str(path))
        assert head.help == "nothing was compared" and found.message.startswith(why) and found.place == str(path)
    monkeypatch.setattr(approvals, "MAX_SIZE", 8)
    for why in ("it has 15 bytes, and at most 8 are read", "Is a directory"):
        if why == "Is a directory":
            path.unlink()
            path.mkdir()
        with pytest.raises(ComparisonError) as caught:
            read_approvals(path)
        assert [each.message for each in caught.value.findings] == [message, why]


BREAK = Break("B125", "ERR", "new version", "com.acme", "Thin", 1, "it changed")


@pytest.mark.parametrize(
    ("found", "approved"),
    [
        (BREAK, True),
        (BREAK._replace(version=2), True),
        (BREAK._replace(version=3), False),
        (BREAK._replace(rule="B126"), False),
        (BREAK._replace(operator="Thick"), False),
        (BREAK._replace(domain="com.example"), False),
        (BREAK._replace(message="it changed more"), False),
        (BREAK._replace(severity="WARN"), True),
        (BREAK._replace(severity="INFO"), False),
        (BREAK._replace(operator="", version=0), True),
        (BREAK._replace(operator=""), False),
        (BREAK._replace(operator="", version=0, domain=""), False),
        (BREAK._replace(domain="com", operator="acme", version=0), False),
    ],
)
def test_an_entry_approves_what_it_names_word_for_word(tmp_path, found, approved):
    entries, _ = read(tmp_path / "approved.yaml", ENTRY, without("operator", "versions", domain="com.acme"))
    report = approve(ComparisonReport("both", 1, 1, (found,)), entries, (), UNTIL)
    assert [each.approved for each in report.findings if each.rule == found.rule] == [
        "nobody (until 2027-03-31)" if approved else ""
    ]
    unused = [each for each in report.findings if each.rule == "B188"]
    assert len(unused) == 2 - approved and not {each.severity for each in unused} - {"WARN"}


def test_what_was_approved_before_stays_so(tmp_path):
    before = BREAK._replace(approved="before")
    entries, _ = read(tmp_path / "approved.yaml", ENTRY)
    for given, reason in (((), "before"), (entries, "nobody (until 2027-03-31)")):
        (found,) = approve(ComparisonReport("both", 1, 1, (before,)), given, (), UNTIL).findings
        assert found.approved == reason


def test_an_entry_that_is_of_no_use_is_reported(tmp_path):
    path = tmp_path / "approved.yaml"
    old = {**ENTRY, "until": "2026-12-31", "reason": "once"}
    other = without("operator", "versions", domain="ai.onnx", until="2020-01-01")
    entries, _ = read(path, old, ENTRY, {**ENTRY, "versions": "[3]"}, other)
    fault = Break("B186", "ERR", "none", "approved.yaml", "", 0, "it is not complete")
    report = approve(ComparisonReport("both", 1, 1, (BREAK,)), entries, [fault], UNTIL)
    ended, unused = "the approval ended on 2026-12-31", "the approval of B125 matches no finding"
    words = "remove the entry, or copy the message of the finding into it"
    assert set(report.findings) == {
        fault,
        BREAK._replace(approved="nobody (until 2027-03-31)"),
        Break(
            "B187",
            "ERR",
            "none",
            "com.acme",
            "Thin",
            1,
            ended,
            f"{path}:1:3",
            WHY,
            "remove the cause, or set a later day in 'until'",
        ),
        Break("B188", "WARN", "none", "com.acme", "Thin", 3, unused, f"{path}:3:3", WHY, words),
        Break("B188", "WARN", "none", "", "", 0, unused, f"{path}:4:3", WHY, words),
    }
    late = approve(ComparisonReport("both", 1, 1, (BREAK,)), entries[:2], (), UNTIL + datetime.timedelta(1))
    assert [each.rule for each in late.findings] == ["B125", "B187", "B187"] and not late.findings[0].approved
