"""Operators that are expressed by others: on the way to a target that lacks them, and at a model's own opset."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

import opset
from opset.budget import Budget
from opset.errors import ConversionError, UsageError
from opset.extend import lower
from opset.model import proto as pb
from opset.opsets.hooks import unregister
from opset.opsets.registry import registry_with
from tests.version_converter.npu import runtime_file, takes

LAYER = """<ir_version: 8, opset_import: ["": 17]>
m (float[2, 3, 4] x, float[4] s) => (float[2, 3, 4] y) {
    [n] y = LayerNormalization (x, s)
}"""
X = {"x": np.random.default_rng(0).random((2, 3, 4), np.float32), "s": np.arange(4, dtype=np.float32)}


def run(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, X)


def operators(model):
    return {node.op_type for node in model.graph.node}


def test_an_operator_is_expressed_at_the_opset_of_the_model():
    model = parser.parse_model(LAYER)
    lowered = opset.lower(model, ["LayerNormalization"])
    assert operators(lowered) == {"ReduceMean", "Sub", "Pow", "Mul", "Constant", "Add", "Sqrt", "Div"}
    assert lowered.opset_import == model.opset_import and lowered.ir_version == model.ir_version
    onnx.checker.check_model(lowered, full_check=True)
    np.testing.assert_allclose(run(lowered)[0], run(model)[0], rtol=1e-5, atol=1e-6)
    assert opset.lower(lowered, ["LayerNormalization"]) == lowered


def test_what_a_lowering_makes_is_taken_up_to_the_opset_of_the_model():
    model = parser.parse_model(LAYER.replace('"": 17', '"": 20'))
    lowered = opset.lower(model, ["ai.onnx.LayerNormalization"])
    # Axes are an input of ReduceMean since version 18.
    assert all(len(node.input) == 2 for node in lowered.graph.node if node.op_type == "ReduceMean")
    np.testing.assert_allclose(run(lowered)[0], run(model)[0], rtol=1e-5, atol=1e-6)


def test_operators_in_functions_and_subgraphs_are_expressed():
    text = """<ir_version: 8, opset_import: ["": 17, "f": 1]>
    m (float[2, 3, 4] x, float[4] s, bool c) => (float[2, 3, 4] y) {
        y = If (c) <then_branch = t () => (float[2, 3, 4] a) { a = LayerNormalization (x, s) },
                    else_branch = e () => (float[2, 3, 4] b) { b = f.g (x, s) }>
    }
    <domain: "f", opset_import: ["": 17]> g (p, q) => (r) { r = LayerNormalization (p, q) }"""
    model = parser.parse_model(text)
    lowered = opset.lower(model, ["LayerNormalization"])
    for given in (True, False):
        feeds = {**X, "c": np.array(given)}
        before, after = (
            onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
            for each in (model, lowered)
        )
        np.testing.assert_allclose(after[0], before[0], rtol=1e-5, atol=1e-6)
    assert b"LayerNormalization" not in b"".join(
        node.op_type.encode() for graph in (lowered.functions[0], lowered.graph) for node in graph.node
    )


def test_what_a_lowering_reads_of_a_large_constant_counts_for_each_node(own):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        return op.Mul(node.input(0), op.const(max(node.need_constant(0).values), "float", []), domain="")

    nodes = "a = com.example.Scale (v)  b = com.example.Scale (w)  y = Concat <axis = 0> (a, b)"
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "com.example": 2]> m () => (float[N] y) {{ {nodes} }}'
    )
    for name, size in (("v", 300), ("w", 300)):
        values = np.zeros(size, np.float32)
        values[-1] = 2 if name == "v" else 3
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    (found,) = opset.ReferenceEvaluator(opset.lower(model, ["com.example.Scale"], schemas=[own])).run(None, {})
    assert found[[299, 599]].tolist() == [4, 9]


def test_what_a_lowering_reads_of_values_that_are_no_inputs_counts_for_each_node(own):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        factor = node.values.constant(f"{node.input(0)}_factor").values[0]
        return op.Mul(node.input(0), op.const(factor, "float", []), domain="")

    nodes = "a = com.example.Scale (v)  b = com.example.Scale (w)"
    weights = "float v_factor = {2}, float w_factor = {3}"
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "com.example": 2]> '
        f"m (float[2] v, float[2] w) => (float[2] a, float[2] b) <{weights}> {{ {nodes} }}"
    )
    feeds = {"v": np.float32([1, 2]), "w": np.float32([3, 4])}
    found = opset.ReferenceEvaluator(opset.lower(model, ["com.example.Scale"], schemas=[own])).run(None, feeds)
    assert [each.tolist() for each in found] == [[2, 4], [9, 12]]


def test_an_operator_without_a_lowering_is_refused():
    model = parser.parse_model(LAYER.replace("LayerNormalization (x, s)", "Mul (x, s)"))
    with pytest.raises(ConversionError, match="Mul cannot be expressed by other operators of version 17") as caught:
        opset.lower(model, ["Mul"])
    assert (caught.value.code, caught.value.why) == ("C201", "there is no lowering of Mul")
    assert caught.value.help == "keep the operator, or express what the node computes by other operators"


def test_a_graph_of_operators_that_are_lowered_too_is_refused():
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 14]>
    m (float[3] x) => (float[3] y) <int64 a = {0}> { y = CumSum (x, a) }""")
    with pytest.raises(ConversionError, match="needs a subgraph with Identity, which is lowered, too") as caught:
        opset.lower(model, ["CumSum", "Identity"])
    assert caught.value.code == "C201"
    assert "Loop" in operators(opset.lower(model, ["CumSum"]))


