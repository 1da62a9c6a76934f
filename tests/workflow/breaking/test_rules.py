"""Every rule on every pair: the findings are those of findings.txt, and a rule finds its bad example alone."""

import re
import textwrap
from dataclasses import replace
from types import SimpleNamespace

import pytest

from opset.errors import ComparisonError
from opset.opsets.registry import default_registry
from opset.opsets.releases import release
from opset.schemas.documentation import SpecialCase
from opset.schemas.example import Example, ExampleValue
from opset.schemas.lock import signature_hash
from opset.schemas.model import Attribute, AttributeChange, Change, Condition
from opset.schemas.yaml.loader import standard_sets
from opset.workflow.breaking import behaviour, compare
from opset.workflow.breaking.example_rule import MOST
from opset.workflow.breaking.pages import fixtures, page_body
from opset.workflow.breaking.report import REQUIREMENTS, SEVERITIES, Break
from opset.workflow.breaking.rules import CLAUSES, OperatorPair, StateComparison, VersionPair
from opset.workflow.breaking.states import folder_state, release_state, standard_state
from tests.workflow.breaking import golden
from tests.workflow.breaking.conftest import THIN, write
from tests.workflow.breaking.golden import RULES


def test_the_findings_of_every_rule_on_every_pair():
    # After a change of rules, python -m tests.workflow.breaking.golden writes the file: read the difference.
    assert golden.findings() == golden.FINDINGS.read_text(encoding="utf-8")


def test_every_rule_has_a_fixture_and_every_fixture_a_rule():
    assert list(fixtures()) == sorted(RULES)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_finds_its_bad_example_and_not_its_good_one(rule):
    each = RULES[rule]
    found = [one for one in golden.report(rule, "new").findings if one.rule == rule]
    assert found
    assert all(one.place or not one.operator or rule == "B102" for one in found)
    assert all(one.help for one in found if one.severity == "ERR")
    assert (each.clause in CLAUSES, each.severity in SEVERITIES, each.requires in REQUIREMENTS) == (True, True, True)
    good = golden.report(rule, "good")
    assert not good.breaks or rule == "B190"  # which the older state has as well
    assert {one.severity for one in good.findings if one.rule == rule} <= {"INFO"}


@pytest.mark.parametrize(
    ("rule", "help", "place"),
    [
        ("B102", "restore its file (git checkout v1 -- it); to withdraw it, opset bump com.acme.Thin, with", ""),
        ("B103", "git checkout v1 -- it", "Thin.yaml:1:1"),
        ("B104", "git checkout v1 -- it", "Thin.yaml:4:10"),
    ],
)
def test_what_a_revision_had_is_restored_by_its_command(rule, help, place):
    old = golden.state(rule, "old")
    operators = {key: replace(each, restore="git checkout v1 -- it") for key, each in old.operators.items()}
    (found,) = compare(replace(old, operators=operators), golden.state(rule, "new"), rules=[rule]).findings
    assert found.help.startswith(help) and found.place.rpartition("/")[2] == place
    (plain,) = compare(old, golden.state(rule, "new"), rules=[rule]).findings
    assert plain.help.startswith("restore ") and "git" not in plain.help


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


def test_a_release_has_what_its_opsets_reach():
    present = standard_state()
    keys = ("", "Cast"), ("", "Relu"), ("ai.onnx.ml", "TreeEnsemble"), ("", "Gelu")
    state = release_state(release("1.14.0"), replace(present, operators={key: present.operators[key] for key in keys}))
    assert {key: [*each.versions] for key, each in state.operators.items()} == {
        ("", "Cast"): [1, 6, 9, 13, 19],
        ("", "Relu"): [1, 6, 13, 14],
    }
    before, now = (each.operators["", "Cast"].examples for each in (state, present))
    assert before == tuple(each for each in now if each.since <= 19) != now


def test_a_domain_is_gone_though_one_before_it_is_not():
    state = golden.state("B101", "old")
    (one,) = {each.domain: each for each in state.operators.values()}.values()
    domains = "com.aaa", "com.bbb", "com.ccc"
    old = replace(state, operators={(each, one.name): replace(one, domain=each) for each in domains})
    new = replace(old, operators={key: each for key, each in old.operators.items() if key[0] == "com.bbb"})
    assert [(each.domain, each.message) for each in compare(old, new, rules=["B101"]).findings] == [
        (each, "the domain, of 1 operator, is gone; com.bbb has operators of the same names") for each in domains[::2]
    ]


def test_choices_that_name_a_type_constraint_may_follow_it():
    thin = golden.state("B127", "old").operators["com.acme", "Thin"].newest.schema
    types = {"T": ("tensor(float)",), "U": ("tensor(float)",)}

    def of_choice(choices, variable, kind="data_type"):
        attributes = {"to": Attribute("to", "int", kind=kind, choices=(*choices,))}
        sides = {side: (getattr(thin, side)[0]._replace(type=variable),) for side in ("inputs", "outputs")}
        return edited("B127", {"attributes": attributes, "types": types, **sides})

    old = of_choice("T", "T")
    assert not compare(old, of_choice("U", "U"), rules=["B127"]).findings
    (found,) = compare(old, of_choice("U", "T"), rules=["B127"]).findings
    assert found.message == "'choices' of the attribute 'to' changed: [T] -> [U]"
    # They name type constraints only where values are element types, and none may come or go.
    words = of_choice("T", "T", "")
    for older, newer in (
        (words, of_choice("U", "U", "")),
        (words, of_choice("U", "U")),
        (old, of_choice("U", "U", "")),
        (old, of_choice("UT", "U")),
        (old, of_choice("", "U")),
        (of_choice("", "T"), of_choice("U", "U")),
    ):
        found = compare(older, newer, rules=["B127"]).findings
        assert "'choices' of the attribute 'to'" in "".join(each.message for each in found)


def test_the_lock_shows_edits_that_no_comparison_shows():
    new = golden.state("B190", "new")
    ((key, operator),) = new.operators.items()
    one, two = golden.state("B190", "good").operators[key].versions.values()
    for before, expected in (({2: two}, [1]), ({1: one, 2: two}, []), (operator.versions, [1])):
        old = replace(new, operators={key: replace(operator, versions=before)})
        assert [each.version for each in compare(old, new, rules=["B190"]).findings] == expected


