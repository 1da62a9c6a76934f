"""Why a runtime does not run a model as it is: the first reason, in the order in which a runtime meets them."""

import pytest
from onnx import parser

from opset.budget import BudgetExceeded, Limits
from opset.model import load
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime
from opset.version_converter import survey as surveys
from opset.version_converter.conversion import convert_model, find_foreign_types, find_newer_imports
from opset.version_converter.survey import Survey
from opset.version_converter.targets import target_at_runtime, target_of_version
from tests.version_converter.npu import runtime_file, takes

REGISTRY = default_registry()
PLAIN = '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Relu (x) }'
FUNCTION = """<ir_version: 8, opset_import: ["": 17, "this": 1]> m (float[2] x) => (float[2] y) { y = this.f (x) }
    <opset_import: ["": 17], domain: "this"> f (a) => (b) { b = Relu (a) }"""
SILENT = {"release": "1.0", "opset": [7, 21], "how": "documented"}


def lack(folder, text, kernels=None, releases=SILENT, **keys):
    """Return message, place and reason of the first lack; "" if there is none."""
    file = runtime_file(folder, takes(**(kernels or {})), releases=[releases], **keys)
    survey = Survey(load(parser.parse_model(text)), default_registry())
    found = next(survey.find_lacks(find_runtime("npu==1.0", [file])), None)
    if found is None:
        return ""
    assert (found.code, found.help) == ("C209", "convert the model for it: opset convert MODEL --for RUNTIME")
    return found.message, found.place, found.why


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        (PLAIN, {}, ""),
        (PLAIN, {"opset": [7, 17]}, ""),
        (PLAIN, {"opset": [17, None]}, ""),
        (PLAIN, {"opset": None}, ""),
        (PLAIN, {"opset": [7, 16]},
         ("npu 1.0 takes ai.onnx at most 16", "opset_import", "the model imports ai.onnx 17")),
        (PLAIN, {"opset": [18, 21]},
         ("npu 1.0 takes ai.onnx at least 18", "opset_import", "the model imports ai.onnx 17")),
        (PLAIN.replace("17]", '17, "ai.onnx.ml": 4]'), {"ml": 3},
         ("npu 1.0 takes ai.onnx.ml at most 3", "opset_import", "the model imports ai.onnx.ml 4")),
        (PLAIN, {"ir": 8}, ""),
        (PLAIN, {"ir": 7}, ("npu 1.0 takes IR version 7 at most", "ir_version", "the model has IR version 8")),
        (PLAIN.replace("17]", '17, "com.acme": 4]'), {},
         ("npu 1.0 may not know a domain", "opset_import", "nothing uses the import of com.acme")),
        (FUNCTION, {}, ""),
        (FUNCTION, {"local_functions": False},
         ("npu 1.0 runs no functions that a model defines", "functions", "the model has the function this.f")),
        (PLAIN.replace("Relu", "Tan"), {},
         ("Tan does not run on npu 1.0", "graph 'm', node number 0 (Tan)", "npu 1.0 has no Tan")),
        (PLAIN.replace("Relu", "Tan"), {"lists_operators": False}, ""),
    ],
)  # fmt: skip
def test_the_first_reason_is_told(tmp_path, text, release, expected):
    assert lack(tmp_path, text, releases={**SILENT, **release}) == expected


@pytest.mark.parametrize(("result", "why"), [("wrong", ""), ("fails", "Relu 14: nonsense")])
def test_a_node_that_the_runtime_computes_wrongly_is_one_that_it_takes(tmp_path, result, why):
    faults = {"ai.onnx": {"Relu": [{"result": result, "gives": "nonsense"}]}}
    found = lack(tmp_path, PLAIN, faults=faults)
    assert found == (why and ("Relu does not run on npu 1.0", "graph 'm', node number 0 (Relu)", why))


def test_types_that_cannot_be_given_are_told_before_operators(tmp_path):
    text = PLAIN.replace("float[2] x", "double[2] x").replace("Relu", "Tan")
    file = runtime_file(tmp_path, takes(), io_types_not=["double"])
    runtime = find_runtime("npu==1.0", [file])
    survey = Survey(load(parser.parse_model(text.replace("float[2] y", "double[2] y"))), default_registry())
    found = [*find_foreign_types(survey.index, runtime)]
    assert [(each.message, each.place) for each in found] == [
        (f"the {value} cannot be given to npu 1.0", "graph 'm'") for value in ("input 'x'", "output 'y'")
    ]
    assert [each.why for each in found] == [
        f"no {word} of a model may be of type double there" for word in ("input", "output")
    ]
    assert [each.place for each in survey.find_lacks(runtime)] == ["graph 'm'"] * 2 + ["graph 'm', node number 0 (Tan)"]
    assert [*survey.find_lacks(runtime)][:2] == found