@pytest.mark.parametrize(
    ("operator", "why"),
    [("Nonesuch", "does not exist there"), ("Mish", "does not exist there"), ("Upsample", "does not exist there"),
     ("Mul", "is lowered, too"), ("Neg", None)],
)  # fmt: skip
def test_a_graph_of_an_operator_that_is_not_available_is_refused(own, operator, why):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        assert op.final_schema(operator).name == operator
        return op.Abs(node.input(0), domain="")

    names = ["com.example.Scale", "Mul"]
    if why is None:
        assert operators(opset.lower(scaled(2), names, schemas=[own])) == {"Abs"}
        return
    with pytest.raises(ConversionError) as caught:
        opset.lower(scaled(2), names, schemas=[own])
    assert caught.value.code == "C201"
    assert caught.value.why.endswith(f": it needs a subgraph with {operator}, which {why}")


def test_unknown_operators_and_none_are_usage_errors():
    for names in (["Nope"], ["com.example.Mul"], [""], []):
        with pytest.raises(UsageError):
            opset.lower(parser.parse_model(LAYER), names)


SCALE = """
operator: Scale
family: own
versions:
- since: 2
  doc: Multiplies by a factor.
  inputs: [{name: x, type: T, doc: values}]
  outputs: [{name: y, type: T, doc: results}]
  attributes: {factor: {type: float, default: 2.0, doc: the factor}}
  types: {T: [float]}
"""


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "com.example"
    folder.mkdir()
    (folder / "Scale.yaml").write_text(SCALE)
    yield tmp_path
    unregister("lower", "com.example", "Scale")


def scaled(version):
    text = f"""<ir_version: 8, opset_import: ["": 17, "com.example": {version}]>
    m (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ y = com.example.Scale <factor: float = 3> (x) }}"""
    return parser.parse_model(text)


def test_an_operator_of_ones_own_is_lowered(own):
    with pytest.raises(ConversionError, match="came with version 2"):
        opset.convert(scaled(2), "com.example=1", schemas=[own])

    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        return op.Mul(node.input(0), op.const(node.attr("factor"), "float", []), domain="")

    for lowered in (
        opset.convert(scaled(2), "com.example=1", schemas=[own]),
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own]),
    ):
        assert operators(lowered) == {"Mul", "Constant"}
        session = onnxruntime.InferenceSession(lowered.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(None, {"x": X["x"]})[0], X["x"] * 3)


PICK = """\
operator: Pick
family: numbers
versions:
- since: 2
  change:
    types: {T: [+bfloat16]}
    emulate: {bfloat16: float}
    adapters: {up: derived, down: derived}
  doc: Casts.
  inputs:
  - {name: X, type: tensor(float), doc: values}
  outputs:
  - {name: Y, type: T, doc: the same}
  attributes:
    to: {type: int, required: true, kind: data_type, choices: [T], constraint: C1, doc: a type}
  types:
    T: [bfloat16, float]
- since: 1
  like: 2
  types: {T: [float]}
"""


