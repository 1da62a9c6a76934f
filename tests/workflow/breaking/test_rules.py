"""Every rule on every pair: the findings are those of findings.txt, and the pages show pairs that their rules find."""

from dataclasses import replace

import pytest

from opset.errors import CODES
from opset.opsets.releases import release
from opset.workflow.breaking import RULES, compare
from opset.workflow.breaking.report import REQUIREMENTS, SEVERITIES
from opset.workflow.breaking.rules import CLAUSES
from opset.workflow.breaking.states import release_state, standard_state
from tests.workflow.breaking import golden


def test_the_findings_of_every_rule_on_every_pair():
    # After a change of rules, python -m tests.workflow.breaking.golden writes the file: read the difference.
    assert golden.findings() == golden.FINDINGS.read_text(encoding="utf-8")


def test_every_rule_has_a_pair_and_every_pair_a_rule():
    assert sorted(path.name for path in golden.FIXTURES.iterdir()) == sorted(RULES)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_finds_its_own_pair(rule):
    each = RULES[rule]
    found = [one for one in golden.report(rule, "new").findings if one.rule == rule]
    assert found
    assert all(one.place or not one.operator or rule == "B102" for one in found)
    assert all(one.help for one in found if one.severity == "ERR")
    assert (each.clause in CLAUSES, each.severity in SEVERITIES, each.requires in REQUIREMENTS) == (True, True, True)
    if (golden.FIXTURES / rule / "good").is_dir():
        assert not golden.report(rule, "good").breaks
    assert CODES[rule] == each.title


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_bad_example_of_a_page_is_the_pair_of_its_rule(rule):
    page = (golden.PAGES / f"{rule}.md").read_text(encoding="utf-8")
    assert golden.with_difference(rule, page) == page


def test_the_guide_has_the_rules_of_the_code():
    guide = golden.GUIDE.read_text(encoding="utf-8")
    assert golden.table() in guide
    assert golden.with_table(guide) == guide


def test_beside_a_release_the_lock_shows_edits_of_released_versions():
    """A release has the versions that the files have today, so that both states have the edit."""
    present = standard_state()
    relu = present.operators["", "Relu"]
    widened = replace(relu.versions[14].schema, types={"T": (*relu.versions[14].schema.types["T"], "tensor(bool)")})
    edited = replace(relu, versions={**relu.versions, 14: replace(relu.versions[14], schema=widened)})
    lost = replace(relu, versions={since: each for since, each in relu.versions.items() if since != 13})
    for operator, version in ((relu, 0), (edited, 14), (lost, 13)):
        state = replace(present, operators={**present.operators, relu.key: operator})
        report = compare(release_state(release("1.17.0"), state), state, rules=["B190"])
        assert [each.version for each in report.breaks] == [version] * bool(version)
        assert "signatures alone" in report.notes[0]


def edited(rule, schema, **docs):
    """The older state of a rule's pair with another schema of its version, and other words."""
    (key, operator), *_ = (state := golden.state(rule, "old")).operators.items()
    (since, version), *_ = operator.versions.items()
    changed = replace(version, schema=replace(version.schema, **schema), docs=version.docs._replace(**docs))
    return replace(state, operators={key: replace(operator, versions={since: changed})})


def test_what_comes_after_an_entry_that_is_gone_or_the_same_is_compared():
    (body,) = golden.state("B152", "old").operators["com.acme", "Thin"].versions[1].schema.function
    later = body._replace(opset=18, nodes="Y = Identity (X)")
    old, new = (edited("B152", {"function": each}) for each in ((body, later), (later._replace(emulate={"a": "b"}),)))
    assert [each.message for each in compare(old, new, rules=["B152"]).findings] == [
        "the function body of opset 13 was removed",
        "emulate of the function body of opset 18 changed",
    ]
    (first,) = golden.state("B143", "old").operators["com.acme", "Thin"].versions[1].schema.conditions
    words = {"C1": "one", "C2": "two"}
    pairs = ((first, first._replace(label="C2", form=form)) for form in "12")
    old, new = (edited("B143", {"conditions": each}, constraints=words) for each in pairs)
    assert [each.message for each in compare(old, new, rules=["B143"]).findings] == [
        "the constraint C2 changed: no longer rank of X: 1; now rank of X: 2"
    ]


def test_every_type_set_that_was_edited_is_named_also_where_no_version_changed():
    one, other = ({"first": (each,), "second": (each,)} for each in ("tensor(float)", "tensor(double)"))
    state = golden.state("B152", "old")
    found = compare(replace(state, sets=one), replace(state, sets=other), rules=["B182"]).findings
    message = "the type set {!r} changed: +tensor(double), -tensor(float); no released version changed with it"
    assert [(each.message, each.severity) for each in found] == [(message.format(each), "INFO") for each in one]


def test_what_an_operator_of_the_standard_lacks_is_at_its_version():
    relu = standard_state().operators["", "Relu"]
    assert relu.place(14, "attributes", "X") == relu.place(14) != relu.place(14, "inputs", "X")
