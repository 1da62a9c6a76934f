"""The branch that an If always takes: in its place, if a target cannot have the If or the other branch."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper, parser

import opset
from opset.budget import Budget, Limits
from opset.model import load
from opset.model import proto as pb
from opset.model.graph.index import FreshNames, ModelIndex, bodies
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime
from opset.preparation import read_model
from opset.version_converter.branches import _can_replace, _move_tensors, take_branches
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.replacement import unused_imports
from opset.version_converter.runtime_survey import AS_IT_IS, CONVERTED, REFUSED, survey_releases
from opset.version_converter.survey import Survey
from tests.version_converter.npu import runtime_file, takes

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
RIGHT = "{ yes = Constant <value = bool {1}> ()  y = If (yes) <then_branch = t () => (float[N, M] a) {%s}, " \
        "else_branch = e () => (float[N, M] b) { b = Exp (x) }> }"  # fmt: skip
CASES = {
    "a value of the branch": RIGHT % "a = Neg (x)",
    "a value from outside": RIGHT.replace("(float[N, M] a)", "(float[N, M] x)") % "u = Neg (x)",
    "an initializer": RIGHT.replace("t () => (float[N, M] a)", "t () => (float[N, M] a) <float[3] w = {1.0, 2.0, 3.0}>")
        % "a = Mul (x, w)",
    "an initializer passed on": RIGHT.replace("t () => (float[N, M] a)", "t () => (float[2, 3] a) "
        "<float[2, 3] a = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}>") % "u = Neg (x)",
    "names of both branches": RIGHT % "b = Neg (x)  a = Abs (b)",
    "the other branch": RIGHT.replace("bool {1}", "bool {0}").replace("Exp", "Neg") % "a = Exp (x)",
    "a vector of one truth": RIGHT.replace("bool {1}", "bool[1] {1}") % "a = Neg (x)",
    "a rank": """{ s = Shape (x)  r = Size (s)  two = Constant <value = int64 {2}> ()  yes = Equal (r, two)
        y = If (yes) <then_branch = t () => (float[N, M] a) { a = Neg (x) },
                      else_branch = e () => (float[M] b) { b = Exp (x) }> }""",
    "two outputs of one value": """{ yes = Constant <value = bool {1}> ()
        p, q = If (yes) <then_branch = t () => (float[N, M] a, float[N, M] a) { a = Neg (x) },
                         else_branch = e () => (float[N, M] b, float[N, M] b) { b = Exp (x) }>  y = Add (p, q) }""",
    "one inside the other": """{ yes = Constant <value = bool {1}> ()  no = Constant <value = bool {0}> ()
        y = If (yes) <then_branch = t () => (float[N, M] a) { c = Neg (x)
                a = If (no) <then_branch = u () => (float[N, M] d) { d = Exp (c) },
                             else_branch = v () => (float[N, M] f) { c2 = Abs (c)  f = Add (c2, c) }> },
            else_branch = e () => (float[N, M] b) { b = Exp (x) }> }""",
    "in a loop": """{ yes = Constant <value = bool {1}> ()  n = Constant <value = int64 {3}> ()
        y = Loop (n, yes, x) <body = l (int64 i, bool c, float[N, M] s) => (bool c, float[N, M] z) {
            z = If (yes) <then_branch = t () => (float[N, M] a) { a = Add (s, x) },
                          else_branch = e () => (float[N, M] b) { b = Exp (s) }> }> }""",
}  # fmt: skip


def model_of(nodes, given="float[2, 3] x"):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> m ({given}) => (float[N, M] y) {nodes}')


def file_without_exp(folder):
    """Write a runtime with Ifs, and with all that the cases need besides Exp."""
    return runtime_file(folder, takes("Neg", "Abs", "If", "Loop", "Equal", "Size"))


def operators_in(graph):
    nodes = [*graph.node]
    for node in nodes:
        for attribute in node.attribute:
            nodes += attribute.g.node
    return [node.op_type for node in nodes]


def run(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.mark.parametrize("name", CASES)
def test_the_branch_computes_the_same(name, tmp_path):
    model = model_of(CASES[name])
    runtime = {"runtime": "npu==1.0", "targets": [file_without_exp(tmp_path)]}
    found = opset.plan(model, **runtime)
    count = 2 if name == "one inside the other" else 1
    assert f"If nodes in whose place their branch stands, as the condition is known: {count}" in found.notes
    after = opset.convert(model, **runtime)
    assert not {"If", "Exp", "Equal", "Size"} & {*operators_in(after.graph)}
    # onnxruntime takes no branch that returns a value from outside, or one value twice.
    (expected,), (got,) = opset.ReferenceEvaluator(model).run(None, {"x": X}), run(after, {"x": X})
    np.testing.assert_array_equal(got, expected)
    assert opset.convert(after, **runtime).SerializeToString() == after.SerializeToString()


STAY = {
    "an input": ("{ %s }", "float[2, 3] x, bool yes"),
    "an initializer that a caller may override": ("<bool yes = {1}> { %s }", "float[2, 3] x, bool yes"),
    "a value that is computed": ("{ s = Sqrt (z)  yes = Cast <to = 9> (s)  %s }", "float[2, 3] x, float z"),
}
ONE = (
    "y = If (yes) <then_branch = t () => (float[N, M] a) { a = Neg (x) }, "
    "else_branch = e () => (float[N, M] b) { b = Exp (x) }>"
)


@pytest.mark.parametrize("name", STAY)
def test_a_condition_that_is_not_known_is_refused(name, tmp_path):
    nodes, given = STAY[name]
    model = model_of(nodes % ONE, given)
    found = opset.plan(model, runtime="npu==1.0", targets=[file_without_exp(tmp_path)])
    assert {each.code for each in found.refusals} == {"C209"} and "Exp" in found.refusals[0].message
    assert not [note for note in found.notes if "their branch" in note]


def test_one_that_is_known_is_taken_behind_one_that_is_not(tmp_path):
    unknown = ONE.replace("y =", "z =").replace("Exp", "Abs").replace("(yes)", "(given)")
    model = model_of(f"{{ {unknown} yes = Constant <value = bool {{1}}> () {ONE} }}", "float[2, 3] x, bool given")
    after = opset.convert(model, runtime="npu==1.0", targets=[file_without_exp(tmp_path)])
    assert [node.op_type for node in after.graph.node] == ["If", "Neg"]


def test_all_that_takes_the_place_of_an_if(tmp_path):
    """Names and types of the branch are kept, and what only the condition or the other branch read is removed."""
    model = model_of("""{ yes = Constant <value = bool {1}> ()  o = Neg (x)  n = Abs (x)
        [choice] p, q = If (yes) <
            then_branch = t () => (float[A, 3] a, float[A, 3] c) <float[3] w = {1.0, 2.0, 3.0}, float[A, 3] k> {
                k = Mul (n, w)  a = Neg (k)  [last] c = Abs (a) },
            else_branch = e () => (float[N, M] b, float[N, M] d) { b = Exp (o)  d = Neg (b) }>
        y = Add (p, q) }""")
    model.graph.value_info.append(helper.make_tensor_value_info("q", 1, [2, 3]))
    model.graph.node[3].metadata_props.add(key="from", value="here")
    after = opset.convert(model, runtime="npu==1.0", targets=[file_without_exp(tmp_path)])
    assert opset.to_text(after).split("\n") == [
        '<ir_version: 8, opset_import: ["": 17]>',
        "m (float[2, 3] x) => (float[N, M] y) <",
        "  float[3] w_1 = {1.0, 2.0, 3.0},",
        "  float[2, 3] q,",
        "  float[?, 3] choice__k,",
        "  float[?, 3] p",
        "> {",
        "  n = Abs (x)",
        '  [choice__Mul] choice__k = Mul (n, w_1) &{metadata_props: ["from": "here"]}',
        '  [choice__Neg] p = Neg (choice__k) &{metadata_props: ["from": "here"]}',
        '  [choice__last] q = Abs (p) &{metadata_props: ["from": "here"]}',
        "  y = Add (p, q)",
        "}",
        "",
    ]


def test_a_frozen_initializer_is_a_known_condition(tmp_path):
    nodes, given = STAY["an initializer that a caller may override"]
    runtime = {"runtime": "npu==1.0", "targets": [file_without_exp(tmp_path)], "freeze": ["yes"]}
    after = opset.convert(model_of(nodes % ONE, given), **runtime)
    assert [node.op_type for node in after.graph.node] == ["Neg"] and not after.graph.initializer
    np.testing.assert_array_equal(run(after, {"x": X})[0], -X)


def test_an_if_that_can_stay_stays(tmp_path):
    model = model_of(CASES["a value of the branch"])
    file = runtime_file(tmp_path, takes("Neg", "If", "Exp"))
    assert opset.convert(model, runtime="npu==1.0", targets=[file]).SerializeToString() == model.SerializeToString()


def test_functions_and_models_with_training_graphs_stay():
    registry = default_registry()
    function = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17, "local": 1]>
        m (float[2, 3] x) => (float[N, M] y) {{ y = local.f (x) }}
        <opset_import: ["": 17], domain: "local"> f (x) => (y) {CASES["a value of the branch"]}""")
    trained = model_of(CASES["a value of the branch"])
    trained.training_info.add().algorithm.name = "step"
    for each in (function, trained):
        model, index = read_model(load(each), registry, ())
        inference = LazyInference(model, index, registry)
        assert take_branches(index, inference, Budget(Limits(), max_steps=1 << 20, max_bytes=1 << 20)) == (None, 0)


