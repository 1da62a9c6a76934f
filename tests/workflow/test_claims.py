"""What each check of a claim concludes from examples: which it passes over, what counts, and what contradicts it."""

from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper

from opset.model import proto as pb
from opset.opsets.registry import default_registry
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import Attribute, AttributeChange, Parameter
from opset.workflow.examples.claims import (
    CLAIMS,
    Claim,
    ClaimResult,
    ClaimTests,
    _first_difference,
    check_claims,
    check_clarified,
    check_conversion,
    check_emulate,
    check_ignored,
    check_input,
    check_renamed,
    check_undefined,
    states_old_value,
)
from opset.workflow.examples.runner import Examination

RELU = default_registry().schema("Relu", 14)
ONE = (ExampleValue("tensor(int64)", [1], (1,)),)
"""The outputs that examples state."""


def example(name, value=None, since=1):
    """An example with the attribute `a`, or without if `value` is None."""
    return Example(name, since, attributes={} if value is None else {"a": value}, outputs=ONE)


def version(since, *attributes, inputs=()):
    return SimpleNamespace(
        since_version=since,
        attributes={each: Attribute(each, "int", 0) for each in attributes},
        inputs=[Parameter(each, "T") for each in inputs],
        types={},
        conditions=(),
    )


def claims(examples, /, **parts):
    """Tests of claims with examples of the older version, in which "x" is converted, and others are not."""
    usual = {
        "older": version(1, "a"),
        "newer": version(2, "a", "b"),
        "examples": lambda schema: [(each, [np.array([1])]) for each in examples],
        "convert_example": lambda each: None if each.name == "lost" else each.name,
        "run_model": lambda model, each: [np.array([1])],
    }
    tests = SimpleNamespace(**usual | parts)
    tests.contradiction = lambda *arguments: ClaimTests.contradiction(tests, *arguments)
    return tests


def concluded(check, *arguments):
    """What a check concludes: whether an example shows it, what is against it by example, and what is open."""
    (result,) = check(*arguments)
    return result.shown, {each.name: why for each, why in result.against}, result.open


DIFFERS = "output 0: 5 instead of 1"


@pytest.mark.parametrize(
    ("values", "renamed", "examples", "gives", "result"),
    [
        ({}, "", {"one": 3}, {3: 1}, (True, {}, "")),
        ({}, "", {"one": 3}, {3: 5}, (True, {"one": f"with a = 3, {DIFFERS}"}, "")),
        ({}, "", {"none": None}, {}, (False, {}, "")),
        ({}, "", {"none": None, "lost": 3, "one": 3}, {3: 5}, (True, {"one": f"with a = 3, {DIFFERS}"}, "")),
        ({}, "", {"lost": 3}, {3: 5}, (False, {}, "")),
        ({}, "", {"fails": 4}, {}, (False, {}, "")),
        ({3: 7}, "", {"one": 3}, {7: 1, 3: 5}, (True, {}, "")),
        ({3: 7, 4: 8, 2: 6}, "", {"one": 3}, {7: 1}, (True, {}, "no example has [2, 4] for")),
        ({3: 7, 4: 8}, "", {"fails": 9}, {}, (False, {}, "")),
        ({3: 7}, "", {"one": 3, "two": 4}, {7: 1, 4: 5}, (True, {"two": f"with a = 4, {DIFFERS}"}, "")),
        ({}, "old", {"one": 3}, {}, (False, {}, "")),
    ],
)
def test_a_value_that_is_replaced(values, renamed, examples, gives, result):
    given = [example(name, value) for name, value in examples.items()]
    facet = SimpleNamespace(renamed=renamed, values=values)
    tests = claims(
        given,
        newer=SimpleNamespace(**{**vars(version(2, "a")), "attributes": {"a": Attribute("a", "string", "")}}),
        change=SimpleNamespace(attributes={"a": facet}),
        run_with_attribute=lambda model, each, name, value: [np.array([gives[value]])] if value in gives else None,
    )
    assert concluded(check_renamed, Claim(tests, "renamed", (), "", "a", True)) == result