def test_the_lock_shows_operators_that_neither_state_has():
    state = golden.state("B152", "old")
    (thin,) = state.operators.values()
    other = replace(state, operators={("com.acme", "Other"): thin})
    of_thin = {"1": signature_hash(thin.versions[1].schema), "7": "x"}
    lock = {"com.acme": {"Lost": {"1": "x", "3": "x"}, "Thin": of_thin}}
    lost = [("Lost", 1, ""), ("Lost", 3, "")]
    message = "version {} is in the lock of released versions, and in neither state"
    for old, new, partial, expected in (
        (state, replace(state, lock=lock), False, [*lost, ("Thin", 7, thin.place())]),
        (state, replace(state, lock=lock), True, [("Thin", 7, thin.place())]),
        (replace(state, lock=lock), state, False, [("Thin", 7, thin.place())]),
        (replace(other, lock=lock), replace(state, lock={}), False, [("Thin", 7, thin.place())]),
        (state, replace(other, lock=lock), False, lost),
    ):
        found = compare(old, new, partial=partial, rules=["B190"]).findings
        assert [(each.operator, each.version, each.place) for each in found] == expected
        assert all(each.message == message.format(each.version) and each.help == "restore it" for each in found)


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
    second = [first._replace(label="C2", form=form) for form in "12"]
    old, new = (edited("B143", {"conditions": (first, each)}, constraints=words) for each in second)
    assert [each.message for each in compare(old, new, rules=["B143"]).findings] == [
        "the constraint C2 changed: no longer rank of X: 1; now rank of X: 2"
    ]
    fewer, more = (edited("B143", {"conditions": each}, constraints=words) for each in (second[:1], second))
    for old, new, moved in ((more, fewer, "loosened: no longer"), (fewer, more, "tightened: now")):
        (found,) = compare(old, new, rules=["B143"]).findings
        assert found.message == f"the constraint C2 was {moved} rank of X: 2"


def test_an_input_is_compared_with_itself_if_an_output_or_attribute_has_its_name():
    same = {"outputs": {"X": "Same."}, "attributes": {"X": "Same."}}
    old, new = (edited("B157", {}, doc="Same.", inputs={"X": text}, **same) for text in ("Small.", "Not small."))
    (found,) = compare(old, new, rules=["B157"]).findings
    assert (found.message, found.severity) == ("the text of X was edited", "WARN")
    new = edited("B157", {}, doc="The same.", inputs={"X": "Not small."}, **same)  # two texts, of which one says else
    (found,) = compare(old, new, rules=["B157"]).findings
    assert (found.message, found.severity) == ("the text of the version, X was edited", "WARN")
    new = edited("B157", {}, doc="The same.", inputs={"X": "Small."}, **same)
    assert [each.severity for each in compare(old, new, rules=["B157"]).findings] == ["INFO"]
    new = edited("B157", {}, doc="The one same.", inputs={"X": "Small."}, **same)  # of two words one is decisive
    assert [each.severity for each in compare(old, new, rules=["B157"]).findings] == ["WARN"]
    assert not compare(old, old, rules=["B157"]).findings


@pytest.mark.parametrize("element", ["float", "double", "bfloat16"])
def test_an_integer_in_a_tensor_of_floats_is_the_float(element):
    (key, operator), *_ = (state := golden.state("B171", "old")).operators.items()
    (since, version), *_ = operator.versions.items()

    def with_outputs(*elements, **others):
        value = ExampleValue(f"tensor({element})", [*elements], (2,))
        examples = {"one": Example("one", since, inputs=(value,), outputs=(value,))} | others
        changed = {since: replace(version, examples=examples)}
        return replace(state, operators={key: replace(operator, versions=changed)})

    other = Example("other", since)
    assert not compare(with_outputs(1, 2), with_outputs(1.0, 2.0, other=other), rules=["B171", "B172"]).findings
    assert compare(with_outputs(1, 2), with_outputs(1.0, 3.0), rules=["B172"]).findings


def test_an_example_is_compared_with_one_of_its_version_that_has_its_inputs():
    (key, operator), *_ = (state := golden.state("B171", "old")).operators.items()
    version = operator.newest
    one, two = (ExampleValue("tensor(float)", [each], (1,)) for each in (1.0, 2.0))

    def with_examples(**versions):
        changed = {
            int(since[1:]): replace(
                version,
                schema=replace(version.schema, since_version=int(since[1:])),
                examples={name: Example(name, 1, inputs=(one,), outputs=(each,)) for name, each in examples.items()},
            )
            for since, examples in versions.items()
        }
        return replace(state, operators={key: replace(operator, versions=changed, place_of=None)})

    def found(old, new):
        rules = ["B171", "B172", "B173"]
        return [each.message for each in compare(with_examples(**old), with_examples(**new), rules=rules).findings]

    wrong = ["the example 'a' gives another result (version 2)"]
    assert found({"v1": {"a": one}, "v2": {"a": one}}, {"v1": {"a": one}, "v2": {"a": two}}) == wrong
    assert found({"v1": {"a": one}, "v2": {"a": one}}, {"v2": {"a": two}}) == wrong
    assert found({"v2": {"a": one}}, {"v2": {"b": two, "c": one, "d": two}}) == [
        "the example 'a' is called 'c' now (version 2)"
    ]
    assert found({"v2": {"a": one}}, {"v2": {"c": one, "a": two}}) == wrong


@pytest.mark.parametrize("zeros", [[-0.0, -0.0], [0.0, -0.0], [-0.0, 0.0]])
@pytest.mark.parametrize("kind", ["tensor(float)", "seq(tensor(float))"])
def test_a_result_of_negative_zero_is_another_one(kind, zeros):
    (key, operator), *_ = (state := golden.state("B171", "old")).operators.items()
    (since, version), *_ = operator.versions.items()

    def with_output(*elements):
        value = tensor = ExampleValue("tensor(float)", [*elements], (2,))
        if kind != tensor.type:
            value = ExampleValue(kind, [tensor])
        examples = {"one": Example("one", since, inputs=(), outputs=(value,))}
        return replace(state, operators={key: replace(operator, versions={since: replace(version, examples=examples)})})

    (found,) = compare(with_output(0.0, 0.0), with_output(*zeros), rules=["B171", "B172"]).findings
    assert found.message.startswith("the example 'one' gives another result")
    assert not compare(with_output(*zeros), with_output(*zeros), rules=["B171", "B172"]).findings


@pytest.mark.parametrize("kind", ["graph", "graphs"])
def test_white_space_in_a_graph_makes_no_other_example(kind):
    (key, operator), *_ = (state := golden.state("B171", "old")).operators.items()
    (since, version), *_ = operator.versions.items()
    schema = replace(version.schema, attributes={"body": Attribute("body", kind)})

    def with_graph(text):
        examples = {"one": Example("one", since, attributes={"body": text if kind == "graph" else (text,)})}
        changed = {since: replace(version, schema=schema, examples=examples)}
        return replace(state, operators={key: replace(operator, versions=changed)})

    old = with_graph("g (float[2] a) => (float[2] b) { b = Neg (a) }\n")
    new = with_graph("g (float[2] a) => (float[2] b) {\n  b = Neg (a)\n}\n")
    assert not compare(old, new, rules=["B171", "B172"]).findings
    assert compare(old, with_graph("g (float[2] a) => (float[2] b) { b = Abs (a) }"), rules=["B172"]).findings


