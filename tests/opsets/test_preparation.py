"""What is put right in a model before anything is done with it, function by function."""

import onnxruntime
import pytest

import opset
from opset.errors import ModelError, UsageError
from opset.model.graph.index import bodies
from opset.opsets.registry import default_registry
from opset.preparation import attribute_fixes, read_model, repeated_imports, repeated_names

REGISTRY = default_registry()


def fixes(version, node, inputs="float[1, 2, 4] x"):
    text = f'<ir_version: 8, opset_import: ["": {version}]> g ({inputs}) => (y) {{ {node} }}'
    _, index = read_model(opset.load(opset.parse_model(text)), REGISTRY)
    return index.notes


@pytest.mark.parametrize(
    ("version", "node", "note"),
    [
        # Gone, and without effect before.
        (13, "y = Relu <consumed_inputs = [0]> (x)",
         "'consumed_inputs' of Relu, dropped, which changes nothing: 1 node"),
        (13, "s = com.example.Own <consumed_inputs = [0]> (x) t = Relu <consumed_inputs = [0]> (s) "
             "y = Elu <alpha = 1.0, consumed_inputs = [0], nonesuch = 1> (t)",
         "'consumed_inputs' of Relu, dropped, which changes nothing: 1 node; "
         "attribute 'consumed_inputs' of Elu, dropped, which changes nothing: 1 node"),
        (5, "y = Relu <consumed_inputs = [0]> (x)", ""),
        (13, "t = Relu <consumed_inputs = [0]> (x) y = Relu <consumed_inputs = [1]> (t)",
         "'consumed_inputs' of Relu, dropped, which changes nothing: 2 nodes"),
        # Gone, with an effect; never there; of a later version.
        (13, "y = Squeeze <axes = [0]> (x)", ""),
        (13, "y = Relu <nonesuch = 1> (x)", ""),
        (13, "y = Reshape <allowzero = 0> (x, x)", "'allowzero' of Reshape, dropped, which changes nothing: 1 node"),
        (13, "y = Reshape <allowzero = 1> (x, x)", ""),
        (14, "y = Reshape <allowzero = 0> (x, x)", ""),
        (11, "y = AveragePool <kernel_shape = [2], dilations = [1]> (x)",
         "'dilations' of AveragePool, dropped, which changes nothing: 1 node"),
        (11, "y = AveragePool <kernel_shape = [2], dilations = [2]> (x)", ""),
        (11, "y = AveragePool <kernel_shape = [2], dilations = 1> (x)", ""),
        (11, "y = AveragePool <kernel_shape = [2], count_include_pad = 0> (x)", ""),
        # Of a later version, and with an effect on the types that came with it.
        (13, "y = Cast <to = 1, saturate = 1> (x)", ""),
        (13, "y = Cast <to = 1, saturate = 0> (x)", ""),
        # Of other domains.
        (13, "y = com.example.Relu <consumed_inputs = [0]> (x)", ""),
        # An attribute that is missing.
        (18, "t = Relu (x) a, b = Split (t) c, d = Split <num_outputs = 2> (b) e, y = Split (d)",
         "'num_outputs' of Split, stated, as the number of outputs: 2 nodes"),
    ],
)  # fmt: skip
def test_attributes_of_other_versions_are_dropped_if_they_change_nothing(version, node, note):
    assert "; ".join(fixes(version, node)) == (f"attribute {note}" if note else "")


NAMESAKES = """<ir_version: 8, opset_import: ["": 13]> g (float[2] x, bool c) => (float[2] y) {
    [n] a = Relu (x) [n_1] b = Relu (a) [n] d = Relu (b)
    [n] y = If (c) <then_branch = t () => (float[2] p) { [n] p = Relu (d) },
                    else_branch = e () => (float[2] q) { [m] r = Relu (d) [m] q = Relu (r) }>
}"""


def test_no_two_nodes_of_a_graph_have_one_name():
    model = opset.parse_model(NAMESAKES)
    read, index = read_model(opset.load(model), REGISTRY)
    assert [each.name for each in read.proto.graph.node] == ["n", "n_1", "n_2", "n_3"]
    branches = [attribute.g for attribute in read.proto.graph.node[3].attribute]
    assert [[each.name for each in branch.node] for branch in branches] == [["n"], ["m", "m_1"]]
    assert index.notes == ["nodes with the name of another node of their graph have names of their own: 3"]
    assert [each.name for each in model.graph.node] == ["n", "n_1", "n", "n"]
    onnxruntime.InferenceSession(opset.convert(model, runtime="onnxruntime==1.31").SerializeToString())