@pytest.mark.parametrize(
    ("ir_version", "asked", "imports", "made"),
    [(10, None, "", 22), (7, None, "", 14), (10, 8, "", 18), (10, None, '"": 13, ', 13)],
)
def test_new_nodes_beside_an_own_domain_are_of_an_opset_that_the_ir_version_has(
    tmp_path, ir_version, asked, imports, made
):
    (tmp_path / "com.example").mkdir()
    (tmp_path / "com.example" / "Pick.yaml").write_text(PICK)
    model = opset.parse_model(f"""<ir_version: {ir_version}, opset_import: [{imports}"com.example": 2]>
    m (float[2] x) => (bfloat16[2] y) {{ y = com.example.Pick <to = 16> (x) }}""")
    converted = opset.convert(model, {"com.example": 1}, ir_version=asked, schemas=[tmp_path])
    assert [node.op_type for node in converted.graph.node] == ["Pick", "Cast"]
    assert {each.domain: each.version for each in converted.opset_import} == {"": made, "com.example": 1}
    assert not opset.check(converted, schemas=[tmp_path])


@pytest.mark.parametrize(("ir_version", "imports"), [(6, ""), (10, '"": 11, ')])
def test_a_type_that_the_opset_of_new_nodes_lacks_is_refused(tmp_path, ir_version, imports):
    (tmp_path / "com.example").mkdir()
    (tmp_path / "com.example" / "Pick.yaml").write_text(PICK)
    model = opset.parse_model(f"""<ir_version: {ir_version}, opset_import: [{imports}"com.example": 2]>
    m (float[2] x) => (bfloat16[2] y) {{ y = com.example.Pick <to = 16> (x) }}""")
    with pytest.raises(ConversionError, match="no element type bfloat16 at opset 11; it came with 13") as caught:
        opset.convert(model, {"com.example": 1}, schemas=[tmp_path])
    assert caught.value.code == "C202"


def test_a_refusal_names_the_operator_of_the_model_and_the_first_cause(own):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        return op.StringNormalizer(node.input(0), domain="")

    model = scaled(2)
    with pytest.raises(ConversionError, match=r"com.example|Scale cannot go from 2 to 1") as caught:
        opset.convert(model, {"com.example": 1, "": 9}, schemas=[own])
    assert "StringNormalizer" in caught.value.why


NO_SCALE = "npu 1.0 has no Scale"
NOT_RUN = "{} was not run, since nobody trusts its folder"


@pytest.mark.parametrize(
    ("file", "since", "way", "code", "why"),
    [
        ("kernels.py", 2, "convert", "C201", "Scale came with version 2"),
        ("kernels.py", 2, "lower", "C201", "there is no lowering of Scale"),
        ("kernels.py", 2, "runtime", "C209", f"{NO_SCALE}; there is no lowering of Scale; no other type helps"),
        ("adapters.py", 2, "convert", "C105", NOT_RUN),
        ("adapters.py", 2, "lower", "C105", NOT_RUN),
        ("adapters.py", 1, "lower", "C105", NOT_RUN),
        ("adapters.py", 1, "runtime", "C209", f"{NO_SCALE}; {NOT_RUN}; no other type helps"),
    ],
)
def test_a_lowering_may_be_in_a_file_that_was_not_run(own, file, since, way, code, why):
    (own / "com.example" / file).write_text("raise ValueError")
    (own / "com.example" / "Scale.yaml").write_text(SCALE.replace("since: 2", f"since: {since}"))
    registry = registry_with((), data=[own])
    with pytest.raises(ConversionError) as caught:
        if way == "convert":
            opset.convert(scaled(since), {"com.example": 1}, schemas=registry)
        elif way == "lower":
            opset.lower(scaled(since), ["com.example.Scale"], schemas=registry)
        else:
            npu = runtime_file(own, {"ai.onnx": takes(), "com.example": {}})
            opset.convert(scaled(since), runtime="npu==1.0", targets=[npu], schemas=registry)
    (finding,) = caught.value.findings
    assert (finding.code, finding.why) == (code, why.format(own / "com.example" / file))


@pytest.mark.parametrize(("result", "shown"), [(None, "None"), (3, "3"), ([None], r"\[None\]")])
def test_a_lowering_that_names_no_outputs_is_refused(own, result, shown):
    lower("Scale", since=2, domain="com.example")(lambda op, node: result)
    with pytest.raises(ConversionError, match=f"the lowering of Scale returns {shown}") as caught:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C105" and caught.value.help


