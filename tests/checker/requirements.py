"""What the specification requires, with the rules and tests that enforce it, as the guide specification-rules.md.

    python -m tests.checker.requirements      # writes docs/specification-rules.md; read the difference

It is made of opset/checker/requirements.yaml, fixtures.yaml and the table of rules.
"""

from functools import cache
from pathlib import Path

from opset.checker.pages import DOCUMENTS, FIXTURES, fixtures
from opset.checker.table import CHECKER
from opset.errors import CODES
from opset.schemas.yaml.reader import Findings, read

REQUIREMENTS = FIXTURES.with_name("requirements.yaml")
GUIDE = Path(__file__).parents[2] / "docs" / "specification-rules.md"
RULES = CHECKER.by_code
NAMES = {**DOCUMENTS, "onnx.proto": "the comments of onnx.proto"}
STRICT = ("must", "must not", "may not", "only")

HEAD = """\
# Rules of the specification

What the specification of ONNX models requires, with the rules of `opset check` that enforce it, or the reason why none
can hold.

Requirements are in our words, each once, in the order of the texts; the early IR specification has those in which the
current one differs. *Word* is how a text says it: in capitals as RFC 2119 defines it, else a plain word, and "is" for a
plain statement that a file can contradict. A rule with a code W… is a warning, any other an error; *selected* is one
that runs only if it is selected, `opset check --select CODE`.

| document | requirements | "must" or like it | of these with a rule | with a reason |
|---|---|---|---|---|
"""
TESTS = """\
## Rules and tests

`opset explain CODE` shows the page of a rule, with a model that breaks it and one that does not. These are its test, a
case of `test_rules.py`: no rule finds anything in the one, and this one finds something in the other.

| code | finding | severity | section | test |
|---|---|---|---|---|
"""


@cache
def requirements():
    """The entries of requirements.yaml; its head describes their keys."""
    return read(REQUIREMENTS.read_bytes(), Findings(str(REQUIREMENTS))).plain()


def sections_of(entry):
    """The sections that say a requirement."""
    return [entry["section"], *entry.get("also", ())]


def severity_of(code):
    rule = RULES[code]
    return f"{rule.severity}, selected" if rule.optional else rule.severity


def rules_of(entry):
    """The rules of a requirement, or the reason why there is none."""
    optional = {code for code, rule in RULES.items() if rule.optional}
    codes = [f"{code} (selected)" if code in optional else code for code in entry.get("codes", ())]
    return ", ".join(codes) or f"none: {entry['reason']}"


def test_of(code):
    """The name of a rule's test, or the reason why it has none."""
    return fixtures()[code].get("unseen") or f"test_rules.py[{code}]"


def guide():
    """The text of docs/specification-rules.md."""
    groups = {}
    for entry in requirements():
        groups.setdefault(entry["section"].partition(", ")[0], []).append(entry)
    counts, tables = "", ""
    for document, entries in groups.items():
        name = NAMES[document]
        strict = [each for each in entries if each["word"].lower() in STRICT]
        ruled = sum("codes" in each for each in strict)
        counts += f"| {name} | {len(entries)} | {len(strict)} | {ruled} | {len(strict) - ruled} |\n"
        tables += f"\n## {name[0].upper()}{name[1:]}\n\n| section | requirement | word | rules |\n|---|---|---|---|\n"
        for each in entries:
            section = each["section"].partition(", ")[2]
            tables += f"| {section} | {each['text']} | {each['word']} | {rules_of(each)} |\n"
    rows = [
        f"| {code} | {CODES[code]} | {severity_of(code)} | {fixtures()[code]['section']} | {test_of(code)} |\n"
        for code in sorted(RULES)
    ]
    return f"{HEAD}{counts}{tables}\n{TESTS}{''.join(rows)}"


if __name__ == "__main__":
    GUIDE.write_text(guide(), encoding="utf-8")
    print(f"{len(requirements())} requirements, {len(RULES)} codes")
