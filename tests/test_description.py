"""What a model contains, the lowest versions that it could have, and which releases of runtimes take it."""

import re

import onnx
import pytest
from onnx import TensorProto, helper, parser

import opset
from opset.budget import BudgetExceeded
from opset.description.report import describe
from opset.model import load
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime, releases_of
from opset.version_converter import survey as surveys
from opset.version_converter.conversion import convert_model
from opset.version_converter.runtime_survey import survey_releases, survey_runtimes
from opset.version_converter.survey import Survey
from opset.version_converter.targets import target_at_runtime, target_of_version
from tests.bounds import lines
from tests.test_docs import ROOT
from tests.version_converter.npu import ANY, runtime_file, takes

REGISTRY = default_registry()
EXAMPLES = sorted((ROOT / "examples").glob("*.onnx"))
MIXED = """<ir_version: 9, opset_import: ["": 20, "com.other": 1]>
m (float[N, 4] x, string[N] a) => (float[N, 4] y, string[N] c) <float[4] w = {1.0, 2.0, 3.0, 4.0}, int64[1] i = {0}> {
    g = Gelu (x)
    h = com.other.Scale (g)
    y = Add (h, w)
    c = StringConcat (a, a)
}"""
FUNCTION = """<ir_version: 9, opset_import: ["": 18, "local": 1]>
m (float[2, 4] x) => (float[2, 1] y) { y = local.total <axis = 1> (x) }
<opset_import: ["": 18], domain: "local">
total <axis> (x) => (y) { axes = Constant <value_ints = [1]> ()  y = ReduceMax (x, axes) }"""


def described(text, *runtimes):
    return opset.info(parser.parse_model(text), runtimes=runtimes)


def test_the_contents_of_a_model():
    found = described(MIXED, "onnxruntime")
    assert [(each.domain, each.version) for each in found.opsets] == [("ai.onnx", 20), ("com.other", 1)]
    assert [(each.name, each.type) for each in found.inputs] == [
        ("x", "tensor(float)[N, 4]"),
        ("a", "tensor(string)[N]"),
    ]
    assert [tuple(each) for each in found.weights] == [("float", 1, 16, 4), ("int64", 1, 8, 1)]
    assert found.nodes == 4 and found.external_data == []
    assert {each.operator: each.since for each in found.operators}["Scale"] is None
    assert found.notes == ["com.other: nothing is known of its nodes, which count as taken"]


WHOLE = """<ir_version: 8, opset_import: ["com.other": 2, "": 17, "local": 1],
    producer_name: "maker", producer_version: "1.5", model_version: 7>
main (float[N, 4] x, bool c, seq(float[2]) s, optional(int64) o) => (float[N, 4] y, z) <float[4] w = {1, 2, 3, 4},
    float[2, 2] v = {1, 2, 3, 4}, int64[1] i = {0}, bool b = {1}, string[2] t = {"a", "bc"}> {
    a = local.twice (x)
    d = local.twice (a)
    y = If (c) <then_branch = t () => (float[N, 4] p) { p = local.once (d) },
                else_branch = e () => (float[N, 4] q) { r = Neg (d) q = Neg (r) }>
    z = com.other.Op (s, o)
}
<domain: "local", opset_import: ["": 17, "local": 1]> twice (a) => (b) { c = local.once (a) b = Neg (c) }
<domain: "local", opset_import: ["": 17]> once (a) => (b) { b = Abs (a) }
<domain: "local", opset_import: ["": 17]> unused (a) => (b) { b = Exp (a) }"""


def test_the_whole_description_of_a_model():
    found = described(WHOLE, "tract")
    facts = dict(vars(found))
    del facts["runtimes"]
    assert facts == {
        "ir_version": 8,
        "model_version": "7",
        "opsets": [
            ("com.other", 2, None, ""),
            ("ai.onnx", 17, REGISTRY.domains[""], "1.12.0"),
            ("local", 1, None, ""),
        ],
        "producer": "maker 1.5",
        "graph": "main",
        "inputs": [
            ("x", "tensor(float)[N, 4]"),
            ("c", "tensor(bool)[]"),
            ("s", "seq(tensor(float))"),
            ("o", "optional(tensor(int64))"),
        ],
        "outputs": [("y", "tensor(float)[N, 4]"), ("z", None)],
        "weights": [("float", 2, 32, 8), ("int64", 1, 8, 1), ("string", 1, 3, 2), ("bool", 1, 1, 1)],
        "external_data": [],
        "nodes": 11,
        "operators": [
            ("ai.onnx", "Neg", 13, 3),
            ("ai.onnx", "Abs", 13, 1),
            ("ai.onnx", "Exp", 13, 1),
            ("ai.onnx", "If", 16, 1),
            ("com.other", "Op", None, 1),
        ],
        "functions": [("local", "once", 2), ("local", "twice", 2)],
        "lowest_ir_version": 8,
        "lowest_opsets": [("ai.onnx", 13, "Exp cannot go from 17 to 12: the type of 'a' is not known")],
        "notes": ["com.other: nothing is known of its nodes, which count as taken"],
    }
    text = "com.other 2, ai.onnx 17, local 1, IR version 8: 11 nodes, 44 bytes of weights"
    assert repr(found) == f"<ModelDescription {text}>"