@pytest.mark.parametrize(
    ("adapter", "shown"),
    [
        (lambda op, node: "nowhere", "returns 'nowhere'"),
        (lambda op, node: node.output(0), "returns 'y'"),
        (lambda op, node: op.Abs("nowhere", domain=""), "reads 'nowhere'"),
        (lambda op, node: op.Abs(node.output(0), domain=""), "reads 'y'"),
    ],
)
def test_a_lowering_with_a_name_that_nothing_computes_is_refused(own, adapter, shown):
    lower("Scale", since=2, domain="com.example")(adapter)
    with pytest.raises(ConversionError, match=f"the lowering of Scale {shown}, which nothing computes") as caught:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C105" and caught.value.help


def test_an_adapter_that_raises_is_refused_with_what_it_raised(own):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        raise ValueError("no\tfactor")

    with pytest.raises(ConversionError, match="the lowering of Scale raised ValueError: no") as caught:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C105" and caught.value.help and "\t" not in str(caught.value)


@pytest.mark.parametrize(
    ("adapter", "shown"),
    [
        (lambda op, node: [op.Abs(node.input(0), outputs=["y"], domain=""), op.Neg("y", outputs=["y"], domain="")][:1],
         "computes 'y', which is computed already"),
        (lambda op, node: op.Abs(node.input(0), outputs=["x"], domain=""), "computes 'x', which is computed already"),
        (lambda op, node: op.Abs(node.input(0), node.input(0), domain=""), "makes a Abs that is not valid: "),
        (lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=branch("nowhere"), else_branch=branch("x")),
         "reads 'nowhere', which nothing computes, in a graph of If"),
        (lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=nested("nowhere"), else_branch=branch("x")),
         "reads 'nowhere', which nothing computes, in a graph of If"),
        (lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=branch("x", 0), else_branch=branch("x")),
         "returns 'value', which nothing computes, in a graph of If"),
        (lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=branch("x", 2), else_branch=branch("x")),
         "computes 'value', which is computed already, in a graph of If"),
        (lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=branch("x", 1, "Sin!"),
                                else_branch=branch("x")),
         "makes a Sin!, which does not exist at version 17"),
        (lambda op, node: op.Cast(node.input(0), to=99, domain=""),
         "makes a Cast that is not valid: the attribute 'to' is 99, it names no element type"),
        (lambda op, node: op.Shape(node.input(0), domain=""),
         "returns 'y__Shape', which is tensor(int64), for the output 'y', which is tensor(float)"),
    ],
)  # fmt: skip
def test_a_lowering_that_makes_what_is_not_valid_is_refused(own, adapter, shown):
    lower("Scale", since=2, domain="com.example")(adapter)
    with pytest.raises(ConversionError) as caught:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C105" and f"the lowering of Scale {shown}" in caught.value.why
    assert "node number 0 (Scale)" in caught.value.place


@pytest.mark.parametrize(
    ("given", "shape"),
    [("float[2, 3, 4]", (2, 3, 4)), ("float", ()), ("float[2, N]", None), ("float[N, M]", None), ("float[]", None)],
)
def test_a_lowering_that_needs_a_shape_gets_all_sizes_in_numbers(own, given, shape):
    found = []
    lower("Scale", since=2, domain="com.example")(
        lambda op, node: found.append(node.need_shape(0)) or op.Abs(node.input(0), domain="")
    )
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17, "com.example": 2]>
        m ({given} x) => (float[] y) {{ y = com.example.Scale (x) }}""")
    if shape is not None:
        opset.lower(model, ["com.example.Scale"], schemas=[own])
        assert {*found} == {shape}
    else:
        with pytest.raises(ConversionError, match="the shape of 'x' is not fully known") as caught:
            opset.lower(model, ["com.example.Scale"], schemas=[own])
        assert caught.value.code == "C207" and not found


def test_a_lowering_may_keep_an_attribute_that_refers_to_one_of_the_function(own):
    stretch = (
        SCALE.replace("Scale", "Stretch")
        .replace("since: 2", "since: 1")
        .replace("default: 2.0", "default: 2.0, range: '> 0', constraint: C1")
    )
    stretch += "  constraints: {C1: factor is positive}\n"
    (own / "com.example" / "Stretch.yaml").write_text(stretch)
    lower("Scale", since=2, domain="com.example")(lambda op, node: op.copy(node, op_type="Stretch"))
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "com.example": 2, "f": 1]>
        m (float[2] x) => (float[2] y) { y = f.F <k = 3.0> (x) }
        <domain: "f", opset_import: ["": 17, "com.example": 2]>
        F <k> (a) => (b) { b = com.example.Scale <factor: float = @k> (a) }""")
    (function,) = opset.lower(model, ["com.example.Scale"], schemas=[own]).functions
    (node,) = function.node
    assert (node.op_type, node.attribute[0].name, node.attribute[0].ref_attr_name) == ("Stretch", "factor", "k")


