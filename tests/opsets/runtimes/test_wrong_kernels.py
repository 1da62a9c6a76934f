"""Nodes that a runtime takes and computes wrongly are expressed otherwise, with the same values."""

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import opset

WRONG = {
    "openvino==2026.4": [
        (13, "ReduceL1 <axes = [2], keepdims = 0> (x)"),
        (14, "ReduceLogSumExp <axes = [1]> (x)"),
        (17, "ReduceLogSum <axes = [3], keepdims = 0> (x)"),
        (13, "AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1, "
             "count_include_pad = 1> (x)"),
        (18, "Resize <mode = 'linear', antialias = 1> (x, none, none, sizes)"),
        (17, "DFT <axis = 2, onesided = 1> (u)"),
    ],
    "onnxruntime==1.24": [(17, "DFT <axis = 2, inverse = 1, onesided = 1> (u)")],
    "onnxruntime==1.31": [(17, "DFT <axis = 2, inverse = 1, onesided = 1> (u, length)")],
    "openvino==2025.4": [(13, "ReduceL1 <axes = [2], keepdims = 0> (x)")],
    "openvino==2023.3": [(18, "ReduceMax <keepdims = 0> (x, axis)")],
}  # fmt: skip
RIGHT = [
    ("onnxruntime==1.31", 17, "DFT <axis = 2, inverse = 1, onesided = 1> (u)"),
    ("onnxruntime==1.24", 17, "DFT <axis = 2, onesided = 1> (u)"),
    ("openvino==2024.6", 13, "ReduceL1 <axes = [2], keepdims = 0> (x)"),
    ("openvino==2025.4", 13, "ReduceLogSum <axes = [2], keepdims = 0> (x)"),
    ("openvino==2026.4", 12, "ReduceL1 <axes = [2], keepdims = 0> (x)"),
    ("openvino==2026.4", 13, "AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)"),
    ("openvino==2026.4", 9, "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (x)"),
    ("openvino==2026.4", 13, "Einsum <equation = 'abcd->dcba'> (x)"),
]


def model_of(version, node):
    nodes = [f"y = {node}".replace("'", '"')]
    if "(u" in node:
        nodes.insert(0, "u = Reshape (x, five)")
    if "none" in node:
        nodes.insert(0, "none = Constant <value = float[0] {}> ()")
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {version}]> m (float[1,2,6,8] x) => (float[a] y)'
        "<int64[4] sizes = {1, 2, 3, 4}, int64[1] axis = {2}, int64[5] five = {1, 2, 6, 8, 1}, int64 length = {14}>"
        f"{{ {'  '.join(nodes)} }}"
    )


def keeps(after, node):
    """Whether a converted model still has the node that a model was made of."""
    (given,) = parser.parse_graph(f"g (float x) => (float y) {{ y = {node} }}".replace("'", '"')).node
    return any(each.op_type == given.op_type and [*each.attribute] == [*given.attribute] for each in after.graph.node)


@pytest.mark.parametrize(
    ("runtime", "version", "node"), [(key, *each) for key, nodes in WRONG.items() for each in nodes]
)
def test_it_is_expressed_otherwise(runtime, version, node):
    model = model_of(version, node)
    assert not [note for note in opset.plan(model, runtime=runtime).notes if "computes otherwise than" in note]
    after = opset.convert(model, runtime=runtime)
    # Version 12 of a reduction is right where version 13 is wrong.
    assert not keeps(after, node) or after.opset_import[0].version < version
    feeds = {"x": np.random.default_rng(3).random((1, 2, 6, 8)).astype(np.float32) + 0.5}
    (expected,), (got,) = (opset.ReferenceEvaluator(each).run(None, feeds) for each in (model, after))
    np.testing.assert_allclose(got, expected, 1e-4, 1e-5)


@pytest.mark.parametrize(("runtime", "version", "node"), RIGHT)
def test_others_stay(runtime, version, node):
    assert keeps(opset.convert(model_of(version, node), runtime=runtime), node)