def test_sparse_weights_count_as_they_are_stored():
    model = helper.make_model(helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid("", 17)])
    sparse = model.graph.sparse_initializer.add(dims=[100])
    sparse.values.CopyFrom(helper.make_tensor("w", 1, [3], [1, 2, 3]))
    sparse.indices.CopyFrom(helper.make_tensor("", 7, [3], [5, 6, 7]))
    assert [tuple(each) for each in opset.info(model).weights] == [("sparse float", 1, 36, 3)]


def test_nodes_of_an_operator_count_by_its_version_also_if_that_is_not_known():
    text = """<ir_version: 9, opset_import: ["": 20, "f": 1]> m (float[2] x) => (float[2] y) {
        a = f.G (x) y = Gelu (a) }
        <domain: "f", opset_import: ["": 17]> G (a) => (b) { b = Gelu (a) }"""
    used = described(text, "tract").operators
    assert [tuple(each) for each in used] == [("ai.onnx", "Gelu", 20, 1), ("ai.onnx", "Gelu", None, 1)]


@pytest.mark.parametrize("dims", [[-1, 2], [1 << 31, 1 << 32], [2] * 64])
def test_a_weight_of_no_real_size_has_no_elements(dims):
    model = helper.make_model(helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid("", 17)])
    model.graph.initializer.add(name="w", data_type=1, dims=dims, float_data=[1])
    assert [tuple(each) for each in opset.info(model).weights] == [("float", 1, 0, 0)]


def test_what_takes_too_much_work_is_left_out_with_a_note():
    found = opset.info(parser.parse_model(MIXED), runtimes=["tract"], limits=opset.Limits(max_steps=1))
    assert (found.nodes, found.lowest_ir_version, found.lowest_opsets, found.runtimes) == (4, 3, [], [])
    assert found.notes == [
        "com.other: nothing is known of its nodes, which count as taken",
        "which versions and runtimes the model fits was not found: more than 1 step is needed",
    ]


def test_a_notebook_shows_a_table_for_each_part():
    shown = described(MIXED, "onnxruntime")._repr_html_()
    assert re.findall(r"<caption[^>]*>([^<]*)<", shown) == [
        "inputs", "outputs", "weights", "operators", "lowest versions", "runtimes", "notes",
    ]  # fmt: skip
    assert re.findall(r"<th[^>]*>([^<]*)<", shown)[:2] == ["name", "type"]
    assert shown.startswith("<div><strong>ModelDescription ai.onnx 20, com.other 1, IR version 9: 4 nodes, 24 bytes of")


def test_texts_count_by_their_bytes():
    text = '<ir_version: 9, opset_import: ["": 20]> m (string[2] x) => (bool[2] y) <string[2] w = {"a", "bc"}> '
    assert [tuple(each) for each in described(text + "{ y = Equal (x, w) }").weights] == [("string", 1, 3, 2)]


def test_the_lowest_versions_are_those_to_which_it_can_be_converted():
    found = described(MIXED, "tract")
    ((domain, version, why),) = found.lowest_opsets
    assert (domain, version) == ("ai.onnx", 20) and "StringConcat" in why
    assert found.lowest_ir_version == 3
    without = described(MIXED.replace("StringConcat (a, a)", "Identity (a)"), "tract").lowest_opsets[0]
    model = parser.parse_model(MIXED.replace("StringConcat (a, a)", "Identity (a)"))
    assert without.version < 20 and opset.plan(model, without.version).refusals == []
    assert all(opset.plan(model, lower).refusals for lower in range(1, without.version))