def test_a_sequence_of_equal_values_has_a_length():
    (key, operator), *_ = (state := golden.state("B171", "old")).operators.items()
    (since, version), *_ = operator.versions.items()

    def with_output(length):
        value = ExampleValue("seq(tensor(float))", [ExampleValue("tensor(float)", [1.0], (1,))] * length)
        examples = {"one": Example("one", since, inputs=(), outputs=(value,))}
        return replace(state, operators={key: replace(operator, versions={since: replace(version, examples=examples)})})

    (found,) = compare(with_output(2), with_output(3), rules=["B171", "B172"]).findings
    assert found.message.startswith("the example 'one' gives another result")
    assert not compare(with_output(2), with_output(2), rules=["B171", "B172"]).findings


def test_an_attribute_with_another_name_and_a_default_of_negative_zero_is_not_the_same():
    (key, operator), *_ = (state := golden.state("B171", "old")).operators.items()
    (since, version), *_ = operator.versions.items()

    def with_attribute(name, default):
        schema = replace(version.schema, attributes={name: Attribute(name, "float", default)})
        return replace(state, operators={key: replace(operator, versions={since: replace(version, schema=schema)})})

    def rules(name, default):
        return [each.rule for each in compare(with_attribute("alpha", 0.0), with_attribute(name, default)).findings]

    assert "B123" in rules("beta", 0.0)
    assert "B123" not in rules("beta", -0.0) and {"B121", "B122"} <= {*rules("beta", -0.0)}


def test_every_type_set_that_was_edited_is_named_also_where_no_version_changed():
    one, other = ({"first": (each,), "second": (each,)} for each in ("tensor(float)", "tensor(double)"))
    state = golden.state("B182", "old")  # which has a released version
    found = compare(replace(state, sets=one), replace(state, sets=other, sets_path="at"), rules=["B182"]).findings
    message = "the type set {!r} changed: +tensor(double), -tensor(float); no released version changed with it"
    expected = [Break("B182", "INFO", "none", "com.acme", "", 0, message.format(each), "at:1:1") for each in one]
    assert [each._replace(why="") for each in found] == expected


@pytest.mark.parametrize("gained", [True, False])
def test_a_type_set_that_only_gained_or_lost_types_is_named(gained):
    few, many = ({"first": types} for types in (("tensor(float)",), ("tensor(double)", "tensor(float)")))
    state = golden.state("B152", "old")
    states = [replace(state, sets=each) for each in ((few, many) if gained else (many, few))]
    (found,) = compare(*states, rules=["B182"]).findings
    assert found.message.startswith(f"the type set 'first' changed: {'+' if gained else '-'}tensor(double); ")
    assert not compare(states[0], states[0], rules=["B182"]).findings


def test_a_type_set_that_was_edited_names_the_released_versions_whose_types_changed(tmp_path):
    wider = newer(THIN, "types: {T: [+float16]}", ("[double, float]", "[double, float, float16]"))
    before = {name: THIN.replace("Thin", name) for name in ("Draft", "Fixed", "Grown", "Thin")}
    after = {
        **before,
        "Fixed": before["Fixed"].replace("alpha *", "alpha times"),
        "Grown": wider.replace("Thin", "Grown"),
    }
    for name in ("Draft", "Thin"):
        after[name] = before[name].replace("[double, float]", "[double, float, float16]")
    sets = [
        {"reals": ("tensor(double)", "tensor(float)", *more)} for more in ((), ("tensor(bfloat16)", "tensor(float16)"))
    ]
    sets[0]["gone"] = sets[1]["come"] = ("tensor(bool)",)
    folders = zip(("old", "new"), (before, after), sets, strict=True)
    old, new = (
        replace(folder_state(write(tmp_path / name, **texts), name), sets=types, sets_path=f"{name}/types.yaml")
        for name, texts, types in folders
    )
    locked = replace(old, lock={"com.acme": {name: {"1": "x"} for name in ("Fixed", "Grown", "Thin")}})
    edited = "the type set 'reals' changed: +tensor(bfloat16), +tensor(float16); with it, "
    for state, moved in (
        (locked, "1 released version changed: com.acme.Thin 1"),
        (old, "2 released versions changed: com.acme.Draft 1, com.acme.Thin 1"),
    ):
        (found,) = compare(state, new, rules=["B182"], locked=state is locked).findings
        assert found._replace(why="") == Break(
            "B182", "ERR", "new version", "com.acme", "", 0, f"{edited}{moved}", "new/types.yaml:1:1",
            help="give the edited set a name of its own, as reals_2, and use that in new versions",
        )  # fmt: skip


def test_what_an_operator_of_the_standard_lacks_is_at_its_version():
    relu = standard_state().operators["", "Relu"]
    assert relu.place(14, "attributes", "X") == relu.place(14) != relu.place(14, "inputs", "X")


FIRST, LAST = "A0", "z9"
"""Names before and after those of the pairs."""


def around(names, value):
    """Entries with a value of their own before and after others."""
    return {FIRST: value(FIRST), **names, LAST: value(LAST)}


def with_neighbors(version):
    """A version with attributes, types, constraints and examples that are the same in every state."""
    schema, docs = version.schema, version.docs
    conditions = [Condition(each, "rank", "X", ">= 0") for each in (FIRST, LAST)]
    schema = replace(
        schema,
        attributes=around(schema.attributes, lambda name: Attribute(name, "int", 1)),
        types=around(schema.types, lambda name: ("tensor(bool)",)),
        conditions=(conditions[0], *schema.conditions, conditions[1]),
    )
    cases = [SpecialCase(each) for each in (FIRST, LAST)]
    docs = docs._replace(
        attributes=around(docs.attributes, str),
        constraints=around(docs.constraints, str),
        special_cases=(cases[0], *docs.special_cases, cases[1]),
    )
    examples = around(version.examples, lambda name: Example(name, 1, attributes={"alpha": name}))
    return replace(version, schema=schema, docs=docs, examples=examples)


def beside_others(state, domains):
    """A state in which nothing is the first or the last: operators and parts of versions are around its own."""
    (key, one), *_ = sorted(golden.state("B101", "old").operators.items())
    operators = {}
    for domain in ("com.aaa", *domains, "com.zzz"):
        for name in (FIRST, LAST):
            operators[domain, name] = replace(one, domain=domain, name=name, family=name)
    for key, each in state.operators.items():
        versions = {since: with_neighbors(version) for since, version in each.versions.items()}
        operators[key] = each if state.lock else replace(each, versions=versions)  # a lock holds what it holds
    sets = around(state.sets, lambda name: ("tensor(bool)",))
    return replace(state, operators=dict(sorted(operators.items())), sets=sets)


