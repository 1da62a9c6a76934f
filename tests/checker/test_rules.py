"""Every rule of the checker finds its bad example, and nothing in its good one."""

import pytest

import opset
from opset.checker.pages import bad_model, fixtures, good_model, page_body, section_of
from opset.checker.table import CHECKER
from opset.errors import CODES

RULES = CHECKER.by_code


def codes_of(model, code):
    found = opset.check(model)
    if RULES[code].optional:
        found += opset.check(model, select=[code])
    assert all(each.help and each.help != each.why for each in found if each.code[0] in "GW" or each.code == "I101")
    return {each.code for each in found}


def test_every_code_has_a_rule_and_a_fixture():
    assert sorted(fixtures()) == sorted(RULES)
    assert {code for code in CODES if code[0] in "GW"} <= {*RULES}


@pytest.mark.parametrize("code", sorted(code for code in RULES if "unseen" not in fixtures()[code]))
def test_a_rule_finds_its_bad_example_and_nothing_in_its_good_one(code):
    fixture, rule = fixtures()[code], RULES[code]
    assert ("warning" if code[0] == "W" else "error") == rule.severity
    assert codes_of(good_model(code).SerializeToString(), code) == set()
    assert codes_of(bad_model(code), code) == {code, *fixture.get("also", ())}


def test_the_page_of_every_rule_has_its_section_and_its_models():
    for code in sorted(code for code, fixture in fixtures().items() if "why" in fixture):
        page, fixture = page_body(code), fixtures()[code]
        assert f"Source: {section_of(code)}." in " ".join(page.split()), code
        assert all(f"    {line}".rstrip() in page for line in fixture["good"].splitlines()), code
        assert all(f"    {path}: " in page for path in fixture.get("add", {})), code