def nested(reads):
    """A graph with a branch in it that reads a value."""
    graph = branch("x")
    inner = parser.parse_graph(f"i () => (float[] w) {{ v = Abs (value)  w = Add (v, {reads}) }}")
    test = helper.make_node("Constant", [], ["test"], value=helper.make_tensor("", TensorProto.BOOL, [], [True]))
    for node in (test, helper.make_node("If", ["test"], ["z"], then_branch=inner, else_branch=inner)):
        graph.node.append(pb.NodeProto.FromString(node.SerializeToString()))
    return graph


def branch(reads, count=1, operator="Abs"):
    """A graph in which so many nodes compute `value`."""
    nodes = [helper.make_node(operator, [reads], ["value"])] * count
    values = [helper.make_tensor_value_info("value", TensorProto.FLOAT, None)]
    return pb.GraphProto.FromString(helper.make_graph(nodes, "branch", [], values).SerializeToString())


@pytest.mark.parametrize(
    ("adapter", "raised"),
    [
        (lambda op, node: op.Clip(node.input(0), nope=1, domain=""), "TypeError: Clip 13 has no attribute 'nope'"),
        (lambda op, node: op._nope(node.input(0)), "AttributeError: _nope"),
    ],
)
def test_a_lowering_that_asks_for_what_is_not_there_is_refused(own, adapter, raised):
    lower("Scale", since=2, domain="com.example")(adapter)
    with pytest.raises(ConversionError, match=f"the lowering of Scale raised {raised}") as caught:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C105"


def test_an_attribute_that_is_an_input_by_now_becomes_a_constant_behind_those_that_are_absent(own):
    lower("Scale", since=2, domain="com.example")(lambda op, node: op.Clip(node.input(0), max=1.0, min=None, domain=""))
    lowered = opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    constant, clip = lowered.graph.node
    assert (clip.op_type, list(clip.input)) == ("Clip", ["x", "", constant.output[0]])


@pytest.mark.parametrize(
    ("adapter", "why"),
    [
        (lambda op, node: op.Scale(node.input(0)), "it needs Scale, which does not exist at version 1"),
        (
            lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=branch("x"), else_branch=branch("x")),
            "it needs a subgraph with Abs, which is lowered, too",
        ),
        (lambda op, node: op.Abs(node.input(0), domain="my"), "it needs Abs of my, which the model does not import"),
        (lambda op, node: op.copy(node, op_type="Nope"), "it needs Nope, which does not exist at version 1"),
        (
            lambda op, node: op.Upsample(node.input(0), node.input(0), domain=""),
            "it needs Upsample, which does not exist at version 17",
        ),
    ],
)
def test_a_lowering_that_makes_what_the_target_lacks_is_refused(own, adapter, why):
    lower("Scale", since=2, domain="com.example")(adapter)
    with pytest.raises(ConversionError) as caught:
        opset.lower(scaled(2), ["com.example.Scale", "Abs"], schemas=[own])
    assert caught.value.findings[0].why.endswith(why)


def test_attributes_of_what_a_lowering_makes_are_checked_before_they_are_converted(own):
    lower("Scale", since=2, domain="com.example")(
        lambda op, node: op.DepthToSpace(node.input(0), blocksize=2, mode="RDC", domain="")
    )
    with pytest.raises(
        ConversionError, match=r"a DepthToSpace that is not valid: .* 'RDC', it has to be DCR"
    ) as caught:
        opset.convert(scaled(2), {"com.example": 1, "": 10}, schemas=[own])
    assert caught.value.code == "C105"


def test_a_lowering_may_make_an_operator_that_comes_on_the_way_to_the_target(own):
    lower("Scale", since=2, domain="com.example")(lambda op, node: op.Gelu(node.input(0), domain=""))
    made = opset.convert(scaled(2), {"com.example": 1, "": 21}, schemas=[own])
    assert operators(made) == {"Gelu"} and made.opset_import[0].version == 21
    with pytest.raises(ConversionError, match="it needs Gelu, which does not exist at version 17"):
        opset.convert(scaled(2), {"com.example": 1, "": 19}, schemas=[own])


def test_a_graph_in_a_graph_that_a_lowering_makes_reads_values_of_all_around(own):
    lower("Scale", since=2, domain="com.example")(
        lambda op, node: op.If(op.const(1, "bool", []), domain="", then_branch=nested("x"), else_branch=branch("x"))
    )
    assert operators(opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])) == {"Constant", "If"}