@pytest.mark.parametrize(("rule", "side"), golden.pairs())
def test_what_is_the_same_in_both_states_hides_nothing(rule, side):
    old, new = (golden.state(rule, each) for each in golden.sides(side))
    both = old.domains.keys() & new.domains.keys()
    found = compare(beside_others(old, both), beside_others(new, both)).findings
    assert found == compare(old, new).findings


def found(tmp_path, before, after, rules):
    """What rules find in two states, each of operators by their names."""
    states = [folder_state(write(tmp_path / name, **texts), name) for name, texts in (("old", before), ("new", after))]
    return [f"{each.title}: {each.message}" for each in compare(*states, rules=rules).findings]


def newer(text, change, *edits):
    """An operator with version 2 above version 1: its change block, and what is replaced in it."""
    version = text.partition("versions:\n")[2].partition("examples:")[0].replace("since: 1", "since: 2")
    for before, after in edits:
        assert before in version, before
        version = version.replace(before, after)
    adapters = "adapters: {up: derived, down: derived}"
    change = f"  change: {{{', '.join(filter(None, (change, adapters)))}}}\n"
    return text.replace("versions:\n", f"versions:\n{version.replace('  doc:', f'{change}  doc:', 1)}")


def test_all_versions_that_came_are_reported_whatever_came_before(tmp_path):
    gamma = ("    alpha:", "    gamma: {type: float, default: 0.0, doc: more}\n    alpha:")
    wider = newer(THIN, "attributes: {gamma: {added: float, default: 0.0}}", gamma)
    before = {name: THIN.replace("Thin", name) for name in ("Bare", "Thin")}
    after = {name: wider.replace("Thin", name) for name in ("Bare", "Thin")} | {"Much": wider.replace("Thin", "Much")}
    assert found(tmp_path, before, after, ["B105", "B106"]) == [
        "com.acme.Much 1: the operator was added in opset 1 of com.acme, which is released: 1 is its newest",
        "com.acme.Bare 2: version 2 was added in the new opset 2 of com.acme",
        "com.acme.Much 2: version 2 was added in the new opset 2 of com.acme",
        "com.acme.Thin 2: version 2 was added in the new opset 2 of com.acme",
    ]


@pytest.mark.parametrize("partial", [False, True])
def test_of_some_operators_only_others_are_not_new(tmp_path, partial):
    gamma = ("    alpha:", "    gamma: {type: float, default: 0.0, doc: more}\n    alpha:")
    wider = newer(THIN, "attributes: {gamma: {added: float, default: 0.0}}", gamma)
    old = folder_state(write(tmp_path / "old", Thin=THIN), "old")
    new = folder_state(write(tmp_path / "new", Thin=wider, Much=wider.replace("Thin", "Much")), "new")
    found = compare(old, new, partial=partial, rules=["B105", "B106"]).findings
    assert [(each.operator, each.version) for each in found] == [("Much", 1), ("Much", 2), ("Thin", 2)][2 * partial :]


def test_all_operators_that_are_gone_are_reported_and_what_they_may_be_now(tmp_path):
    other = THIN.replace("alpha", "beta")
    before = {name: other.replace("Thin", name) for name in ("Also", "Bare", "Gone", "Thin")}
    after = {"Bare": before["Bare"], "Wide": THIN.replace("Thin", "Wide")}
    assert found(tmp_path / "a", before, after, ["B102"]) == [
        f"com.acme.{name}: the operator is gone" for name in ("Also", "Gone", "Thin")
    ]
    after["Broad"] = other.replace("Thin", "Broad")
    assert found(tmp_path / "b", before, after, ["B102"]) == [
        f"com.acme.{name}: the operator is gone; it seems to be Broad now" for name in ("Also", "Gone", "Thin")
    ]


@pytest.mark.parametrize(("released", "severity"), [([], "INFO"), (["1"], "ERR"), (["1", "2"], "ERR")])
def test_an_operator_without_a_released_version_may_go(tmp_path, released, severity):
    wider = newer(THIN, "types: {T: [+float16]}", ("[double, float]", "[double, float, float16]"))
    old = folder_state(write(tmp_path / "old", Grown=wider.replace("Thin", "Grown"), Thin=THIN), "old")
    old = replace(old, lock={"com.acme": {"Grown": dict.fromkeys(released, "x")}})
    new = folder_state(write(tmp_path / "new", Thin=THIN), "new")
    (finding,) = compare(old, new, rules=["B102"], locked=True).findings
    assert finding.severity == severity and finding.message.startswith("the operator is gone")


@pytest.mark.parametrize(
    ("locked", "lock", "developed"),
    [
        (True, {"Thin": {"1": "x"}}, [2]),
        (True, {"Thin": {"1": "x", "2": "y"}}, []),
        (True, {"Other": {"1": "x"}}, [0, 1, 2]),
        (True, None, []),
        (False, {"Thin": {"1": "x"}}, []),
        (False, {}, []),
    ],
)
def test_a_version_that_the_old_state_has_and_its_lock_lacks_is_in_development(tmp_path, locked, lock, developed):
    wider = newer(THIN, "types: {T: [+float16]}", ("[double, float]", "[double, float, float16]"))
    old = folder_state(write(tmp_path, Thin=wider), "old")
    old = replace(old, lock=None if lock is None else {"com.acme": lock})
    comparison = StateComparison(old, old, locked=locked)

    def finding(operator, version):
        return Break("B121", "ERR", "a new version", "com.acme", operator, version, "it changed")

    assert [each for each in range(4) if comparison.is_in_development(finding("Thin", each))] == developed
    assert not comparison.is_in_development(finding("Thick", 0))


@pytest.mark.parametrize("few", ["Ant", "Bee", "Cat", "Dog"])
def test_the_operator_that_differs_from_its_siblings_is_named_wherever_it_stands(tmp_path, few):
    names = ["Ant", "Bee", "Cat", "Dog"]
    before = {name: THIN.replace("Thin", name) for name in names}
    types = "[double, float]", "[bfloat16, double, float]"
    after = before | {few: newer(before[few], "types: {T: [+bfloat16]}", types)}
    others = ", ".join(name for name in names if name != few)
    message = f"{few} allowed the same types as {others} at old, and no longer"
    assert found(tmp_path, before, after, ["B184"]) == [f"com.acme.{few} 2: {message}"]


