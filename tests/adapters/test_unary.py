"""Clip through its versions, and functions whose types grew."""

import math

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node

MAX = {np.float16: 65504.0, np.float32: float(np.finfo(np.float32).max), np.float64: float(np.finfo(np.float64).max)}
ALL = (np.float16, np.float32, np.float64)


def values(kind):
    """Ordinary values, both infinities, NaN, and both zeros."""
    return np.array([-3, -1.5, -0.0, 0.0, 0.1, 2, 1e4, math.inf, -math.inf, math.nan], kind)


def limited(x, low, high):
    with np.errstate(all="ignore"):
        return np.minimum(np.maximum(x, np.asarray(low).astype(x.dtype)), np.asarray(high).astype(x.dtype))


def clip(*inputs, **attributes):
    return make_node("Clip", ["x", *inputs], ["y"], **attributes)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("bounds", [{"min": -1.0, "max": 2.0}, {"min": 0.1}, {"max": 0.1}, {"max": 70000.0}, {}])
@pytest.mark.parametrize("to", [11, 12, 13, 20])
def test_bounds_become_inputs(check, kind, bounds, to):
    x = values(kind)
    low, high = (np.float32(bounds.get(name, sign * MAX[np.float32])) for name, sign in (("min", -1), ("max", 1)))
    check(clip(**bounds), 10, to, {"x": x}, expect=[limited(x, low, high)])


def test_float_limits_become_absent_inputs(check):
    after = check(clip(max=2.0), 6, 11, {"x": values(np.float32)})
    assert list(after.graph.node[-1].input)[:2] == ["x", ""]
    assert list(check(clip(), 6, 11, {"x": values(np.float32)}).graph.node[0].input) == ["x"]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("low", "high", "operators"),
    [
        (-1.0, 2.0, ["Clip"]),
        (0.5, None, None),
        (None, 0.5, None),
        (None, None, None),
        (0.1, 3.0, None),
        (2.0, -1.0, ["Max", "Min"]),
        (-math.inf, math.inf, ["Clip"]),
    ],
)
def test_bounds_become_attributes(check, kind, low, high, operators):
    x, bounds = values(kind), {"low": low, "high": high}
    constants = {name: np.array(value, kind) for name, value in bounds.items() if value is not None}
    low, high = (-MAX[kind] if low is None else low), (MAX[kind] if high is None else high)
    names = [name if name in constants else "" for name in ("low", "high")]
    after = check(clip(*names), 11, 10, {"x": x}, constants, expect=[limited(x, low, high)], operators=operators)
    if kind is np.float32 and operators is None:
        stated = [each.name for node in after.graph.node for each in node.attribute]
        assert stated == [bound for bound, name in zip(("min", "max"), names, strict=True) if name]


def test_no_attribute_holds_a_bound_of_double_or_one_of_a_run(check):
    x = values(np.float64)
    limits = {"low": np.array(0.1), "high": np.array(1e300)}
    check(clip("low", "high"), 11, 7, {"x": x}, limits, expect=[limited(x, 0.1, 1e300)])
    x, low = values(np.float32), np.float32(-1)
    after = check(clip("low"), 13, 8, {"x": x, "low": np.array(low)}, expect=[limited(x, low, MAX[np.float32])])
    assert [node.op_type for node in after.graph.node if node.op_type in ("Max", "Min", "Where")] == ["Max", "Min"]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("low", "high"), [(math.nan, 2.0), (-1.0, math.nan), (math.nan, math.nan)])