def model_of(body, opset=18, given="float[2] x", made="float[2] y", ir=8, more=""):
    return f'<ir_version: {ir}, opset_import: ["": {opset}{more}]> m ({given}) => ({made}) {{ {body} }}'


def row(opset, **keys):
    return {"release": "1.0", "opset": opset, "how": "documented"} | keys


NODE = "graph 'm', node number "
TWICE = model_of("a = Mish (x) b = Mish (a) c = Celu (b) y = Relu (c)")
NONSENSE = model_of("a = Nonsense (x) b = Nonsense (a) c = Relu (b) y = Cast <to = 1> (c)", 17)
INT4 = model_of("a = Relu (x) y = Identity (a)", 22, "int4[2] x", "int4[2] y", 10)
BRANCHES = """<ir_version: 8, opset_import: ["": 18]> m (bool b, float[2] x) => (float[2] y) {
    a = Mish (x) y = If (b) <then_branch = t () => (float[2] z) { c = Mish (x) z = Mish (c) },
                             else_branch = e () => (float[2] q) { q = Abs (x) }> }"""
CALLS = """<ir_version: 8, opset_import: ["": 18, "this": 1]> m (float[2] x) => (float[2] y) {
    a = this.f (x) y = this.f (a) }
    <opset_import: ["": 18], domain: "this"> f (a) => (b) { b = Mish (a) }"""
SCALER = model_of("y = ai.onnx.ml.Scaler (x)", 17, more=', "ai.onnx.ml": 3')
RESHAPED = """<ir_version: 9, opset_import: ["": 18]> m (float[2, 4] x) => (float[8] y{more})
    <int64[1] s = {{8}}> {{ {nodes} y = Reshape (x, t) }}"""
LEFT = model_of("y = Relu (x)", 17, more=', "com.acme": 3')


@pytest.mark.parametrize(
    ("text", "target", "expected", "reached"),
    [
        (TWICE, 13, [], {"": 13}),
        (TWICE, {}, ["C209 0 (Mish): 2", "C209 2 (Celu): 1"], {"": 18}),
        (TWICE, {"opset": [13, 15]}, ["C209 0 (Mish): 2", "C209 2 (Celu): 1"], {"": 15}),
        (TWICE, {"opset": [19, 20]}, ["C209 0 (Mish): 2", "C209 2 (Celu): 1"], {"": 19}),
        (TWICE, {"opset": [7, 15], "lists_operators": False}, [], {"": 15}),
        (TWICE, {"io": ["float"]}, ["C209 graph 'm': 0", "C209 graph 'm': 0"], {"": 18}),
        (INT4, 13, ["C202 0 (Relu): 1", "C202 1 (Identity): 1"], {"": 13}),
        (INT4, {"opset": [7, 17], "ir": 3}, ["C202 1 (Identity): 1", "C301 ir_version: 0"], {"": 17}),
        (INT4, {"opset": [7, 22], "ir": 9}, ["C301 ir_version: 0"], {"": 22}),
        (INT4, {"opset": [7, 22], "ir": 10}, [], {"": 22}),
        (NONSENSE, 17, ["C101 0 (Nonsense): 2"], {"": 17}),
        (NONSENSE, 13, ["C101 0 (Nonsense): 2", "C203 2 (Relu): 1"], {"": 13}),
        (NONSENSE, {"opset": [7, 15], "lists_operators": False}, ["C101 0 (Nonsense): 2"], {"": 15}),
        (BRANCHES, 13, [], {"": 13}),
        (BRANCHES, {}, ["C209 1 (If), else_branch, node number 0 (Abs): 1",
                        "C209 1 (If), then_branch, node number 0 (Mish): 3", "C209 1 (If): 1"], {"": 18}),
        (CALLS, 13, [], {"": 13, "this": 1}),
        (CALLS, {}, ["C209 function 'this.f', node number 0 (Mish): 1"], {"": 18, "this": 1}),
        (SCALER, 13, [], {"": 13, "ai.onnx.ml": 3}),
        (SCALER, {"ml": 3}, ["C209 0 (Scaler): 1"], {"": 17, "ai.onnx.ml": 3}),
        (SCALER, {"ml": 2}, None, None),
        (model_of("y = Relu (x)", 2000), 13, ["C104 graph 'm', opset_import: 0"], {"": 13}),
        (model_of("y = Relu (x)", 2000), {}, ["C104 graph 'm', opset_import: 0"], {"": 21}),
        (model_of("a = Abs (x) y = Relu <nope = 1> (a)", 17), 13, ["C103 1 (Relu): 1"], {"": 13}),
        (model_of("a = Abs (x) y = Add (, a)", 17), 13, ["C103 1 (Add): 1"], {"": 13}),
        (model_of("a = Abs (x) y = Add (a)", 17), 13, ["C103 1 (Add): 1"], {"": 13}),
        (LEFT, {}, [], {"": 17, "com.acme": 3}),
        (RESHAPED.format(nodes="t = Abs (s)", more=""), 5, ["C202 0 (Abs): 1"], {"": 5}),
        (RESHAPED.format(nodes="k = Abs (s) t = Abs (k) n = Abs (s)", more=", int64[1] n"), 4,
         ["C202 2 (Abs): 1"], {"": 4}),
        (RESHAPED.format(nodes="t = BitwiseAnd (s, s)", more=""), 4,
         ["C202 0 (BitwiseAnd): 1", "C205 1 (Reshape): 1"], {"": 4}),
    ],
)  # fmt: skip
def test_a_conversion_that_is_not_carried_out_has_the_result_of_one_that_is(tmp_path, text, target, expected, reached):
    if not isinstance(target, int):
        keys = dict(target)
        other = {"io_types_not": keys.pop("io")} if "io" in keys else {}
        file = runtime_file(tmp_path, takes(), releases=[row(keys.pop("opset", [7, 21]), **keys)], **other)
        target = target_at_runtime(find_runtime("npu==1.0", [file]), REGISTRY)
    else:
        target = target_of_version(target, REGISTRY)
    survey = Survey(load(parser.parse_model(text)), REGISTRY)
    outcome = survey.convert(target)
    carried_out = convert_model(load(parser.parse_model(text)), target, REGISTRY)
    counted = {finding.kind: count for finding, count in carried_out.blocked.values()}
    assert sorted((finding.code, finding.message, count) for finding, count in outcome.refusals) == sorted(
        (finding.code, finding.message, counted.get(finding.kind, 0))
        for finding in carried_out.refusals.group_by_kind()
    )
    assert outcome.opsets == carried_out.target
    nearest = survey.convert_nearest(target)
    if outcome.refusals or survey.index.functions:
        assert nearest is None
    else:
        assert (nearest.refusals, nearest.opsets) == ([], outcome.opsets)
    if expected is not None:
        told = [
            f"{finding.code} {finding.place.split(';')[0].removeprefix(NODE)}: {count}"
            for finding, count in outcome.refusals
        ]
        assert (told, outcome.opsets) == (expected, reached)
        assert outcome.nodes == sum(max(int(each.split(": ")[-1]), 1) for each in expected)


