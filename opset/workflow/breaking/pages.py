"""The pages of breaking changes, each made from a rule and its fixture in fixtures.yaml."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path
from typing import Any

from opset.rules import Rule
from opset.schemas.yaml.reader import Findings, read
from opset.workflow.breaking.report import ERR, FORBIDDEN, INFO, NEW_OPSET, NEW_VERSION, WARN
from opset.workflow.breaking.rules import BEHAVIOUR, BREAKING, CLARIFIED

FIXTURES = Path(__file__).parent / "fixtures.yaml"
WIDTH = 118
_SEVERITIES = {ERR: "an error", WARN: "a warning", INFO: "a notice"}
_REQUIREMENTS = {
    FORBIDDEN: "The edit is forbidden, even together with a new version.",
    NEW_VERSION: "The edit needs a new version of the operator, in a new opset.",
    NEW_OPSET: "The addition needs a new opset.",
}
_RESTORE = (
    "Restore the version, and make the edit in a new version: "
    "`opset bump` adds a copy of the newest version for you to edit."
)


@cache
def fixtures() -> dict[str, dict[str, str]]:
    """Return the fixtures of all rules, by code of the rule, such as "B121".

    A fixture has the texts and examples of the rule's page. The head of fixtures.yaml describes its keys.
    """
    plain: dict[str, dict[str, str]] = read(FIXTURES.read_bytes(), Findings(str(FIXTURES))).plain()
    return plain


def page_body(code: str) -> str:
    """Return the Markdown page of the rule with this code, without its title. Raises KeyError for an unknown code."""
    rule = BREAKING.by_code[code]
    fixture = fixtures()[code]
    reported = fixture.get("reported", "").replace("{clause}", rule.clause) or _report_text(rule)
    parts = [
        _paragraph(fixture["why"]),
        _paragraph(f"`opset breaking` reports this {reported}"),
        "## Bad",
        _block(fixture["bad"]),
        "## Good",
        _block(_good_text(fixture)),
        "## What to do",
        _paragraph(fixture.get("do", _RESTORE)),
    ]
    return "\n\n".join(parts) + "\n"


def _report_text(rule: Rule[Any]) -> str:
    """Return the text that follows "`opset breaking` reports this" on a rule's page, such as "as an error. …".

    It states the severity of the rule's findings, which version an edit needs, and mostly what the standard says.
    """
    head = f"as {_SEVERITIES[rule.severity]}."
    needs = _REQUIREMENTS.get(rule.requires, "Only the number of the version must be corrected.")
    if rule.requires not in _REQUIREMENTS and rule.clause == CLARIFIED:
        return f"{head} No new version is needed, since the same nodes are valid and compute the same results."
    if rule.requires not in _REQUIREMENTS and rule.clause == BEHAVIOUR:
        needs = "The edit needs a new version only if the behavior changes."
    return f"{head} {needs} The standard says that {rule.clause}."


def _good_text(fixture: dict[str, str]) -> str:
    """Return the good example on a rule's page, as YAML; `fixture` is the rule's entry in fixtures.yaml.

    The example is the text "shown" if the fixture has no "version". Otherwise, it is the text "version", a new version
    with the change, and then the file as the diff "bad" leaves it: unchanged and added lines, without their signs.
    """
    if "version" not in fixture:
        return fixture["shown"]
    lines = fixture["bad"].splitlines()[1:]  # without the name of the file
    edited = [line[2:] for line in lines if line[0] != "-"]
    while edited[-1].endswith(":"):  # a key whose entries are the same
        edited.pop()
    return fixture["version"] + "".join(f"{'  …' if line == '…' else line}\n" for line in edited)


def _block(text: str) -> str:
    """Return text as an indented code block in Markdown."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _paragraph(text: str) -> str:
    """Return text as a paragraph of lines with at most WIDTH characters; longer words stay whole."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
