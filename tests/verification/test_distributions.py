"""Whether random outputs of two models have one distribution: by statistics of many draws."""

import numpy as np
import pytest

import opset
from opset.verification.distributions import DRAWS, _separation, statistics_of, why_distributed_otherwise
from opset.verification.running import ReferenceRunner

HEAD = '<ir_version: 8, opset_import: ["": 17]> g '
DROPPED = """(float[40] x) => (float[40] y) <float r = {{0.25}}, float o = {{1}}, float n = {{0}}> {{
    u = RandomUniformLike (x) d = Less (u, r) k = {} (o, r) s = {} (x, k) y = Where (d, {}) }}"""


def verified(one, other, **options):
    return opset.verify(*(opset.parse_model(HEAD + each) for each in (one, other)), **options)


def test_a_dropout_has_the_distribution_of_its_lowering():
    dropout = "(float[40] x) => (float[40] y) <float r = {0.25}, bool t = {1}> { y = Dropout (x, r, t) }"
    found = verified(dropout, DROPPED.format("Sub", "Div", "n, s"))
    assert found.same and "distribution were compared" in found.outputs[0].why
    for faulty in (("Add", "Div", "n, s"), ("Sub", "Mul", "n, s"), ("Sub", "Div", "s, n"), ("Sub", "Div", "x, s")):
        found = verified(dropout, DROPPED.format(*faulty))
        assert found.verdict == "different", faulty
        assert found.outputs[0].why.startswith("its random numbers have another distribution: the ")
        assert f"{DRAWS} draws" in found.errors[0].why


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("RandomNormal <shape = [50]> ()", "RandomNormal <shape = [50], seed = 3.0> ()", True),
        ("RandomNormal <shape = [50]> ()", "RandomNormal <shape = [50], scale = 2.0> ()", False),
        ("RandomNormal <shape = [50]> ()", "RandomUniform <shape = [50]> ()", False),
        ("RandomUniform <shape = [50]> ()", "RandomUniform <shape = [50], low = -1.0> ()", False),
        ("RandomNormal <shape = [50], mean = 1.0> ()", "RandomNormal <shape = [50], mean = -1.0> ()", False),
        ("RandomNormal <shape = [50]> ()", "ConstantOfShape <value = float[1] {0}> (s)", False),
        ("RandomNormal <shape = [50], mean = 1.0> ()", "ConstantOfShape <value = float[1] {1}> (s)", False),
    ],
)
def test_distributions_are_told_apart(one, other, same):
    text = "() => (float[50] y) <int64[1] s = {{50}}> {{ y = {} }}"
    assert verified(text.format(one), text.format(other)).same == same


@pytest.mark.parametrize(
    ("nodes", "operator", "runs", "why"),
    [
        ("y = RandomNormalLike (x)", "Neg", 2 + 2 * DRAWS + 1, "only type, shape and distribution were compared: "),
        ("y = RandomNormalLike (x)", "Abs", 4, "only type and shape were compared: "),  # of another output
        ("y = Relu (x)", "Neg", 2, ""),
        ("y = Relu (x)", "Abs", 4, ""),
    ],
)
def test_distributions_are_compared_where_nothing_else_differs(nodes, operator, runs, why, monkeypatch):
    tried = []
    monkeypatch.setattr(
        ReferenceRunner, "run", lambda *each, run=ReferenceRunner.run, **more: tried.append(0) or run(*each, **more)
    )
    text = f"(float[40] x) => (float[40] y, float[40] z) {{ {nodes} z = OTHER (x) }}"
    found = verified(*(text.replace("OTHER", each) for each in ("Neg", operator)), seeds=1)
    assert len(tried) == runs and found.same == (operator == "Neg")
    assert [each.verdict for each in found.outputs] == ["same", found.verdict]
    assert found.outputs[0].why == (f"{why}it depends on random numbers" if why else "")


def test_elements_in_another_order_are_told_by_sums():
    text = "(float[60] x, int64[60] i) => (float[60] y) {{ r = RandomNormalLike <scale = 0.01> (x) {} }}"
    straight, turned = "y = Add (x, r)", "g = Gather (x, i) y = Add (g, r)"
    feeds = {"x": np.linspace(-2, 2, 60, dtype=np.float32), "i": np.arange(59, -1, -1)}
    assert not verified(text.format(straight), text.format(turned), data=[feeds]).same
    assert verified(text.format(straight), text.format(turned), data=[feeds | {"i": np.arange(60)}]).same


