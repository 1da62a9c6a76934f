"""Reductions: axes that moved and turned negative, none of them, last positions, types that came late."""

import math

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, parser
from onnx.helper import make_node

import opset
from opset.errors import ConversionError

REDUCTIONS = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k),
    "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
}
X = (np.arange(24).reshape(2, 3, 4) % 7 / 4 + 0.25).astype(np.float32)


def since(operator):
    return 13 if operator == "ReduceSum" else 18


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, [0], [1, 2], [-1], [-3, 2]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_as_attribute_and_input(check, operator, axes, keepdims):
    expect = REDUCTIONS[operator](X, axis=None if axes is None else tuple(axes), keepdims=bool(keepdims))
    stated = {} if axes is None else {"axes": axes}
    node = make_node(operator, ["x"], ["y"], keepdims=keepdims, **stated)
    check(node, 11, since(operator), {"x": X}, expect=[expect], rtol=1e-5, operators=[operator])
    lower = check(node, 11, 7, {"x": X}, expect=[expect], rtol=1e-5, operators=[operator])
    assert all(axis >= 0 for a in lower.graph.node[0].attribute for axis in a.ints)
    names, constants = ["x"], {}
    if axes is not None:
        names, constants = ["x", "axes"], {"axes": np.array(axes)}
    for noop in ({}, {"noop_with_empty_axes": 0}, *([{"noop_with_empty_axes": 1}] if axes else [])):
        newer = make_node(operator, names, ["y"], keepdims=keepdims, **noop)
        check(newer, since(operator), 7, {"x": X}, constants, expect=[expect], rtol=1e-5, operators=[operator])


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", ["", "constant", "of a run"])
@pytest.mark.parametrize("noop", [0, 1])
def test_no_axes_are_all_or_none(check, operator, keepdims, axes, noop):
    x = X - 1 if operator != "ReduceLogSum" else X
    names = ["x", "axes"] if axes else ["x"]
    empty = {"axes": np.array([], np.int64)}
    feeds, constants = ({"x": x, **empty}, {}) if axes == "of a run" else ({"x": x}, empty if axes else {})
    if noop:
        expect = REDUCTIONS[operator](x[None], axis=0)
    else:
        expect = REDUCTIONS[operator](x, axis=None, keepdims=bool(keepdims))
    node = make_node(operator, names, ["y"], keepdims=keepdims, noop_with_empty_axes=noop)
    after = check(node, since(operator), 9, feeds, constants, expect=[expect], rtol=1e-5)
    plain = operator in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
    assert after.graph.node[-1].op_type == ("Identity" if noop and plain else operator)


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_of_a_run(check, operator, keepdims):
    node = make_node(operator, ["x", "axes"], ["y"], keepdims=keepdims)
    for axes in ([0], [1], [-1], [0, 2], [-2, 0], [2, 1], [1, -1], [0, 1, 2]):
        expect = REDUCTIONS[operator](X, axis=tuple(axes), keepdims=bool(keepdims))
        for to in (since(operator) - 1, 7):
            after = check(node, since(operator), to, {"x": X, "axes": np.array(axes)}, expect=[expect], rtol=1e-5)
            if len(axes) == X.ndim:
                assert [made.op_type for made in after.graph.node] == [operator]
    vector = {"x": X[0, 0], "axes": np.array([-1])}
    expect = REDUCTIONS[operator](X[0, 0], keepdims=bool(keepdims))
    check(node, since(operator), 7, vector, expect=[expect], rtol=1e-5, operators=[operator])


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("axes", [[1], [0, 1], [-1, 1], [2]])
def test_axes_of_a_run_without_elements(check, operator, axes):
    node = make_node(operator, ["x", "axes"], ["y"])
    identity = {"ReduceProd": 1, "ReduceMin": np.inf, "ReduceMean": np.nan}.get(operator, 0)
    identity = -np.inf if operator in ("ReduceMax", "ReduceLogSum", "ReduceLogSumExp") else identity
    x = np.zeros((2, 0, 3), np.float32)
    shape = [1 if axis in axes or axis - 3 in axes else dim for axis, dim in enumerate(x.shape)]
    expect = np.full(shape, identity, np.float32)
    check(node, since(operator), since(operator) - 1, {"x": x, "axes": np.array(axes)}, expect=[expect])


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float16, np.uint8, np.int8])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"])
def test_axes_of_a_run_in_other_types(check, refused, kind, operator):
    bytes_ = kind in (np.uint8, np.int8)
    if bytes_ and operator in ("ReduceSum", "ReduceProd"):
        return
    x = (np.arange(24).reshape(2, 3, 4) % 5 - (0 if kind is np.uint8 else 2)).astype(kind)
    node = make_node(operator, ["x", "axes"], ["y"], keepdims=0)
    for axes in ([1], [0, 2]):
        feeds = {"x": x, "axes": np.array(axes)}
        expect = REDUCTIONS[operator](x, axis=tuple(axes), dtype=kind) if operator[6:] in ("Sum", "Prod") else None
        expect = REDUCTIONS[operator](x, axis=tuple(axes)) if expect is None else expect
        check(node, since(operator), 12, feeds, expect=[expect])
    if not bytes_ and kind is not np.float16:
        mean = make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0)
        check(mean, 18, 17, {"x": np.abs(x), "axes": np.array([1])}, operators=None)
        refused(mean, 18, 17, {"x": x, "axes": np.array([0, 1])}, "C205")