def test_a_renamed_attribute_is_read_by_its_old_name_and_written_by_its_new_one():
    seen = []
    tests = claims(
        [Example("one", 1, attributes={"before": (1, 2)}, outputs=ONE), example("two", 3)],
        change=SimpleNamespace(attributes={"b": SimpleNamespace(renamed="before", values={})}),
        run_with_attribute=lambda model, each, name, value: seen.append((each.name, name, value)) or [np.array([1])],
    )
    assert concluded(check_renamed, Claim(tests, "renamed", (), "", "b", "before")) == (True, {}, "")
    assert seen == [("one", "b", (1, 2))]


@pytest.mark.parametrize(
    ("examples", "shown", "against"),
    [
        ({}, False, ()),
        ({"none": None}, True, ()),
        ({"one": 3, "two": 4}, True, ()),
        ({"zero": 0, "none": None, "also": 0}, True, ("zero", "also")),
    ],
)
def test_a_value_that_is_undefined_is_in_no_example(examples, shown, against):
    tests = claims([example(*each) for each in examples.items()])
    found = concluded(check_undefined, Claim(tests, "undefined", (), "", "a", 0))
    assert found == (shown, dict.fromkeys(against, "it shows what a = 0 means"), "")


@pytest.mark.parametrize(
    ("default", "examples", "gives", "result"),
    [
        (0, {"one": 3}, {3: 1}, (True, {}, "")),
        (0, {"one": 3}, {3: 5}, (True, {"one": f"with the input s = 3, {DIFFERS}"}, "")),
        (4, {"none": None, "one": 3}, {4: 5, 3: 1}, (True, {"none": f"with the input s = 4, {DIFFERS}"}, "")),
        (None, {"none": None}, {None: 5}, (False, {}, "")),
        (None, {"none": None, "lost": 3, "fails": 8, "one": 3}, {3: 1}, (True, {}, "")),
        (0, {"lost": 3}, {3: 1}, (False, {}, "")),
    ],
)
def test_an_attribute_that_became_an_input(default, examples, gives, result):
    def run_with_input(model, each, index, value):
        assert each in given and index == 1
        return [np.array([gives[value]])] if value in gives else None

    older = version(1)
    older.attributes["a"] = Attribute("a", "int", default)
    given = [example(*each) for each in examples.items()]
    tests = claims(given, older=older, newer=version(2, inputs=("X", "s")), run_with_input=run_with_input)
    assert concluded(check_input, Claim(tests, "input", (), "", "a", "s")) == result


@pytest.mark.parametrize(("value", "tried"), [(3, [3, 4, 2]), (1.5, [1.5, 2.5, 0.5]), ((1, 2), [(1, 2)]), ("a", ["a"])])
def test_other_values_of_an_input_confirm_that_one_is_wrong(value, tried):
    """If the model without the value gives something else, another value has to give what the example states."""
    seen = []

    def run_with_input(model, each, index, given):
        seen.append((model, each.name, index, given))
        return [np.array([5])]

    tests = claims([example("one", value)], newer=version(2, inputs=("s",)), run_with_input=run_with_input)
    tests.run_model = lambda model, each: None
    assert concluded(check_input, Claim(tests, "input", (), "", "a", "s")) == (True, {}, "")
    assert seen == [("one", "one", 0, each) for each in tried]


