"""Faults of a runtime that comparisons decide: of two attributes, or of an element of an input."""

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import opset
from opset import ReferenceEvaluator
from opset.opsets.runtimes.model import Comparison, parse_comparison

RUNTIME = "onnxruntime==1.31"
X = "float[2, 3, 4, 4] x"
RESIZE = "s = Constant <value_floats = [{}]> () y = Resize <mode = '{}'> (x, '', s)"
POOL = "y = {} <auto_pad = '{}', kernel_shape = [{}], strides = [{}]> (x)"


def model(nodes, inputs=X, version=21, weights=""):
    text = nodes.replace("'", '"')
    output = "float[a, b, c, d] y" if inputs == X else "float[a, b, c] y"
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : {version}]> g ({inputs}) => ({output}) {weights} {{ {text} }}'
    )


def resized(scales, mode):
    return model(RESIZE.format(", ".join(f"{scale}.0" for scale in scales), mode))


def computed(proto, feeds):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize(
    ("scales", "kept"),
    [((2, 1, 1, 1), False), ((2, 1, 2, 2), False), ((1, 2, 2, 2), False), ((1, 2, 1, 1), True), ((1, 2, 2, 1), True),
     ((1, 1, 2, 2), True)],
)  # fmt: skip
def test_a_resize_by_scales_that_it_does_not_load_is_expressed_otherwise(scales, kept, mode):
    given = resized(scales, mode)
    converted = opset.convert(given, runtime=RUNTIME)
    is_kept = [each.op_type for each in converted.graph.node] == ["Constant", "Resize"]
    assert is_kept == (kept or mode == "nearest")
    feeds = {"x": np.random.default_rng(0).random((2, 3, 4, 4), np.float32)}
    np.testing.assert_allclose(computed(converted, feeds), ReferenceEvaluator(given).run(None, feeds)[0], 1e-4, 1e-5)
    assert len(opset.plan(resized((1, 2, 2, 2), "nearest"), runtime=RUNTIME).notes) == 0


@pytest.mark.parametrize(
    ("attributes", "runs"),
    [("strides = [2], output_padding = [2]", False), ("output_padding = [1]", False),
     ("strides = [2], output_padding = [1]", True), ("output_padding = [0]", True), ("strides = [2]", True)],
)  # fmt: skip
def test_a_transposed_convolution_that_it_does_not_run_is_refused(attributes, runs):
    given = model(f"y = ConvTranspose <{attributes}> (x, w)", "float[1, 1, 4] x, float[1, 1, 3] w")
    plan = opset.plan(given, runtime=RUNTIME)
    assert bool(plan.refusals) != runs
    if not runs:
        assert plan.refusals[0].code == "C209" and "takes output_padding below the stride alone" in plan.refusals[0].why


def test_nodes_that_differ_in_what_is_compared_are_judged_apart():
    first = "z = ConvTranspose <strides = [2], output_padding = [1]> (x, w)"
    nodes = f"{first} y = ConvTranspose <output_padding = [1]> (z, w)"
    plan = opset.plan(model(nodes, "float[1, 1, 4] x, float[1, 1, 3] w"), runtime=RUNTIME)
    assert [each.place for each in plan.refusals] == ["graph 'g', node number 1 (ConvTranspose)"]


@pytest.mark.parametrize("pads", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize(("kernel", "stride"), [(2, 3), (2, 2), (3, 2)])
@pytest.mark.parametrize("name", ["MaxPool", "AveragePool", "LpPool"])
def test_a_pool_whose_stride_is_above_its_kernel_is_noted(name, kernel, stride, pads):
    plan = opset.plan(model(POOL.format(name, pads, kernel, stride), "float[1, 1, 6] x"), runtime=RUNTIME)
    noted = stride > kernel and pads != "VALID"
    assert not plan.refusals
    assert any("if the last window ends before the input does" in note for note in plan.notes) == noted


@pytest.mark.parametrize("given", ["initializer", "constant", "input"])
def test_axes_of_int32_are_made_int64_where_they_are_constant(given):
    nodes = "p = Constant <value_ints = [1, 1]> () y = Pad (x, p, '', a)"
    inputs, weights, feeds = "float[2, 3, 4] x", "", {"x": np.zeros((2, 3, 4), np.float32)}
    if given == "input":
        inputs += ", int32[1] a"
        feeds["a"] = np.array([1], np.int32)
    elif given == "constant":
        nodes = f"a = Constant <value = int32[1] {{1}}> () {nodes}"
    else:
        weights = "<int32[1] a = {1}>"
    converted = opset.convert(model(nodes, inputs, weights=weights), runtime=RUNTIME)
    assert computed(converted, feeds).shape == (2, 5, 4)


@pytest.mark.parametrize(
    ("text", "comparison"),
    [
        ("output_padding >= strides", Comparison("output_padding", None, ">=", "strides")),
        ("scales[0] != 1", Comparison("scales", 0, "!=", 1.0)),
        ("alpha < -0.5", Comparison("alpha", None, "<", -0.5)),
        ("scales[0] !=1", None),
        ("scales[a] = 1", None),
        ("1 > strides", None),
        ("strides > kernel_shape[0]", None),
    ],
)
def test_what_a_comparison_is(text, comparison):
    assert parse_comparison(text) == comparison
    assert comparison is None or str(comparison) == text


@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("stride", [1, 2, 4])
@pytest.mark.parametrize(("kernel", "dilation", "gaps"), [(2, 2, True), (3, 3, True), (1, 2, False), (2, 1, False)])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_a_pool_with_gaps_is_padded_otherwise(operator, kernel, dilation, gaps, stride, pad):
    """Padding that is computed for a window without gaps gives other results, mostly of another size."""
    text = POOL.format(operator, pad, kernel, stride).replace("<", f"<dilations = [{dilation}], ")
    given = model(text, "float[1, 1, 8] x")
    feeds = {"x": np.random.default_rng(0).random((1, 1, 8), np.float32)}
    (want,) = ReferenceEvaluator(given).run(None, feeds)
    notes = opset.plan(given, runtime=RUNTIME).notes
    assert ["pads for a window without its gaps" in note for note in notes if "computes otherwise" in note] == [
        True
    ] * gaps
    if gaps:
        found = computed(given, feeds)
        assert found.shape != want.shape or not np.allclose(found, want)
    elif stride <= kernel:
        assert not notes
        np.testing.assert_allclose(computed(given, feeds), want, 1e-5)