def test_no_elements_of_integers_are_the_limits(check):
    for operator, index in (("ReduceMax", 0), ("ReduceMin", 1)):
        for kind in (np.int8, np.uint8, np.int32, np.int64):
            limits = np.iinfo(kind)
            feeds = {"x": np.zeros((0, 2), kind), "axes": np.array([0])}
            expect = np.full((1, 2), (limits.min, limits.max)[index], kind)
            check(make_node(operator, ["x", "axes"], ["y"]), 18, 12, feeds, expect=[expect])


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax"])
def test_axes_of_a_run_that_are_refused(refused, operator):
    node = make_node(operator, ["x", "axes"], ["y"])
    feeds = {"x": X, "axes": np.array([1])}
    refused(node, since(operator), 12, feeds, "C205", shapes={"axes": [None]})
    refused(node, since(operator), 12, feeds, "C205", shapes={"x": [2, "N", 4]})
    refused(node, since(operator), 12, {**feeds, "x": X[0, 0]}, "C205", shapes={"x": None})
    refused(node, since(operator), 12, {**feeds, "x": X[0, 0]}, "C205", shapes={"x": None, "axes": None})


def test_negative_axes_need_a_rank(refused):
    for node in (make_node("ReduceMax", ["x"], ["y"], axes=[0, -1]), make_node("ArgMax", ["x"], ["y"], axis=-1)):
        refused(node, 11, 10, {"x": X}, "C207", shapes={"x": None})
    refused(make_node("ArgMin", ["x"], ["y"], axis=-4), 11, 10, {"x": X}, "C103")


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("shapes", [{}, {"x": [None, None, None]}])
def test_positions_of_the_last_extreme(check, operator, axis, keepdims, last, shapes):
    x = np.floor(X * 2) % 2
    along = 0 if axis is None else axis
    best = x.argmax if operator == "ArgMax" else x.argmin
    expect = best(along)
    if last:
        behind = np.flip(x, along)
        expect = x.shape[along] - 1 - (behind.argmax(along) if operator == "ArgMax" else behind.argmin(along))
    if keepdims:
        expect = np.expand_dims(expect, along)
    stated = {} if axis is None else {"axis": axis}
    node = make_node(operator, ["x"], ["y"], keepdims=keepdims, select_last_index=last, **stated)
    check(node, 12, 11, {"x": x}, shapes=shapes, expect=[expect])
    check(node, 13, 10, {"x": x}, shapes=shapes, expect=[expect])