@pytest.mark.parametrize(
    ("text", "lowest"),
    [
        ('<ir_version: 10, opset_import: ["": 21]> m (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }', 10),
        ('<ir_version: 10, opset_import: ["": 21]> m (bfloat16[2] x) => (bfloat16[2] y) { y = Relu (x) }', 4),
        (FUNCTION, 8),
        (FUNCTION.replace("<axis> (x)", "<axis: int = 1> (x)"), 8),
    ],
)
def test_the_lowest_ir_version_is_what_a_conversion_accepts(text, lowest):
    model = parser.parse_model(text)
    assert Survey(load(model), REGISTRY).needed_ir[0] == lowest
    assert opset.plan(model, ir_version=lowest).refusals == []
    assert lowest == 3 or opset.plan(model, ir_version=lowest - 1).refusals


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_survey_says_what_conversions_say(path):
    model = load(path)
    survey, before = Survey(model, REGISTRY), model.proto.SerializeToString()
    specs = ("tensorrt==7.0", "tensorrt==8.6", "onnxruntime==1.10", "openvino==2024.6", "tract==0.23", "onnx-mlir==0.5")
    targets = [target_at_runtime(find_runtime(each), REGISTRY) for each in specs if "tract" not in each]
    for target in (*targets, *(target_of_version(version, REGISTRY) for version in (6, 9, 13, 17, 22))):
        expected = convert_model(load(path), target, REGISTRY)
        outcome = survey.convert(target)
        assert bool(outcome.refusals) == bool(expected.refusals), target
        assert sum(count for _, count in outcome.refusals) == expected.refused
    for each in specs:
        runtime = find_runtime(each)
        least, most = runtime.opsets[""]
        in_range = (least or 1) <= survey.index.opsets[""] <= (most or 99)
        fits_ir = runtime.max_ir is None or model.proto.ir_version <= runtime.max_ir
        places = {finding.place for finding in survey.find_lacks(runtime)}
        assert ("opset_import" in places, "ir_version" in places) == (not in_range, not fits_ir)
    assert model.proto.SerializeToString() == before


def test_a_version_that_there_is_not_takes_no_time():
    found = described(MIXED.replace('"": 20', '"": 2000000000'), "tract")
    assert found.lowest_opsets[0].version is None and "newer than" in found.lowest_opsets[0].why


def test_functions_are_converted_as_a_whole(monkeypatch):
    survey = Survey(load(parser.parse_model(FUNCTION)), REGISTRY)
    assert not survey.convert(target_of_version(13, REGISTRY)).refusals
    assert survey.convert(target_of_version(1, REGISTRY)).refusals == []
    monkeypatch.setattr(surveys, "WHOLE", 1)
    with pytest.raises(BudgetExceeded, match="opset inline"):
        survey.convert(target_of_version(13, REGISTRY))
    found = described(FUNCTION)
    assert found.runtimes == [] and "opset inline" in found.notes[-1]


def test_a_node_that_is_removed_is_not_refused():
    # The shape that an old Reshape has as an attribute is computed by a node that no old opset has.
    text = """<ir_version: 9, opset_import: ["": 18]>
    m (float[2, 4] x) => (float[8] y) { s = Constant <value_ints = [8]> ()  t = Identity (s)  y = Reshape (x, t) }"""
    for version in range(1, 18):
        target = target_of_version(version, REGISTRY)
        expected = convert_model(load(parser.parse_model(text)), target, REGISTRY)
        outcome = Survey(load(parser.parse_model(text)), REGISTRY).convert(target)
        assert bool(outcome.refusals) == bool(expected.refusals), version


def test_a_node_that_another_needs_in_between_is_removed_with_it():
    """A CumSum, which no opset below 7 has, computes the shape, and a node in between hands it on."""
    text = """<ir_version: 9, opset_import: ["": 18]> m (float[2, 4] x) => (float[8] y) {
        s = Constant <value_ints = [8]> ()  z = Constant <value = int64 {0}> ()
        c = CumSum (s, z)  t = Identity (c)  y = Reshape (x, t) }"""
    for version, codes in ((4, []), (6, ["C205"])):  # from 5 on, the shape is an input
        target = target_of_version(version, REGISTRY)
        refused = [
            finding.code for finding, _ in Survey(load(parser.parse_model(text)), REGISTRY).convert(target).refusals
        ]
        assert refused == [
            each.code for each in convert_model(load(parser.parse_model(text)), target, REGISTRY).refusals
        ]
        assert bool(refused) == bool(codes), version