def test_a_branch_that_shadows_a_value_after_it_was_read_stays(tmp_path):
    text = RIGHT % ("b = If (yes) <then_branch = u () => (float[N, M] d) { d = Add (w, x) }, "
                    "else_branch = v () => (float[N, M] f) { f = Exp (x) }>  w = Neg (b)  a = Abs (w)")  # fmt: skip
    model = opset.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> m (float[2, 3] x) => (float[N, M] y) <float[1] w = {2.0}> ' + text
    )
    found = opset.plan(model, runtime="npu==1.0", targets=[file_without_exp(tmp_path)])
    assert {each.code for each in found.refusals} == {"C209"}


JOINED = """{ s = Shape (x)  r = Size (s)  one = Constant <value = int64 {1}> ()  flat = Equal (r, one)
    y = If (flat) <then_branch = t () => (float[a, b] c) { c = Concat <axis = 0> (x, w) },
                   else_branch = e () => (float[a, b] d) { d = Concat <axis = 1> (x, w) }> }"""


def test_openvino_gets_no_branch_that_is_not_valid():
    """OpenVINO computes the sizes of both branches, and those of the first one do not fit, as in torch's hstack."""
    model = model_of(JOINED, "float[2, 3] x, float[2, 4] w")
    after = opset.convert(model, runtime="openvino==2026.4")
    assert [node.op_type for node in after.graph.node] == ["Concat"]
    feeds = {"x": X, "w": np.ones((2, 4), np.float32)}
    np.testing.assert_array_equal(run(after, feeds)[0], np.concatenate([X, feeds["w"]], 1))


