"""Conversions that a small model makes costly: they are refused (C401), or stay in proportion to the model."""

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import opset
from judges.hostile.processes import attack, own
from tests.bounds import lines, megabytes

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def whole(name, numbers):
    return helper.make_tensor(name, INT64, [len(numbers)], numbers)


def model(nodes, inputs, constants=(), opset=11, **imports):
    outputs = [helper.make_empty_tensor_value_info(nodes[0].output[0])]
    graph = helper.make_graph(nodes, "main", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(*each) for each in imports.items())]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def many(count, op_type, inputs, **attributes):
    return [helper.make_node(op_type, inputs, [f"y{number}"], **attributes) for number in range(count)]


def resized(count):
    """Return nodes that gather the elements of eight axes one by one, and the sizes."""
    nodes = many(
        count,
        "Resize",
        ["x", "none", "none", "sizes"],
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="align_corners",
    )
    empty = helper.make_tensor("none", FLOAT, [0], [])
    return model(nodes, [value("x", [2] * 8)], [empty, whole("sizes", [8192 - number for number in range(8)])])


def sliced(count):
    bounds = [whole(name, [number] * 3) for name, number in (("from", -1), ("to", -(2**40)), ("step", -1))]
    nodes = many(count, "Slice", ["x", "from", "to", "axes", "step"])
    return model(nodes, [value("x", [65536] * 3)], [*bounds, whole("axes", [0, 1, 2])], opset=10)


def trees(count):
    """Return ensembles of one tree, whose nodes are each shared by both branches of the one above: 2 ** 14 leaves."""
    depth = 14
    below = [min(number + 1, depth) for number in range(depth + 1)]
    nodes = many(
        count, "TreeEnsembleRegressor", ["x"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0] * (depth + 1),
        nodes_nodeids=range(depth + 1), nodes_modes=["BRANCH_LEQ"] * depth + ["LEAF"], nodes_values=[0.0] * (depth + 1),
        nodes_featureids=[0] * (depth + 1), nodes_truenodeids=below, nodes_falsenodeids=below, target_treeids=[0],
        target_nodeids=[depth], target_ids=[0], target_weights=[1.0],
    )  # fmt: skip
    return model(nodes, [value("x", ["N", 3])], opset=21, **{"ai.onnx.ml": 3})


def sparse(count):
    elements = helper.make_tensor("v", FLOAT, [1], [1.0]), helper.make_tensor("i", INT64, [1], [5])
    nodes = []
    for node in many(count, "Constant", []):
        node.attribute.append(helper.make_attribute("sparse_value", helper.make_sparse_tensor(*elements, [65536])))
        nodes.append(node)
    return model(nodes, [])


def normalised(count):
    inputs = [value("x", [1, 65536, 2, 2]), value("s", [65536])]
    return model(many(count, "GroupNormalization", ["x", "s", "s"], num_groups=65536), inputs, opset=21)


def long_names():
    """Return a sum of many, whose name each of the nodes in its place gets."""
    names = [f"x{number}" for number in range(5000)]
    node = helper.make_node("Sum", names, ["y"], name="n" * 100_000)
    return model([node], [value(name, [1, number % 3 + 1]) for number, name in enumerate(names)], opset=8)


def one_constant_for_all(count):
    nodes = many(count, "Pad", ["x", "pads"])
    return model(nodes, [value("x", [1])], [whole("pads", [0] * 65536)])


def great_rank(count):
    return model(many(count, "Softmax", ["x"], axis=1), [value("x", [1] * 50_000)], opset=13)


COSTLY = {
    "resized": (lambda: resized(100), "10"),
    "sliced": (lambda: sliced(100), "9"),
    "trees": (lambda: trees(100), "ai.onnx.ml=5"),
    "sparse": (lambda: sparse(300), "10"),
    "normalised": (lambda: normalised(300), "20"),
    "long names": (long_names, "7"),
    "one constant for all": (lambda: one_constant_for_all(3000), "10"),
    "great rank": (lambda: great_rank(2000), "12"),
}