@pytest.mark.parametrize("runtime", ["onnxruntime==1.16", "onnxruntime==1.24", "onnxruntime==1.31"])
@pytest.mark.parametrize(
    ("k", "added"),
    [
        ("k = Constant <value = int64 {2}> ()", []),
        ("one = Constant <value = int64 {1}> ()  k = Add (one, one)", ["Reshape"]),
        ("n = Shape (x)  zero = Constant <value = int64 {0}> ()  k = Gather <axis = 0> (n, zero)", ["Reshape"]),
    ],
)
def test_a_scalar_k_becomes_a_vector(runtime, k, added):
    """onnxruntime takes no other K; exporters for runtimes that take one write a scalar."""
    if runtime == "onnxruntime==1.24":
        added = []  # It takes a K that is computed for a scalar, too: what is known becomes a constant.
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> m (float[2,5] x) => (float[2,2] v, int64[2,2] i) {{
            {k}  v, i = TopK (x, k) }}"""
    )
    x = np.float32([[1, 7, 3, 7, 5], [0, -1, -2, 4, 4]])
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.Fail):
        run(model, x)
    after = opset.convert(model, runtime=runtime)
    assert [each.op_type for each in after.graph.node if each.op_type in ("Reshape", "TopK")] == [*added, "TopK"]
    values, indices = run(after, x)
    np.testing.assert_array_equal(values, [[7, 7], [4, 4]])
    np.testing.assert_array_equal(indices, [[1, 3], [3, 4]])
    assert opset.convert(after, runtime=runtime).SerializeToString() == after.SerializeToString()


def test_a_k_that_is_read_from_a_shape_becomes_a_constant():
    """onnxruntime 1.24 to 1.27 does not load it: "K input must be a one-dimensional tensor of size 1"."""
    text = """<ir_version: 8, opset_import: ["": 17]> m (float[{}] x) => (float[a,b] v, int64[a,b] i) {{
        n = Shape (x)  one = Constant <value = int64[1] {{-1}}> ()  k = Gather (n, one)  v, i = TopK (x, k) }}"""
    x = np.float32([[1, 7, 3], [0, -1, 4]])
    for runtime, sizes, changes in (("1.24", "2,3", True), ("1.24", "2,n", False), ("1.31", "2,3", False)):
        model = parser.parse_model(text.format(sizes))
        after = opset.convert(model, runtime=f"onnxruntime=={runtime}")
        made = {each.output[0]: each.op_type for each in after.graph.node}
        (topk,) = (each for each in after.graph.node if each.op_type == "TopK")
        assert made[topk.input[1]] == ("Constant" if changes else "Gather")
        np.testing.assert_array_equal(run(after, x)[0], [[7, 3, 1], [4, 0, -1]])


def test_openvino_reads_the_value_of_constant_12_alone_and_no_infinity_of_pad_2():
    for version, nodes, opsets in (
        (12, "c = Constant <value_float = 2.0> ()  y = Mul (x, c)", 13),
        (12, "c = Constant <value = float {2}> ()  y = Mul (x, c)", 12),
        (10, "y = Pad <pads = [0, 1, 0, 1], value = -inf> (x)", 11),
        (10, "y = Pad <pads = [0, 1, 0, 1], value = -1.0> (x)", 10),
    ):
        model = parser.parse_model(
            f'<ir_version: 6, opset_import: ["": {version}]> m (float[2,3] x) => (float[a,b] y) {{ {nodes} }}'
        )
        assert opset.convert(model, runtime="openvino==2026.4").opset_import[0].version == opsets


def test_a_fault_of_an_attribute_is_none_of_versions_before_it():
    """QuantizeLinear has blocks from version 21 on, and OpenVINO fails at those without a zero point."""
    for version, more, stays in ((13, "", True), (21, "", True), (21, "<axis = 1, block_size = 2> ", False)):
        scale = "float[2,4] s" if more else "float s"
        model = parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": {version}]> m (float[2,8] x, {scale}) => (uint8[2,8] y) {{
                y = QuantizeLinear {more}(x, s) }}"""
        )
        refusals = opset.plan(model, runtime="openvino==2026.4").refusals
        kept = not refusals and opset.convert(model, runtime="openvino==2026.4") == model
        assert kept == stays
        assert all(each.code == "C209" for each in refusals)