@pytest.mark.parametrize("to", [10, 8, 7])
def test_a_bound_that_is_nan_limits_nothing(check, kind, constant, low, high, to):
    x = values(kind)
    bounds = {"low": np.array(low, kind), "high": np.array(high, kind)}
    feeds, constants = ({"x": x}, bounds) if constant else ({"x": x, **bounds}, {})
    low, high = (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
    check(clip("low", "high"), 13, to, feeds, constants, expect=[limited(x, low, high)])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("bounds", [(3, 9), (None, 9), (3, None), (None, None)])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("to", [11, 10, 9, 8, 7])
def test_integers(check, kind, bounds, constant, to):
    limits = np.iinfo(kind)
    x = np.array([limits.min, limits.max, limits.max - 1, 0, 1, 3, 4, 9, 10], kind)
    given = {name: np.array(value, kind) for name, value in zip("ab", bounds, strict=True) if value is not None}
    names = [name if name in given else "" for name in "ab"]
    low, high = (default if value is None else value for value, default in zip(bounds, limits_of(kind), strict=True))
    feeds, constants = ({"x": x}, given) if constant else ({"x": x, **given}, {})
    check(clip(*names), 12, to, feeds, constants, expect=[np.minimum(np.maximum(x, low), high).astype(kind)])


def limits_of(kind):
    return np.iinfo(kind).min, np.iinfo(kind).max


@pytest.mark.parametrize("kind", ALL)
def test_the_limits_of_version_1_are_those_of_the_type(check, refused, kind):
    x = values(kind)
    node = clip(min=-1.0, consumed_inputs=[0])
    if kind is np.float64:
        refused(node, 5, 6, {"x": x}, "C204")
        check(clip(min=-1.0, max=9.0), 5, 6, {"x": x}, expect=[limited(x, -1, 9)])
    else:
        check(node, 5, 11, {"x": x}, expect=[limited(x, -1.0, MAX[kind])])
        check(clip(), 5, 6, {"x": x}, expect=[limited(x, -MAX[kind], MAX[kind])], operators=["Clip"])


def test_a_type_has_to_be_known(refused):
    nodes = [make_node("Custom", ["x"], ["t"], domain="mine"), make_node("Clip", ["t"], ["y"])]
    import onnx
    from onnx import helper

    import opset
    from opset.errors import ConversionError

    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [2])], [helper.make_tensor_value_info("z", 1, [2])]
    )
    graph.node.append(make_node("Custom", ["y"], ["z"], domain="mine"))
    imports = [helper.make_opsetid("", 10), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=7)
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 11)
    assert caught.value.code == "C203"


FUNCTIONS = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Round", "Sin", "Sinh", "Tan"]


def around(operator, kind, to=None):
    """Return nodes that compute an operator in another type between two casts, as no runtime takes the type itself."""
    back = TensorProto.FLOAT if to is None else to
    return [
        make_node("Cast", ["x"], ["a"], to=kind),
        make_node(operator, ["a"], ["b"]),
        make_node("Cast", ["b"], ["y"], to=back),
    ]


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_bfloat16_goes_through_float(check, operator):
    x = np.array([0.3, -0.7, 0.25, 1.5, 2.5, -0.0], np.float32)
    if operator in ("Acos", "Asin", "Atanh"):
        x = x[[0, 1, 2, 5]]
    if operator == "Acosh":
        x = np.abs(x) + 1
    rounded = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    names = {"Round": np.rint, "Acosh": np.arccosh, "Asinh": np.arcsinh, "Atanh": np.arctanh}
    names |= {"Acos": np.arccos, "Asin": np.arcsin, "Atan": np.arctan}
    function = names.get(operator) or getattr(np, operator.lower())
    expect = function(rounded).astype(ml_dtypes.bfloat16).astype(np.float32)
    nodes = around(operator, TensorProto.BFLOAT16)
    operators = ["Cast", "Cast", operator, "Cast", "Cast"]
    check(nodes, 22, 21, {"x": x}, expect=[expect], rtol=2**-8, operators=operators)


@pytest.mark.parametrize("operator", ["IsInf", "IsNaN"])
@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E5M2", "FLOAT8E4M3FN", "FLOAT16"])
def test_infinity_and_nan_of_narrow_types(check, operator, kind):
    x = np.array([1, math.inf, -math.inf, math.nan, 0, -0.0], np.float32)
    expect = (np.isinf if operator == "IsInf" else np.isnan)(x)
    if operator == "IsInf" and kind.startswith("FLOAT8"):
        # A cast saturates, so that the only infinities are those of E5M2 made by hand.
        x, expect = x[[0, 3, 4, 5]], expect[[0, 3, 4, 5]]
    nodes = around(operator, getattr(TensorProto, kind), TensorProto.BOOL)
    check(nodes, 20, 19, {"x": x}, expect=[expect])