def test_a_lowering_may_make_an_operator_of_its_own_domain(own):
    (own / "com.example" / "Half.yaml").write_text(SCALE.replace("Scale", "Half").replace("since: 2", "since: 1"))
    lower("Scale", since=2, domain="com.example")(lambda op, node: op.Half(node.input(0), factor=node.attr("factor")))
    assert operators(opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])) == {"Half"}


@pytest.mark.parametrize("stated", ["", "  deprecated: true\n  replacement: Scale\n"])
def test_a_copy_under_another_name_needs_an_operator_that_is_in_force(own, stated):
    text = SCALE.replace("Scale", "Half").replace("since: 2\n", f"since: 1\n{stated}")
    (own / "com.example" / "Half.yaml").write_text(text)
    lower("Scale", since=2, domain="com.example")(lambda op, node: op.copy(node, op_type="Half"))
    if not stated:
        assert operators(opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])) == {"Half"}
        return
    with pytest.raises(ConversionError, match="it needs Half, which does not exist at version 1") as caught:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C201"


def two_outputs():
    graph = branch("x")
    graph.output.add().CopyFrom(graph.output[0])
    return graph


@pytest.mark.parametrize(
    ("adapter", "to", "why"),
    [
        (lambda op, node: op.If(op.const(1, "bool"), domain="", then_branch=branch("x"), else_branch=two_outputs()), 10,
         "the branches and the node have different numbers of outputs"),
        (lambda op, node: op.Loop(op.const(1), op.const(1, "bool"), domain="", body=branch("x")), 10,
         "the body does not have the inputs and outputs of a loop"),
        (lambda op, node: op.Scan(node.input(0), domain="", body=branch("x"), num_scan_inputs=1), 8,
         "the body has 0 inputs, and the node gives it 1"),
    ],
)  # fmt: skip
def test_graphs_of_what_a_lowering_makes_have_to_fit_its_node(own, adapter, to, why):
    lower("Scale", since=2, domain="com.example")(adapter)
    with pytest.raises(ConversionError, match=why) as caught:
        opset.convert(scaled(2), {"com.example": 1, "": to}, schemas=[own])
    assert caught.value.code == "C103"


def test_a_lowering_to_an_operator_of_the_same_name_which_is_lowered_too(own):
    (own / "com.example" / "Gelu.yaml").write_text(SCALE.replace("Scale", "Gelu"))
    lower("Gelu", since=2, domain="com.example")(lambda op, node: op.Gelu(node.input(0), domain=""))
    model = scaled(2)
    model.graph.node[0].op_type, model.opset_import[0].version = "Gelu", 20
    try:
        assert operators(opset.lower(model, ["com.example.Gelu"], schemas=[own])) == {"Gelu"}
        both = opset.lower(model, ["com.example.Gelu", "Gelu"], schemas=[own])
    finally:
        unregister("lower", "com.example", "Gelu")
    assert "Erf" in operators(both) and "Gelu" not in operators(both)


def test_two_nodes_whose_lowering_has_names_of_its_own_are_refused(own):
    lower("Scale", since=2, domain="com.example")(
        lambda op, node: op.Neg(op.Abs(node.input(0), outputs=["own"], domain=""), domain="")
    )
    model = scaled(2)
    assert operators(opset.lower(model, ["com.example.Scale"], schemas=[own])) == {"Abs", "Neg"}
    second = model.graph.node.add()
    second.CopyFrom(model.graph.node[0])
    second.input[0], second.output[0] = "y", "z"
    model.graph.output[0].name = "z"
    with pytest.raises(ConversionError, match="computes 'own', which is computed already") as caught:
        opset.lower(model, ["com.example.Scale"], schemas=[own])
    assert caught.value.code == "C105"