def test_a_rounding_is_no_other_distribution():
    before = [{"mean": 1.0, "mean magnitude": 1.0}] * DRAWS
    assert why_distributed_otherwise(before, [{"mean": 1.0005, "mean magnitude": 1.0}] * DRAWS) == ""
    found = why_distributed_otherwise(before, [{"mean": 1.002, "mean magnitude": 1.0}] * DRAWS)
    assert found.endswith("the mean is 1.002 in the median of 40 draws, and 1 before")
    other = [{"mean": 1.002, "mean magnitude": 1.0}] * DRAWS
    without = [{"mean magnitude": 1.0}]  # such as a draw without elements
    for one, two in ((before, other[1:] + without), (before[1:] + without, other), (before, without * DRAWS)):
        assert why_distributed_otherwise(one, two) == ""
    mixed = [{"mean": 1.0 + number % 2, "mean magnitude": 1.0} for number in range(DRAWS)]
    assert why_distributed_otherwise(mixed, [*reversed(mixed)]) == ""


def test_statistics_count_what_is_finite_and_leave_text_out():
    value = np.array([1.0, -3.0, np.inf, 0.0])
    found = statistics_of(value, np.array([1.0, 1.0, 1.0, 1.0]))
    assert found["mean"] == -0.5 and found["mean magnitude"] == 1.0
    assert found["share of elements other than 0"] == 0.5 and found["share of finite elements"] == 0.75
    assert found["mean distance of two draws"] == 1.5
    assert statistics_of(value, np.array([1.0, np.nan, 2.0, 4.0]))["mean distance of two draws"] == 2.25  # NaN as 0
    assert "mean distance of two draws" not in statistics_of(value, np.zeros(3))
    assert statistics_of(np.array(["a"], object), np.array(["b"], object)) == {}
    assert statistics_of([np.array([1 + 3j])], [np.array([1 + 3j])])["mean"] == 2.0
    assert why_distributed_otherwise([{}] * DRAWS, [{}] * DRAWS) == ""


@pytest.mark.parametrize(
    ("one", "other", "units"),
    [
        ([1, 2, 3], [4, 5, 6], 4.5 / 5.25**0.5),
        ([4, 5, 6], [1, 2, 3], 4.5 / 5.25**0.5),
        ([1, 5], [2, 3, 4, 6], 1 / (14 / 3) ** 0.5),
        ([1, 1, 2], [1, 2, 2], 1.5 / 4.05**0.5),  # the variance of ties is smaller
        ([1, 1], [1, 1, 1], 0.0),
        ([1], [2], 1.0),
        ([1, 4], [2, 3], 0.0),
    ],
)
def test_how_far_two_samples_are_apart_is_measured_by_ranks(one, other, units):
    assert _separation(np.array(one, float), np.array(other, float)) == pytest.approx(units)


def test_sums_with_drawn_signs_depend_on_the_order():
    value = np.array([1.0, 2.0, 4.0, 8.0])  # whose sums with any signs are the odd numbers from -15 to 15
    found, turned = (
        [number for name, number in statistics_of(each, np.zeros(4)).items() if name.endswith("with drawn signs")]
        for each in (value, value[::-1])
    )
    assert len(found) > 1 and found != turned
    assert {each * 4 for each in (*found, *turned)} <= {*range(-15, 16, 2)}


def test_distributions_of_large_models_are_not_compared():
    large = "() => (float[60000] y) {{ y = RandomNormal <shape = [60000], scale = {}> () }}"
    found = verified(large.format(1.0), large.format(2.0))
    assert found.same and found.outputs[0].why.startswith("only type and shape were compared")


def test_a_draw_on_which_a_model_does_not_run_is_noted():
    text = """(float[1] x) => (float[1] y) { u = RandomUniformLike <high = 1.1> (x) i = Cast <to = 7> (u)
        g = Gather (x, i) y = Add (g, u) }"""
    found = verified(text, text)
    assert found.same and found.outputs[0].why.startswith("only type and shape were compared")
    assert any(note.startswith("the distributions of random outputs were not compared: ") for note in found.notes)