@pytest.mark.parametrize(
    ("examples", "outputs", "result"),
    [
        ([], {}, (False, {})),
        ([example("both")._replace(until=2)], {"both": 5}, (True, {})),
        ([example("old")], {"old": 1}, (True, {})),
        ([example("old")], {}, (False, {})),
        ([example("old")], {"old": 5}, (True, {"old": f"version 2 computes something else: {DIFFERS}"})),
        ([example("defaults"), example("old")], {"defaults": 5, "old": 1}, (True, {})),
        ([Example("extra", 1, attributes={"z": 1}, outputs=ONE)], {"extra": 5}, (False, {})),
        ([example("all", 3, since=2)], {"all": 5}, (True, {"all": f"version 1 computes something else: {DIFFERS}"})),
        ([example("new", since=2)], {"new": 5}, (True, {"new": f"version 1 computes something else: {DIFFERS}"})),
    ],
)
def test_versions_that_are_the_same_compute_the_same(examples, outputs, result):
    def given(schema):
        return [
            (each._replace(until=each.until or each.since), [np.array([1])])
            for each in examples
            if each.since <= schema.since_version <= (each.until or each.since)
        ]

    tests = claims(
        [],
        examples=given,
        has_same_defaults=lambda each: each.name != "defaults",
        kernel_outputs=lambda schema, each: [np.array([outputs[each.name]])] if each.name in outputs else None,
    )
    assert concluded(check_clarified, Claim(tests, "clarified", (), "", "", "")) == (*result, "")


@pytest.mark.parametrize("name", ["up", "down", "renamed"])
@pytest.mark.parametrize("converted", ["", "b", "ab"])
def test_one_example_that_is_converted_is_enough(name, converted, monkeypatch):
    tried = []

    def convert_example(runner, source, each, target):
        tried.append((each.name, source.since_version, target))
        return None, SimpleNamespace(model=each.name if each.name in converted else None)

    monkeypatch.setattr("opset.workflow.examples.claims.convert_example", convert_example)
    runner = SimpleNamespace(examples=lambda schema: [example("a"), example("b"), example("c")])
    shown = concluded(check_conversion, Claim(claims([], runner=runner), name, (), "", name, "derived"))
    assert shown == (bool(converted), {}, "")
    steps = (1, 2) if name == "up" else (2, 1)
    assert tried == [(each, *steps) for each in {"": "abc", "b": "ab", "ab": "a"}[converted]]


@pytest.mark.parametrize(
    ("name", "renamed", "up", "is_stated", "applies"),
    [
        ("b", "", "derived", False, True),
        ("b", "", "written", False, False),
        ("b", "", "written", True, True),
        ("b", "a", "derived", True, False),
        ("gone", "", "derived", True, False),
    ],
)
def test_when_an_old_value_is_tested(name, renamed, up, is_stated, applies):
    tests = claims(
        [],
        change=SimpleNamespace(up=up, attributes={name: SimpleNamespace(renamed=renamed)}),
        runner=SimpleNamespace(has_key=lambda schema, *keys: is_stated and keys == ("change", "k")),
    )
    assert states_old_value(Claim(tests, "old", ("k",), "", name, 1)) is applies


def test_an_ignored_attribute_is_tested_if_the_older_version_has_it():
    applies = [
        CLAIMS.by_code["ignored"].applies(Claim(claims([]), "ignored", (), "", name, True)) for name in ("a", "b")
    ]
    assert applies == [True, False]


@pytest.mark.parametrize(
    ("gives", "result"),
    [
        ({3: 1, 0: 1, 1: 1}, (True, {})),
        ({3: 1, 0: 1, 1: 5}, (True, {"one": f"with a = 1, {DIFFERS}"})),
        ({3: 1, 1: 5}, (True, {"one": f"with a = 1, {DIFFERS}"})),
        ({3: 5}, (False, {})),
    ],
)
def test_a_value_that_is_ignored_changes_no_output(gives, result):
    def outputs(schema, each):
        value = gives.get(each.attributes["a"]) if schema.since_version == 1 else None
        return None if value is None else [np.array([value])]

    tests = claims([example("one", 3)], kernel_outputs=outputs)
    tests.check_effect = lambda *arguments: ClaimTests.check_effect(tests, *arguments)
    assert concluded(check_ignored, Claim(tests, "ignored", (), "", "a", True)) == (*result, "")