SQUEEZED = """{ y = If (one) <then_branch = t () => (float[N, M] a) { a = ReduceMax <axes = [2], keepdims = 0> (x) },
    else_branch = e () => (float[N, M, K] b) { b = Identity (x) }> }"""


@pytest.mark.parametrize(
    ("else_branch", "codes"),
    [
        ("Identity (x)", ["C209"]),
        ("ReduceMax <axes = [2]> (x)", ["C209"]),
        ("ReduceMin <axes = [2], keepdims = 0> (x)", []),
    ],
)
def test_openvino_takes_branches_of_one_rank_alone(else_branch, codes):
    model = model_of(SQUEEZED.replace("Identity (x)", else_branch), "float[2, 3, 1] x, bool one")
    refusals = opset.plan(model, runtime="openvino==2026.4").refusals
    assert [each.code for each in refusals] == codes
    assert all("the rank of 'y' has to be known" in each.why for each in refusals)


def test_initializers_move_under_new_names():
    graph, message = pb.GraphProto(), pb.GraphProto()
    for name, value in (("w", 1.0), ("v", 2.0)):
        graph.initializer.add(name=name, data_type=1, float_data=[value])
    for name in "st":
        graph.sparse_initializer.add(dims=[4]).values.name = name
    message.initializer.add(name="w")
    message.sparse_initializer.add().values.name = "s"
    given = _move_tensors(graph, message, FreshNames(bodies(pb.ModelProto(graph=message))))
    assert given == {"w": "w_1", "v": "v", "s": "s_1", "t": "t"}
    assert [(each.name, [*each.float_data]) for each in message.initializer] == [
        ("w", []), ("w_1", [1.0]), ("v", [2.0])]  # fmt: skip
    moved = [(each.values.name, [*each.dims]) for each in message.sparse_initializer]
    assert moved == [("s", []), ("s_1", [4]), ("t", [4])]


