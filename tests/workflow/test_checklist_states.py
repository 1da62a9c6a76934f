"""The state of an item of the checklist, what a statement changes, and the checklist as Markdown."""

import os
from types import SimpleNamespace

import pytest

from opset.errors import UsageError
from opset.workflow.contribution.checklist import (
    ChecklistItem,
    _apply_statement,
    checks,
    markdown_lines,
    relative_place,
    state_counts,
)
from opset.workflow.contribution.reviewed_version import (
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    SECTIONS,
    STATED,
    STATEMENT,
    Evidence,
)


def item(*states, name="it", section="the proposal", help="do it"):
    evidence = [Evidence(state, f"because_{at}", f"a`b.yaml:{at}", help) for at, state in enumerate(states)]
    return ChecklistItem(name, section, f"A {name}", tuple(evidence))


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ([PASSED], PASSED),
        ([NOT_APPLICABLE, PASSED], PASSED),
        ([PASSED, STATED, NOT_APPLICABLE], STATED),
        ([STATED, OPEN, PASSED], OPEN),
        ([OPEN, MISSING, OPEN], MISSING),
    ],
)
def test_the_state_of_an_item_is_its_worst(states, state):
    assert item(*states).state == state


def test_items_are_counted_by_their_states():
    items = [item(PASSED), item(PASSED, OPEN), item(NOT_APPLICABLE), item(PASSED)]
    assert state_counts(items) == {MISSING: 0, OPEN: 1, STATED: 0, PASSED: 2, NOT_APPLICABLE: 1}


def test_items_are_in_the_order_of_the_sections():
    sections = [SECTIONS.index(each.clause) for each in checks()]
    assert sections == sorted(sections) and {*sections} == {*range(len(SECTIONS))}


@pytest.mark.parametrize(
    ("state", "requires", "after"),
    [
        (MISSING, STATEMENT, STATED),
        (MISSING, "", None),
        (OPEN, "", STATED),
        (OPEN, STATEMENT, STATED),
        (PASSED, STATEMENT, PASSED),
        (NOT_APPLICABLE, "", NOT_APPLICABLE),
    ],
)
def test_what_a_statement_changes(state, requires, after):
    rule = SimpleNamespace(code="empty", requires=requires)
    before = Evidence(state, "no example", "A.yaml:1:1", "add one")
    if after is None:
        with pytest.raises(UsageError) as raised:
            _apply_statement(rule, before, "there can be none")
        (finding,) = raised.value.findings
        assert tuple(finding)[:5] == (
            "U103", "the point empty cannot be stated", "A.yaml:1:1", "no example", "add one"
        )  # fmt: skip
        return
    stated = Evidence(STATED, "there can be none", "A.yaml:1:1", "")
    assert _apply_statement(rule, before, "there can be none") == (stated if after == STATED else before)


def test_places_are_relative_to_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    assert relative_place(f"{os.getcwd()}/a/b.yaml:3:5") == "a/b.yaml:3:5"
    outside = f"{tmp_path}/b.yaml:3:5"
    assert [relative_place(each) for each in (outside, "c.yaml:3", "", f"{os.getcwd()}/a")] == [
        outside, "c.yaml:3", "", "a"
    ]  # fmt: skip


def test_the_checklist_as_markdown():
    version = SimpleNamespace(title="com.acme.Thin", since=2)
    items = [
        item(PASSED, name="one"),
        item(PASSED, OPEN, name="two"),
        item(NOT_APPLICABLE, name="three"),
        item(STATED, name="four", section="tests"),
        item(MISSING, name="five", section="tests", help=""),
        item(NOT_APPLICABLE, name="six", section="tests"),
    ]
    assert [*markdown_lines(version, items)] == [
        "## `com.acme.Thin` 2", "", "### The proposal", "",
        f"- [x] A one (`one`): {PASSED}",
        "  - because\\_0 (`a'b.yaml:0`)",
        f"- [ ] A two (`two`): {OPEN}",
        "  - because\\_0 (`a'b.yaml:0`)",
        "  - because\\_1 (`a'b.yaml:1`). To do: do it",
        "", "### Tests", "",
        f"- [x] A four (`four`): {STATED}",
        "  - because\\_0 (`a'b.yaml:0`)",
        f"- [ ] A five (`five`): {MISSING}",
        "  - because\\_0 (`a'b.yaml:0`)",
        "", "Not applicable: three, six.",
    ]  # fmt: skip
    assert [*markdown_lines(version, items[:1])][-1] == "  - because\\_0 (`a'b.yaml:0`)"
