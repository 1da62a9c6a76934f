"""Every requirement of the specification has a rule or a reason, and every rule a requirement in its section."""

from opset.checker.pages import fixtures
from opset.checker.table import CHECKER
from tests.checker.requirements import GUIDE, guide, requirements, sections_of

KEYS = {"section", "word", "text"}


def of_code(code):
    return [entry for entry in requirements() if code in entry.get("codes", ())]


def test_every_requirement_has_rules_or_a_reason():
    for entry in requirements():
        assert entry.keys() - {"also"} in (KEYS | {"codes"}, KEYS | {"reason"}), entry
        assert entry.get("codes") or entry["reason"].endswith("."), entry
        assert {*entry.get("codes", ())} <= CHECKER.by_code.keys(), entry


def test_requirements_stand_once():
    texts = [entry["text"] for entry in requirements()]
    assert len(texts) == len({text.lower() for text in texts})
    for entry in requirements():
        assert len({*sections_of(entry)}) == len(sections_of(entry)), entry["text"]


def test_every_rule_enforces_a_requirement_of_its_section():
    sections = {code: {each for entry in of_code(code) for each in sections_of(entry)} for code in CHECKER.by_code}
    assert [code for code in sections if fixtures()[code]["section"] not in sections[code]] == []


def test_what_the_text_only_advises_is_a_warning():
    advice = {code for entry in requirements() if entry["word"] == "SHOULD" for code in entry.get("codes", ())}
    assert advice
    assert {code[0] for code in advice} == {"W"}


def test_the_guide_is_current():
    assert GUIDE.read_text(encoding="utf-8") == guide(), "python -m tests.checker.requirements"
