"""Broadcasting before and after versions 7 and 8, and types that grew."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import opset

ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power}
LOGICAL = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
COMPARISON = {"Equal": np.equal, "Greater": np.greater, "Less": np.less}
ALL = {**ARITHMETIC, **LOGICAL, **COMPARISON}
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def limited(name, function):
    """Return an operator with the limited broadcasting of versions 1 and 6, which accepts nothing else."""

    def _run(self, a, b, axis=None, broadcast=None, consumed_inputs=None):
        if not broadcast:
            assert a.shape == b.shape
        elif b.size == 1:
            assert b.ndim <= a.ndim
        else:
            start = a.ndim - b.ndim if axis is None else axis
            assert start >= 0 and a.shape[start : start + b.ndim] == b.shape
            b = b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))
        return (function(a, b),)

    return type(name, (OpRun,), {"op_domain": "", "_run": _run})


def one_shape(name, function):
    def _run(self, *data, consumed_inputs=None):
        assert len({x.shape for x in data}) == 1
        return (function(data),)

    return type(name, (OpRun,), {"op_domain": "", "_run": _run})


EARLY = [limited(name, function) for name, function in ALL.items()]
EARLY += [one_shape("Max", np.maximum.reduce), one_shape("Min", np.minimum.reduce)]


def early(model, feeds):
    """Run a model of opset 6 or below."""
    assert model.opset_import[0].version < 7
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model, new_ops=EARLY).run(None, feeds)


def numbers(shape, kind=np.float32, start=1):
    return np.asarray(np.arange(start, start + math.prod(shape)).reshape(shape) % 7 + 1, kind)


def operands(operator, left, right):
    if operator in LOGICAL:
        return np.asarray(numbers(left) % 2 == 0), np.asarray(numbers(right) % 3 == 0)
    kind = np.int32 if operator == "Equal" else np.float32
    return numbers(left, kind), numbers(right, kind, 3)


def of_operators(rows):
    """Return each row for an operator of each kind, swapped with itself, another or none, and a few for the others."""
    chosen = [(operator, *row) for operator in ("Add", "Less", "Sub") for row in rows]
    return chosen + [
        (operator, *row) for operator in ALL if operator not in ("Add", "Less", "Sub") for row in rows[4:-1:7]
    ]


UP = [
    ((2, 3), (2, 3), {}),
    ((2, 3), (2, 3), {"axis": 1}),
    ((2, 3), (2, 3), {"broadcast": 0, "axis": 0}),
    ((2, 3, 4, 5), (4, 5), {"broadcast": 1}),
    ((2, 3, 4, 5), (5,), {"broadcast": 1}),
    ((2, 3, 4, 5), (), {"broadcast": 1}),
    ((2, 3, 4, 5), (1, 1), {"broadcast": 1}),
    ((2, 3, 4, 5), (1,), {"broadcast": 1, "axis": 1}),
    ((2, 3, 4, 5), (3, 4), {"broadcast": 1, "axis": 1}),
    ((2, 3, 4, 5), (2,), {"broadcast": 1, "axis": 0}),
    ((2, 3, 4, 5), (4, 5), {"broadcast": 1, "axis": 2}),
    ((3, 3), (3,), {"broadcast": 1, "axis": 0}),
    ((3, 0, 2), (3, 0), {"broadcast": 1, "axis": 0}),
    ((2, 1, 3), (2, 1), {"broadcast": 1, "axis": 0}),
]


@pytest.mark.parametrize(("operator", "left", "right", "attributes"), of_operators(UP))
def test_axis_becomes_dimensions_of_one(check, operator, left, right, attributes):
    a, b = operands(operator, left, right)
    start = attributes.get("axis", a.ndim - b.ndim) if attributes.get("broadcast") and b.size != 1 else a.ndim - b.ndim
    expect = ALL[operator](a, b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim)))
    node = make_node(operator, ["a", "b"], ["y"], **attributes)
    after = check(node, 6, 7, {"a": a, "b": b}, expect=[expect])
    assert not after.graph.node[-1].attribute


@pytest.mark.parametrize(
    ("attributes", "is_kept"), [({}, True), ({"axis": 1}, False), ({"broadcast": 0}, False), ({"broadcast": 1}, False)]
)
def test_a_node_that_states_none_of_the_old_attributes_is_kept(attributes, is_kept):
    inputs = [make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "ab"]
    made = make_graph([make_node("Add", ["a", "b"], ["y"], **attributes)], "g", inputs, inputs[:0])
    plan = opset.plan(make_model(made, opset_imports=[make_opsetid("", 6)], ir_version=3), 7)
    assert (plan.kept.total(), len(plan.actions)) == (is_kept, not is_kept)


def test_axis_needs_ranks_unless_there_is_one_element(check, refused):
    a, b = numbers((2, 3)), numbers((2,))
    node = make_node("Add", ["a", "b"], ["y"], broadcast=1, axis=0)
    feeds = {"a": a, "b": b}
    check(node, 6, 7, feeds, shapes={"a": [None, None], "b": [None]}, expect=[a + b[:, None]])
    refused(node, 6, 7, feeds, "C207", shapes={"a": None})
    check(node, 6, 7, {"a": a, "b": b[:1]}, shapes={"a": None}, expect=[a + b[0]])
    refused(make_node("Add", ["a", "b"], ["y"], broadcast=1, axis=2), 6, 7, feeds, "C103")
    refused(make_node("Add", ["a", "b"], ["y"], broadcast=1, axis=-2), 6, 7, feeds, "C204")
    last = make_node("Add", ["a", "b"], ["y"], broadcast=1, axis=-1)
    check(last, 6, 7, {"a": a, "b": numbers((3,))}, expect=[a + numbers((3,))])


DOWN = [
    ((2, 3), (2, 3), None),
    ((), (), None),
    ((2, 3, 4), (4,), {}),
    ((2, 3, 4), (3, 4), {}),
    ((2, 3, 4), (), {}),
    ((2, 3, 4), (1,), {}),
    ((2, 3, 4), (1, 1, 1), {}),
    ((2, 3, 4), (3, 1), {"axis": 1}),
    ((2, 3, 4), (2, 1, 1), {"axis": 0}),
    ((2, 3, 4), (1, 3, 1), {"axis": 1}),
    ((2, 3, 4), (2, 3, 1), {"axis": 0}),
    ((2, 3, 4), (2, 1, 4), None),
    ((1, 3), (1, 1), {}),
    ((2, 1, 4), (2, 1, 1), {"axis": 0}),
    ((2, 1, 3, 1, 4), (3, 1, 1), {"axis": 2}),
    ((2, 3, 4, 5), (3, 1, 5), {}),
    ((4,), (2, 3, 4), {}),
    ((), (2, 3), {}),
    ((1,), (1, 1), None),
    ((3, 1), (4,), None),
    ((2, 1), (2, 3), None),
    ((1, 3), (2, 1), None),
    ((0, 3), (1, 3), {}),
    ((2, 0), (2, 1), {"axis": 0}),
]


@pytest.mark.parametrize(("operator", "left", "right", "attributes"), of_operators(DOWN))
def test_broadcasting_becomes_limited(check, operator, left, right, attributes):
    a, b = operands(operator, left, right)
    node = make_node(operator, ["a", "b"], ["y"])
    after = check(node, 7, 6, {"a": a, "b": b}, expect=[ALL[operator](a, b)], judge=early)
    swaps = operator not in ("Sub", "Div", "Pow")
    if attributes is not None and (len(left) >= len(right) or swaps):
        found = {attribute.name: attribute.i for attribute in after.graph.node[-1].attribute}
        assert found == {"broadcast": 1, **attributes}


def test_broadcasting_with_unknown_dimensions(check, refused):
    a, b = numbers((2, 3)), numbers((3,))
    node, feeds = make_node("Sub", ["a", "b"], ["y"]), {"a": a, "b": b}
    check(node, 7, 6, feeds, shapes={"a": ["N", 3], "b": [3]}, expect=[a - b], judge=early)
    check(node, 7, 6, feeds, shapes={"a": [None, "C"], "b": ["C"]}, expect=[a - b], judge=early)
    refused(node, 7, 6, feeds, "C207", shapes={"a": [2, None], "b": [3]})
    refused(node, 7, 6, feeds, "C207", shapes={"a": [2, "C"], "b": ["D"]})
    refused(node, 7, 6, feeds, "C207", shapes={"a": None})
    scalar = {"a": a, "b": np.float32(2).reshape(())}
    check(node, 7, 6, scalar, shapes={"a": None}, expect=[a - 2], judge=early)
    same = make_node("Mul", ["a", "a"], ["y"])
    check(same, 7, 6, {"a": a}, shapes={"a": None}, expect=[a * a], judge=early, operators=["Mul"])
    column = {"a": a, "b": numbers((2, 1))}
    check(node, 7, 6, column, shapes={"a": [2, "N"]}, expect=[a - column["b"]], judge=early)
    middle = {"a": numbers((2, 3, 4)), "b": numbers((2, 1, 4))}
    refused(node, 7, 6, middle, "C207", shapes={"a": [2, "N", 4]})


SPECIAL = np.array([1, -2, -0.0, 0.0, math.inf, -math.inf, math.nan], np.float32)


@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize("shapes", [{}, {"a": None, "b": None, "c": None}])
def test_max_broadcasts_by_subtracting_zeros(check, operator, shapes):
    a, b, c = SPECIAL, SPECIAL[:, None][::-1], np.float32([[[0.5]], [[-0.0]]])
    function = np.maximum if operator == "Max" else np.minimum
    node = make_node(operator, ["a", "b", "c"], ["y"])
    expect = [function(function(a, b), c)]
    after = check(node, 8, 7, {"a": a, "b": b, "c": c}, shapes=shapes, expect=expect)
    assert sum(node.op_type == "Sub" for node in after.graph.node) == 3


def test_zeros_keep_every_bit(check):
    x, wide = SPECIAL, np.zeros((2, 7), np.float32)
    node = make_node("Max", ["x", "wide"], ["y"])
    nodes = [node, make_node("Reciprocal", ["y"], ["z"])]
    check(nodes, 8, 7, {"x": -np.abs(x), "wide": wide - 9}, outputs=["z"])


@pytest.mark.parametrize("operator", ["Max", "Min", "Sum", "Mean"])
def test_one_shape_stays(check, operator):
    feeds = {"a": numbers((2, 3)), "b": numbers((2, 3), start=4)}
    check(make_node(operator, ["a", "b"], ["y"]), 8, 7, feeds, operators=[operator])
    shapes = {"a": ["N", 3], "b": ["N", 3]}
    check(make_node(operator, ["a", "b"], ["y"]), 8, 7, feeds, operators=[operator], shapes=shapes)
    check(make_node(operator, ["a"], ["y"]), 8, 7, {"a": feeds["a"]}, operators=[operator], shapes={"a": None})
    check(make_node(operator, ["a", "a"], ["y"]), 8, 7, {"a": feeds["a"]}, operators=[operator], shapes={"a": None})


def test_max_goes_below_7_where_shapes_are_known(check):
    a, b = numbers((2, 3)), numbers((3,), start=2)
    node = make_node("Max", ["a", "b"], ["y"])
    check(node, 8, 6, {"a": a, "b": b}, expect=[np.maximum(a, b)], judge=early)


@pytest.mark.parametrize(("operator", "kind"), [("Sum", np.float32), ("Mean", np.float32), ("Mean", np.float64)])
def test_sum_and_mean_broadcast_by_adding(check, operator, kind):
    feeds = {"a": numbers((2, 3), kind), "b": numbers((3,), kind), "c": numbers((), kind)}
    after = check(make_node(operator, list(feeds), ["y"]), 8, 7, feeds, rtol=1e-6)
    assert [n.op_type for n in after.graph.node if n.op_type != "Constant"] == ["Add", "Add"] + ["Div"] * (
        operator == "Mean"
    )


def edges(kind):
    limits = np.iinfo(kind)
    chosen = [limits.min, limits.min + 1, 0, 1, 2, limits.max // 2, limits.max - 1, limits.max]
    return np.array(chosen, kind)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize("to", [11, 9, 8, 7])
def test_max_of_integers(check, kind, operator, to):
    a, b = edges(kind), edges(kind)[:, None]
    function = np.maximum if operator == "Max" else np.minimum
    node = make_node(operator, ["a", "b", "c"], ["y"])
    c = np.array(3, kind)
    check(node, 12, to, {"a": a, "b": b, "c": c}, expect=[function(function(a, b), c)])


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("operator", ["Less", "Greater"])
@pytest.mark.parametrize("to", [8, 7])
def test_comparing_integers(check, kind, operator, to):
    a, b = edges(kind), edges(kind)[:, None]
    expect = COMPARISON[operator](a, b)
    check(make_node(operator, ["a", "b"], ["y"]), 9, to, {"a": a, "b": b}, expect=[expect])


@settings(max_examples=40)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40),
    st.sampled_from(["Less", "Greater"]),
)
def test_any_two_integers_of_64_bits_compare(check, left, right, operator):
    # Also neighbours, which only the second part tells apart.
    a = np.array([*left, *(min(v, 2**63 - 2) + 1 for v in right)], np.int64)
    b = np.array([*left, *right], np.int64)[:, None]
    expect = COMPARISON[operator](a, b)
    check(make_node(operator, ["a", "b"], ["y"]), 9, 8, {"a": a, "b": b}, expect=[expect])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_equal_floats(check, kind):
    a, b = SPECIAL.astype(kind), SPECIAL.astype(kind)[:, None]
    after = check(make_node("Equal", ["a", "b"], ["y"]), 11, 10, {"a": a, "b": b}, expect=[a == b])
    assert after.graph.node[-1].op_type == "And"


@pytest.mark.parametrize("kind", [*INTEGERS, np.bool_])
def test_equal_integers(check, kind):
    a = edges(kind) if kind is not np.bool_ else np.array([True, False])
    check(make_node("Equal", ["a", "b"], ["y"]), 11, 10, {"a": a, "b": a[:, None]}, expect=[a == a[:, None]])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
def test_small_integers_wrap(check, kind, operator):
    a, b = edges(kind), edges(kind)[:, None]
    if operator == "Div":
        b = b[b[:, 0] > 0]
        expect = (a.astype(np.float64) / b).astype(np.int64).astype(kind)
    else:
        expect = ALL[operator](a.astype(np.int64), b.astype(np.int64)).astype(kind)
    check(make_node(operator, ["a", "b"], ["y"]), 14, 13, {"a": a, "b": b}, expect=[expect])


@pytest.mark.parametrize("operator", ["LessOrEqual", "GreaterOrEqual", "Where"])
def test_bfloat16_is_compared_and_chosen(check, operator):
    x, other = SPECIAL, SPECIAL[::-1].copy()
    casts = [make_node("Cast", [name], [f"{name}_"], to=TensorProto.BFLOAT16) for name in ("x", "other")]
    if operator == "Where":
        nodes = [*casts, make_node("Where", ["c", "x_", "other_"], ["z"])]
        feeds, expect = {"x": x, "other": other, "c": x > 0}, np.where(x > 0, x, other)
    else:
        nodes = [*casts, make_node(operator, ["x_", "other_"], ["z"])]
        feeds, expect = {"x": x, "other": other}, (x <= other if operator == "LessOrEqual" else x >= other)
    nodes.append(make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT))
    check(nodes, 16, 15, feeds, expect=[expect.astype(np.float32)])


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("constant", [True, False])
def test_shifts(check, kind, direction, constant):
    width, signed = np.iinfo(kind).bits, np.iinfo(kind).min < 0
    x = edges(kind)
    y = np.array([0, 1, 2, width - 1, width, width + 1, np.iinfo(kind).max, *([-1, np.iinfo(kind).min] * signed)], kind)

    def shifted(number, count):
        if not 0 <= count < width:
            return -1 if direction == "RIGHT" and number < 0 else 0
        return number >> count if direction == "RIGHT" else number << count

    wanted = [[shifted(int(number), int(count)) & (2**width - 1) for number in x] for count in y]
    expect = np.array(wanted, f"uint{width}").astype(kind)
    node = make_node("BitShift", ["x", "y0"], ["y"], direction=direction)
    feeds, constants = {"x": x, "y0": y[:, None]}, {}
    if constant:
        constants["y0"] = feeds.pop("y0")
    after = check(node, 28, 26, feeds, constants, expect=[expect])
    assert "Where" in [each.op_type for each in after.graph.node]  # whatever the runtime does for large ones


def test_small_constant_shifts_of_unsigned_numbers_stay(check):
    node = make_node("BitShift", ["x", "y0"], ["y"], direction="LEFT")
    x = edges(np.uint8)
    check(node, 28, 11, {"x": x}, {"y0": np.array([7], np.uint8)}, expect=[x << np.uint8(7)], operators=["BitShift"])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("to", [26, 11])
def test_floor_modulus(check, kind, to):
    a = np.array([5.3, -5.3, 0.0, -0.0, 6.0, -6.0, 1e-3, math.inf, -math.inf, math.nan, 7.5], kind)
    b = np.array([2.0, -2.0, 0.7, -0.7, math.inf, -math.inf, 0.0, -0.0, math.nan], kind)[:, None]
    with np.errstate(all="ignore"):
        expect = np.mod(a, b)
    node = make_node("Mod", ["a", "b"], ["y"])
    check(node, 28, to, {"a": a, "b": b}, expect=[expect])
    signs = [node, make_node("Reciprocal", ["y"], ["z"])]
    zeros = np.array([0.0, -0.0, 4.0, -4.0], kind)
    with np.errstate(all="ignore"):
        expect = np.reciprocal(np.mod(zeros, b[[0, 1, 4, 5]]))
    check(signs, 28, to, {"a": zeros, "b": b[[0, 1, 4, 5]]}, expect=[expect], outputs=["z"])


def test_floor_modulus_of_bfloat16(check):
    a = np.float32([5.25, -5.25, 6, 0])
    casts = [make_node("Cast", [name], [f"{name}_"], to=TensorProto.BFLOAT16) for name in ("a", "b")]
    nodes = [*casts, make_node("Mod", ["a_", "b_"], ["m"]), make_node("Cast", ["m"], ["y"], to=TensorProto.FLOAT)]
    feeds = {"a": a, "b": np.float32([-2, 2, -2, -2])}
    check(nodes, 28, 27, feeds, expect=[np.mod(feeds["a"], feeds["b"])])


@pytest.mark.parametrize(("kind", "fmod"), [(np.float32, 1), (np.int32, 0), (np.int32, 1)])
def test_other_moduli_stay(check, kind, fmod):
    a, b = np.array([5, -5, 7], kind), np.array([3, 3, -4], kind)
    expect = (np.fmod if fmod else np.mod)(a, b)
    check(make_node("Mod", ["a", "b"], ["y"], fmod=fmod), 28, 13, {"a": a, "b": b}, expect=[expect], operators=["Mod"])


BASES = [np.float32, np.float64]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("exponent", [*INTEGERS, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("to", [11, 7])
def test_powers_of_mixed_types(check, base, exponent, constant, to):
    x = np.array([0.5, 1.5, 2, 3, 1, 0.25], base)
    y = np.array([2, 3, 0, 1, 7, 2], exponent)
    expect = np.power(x, y).astype(base)
    feeds, constants = {"x": x, "e": y}, {}
    if constant:
        constants["e"] = feeds.pop("e")
    check(make_node("Pow", ["x", "e"], ["y"]), 12, to, feeds, constants, expect=[expect], rtol=1e-6)


@pytest.mark.parametrize("exponent", [np.int8, np.int16, np.float32, np.float64])
def test_powers_of_float16(check, exponent):
    x, y = np.array([0.5, 1.5, 2], np.float16), np.array([2, 3, 5], exponent)
    expect = np.power(x.astype(np.float64), y).astype(np.float16)
    check(make_node("Pow", ["x", "e"], ["y"]), 12, 11, {"x": x, "e": y}, expect=[expect], rtol=2**-10)


@pytest.mark.parametrize(("power", "casts"), [(0.5, 0), (0.1, 2), (float("nan"), 0)])
@pytest.mark.parametrize("base", [np.float16, np.float32])
def test_a_constant_power_that_the_type_of_the_base_lacks_is_computed_in_a_wider_one(check, base, power, casts):
    x = np.array([0.5, 1.5, 2], base)
    expect = np.power(x.astype(np.float64), power).astype(base)
    made = make_node("Pow", ["x", "e"], ["y"])
    after = check(made, 12, 11, {"x": x}, {"e": np.array(power)}, expect=[expect], rtol=2**-10)
    assert sum(node.op_type == "Cast" for node in after.graph.node) == casts


def test_exponents_of_which_one_is_between_numbers_of_the_base_stay_as_they_are(check):
    x, powers = np.float16([20, 20]), np.float32([2, 3.3])
    expect = [(x.astype(np.float32) ** powers).astype(np.float16)]
    check(make_node("Pow", ["x", "e"], ["y"]), 12, 11, {"x": x}, {"e": powers}, expect=expect)


@pytest.mark.parametrize("base", [np.int32, np.int64])
@pytest.mark.parametrize("exponent", [np.int64, np.float32, np.uint8])
@pytest.mark.parametrize("power", [0, 1, 2, 3, 7, 13])
def test_integer_powers_are_multiplied(check, base, exponent, power):
    if exponent is np.float32:
        power = power % 2 + 2
    x = np.array([0, 1, -1, 2, -3, 1000, np.iinfo(base).max], base)
    with np.errstate(all="ignore"):
        expect = np.power(x, np.array(power, base))
    for shape in ((), (1,)):
        constants = {"e": np.full(shape, power, exponent)}
        after = check(make_node("Pow", ["x", "e"], ["y"]), 12, 7, {"x": x}, constants, expect=[expect])
        assert {n.op_type for n in after.graph.node} <= {"Mul", "Add", "Identity", "Constant"}


def test_an_exponent_of_more_dimensions_broadcasts_the_base(check):
    feeds = {"x": np.array([2, 3], np.int64)}
    for power in (0, 2, 5):
        expect = feeds["x"][np.newaxis] ** power
        constants = {"e": np.full((1, 1), power, np.int64)}
        check(make_node("Pow", ["x", "e"], ["y"]), 12, 7, feeds, constants, expect=[expect])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_integer_powers_of_a_base_without_a_rank(check, shape):
    feeds, constants = {"x": np.array(3, np.int64)}, {"e": np.full(shape, 5)}
    made = make_node("Pow", ["x", "e"], ["y"])
    check(made, 12, 7, feeds, constants, shapes={"x": None}, expect=[np.full(shape, 243)])


@pytest.mark.parametrize("exponent", [np.int8, np.int32, np.uint32, np.int64])
def test_integer_powers_are_rounded(check, exponent):
    x, y = np.array([3, -7, 2, 1, 0, 10], np.int32), np.array([19, 11, 30, 100, 5, 9], exponent)
    expect = (x.astype(object) ** y.astype(object)).astype(np.int32)
    check(make_node("Pow", ["x", "e"], ["y"]), 12, 11, {"x": x, "e": y}, expect=[expect])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("exponent", [np.uint8, np.int64, np.uint64])
def test_powers_of_64_bits_are_exact(check, exponent, constant):
    x = np.array([3, -2, 1, -1, -1, 0, 0, 55108, -13, 7, 3037000499], np.int64)
    y = np.array([39, 63, 63, 62, 61, 0, 63, 4, 17, 22, 2], exponent)
    feeds, constants = {"x": x, "e": y}, {}
    if constant:
        constants["e"] = feeds.pop("e")
    expect = np.array([a**b for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    for to in (11, 7):
        check(make_node("Pow", ["x", "e"], ["y"]), 12, to, feeds, constants, expect=[expect])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_powers_of_64_bits_by_negative_and_large_exponents(check, kind):
    x = np.array([1, -1, -1, 2, -2, 2**63 - 1, -(2**63), 0, -1, -1, 1, 0], np.int64)
    y = np.array([-3, -3, -4, -1, -1, -2, -1, 64, 65, 1000, 2**31 - 1, 2**20], kind)
    expect = np.array([1, -1, 1, 0, 0, 0, 0, 0, -1, 1, 1, 0])
    check(make_node("Pow", ["x", "e"], ["y"]), 12, 7, {"x": x, "e": y}, expect=[expect])


@pytest.mark.parametrize("base", [np.int32, np.int64])
@pytest.mark.parametrize("constant", [True, False])
def test_powers_of_integers_by_floats(check, base, constant):
    x, y = np.array([9, 2, 10, 1290, -3, 7], base), np.float32([0.5, 10, -1, 3, 3, 0])
    feeds, constants = {"x": x, "e": y}, {}
    if constant:
        constants["e"] = feeds.pop("e")
    for to in (11, 7):
        check(make_node("Pow", ["x", "e"], ["y"]), 12, to, feeds, constants)
    if constant:
        for power in (0.5, 7.0, -2.0):
            check(make_node("Pow", ["x", "e"], ["y"]), 12, 11, feeds, {"e": np.float32(power)})


def test_uncertain_squares_and_cubes_are_refused(refused):
    made, x = make_node("Pow", ["x", "e"], ["y"]), np.array([2, 3], np.int64)
    for exponent in (np.float64(2), np.float32([[2], [3]])):
        refused(made, 12, 11, {"x": x, "e": exponent}, "C204")
    for power in (2, 3):
        refused(made, 12, 11, {"x": x}, "C204", {"e": np.float32([[power], [0.5]])})


def test_bfloat16_exponents(check):
    nodes = [make_node("Cast", ["e"], ["b"], to=TensorProto.BFLOAT16), make_node("Pow", ["x", "b"], ["y"])]
    x, y = np.float32([2, 3, 4]), np.float32([2, 0.5, -1])
    check(nodes, 15, 13, {"x": x, "e": y}, expect=[x**y], rtol=1e-6)
    assert ml_dtypes.bfloat16(0.5) == 0.5


BY_NAME = {np.dtype(kind).name: kind for kind in INTEGERS}
INTEGER = pytest.mark.parametrize("kind", INTEGERS, ids=BY_NAME)


def both_edges(kind):
    """Return numbers of an integer type with all edges, for the first and the second operand, without a divisor 0."""
    info = np.iinfo(kind)
    numbers = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100, 5 * (info.max // 8), info.max // 3]
    numbers += [-1, -2, -3, -7, -100] if info.min else []
    values = np.array(numbers, kind)
    return values[:, None], values[values != 0]


@INTEGER
@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("to", [9, 7])
def test_remainders_of_integers(check, kind, fmod, to):
    a, b = both_edges(kind)
    with np.errstate(all="ignore"):
        expect = (np.fmod if fmod else np.mod)(a, b)
    check(make_node("Mod", ["a", "b"], ["y"], fmod=fmod), 13, to, {"a": a, "b": b}, expect=[expect])
    signed = bool(np.iinfo(kind).min)
    for divisors in ([3], [3, 7], [3, -2] if signed else [3, 2], [-3] if signed else [1]):
        divisor = np.array(divisors, kind)
        expect = (np.fmod if fmod else np.mod)(a, divisor)
        after = check(make_node("Mod", ["a", "b"], ["y"], fmod=fmod), 13, to, {"a": a}, {"b": divisor}, expect=[expect])
        made = [each.op_type for each in after.graph.node]
        assert ("Abs" in made) == (min(divisors) < 0)  # a divisor that is known to be positive is its own size


@pytest.mark.parametrize("to", [9, 7])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_remainders_of_floats_are_exact(check, kind, to):
    info = np.finfo(kind)
    a = np.array([5.3, -5.3, 4, -4, 0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, 1e4], kind)
    b = np.array([0.1, -0.1, 2, 3.7, np.inf, -np.inf, np.nan, 0, -0.0, info.max, info.smallest_subnormal, 1], kind)
    with np.errstate(all="ignore"):
        expect = np.fmod(a[:, None], b)
    mod = make_node("Mod", ["a", "b"], ["y"], fmod=1)
    check(mod, 13, to, {"a": a[:, None], "b": b}, expect=[expect])
    if to == 7:
        # Where of onnxruntime makes positive zeros of negative ones.
        with np.errstate(all="ignore"):
            signs = 1 / expect
        check(
            [mod, make_node("Reciprocal", ["y"], ["z"])],
            13,
            to,
            {"a": a[:, None], "b": b},
            expect=[signs],
            outputs=["z"],
        )
    rng = np.random.default_rng(0)
    a, b = (
        (np.frombuffer(rng.bytes(2000 * a.itemsize), kind.__name__.replace("float", "uint")).view(kind)) for _ in "ab"
    )
    with np.errstate(all="ignore"):
        expect = np.fmod(a, b)
    check(mod, 13, to, {"a": a, "b": b}, expect=[expect])


def test_remainders_of_double_are_refused(refused):
    feeds = {"a": np.float64([5.3]), "b": np.float64([0.1])}
    refused(make_node("Mod", ["a", "b"], ["y"], fmod=1), 13, 9, feeds, "C204")


ORDERED = {"LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("kind", [*INTEGERS, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("to", [11, 9, 7])
def test_less_or_equal(check, name, kind, to):
    if np.issubdtype(kind, np.integer):
        a = b = both_edges(kind)[0][:, 0]
    else:
        a = b = np.array([1, 0.0, -0.0, np.nan, np.inf, -np.inf, -1, np.finfo(kind).tiny, np.finfo(kind).max], kind)
    feeds = {"a": a[:, None], "b": b}
    check(make_node(name, ["a", "b"], ["y"]), 16, to, feeds, expect=[ORDERED[name](a[:, None], b)])


@pytest.mark.parametrize("kind", [*INTEGERS, np.bool_, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("to", [8, 7])
def test_selection_by_a_condition(check, kind, to):
    if kind is np.bool_:
        x = np.array([True, False])
    elif np.issubdtype(kind, np.integer):
        x = both_edges(kind)[0][:, 0]
    else:
        info = np.finfo(kind)
        x = np.array([1.5, 0.0, -0.0, np.nan, np.inf, -np.inf, info.max, info.tiny, info.smallest_subnormal], kind)
    condition = np.array([True, False])[:, None, None]
    feeds = {"c": condition, "a": x[:, None], "b": x}
    expect = [np.where(condition, x[:, None], x)]
    after = check(make_node("Where", ["c", "a", "b"], ["y"]), 9, to, feeds, expect=expect)
    assert "Gather" not in {each.op_type for each in after.graph.node}
    if kind in (np.float32, np.float64):
        with np.errstate(all="ignore"):
            expect = 1 / np.where(condition, x[:, None], x)
        nodes = [make_node("Where", ["c", "a", "b"], ["s"]), make_node("Reciprocal", ["s"], ["y"])]
        check(nodes, 9, to, feeds, expect=[expect], outputs=["y"])


def run_kernels(model, feeds):
    return opset.ReferenceEvaluator(model).run(None, feeds)


@pytest.mark.parametrize("shapes", [None, {"a": ["N", 1, None]}, {"a": None, "b": None}])
@pytest.mark.parametrize("to", [8, 7])
def test_selection_of_what_is_no_number(check, shapes, to):
    condition, node = np.array([[True, False], [False, True]])[:, None], make_node("Where", ["c", "a", "b"], ["y"])
    x, other = np.array([[["a", ""]], [["\u00e9", "d"]]], object), np.array([["x"], ["y"], ["z"]], object)
    feeds = {"c": condition, "a": x, "b": other}
    check(node, 9, to, feeds, shapes=shapes, expect=[np.where(condition, x, other)])
    feeds = {"c": condition, "a": x[:, :0], "b": other[:1]}
    check(node, 9, to, feeds, shapes=shapes and {"a": None}, expect=[x[:, :0]])
    if to == 8:
        feeds = {"c": np.array([True, False]), "a": np.complex64([1 + 2j, 0]), "b": np.complex64(3j)}
        check(node, 9, to, feeds, expect=[np.complex64([1 + 2j, 3j])], judge=run_kernels)


@pytest.mark.parametrize("kind", [kind for kind in INTEGERS if np.iinfo(kind).min == 0])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("to", [10, 7])
def test_shifts_before_version_11(check, kind, direction, constant, to):
    info = np.iinfo(kind)
    x, y = both_edges(kind)[0], np.arange(info.bits).astype(kind)
    expect = np.left_shift(x, y) if direction == "LEFT" else np.right_shift(x, y)
    feeds, constants = {"x": x}, {"y": y}
    if not constant:
        feeds |= constants
        constants = {}
    check(make_node("BitShift", ["x", "y"], ["z"], direction=direction), 11, to, feeds, constants, expect=[expect],
          outputs=["z"])  # fmt: skip


@INTEGER
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_beyond_the_width(check, kind, direction):
    info = np.iinfo(kind)
    x, places = both_edges(kind)[0], [0, 1, info.bits - 1, info.bits, info.bits + 1, min(info.max, 255)]
    y = np.array(places, kind)
    expect = np.left_shift(x, y) if direction == "LEFT" else np.right_shift(x, y)
    for to in (27, 11, 7):
        check(
            make_node("BitShift", ["x", "y"], ["z"], direction=direction),
            28,
            to,
            {"x": x, "y": y},
            expect=[expect],
            outputs=["z"],
        )


BITWISE = {"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor}


BITS = [("BitwiseXor", kind, constant, to) for kind in INTEGERS for constant in (False, True) for to in (17, 11, 7)]
BITS += [(name, kind, False, 11) for name in ("BitwiseAnd", "BitwiseOr") for kind in (np.int8, np.uint16, np.int64)]


@pytest.mark.parametrize(("name", "kind", "constant", "to"), BITS)
def test_bits(check, name, kind, constant, to):
    a, b = both_edges(kind)
    b = np.concatenate([b, np.array([0x55, 0x2A], kind)])
    feeds, constants = {"a": a}, {"b": b}
    if not constant:
        feeds |= constants
        constants = {}
    after = check(make_node(name, ["a", "b"], ["y"]), 18, to, feeds, constants, expect=[BITWISE[name](a, b)])
    if np.issubdtype(kind, np.unsignedinteger):  # not every engine wraps negative numbers that become unsigned
        held = [*after.graph.initializer, *(n.attribute[0].t for n in after.graph.node if n.op_type == "Constant")]
        (table,) = (array for each in held if (array := numpy_helper.to_array(each)).size == 256)
        assert table.min() == 0


def test_bits_of_scalars_and_empty_tensors(check):
    node = make_node("BitwiseAnd", ["a", "b"], ["y"])
    for to in (17, 9):
        a, b, y, empty = np.int32(12), np.int32(-6), np.int32(8), np.zeros((0, 3), np.int32)
        check(node, 18, to, {"a": np.array(a), "b": np.array(b)}, expect=[y])
        check(node, 18, to, {"a": empty, "b": np.array(b)}, expect=[empty])


@pytest.mark.parametrize("to", [18, 11])
@pytest.mark.parametrize("open_", [True, False])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["a", "b", ""], ["a", "c", ""]),
        ([["a", "b"], ["c", "d"]], ["a", "d"]),
        ([["ä"], ["x"]], [["ä", "x", "y"]]),
        ("a", ["a", "b"]),
        ("same", "same"),
        (["", "NaN"], [["nan", "NaN"]]),
    ],
)
def test_strings_are_compared_by_their_numbers(check, a, b, open_, to):
    feeds = {"a": np.array(a, object), "b": np.array(b, object)}
    shapes = {name: ["N"] * value.ndim for name, value in feeds.items()} if open_ else {}
    expect = [np.asarray(feeds["a"] == feeds["b"])]
    check(make_node("Equal", ["a", "b"], ["y"]), 19, to, feeds, expect=expect, shapes=shapes, kinds={"y": 9})


def test_no_strings_are_compared(check):
    feeds = {"a": np.zeros((0, 2), object), "b": np.array(["a", "b"], object)}
    check(make_node("Equal", ["a", "b"], ["y"]), 19, 18, feeds, expect=[np.zeros((0, 2), bool)], kinds={"y": 9})


REFUSED = [
    (7, 6, "C103", "dimensions 2 and 3 do not", "(float[2] a, float[3] b) => (float[] y) { y = Add(a, b) }"),
    (10, 9, "C103", "'fmod' is 0", "(float[2] a) => (float[] y) { y = Mod(a, a) }"),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize(("operator", "total"), [("Sum", 2050), ("Mean", 683.5)])
def test_half_precision_that_broadcasts_is_rounded_once(check, operator, total):
    feeds = {name: np.array(each, np.float16) for name, each in (("a", [2048]), ("b", 1), ("c", 1))}
    check(make_node(operator, [*feeds], ["y"]), 8, 7, feeds, expect=[np.array([total], np.float16)])