def test_imports_that_nothing_uses():
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["": 17, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1]>
        m (float[2] x) => (float[2] y) { y = a.f (x) } <opset_import: ["": 17, "b": 1], domain: "c"> g (p) => (q) {
        q = b.h (p) }"""
    )
    proto = pb.ModelProto.FromString(model.SerializeToString())
    assert unused_imports(proto) == ["d", "e"]
    training = proto.training_info.add()
    training.initialization.node.add(op_type="i", domain="d")
    assert unused_imports(proto) == ["e"]
    then = training.algorithm.node.add(op_type="If").attribute.add(name="then_branch", type=5)
    then.g.node.add(op_type="i", domain="e")
    assert unused_imports(proto) == []


def test_a_survey_finds_what_a_conversion_finds():
    registry, openvino = default_registry(), find_runtime("openvino==2026.4")
    for nodes, given, word in (
        (JOINED, "float[2, 3] x, float[2, 4] w", CONVERTED),
        (f"{{ {ONE} }}", "float[2, 3] x, bool yes", AS_IT_IS),
        (SQUEEZED, "float[2, 3, 1] x, bool one", REFUSED),
    ):
        answer = survey_releases(Survey(load(model_of(nodes, given)), registry), [openvino])
        ranges = {AS_IT_IS: answer.as_it_is, CONVERTED: answer.converted, REFUSED: answer.refused}
        assert [key for key, value in ranges.items() if value] == [word]


@pytest.mark.parametrize(
    ("nodes", "fills"),
    [
        ("s = SequenceEmpty ()", True),
        ("s = SequenceConstruct (x, w)", True),
        ("e = SplitToSequence (x) s = SequenceInsert (e, w)", True),
        ("s = SplitToSequence (x)", False),
    ],
)
def test_a_model_that_fills_sequences_may_be_converted_otherwise_as_a_whole(nodes, fills):
    text = f"{{ {nodes} y = SequenceAt (s, i) }}"
    survey = Survey(load(model_of(text, "float[2, 3] x, float[2, 3] w, int64 i")), default_registry())
    assert survey._has_sequences == fills


OF_ANY = """<ir_version: {ir}, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {{
    yes = Constant <value = bool {{1}}> ()
    y = If (yes) <then_branch = t () => ({output}) {inside}, else_branch = e () => (float[2] b) {{ b = Exp (x) }}>
}}"""


@pytest.mark.parametrize(
    ("ir", "output", "inside", "can"),
    [
        (8, "float[2] a", "{ a = Neg (x) }", True),
        (8, "a", "{ a = Neg (x) }", True),
        (8, "float[2] x", "{ u = Neg (x) }", True),
        (8, "x", "{ u = Neg (x) }", False),  # an Identity of what may be no tensor
        (8, "float[2] a", "<float[2] w = {1, 2}> { a = Add (x, w) }", True),
        (4, "float[2] a", "<float[2] w = {1, 2}> { a = Add (x, w) }", True),
        (3, "float[2] a", "<float[2] w = {1, 2}> { a = Add (x, w) }", False),
        (3, "float[2] a", "{ a = Neg (x) }", True),
        (8, "float[2] a, float[2] c", "{ a = Neg (x)  c = Abs (x) }", False),
        (8, "float[2] twice, x", "{ twice = Neg (x) }", False),
        (8, "x, float[2] twice", "{ twice = Neg (x) }", False),
        (8, "twice, float[2] x", "{ twice = Neg (x) }", True),
        (8, "float[2] nameless", "{ a = Neg (x) }", False),
    ],
)
@pytest.mark.parametrize("annotated", [False, True])
def test_branches_that_can_stand_in_the_place_of_their_node(ir, output, inside, can, annotated):
    proto = pb.ModelProto.FromString(
        parser.parse_model(OF_ANY.format(ir=ir, output=output, inside=inside)).SerializeToString()
    )
    graph = proto.graph.node[1].attribute[0].g
    for each in graph.output:
        each.name = each.name.replace("nameless", "")
    if annotated:
        graph.quantization_annotation.add(tensor_name="a")
    index = ModelIndex(proto, default_registry().domains)
    branch = next(body for body in index.bodies if body.proto is graph)
    outputs = ["y", "z"] if "twice" in output else ["y"]
    assert _can_replace(branch, outputs, index) is (can and not annotated)
