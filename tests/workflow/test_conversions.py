"""What the conversion of an example counts as: right, wrong, refused or skipped; what its adapters are said to do."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper

from opset.errors import Finding, OpsetError, RunError
from opset.model import proto as pb
from opset.opsets.hooks import TRUST
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.schemas.example import Example, ExampleValue
from opset.version_converter.registration import LAYER
from opset.workflow.examples import conversions, outcomes
from opset.workflow.examples.conversions import (
    ULP,
    _body_difference,
    _check_conversion,
    adapter_failure,
    body_opsets,
    check_bodies,
    check_conversions,
    convert_example,
    why_no_values,
    with_standard,
)
from opset.workflow.examples.outcomes import summarize
from opset.workflow.examples.runner import Examination, ExampleRunner

FLOATS = ExampleValue("tensor(float)", [1.0], (1,))
EXAMPLE = Example("it", 13, inputs=(FLOATS,), outputs=(FLOATS,))
ONE, FIVE = ([np.array([each], np.float32)] for each in (1, 5))
RELU = default_registry().schema("Relu", 14)


def away(count):
    """The output 1, this many units of the last digit away."""
    return [np.array([1 + count * 2.0**-23], np.float32)]


def running(result):
    """A runner whose models and kernels give this result, or raise it."""

    def run(model, example):
        assert example is EXAMPLE or example.name == "it"
        if isinstance(result, Exception):
            raise result
        return result

    return SimpleNamespace(run=run, outputs=run, why_not_computed=lambda schema: "")


@pytest.mark.parametrize(
    ("actual", "expected", "why"),
    [
        (ONE, None, ""),
        (FIVE, None, "output 0: 5.0 instead of 1.0"),
        (ONE, ONE, ""),
        (ONE, FIVE, "output 0: it is"),
        (away(ULP), ONE, ""),
        (away(ULP + 1), ONE, f"output 0: it is {ULP + 1} units of the last digit from the kernel's result"),
        ([*ONE, *FIVE], [*ONE, *ONE], "output 1: it is"),
        ([np.array([1.0])], ONE, "output 0: "),
        ([np.array([5])], [np.array([1])], "output 0: 5 instead of 1"),
        (RunError(Finding("R202", "no")), ONE, "the body cannot be computed: "),
    ],
)
def test_how_a_body_differs(actual, expected, why):
    found = _body_difference(running(actual), EXAMPLE, None, expected)
    assert found.startswith(why) and bool(found) is bool(why)


def test_random_results_of_a_body_are_compared_with_what_the_example_states():
    unknown = EXAMPLE._replace(outputs=(FLOATS._replace(content=None),))
    assert _body_difference(running(FIVE), unknown, None, ONE) == ""
    assert _body_difference(running([np.array([5])]), unknown, None, ONE) != ""


@pytest.mark.parametrize(
    ("kernel", "result", "why"),
    [
        ("", ONE, ""),
        ("", FIVE, "the kernel does not compute the example"),
        ("", RunError(Finding("R202", "no")), "the kernel does not compute the example"),
        ("there is none", ONE, "there is none"),
    ],
)
def test_why_an_example_has_no_values(kernel, result, why):
    runner = running(result)
    runner.why_not_computed = lambda schema: kernel
    assert why_no_values(runner, RELU, EXAMPLE) == why


@pytest.mark.parametrize(
    ("is_converted", "refusals", "why"),
    [
        (False, [("C204", "no", "")], ""),
        (False, [(LAYER.code, "it broke", "")], "it broke"),
        (False, [("C204", "no", ""), (LAYER.code, "first", ""), (LAYER.code, "second", "")], "first"),
        (False, [(LAYER.code, "not run", TRUST)], ""),
        (False, [(LAYER.code, "not run", TRUST), (LAYER.code, "it broke", "")], "it broke"),
        (True, [(LAYER.code, "it broke", "")], ""),
    ],
)
def test_an_adapter_fails_if_it_raises_an_error_of_another_kind(is_converted, refusals, why):
    found = [Finding(code, "", why=each, help=help) for code, each, help in refusals]
    assert adapter_failure(SimpleNamespace(model=is_converted or None, refusals=found)) == why


@pytest.mark.parametrize(
    ("domains", "after"),
    [([], [("", 9)]), ([""], [("", 1)]), (["ai.onnx"], [("ai.onnx", 1)]), (["d"], [("d", 1), ("", 9)])],
)
def test_a_model_imports_the_standard_once(domains, after):
    model = pb.ModelProto()
    for domain in domains:
        model.opset_import.add(domain=domain, version=1)
    assert [(each.domain, each.version) for each in with_standard(model, 9).opset_import] == after


def converted(name, **more):
    """A conversion to a model that is known by the name of its graph."""
    model = SimpleNamespace(graph=name)
    return SimpleNamespace(model=SimpleNamespace(as_given=lambda: model), refusals=[], **more)


def refusing(*findings):
    return SimpleNamespace(model=None, refusals=[Finding(code, "", why=why) for code, why in findings])


LAST = RELEASES[-1].opset


@pytest.mark.parametrize(
    ("domain", "since", "bodies", "opsets"),
    [
        ("", 6, [9, 7, 13, 7], {7, 8, 9, 12, 13, 19}),
        ("", 14, [7, 15], {7, 13, 14, 15, 19}),
        ("", 20, [9, 16], {9, 15, 16, 19, 24}),
        ("", 25, [9, 25], {9, 24, 25, LAST}),
        ("com.acme", 6, [7, 9], {7, 8, 9, LAST}),
    ],
)
def test_a_body_is_tried_where_it_begins_and_ends(domain, since, bodies, opsets):
    function = tuple(RELU.function[0]._replace(opset=each) for each in bodies)
    schema = replace(RELU, domain=domain, since_version=since, function=function)
    registry = SimpleNamespace(since_versions=lambda name: [1, 6, 20, 25] if since == 6 else [1, 6, 14, 20, 25])
    assert body_opsets(registry, schema) == sorted(opsets)


@pytest.mark.parametrize(
    ("bodies", "kernel", "outcome", "asked"),
    [
        ({7: converted("7"), 9: converted("9")}, "", "passed", [7, 9]),
        ({7: refusing(("C204", "no")), 9: converted("9")}, "", "passed", [7, 9]),
        ({7: converted("7"), 9: refusing(("C204", "no"))}, "there is none", "passed", [7, 9]),
        ({7: refusing(("C204", "a")), 9: refusing(("C202", "b"), ("C201", "c"))}, "",
         "no body serves it (C202)", [7, 9]),
        ({7: refusing(("C204", "a")), 9: refusing(("C202", "b"))}, "there is none",
         ("T112", "there is none, and no body serves it (C202)"), [7, 9]),
        ({7: converted("wrong"), 9: converted("9")}, "",
         ("T106", "output 0: it is 3.36e+07 units of the last digit from the kernel's result"), [7]),
        ({7: converted("7"), 9: converted("wrong")}, "there is none", ("T106", "output 0: 5.0 instead of 1.0"), [7, 9]),
        ({7: OpsetError(Finding("S233", "it is unreadable", why="so")), 9: converted("9")}, "",
         ("T106", "it is unreadable: so"), [7]),
        ({}, "wrong", "the kernel does not compute the example", []),
    ],
)  # fmt: skip
def test_the_bodies_of_a_version_are_one_test(bodies, kernel, outcome, asked, monkeypatch):
    opsets = []

    def express(registry, model, schema, opset):
        opsets.append(opset)
        assert model.opset == opset
        if isinstance(bodies[opset], Exception):
            raise bodies[opset]
        return bodies[opset]

    monkeypatch.setattr(conversions, "body_opsets", lambda registry, schema: [7, 9] if registry == "all" else [])
    monkeypatch.setattr(conversions, "express_by_body", express)
    monkeypatch.setattr(conversions, "with_standard", lambda model, opset: SimpleNamespace(opset=opset))
    runner = SimpleNamespace(
        registry="all",
        why_no_kernel=lambda schema: "" if kernel == "wrong" else kernel,
        why_not_computed=lambda schema: "" if kernel == "wrong" else kernel,
        outputs=lambda schema, each: FIVE if kernel == "wrong" or schema is not RELU else ONE,
        run=lambda model, each: FIVE if model.graph == "wrong" else ONE,
        place_of=lambda schema, each: "here",
        place_of_key=lambda schema, key: key,
    )
    report = Examination()
    check_bodies(runner, replace(RELU, function=()), EXAMPLE, report)
    assert report == Examination()
    check_bodies(runner, RELU, EXAMPLE, report)
    assert opsets == asked
    if outcome == "passed":
        assert (report.passed, report.failed, report.skipped) == ({"function": 1}, {}, {})
    elif isinstance(outcome, str):
        assert (report.passed, report.failed, report.skipped) == ({}, {}, {("function", outcome): 1})
    else:
        assert (report.passed, report.failed, report.skipped) == ({}, {"function": 1}, {})
        (finding,) = report.findings
        assert (finding.code, finding.why, finding.place) == (*outcome, "here")
        assert f"at opset {asked[-1]} " in finding.message or finding.code == "T112"


BROKEN = (LAYER.code, "it broke")
FAILS = ("T110", "an adapter fails on the example 'it' on the way ")
CHANGES = ("T107", "the example 'it' changes its values on the way ")


@pytest.mark.parametrize(
    ("target", "there", "back", "results", "outcome"),
    [
        (13, converted("13"), converted("14"), {"13": ONE}, []),
        (13, converted("13"), converted("14"), {"13": FIVE}, (*CHANGES, "14 -> 13", ["13"])),
        (13, converted("13"), converted("new"), {"13": ONE, "new": ONE}, []),
        (13, converted("13"), converted("new"), {"13": ONE, "new": FIVE}, (*CHANGES, "14 -> 13 -> 14", ["13", "new"])),
        (13, converted("13"), refusing(("C204", "no")), {"13": ONE}, []),
        (13, converted("13"), refusing(BROKEN), {"13": ONE}, (*FAILS, "14 -> 13 -> 14", ["13"])),
        (13, converted("example"), refusing(BROKEN), {"example": ONE}, []),
        (13, refusing(BROKEN), None, {}, (*FAILS, "14 -> 13", [])),
        (13, refusing(("C204", "b"), ("C201", "a"), ("C204", "c")), None, {}, "C201 C204"),
        (0, converted("none"), None, {"none": ONE}, []),
        (0, converted("none"), None, {"none": FIVE}, (*CHANGES, "14 -> other operators", ["none"])),
        (5, converted("5"), converted("14"), {"5": ONE}, []),
    ],
)
def test_an_example_that_is_converted_and_back(target, there, back, results, outcome, monkeypatch):
    asked, run = [], []

    def conversion(runner, model, schema, to):
        asked.append((model.graph, to))
        return there if len(asked) == 1 else back

    def compute(model, example):
        run.append(model.graph)
        return results[model.graph]

    monkeypatch.setattr(conversions, "conversion", conversion)
    monkeypatch.setattr(conversions, "model_of", lambda schema, each: SimpleNamespace(
        graph="14" if schema is RELU else "example"))  # fmt: skip
    monkeypatch.setattr(conversions, "adapter_declarations", lambda runner, schema, *step: str(step))
    older = SimpleNamespace(since_version=13)
    runner = SimpleNamespace(
        registry=SimpleNamespace(schema=lambda name, version, domain: older if version == 13 else None),
        why_not_computed=lambda schema: "",
        outputs=lambda schema, each: ONE,
        run=compute,
        place_of=lambda schema, each: "here",
    )
    report = Examination()
    _check_conversion(runner, RELU, EXAMPLE, target, report)
    if isinstance(outcome, str):
        assert [(each.target, each.example, each.codes) for each in report.refused] == [(target, "it", outcome)]
        assert report.skipped == {("conversion", f"refused ({outcome})"): 1}
        assert report.findings == []
    elif outcome:
        code, message, way, ran = outcome
        (finding,) = report.findings
        assert (report.passed, report.failed) == ({}, {"conversion": 1})
        assert (finding.code, finding.message) == (code, f"Relu 14: {message}{way}") and run == ran
        if code == "T107":
            assert finding.help == str((13, 14) if "->" in way[6:] else (14, target))
    else:
        assert (report.passed, report.failed) == ({"conversion": 1}, {})
        assert report.findings == [] and report.refused == [] and run == [*results]
    returns = there.model is not None and target and "example" not in results and (not outcome or "-> 14" in outcome[2])
    assert asked == [("14", target), *([(next(iter(results)), 14)] if returns else [])]


@pytest.mark.parametrize(
    ("holds", "kernel", "asked"), [(True, "", 1), (True, "there is none", 0), (False, "there is none", 1)]
)
def test_another_version_that_does_not_compute_the_example_is_no_target(holds, kernel, asked, monkeypatch):
    """Its kernel is not asked if the example is not one of that version."""
    calls = []
    monkeypatch.setattr(conversions, "conversion", lambda *given: calls.append(given) or refusing(("C204", "no")))
    runner = running(ONE)
    runner.why_not_computed = lambda schema: kernel
    older = default_registry().schema("Relu", 13)
    runner.registry = SimpleNamespace(schema=lambda name, version, domain: older)
    report = Examination()
    _check_conversion(runner, RELU, EXAMPLE._replace(since=13 if holds else 14), 13, report)
    assert len(calls) == len(report.refused) == asked


@pytest.mark.parametrize(("why", "targets"), [("no values", [1]), ("", []), ("", [1, 13])])
def test_an_example_is_converted_to_each_target(why, targets, monkeypatch):
    tried = []
    monkeypatch.setattr(conversions, "why_no_values", lambda runner, schema, each: why)
    monkeypatch.setattr(conversions, "targets_of", lambda runner, schema, each: targets)
    monkeypatch.setattr(
        conversions, "_check_conversion", lambda runner, schema, each, target, report: tried.append(target)
    )
    report = Examination()
    check_conversions(None, RELU, EXAMPLE, report)
    assert tried == ([] if why else targets)
    none = "the operator has one version, and nothing expresses it by others"
    assert [*report.skipped] == ([("conversion", why or none)] if why or not targets else [])


def event(transition, made=None, refusal=None):
    return ("", "Thin", transition, made, refusal)


@pytest.mark.parametrize(
    ("events", "summary"),
    [
        ([], {}),
        ([event("2-1", ("A", "B"))], {"2-1": (("A", "B"), (), False, ())}),
        ([event("2-1", ("B", "A")), event("2-1", ("A", "C", "A"))], {"2-1": (("A",), ("B", "C"), False, ())}),
        ([event("2-1", ("A",)), event("2-1", ("B",))], {"2-1": ((), ("A", "B"), False, ())}),
        ([event("2-1")], {"2-1": ((), (), True, ())}),
        (
            [event("2-1"), event("2-1", ("A",)), event("1-2")],
            {"2-1": (("A",), (), True, ()), "1-2": ((), (), True, ())},
        ),
        (
            [event("2-1", None, ("C204", "b")), event("2-1", None, ("C204", "a")), event("2-1", None, ("C204", "b"))],
            {"2-1": ((), (), False, (("C204", "a"), ("C204", "b")))},
        ),
        ([event("2-1", None, ("C206", "a")), event("2-1", ("A",))], {"2-1": (("A",), (), False, ())}),
    ],
)
def test_what_adapters_did_is_summed_up(events, summary):
    assert {key: tuple(each) for key, each in summarize(events).items()} == summary


def model_of_nodes(*nodes, opset=17, domains=()):
    graph = helper.make_graph(nodes, "g", [], [])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(each, 1) for each in domains)]
    return helper.make_model(graph, opset_imports=imports)


def test_models_that_compute_the_same_have_one_identity():
    """Nodes of the same versions are alike at any opset; subgraphs and functions are not looked into."""
    identity = ExampleRunner(default_registry())._model_identity
    relu, scale = helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Scale", ["x"], ["y"], domain="com.acme")
    one, other = (model_of_nodes(relu, opset=each) for each in (14, 17))
    assert identity(one) == identity(other) == (one.graph.SerializeToString(), (14,))
    assert identity(model_of_nodes(relu, opset=13)) == (one.graph.SerializeToString(), (13,))
    assert identity(model_of_nodes(scale, relu, domains=["com.acme"]))[1] == (-1, 14)
    branch = helper.make_graph([relu], "b", [], [])
    nested = helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    inside = [model_of_nodes(nested, opset=each) for each in (16, 17)]
    assert [identity(each) for each in inside] == [(each.SerializeToString(),) for each in inside]
    later = model_of_nodes(relu, nested)
    assert identity(later) == (later.SerializeToString(),)
    one.functions.add(name="f")
    assert identity(one) == (one.SerializeToString(),)


@pytest.mark.parametrize(
    ("calls", "converted", "events"),
    [
        ({}, "plain a, plain b, plain c", ""),
        ({"plain a": "1", "varied a": "2"}, "plain a, varied a, plain b, plain c", "12"),
        ({"plain a": "1", "plain b": "1"}, "plain a, varied a, plain b, plain c", "1"),
        ({"plain a": "1", "varied a": "2", "plain b": "2", "plain c": "23"},
         "plain a, varied a, plain b, plain c, varied c", "123"),
        ({"plain a": "1", "plain b": "2", "plain c": "3"}, "plain a, varied a, plain b, varied b, plain c", "123"),
        ({"plain a": "1x"}, "plain a, varied a, plain b, plain c", "1"),
    ],
)  # fmt: skip
def test_an_example_that_shows_something_new_is_varied(calls, converted, events, monkeypatch):
    """At most MOST_VARIED are, and only to the targets that are one step away; others' events are left out."""
    tried = []

    def convert(registry, routes, targets, models):
        tried.append(models)
        assert targets == (["far", "near"] if models.startswith("plain") else ["near"])
        events = calls.get(models, "")
        routes.update(("d", "Thin" if each != "x" else "Other", each, None, None) for each in events)

    monkeypatch.setattr(outcomes, "MOST_VARIED", 2)
    monkeypatch.setattr(outcomes, "RecordingRoutes", lambda registry, calls: calls)
    monkeypatch.setattr(outcomes, "_targets", lambda *given: [("far", False), ("near", True)])
    monkeypatch.setattr(outcomes, "_convert", convert)
    monkeypatch.setattr(outcomes, "plain_forms", lambda schema, each: f"plain {each.name}")
    monkeypatch.setattr(outcomes, "varied_forms", lambda schema, each: f"varied {each.name}")
    given = [Example("broken", 1, error="C1"), *(Example(name, 1) for name in "abc"), Example("new", 2)]
    registry = SimpleNamespace(examples=lambda name, domain: given if (name, domain) == ("Thin", "d") else None)
    schema = SimpleNamespace(name="Thin", domain="d", since_version=1)
    found = outcomes.record_outcomes(registry, schema)
    assert ", ".join(tried) == converted and {each[2] for each in found} == {*events}