def test_which_operators_are_siblings(tmp_path):
    def wider(name, *edits):
        return newer(
            THIN.replace("Thin", name),
            "types: {T: [+bfloat16]}",
            ("[double, float]", "[bfloat16, double, float]"),
            *edits,
        )

    def differences(folder, before, after):
        states = [
            folder_state(write(tmp_path / folder / side, **texts), side)
            for side, texts in (("old", before), ("new", after))
        ]
        findings = compare(*states, rules=["B184"]).findings
        return [(each.title, each.message, each.help, each.place.partition("com.acme/")[2]) for each in findings]

    before = {name: THIN.replace("Thin", name) for name in ("Ant", "Bee", "Cat")}
    whole = [
        (
            "com.acme.Bee 2",
            "Bee, Cat allowed the same types as Ant, Dog, Elk at old, and no longer",
            "give Ant, Dog, Elk a version with the same types, unless they differ on purpose",
        )
    ]
    more = before | {name: THIN.replace("Thin", name) for name in ("Dog", "Elk")}
    found = differences("a", more, more | {name: wider(name) for name in ("Bee", "Cat")})
    assert [each[:3] for each in found] == whole and found[0][3].startswith("Bee.yaml:")
    line = int(found[0][3].split(":")[1])
    assert wider("Bee").splitlines()[line - 1] == "    T: [bfloat16, double, float]"
    assert differences("b", before, {name: wider(name) for name in before}) == []
    other = ("family: activation", "family: other")
    assert (
        differences(
            "c",
            {"Ant": before["Ant"], "Bee": before["Bee"].replace(*other)},
            {"Ant": before["Ant"], "Bee": wider("Bee").replace(*other)},
        )
        == []
    )
    second = ("  outputs:", "  - {name: Z, type: T, optional: true, doc: z}\n  outputs:")
    assert differences("d", before, before | {"Bee": wider("Bee", second)}) == []
    gone = ("  doc: Returns", "  deprecated: true\n  doc: Returns")
    assert differences("e", before, before | {"Bee": wider("Bee", gone)}) == []
    assert differences("f", before, {"Ant": before["Ant"], "Cat": wider("Cat")})[0][1].startswith(
        "Cat allowed the same types as Ant at"
    )


@pytest.mark.parametrize(
    ("change", "edit", "message"),
    [
        ("", ("", ""), "the new version is the same as the one before"),
        ("clarified: How.", ("", ""), "the new version only clarifies, which needs none"),
        ("", ("Returns", "Is"), "the new version only clarifies, which needs none"),
        ("", ("default: 1.0", 'default: 1.0, range: ">= 0"'), "and other conditions: say what changed in 'meaning'"),
        ("", ("  shape:", "  constraints: {C1: {rank: {X: '>= 1'}}}\n  shape:"), "and other conditions: say what"),
        ("", ("  shape: same(X)\n", ""), "and other conditions: say what changed in 'meaning'"),
        ("meaning: Another.", ("", ""), ""),
        ("attributes: {alpha: {default: [1.0, 2.0]}}", ("default: 1.0", "default: 2.0"), ""),
    ],
)
def test_a_version_that_changes_nothing_is_told_from_one_that_does(tmp_path, change, edit, message):
    after = newer(THIN, change, edit)
    messages = found(tmp_path, {"Thin": THIN}, {"Thin": after}, ["B181"])
    assert len(messages) == bool(message) and message in "".join(messages)


def test_a_default_that_is_the_same_number_of_another_type_does_not_change(tmp_path):
    text = THIN.partition("examples:")[0]
    more = text.replace("  types:", "    beta: {type: float, default: 1.0, doc: more}\n  types:")
    edited = more.replace("alpha: {type: float, default: 1.0", "alpha: {type: int, default: 1")
    both = edited.replace("beta: {type: float, default: 1.0", "beta: {type: float, default: 2.0")
    kind = "com.acme.Thin 1: the type of the attribute 'alpha' changed: float -> int"
    assert found(tmp_path / "a", {"Thin": more}, {"Thin": edited}, ["B124", "B125"]) == [kind]
    default = "com.acme.Thin 1: the default of the attribute 'beta' changed: 1.0 -> 2.0"
    assert found(tmp_path / "b", {"Thin": more}, {"Thin": both}, ["B124", "B125"]) == [kind, default]
    other = edited.replace("type: int, default: 1", "type: int, default: 2")
    default = "com.acme.Thin 1: the default of the attribute 'alpha' changed: 1.0 -> 2"
    assert found(tmp_path / "c", {"Thin": more}, {"Thin": other}, ["B124", "B125"]) == [kind, default]


def test_type_constraints_that_type_nothing_are_named_when_they_come_or_go():
    types = {"T": ("tensor(double)", "tensor(float)")}
    with_one, without = (edited("B152", {"types": each}) for each in ({**types, "U": ("tensor(bool)",)}, types))
    for old, new, word in ((with_one, without, "went"), (without, with_one, "came")):
        (one,) = compare(old, new, rules=["B135"]).findings
        assert one.message == f"the type constraint 'U' {word}, and types nothing"
    assert not compare(with_one, with_one, rules=["B135"]).findings


@pytest.mark.parametrize(
    ("nodes", "types", "refusing"),
    [
        (("Relu", "Relu"), (["double", "string"], ["double", "string"]), ""),  # it was so before
        (("Relu", "Relu"), (["double"], ["double", "string"]), "Relu"),
        (("Relu", "Neg"), (["double", "string"], ["double", "string"]), "Neg"),
        (("Relu", "Neg"), (["double", "string"], ["double"]), ""),
    ],
)
def test_types_that_a_body_refuses_are_reported_of_a_version_that_was_edited(nodes, types, refusing):
    (body,) = golden.state("B152", "old").operators["com.acme", "Thin"].versions[1].schema.function
    states = (
        edited(
            "B152",
            {
                "function": (body._replace(nodes=f"Y = {node} (X)"),),
                "types": {"T": tuple(f"tensor({each})" for each in allowed)},
            },
        )
        for node, allowed in zip(nodes, types, strict=True)
    )
    refused = f"the function body of opset 13 cannot take tensor(string): {refusing} 13 does not allow tensor(string)"
    found = compare(*states, rules=["B183"]).findings
    assert [each.message for each in found] == [f"{refused} as X"] * bool(refusing)


@pytest.mark.parametrize(
    ("added", "gap", "several"),
    [
        ((), "", ""),
        ((2,), "", ""),
        ((3,), "the opset was raised from 1 to 3", ""),
        ((2, 3), "", "versions came in 2 new opsets: 2, 3"),
        ((4, 5, 7), "the opset was raised from 1 to 4", "versions came in 3 new opsets: 4, 5, 7"),
    ],
)
def test_the_numbers_of_new_opsets(added, gap, several):
    state = golden.state("B152", "old")
    ((key, operator),) = state.operators.items()
    (version,) = operator.versions.values()
    more = {since: replace(version, schema=replace(version.schema, since_version=since)) for since in added}
    new = replace(state, operators={key: replace(operator, versions={**operator.versions, **more})})
    for rule, message, help in (
        ("B107", gap, "use 2 as the since_version"),
        ("B108", several, "what is released together is in one opset"),
    ):
        expected = [(message, help, added[0 if rule == "B107" else -1])] if message else []
        assert [
            (each.message, each.help, each.version) for each in compare(state, new, rules=[rule]).findings
        ] == expected
        assert not compare(state, new, partial=True, rules=[rule]).findings


