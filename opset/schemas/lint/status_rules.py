"""Lint rules about how certain special cases and examples are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opset.errors import Finding
from opset.schemas.lint.context import LintContext, Rule
from opset.schemas.status import CLAUSE, is_open, misnamed_clause
from opset.schemas.yaml.loader import Operator
from opset.schemas.yaml.reader import YamlNode


class _Grounded(NamedTuple):
    """A special case or an example as it is written, and the first version that it is written for."""

    node: YamlNode
    text: str
    stated: str
    chosen: str
    since: int


def openness_chosen(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """What says that the standard leaves something open is chosen (S242)."""
    for each in _grounds(operator):
        if is_open(each.text) and not each.chosen:
            help = "add 'chosen', with what is open, or say it in another way"
            message = "a result that the standard leaves open is not marked as chosen"
            yield Finding("S242", message, _place(operator, each), f"it says: {each.text}", help)


def clauses_named(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """A clause names a section of a document, or a part of a version that is not newer than what it states (S243)."""
    for each in _grounds(operator):
        if each.stated and (why := misnamed_clause(each.stated, operator.schemas, each.since)):
            yield Finding("S243", f"'{each.stated}' is no clause", _place(operator, each), why, f"write {CLAUSE}")


def _place(operator: Operator, each: _Grounded) -> str:
    return f"{operator.path}:{each.node.line}:{each.node.column}"


def _grounds(operator: Operator) -> Iterator[_Grounded]:
    fields = operator.root.value
    for version in fields["versions"].value:
        for node in _items(version, "special_cases"):
            text = _text(node, "text") if isinstance(node.value, dict) else str(node.value)
            yield _Grounded(node, text, _text(node, "stated"), _text(node, "chosen"), _since(version))
    for node in _items(operator.root, "examples") if operator.examples_read else ():
        yield _Grounded(node, _text(node, "doc"), _text(node, "stated"), _text(node, "chosen"), _since(node))


def _since(node: YamlNode) -> int:
    since: int = node.value["since"].value
    return since


def _items(node: YamlNode, key: str) -> list[YamlNode]:
    found = node.value.get(key)
    return found.value if found is not None and isinstance(found.value, list) else []


def _text(node: YamlNode, key: str) -> str:
    found = node.value.get(key) if isinstance(node.value, dict) else None
    return found.value if found is not None and isinstance(found.value, str) else ""


STATUS_RULES: tuple[Rule, ...] = (openness_chosen, clauses_named)
