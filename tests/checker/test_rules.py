"""Every rule of the checker finds its bad example, and nothing in its good one."""

import pytest

import opset
from opset.checker.checking import select_codes
from opset.checker.pages import bad_model, fixtures, good_model, page_body, section_of
from opset.checker.table import CHECKER
from opset.errors import CODES, UsageError

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


@pytest.mark.parametrize(
    ("text", "help"),
    [("G30I", "did you mean G30"), ("", "codes, or their beginnings: G, G3, W203"),
     ("nothing like it", "codes, or their beginnings: G, G3, W203")],
)  # fmt: skip
def test_a_code_that_no_rule_has_is_refused(text, help):
    for options in ({"select": [text]}, {"ignore": [text]}, {"select": ["G"], "ignore": ["W", text]}):
        with pytest.raises(UsageError) as caught:
            select_codes(**options)
        (finding,) = caught.value.findings
        assert (finding.code, finding.message) == ("U103", f"no rule of the checker has the code {text!r}")
        assert finding.help.startswith(help)


def test_codes_are_chosen_by_their_beginnings():
    codes = CHECKER.by_code
    optional = {code for code, rule in codes.items() if rule.optional}
    assert select_codes("G301") == {"G301"} and "G301" not in select_codes((), "G301")
    assert optional and select_codes() == codes.keys() - optional
    assert select_codes(["g3", "W203"]) == {code for code in codes if code.startswith("G3")} | {"W203"}
    assert select_codes(["G", "W"], ["G3", "w"]) == {code for code in codes if code[0] == "G" and code[:2] != "G3"}
    assert select_codes(optional) == optional