def test_releases_are_grouped_with_the_reason_of_the_nearest_that_refuses(tmp_path):
    rows = [{"release": f"{number}.0", "opset": [7, 13 + number], "how": "documented"} for number in range(1, 5)]
    operators = takes("Relu") | {"StringConcat": ANY, "Det": [{"versions": [1, None], "since": "3.0"}]}
    file = runtime_file(tmp_path, operators, releases=rows)
    text = '<ir_version: 8, opset_import: ["": 17]> m (float[2, 2] x) => (float y) { r = Relu (x) y = Det (r) }'
    (answer,) = opset.info(parser.parse_model(text), runtimes=["npu"], targets=[file]).runtimes
    assert [each[:3] for each in answer.as_it_is] == [("4.0", "4.0", 1)]
    assert [each[:3] for each in answer.converted] == [("3.0", "3.0", 1)]
    assert [each[:3] for each in answer.refused] == [("1.0", "2.0", 2)]
    assert answer.obstacle.release == "2.0" and "no Det" in answer.obstacle.why and answer.obstacle.nodes == 1


def test_all_runtimes_are_answered():
    answers = survey_runtimes(Survey(load(EXAMPLES[0]), REGISTRY))
    assert len(answers) == 25
    for each in answers:
        count = sum(one.releases for one in (*each.as_it_is, *each.converted, *each.refused))
        assert count == len(releases_of(each.runtime))
        assert bool(each.refused) == (each.obstacle is not None)


def test_a_runtime_that_is_not_known():
    with pytest.raises(opset.UsageError, match="did you mean"):
        described(MIXED, "tensorr")


def test_external_data_is_listed_and_not_read(tmp_path):
    weight = TensorProto(name="w", data_type=1, dims=[1000, 1000], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "4096"), ("length", "4000000")):
        weight.external_data.add(key=key, value=value)
    x, y = (helper.make_tensor_value_info(name, 1, ["N", 1000]) for name in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "m", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    found = opset.info(path, runtimes=["tensorrt"])  # there is no w.bin
    assert [tuple(each) for each in found.external_data] == [("w.bin", 1, 4000000)]
    assert [tuple(each) for each in found.weights] == [("float", 1, 4000000, 1000000)]
    assert found.runtimes[0].as_it_is and found.notes == []
    # Files come by name, and what names none is left out.
    for name, location in (("v", "b.bin"), ("u", ""), ("t", "a.bin")):
        tensor = model.graph.initializer.add(name=name, data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
        if location:
            tensor.external_data.add(key="location", value=location)
    found = opset.info(model.SerializeToString(), runtimes=["tensorrt"])
    assert [tuple(each) for each in found.external_data] == [("a.bin", 1, 8), ("b.bin", 1, 8), ("w.bin", 1, 4000000)]
    del model.graph.initializer[1:]
    # A small constant that decides a conversion is needed; without its file, nothing is said of versions.
    shape = TensorProto(name="s", data_type=7, dims=[2], data_location=TensorProto.EXTERNAL)
    shape.external_data.add(key="location", value="s.bin")
    model.graph.initializer.append(shape)
    model.graph.node[0].output[0] = "z"
    model.graph.node.append(helper.make_node("Reshape", ["z", "s"], ["y"]))
    path.write_bytes(model.SerializeToString())
    found = opset.info(path, runtimes=["tensorrt"])
    assert found.runtimes == [] and "(M202)" in found.notes[-1] and found.nodes == 2
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "s.bin").write_bytes(bytes(16))
    inside = tmp_path / "inside" / "m.onnx"
    inside.parent.mkdir()
    path.rename(inside)
    (inside.parent / "s.bin").symlink_to(tmp_path / "data" / "s.bin")
    assert "(M201)" in opset.info(inside, runtimes=["tensorrt"]).notes[-1]
    assert opset.info(inside, runtimes=["tensorrt"], allow_external_roots=[tmp_path / "data"]).notes == []


def test_weights_of_graphs_in_functions_are_counted():
    text = """<ir_version: 8, opset_import: ["": 17, "local": 1]> m (float[2] x, bool c) => (float[2] y)
        { y = local.F (x, c) } <domain: "local", opset_import: ["": 17]> F (x, c) => (y) {
            y = If (c) <then_branch = t () => (float[2] a) <float[2] w = {1, 2}> { a = Add (x, w) },
                        else_branch = e () => (float[2] b) { b = Neg (x) }> }"""
    assert [tuple(each) for each in described(text, "tract").weights] == [("float", 1, 8, 2)]


def test_a_malformed_model_is_an_error():
    text = '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Relu (nothing) }'
    with pytest.raises(opset.ModelError, match="M112"):
        described(text)


def chain(length):
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(length)]
    x, y = (helper.make_tensor_value_info(name, 1, [2, 3]) for name in ("v0", f"v{length}"))
    graph = helper.make_graph(nodes, "chain", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)