def test_what_a_lowering_reads_of_other_values_counts_for_each_node(own):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        return op.Mul(node.input(0), op.const(node.values.constant("k").values[0], "float", []), domain="")

    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17, "com.example": 2]> m (float[2] x, bool c) => (float[2] y) {
            y = If (c) <
                then_branch = t () => (float[2] a) { k = Constant <value_float = 2.0> ()  a = com.example.Scale (x) },
                else_branch = e () => (float[2] a) { k = Constant <value_float = 3.0> ()  a = com.example.Scale (x) }
            >
        }"""
    )
    lowered = opset.lower(model, ["com.example.Scale"], schemas=[own])
    for c, factor in ((True, 2), (False, 3)):
        feeds = {"x": np.float32([1, 5]), "c": np.array(c)}
        np.testing.assert_array_equal(opset.ReferenceEvaluator(lowered).run(None, feeds)[0], feeds["x"] * factor)


@pytest.mark.parametrize(("count", "stops"), [(500, False), (-1, False), (2000, True)])
def test_elements_that_a_lowering_counts_are_charged_before_there_are_any(own, count, stops):
    counted = []

    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        counted.append(op.charge_elements(count))
        return op.Abs(node.input(0), domain="")

    limits = opset.Limits(max_steps=1000)
    if stops:
        with pytest.raises(ConversionError, match="C401"):
            opset.lower(scaled(2), ["com.example.Scale"], schemas=[own], limits=limits)
    else:
        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own], limits=limits)
    assert counted == [] if stops else [count]


@pytest.fixture
def budgets(monkeypatch):
    """The budgets of the conversions of a test."""
    made = []

    def budget(*arguments, **named):
        made.append(Budget(*arguments, **named))
        return made[-1]

    monkeypatch.setattr("opset.version_converter.conversion.Budget", budget)
    return made


@pytest.mark.parametrize(
    ("write", "charged", "sizes"),
    [
        # Lists of at most eight elements cost nothing beside their node, and constants are charged once more when read.
        (lambda op, count: op.Constant(value_floats=[0.5] * count, domain=""), [0, 0, 9, 40], [5 * 7, 5]),
        (lambda op, count: op.const([0.5] * count), [0, 14, 16, 78], [4 * 7, 4]),
        (lambda op, count: op.Cast(op.const([5] * count), to=1, domain=""), [0, 14, 16, 78], [8 * 7, 8]),
        (lambda op, count: op.const([0.5] * op.charge_elements(count)), [0, 21, 24, 117], [4 * 7, 4]),
    ],
)
def test_long_lists_that_a_lowering_writes_are_charged(own, budgets, write, charged, sizes):
    steps, held = [], []
    for count in (1, 8, 9, 40):
        unregister("lower", "com.example", "Scale")

        @lower("Scale", since=2, domain="com.example")
        def scale_lowered(op, node, count=count):
            return op.Mul(node.input(0), op.ReduceMax(write(op, count), keepdims=0, domain=""), domain="")

        opset.lower(scaled(2), ["com.example.Scale"], schemas=[own])
        steps.append(budgets[-1].steps)
        held.append(budgets[-1].live)
    assert [each - steps[0] for each in steps] == charged
    assert [held[1] - held[0], held[2] - held[1]] == sizes


def test_what_a_conversion_may_take_is_in_proportion_to_its_model(budgets):
    model = parser.parse_model(LAYER)
    opset.convert(model, 16)
    size = model.ByteSize()
    assert (budgets[0].max_steps, budgets[0].max_bytes) == ((1 << 21) + 8 * size, (1 << 25) + 8 * size)


@pytest.mark.parametrize("needed", [True, False])
def test_a_lowering_imports_what_it_needs_and_nothing_else(own, needed):
    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        return op.Abs(node.input(0)) if needed else node.input(0)  # com.example has no operator of that name

    model = scaled(2)
    del model.opset_import[:]
    model.opset_import.add(domain="com.example", version=2)
    lowered = opset.lower(model, ["com.example.Scale"], schemas=[own])
    made = {node.op_type for node in lowered.graph.node}
    used = {"" if name in ("Abs", "Identity") else "com.example" for name in made}
    assert made == {"Abs" if needed else "Identity"}
    assert {entry.domain for entry in lowered.opset_import} == {"com.example"} | used


@pytest.mark.malformed  # onnx's checker takes no function that imports another version of an operator than the model
@pytest.mark.parametrize("write", ["ReduceSum", "Trilu"])
def test_a_function_gets_nodes_of_the_opset_that_it_imports(own, write):
    """ReduceSum takes axes as an input from version 13 on, and Trilu came with version 14."""

    @lower("Scale", since=2, domain="com.example")
    def scale_lowered(op, node):
        return op.ReduceSum(node.input(0), axes=[0], domain="") if write == "ReduceSum" else op.Trilu(node.input(0))

    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "f": 1]>
        m (float[2, 3] x) => (float[?, ?] y) { y = f.F (x) }
        <domain: "f", opset_import: ["": 12, "com.example": 2]>
        F (a) => (b) { b = com.example.Scale <factor: float = 3> (a) }""")
    if write == "Trilu":
        with pytest.raises(ConversionError, match=r"it needs Trilu, which does not exist at version 12"):
            opset.lower(model, ["com.example.Scale"], schemas=[own])
        return
    (function,) = opset.lower(model, ["com.example.Scale"], schemas=[own]).functions
    assert [(each.op_type, [*each.input]) for each in function.node] == [("ReduceSum", ["a"])]
    assert {each.domain: each.version for each in function.opset_import}[""] == 12