def test_bodies_that_came_went_changed_or_changed_places_are_named():
    (body,) = golden.state("B152", "old").operators["com.acme", "Thin"].versions[1].schema.function
    later = body._replace(opset=18)
    other = body._replace(opset=19, nodes="Y = Neg (X)")
    for before, after, *messages in (
        ((body, later), (later, body), "the function bodies are in another order"),
        ((body,), (body, other), "a function body of opset 19 was added"),
        ((body, other), (body,), "the function body of opset 19 was removed"),
        ((body,), (later,), f"opset of the function body of opset {body.opset} changed"),
        ((body,), (other,), f"the function body of opset {body.opset} was removed",
         "a function body of opset 19 was added"),
        ((body, later), (body, later)),
    ):  # fmt: skip
        old, new = (edited("B152", {"function": each}) for each in (before, after))
        place = new.operators["com.acme", "Thin"].place(1, "function")
        found = [(each.message, each.place) for each in compare(old, new, rules=["B152"]).findings]
        assert found == [(message, place) for message in messages]


CLAIMS = """\
attributes: {alpha: {ignored: true}},
    emulate: {float16: float},
    renamed: true,
    meaning: One.,
    clarified: Two."""
CHANGE = Change({}, {"alpha": AttributeChange(ignored=True)}, {"float16": "float"}, False, "One.", "Two.")


@pytest.mark.parametrize(
    ("edit", "message", "severity"),
    [
        ({"meaning": ""}, "what is said to have changed in meaning was edited", "WARN"),
        ({"clarified": "Else."}, "what is said to have been clarified was edited", "INFO"),
        ({"emulate": {}}, "'emulate' of the change changed", "WARN"),
        ({"renamed": True}, "'renamed' of the change changed", "WARN"),
        ({"attributes": {}}, "what is declared of the attribute 'alpha' changed", "WARN"),
        ({"attributes": {"alpha": AttributeChange(ignored=True, undefined=0)}}, "what is declared of the attribute "
         "'alpha' changed", "WARN"),
        ({"up": "written"}, "the conversion up was 'derived' and is 'written' now", "INFO"),
        ({"down": "impossible: no"}, "the conversion down was 'derived' and is 'impossible: no' now", "ERR"),
    ],
)  # fmt: skip
def test_claims_of_a_change_that_were_edited(tmp_path, edit, message, severity):
    state = folder_state(write(tmp_path, Thin=newer(THIN, CLAIMS)), "now")
    (key, operator), *_ = state.operators.items()

    def with_change(change):
        version = replace(operator.versions[2], schema=replace(operator.versions[2].schema, change=change))
        return replace(state, operators={key: replace(operator, versions={**operator.versions, 2: version})})

    old, new = with_change(CHANGE), with_change(CHANGE._replace(**edit))
    (one,) = compare(old, new, rules=["B161", "B162"]).findings
    assert (one.message, one.severity, one.version) == (message, severity, 2)
    (claim,) = edit
    keys = ["adapters" if claim in ("up", "down") else claim]
    keys += ["alpha"] if claim == "attributes" else []
    assert one.place == operator.place(2, "change", *keys) != operator.place(2, "change")
    asks = {"meaning": "if implementations", "clarified": "restore", "up": "restore", "down": "write the adapter"}
    assert one.help.startswith(asks.get(claim, "conversions follow"))
    assert not compare(old, with_change(CHANGE), rules=["B161", "B162"]).findings


def test_only_claims_of_a_version_that_both_states_have_are_compared(tmp_path):
    state = folder_state(write(tmp_path, Thin=newer(THIN, CLAIMS)), "now")
    ((key, operator),) = state.operators.items()
    second = operator.versions[2]
    third = replace(
        second, schema=replace(second.schema, since_version=3, change=CHANGE._replace(meaning="Else.", up="written"))
    )
    bare = replace(second, schema=replace(second.schema, change=None))
    more, less = (
        replace(state, operators={key: replace(operator, versions={**operator.versions, each.since: each})})
        for each in (third, bare)
    )
    for pair in ((state, more), (state, less), (less, state)):
        assert not compare(*pair, rules=["B161", "B162"]).findings


def test_examples_of_every_version_are_compared(tmp_path):
    first = "- {name: first, since: 1, until: 1, inputs: [{float: [1]}], outputs: [{float: [1]}]}\n"
    text = newer(THIN, "meaning: Another.").replace("{name: plain, since: 1,", "{name: plain, since: 2,")
    edited = text.replace("outputs: [{float: [2, 4]}]", "outputs: [{float: [2, 5]}]")
    message = "com.acme.Thin 2: the example 'plain' gives another result (version 2)"
    assert found(tmp_path / "a", {"Thin": text + first}, {"Thin": edited + first}, ["B171"]) == [message]
    later = first.replace("first, since: 1, until: 1", "last, since: 2")
    other = later.replace("outputs: [{float: [1]}]", "outputs: [{float: [3]}]")
    both = [message, message.replace("plain", "last")]
    assert found(tmp_path / "b", {"Thin": text + later}, {"Thin": edited + other}, ["B171"]) == both


def test_the_newest_release_of_a_part_is_that_of_the_operator():
    state = standard_state()
    relu, scaler = ("", "Relu"), ("ai.onnx.ml", "Scaler")
    whole, part = (StateComparison(state, state, partial=partial) for partial in (False, True))
    assert [whole.newest_released(key) for key in (relu, scaler, ("com.none", "A"))] == [
        state.domains[""], state.domains["ai.onnx.ml"], 0
    ]  # fmt: skip
    assert [part.newest_released(key) for key in (relu, scaler)] == [14, 1]
    locked = StateComparison(replace(state, lock={"ai.onnx": {"Relu": {"1": "x", "6": "y"}}}), state, locked=True)
    assert [locked.newest_released(key) for key in (relu, scaler)] == [6, 0]