def test_unknown_operators_of_known_domains_are_named():
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3, "com.acme": 1, "this": 1]>
    m (float[2] x) => (float[2] y) {
        a = Nonsense (x) b = ai.onnx.ml.Nothing (a) c = com.acme.F (b) d = Gelu (c) e = this.g (d) y = f (e) }
    <opset_import: ["": 17]> f (a) => (b) { b = Relu (a) }
    <opset_import: ["": 17], domain: "this"> g (a) => (b) { b = Other (a) }"""
    survey = Survey(load(parser.parse_model(text)), REGISTRY)
    assert survey.unknown == {("Nonsense", ""), ("Nothing", "ai.onnx.ml"), ("Other", "")}


def test_each_form_has_its_members_and_calls_have_none():
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3, "this": 1]>
    m (float[2] x, double[2] d) => (float[2] y) <float[2] w = {1, 2}> {
        a = Relu (x) b = Relu (a) c = this.f (b) e = Relu (d) f = Add (c, w) k = Constant <value = float[2] {3, 4}> ()
        g = ai.onnx.ml.Scaler (f) y = Relu (g) }
    <opset_import: ["": 16], domain: "this"> f (a) => (b) { c = Neg (a) b = Neg (c) }"""
    survey = Survey(load(parser.parse_model(text)), REGISTRY)
    main, function = survey.index.bodies
    assert {
        body.name or "f": [(each.node, each.members) for each in forms] for body, forms in survey.forms.items()
    } == {
        main.name or "m": [(0, [0, 1, 7]), (3, [3]), (4, [4]), (5, [5]), (6, [6])],
        function.name or "f": [(0, [0]), (1, [1])],
    }
    assert [(each.op_type, each.domain, each.opset, each.nodes) for each in survey.samples] == [
        *[("Relu", "", 17, 3), ("Relu", "", 17, 1), ("Add", "", 17, 1), ("Scaler", "ai.onnx.ml", 3, 1)],
        *[("Neg", "", 16, 1)] * 2,
    ]


def test_a_survey_of_functions_ends_with_the_budget_of_its_caller():
    model = load(parser.parse_model(CALLS.replace("b = Mish (a)", "b = Relu (a)")))
    assert Survey(model, REGISTRY).convert(target_of_version(13, REGISTRY)).refusals == []
    with pytest.raises(BudgetExceeded):
        Survey(model, REGISTRY, Limits(max_steps=3)).convert(target_of_version(13, REGISTRY))


