"""Lint rules about the status of special cases and examples: stated, derived or chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opset.errors import Finding
from opset.schemas.lint.context import LINT, LintContext
from opset.schemas.status import CLAUSE, clause_fault, is_open
from opset.schemas.yaml.loader import MAX_VERSION, Operator
from opset.schemas.yaml.reader import YamlNode


class _GroundedText(NamedTuple):
    """The text of a special case or example, its status, and the newest version whose text may state it."""

    node: YamlNode
    text: str
    stated: str
    chosen: str
    newest: int


@LINT.rule("S242", Operator)
def check_chosen(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S242 for each special case or example whose text says that the standard leaves a result open.

    One with the key `chosen` is no finding. The text says this by words such as "undefined".
    """
    for each in _grounded_texts(operator):
        if is_open(each.text) and not each.chosen:
            help = "add 'chosen', with what is open, or say it in another way"
            message = "a result that the standard leaves open is not marked as chosen"
            yield Finding("S242", message, operator.place_of(each.node), f"it says: {each.text}", help)


@LINT.rule("S243", Operator)
def check_clauses(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S243 for each text at the key `stated` that names no clause of the standard, or one too new.

    A clause is a version with a part of its text, such as "13 attribute axis", or a document with a section, which is
    not looked up. The newest version that may be cited is the version `since` of an example, and `until` of a special
    case; without `until`, any version may be cited. If not all versions of the operator were read, a clause of a
    missing version is accepted.
    """
    for each in _grounded_texts(operator):
        if each.stated and (why := clause_fault(each.stated, operator.schemas, each.newest, operator.whole)):
            place = operator.place_of(each.node)
            yield Finding("S243", f"'{each.stated}' is no clause", place, why, f"write {CLAUSE}")


def _grounded_texts(operator: Operator) -> Iterator[_GroundedText]:
    """Yield the text of each special case and each example, with what its YAML keys `stated` and `chosen` hold.

    `stated` is the clause of the standard that states the result; `chosen` says what the standard leaves open. A key
    that is absent is "". If the examples have faults, all examples are skipped.
    """
    for node in _list_of(operator.root, "special_cases"):
        fields = node.value if isinstance(node.value, dict) else {"text": node}
        until = fields["until"].value if "until" in fields else None
        values = [fields[key].value if key in fields else "" for key in ("text", "stated", "chosen")]
        text, stated, chosen = (value if isinstance(value, str) else "" for value in values)
        yield _GroundedText(node, text, stated, chosen, until if isinstance(until, int) else MAX_VERSION)
    nodes = _list_of(operator.root, "examples") if operator.examples_read else ()
    for node, example in zip(nodes, operator.examples, strict=False):
        yield _GroundedText(node, example.doc, example.stated, example.chosen, example.since)


def _list_of(node: YamlNode, key: str) -> list[YamlNode]:
    """Return the items of the YAML list at a key, [] if there is none."""
    found = node.value.get(key)
    return found.value if found is not None and isinstance(found.value, list) else []
