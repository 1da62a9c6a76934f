"""Forms of nodes that break the standard: those that runtimes accept are mended or kept, all others are refused."""

import numpy as np
import onnxruntime
import pytest
from onnx import AttributeProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import opset
from opset.errors import ConversionError, RunError
from opset.inference.engine.result import infer
from opset.model.graph.index import index_model
from opset.opsets.registry import default_registry
from opset.preparation import attribute_fixes
from opset.schemas import quirks
from tests.opsets import quirks_page

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
IMAGE = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
BYTES = np.arange(12, dtype=np.uint8).reshape(3, 4)
VOLUME = np.arange(24, dtype=np.float32).reshape(1, 1, 2, 3, 4)
POINTS = np.linspace(-0.9, 0.8, 18, dtype=np.float32).reshape(1, 1, 2, 3, 3)
SCALE, FOUR = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.uint8)
NORM = [np.array([1, 2], np.float32), np.array([0, 1], np.float32)] * 2


def model(op_type, version, *inputs, outputs=1, **attributes):
    """A model of one node; the first input is that of the graph, the others are constants, None is left out."""
    names = ["" if each is None else f"i{number}" for number, each in enumerate(inputs)]
    made = [f"o{number}" for number in range(outputs)]
    kind = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    graph = helper.make_graph(
        [helper.make_node(op_type, names, made, **attributes)],
        "g",
        [helper.make_tensor_value_info("i0", kind, inputs[0].shape)],
        [helper.make_empty_tensor_value_info(each) for each in made],
        [
            numpy_helper.from_array(np.asarray(each), name)
            for name, each in zip(names[1:], inputs[1:], strict=True)
            if name
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=7)


def theirs(proto, value):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"i0": value})


def same(found, wanted):
    for each, expected in zip(found, wanted, strict=True):
        assert each.shape == expected.shape
        np.testing.assert_allclose(each, expected, rtol=1e-4, atol=1e-4)


