"""Mistakes that happened to the standard and to onnxruntime's own domain: each is caught by the rule that is named.

`mistakes/<name>` has the state before and after as small operators of the same form; docs/past-mistakes.md says what
happened, and where.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opset.opsets.registry import registry_with
from opset.workflow.breaking import compare
from opset.workflow.breaking.states import folder_state
from opset.workflow.examples.examination import examine
from tests.schemas.linting import lint

FOLDER = Path(__file__).parent / "mistakes"
PAGE = Path(__file__).parents[2] / "docs" / "past-mistakes.md"
ROW = re.compile(r"\| (?P<what>[^|]+) \| (?P<where>[^|]+) \| `(?P<code>[BST]\d+)`[^|]* \| `(?P<name>\w+)` \|")
MISTAKES = {found["name"]: found["code"] for found in map(ROW.fullmatch, PAGE.read_text().splitlines()) if found}


def test_every_mistake_is_told_and_links_to_where_it_was() -> None:
    assert MISTAKES.keys() == {each.name for each in FOLDER.iterdir()}
    assert len(MISTAKES) >= 12
    rows = [found for found in map(ROW.fullmatch, PAGE.read_text().splitlines()) if found]
    assert all("](https://github.com/" in row["where"] for row in rows)


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_the_mistake_is_caught(name: str) -> None:
    before, after = (_codes(name, side, MISTAKES[name]) for side in ("old", "new"))
    assert MISTAKES[name] in after
    assert MISTAKES[name] not in before


def _codes(name: str, side: str, code: str) -> set[str]:
    """Return what the tool of a code reports of one state; what is compared with the older one, from a warning on."""
    folder = FOLDER / name / side
    if code[0] == "B":
        old, registry = folder_state(FOLDER / name / "old", "before"), registry_with([folder])
        report = compare(old, folder_state(folder, side), registry=registry if code == "B189" else None)
        return {each.rule for each in report.findings if each.severity != "INFO"}
    if code[0] == "S":
        return {each.code for each in lint([folder], written=())}
    registry = registry_with([folder])
    files = folder.glob("com.example/[A-Z]*.yaml")
    schemas = [schema for path in files for schema in registry.versions(path.stem, "com.example")]
    return {each.code for each in examine(registry, schemas).findings}