@pytest.mark.parametrize(
    ("before", "after", "declared", "in_place", "renamed"),
    [
        ({"a": 1}, {"b": 1}, {}, True, {"a": "b"}),
        ({"a": 1}, {"b": 2}, {}, True, {}),
        ({"a": 1}, {"b": 1, "c": 1}, {}, True, {}),
        ({"a": 1}, {"b": 1, "c": 2}, {}, True, {"a": "b"}),
        ({"a": 1, "z": 1}, {"b": 1}, {}, True, {"a": "b"}),  # and no two have one new name
        ({"a": 1, "c": 2}, {"d": 2, "b": 1}, {}, True, {"a": "b", "c": "d"}),
        ({"a": 1, "b": 1}, {"b": 1}, {}, True, {}),
        ({"a": 1}, {"b": 2, "c": 1}, {"b": "a"}, False, {"a": "b"}),
        ({"a": 1}, {"b": 2, "c": 1}, {"b": "a"}, True, {"a": "c"}),
        ({"a": 1, "z": 2}, {"b": 2}, {"b": "a"}, False, {"a": "b"}),
        ({"a": 1}, {"c": 1}, {"b": "a"}, False, {"a": "c"}),
    ],
)
def test_an_attribute_that_differs_in_its_name_alone_is_renamed(before, after, declared, in_place, renamed):
    def version(attributes):
        made = {name: Attribute(name, "int", default) for name, default in attributes.items()}
        change = SimpleNamespace(attributes={name: SimpleNamespace(renamed=old) for name, old in declared.items()})
        return SimpleNamespace(schema=SimpleNamespace(attributes=made), change=change)

    pair = VersionPair(version(before), version(after), None, None, in_place)
    assert pair.renamed_attributes == renamed


@pytest.mark.parametrize(
    ("before", "after", "renumbered"),
    [
        ({1: "float"}, {1: "float"}, {}),
        ({1: "float"}, {2: "float"}, {1: 2}),
        ({1: "float"}, {2: "double"}, {}),
        ({1: "float", 2: "double"}, {3: "double", 4: "float"}, {1: 4, 2: 3}),
        ({1: "float", 2: "float"}, {3: "float"}, {1: 3}),
        ({1: "float", 2: "float"}, {3: "float", 4: "float"}, {1: 3, 2: 4}),
        ({1: "float", 2: "double"}, {1: "float", 2: "float"}, {}),
        ({2: "float"}, {1: "float", 2: "float"}, {}),
    ],
)
def test_a_version_that_is_gone_is_renumbered_if_another_has_its_signature(before, after, renumbered):
    def operator(versions):
        thin = standard_state().operators["", "Relu"].versions[14].schema
        made = {
            since: replace(thin, since_version=since, types={"T": (f"tensor({each})",)})
            for since, each in versions.items()
        }
        return SimpleNamespace(versions={since: SimpleNamespace(schema=each) for since, each in made.items()})

    assert OperatorPair(operator(before), operator(after)).version_renumbering == renumbered


@pytest.mark.parametrize("more", [0, 1])
def test_examples_of_many_operators_that_changed_are_not_run(tmp_path, more, monkeypatch):
    count = MOST + more
    old, new = (
        folder_state(
            write(
                tmp_path / name,
                **{
                    f"Thin{at}": THIN.replace("Thin", f"Thin{at}").replace("T: [double", f"T: {kind}double")
                    for at in range(count)
                },
            ),
            name,
        )
        for name, kind in (("old", "["), ("new", "[float16, "))
    )
    run = []
    monkeypatch.setattr(
        "opset.workflow.examples.examination.examine",
        lambda registry, schemas, **more: run.append(len(schemas)) or SimpleNamespace(findings=[]),
    )
    notes = compare(old, new, registry=default_registry()).notes
    assert run == ([] if more else [1] * count)
    said = f"the examples of {count} operators that changed were not run, which is what opset test does"
    assert [*notes] == [said] * more


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("kind: bool", "", "'kind' of the attribute 'n' changed: 'bool' -> nothing"),
        ("kind: axis", "kind: bool", "'kind' of the attribute 'n' changed: 'axis' -> 'bool'"),
        ("choices: [0, 1]", "", "'choices' of the attribute 'n' was loosened: [0, 1] -> anything"),
        ("", "choices: [0, 1]", "'choices' of the attribute 'n' was tightened: anything -> [0, 1]"),
        ("choices: [0, 1]", "choices: [0, 1, 2]", "'choices' of the attribute 'n' was loosened: [0, 1] -> [0, 1, 2]"),
        ("choices: [0, 1]", "choices: [0]", "'choices' of the attribute 'n' was tightened: [0, 1] -> [0]"),
        ("choices: [0, 1]", "choices: [0, 2]", "'choices' of the attribute 'n' changed: [0, 1] -> [0, 2]"),
        ("choices: [0, 1]", "choices: [1, 0]", ""),
        ('range: ">= 0"', 'range: "0 <= x"', "'range' of the attribute 'n' changed: '>= 0' -> '0 <= x'"),
        ('range: ">= 0"', "", "'range' of the attribute 'n' was loosened: '>= 0' -> nothing"),
        ("", 'range: ">= 0"', "'range' of the attribute 'n' was tightened: nothing -> '>= 0'"),
        ('range: ">= 0"', 'range: "> -1"', "'range' of the attribute 'n' was loosened: '>= 0' -> '> -1'"),
        ('range: ">= 0"', 'range: "> 0"', "'range' of the attribute 'n' was tightened: '>= 0' -> '> 0'"),
        ('range: ">= 0"', 'range: "<= 0"', "'range' of the attribute 'n' changed: '>= 0' -> '<= 0'"),
        (
            'range: "x < rank"',
            'range: "x <= rank"',
            "'range' of the attribute 'n' was loosened: 'x < rank' -> 'x <= rank'",
        ),
    ],
)
def test_which_values_of_an_attribute_became_legal_or_illegal(tmp_path, before, after, moved):
    text = THIN.partition("examples:")[0].replace("  types:", "    n: {type: int, doc: it}\n  types:")
    states = [{"Thin": text.replace("doc: it", f"doc: it{each and ', '}{each}")} for each in (before, after)]
    states[1]["Thin"] = states[1]["Thin"].replace("    n: {", "    m: {type: int, default: 1, doc: new}\n    n: {")
    messages = found(tmp_path, *states, ["B127"])
    assert messages == [f"com.acme.Thin 1: {moved}"] * bool(moved)