def block(**parts):
    usual = {"clarified": "", "meaning": "", "up": "", "down": "", "attributes": {}, "renamed": False, "emulate": {}}
    return SimpleNamespace(**usual | parts)


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        (block(), []),
        (block(clarified="what NaN is"), ["clarified"]),
        (block(clarified="what NaN is", meaning="more"), []),
        (block(up="derived", down="written"), ["up: derived"]),
        (block(up="impossible: x", down="derived"), ["down: derived"]),
        (
            block(attributes={"a": AttributeChange(renamed="b", values={"x": "y"})}, renamed=True),
            ["a: {renamed: b}", "renamed: true"],
        ),
        (
            block(attributes={"a": AttributeChange(old=0, values={1: "y"}), "b": AttributeChange(undefined=())}),
            ["a: {old: 0}", "a: {values: {1: 'y'}}", "b: {undefined: ()}"],
        ),
        (
            block(
                attributes={"a": AttributeChange(ignored=True, input="A", negative=True, only_for=("float", "int8"))}
            ),
            ["a: {ignored: true}", "a: {input: A}", "a: {only_for: ['float', 'int8']}", "a: {negative: true}"],
        ),
        (block(emulate={"float16": "float"}), ["emulate: {float16: float}"]),
    ],
)
def test_the_claims_of_a_block(change, texts):
    entries = [*ClaimTests._entries(SimpleNamespace(change=change))]
    assert [each.text for each in entries] == texts
    for each in entries:
        assert each.name == {"derived": each.text.partition(":")[0], "moved": "up", "clarified": ""}.get(
            each.key, each.keys[1] if len(each.keys) > 1 else ""
        )


ONCE, TWICE = example("once"), example("twice")


@pytest.mark.parametrize(
    ("result", "missing", "counted", "why", "note"),
    [
        (ClaimResult(True), "", "passed", "", ""),
        (ClaimResult(True, open="it may be otherwise for"), "", "passed", "", "it may be otherwise for"),
        (ClaimResult(False), "", "skipped", "", "no example shows"),
        (ClaimResult(True, [(ONCE, "it differs")]), "", "failed", "it differs", ""),
        (ClaimResult(False, [(ONCE, "it differs")], "who knows"), "", "failed", "it differs", ""),
        (
            ClaimResult(True, [(ONCE, "it differs"), (TWICE, "")]), "", "failed",
            "it differs; 1 more example contradicts it", "",
        ),
        (
            ClaimResult(True, [(ONCE, "it differs"), (TWICE, ""), (TWICE, "")]), "", "failed",
            "it differs; 2 more examples contradict it", "",
        ),
        (ClaimResult(True), "1", "skipped", "", ""),
        (ClaimResult(True), "2", "skipped", "", ""),
    ],
)  # fmt: skip
def test_a_claim_is_one_test(result, missing, counted, why, note, monkeypatch):
    monkeypatch.setattr(CLAIMS, "apply", lambda claim, codes: [("clarified", result)])
    schemas = [SimpleNamespace(name="Op", domain="d", since_version=each, change=None) for each in (1, 2, 3)]
    schemas[0].change = schemas[1].change = block(clarified="it")
    runner = SimpleNamespace(
        registry=SimpleNamespace(versions=lambda name, domain: tuple(schemas)),
        lacks_written_adapter=lambda schema, direction: False,
        why_not_computed=lambda schema: "no kernel" if str(schema.since_version) == missing else "",
        place_of_key=lambda schema, *keys: f"{schema.since_version} {' '.join(keys)}",
        place_of=lambda schema, each: each.name,
    )
    for schema in (schemas[0], schemas[2]):  # the first version, and one that has no such block
        check_claims(runner, schema, report := Examination())
        assert report == Examination()
    check_claims(runner, schemas[1], report := Examination())
    assert (report.passed["claims"], report.failed["claims"], sum(report.skipped.values())) == tuple(
        int(counted == each) for each in ("passed", "failed", "skipped")
    )
    if counted == "skipped":
        assert [*report.skipped] == [("claims", "no kernel" if missing else "no example shows it")]
    assert report.notes == ([f"2 change clarified: d.Op 2: {note} 'clarified'"] if note else [])
    assert [(each.code, each.place, each.why, each.help) for each in report.findings] == (
        [("T108", "2 change clarified", why, "the example is at once")] if why else []
    )


