"""The engine of rules: what is declared once is found by type and code, in the order of modules, and streams."""

import sys
from types import ModuleType

import pytest

from opset.errors import CODES
from opset.rules import Rule, RuleTable
from opset.schemas.lint.context import LINT

FIRST, SECOND = "tests_rules_first", "tests_rules_second"


@pytest.fixture
def table(monkeypatch):
    """A table with two rules about numbers and one about texts; the second module is imported before the first."""
    rules = RuleTable("package", ("one", "two"))
    rules._modules = [FIRST, SECOND]
    for name in (SECOND, FIRST):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    def declare(module, codes, subject, check, **parts):
        check.__module__ = module
        return rules.rule(codes, subject, **parts)(check)

    declare(SECOND, "S202", int, lambda number, *more: iter([f"{number} {more}"]), applies=lambda number: number > 0)
    declare(FIRST, "S201 S203", int, lambda number, *more: (each for each in range(number)))
    declare(FIRST, "S201", str, lambda text: iter([text]))
    return rules


def test_rules_run_in_the_order_of_their_modules_and_are_selected_by_type_and_code(table):
    assert [rule.codes for rule in table.rules] == [("S201", "S203"), ("S201",), ("S202",)]
    assert [finding for _, finding in table.apply(2)] == [0, 1, "2 ()"]
    assert [(rule.code, finding) for rule, finding in table.apply(1, "a", codes={"S202"})] == [("S202", "1 ('a',)")]
    assert [finding for _, finding in table.apply(0)] == []  # the second one does not apply
    assert [finding for _, finding in table.apply(2, codes={"S203"})] == [0, 1]
    assert [finding for _, finding in table.apply("a")] == ["a"] and [*table.apply(b"a")] == []


def test_findings_stream(table):
    findings = table.apply(10**12)
    assert [next(findings)[1] for _ in range(3)] == [0, 1, 2]


def test_two_rules_about_a_type_cannot_have_one_code(table):
    with pytest.raises(ValueError, match="two rules about int have the code S203"):
        table.rule("S204 S203", int)(lambda number: iter(()))


def test_a_rule_has_the_title_of_its_code(table):
    assert table.by_code["S203"].title == CODES["S201"]

    def check(thing):
        return iter(())

    assert Rule(("it",), int, check, phrase="it is so").title == "it is so"
    rule = Rule(("it",), int, check)
    assert rule.title == ""
    assert (rule.since, rule.until, rule.optional, rule.applies(0)) == (0, None, False, True)


def test_every_code_of_lint_is_of_a_rule():
    codes = {code for rule in LINT.rules for code in rule.codes}
    assert codes == {code for code in CODES if code.startswith("S2")}


def test_two_fixes_cannot_mend_one_code(table):
    table.fix("S201")(iter)
    with pytest.raises(ValueError, match="two fixes mend S201"):
        table.fix("S200 S201")(iter)