@pytest.mark.parametrize("checked", ["the old", "the new"])
def test_a_constraint_that_an_attribute_checks_instead_is_checked_as_before(tmp_path, checked):
    """A range or choices of an attribute may name the constraint that other values break, in place of a condition."""
    text = THIN.partition("examples:")[0].replace("  shape:", "  constraints:\n    C1: {rank: {X: 1}}\n  shape:")
    moved = text.replace("C1: {rank: {X: 1}}", "C1: alpha is above 0")
    named = moved.replace("default: 1.0,", 'default: 1.0, range: "> 0", constraint: C1,')
    text, moved, named = (
        each.replace("    alpha:", "    a: {type: int, default: 1, doc: a}\n    alpha:")
        for each in (text, moved, named)
    )
    for other, message in (
        (moved, {"the old": "is no longer checked", "the new": "is checked now"}[checked]),
        (named, ""),
    ):
        pair = ({"Thin": text}, {"Thin": other})[:: 1 if checked == "the old" else -1]
        messages = found(tmp_path / f"{bool(message)}", *pair, ["B143"])
        assert len(messages) == bool(message) and all(message in each for each in messages)


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        (
            {"C1": "{rank: {X: 1}}", "C2": "{rank: {X: 2}}"},
            {"C1": "{rank: {X: 2}}", "C2": "{rank: {X: 1}}"},
            {"C1": "C2", "C2": "C1"},
        ),
        ({"C1": "it is so"}, {"C2": "it is so"}, {"C2": "C1"}),
        ({"C1": "it is so", "C3": "it is so"}, {"C2": "it is so"}, {"C2": "C1, C3"}),
        ({"C1": "it is so"}, {"C1": "it is so", "C2": "it is so"}, {"C2": "C1"}),
        ({"C1": "one", "C2": "two"}, {"C1": "two", "C2": "one"}, {"C1": "C2", "C2": "C1"}),
        ({"C1": "one"}, {"C2": "two"}, {}),
        ({"C1": "one"}, {"C1": "two"}, {}),
        (
            {"C1": "{rank: {X: 1}, text: it is so}"},
            {"C2": "{rank: {X: 1}, text: it is so}"},
            {"C2": "C1"},
        ),
        ({"C1": "{rank: {X: 1}, text: it is so}"}, {"C2": "{rank: {X: 2}, text: it is so}"}, {}),
        ({"C1": "{rank: {X: 1}, text: it is so}"}, {"C2": "it is so"}, {}),
    ],
)
def test_a_constraint_has_another_label_if_text_and_checks_are_the_same(tmp_path, before, after, labels):
    text = THIN.partition("examples:")[0]
    states = [
        {"Thin": text.replace("  shape:", "".join(["  constraints:\n", *lines, "  shape:"]))}
        for lines in ([f"    {label}: {said}\n" for label, said in each.items()] for each in (before, after))
    ]
    expected = [f"com.acme.Thin 1: the constraint {label} was {old} before" for label, old in labels.items()]
    assert found(tmp_path, *states, ["B145"]) == expected
    others = compare(*(folder_state(tmp_path / name, name) for name in ("old", "new")), rules=["B141", "B142", "B143"])
    assert not (labels and others.findings)  # another label is no other constraint


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [
        ("  shape: same(X)\n", "  shape: broadcast(X)\n", "ERR"),
        ("  shape: same(X)\n", "", "WARN"),
        ("", "  shape: same(X)\n", "WARN"),
    ],
)
def test_a_rule_of_shapes_in_place_of_a_function_may_be_the_same(tmp_path, before, after, severity):
    text = THIN.partition("examples:")[0]
    texts = {"old": before, "new": after}
    states = [
        folder_state(write(tmp_path / name, Thin=text.replace("  shape: same(X)\n", rule)), name)
        for name, rule in texts.items()
    ]
    (finding,) = compare(*states, rules=["B151"]).findings
    assert finding.severity == severity and finding.message.startswith("the rule of shapes changed: ")


@pytest.mark.parametrize(
    ("domain", "types", "sets"),
    [
        ("com.acme", None, None),
        ("com.acme", "own: [floats, bool]", None),
        ("ai.onnx", None, None),
        ("ai.onnx", "floats: [double, float]", {"floats": ("tensor(double)", "tensor(float)")}),
        ("ai.onnx", "own: [double, float]", "unknown"),
    ],
)
def test_a_copy_of_the_standard_has_its_own_type_sets_and_others_have_those_of_the_standard(
    tmp_path, domain, types, sets
):
    (tmp_path / domain).mkdir()
    (tmp_path / domain / "Thin.yaml").write_text(THIN.partition("examples:")[0].replace("[double, float]", "floats"))
    if types:
        (tmp_path / "types.yaml").write_text(types)
    if sets == "unknown":
        with pytest.raises(ComparisonError) as caught:
            folder_state(tmp_path, "it")
        first = caught.value.finding_list[0]
        assert (first.code, first.message) == ("B192", "the schemas of it cannot be read")
        return
    state = folder_state(tmp_path, "it")
    floats = (sets or standard_sets())["floats"]
    (operator,) = state.operators.values()
    assert (state.name, operator.name, operator.versions[1].schema.types["T"]) == ("it", "Thin", floats)
    assert state.sets["floats"] == floats and (sets is None or {*state.sets} == {*sets})
    assert bool(state.sets_path) == (types == "own: [floats, bool]")


@pytest.mark.parametrize("code", sorted(RULES))
def test_each_section_of_a_page_has_the_text_of_its_fixture(code):
    fixture = fixtures()[code]
    _, bad, good, todo = re.split(r"\n\n## (?:Bad|Good|What to do)\n\n", page_body(code))
    assert textwrap.dedent(bad).strip() == textwrap.dedent(fixture["bad"]).strip() and todo.strip()
    shown = fixture.get("version") or fixture["shown"]
    assert textwrap.dedent(good).startswith(textwrap.dedent(shown).rstrip())


@pytest.mark.parametrize(
    ("old", "new", "reworded"),
    [
        ("scales the input", "Scales the input.", False),
        ("a b c d", "d c b a", False),
        ("the input", "input", False),
        ("a b c", "x y c", False),  # two words
        ("a b c", "x y z", True),
        ("a", "a x y z", True),
        ("a x y z", "a", True),
        ("it is given", "it is not given", True),
        ("each element", "the element", True),
        ("at most 1", "at most 1.", False),
        ("at most 1", "at most -1", True),
        ("nothing", "noted", False),
    ],
)
def test_a_text_has_another_meaning_if_many_words_or_a_decisive_one_differ(old, new, reworded):
    assert behaviour._is_reworded(old, new) is reworded


@pytest.mark.parametrize(
    ("type_", "one", "other", "equal"),
    [
        ("tensor(float)", [1, 2], [1.0, 2.0], True),
        ("tensor(double)", [1, 1], [1.0], True),
        ("optional(tensor(float))", 1, 1.0, True),
        ("tensor(float)", [True], [1.0], False),
        ("tensor(float)", [0], [-0.0], False),
        ("tensor(int64)", [1], [1.0], False),
        ("tensor(double)", [2**53 - 1], [2.0**53 - 1], True),
        ("tensor(double)", [1 - 2**53], [1 - 2.0**53], True),
        ("tensor(double)", [2**53], [2.0**53], False),
        ("tensor(double)", [-(2**53)], [-(2.0**53)], False),
    ],
)
def test_whole_numbers_stand_for_floats_where_these_hold_them(type_, one, other, equal):
    texts = [behaviour._canonical_text(ExampleValue(type_, each, (2,))) for each in (one, other)]
    assert (texts[0] == texts[1]) is equal