def test_bfloat16_has_no_cast_before_13(refused):
    nodes = around("Cos", TensorProto.BFLOAT16)
    error = refused(nodes, 22, 12, {"x": np.zeros(2, np.float32)}, "C202")
    assert "bfloat16" in str(error)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 1, 1.5, 2.5, -1.5, -2.5, 0.49999997, 1e7, -60000]


def special(kind):
    """Return numbers of a float type with all edges."""
    info = np.finfo(kind)
    with np.errstate(over="ignore"):
        return np.array([*SPECIAL, info.max, -info.max, info.tiny, info.smallest_subnormal, 2.0**22 + 0.5], kind)


FLOATS = pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
OLD = pytest.mark.parametrize("to", [8, 7])


@FLOATS
@OLD
def test_is_nan_by_comparisons(check, kind, to):
    x = special(kind)
    check(make_node("IsNaN", ["x"], ["y"]), 9, to, {"x": x}, expect=[np.isnan(x)])


@FLOATS
@pytest.mark.parametrize(("positive", "negative"), [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_is_inf_by_comparisons(check, kind, positive, negative):
    x = special(kind)
    expect = (np.isposinf(x) & bool(positive)) | (np.isneginf(x) & bool(negative))
    is_inf = make_node("IsInf", ["x"], ["y"], detect_positive=positive, detect_negative=negative)
    for to in (9, 7):
        check(is_inf, 20, to, {"x": x}, expect=[expect])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.uint64, np.int32])
@OLD
def test_sign_by_comparisons(check, kind, to):
    if np.issubdtype(kind, np.integer):
        info = np.iinfo(kind)
        x = np.array([info.min, info.max, 0, 1, 7], kind)
    else:
        x = special(kind)
    check(make_node("Sign", ["x"], ["y"]), 9, to, {"x": x}, expect=[np.sign(x)])


@FLOATS
@pytest.mark.parametrize("to", [10, 7])
def test_round_half_to_even(check, kind, to):
    x = special(kind)
    nodes = [make_node("Round", ["x"], ["y"]), make_node("Reciprocal", ["y"], ["z"])]
    with np.errstate(all="ignore"):
        expect = [np.rint(x), 1 / np.rint(x)]
    check(nodes, 11, to, {"x": x}, expect=expect, outputs=["y", "z"])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("to", [17, 13, 7])
def test_inverted_bits(check, kind, to):
    info = np.iinfo(kind)
    x = np.array([info.min, info.max, 0, 1, 77], kind)
    check(make_node("BitwiseNot", ["x"], ["y"]), 18, to, {"x": x}, expect=[np.invert(x)])


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("operator", ["Erf", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"])
def test_functions_before_9_are_formulas(check, refused, operator, kind):
    """They are as near to those of 60 bits as the type allows."""
    exact = {
        "Erf": np.vectorize(math.erf, otypes=[float]),
        "Asinh": np.arcsinh,
        "Acosh": np.arccosh,
        "Atanh": np.arctanh,
        "Sinh": np.sinh,
        "Cosh": np.cosh,
    }[operator]
    draw = np.random.default_rng(1)
    sizes = 10 ** draw.uniform(-9, 2, 400) * draw.choice([-1, 1], 400)
    edges = [1, -1, 1.25, 0.999, 2**-8, 2**-5, 0.25, 88, 1e30, 6]
    with np.errstate(all="ignore"):
        x = np.concatenate([values(kind), sizes.astype(kind), np.array(edges, np.float64).astype(kind)])
    node, shapes = make_node(operator, ["x"], ["y"]), {"x": ["n"]}
    if kind is np.float64 and operator != "Erf":
        refused(node, 9, 8, {"x": x}, "C202")
        return
    with np.errstate(all="ignore"):
        expect = exact(x.astype(np.float64)).astype(kind)
    ulp = float(np.finfo(kind).eps)
    check(node, 9, 7, {"x": x}, shapes=shapes, expect=[expect], rtol=2 * ulp, atol=2.0**-149)


def test_erf_of_integers_is_refused(refused):
    refused(make_node("Erf", ["x"], ["y"]), 9, 8, {"x": np.arange(3)}, "C202")