@pytest.mark.parametrize(
    ("stated", "differing"),
    [
        (None, "1-2, 2-1"),
        ({}, "1-2, 2-1"),
        ({"Thin": {"2-1": "b"}}, "1-2"),
        ({"Thin": {"1-2": "a", "2-1": "b"}}, ""),
        ({"Thin": {"1-2": "x", "2-1": "b", "3-2": "c"}, "Other": {}}, "1-2, 3-2"),
    ],
)
def test_a_table_that_does_not_say_what_adapters_do_is_stale(stated, differing, monkeypatch):
    monkeypatch.setattr(outcomes, "read_table", lambda file: stated)
    table = Path("schemas/com.acme/conversions.json")
    monkeypatch.setattr(outcomes, "_outcomes_by_file", lambda *given: {(table, "Thin"): {"1-2": "a", "2-1": "b"}})
    found = [(each.code, each.place, each.why) for each in outcomes.stale_tables(None, [], set())]
    assert found == ([("T113", str(table), f"transitions {differing}")] if differing else [])


@pytest.mark.parametrize(
    ("imports", "opset", "left"),
    [
        ({}, (), {"": RELEASES[-1].opset}),
        ({"com.acme": 2}, (), {"com.acme": 2, "": RELEASES[-1].opset}),
        ({"com.acme": 2, "ai.onnx.ml": 3}, (14,), {"com.acme": 2, "ai.onnx.ml": 3, "": 14}),
        ({"": 13}, (), {"": 13}),
        ({"com.acme": 2, "ai.onnx": 13}, (14,), {"com.acme": 2, "ai.onnx": 13}),
    ],
)
def test_an_import_of_the_standard_is_added_where_there_is_none(imports, opset, left):
    model = pb.ModelProto()
    for name, version in imports.items():
        model.opset_import.add(domain=name, version=version)
    assert with_standard(model, *opset) is model
    assert {each.domain: each.version for each in model.opset_import} == left


@pytest.mark.parametrize(("target", "is_constant"), [(7, True), (10, False)])
def test_inputs_are_constants_where_a_conversion_needs_their_values(target, is_constant):
    runner, report = ExampleRunner(default_registry()), Examination()
    schema = runner.registry.schema("Upsample", 9)
    given = next(iter(runner.examples(schema)))
    model, converted = convert_example(runner, schema, given, target)
    assert bool(model.graph.initializer) == is_constant and converted.model is not None
    _check_conversion(runner, schema, given, target, report)
    assert (report.passed, report.refused, report.findings) == ({"conversion": 1}, [], [])