def test_positions_of_the_last_extreme_in_any_rank(check):
    x = np.floor(X * 2) % 2
    expect = 3 - np.flip(x, -1).argmax(-1)
    node = make_node("ArgMax", ["x"], ["y"], axis=-1, keepdims=0, select_last_index=1)
    check(node, 12, 11, {"x": x}, shapes={"x": None}, expect=[expect])


TIES = np.array([[[3, 1, 3], [0, 3, 1]], [[1, 1, 0], [3, 0, 3]]])
INTEGER_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("kind", INTEGER_TYPES)
@pytest.mark.parametrize(("axis", "keepdims", "last"), [(0, 1, 0), (1, 0, 0), (-1, 1, 1), (2, 0, 1), (None, 0, 1)])
def test_positions_of_extremes_by_top_k(operator, kind, axis, keepdims, last):
    """Of equal elements the first or the last one counts, and int64 and uint32 need all their bits."""
    limits = np.iinfo(kind)
    ends = np.array([limits.min, limits.min + 1, limits.max - 1, limits.max], kind)
    along = "" if axis is None else f"axis = {axis}, "
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> m ({kind}[2, 2, 3] x) => (int64[a, b] y) {{
            y = {operator} <{along}keepdims = {keepdims}, select_last_index = {last}> (x) }}"""
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    lowered = opset.lower(model, [operator])
    assert "TopK" in [each.op_type for each in lowered.graph.node]
    session = onnxruntime.InferenceSession(lowered.SerializeToString(), providers=["CPUExecutionProvider"])
    for x in (TIES.astype(kind), ends[TIES]):
        along = 0 if axis is None else axis
        best = np.argmax if operator == "ArgMax" else np.argmin
        expect = x.shape[along] - 1 - best(np.flip(x, along), along) if last else best(x, along)
        (found,) = session.run(None, {"x": x})
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.expand_dims(expect, along) if keepdims else expect)


@pytest.mark.parametrize(
    ("kind", "version", "code"), [("float", 17, "C202"), ("bfloat16", 17, "C202"), ("int64", 10, "C201")]
)
def test_positions_of_floats_are_not_found_by_top_k(kind, version, code):
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {version}]> m ({kind}[3, 2] x) => (int64[1, 2] y) {{ y = ArgMax (x) }}'
    )
    with pytest.raises(ConversionError) as caught:
        opset.lower(model, ["ArgMax"])
    assert caught.value.code == code


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("kind", ["int64", "uint32", "int16", "bfloat16"])
def test_onnxruntime_1_16_gets_positions_of_types_that_it_lacks(operator, kind):
    version = 17 if kind != "bfloat16" else 13
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {version}]> m (float[3, 2] x) => (int64[1, 2] y) {{
            c = Cast <to = {TensorProto.DataType.Value(kind.upper())}> (x)  y = {operator} (c) }}"""
    )
    after = opset.convert(model, runtime="onnxruntime==1.16")
    x = np.float32([[3, 1], [5, 0], [5, 0]])
    session = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], [[1, 0]] if operator == "ArgMax" else [[0, 1]])


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("to", [19, 12, 11, 9])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3)])
def test_extremes_of_small_types(check, operator, kind, to, shape):
    x = (np.arange(6).reshape(2, 3) * 50 - 127).astype(np.int64).astype(kind)[: shape[0]]
    lowest, highest = (False, True) if kind is np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
    start = lowest if operator == "ReduceMax" else highest
    expect = REDUCTIONS[operator](x, axis=0, initial=start).astype(kind)
    node = make_node(operator, ["x", "axes"], ["y"], keepdims=0)
    check(node, 20, to, {"x": x}, {"axes": np.array([0])}, expect=[expect])