def test_an_attribute_that_a_function_of_the_model_has_is_its_own():
    text = """<ir_version: 8, opset_import: ["": 13, "d": 1]> g (float[2] x) => (y) {
        t = d.Relu <consumed_inputs = [0]> (x) y = Neg <consumed_inputs = [0]> (t) }
        <domain: "d", opset_import: ["": 13]> Relu <consumed_inputs> (a) => (b) {
            b = Relu <consumed_inputs: ints = @consumed_inputs> (a) }
        <domain: "", opset_import: ["": 13]> Neg <consumed_inputs> (a) => (b) { b = Abs (a) }"""
    model = opset.load(opset.parse_model(text))
    _, index = read_model(model, REGISTRY)
    assert index.notes == ["attribute 'consumed_inputs' of Relu, dropped, which changes nothing: 1 node"]
    assert [*attribute_fixes(index, REGISTRY)] == []
    assert [each.name for each in model.proto.graph.node[0].attribute] == ["consumed_inputs"]


@pytest.mark.parametrize(
    ("imports", "repeated"),
    [
        ([("", 13), ("ai.onnx", 13), ("d", 1), ("", 13), ("d", 1)], [1, 3, 4]),
        ([("", 13), ("", 12), ("d", 13)], []),
        ([], []),
    ],
)
def test_imports_that_repeat_an_earlier_one(imports, repeated):
    model = opset.parse_model("g () => () {}")
    for domain, version in imports:
        model.opset_import.add(domain=domain, version=version)
    assert repeated_imports(model) == repeated


NEXT = REGISTRY.domains[""] + 1


@pytest.mark.parametrize(
    ("version", "function", "read", "notes"),
    [
        (NEXT, NEXT, [NEXT - 1] * 2, 1),
        (NEXT, NEXT - 1, [NEXT - 1] * 2, 1),
        (NEXT - 1, NEXT, [NEXT - 1] * 2, 1),
        (NEXT - 1, NEXT - 1, [NEXT - 1] * 2, 0),
        (NEXT - 2, NEXT - 2, [NEXT - 2] * 2, 0),
    ],
)
def test_the_operator_set_in_development_is_read_as_the_newest(version, function, read, notes):
    text = f"""<ir_version: 10, opset_import: ["": {version}, "d": 1]> g (float[2] x) => (y) {{ y = d.F (x) }}
        <domain: "d", opset_import: ["": {function}]> F (a) => (b) {{ b = Relu (a) }}"""
    given = opset.load(opset.parse_model(text))
    model, index = read_model(given, REGISTRY)
    assert [each.opset_import[0].version for each in (model.proto, model.proto.functions[0])] == read
    assert given.proto.opset_import[0].version == version
    note = f"ai.onnx {NEXT} is in development: its nodes are read as those of ai.onnx {NEXT - 1}"
    assert index.notes == [note] * notes


def test_each_domain_in_development_has_a_note():
    newest = REGISTRY.domains["ai.onnx.ml"]
    text = f"""<ir_version: 10, opset_import: ["": {NEXT}, "ai.onnx.ml": {newest + 1}]>
        g (float[2] x) => (y) {{ y = Relu (x) }}"""
    model, index = read_model(opset.load(opset.parse_model(text)), REGISTRY)
    assert [each.version for each in model.proto.opset_import] == [NEXT - 1, newest]
    assert index.notes == [
        f"{domain} {version + 1} is in development: its nodes are read as those of {domain} {version}"
        for domain, version in (("ai.onnx", NEXT - 1), ("ai.onnx.ml", newest))
    ]


def test_a_domain_at_two_versions_is_refused_also_if_one_is_in_development():
    text = (
        f'<ir_version: 8, opset_import: ["": {NEXT}, "ai.onnx": {NEXT - 1}]> g (float[2] x) => (y) {{ y = Relu (x) }}'
    )
    with pytest.raises(ModelError, match="M108"):
        read_model(opset.load(opset.parse_model(text)), REGISTRY)


FREEZE = """<ir_version: {}, opset_import: ["": 13]> g (float[2] x, float[2] w, float[2] v) => (y)
    <float[2] w = {{1, 2}}, float[2] v = {{3, 4}}, float[2] u = {{5, 6}}> {{
        a = Add (x, w) b = Add (a, v) y = Add (b, u) }}"""


@pytest.mark.parametrize(
    ("version", "freeze", "inputs", "note"),
    [
        (8, (), ["x", "w", "v"], ""),
        (8, "w", ["x", "v"], "constant now, and no inputs any more: w"),
        (8, ["v", "w"], ["x"], "constant now, and no inputs any more: w, v"),
        (8, "all", ["x"], "constant now, and no inputs any more: w, v"),
        (8, "u", ["x", "w", "v"], ""),
        (3, "all", ["x", "w", "v"],
         "before IR version 4, initializers are constants, although inputs list them: nothing was frozen"),
    ],
)  # fmt: skip
def test_initializers_are_frozen_by_name(version, freeze, inputs, note):
    given = opset.load(opset.parse_model(FREEZE.format(version)))
    model, index = read_model(given, REGISTRY, freeze)
    assert [each.name for each in model.proto.graph.input] == inputs and len(given.proto.graph.input) == 3
    assert index.notes == ([note] if note else [])


