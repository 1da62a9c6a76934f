"""What exporters write against the standard is put right before a model is converted, inferred or run."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import opset
from opset.errors import ConversionError, ModelError, UsageError
from opset.inference.engine.result import infer
from opset.opsets.registry import default_registry
from opset.preparation import read_model

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def info(name, shape=(2, 3), element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, inputs=("x",), outputs=("y",), version=13, ir_version=7, initializers=(), **more):
    graph = helper.make_graph(
        nodes,
        "g",
        [each if not isinstance(each, str) else info(each) for each in inputs],
        [helper.make_empty_tensor_value_info(each) for each in outputs],
        [numpy_helper.from_array(value, name) for name, value in initializers],
    )
    more.setdefault("opset_imports", [helper.make_opsetid("", version)])
    return helper.make_model(graph, ir_version=ir_version, **more)


def theirs(proto, **feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def agree(proto, to=21, freeze=(), **feeds):
    """Everything takes the model, and computes what onnxruntime computes; return the converted model."""
    wanted = theirs(proto, **feeds)
    converted = opset.convert(proto, to, freeze=freeze)
    for found in (theirs(converted, **feeds), opset.ReferenceEvaluator(proto, freeze=freeze).run(None, feeds)):
        assert len(found) == len(wanted)
        for each, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(each, expected, rtol=1e-5, atol=1e-6)
    return converted


def notes(proto, to=21, **more):
    return opset.plan(proto, to, **more).notes


# Imports


@pytest.mark.parametrize("names", [("", ""), ("", "ai.onnx"), ("ai.onnx", "", "")])
def test_equal_imports_are_merged(names):
    proto = model([helper.make_node("Relu", ["x"], ["y"])])
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid(name, 13) for name in names)
    converted = agree(proto, x=X)
    assert [each.version for each in converted.opset_import] == [21]
    assert "imported once" in notes(proto)[0]
    assert len(proto.opset_import) == len(names)
    assert infer(proto).shape("y") == (2, 3) and "imported once" in infer(proto).notes[0]
    # Nothing else has to be done, and still the result has one.
    plan = opset.plan(proto, 13)
    assert plan.changes and len(opset.convert(proto, 13).opset_import) == 1


@pytest.mark.parametrize("versions", [(0, 13), (13, 0)])
def test_an_import_without_a_version_repeats_one_that_has_it(versions):
    proto = model([helper.make_node("Relu", ["x"], ["y"])])
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid("", version) for version in versions)
    assert [each.version for each in opset.convert(proto, 21).opset_import] == [21]
    assert "imported once" in notes(proto)[0]
    del proto.opset_import[versions.index(13)]
    with pytest.raises(opset.ModelError) as caught:
        opset.plan(proto, 21)
    assert caught.value.code == "M107"


def test_a_domain_whose_operators_have_one_version_need_not_be_imported():
    nodes = [
        helper.make_node("Binarizer", ["x"], ["u"], domain="ai.onnx.ml", threshold=1.0),
        helper.make_node("Normalizer", ["u"], ["y"], domain="ai.onnx.ml", norm="MAX"),
    ]
    proto = model(nodes)
    converted = agree(proto, x=X)
    assert [(each.domain, each.version) for each in converted.opset_import] == [("", 21), ("ai.onnx.ml", 1)]
    assert "ai.onnx.ml is imported, at version 1" in notes(proto)[0]
    assert [each.domain for each in proto.opset_import] == [""]
    assert "G104" in {finding.code for finding in opset.check(proto)}
    proto.graph.node[1].op_type = "LabelEncoder"
    assert {refusal.code for refusal in opset.plan(proto, 21).refusals} == {"C102"}


def test_sizes_below_0_are_left_open():
    text = """<ir_version: 8, opset_import: ["": 13, "f": 1]> m (float[-1, 3] x) => (float[-1, 3] y) <float[-1, 3] a> {
        a = f.F (x)  c = Constant <value = bool {1}> ()
        y = If (c) <then_branch = t () => (float[-2, 3] b) <float[2, -1] d> { d = Neg (a)  b = Neg (d) },
            else_branch = e () => (float[2, 3] b) { b = Neg (a) }> }
        <domain: "f", opset_import: ["": 13]> F (a) => (b) { b = Softmax <axis = -2> (a) }"""
    proto = opset.parse_model(text)
    before = proto.SerializeToString()
    converted = opset.convert(proto, 12)
    assert "stated sizes below 0 are left open: 5" in notes(proto, 12)
    assert "-1," not in opset.to_text(converted).replace("axis", "") and "-2, 3" not in opset.to_text(converted)
    assert proto.SerializeToString() == before
    assert not any("below 0" in note for note in notes(converted, 11))


def test_equal_imports_of_functions_are_merged():
    twice = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 13)]
    function = helper.make_function("own", "F", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], twice)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)]
    proto = model([helper.make_node("F", ["x"], ["y"], domain="own")], opset_imports=imports, functions=[function])
    proto.ir_version = 8
    converted = opset.convert(proto, 21)
    assert [(each.domain, each.version) for each in converted.functions[0].opset_import] == [("", 21)]
    np.testing.assert_array_equal(opset.ReferenceEvaluator(proto).run(None, {"x": X})[0], np.maximum(X, 0))


def test_imports_of_different_versions_are_refused():
    proto = model([helper.make_node("Relu", ["x"], ["y"])])
    proto.opset_import.add(domain="ai.onnx", version=12)
    for attempt in (lambda: opset.convert(proto, 21), lambda: infer(proto), lambda: opset.ReferenceEvaluator(proto)):
        with pytest.raises(ModelError) as caught:
            attempt()
        assert caught.value.code == "M108"


# Order


def names_of(graph):
    return [node.name for node in graph.node]


def node(op_type, inputs, outputs, **more):
    return helper.make_node(op_type, inputs.split(), outputs.split(), name=outputs.split()[0], **more)


def test_unsorted_nodes_are_sorted_and_those_that_need_not_move_do_not():
    nodes = [
        node("Relu", "x", "a"),
        node("Add", "a late", "b"),
        node("Neg", "x", "c"),
        node("Add", "b c", "y"),
        node("Exp", "a", "unrelated"),
        node("Abs", "later", "late"),
        node("Exp", "x", "later"),
    ]
    proto = model(nodes)
    converted = agree(proto, x=X)
    assert names_of(converted.graph) == ["a", "later", "late", "b", "c", "y", "unrelated"]
    assert "2 moved" in notes(proto)[0]
    # Everything but the order is as it was.
    same = opset.convert(proto, 13)
    assert {each.SerializeToString() for each in same.graph.node} == {each.SerializeToString() for each in nodes}
    assert infer(proto).shape("y") == (2, 3)
    assert [each.name for each in infer(proto).written().proto.graph.node] == names_of(converted.graph)
    assert names_of(proto.graph) == [each.name for each in nodes]


def branch(nodes, output):
    return helper.make_graph(nodes, "branch", [], [helper.make_empty_tensor_value_info(output)])


def test_what_a_subgraph_reads_of_values_around_counts_as_read_by_its_node():
    holder = node(
        "If",
        "c",
        "y",
        then_branch=branch([node("Add", "x inside", "t"), node("Exp", "late", "inside")], "t"),
        else_branch=branch([node("Neg", "late", "e")], "e"),
    )
    proto = model([holder, node("Abs", "x", "late")], inputs=["x", info("c", (), TensorProto.BOOL)])
    converted = opset.convert(proto, 21)
    for condition, wanted in ((True, X + np.exp(np.abs(X))), (False, -np.abs(X))):
        feeds = {"x": X, "c": np.array(condition)}
        # onnxruntime sorts the main graph alone.
        for found in (theirs(converted, **feeds), opset.ReferenceEvaluator(proto).run(None, feeds)):
            np.testing.assert_allclose(found[0], wanted, rtol=1e-6)
    assert names_of(converted.graph) == ["late", "y"]
    assert names_of(converted.graph.node[1].attribute[0].g) in (["inside", "t"], ["e"])
    assert len(notes(proto)) == 2


def test_an_output_of_a_subgraph_may_be_a_value_that_comes_later():
    holder = node("If", "c", "y", then_branch=branch([], "late"), else_branch=branch([node("Neg", "x", "e")], "e"))
    proto = model([holder, node("Abs", "x", "late")], inputs=["x", info("c", (), TensorProto.BOOL)])
    assert names_of(opset.convert(proto, 21).graph) == ["late", "y"]


def test_nodes_of_functions_are_sorted():
    body = [node("Neg", "late", "b"), node("Abs", "a", "late")]
    function = helper.make_function("own", "F", ["a"], ["b"], body, [helper.make_opsetid("", 13)])
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)]
    proto = model([node("F", "x", "y", domain="own")], opset_imports=imports, functions=[function], ir_version=8)
    assert names_of(opset.convert(proto, 21).functions[0]) == ["late", "b"]
    np.testing.assert_array_equal(opset.ReferenceEvaluator(proto).run(None, {"x": X})[0], -np.abs(X))


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Neg", "b", "a"), node("Neg", "a", "b"), node("Neg", "x", "y")],
        [node("Neg", "y", "y")],
        [node("Neg", "late", "y"), node("Abs", "nowhere", "late")],
        [
            node("If", "c", "late", then_branch=branch([node("Neg", "y", "t")], "t"), else_branch=branch([], "x")),
            node("Neg", "late", "y"),
        ],
    ],
)
def test_cycles_and_undefined_values_are_errors(nodes):
    proto = model(nodes, inputs=["x", info("c", (), TensorProto.BOOL)])
    with pytest.raises(ModelError) as caught:
        opset.convert(proto, 21)
    assert {each.code for each in caught.value.findings} <= {"M110", "M112"}


def test_a_name_that_may_be_of_two_values_is_no_reason_to_sort():
    # "s" is a value around when it is read, and one of the branch's own afterwards.
    inner = branch(
        [node("Neg", "s", "t"), node("Abs", "x", "s"), node("Add", "late t", "z"), node("Abs", "x", "late")], "z"
    )
    proto = model(
        [node("Exp", "x", "s"), node("If", "c", "y", then_branch=inner, else_branch=inner)],
        inputs=["x", info("c", (), TensorProto.BOOL)],
    )
    with pytest.raises(ModelError) as caught:
        opset.convert(proto, 21)
    assert {each.code for each in caught.value.findings} == {"M110", "M113"}


def test_the_order_is_found_in_linear_time():
    count = 30_000
    nodes = [node("Neg", f"v{n + 1}", f"v{n}") for n in range(count)]
    proto = model([*nodes, node("Abs", "x", f"v{count}")], outputs=["v0"])
    _, index = read_model(opset.load(proto), default_registry())
    assert index.main.names == [f"v{n}" for n in range(count, -1, -1)]


# Initializers that a caller may override


def overridable(version=13, to_int=False):
    shape = ("Cast", "shape0", "shape") if to_int else None
    nodes = [node(*shape, to=TensorProto.INT64)] if shape else []
    name = "shape0" if to_int else "shape"
    value = np.array([3, 2], np.int32 if to_int else np.int64)
    nodes += [node("Unsqueeze", "x axes", "u"), node("Squeeze", "u axes", "s"), node("Reshape", "s shape", "y")]
    return model(
        nodes,
        [
            "x",
            info(name, (2,), TensorProto.INT32 if to_int else TensorProto.INT64),
            info("axes", (1,), TensorProto.INT64),
        ],
        version=version,
        initializers=[(name, value), ("axes", np.array([0]))],
    )


def test_frozen_initializers_are_constants_and_no_inputs():
    proto = overridable()
    converted = agree(proto, to=11, freeze=["axes"], x=X)
    assert [each.name for each in converted.graph.input] == ["x", "shape"]
    assert "no inputs any more: axes" in notes(proto, 11, freeze=["axes"])[0]
    assert infer(proto).shape("y") != (3, 2) and infer(proto, freeze="all").shape("y") == (3, 2)
    assert [each.name for each in agree(proto, to=11, freeze="all", x=X).graph.input] == ["x"]
    assert [each.name for each in opset.ReferenceEvaluator(proto, freeze="all").inputs] == ["x"]
    assert len(proto.graph.input) == 3


def test_a_refusal_names_the_initializers_to_freeze():
    shape = info("k", (2,), TensorProto.INT64)
    for nodes, why in (
        ([node("Reshape", "x k", "y")], "a caller may override 'k'"),
        (
            [node("Identity", "k", "n"), node("Identity", "n", "shape"), node("Reshape", "x shape", "y")],
            "'shape' follows from what a caller may override: k",
        ),
    ):
        proto = model(nodes, ["x", shape], version=5, initializers=[("k", np.array([3, 2]))])
        with pytest.raises(ConversionError) as caught:
            opset.convert(proto, 4)
        finding = caught.value.findings[0]
        help = "make it a constant: --freeze k, or convert to 5 or newer"
        assert (finding.code, finding.why, finding.help) == ("C205", why, help)
        assert opset.plan(proto, 4, freeze=["k"]).refusals == []
    # What depends on more than that is not constant with it.
    nodes[0] = node("Add", "k other", "n")
    proto = model(
        nodes, ["x", shape, info("other", (2,), TensorProto.INT64)], version=5, initializers=[("k", np.array([3, 2]))]
    )
    assert "computed at run time" in opset.plan(proto, 4).refusals[0].why


def test_a_name_of_no_initializer_is_a_mistake_of_the_call():
    for names in (["nowhere"], ["x"], "u"):
        for attempt in (opset.convert, opset.plan):
            with pytest.raises(UsageError) as caught:
                attempt(overridable(), 11, freeze=names)
            assert caught.value.code == "U103" and "shape, axes" in caught.value.help


def test_freezing_what_is_a_constant_already_changes_nothing():
    proto = overridable()
    del proto.graph.input[1:]
    assert not opset.plan(proto, 13, freeze="all").changes
    early = overridable(version=8)
    early.ir_version = 3
    plan = opset.plan(early, 8, freeze=["shape"])
    assert not plan.changes and "nothing was frozen" in plan.notes[0]
    early.ir_version = 4
    assert opset.plan(early, 8, freeze=["shape"]).notes == ["constant now, and no inputs any more: shape"]