def test_a_body_that_computes_a_type_in_a_wider_one_asks_for_the_type():
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[2] x) => (float[2] y) {
        u = NODE (x)  v = ThresholdedRelu <alpha = 2.0> (u)  y = Cast <to = 1> (v) }"""
    with pytest.raises(ConversionError) as caught:
        opset.lower(parser.parse_model(text.replace("NODE", "own.Unknown")), ["ThresholdedRelu"])
    assert [(each.code, each.why) for each in caught.value.findings] == [("C203", "the type of 'u' is not known")]
    lowered = opset.lower(parser.parse_model(text.replace("NODE", "Neg")), ["ThresholdedRelu"])
    assert "ThresholdedRelu" not in {node.op_type for node in lowered.graph.node}


@pytest.mark.parametrize("name", ["CastLike", "Constant"])
def test_a_body_may_use_an_operator_of_its_domain_with_the_name_of_one_that_is_replaced(tmp_path, name):
    folder = tmp_path / "com.example"
    folder.mkdir()
    rest = "family: own\nversions:\n- since: 1\n  doc: it\n  inputs: [{name: x, type: T}]\n"
    rest += "  outputs: [{name: y, type: T}]\n  types: {T: [float]}\n"
    (folder / f"{name}.yaml").write_text(f"operator: {name}\n{rest}")
    body = f'  function: [{{opset: 13, nodes: "y = com.example.{name} (x)"}}]\n'
    (folder / "Squash.yaml").write_text(f"operator: Squash\n{rest}{body}")
    text = """<ir_version: 8, opset_import: ["": 17, "com.example": 1]>
    g (float[2] a) => (float[2] b) { b = com.example.Squash (a) }"""
    lowered = opset.lower(parser.parse_model(text), ["com.example.Squash"], schemas=[tmp_path])
    assert [(each.domain, each.op_type, [*each.input]) for each in lowered.graph.node] == [("com.example", name, ["a"])]


def test_a_body_is_checked_for_each_type_that_nodes_give_it(tmp_path):
    folder = tmp_path / "com.example"
    folder.mkdir()
    (folder / "Squash.yaml").write_text("""
operator: Squash
family: own
versions:
- since: 1
  doc: Squashes values into the range from 0 to 1.
  inputs: [{name: x, type: T, doc: values}]
  outputs: [{name: y, type: T, doc: results}]
  types: {T: [float, int32]}
  function: [{opset: 13, nodes: "y = Sigmoid (x)"}]
""")
    text = """<ir_version: 8, opset_import: ["": 17, "com.example": 1]>
    g (float[2] a, int32[2] b) => (float[2] c, int32[2] d) {
        [first] c = com.example.Squash (a)  [second] d = com.example.Squash (b)
    }"""
    with pytest.raises(ConversionError) as caught:
        opset.lower(parser.parse_model(text), ["com.example.Squash"], schemas=[tmp_path])
    assert [(each.code, each.place) for each in caught.value.findings] == [
        ("C202", "graph 'g', node 'second' (Squash)")
    ]


@pytest.mark.parametrize("version", [30, 1 << 40])
def test_an_opset_that_is_not_known_is_not_lowered(version):
    head = f'<ir_version: 9, opset_import: ["": {version}, "ai.onnx.ml": 3]> g (float[N, 3] x) => (float[N, 3] y)'
    with pytest.raises(ConversionError) as caught:
        opset.lower(opset.parse_model(f"{head} {{ y = Softmax (x) }}"), "Softmax")
    assert [each.code for each in caught.value.findings] == ["C104"]
    scaled = opset.parse_model(f"{head} {{ y = ai.onnx.ml.Scaler <offset = [0.5], scale = [2.0]> (x) }}")
    with pytest.raises(ConversionError) as caught:
        opset.lower(scaled, "ai.onnx.ml.Scaler")
    assert [each.code for each in caught.value.findings] == ["C104"]