def test_sums_of_bfloat16_go_through_float(check):
    nodes = [
        make_node("Cast", ["x"], ["a"], to=TensorProto.BFLOAT16),
        make_node("CumSum", ["a", "axis"], ["b"], exclusive=1, reverse=1),
        make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    x = np.float32([1, 2, 4, 8])
    check(nodes, 14, 13, {"x": x}, {"axis": np.array(0)}, expect=[np.float32([14, 12, 8, 0])])


@pytest.mark.parametrize("operator", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers_are_gone(check, refused, operator):
    node = make_node(operator, ["x"], ["y"])
    refused(node, 18, 28, {"x": np.array([1, 2], np.int32)}, "C202")
    expect = math.log(3) if operator == "ReduceLogSum" else math.log(math.e + math.e**2)
    check(node, 18, 28, {"x": np.array([1, 2], np.float64)}, expect=[np.array([expect])], rtol=1e-6)


@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
@pytest.mark.parametrize("to", [10, 9, 8, 7])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize("shapes", [None, {"x": ["a", "b", "c"]}], ids=["known", "open"])
def test_accumulation_in_a_loop(check, operator, to, exclusive, reverse, axis, kind, shapes):
    sum_up, version = (np.cumsum, 11) if operator == "CumSum" else (np.cumprod, 26)
    node = make_node(operator, ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)
    x = (X * 8 - 9).astype(kind)
    ordered = np.flip(x, axis) if reverse else x
    expect = sum_up(ordered, axis, dtype=kind)
    if exclusive:
        first = np.full_like(expect.take([0], axis), operator == "CumProd")
        expect = np.concatenate([first, expect.take(range(x.shape[axis] - 1), axis)], axis)
    expect = [np.flip(expect, axis) if reverse else expect]
    after = check(node, version, to, {"x": x}, {"a": np.array(axis)}, shapes=shapes, expect=expect)
    loops = [each.attribute[0].g for each in after.graph.node if each.op_type == "Loop"]
    ranks = [[len(value.type.tensor_type.shape.dim) for value in loop.output] for loop in loops]
    assert [0, 2, 2] in ranks  # those of slices
    check(node, version, to, {"x": x, "a": np.array(axis)}, shapes=shapes, expect=expect)


@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_accumulation_of_nothing_in_a_loop(check, operator, to):
    node, version = make_node(operator, ["x", "a"], ["y"]), 11 if operator == "CumSum" else 26
    for axis in (0, 1):
        empty = {"x": X[:, :0], "a": np.array(axis)}
        check(node, version, to, empty, shapes={"x": ["a", "b", "c"]}, expect=[X[:, :0]])
        check(node, version, to, {"x": X[:, :0]}, {"a": np.array(axis)}, expect=[X[:, :0]])


def test_running_sums_of_float16_are_rounded_once(check):
    x = np.float16([2048, 1, 1, 0.5, 65000, 65000, -65000])
    node = make_node("CumSum", ["x", "a"], ["y"])
    for to in (13, 7):
        with np.errstate(over="ignore"):
            expect = [np.cumsum(x, dtype=np.float32).astype(np.float16)]
        check(node, 14, to, {"x": x}, {"a": np.array(0)}, expect=expect)


REFUSED = [
    (11, 10, "C103", "no single number", "(float[3] x) => (float[] y) <int64[2] a = {0, 0}> { y = CumSum(x, a) }"),
    (13, 12, "C205", "the input 'axes'", "(float x, int64[] a) => (float[] y) { z = my.F(x)  y = ReduceSum(z, a) }"),
    (18, 17, "C205", "the input 'axes'", "(int32[3] x, int64[2] a) => (int32[] y) { y = ReduceMax(x, a) }"),
    (18, 17, "C205", "the input 'axes'", "(int32[0,3] x, int64[1] a) => (int32[] y) { y = ReduceMean(x, a) }"),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