@pytest.mark.parametrize(("most", "refuses"), [(3, False), (2, True)])
def test_models_of_many_forms_and_functions_of_many_nodes_are_not_planned(monkeypatch, most, refuses):
    target = target_of_version(13, REGISTRY)
    monkeypatch.setattr(surveys, "MOST_FORMS", most)
    monkeypatch.setattr(surveys, "WHOLE", most)
    calls = CALLS.replace("b = Mish (a)", "b = Relu (a)")
    for text, why in ((TWICE, f"more than {most} nodes that differ"), (calls, f"more than {most} nodes")):
        survey = Survey(load(parser.parse_model(text)), REGISTRY)
        if refuses:
            with pytest.raises(BudgetExceeded, match=why):
                survey.convert(target)
        else:
            assert survey.convert(target).refusals == []


def test_the_outcome_with_fewest_refused_nodes_counts_at_the_nearest_opset(tmp_path):
    kernels = takes(Relu=[{"versions": [14, None]}], Abs=[{"versions": [1, 6]}])
    file = runtime_file(tmp_path, kernels, opset=(11, 16))
    target = target_at_runtime(find_runtime("npu==1.0", [file]), REGISTRY)
    text = model_of("a = Relu (x) b = Relu (a) y = Abs (b)", 13)
    survey = Survey(load(parser.parse_model(text)), REGISTRY)
    outcome = survey.convert(target)
    assert [(finding.place, count) for finding, count in outcome.refusals] == [(f"{NODE}2 (Abs)", 1)]
    assert outcome.opsets == {"": 14}
    assert survey.nearest_target(target).opsets == {"": 13, "ai.onnx.ml": 3}


def test_a_node_that_goes_with_the_input_that_it_computes_is_not_refused():
    text = RESHAPED.format(nodes="t = Abs (s)", more="")  # the shape becomes an attribute of the Reshape
    survey, target = Survey(load(parser.parse_model(text)), REGISTRY), target_of_version(4, REGISTRY)
    assert (survey.convert_nearest(target), survey.convert(target).refusals) == (None, [])


def test_an_import_of_a_function_behind_graphs_in_nodes_is_found():
    text = """<ir_version: 8, opset_import: ["": 17, "this": 1]> m (bool b, float[2] x) => (float[2] y) {
        a = If (b) <then_branch = t () => (float[2] z) { z = Neg (x) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }> y = this.f (a) }
        <opset_import: ["": 2000], domain: "this"> f (a) => (b) { b = Relu (a) }"""
    survey = Survey(load(parser.parse_model(text)), REGISTRY)
    (found,) = find_newer_imports(survey.index, target_of_version(13, REGISTRY), REGISTRY)
    assert (found.code, found.place) == ("C104", "function 'this.f', opset_import")
    assert found.message == "ai.onnx 2000 is newer than what opset knows"


def test_an_import_of_a_model_is_found_once_and_not_for_each_of_its_graphs():
    text = """<ir_version: 8, opset_import: ["": 2000]> m (bool b, float[2] x) => (float[2] y) {
        y = If (b) <then_branch = t () => (float[2] z) { z = Neg (x) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }> }"""
    survey = Survey(load(parser.parse_model(text)), REGISTRY)
    (found,) = find_newer_imports(survey.index, target_of_version(13, REGISTRY), REGISTRY)
    assert (found.code, found.place) == ("C104", "graph 'm', opset_import")


@pytest.mark.parametrize(
    ("most", "members"),
    [(2000, [[0, 2], [1], [3], [4], [5, 7], [6], [8]]), (1, [[0], [1, 2], [3], [4], [5, 7], [6], [8]])],
)
def test_forms_of_many_nodes_are_told_apart_by_integers_and_not_by_floats(monkeypatch, most, members):
    monkeypatch.setattr(surveys, "MAX_FORMS", most)
    text = """<ir_version: 8, opset_import: ["": 17]> m (float[4] x, double[4] d) => (float[4] y)
        <float[1] one = {1}, float[1] two = {2}, float[2] pair = {1, 2}, double[1] wide = {1},
         int64[2] square = {2, 2}, int64[2] column = {4, 1}, int64[1] flat = {4}> {
        a = Add (x, one)  b = Add (x, two)  c = Add (x, one)  e = Add (d, wide)  f = Mul (pair, pair)
        g = Reshape (x, square)  h = Reshape (x, column)  i = Reshape (x, square)  y = Reshape (x, flat) }"""
    (forms,) = Survey(load(parser.parse_model(text)), REGISTRY).forms.values()
    assert [each.members for each in forms] == members


def test_what_a_survey_may_take_is_in_proportion_to_its_model():
    model = parser.parse_model(PLAIN)
    budget, size = Survey(load(model), REGISTRY)._budget(), model.ByteSize()
    assert (budget.max_steps, budget.max_bytes) == ((1 << 21) + 8 * size, (1 << 25) + 8 * size)