@pytest.mark.parametrize(
    ("results", "usual", "others", "why"),
    [
        (1, None, (), False),
        (1, 1, (1,), False),
        (5, 1, (), True),
        (5, 5, (), False),
        (5, None, (), False),
        (5, None, (None, 5), False),
        (5, None, (None, 5, 1), True),
        (5, 5, (1,), True),
    ],
)
def test_wrong_outputs_contradict_a_claim_if_others_are_right(results, usual, others, why):
    def outputs(value):
        return None if value is None else [np.array([value])]

    tests = SimpleNamespace(run_model=lambda model, each: outputs(usual))
    found = ClaimTests.contradiction(tests, example("one"), "model", outputs(results), map(outputs, others))
    assert bool(found) is why


def test_an_effect_is_looked_for_in_the_examples_that_are_concerned():
    examples = [example("other", 3), example("default"), example("one", 3)]
    tests = claims(examples, kernel_outputs=lambda schema, each: [np.array([5])])
    found = ClaimTests.check_effect(
        tests, tests.older, "a", lambda each, values: each.name != "other" and values == [1]
    )
    against = [(each.name, why) for each, why in found.against]
    assert against == [("default", f"with a = 1, {DIFFERS}"), ("one", f"with a = 0, {DIFFERS}")]


@pytest.mark.parametrize(
    ("kernel", "emulated", "result"),
    [
        ({"one": 1, "two": 1}, {"one": 1, "two": 1}, (True, {})),
        ({"one": None, "two": 1}, {"one": 1, "two": 5}, (True, {"two": "through float, output 0: 5 instead of 1"})),
        ({"one": 1, "two": 1}, {"one": None, "two": 5}, (True, {"two": "through float, output 0: 5 instead of 1"})),
        ({"one": None, "two": None}, {"one": 5, "two": 5}, (False, {})),
        ({"one": 1, "two": 1}, {"one": None, "two": None}, (False, {})),
    ],
)
def test_a_type_that_another_one_emulates(kernel, emulated, result):
    def outputs(value):
        return None if value is None else [np.array([value])]

    tests = claims(
        [],
        examples_of_type=lambda element: [example("one"), example("two")] if element == "float16" else [],
        kernel_outputs=lambda schema, each: outputs(kernel[each.name]) if schema.since_version == 2 else None,
        emulating_model=lambda each, values, new, old: (new, old),
        run_model=lambda model, each: outputs(emulated[each.name]) if model == ("float16", "float") else None,
    )
    assert concluded(check_emulate, Claim(tests, "emulate", (), "", "float16", "float")) == (*result, "")


def node_model(*nodes, **initializers):
    graph = helper.make_graph(
        nodes, "g", [], [], [helper.make_tensor(name, 7, *each) for name, each in initializers.items()]
    )
    return pb.ModelProto.FromString(helper.make_model(graph).SerializeToString())


def claims_of_nodes():
    newer = SimpleNamespace(name="Pad", domain="", attributes={"a": Attribute("a", "int", 0)})
    tests = SimpleNamespace(newer=newer, run_model=lambda model, each: model)
    tests.operator_nodes = lambda model: ClaimTests.operator_nodes(tests, model)
    return tests


def test_an_attribute_of_all_nodes_of_the_operator_is_set():
    tests = claims_of_nodes()
    model = node_model(
        helper.make_node("Pad", ["x"], ["y"], a=1, b=2),
        helper.make_node("Pad", ["x"], ["u"], domain="ai.onnx"),
        helper.make_node("Pad", ["x"], ["v"], domain="other", a=1),
        helper.make_node("Neg", ["x"], ["w"]),
    )
    before = model.SerializeToString()
    changed = ClaimTests.run_with_attribute(tests, model, None, "a", 5)
    found = [sorted((each.name, each.i) for each in node.attribute) for node in changed.graph.node]
    assert found == [[("a", 5), ("b", 2)], [("a", 5)], [("a", 1)], []]
    assert model.SerializeToString() == before
    assert ClaimTests.run_with_attribute(tests, node_model(helper.make_node("Neg", ["x"], ["y"])), None, "a", 5) is None