def test_nodes_of_one_form_are_planned_once():
    def releases(length):
        survey = Survey(load(chain(length)), REGISTRY)
        _ = survey.samples, survey.needed_ir
        survey_releases(survey, releases_of("tensorrt"))  # caches
        with lines(10_000_000) as count:
            survey_releases(survey, releases_of("tensorrt"))
        return count()

    short, long = releases(20), releases(400)
    assert long < 2 * short


def test_too_many_forms_are_not_planned(monkeypatch):
    monkeypatch.setattr(surveys, "MOST_FORMS", 2)
    text = """<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) {
        a = Relu (x) b = Abs (a) y = Neg (b) }"""
    found = described(text)
    assert found.runtimes == [] and found.lowest_opsets == [] and "that differ" in found.notes[0]


@pytest.mark.parametrize("element", ["float", "double"])
def test_constants_of_floating_point_count_as_equal_if_there_are_many(monkeypatch, element):
    body = " ".join(f"v{i + 1} = Add (v{i}, w{i})" for i in range(6))
    weights = ", ".join(f"{element} w{i} = {{{i}.0}}" for i in range(6))
    text = f'<ir_version: 8, opset_import: ["": 17]> m ({element}[2] v0) => ({element}[2] v6) <{weights}> {{ {body} }}'
    model = load(parser.parse_model(text))
    assert len(Survey(model, REGISTRY).samples) == 6
    monkeypatch.setattr(surveys, "MAX_FORMS", 1)
    survey = Survey(model, REGISTRY)
    assert len(survey.samples) == 2 and not survey.is_exact
    assert describe(model, REGISTRY, ["tract"]).notes == [
        "nodes that differ in constants of floating point alone count as equal"
    ]


def test_the_report_of_a_model_of_the_onnx_package():
    model = onnx.parser.parse_model(MIXED)
    before = model.SerializeToString()
    assert opset.info(model, runtimes=["tract"]).ir_version == 9
    assert model.SerializeToString() == before


def test_an_installed_runtime_is_one_release():
    text = """<ir_version: 10, opset_import: ["": 22]> m (double[2, 4] x) => (double[2, 4] y) { y = %s (x) }"""
    words = []
    for operator in ("Relu", "HardSwish", "TfIdfVectorizer"):
        (found,) = described(text % operator, "installed:onnxruntime").runtimes
        assert (found.runtime, found.title) == ("installed:onnxruntime", "the installed onnxruntime")
        words.append([len(each) for each in (found.as_it_is, found.converted, found.refused)])
    assert words == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for name in ("installed:tensorrt", "installed:onnxruntime==1.17"):
        with pytest.raises(opset.errors.UsageError) as caught:
            described(text % "Relu", name)
        assert caught.value.code == "U101"


def test_nodes_of_unknown_domains_are_named_beside_functions_of_the_model():
    text = """<ir_version: 8, opset_import: ["": 15, "local": 1, "com.other": 1]> g (float[2] x) => (float[2] y) {
        a = local.f (x) y = com.other.Op (a) } <domain: "local", opset_import: ["": 15]> f (a) => (b) { b = Neg (a) }"""
    found = opset.info(opset.parse_model(text), runtimes=["tract"])
    assert [note for note in found.notes if "nothing is known" in note] == [
        "com.other: nothing is known of its nodes, which count as taken"
    ]


def test_a_runtime_or_a_file_of_one_may_be_given_alone(tmp_path):
    file = tmp_path / "npu.yaml"
    file.write_text(
        'runtime: acme-npu\nreleases:\n- {release: "1.0", opset: [7, 17], how: documented, lists_operators: false}\n'
    )
    for runtimes in "acme-npu", ["acme-npu"]:
        for targets in str(file), file, [file]:
            found = opset.info(opset.parse_model(MIXED), runtimes=runtimes, targets=targets)
            assert [each.runtime for each in found.runtimes] == ["acme-npu"]
