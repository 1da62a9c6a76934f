"""Numbers for sizes that a model leaves open mean the same in conversion, inference and evaluation."""

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import opset
from opset.errors import UsageError
from opset.inference.engine.binding import bind_dims, free_dim_names, open_dim_names

RESIZE = """<ir_version: 7, opset_import: ["": 11]>
    main (float[batch, 2, side, ?] x) => (float[?, ?, ?, ?] y) {
        e = Constant <value: tensor = float[0] {}> ()
        s = Constant <value: tensor = int64[4] {1, 2, 6, 12}> ()
        y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (x, e, e, s)
    }"""
DIMS = {"batch": 1, "side": 3, "x.3": 4}


def sizes(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_a_conversion_that_needs_a_size_succeeds_where_it_is_given():
    """The nearest element to a coordinate between two is certain where the sizes are known."""
    model = parser.parse_model(RESIZE)
    with pytest.raises(opset.ConversionError) as caught:
        opset.convert(model, 10)
    assert caught.value.code == "C207"
    assert [finding.code for finding in opset.plan(model, 10, dims={"batch": 1}).refusals] == ["C207"]
    conversion = opset.plan(model, 10, dims=DIMS)
    assert conversion.refusals == []
    assert conversion.notes == ["valid for batch = 1, side = 3, x.3 = 4 alone, which the inputs state"]
    after = opset.convert(model, 10, dims=DIMS)
    assert sizes(after.graph.input[0]) == [1, 2, 3, 4]
    assert sizes(model.graph.input[0]) == ["batch", 2, "side", 0]
    x = np.random.default_rng(0).random((1, 2, 3, 4), np.float32)
    before, found = (
        onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        for each in (model, after)
    )
    np.testing.assert_array_equal(found[0], before[0])


def test_a_model_that_is_there_already_states_the_sizes_all_the_same():
    conversion = opset.plan(parser.parse_model(RESIZE), 11, dims=DIMS)
    assert conversion.changes
    assert sizes(opset.convert(parser.parse_model(RESIZE), 11, dims=DIMS).graph.input[0]) == [1, 2, 3, 4]


def test_inference_and_evaluation_take_the_same_names():
    model = parser.parse_model(RESIZE)
    assert [*map(str, opset.infer(model, dims=DIMS).shape("x"))] == ["1", "2", "3", "4"]
    evaluator = opset.ReferenceEvaluator(model, dims=DIMS)
    assert evaluator.inputs[0].shape == (1, 2, 3, 4)
    assert evaluator.run(None, {"x": np.ones((1, 2, 3, 4), np.float32)})[0].shape == (1, 2, 6, 12)
    with pytest.raises(opset.RunError) as caught:
        evaluator.run(None, {"x": np.ones((2, 2, 3, 4), np.float32)})
    assert caught.value.code == "R103"


USES = [
    lambda model, dims: opset.convert(model, 10, dims=dims),
    lambda model, dims: opset.plan(model, 10, dims=dims),
    lambda model, dims: opset.infer(model, dims=dims),
    lambda model, dims: opset.ReferenceEvaluator(model, dims=dims),
]


@pytest.mark.parametrize("use", USES)
def test_unknown_names_and_wrong_sizes_are_refused_alike(use):
    model = parser.parse_model(RESIZE)
    for name in ("other", "x.2", "x.9", "y.0"):
        with pytest.raises(opset.UsageError) as caught:
            use(model, {**DIMS, name: 1})
        message = f"the model has no dimension variable '{name}'"
        if name == "x.2":
            message = "the size 'x.2' is called 'side'"
        assert (caught.value.code, caught.value.findings[0].message) == ("U103", message)
    for size in (-1, 1 << 63, 1.0, "1", True, None):
        with pytest.raises(opset.UsageError) as caught:
            use(model, {**DIMS, "batch": size})
        assert (caught.value.code, caught.value.message) == ("U103", f"{size!r} is no size for 'batch'")
        assert caught.value.help.startswith("a size is a")


NESTED = """<ir_version: 8, opset_import: ["": 18, "d": 1]>
    main (seq(float["2*N", M]) s, float[N] n, float["N - 3"] low, bool c) => (float[N] y, float[K] z)
    <float[N] t> {
        t = Relu (n)
        y = If (c) <
            then_branch = a () => (float[N] p) <float[N] q> { q = Relu (t)  p = Relu (q) },
            else_branch = b () => (float[L] r) { r = d.f (t) }
        >
        z = Relu (low)
    }
    <domain: "d", opset_import: ["": 18]> f (i) => (o) { o = Relu (i) }"""


def test_a_variable_is_bound_wherever_it_is_stated():
    model = opset.load(parser.parse_model(NESTED))
    assert open_dim_names(model) == {"2*N", "N", "M", "N - 3"}
    bound = bind_dims(model, {"N": 5}).proto
    sequence, n, low, _ = bound.graph.input
    inner = sequence.type.sequence_type.elem_type.tensor_type.shape.dim
    assert [inner[0].dim_value, inner[1].dim_param] == [10, "M"]
    then, other = (attribute.g for attribute in bound.graph.node[1].attribute)
    for value in (n, bound.graph.output[0], bound.graph.value_info[0], then.output[0], then.value_info[0]):
        assert sizes(value) == [5]
    assert [sizes(value) for value in (low, bound.graph.output[1], other.output[0])] == [[2], ["K"], ["L"]]
    assert sizes(bind_dims(model, {"N": 2}).proto.graph.input[2]) == ["N - 3"]  # no size is negative
    assert bind_dims(model, {}) is model


@pytest.mark.parametrize(
    ("dims", "bound"),
    [
        ({"2*N": 6}, [[6, "M"], [3], [0]]),
        ({"2*N": 0}, [[0, "M"], [0], ["N - 3"]]),
        ({"N - 3": 4}, [[14, "M"], [7], [4]]),
        ({"N - 3": 4, "2*N": 14, "N": 7}, [[14, "M"], [7], [4]]),
        ({"M": 2, "N - 3": 4}, [[14, 2], [7], [4]]),
        ({"3*M": 6}, [["2*N", "M"], ["N"], ["N - 3"]]),
    ],
)
def test_an_expression_binds_its_variable(dims, bound):
    inputs = bind_dims(opset.load(parser.parse_model(NESTED)), dims).proto.graph.input
    inner = inputs[0].type.sequence_type.elem_type
    found = [[dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in inner.tensor_type.shape.dim]]
    assert [*found, *map(sizes, inputs[1:3])] == bound


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({"2*N": 7}, "the size '2*N' is not 7"),
        ({"2*N": 6, "N": 4}, "the size '2*N' is not 6 where 'N' is 4"),
        ({"2*N": 6, "N - 3": 1}, "the size 'N - 3' is not 1 where 'N' is 3"),
    ],
)
def test_an_expression_has_no_other_size_than_its_variable_gives(dims, message):
    with pytest.raises(UsageError) as caught:
        bind_dims(opset.load(parser.parse_model(NESTED)), dims)
    assert (caught.value.code, caught.value.message) == ("U103", message)
    assert caught.value.help == "set 'N' alone: the size follows"


@pytest.mark.parametrize("name", ["M + N", "2*M - 2*N + 1", "M*N", "floor(N/2)"])
def test_an_expression_of_which_no_variable_follows_binds_itself_alone(name):
    text = f'g (float["{name}", M] x, float[N] v) => (float[?, ?] y) {{ y = Neg (x) }}'
    model = opset.load(parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}'))
    assert [sizes(each) for each in bind_dims(model, {name: 5}).proto.graph.input] == [[5, "M"], ["N"]]


def test_sizes_that_are_free_are_no_expressions():
    assert free_dim_names(opset.load(parser.parse_model(NESTED))) == {"N", "M"}
    text = 'g (float["1", "batch-size", ?] x) => (float[?, ?, ?] y) { y = Neg (x) }'
    text = f'<ir_version: 8, opset_import: ["": 18]> {text}'
    assert free_dim_names(opset.load(parser.parse_model(text))) == {"1", "batch-size", "x.2"}
