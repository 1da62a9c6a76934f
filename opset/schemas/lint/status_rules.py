"""Lint rules about how certain special cases and examples are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from opset.errors import Finding
from opset.schemas.lint.context import LintContext, Rule
from opset.schemas.status import CLAUSE, is_open, misnamed_clause
from opset.schemas.yaml.loader import MAX_VERSION, Operator
from opset.schemas.yaml.reader import YamlNode


class _Grounded(NamedTuple):
    """A special case or an example as it is written, and the newest version whose text may state it."""

    node: YamlNode
    text: str
    stated: str
    chosen: str
    newest: int


def openness_chosen(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """What says that the standard leaves something open is chosen (S242)."""
    for each in _grounds(operator):
        if is_open(each.text) and not each.chosen:
            help = "add 'chosen', with what is open, or say it in another way"
            message = "a result that the standard leaves open is not marked as chosen"
            yield Finding("S242", message, _place(operator, each), f"it says: {each.text}", help)


def clauses_named(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """A clause names a section of a document, or a part of a version that is not newer than what it states (S243).

    What an example states is proved from its first version on; a special case may say in the words of its last one
    what holds for all of them.
    """
    for each in _grounds(operator):
        if each.stated and (why := misnamed_clause(each.stated, operator.schemas, each.newest, operator.whole)):
            yield Finding("S243", f"'{each.stated}' is no clause", _place(operator, each), why, f"write {CLAUSE}")


def _place(operator: Operator, each: _Grounded) -> str:
    return f"{operator.path}:{each.node.line}:{each.node.column}"


def _grounds(operator: Operator) -> Iterator[_Grounded]:
    for node in _items(operator.root, "special_cases"):
        fields = node.value if isinstance(node.value, dict) else {"text": node}
        until = fields["until"].value if "until" in fields else None
        newest = until if isinstance(until, int) else MAX_VERSION
        yield _Grounded(node, _text(fields, "text"), _text(fields, "stated"), _text(fields, "chosen"), newest)
    nodes = _items(operator.root, "examples") if operator.examples_read else ()
    for node, example in zip(nodes, operator.examples, strict=False):
        yield _Grounded(node, example.doc, example.stated, example.chosen, example.since)


def _items(node: YamlNode, key: str) -> list[YamlNode]:
    found = node.value.get(key)
    return found.value if found is not None and isinstance(found.value, list) else []


def _text(fields: Mapping[str, YamlNode], key: str) -> str:
    found = fields.get(key)
    return found.value if found is not None and isinstance(found.value, str) else ""


STATUS_RULES: tuple[Rule, ...] = (openness_chosen, clauses_named)