def test_what_cannot_be_frozen_is_told_name_by_name():
    with pytest.raises(UsageError) as caught:
        read_model(opset.load(opset.parse_model(FREEZE.format(8))), REGISTRY, ["x", "w", "nothing"])
    assert [(each.code, each.message, each.why, each.help) for each in caught.value.findings] == [
        ("U103", "the model has no initializer 'nothing'", "", "initializers that are inputs: w, v"),
        ("U103", "the model has no initializer 'x'", "it is an input without a value",
         "initializers that are inputs: w, v"),
    ]  # fmt: skip


def test_order_is_restored_in_each_body_or_the_error_is_the_first():
    text = """<ir_version: 8, opset_import: ["": 13]> g (bool c, float[2] x) => (y) {
        y = If (c) <then_branch = t () => (p) { p = Neg (q) q = Abs (z) }, else_branch = e () => (r) { r = Neg (x) }>
        z = Relu (x) }"""
    model, index = read_model(opset.load(opset.parse_model(text)), REGISTRY)
    assert [each.op_type for each in model.proto.graph.node] == ["Relu", "If"]
    assert [each.op_type for each in model.proto.graph.node[1].attribute[0].g.node] == ["Abs", "Neg"]
    assert sorted(note.partition(": nodes sorted")[0] for note in index.notes) == [
        "graph 'g'", "graph 'g', node number 0 (If), then_branch",
    ]  # fmt: skip
    assert all(note.endswith(": 1 moved") for note in index.notes)
    for broken in (text.replace("Relu (x)", "Relu (y)"), text.replace("Relu (x)", "Relu (nothing)")):
        with pytest.raises(ModelError, match="M110"):
            read_model(opset.load(opset.parse_model(broken)), REGISTRY)


def test_what_is_missing_stays_so_if_asked_and_mistakes_are_mended():
    model = opset.parse_model("""<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (float[2] y) {
        t = Relu <consumed_inputs = [0]> (x)  z = ai.onnx.ml.Binarizer <threshold = 0.5> (t)  a, y = Split (z) }""")
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = -1
    dropped = "attribute 'consumed_inputs' of Relu, dropped, which changes nothing: 1 node"
    notes = [read_model(opset.load(model), REGISTRY, strict=strict)[1].notes for strict in (True, False)]
    assert notes[0] == [dropped] and [each.partition(" ")[0] for each in notes[1]] == [
        "ai.onnx.ml", "stated", "attribute", "attribute",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("imports", "repeated"),
    [
        ([("", 13), ("", 13)], [1]),
        ([("", 13), ("ai.onnx", 13)], [1]),
        ([("", 13), ("", 14)], []),
        ([("", 0), ("", 13)], [0]),
        ([("", 13), ("", 0)], [1]),
        ([("", 1), ("", 0)], [1]),
        ([("", 0), ("", -1)], []),
        ([("", 0)], []),
        ([("", 0), ("a", 13)], []),
    ],
)
def test_an_import_without_a_version_repeats_one_that_has_one(imports, repeated):
    model = opset.load(opset.parse_model('<ir_version: 8, opset_import: ["": 13]> g () => () {}')).proto
    del model.opset_import[:]
    for domain, version in imports:
        model.opset_import.add(domain=domain, version=version)
    assert repeated_imports(model) == repeated


def test_what_one_holder_imports_twice_is_imported_once_and_a_missing_domain_at_the_newest_that_is_used():
    text = """<ir_version: 8, opset_import: ["": 13, "d": 1]> g (float[2,2] x) => (y) {
        t = d.F (x)  u = ai.onnx.ml.Binarizer (t)  y = ai.onnx.ml.TreeEnsemble (u)  z = ai.onnx.ml.Imputer (u) }
        <domain: "d", opset_import: ["": 13]> F (a) => (b) { b = Relu (a) }"""
    for holder in ("proto", "function"):
        model = opset.load(opset.parse_model(text))
        (model.proto if holder == "proto" else model.proto.functions[0]).opset_import.add(domain="", version=13)
        read, index = read_model(model, REGISTRY)
        assert [(each.domain, each.version) for each in read.proto.opset_import] == [
            ("", 13), ("d", 1), ("ai.onnx.ml", 5)]  # fmt: skip
        assert [each.version for each in read.proto.functions[0].opset_import] == [13]
        assert index.notes == [
            "domains that were imported more than once, without another version, are imported once",
            "ai.onnx.ml is imported, at version 5: the model did not, and what it uses of it has one version",
        ]


def test_names_of_nodes_that_are_no_text_are_told_and_not_counted_as_repeated():
    text = '<ir_version: 8, opset_import: ["": 13]> g (float x) => (float y) { [QQQ] t = Neg (x)  [QQQ] y = Abs (t) }'
    data = opset.parse_model(text).SerializeToString().replace(b"QQQ", b"\xff\xfe\xfd")
    with pytest.raises(ModelError) as caught:
        read_model(opset.load(data), REGISTRY)
    assert [(each.code, each.message, each.place) for each in caught.value.findings] == [
        ("M106", r"the name \xff\xfe\xfd is not valid UTF-8", f"graph 'g', node number {index}") for index in (0, 1)
    ]
    assert repeated_names(bodies(opset.load(data).proto)[0]) == []