ACCEPTED = {
    "bounds of shape [1]": ("Clip", 13, [X, [np.float32(-2)], [np.float32(3)]], {}, [21, 11, 9]),
    "a signal of two dimensions": ("STFT", 17, [X, np.int64(1), None, np.int64(2)], {}, [21, 16, 13, 11]),
    "wrap": ("Pad", 18, [X, [1, 1, 1, 1]], {"mode": "wrap"}, [21, 17]),
    "wrap of version 11": ("Pad", 11, [X, [1, 1, 1, 1]], {"mode": "wrap"}, [21, 13]),
    "scales of an axis": ("DequantizeLinear", 10, [BYTES, SCALE, FOUR], {}, [21, 13, 12, 9]),
    "scales of an axis to quantize": ("QuantizeLinear", 10, [X, SCALE, FOUR], {}, [21, 13, 12, 9]),
    "negative axes of Squeeze": ("Squeeze", 9, [X[..., None]], {"axes": [-1]}, [21, 13, 8]),
    "negative axes of Unsqueeze": ("Unsqueeze", 9, [X], {"axes": [-1]}, [21, 13, 8]),
    "negative indices": ("Gather", 9, [X, [-1]], {"axis": 1}, [21, 13, 8]),
    "modes in upper case": (
        "RoiAlign",
        10,
        [IMAGE, np.array([[0, 0, 3, 3]], np.float32), [0]],
        {"mode": "AVG", "output_height": 2, "output_width": 2},
        [15],
    ),
    "attributes of a runtime": ("Relu", 13, [X], {"__stream": 1}, [21, 6]),
    "attributes of a runtime, where an adapter looks": ("BatchNormalization", 9, [IMAGE, *NORM], {"__x": 1}, [21, 7]),
    "a volume": ("GridSample", 16, [VOLUME, POINTS], {}, [21, 19, 13, 9]),
    "a volume by the nearest element": ("GridSample", 19, [VOLUME, POINTS], {"mode": "nearest"}, [21, 16, 13, 9]),
    "SimplifiedLayerNormalization": ("SimplifiedLayerNormalization", 13, [X, SCALE], {"epsilon": 0.01}, [21, 9]),
    "LayerNormalization before 17": ("LayerNormalization", 12, [X, SCALE, SCALE], {}, [21, 16, 9]),
    "ThresholdedRelu before 10": ("ThresholdedRelu", 9, [X], {"alpha": 2.0}, [21, 8]),
    "Affine": ("Affine", 9, [X], {"alpha": 2.0, "beta": 3.0}, [8]),
    "Crop": ("Crop", 9, [IMAGE], {"border": [1, 1, 1, 1]}, [8]),
    "DynamicSlice": ("DynamicSlice", 9, [X, [0, 1], [2, 3]], {}, [8]),
    "ImageScaler": ("ImageScaler", 9, [IMAGE], {"scale": 2.0, "bias": [1.0, 2.0]}, [8]),
    "ParametricSoftplus": ("ParametricSoftplus", 9, [X], {"alpha": 2.0, "beta": 0.5}, [8]),
    "Scale": ("Scale", 9, [X], {"scale": 2.0}, [8]),
    "ScaledTanh": ("ScaledTanh", 9, [X], {"alpha": 2.0, "beta": 0.5}, [8]),
    "MeanVarianceNormalization before 9": ("MeanVarianceNormalization", 8, [IMAGE], {"across_channels": 1}, [7]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_runtimes_accept_is_converted(name):
    op_type, version, inputs, attributes, targets = ACCEPTED[name]
    inputs = [np.array(each) if isinstance(each, list) else each for each in inputs]
    proto = model(op_type, version, *inputs, **attributes)
    wanted = theirs(proto, inputs[0])
    for to in targets:
        same(theirs(opset.convert(proto, to), inputs[0]), wanted)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_runtimes_accept_is_inferred_and_computed(name):
    op_type, version, inputs, attributes, _ = ACCEPTED[name]
    inputs = [np.array(each) if isinstance(each, list) else each for each in inputs]
    proto = model(op_type, version, *inputs, **attributes)
    evaluator, found = opset.ReferenceEvaluator(proto), infer(proto)
    assert not found.findings
    alias = quirks.alias(op_type, version)
    if alias is not None and alias.stand_in is None:
        assert found.shape("o0") is None
        with pytest.raises(RunError) as caught:
            evaluator.run(None, {"i0": inputs[0]})
        assert caught.value.code == "R201"
        return
    wanted = theirs(proto, inputs[0])
    same(evaluator.run(None, {"i0": inputs[0]}), wanted)
    assert found.shape("o0") == wanted[0].shape
    if quirks.quirk_of_values(op_type, version) is not None:
        form = quirks.quirk_of_values(op_type, version).form
        assert evaluator.notes == found.notes == [f"graph 'g', node number 0 ({op_type}): {form}"]
        with pytest.raises(RunError):
            opset.ReferenceEvaluator(proto, strict=True).run(None, {"i0": inputs[0]})
        assert infer(proto, strict=True).findings


BROKEN = {
    "two bounds": ("Clip", 13, [X, np.array([1, 2], np.float32)], {}),
    "a signal of one dimension": ("STFT", 17, [X[0], 1, None, 2], {}),
    "scales for another number": ("DequantizeLinear", 10, [BYTES, SCALE[:3], FOUR[:3]], {}),
    "an axis that there is not": ("Squeeze", 9, [X[..., None]], {"axes": [-4]}),
    "an index that there is not": ("Gather", 9, [X, [-4]], {}),
    "another mode": ("Pad", 18, [X, [1, 1, 1, 1]], {"mode": "around"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_runtimes_do_not_accept_is_reported_as_ever(name):
    op_type, version, inputs, attributes = BROKEN[name]
    inputs = [np.array(each) if isinstance(each, list | int) else each for each in inputs]
    proto, feeds = model(op_type, version, *inputs, **attributes), {"i0": inputs[0]}
    with pytest.raises(RunError):
        opset.ReferenceEvaluator(proto).run(None, feeds)
    with pytest.raises((Fail, InvalidArgument, RuntimeException)):
        theirs(proto, inputs[0])


DROPPED = {
    "training of a normalization": ("BatchNormalization", 7, [IMAGE, *NORM], {"is_test": 1}),
    "the only meaning left": ("BatchNormalization", 9, [IMAGE, *NORM], {"spatial": 1}),
    "a mode that came later": ("BatchNormalization", 9, [IMAGE, *NORM], {"training_mode": 0}),
    "training of a dropout": ("Dropout", 7, [X], {"is_test": 1}),
    "a ratio without training": ("Dropout", 13, [X], {"ratio": 0.3}),
    "a ratio beside that of the input": ("Dropout", 13, [X, np.float32(0.5)], {"ratio": 0.3}),
    "what never had an effect": ("Add", 13, [X, X], {"consumed_inputs": [0, 0]}),
    "an order that came later": ("DepthToSpace", 9, [IMAGE[:, :, :2].reshape(1, 4, 2, 2)],
                                 {"blocksize": 2, "mode": "DCR"}),
    "a rounding that came later": ("AveragePool", 9, [IMAGE], {"kernel_shape": [2, 2], "ceil_mode": 0}),
    "a word that says what was so": ("Resize", 10, [IMAGE, np.array([1, 1, 2, 2], np.float32)],
                                     {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}),
    "what this version ended": ("Gemm", 7, [X, X.T, np.float32(1)], {"broadcast": 0}),
    "the default axis": ("DequantizeLinear", 12, [BYTES, np.float32(2), np.uint8(1)], {"axis": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPED)
def test_attributes_of_other_versions_that_change_nothing_are_dropped(name):
    op_type, version, inputs, attributes = DROPPED[name]
    wrong = list(attributes)[-1]
    right = model(op_type, version, *inputs, **{key: each for key, each in attributes.items() if key != wrong})
    proto = model(op_type, version, *inputs, **attributes)
    with pytest.raises(Exception, match="Unrecognized attribute"):
        theirs(proto, inputs[0])
    plan = opset.plan(proto, version)
    assert plan.changes and f"attribute '{wrong}' of {op_type}, dropped" in plan.notes[0]
    wanted = theirs(right, inputs[0])
    for to in (version, 21):
        same(theirs(opset.convert(proto, to), inputs[0]), wanted)
    same(opset.ReferenceEvaluator(proto).run(None, {"i0": inputs[0]}), wanted)


@pytest.mark.parametrize(
    "op_type", [f"Reduce{name}" for name in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()]
)
@pytest.mark.parametrize("to", [7, 13, 21])
def test_an_empty_list_of_axes_reduces_all(op_type, to):
    proto = model(op_type, 11, X, axes=[0], keepdims=0)
    del proto.graph.node[0].attribute[0].ints[:]
    assert opset.plan(proto, to).notes == [f"attribute 'axes' of {op_type}, dropped, which changes nothing: 1 node"]
    converted = opset.convert(proto, to)
    assert "axes" not in [each.name for each in converted.graph.node[0].attribute]
    wanted = theirs(proto, X)
    assert wanted[0].shape == ()
    same(theirs(converted, X), wanted)
    same(opset.ReferenceEvaluator(proto).run(None, {"i0": X}), wanted)


@pytest.mark.parametrize("to", [7, 13, 18, 21])
def test_parts_that_nothing_counts_are_as_many_as_the_outputs(to):
    proto = model("Split", 18, X, outputs=2, axis=1)
    with pytest.raises(Fail, match="Neither 'split' input nor 'num_outputs'"):
        theirs(proto, X)
    assert opset.plan(proto, to).notes == ["attribute 'num_outputs' of Split, stated, as the number of outputs: 1 node"]
    wanted = np.split(X, 2, axis=1)
    same(theirs(opset.convert(proto, to), X), wanted)
    same(opset.ReferenceEvaluator(proto).run(None, {"i0": X}), wanted)
    with pytest.raises(RunError, match="C3"):
        opset.ReferenceEvaluator(proto, strict=True).run(None, {"i0": X})
    assert [each.code for each in infer(proto, strict=True).findings] == ["I201"]
    for given in (model("Split", 18, X, [1, 3], outputs=2, axis=1), model("Split", 13, X, outputs=2, axis=1)):
        assert not opset.plan(given, 21).notes
    own = model("Split", 18, X, outputs=2)
    body = [helper.make_node("Abs", ["a"], ["b"]), helper.make_node("Neg", ["a"], ["c"])]
    own.functions.append(helper.make_function("", "Split", ["a"], ["b", "c"], body, [helper.make_opsetid("", 18)]))
    assert not opset.plan(own, 21).notes


REFUSED = {
    "both ways to count parts": ("Split", 18, [X, [4]], {"num_outputs": 1}, [21, 13]),
    "a scale for none of the groups": (
        "GroupNormalization", 18, [IMAGE, *[np.ones(3, np.float32)] * 2], {"num_groups": 2}, [21, 13]),
    "scales that are not as many as the slices": ("QuantizeLinear", 19, [X, SCALE[:3]], {"axis": 1}, [9]),
    "an axis that there is not": ("Softmax", 13, [X], {"axis": 9}, [21, 14]),
    "a word that there is not": ("Gelu", 20, [X], {"approximate": "foo"}, [21]),
    "a word of a later version": ("Resize", 18, [IMAGE, None, np.array([1, 1, 2, 2], np.float32)],
                                  {"coordinate_transformation_mode": "half_pixel_symmetric"}, [21]),
    "a default that came with another meaning": (
        "Resize", 10, [IMAGE, np.array([1, 1, 2, 2], np.float32)],
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, [13, 10]),
    "another meaning of a type that came later": (
        "GroupNormalization", 18, [IMAGE, *NORM[:2]], {"num_groups": 2, "stash_type": 1}, [21]),
    "a word for what nothing says": ("Resize", 10, [IMAGE, np.array([1, 1, 2, 2], np.float32)],
                                     {"nearest_mode": "floor"}, [13]),
    "an attribute for types that came later": ("Cast", 13, [X], {"to": 1, "saturate": 1}, [19, 21]),
    "an attribute that there never was": ("Relu", 13, [X], {"alpha": 1.0}, [21, 12]),
    "statistics of each position": ("BatchNormalization", 9, [IMAGE, *NORM], {"spatial": 0}, [13, 21]),
    "training by an attribute that came later": ("BatchNormalization", 9, [IMAGE, *NORM], {"training_mode": 1}, [13]),
    "training": ("Dropout", 7, [X], {"is_test": 0}, [10]),
    "a ratio with training": ("Dropout", 13, [X, None, np.array(True)], {"ratio": 0.3}, [21]),
    "an axis that came later": ("DequantizeLinear", 12, [BYTES, SCALE[:3], FOUR[:3]], {"axis": 0}, [13, 11]),
    "another type of attribute": ("LeakyRelu", 11, [X], {"alpha": 1}, [16, 10]),
    "no attribute": ("Concat", 11, [X, X], {}, [13, 10]),
    "too few inputs": ("Gemm", 9, [X, X.T], {}, [13, 10]),
    "an input left out": ("Where", 9, [X > 0, None, X], {}, [16]),
    "an operator that only onnxruntime had": ("Affine", 9, [X], {}, [10]),
    "an operator with other attributes": ("MeanVarianceNormalization", 8, [IMAGE], {}, [9]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_node_that_is_not_valid_where_it_is_is_not_written(name):
    op_type, version, inputs, attributes, targets = REFUSED[name]
    proto = model(op_type, version, *inputs, **attributes)
    for to in targets:
        with pytest.raises(ConversionError) as caught:
            opset.convert(proto, to)
        assert [each.code for each in caught.value.findings] == ["C101" if "operator" in name else "C103"]


@pytest.mark.parametrize(("shape", "axis", "valid"), [((2, 3), 9, False), ((2,) * 6, 5, True), ((2,) * 6, 6, False)])
def test_unusual_axes_are_held_against_inferred_ranks(shape, axis, valid):
    proto = model("Relu", 13, np.zeros(shape, np.float32))
    proto.graph.node.append(helper.make_node("Softmax", ["o0"], ["y"], axis=axis))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, None))
    assert [each.code for each in opset.plan(proto, 21).refusals] == ([] if valid else ["C103"])


def test_inference_warns_of_attributes_that_there_are_not_and_goes_on():
    found = infer(model("Relu", 13, X, alpha=1.0))
    assert not found.findings and found.shape("o0") == (3, 4)
    assert found.notes[0].startswith("graph 'g', node number 0 (Relu): there is no attribute 'alpha'")
    found = infer(model("LeakyRelu", 11, X, alpha=1))
    assert found.shape("o0") == (3, 4) and "has to be of type float" in found.notes[0]
    assert infer(model("Relu", 13, X, __stream=1)).notes == []


def test_attributes_are_dropped_also_behind_others_and_operators_without_schemas():
    proto = model("LeakyRelu", 13, X, alpha=0.5, consumed_inputs=[0])
    proto.graph.node[0].input[0] = "b"
    foreign = helper.make_node("Odd", ["i0"], ["a"], domain="own", alpha=1.0)
    for node in (helper.make_node("Odder", ["a"], ["b"], alpha=1.0), foreign):
        proto.graph.node.insert(0, node)
    proto.opset_import.add(domain="own", version=1)

    def found():
        index = index_model(opset.load(proto).proto, ("",))
        return [(fix.position, fix.name) for fix in attribute_fixes(index, default_registry())]

    assert found() == [(2, "consumed_inputs")]
    function = helper.make_function("", "LeakyRelu", ["a"], ["b"], [helper.make_node("Abs", ["a"], ["b"])],
                                    [helper.make_opsetid("", 13)], ["consumed_inputs", "alpha"])  # fmt: skip
    proto.functions.append(function)
    assert found() == []  # the node is a call, whose attributes are those of the function


def test_nodes_of_functions_are_checked_too():
    body = [helper.make_node("Softmax", ["a"], ["b"], name="inside", alpha=2.0)]
    function = helper.make_function("own", "F", ["a"], ["b"], body, [helper.make_opsetid("", 13)])
    proto = model("Relu", 13, X)
    proto.opset_import.add(domain="own", version=1)
    proto.functions.append(function)
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "F", "own"
    plan = opset.plan(proto, 14)
    assert [each.code for each in plan.refusals] == ["C103"] and "inside" in plan.refusals[0].place


def branch(op_type, name, **attributes):
    nodes = [helper.make_node(op_type, ["i0"], [name], **attributes)]
    return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(name)])


def test_an_attribute_that_is_dropped_may_follow_others():
    proto = model("Dropout", 9, X, ratio=0.5, is_test=1)
    proto.graph.node[0].attribute.sort(key=lambda each: each.name, reverse=True)
    assert [each.name for each in proto.graph.node[0].attribute] == ["ratio", "is_test"]
    assert opset.plan(proto, 21).notes == ["attribute 'is_test' of Dropout, dropped, which changes nothing: 1 node"]


def test_nodes_of_subgraphs_are_mended_and_kept_too():
    proto = model("Dropout", 9, X)
    del proto.graph.node[:]
    mended, kept = branch("Dropout", "t", is_test=1), branch("Unsqueeze", "e", axes=[-1])
    proto.graph.node.append(helper.make_node("If", ["c"], ["o0"], then_branch=mended, else_branch=kept))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
    plan = opset.plan(proto, 21)
    assert plan.notes == ["attribute 'is_test' of Dropout, dropped, which changes nothing: 1 node"]
    for to in (8, 13, 21):
        same(theirs(opset.convert(proto, to), X), [X])
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(False), "c"))
    same(opset.ReferenceEvaluator(proto).run(None, {"i0": X}), [X[..., None]])
    same(theirs(opset.convert(proto, 21), X), [X[..., None]])


def test_a_function_of_the_model_is_called_whatever_runtimes_know_by_its_name():
    proto = model("SimplifiedLayerNormalization", 13, X, SCALE)
    body = [helper.make_node("Mul", ["a", "b"], ["c"])]
    opsets = [helper.make_opsetid("", 13)]
    proto.functions.append(helper.make_function("", "SimplifiedLayerNormalization", ["a", "b"], ["c"], body, opsets))
    assert not opset.plan(proto, 21).passed and not opset.plan(proto, 21).notes
    same(opset.ReferenceEvaluator(proto).run(None, {"i0": X}), [X * SCALE])


def test_what_passes_through_is_noted():
    plan = opset.plan(model("SimplifiedLayerNormalization", 13, X, SCALE), 21)
    assert plan.passed == {("com.microsoft", "SimplifiedLayerNormalization"): 1}
    assert plan.notes == [
        "SimplifiedLayerNormalization is no operator of the standard at this version: passed through;"
        " computed as RMSNormalization 23"
    ]
    own = opset.plan(model("LayerNormalization", 16, X, SCALE), 15)
    assert own.passed == {("com.microsoft", "LayerNormalization"): 1} and len(own.notes) == 1
    for domain, name in (("com.microsoft", "SimplifiedLayerNormalization"), ("com.acme", "LayerNormalization")):
        foreign = model(name, 16, X, SCALE)
        foreign.graph.node[0].domain = foreign.opset_import.add(domain=domain, version=1).domain
        found = opset.plan(foreign, 15)
        assert (found.passed, found.notes) == ({(domain, name): 1}, [])  # the standard has nothing to do with it
        foreign.opset_import[0].domain = "ai.onnx.ml"
        foreign.opset_import[0].version = 3
        found = opset.plan(foreign, {"ai.onnx.ml": 2})
        assert (found.passed, found.notes) == ({(domain, name): 1}, [])


def test_every_quirk_is_complete():
    for quirk in quirks.QUIRKS:
        assert quirk.action in (quirks.MEND, quirks.KEEP, quirks.REFUSE)
        assert quirk.form and quirk.writers and quirk.runtimes and quirk.what
        assert quirk.first <= quirk.last
    text = quirks_page.PAGE.read_text(encoding="utf-8")
    assert text == quirks_page.page(text), "python -m tests.opsets.quirks_page writes it"


OWN = """\
operator: {name}
family: acme
versions:
- since: 30
  change: {{adapters: {{up: derived, down: derived}}, types: {{T: [+double]}}}}
  doc: Something of its own.
  inputs:
  - {{name: X, type: T, doc: values}}
  - {{name: Y, type: T, optional: true, doc: a scalar}}
  outputs:
  - {{name: Z, type: T, doc: the result}}
  attributes:
    mode: {{type: string, default: edge, choices: [edge, other], constraint: C1, doc: way}}
  types:
    T: [tensor(float), tensor(double)]
  shape: same(X)
- since: 1
  like: 30
  types:
    T: [tensor(float)]
"""
KERNEL = """\
from opset.extend import Violation, kernel


@kernel("{name}", domain="com.acme")
def own_1(x, y=None, *, mode):
    if y is not None and y.ndim:
        raise Violation("C1", "Y is no scalar")
    return x
"""
NAMES = sorted({name for quirk in quirks.QUIRKS for name in quirk.operators})


@pytest.mark.parametrize("name", NAMES)
def test_operators_of_other_domains_have_no_quirks(name, tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / f"{name}.yaml").write_text(OWN.format(name=name))
    (tmp_path / "com.acme" / "kernels.py").write_text(KERNEL.format(name=name))
    for quirk in quirks.QUIRKS:
        attribute = quirk.attribute or "mode"
        if name in quirk.operators:
            value = (quirk.values or ("wrap",))[0]
            node = helper.make_node(name, ["x"], ["y"], domain="com.acme")
            kind = AttributeProto.INTS if value == () else None
            node.attribute.append(helper.make_attribute(attribute, value, attr_type=kind))
            values = [helper.make_tensor_value_info(each, 1, [2]) for each in "xy"]
            graph = helper.make_graph([node], "g", values[:1], values[1:])
            imports = [helper.make_opsetid("com.acme", max(quirk.first, 1)), helper.make_opsetid("", 18)]
            proto = helper.make_model(graph, opset_imports=imports, ir_version=8)
            with pytest.raises(ConversionError) as caught:
                opset.convert(proto, {"com.acme": 30}, schemas=[tmp_path])
            assert caught.value.code == "C103"
            inferred = infer(proto, schemas=[tmp_path])  # which passes over attributes that do not exist
            assert [each.code for each in inferred.findings] == ["I201"] * (attribute == "mode")
            with pytest.raises(RunError) as refused:
                opset.ReferenceEvaluator(proto, schemas=[tmp_path]).run(None, {"x": np.zeros(2, np.float32)})
            assert refused.value.code == ("R203" if attribute == "mode" else "R202")


def test_inputs_of_other_domains_are_not_mended(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Clip.yaml").write_text(OWN.format(name="Clip"))
    (tmp_path / "com.acme" / "kernels.py").write_text(KERNEL.format(name="Clip"))
    proto = model("Clip", 13, X, np.ones(1, np.float32))
    proto.graph.node[0].domain = "com.acme"
    proto.opset_import.add(domain="com.acme", version=13)
    with pytest.raises(RunError) as refused:
        opset.ReferenceEvaluator(proto, schemas=[tmp_path]).run(None, {"i0": X})
    assert refused.value.code == "R203" and "Y is no scalar" in refused.value.why


@pytest.mark.parametrize("name", [quirk.operators[0] for quirk in quirks.QUIRKS if quirk.origin])
def test_operators_that_runtimes_know_in_the_standards_domain_are_unknown_in_others(name):
    proto = model(name, 9, X)
    proto.graph.node[0].domain = "com.acme"
    proto.opset_import.add(domain="com.acme", version=9)
    with pytest.raises(RunError) as refused:
        opset.ReferenceEvaluator(proto).run(None, {"i0": X})
    assert refused.value.code == "R201"
    assert opset.convert(proto, 12).graph.node[0] == proto.graph.node[0]
    assert infer(proto).type("o0") is None


@pytest.mark.parametrize("kinds", ["t", "f", "tf", "ft", "tt"])
def test_attributes_without_a_type_are_of_the_type_of_their_value(kinds):
    nodes = [helper.make_node("ConstantOfShape", ["s"], [f"y{number}"]) for number in range(len(kinds))]
    for node, kind in zip(nodes, kinds, strict=True):
        value = node.attribute.add(name="value")  # as old exporters leave it
        if kind == "t":
            value.t.CopyFrom(helper.make_tensor("", 1, [1], [2.0]))
        else:
            value.f = 2.0
    outputs = [helper.make_tensor_value_info(node.output[0], 1, None) for node in nodes]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("s", 7, [1])], outputs)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)
    refusals = opset.plan(proto, 20).refusals
    assert [each.code for each in refusals] == ["C103"] * kinds.count("f")


@pytest.mark.parametrize(("to", "notes"), [(18, 1), (9, 0)])
def test_nodes_of_a_withdrawn_operator_are_kept_and_noted(to, notes):
    text = (
        '<ir_version: 8, opset_import: ["": 17]> main (float[2] x, float[1] s) => (float[4] y) { y = Upsample (x, s) }'
    )
    converted = opset.plan(opset.parse_model(text), to)
    assert not converted.refusals
    note = "not valid: 1 node of Upsample, which was withdrawn with version 10; Resize takes its place"
    assert [each for each in converted.notes if "not valid" in each] == [note] * notes


def test_a_layer_normalization_of_two_types_cannot_become_the_standards():
    proto = model("LayerNormalization", 12, X.astype(np.float16), SCALE)
    assert not opset.plan(proto, 16).refusals
    (refusal,) = opset.plan(proto, 17).refusals
    assert refusal.code == "C202" and "'Scale' is tensor(float)" in str(refusal)


def test_a_layer_normalization_before_the_standards_is_not_lowered():
    proto = model("LayerNormalization", 12, X, SCALE)
    with pytest.raises(opset.ConversionError) as caught:
        opset.lower(proto, ["LayerNormalization"])
    assert caught.value.code == "C201" and "convert to 17 or newer" in str(caught.value)
    after = opset.lower(opset.convert(proto, 17), ["LayerNormalization"])
    assert "LayerNormalization" not in {node.op_type for node in after.graph.node}


@pytest.mark.parametrize("to", [9, 13, 21, 25, "onnxruntime==1.31"])
def test_a_scalar_that_fills_a_tensor_is_written_as_a_vector(to):
    sizes = np.array([2, 3], np.int64)
    value = helper.make_tensor("", 1, [], [2.5])
    proto = model("ConstantOfShape", 13, sizes, value=value)
    with pytest.raises(Fail, match="one-dim tensor"):
        theirs(proto, sizes)
    target = {"runtime": to} if isinstance(to, str) else {"to": to}
    plan = opset.plan(proto, **target)
    assert plan.notes[0] == "attribute 'value' of ConstantOfShape, written with shape [1]: 1 node"
    wanted = [np.full((2, 3), 2.5, np.float32)]
    converted = opset.convert(proto, **target)
    if to not in (21, 25):
        same(theirs(converted, sizes), wanted)
    assert [*converted.graph.node[-1].attribute[0].t.dims] == [1]
    evaluator = opset.ReferenceEvaluator(proto)
    same(evaluator.run(None, {"i0": sizes}), wanted)
    assert evaluator.notes == infer(proto).notes == plan.notes[:1]
    assert infer(proto).findings == ()
    for right in ([1], None):
        tensor = {} if right is None else {"value": helper.make_tensor("", 1, right, [2.5])}
        assert not opset.plan(model("ConstantOfShape", 13, sizes, **tensor), 21).notes