PAD = helper.make_node("Pad", ["x", "s"], ["y"])


@pytest.mark.parametrize(
    ("model", "index", "value", "stated"),
    [
        (node_model(PAD, s=([1], [3])), 1, 5, ([1], [5])),
        (node_model(PAD, s=([1, 1], [3])), 1, (5,), ([1, 1], [5])),
        (node_model(PAD, s=([], [3])), 1, 5, ([], [5])),
        (node_model(PAD, s=([1], [3])), 1, [5, 6], ([2], [5, 6])),
        (node_model(PAD, s=([2, 1], [3, 4])), 1, (5, 6), ([2, 1], [5, 6])),
        (node_model(PAD, t=([1], [3])), 1, 5, None),  # it is computed
        (node_model(helper.make_node("Constant", [], ["s"], domain="own"), PAD), 1, 5, None),
        (node_model(helper.make_node("Filled", [], ["s"], v=helper.make_tensor("", 7, [1], [3])), PAD), 1, 5, None),
        (node_model(PAD, s=([1], [3])), 2, 5, None),
        (node_model(helper.make_node("Pad", ["x", "", "s"], ["y"]), s=([1], [3])), 1, 5, None),
        (node_model(PAD, PAD, s=([1], [3])), 1, 5, None),
        (node_model(helper.make_node("Neg", ["x", "s"], ["y"]), s=([1], [3])), 1, 5, None),
        (node_model(helper.make_node("Constant", [], ["s"], value_int=3), PAD), 1, 5, None),
        (node_model(helper.make_node("Identity", ["t"], ["s"]), PAD, t=([1], [3])), 1, 5, None),
    ],
)
def test_a_constant_input_of_the_only_node_is_set(model, index, value, stated):
    before = model.SerializeToString()
    changed = ClaimTests.run_with_input(claims_of_nodes(), model, None, index, value)
    assert model.SerializeToString() == before
    assert (changed is None) is (stated is None)
    if stated is not None:
        (tensor,) = changed.graph.initializer
        values = np.frombuffer(tensor.raw_data, np.int64).tolist() if tensor.raw_data else [*tensor.int64_data]
        assert (tensor.name, [*tensor.dims], values) == ("s", *stated)


def test_a_constant_node_is_set_as_well():
    other = helper.make_node("Constant", [], ["t"], value=helper.make_tensor("t", 7, [1], [9]))
    constant = helper.make_node("Constant", [], ["s"], value=helper.make_tensor("of", 7, [1], [3]))
    changed = ClaimTests.run_with_input(claims_of_nodes(), node_model(other, constant, PAD), None, 1, 5)
    tensors = [each.attribute[0].t for each in changed.graph.node[:2]]
    values = [np.frombuffer(each.raw_data, np.int64).tolist() or [*each.int64_data] for each in tensors]
    assert ([each.name for each in tensors], values) == (["t", "of"], [[9], [5]])


def test_the_first_difference_of_outputs():
    one, far = np.array([1], np.int64), np.array([5], np.int64)
    near = [np.array([each], np.float32) for each in (1, np.nextafter(np.float32(1), np.float32(2)))]
    assert _first_difference([one, one], [one, one]) == "" and _first_difference([], []) == ""
    assert _first_difference([one, one, one], [one, far, one]) == "output 1: 5 instead of 1"
    assert _first_difference([one, near[0]], [one, near[1]]) == "output 1: it differs by 1 units of the last digit"
    with pytest.raises(ValueError, match="zip"):
        _first_difference([one], [one, one])