def test_a_vector_stays_and_openvino_takes_scalars():
    for version, k in (("onnxruntime==1.24", "int64[1] {2}"), ("openvino==2026.4", "int64 {2}")):
        model = parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": 17]> m (float[2,5] x) => (float[2,2] v, int64[2,2] i) {{
                k = Constant <value = {k}> ()  v, i = TopK (x, k) }}"""
        )
        assert opset.convert(model, runtime=version).SerializeToString() == model.SerializeToString()


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Slice (x, one, two, one, one)",
        "y = Slice (x, one, rows)",
        "p = Constant <value = int64[2] {1, 2}> ()  y = Pad (x, p, , one)",
        "r = Slice (x, one, two)  y = Squeeze (r, zero)",
        "r = Reshape (x, all)  y = Tile (r, two)",
    ],
)
def test_onnxruntime_gets_vectors_for_scalars(nodes):
    constants = "".join(
        f"{name} = Constant <value = int64 {{{n}}}> ()  " for name, n in (("zero", 0), ("one", 1), ("two", 2))
    )
    model = opset.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]> m (float[2,3] x, int64 rows) => (float[] y) {{
            all = Constant <value = int64[1] {{6}}> ()  {constants} {nodes} }}"""
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    feeds = {"x": x, "rows": np.array(2)}
    session = onnxruntime.InferenceSession(
        opset.convert(model, runtime="onnxruntime==1.24").SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (expected,), (found,) = opset.ReferenceEvaluator(model).run(None, feeds), session.run(None, feeds)
    np.testing.assert_array_equal(found, expected)


LOADED_OTHERWISE = [
    # Nodes that onnxruntime 1.16 to 1.31 do not run, though they have kernels, and the inputs of each.
    (14, "LSTM (x, w, r)", {"x": (3, 2, 4), "w": (1, 12, 4), "r": (1, 12, 3)}),
    (14, "GRU <linear_before_reset = 1> (x, w, r)", {"x": (3, 2, 4), "w": (1, 9, 4), "r": (1, 9, 3)}),
    (14, "RNN (x, w, r)", {"x": (3, 2, 4), "w": (1, 3, 4), "r": (1, 3, 3)}),
    (18, "Resize <mode = 'linear'> (x, none, up)", {"x": (2,)}),
    (18, "Resize <mode = 'cubic'> (x, none, rows)", {"x": (2, 3, 4)}),
    (18, "Resize <mode = 'nearest', antialias = 1> (x, none, halves)", {"x": (1, 4, 6)}),
    (18, "Resize <mode = 'linear', exclude_outside = 1> (x, none, halves)", {"x": (1, 4, 6)}),
    (11, "Resize <mode = 'nearest', exclude_outside = 1> (x, none, halves)", {"x": (1, 4, 6)}),
    (20, "GridSample (x, grid)", {"x": (1, 1, 5), "grid": (1, 2, 1)}),
]
NOT_RUN = [
    (13, "LRN <size = 3> (x)", (1, 4, 5)),
    (13, "LRN <size = 2> (x)", (1, 4, 5, 5)),
    (13, "MaxPool <kernel_shape = [2, 2, 2, 2]> (x)", (1, 1, 3, 3, 3, 3)),
    (13, "GlobalAveragePool (x)", (1, 1, 3, 3, 3, 3)),
    (20, "GridSample <mode = 'cubic'> (x, grid)", (1, 1, 3, 3, 3)),
    (9, "Upsample <mode = 'linear'> (x, up)", (2,)),
]


def loaded_model(version, node, shapes):
    inputs = ", ".join(f"float{[*shape]} {name}" for name, shape in shapes.items())
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {version}]> m ({inputs}) => (float[] y)'
        "<float[0] none = {}, float[1] up = {2.0}, float[3] rows = {1.0, 2.0, 1.5}, float[3] halves = {1.0, 0.5, 0.6}>"
        f"{{ y = {node} }}".replace("'", '"')
    )


@pytest.mark.parametrize(("version", "node", "shapes"), LOADED_OTHERWISE)
def test_what_onnxruntime_does_not_run_is_expressed_otherwise(version, node, shapes):
    model = loaded_model(version, node, shapes)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    rng = np.random.default_rng(4)
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run_in_onnxruntime(model, feeds)
    for runtime in ("onnxruntime==1.16", "onnxruntime==1.31"):
        if version < 20 or runtime == "onnxruntime==1.31":
            after = opset.convert(model, runtime=runtime)
            (expected,), (got,) = opset.ReferenceEvaluator(model).run(None, feeds), run_in_onnxruntime(after, feeds)
            np.testing.assert_allclose(got, expected, 1e-4, 1e-5)


@pytest.mark.parametrize(("version", "node", "shape"), NOT_RUN)
def test_what_onnxruntime_does_not_run_is_refused(version, node, shape):
    shapes = {"x": shape} | ({"grid": (1, 2, 2, 2, 3)} if "grid" in node else {})
    model = loaded_model(version, node, shapes)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run_in_onnxruntime(model, {name: np.zeros(each, np.float32) for name, each in shapes.items()})
    (refusal,) = opset.plan(model, runtime="onnxruntime==1.31").refusals
    assert refusal.code == "C209" and "takes " in refusal.why


@pytest.mark.parametrize(("first", "second"), [("float", "float16"), ("float16", "float")])
@pytest.mark.parametrize(
    ("node", "shapes"),
    [("RMSNormalization (x, z)", ["2, 3", "3"]), ("Attention (x, x, z)", ["1, 2, 3, 4", "1, 2, 3, 4"])],
)
def test_functions_of_onnxruntime_that_mix_types_are_expressed_otherwise(node, shapes, first, second):
    model = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 23]> m ({first}[{shapes[0]}] x, {second}[{shapes[1]}] z) => '
        f"({second if 'RMS' in node else first}[{shapes[0]}] y) {{ y = {node} }}"
    )
    rng = np.random.default_rng(4)
    types = {"float": np.float32, "float16": np.float16}
    feeds = {
        name: rng.standard_normal([*map(int, shape.split(","))]).astype(types[element])
        for name, element, shape in zip("xz", (first, second), shapes, strict=True)
    }
    with pytest.raises(Exception, match="bound to different types"):
        run_in_onnxruntime(model, feeds)
    after = opset.convert(model, runtime="onnxruntime==1.31")
    (expected,), (got,) = opset.ReferenceEvaluator(model).run(None, feeds), run_in_onnxruntime(after, feeds)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, 2e-3, 1e-3)


def run_in_onnxruntime(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run(model, x):
    return run_in_onnxruntime(model, {"x": x})