@pytest.mark.parametrize("name", COSTLY)
def test_what_costs_too_much_is_refused(name, tmp_path):
    make, target = COSTLY[name]
    (tmp_path / "m.onnx").write_bytes(make())
    outcome = own(attack("convert", tmp_path / "m.onnx", "--to", target, "-o", tmp_path / "out.onnx"), 1)
    assert "C401" in outcome.text and "--max-" in outcome.text
    assert not (tmp_path / "out.onnx").exists()
    assert outcome.megabytes < 400


@pytest.mark.parametrize(
    "limit", [("--max-steps", "1000"), ("--max-bytes", "10K"), ("--timeout", "0.000001")], ids=lambda limit: limit[0]
)
def test_limits_can_be_set(limit, tmp_path):
    (tmp_path / "m.onnx").write_bytes(sliced(1))
    assert "C401" in own(attack("convert", tmp_path / "m.onnx", "--to", "9", *limit), 1).text


def test_more_can_be_allowed():
    limits = opset.Limits(max_steps=1 << 40, max_bytes=1 << 40)
    data = sliced(15)
    with pytest.raises(opset.ConversionError, match="C401"):
        opset.convert(data, 9)
    assert len(opset.convert(data, 9, limits=limits).SerializeToString()) > 15 * 3 * 65536 * 8
    assert opset.plan(data, 9, limits=limits).refusals == []


@pytest.mark.parametrize(
    ("version", "graph"),
    [
        (18, "(float[1,100000,9,9] x) { y = LpPool<kernel_shape=[10,10], dilations=[2,2], pads=[9,9,9,9]>(x) }"),
        (19, "(float[1,100000,40,40] x) { y = AveragePool<kernel_shape=[10,10], dilations=[2,2]>(x) }"),
        (8, "(float[1,2] x, int64[10000000] s) { y = Expand(x, s) }"),
    ],
)
def test_elements_are_charged_before_they_take_memory(version, graph):
    graph = graph.replace("{", "=> (float[] y) {")
    wide = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {version}]> g {graph}')
    with megabytes(32), pytest.raises(opset.ConversionError, match=r"C401.*\n.*\n.*more than 1,000 steps"):
        opset.convert(wide, version - 1, limits=opset.Limits(max_steps=1000))


def test_one_resize_takes_few_steps():
    """Indices are computed once for nodes that are alike, and by whole numbers."""
    with lines(3_000_000):
        try:
            opset.convert(resized(2), 10)
        except opset.ConversionError as error:
            assert error.findings


@pytest.mark.parametrize(
    ("op_type", "element", "source", "target"),
    [("Max", TensorProto.INT64, 12, 11), ("Max", TensorProto.INT8, 12, 11), ("Concat", FLOAT, 11, 10)],
    ids=["compared", "emulated", "joined"],
)
def test_a_node_with_many_inputs(op_type, element, source, target, tmp_path):
    names = [f"x{number}" for number in range(15_000)]
    attributes = {"axis": -1} if op_type == "Concat" else {}
    node = helper.make_node(op_type, names, ["y"], **attributes)
    (tmp_path / "m.onnx").write_bytes(model([node], [value(name, [1], element) for name in names], opset=source))
    own(attack("convert", tmp_path / "m.onnx", "--to", str(target), "-o", tmp_path / "out.onnx"), 0)


def test_many_constants_that_become_attributes(tmp_path):
    nodes = [helper.make_node("Squeeze", ["x", f"a{number}"], [f"y{number}"]) for number in range(10_000)]
    nodes.append(helper.make_node("Sum", [f"b{number}" for number in range(10_000)], ["z"]))
    constants = [
        helper.make_tensor(f"{letter}{number}", INT64 if letter == "a" else FLOAT, [1], [0])
        for number in range(10_000)
        for letter in "ab"
    ]
    (tmp_path / "m.onnx").write_bytes(model(nodes, [value("x", [1, 2])], constants, opset=13))
    own(attack("convert", tmp_path / "m.onnx", "--to", "12", "-o", tmp_path / "out.onnx"), 0)
    assert len(onnx.load(tmp_path / "out.onnx").graph.initializer) == 10_000
