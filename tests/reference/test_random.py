"""Random operators: their distributions, what a seed fixes, and that they ask before they take memory."""

import numpy as np
import pytest

from opset import ReferenceEvaluator, RunError
from opset.budget import Limits
from opset.model.text.syntax import parse_model

COUNT = 40_000


def evaluator(body, declared="", out="float", **options):
    text = f'<ir_version: 10, opset_import: ["" : 22]> g ({declared}) => ({out}[] y) {{ {body} }}'
    return ReferenceEvaluator(parse_model(text), **options)


def drawn(body, **feeds):
    declared = ", ".join(
        f"{ {'float32': 'float', 'float64': 'double'}[each.dtype.name] }[] {name}" for name, each in feeds.items()
    )
    out = "int32" if "Multinomial" in body else "float"
    return evaluator(body, declared, out, seed=7).run(None, feeds)[0].astype(np.float64)


def test_a_normal_distribution_has_its_mean_and_deviation():
    values = drawn(f"y = RandomNormal <shape = [{COUNT}], mean = 2.0, scale = 3.0> ()")
    assert values.mean() == pytest.approx(2, abs=0.1)
    assert values.std() == pytest.approx(3, abs=0.1)
    assert np.mean(np.abs(values - 2) < 3) == pytest.approx(0.6827, abs=0.02)


def test_a_uniform_distribution_is_even_between_its_bounds():
    values = drawn("y = RandomUniformLike <low = -1.0, high = 3.0> (x)", x=np.zeros(COUNT, np.float32))
    assert values.min() >= -1
    assert values.max() <= 3
    assert np.histogram(values, 4, (-1, 3))[0] / COUNT == pytest.approx([0.25] * 4, abs=0.02)


def test_ones_are_drawn_with_their_probabilities():
    values = drawn("y = Bernoulli (x)", x=np.repeat(np.float32([0.1, 0.7]), COUNT))
    assert set(values) == {0, 1}
    assert [values[:COUNT].mean(), values[COUNT:].mean()] == pytest.approx([0.1, 0.7], abs=0.02)


def test_classes_are_drawn_with_their_probabilities():
    tenths = np.log([0.1, 0.2, 0.7])
    logarithms = np.array([tenths + 900, [0, -np.inf, np.log(3)], tenths - 900])
    values = drawn(f"y = Multinomial <sample_size = {COUNT}> (x)", x=logarithms)
    shares = [np.bincount(row.astype(int), minlength=3) / COUNT for row in values]
    assert shares[0] == pytest.approx([0.1, 0.2, 0.7], abs=0.02)
    assert shares[2] == pytest.approx([0.1, 0.2, 0.7], abs=0.02)
    assert shares[1] == pytest.approx([0.25, 0, 0.75], abs=0.02)


def test_a_seed_fixes_the_values_of_every_run_and_other_nodes_draw_others():
    seeded = evaluator("y = RandomNormal <shape = [4], seed = 3.0> ()")
    assert np.array_equal(seeded.run(None, {}), seeded.run(None, {}))
    both = "a = RandomNormal <shape = [4]> ()  b = RandomNormal <shape = [4]> ()  y = Concat <axis = 0> (a, b)"
    (values,) = evaluator(both, seed=1).run(None, {})
    assert not np.array_equal(values[:4], values[4:])
    assert np.array_equal(values, evaluator(both, seed=1).run(None, {})[0])
    assert not np.array_equal(values, evaluator(both, seed=2).run(None, {})[0])


@pytest.mark.parametrize(
    "body",
    [
        "y = RandomUniform <shape = [1000000, 1000000]> ()",
        "s = Constant <value_ints = [1000000, 1000000]> ()  y = ConstantOfShape (s)",
        "a = Constant <value_float = 0.0> ()  b = Constant <value_float = 1e12> ()  c = Constant <value_float = 1.0> ()"
        "  y = Range (a, b, c)",
        "a = Constant <value_float = 0.0> ()  s = Constant <value_ints = [1000000, 1000000]> ()  y = Expand (a, s)",
        "a = Constant <value_floats = [0.0]> ()  s = Constant <value_ints = [1000000000000]> ()  y = Tile (a, s)",
        "a = Constant <value_floats = [0.0]> ()  s = Constant <value_ints = [0, 1000000000000]> ()  y = Pad (a, s)",
        "a = Constant <value_ints = [0]> ()  d = Constant <value_int = 1000000000000> ()"
        "  v = Constant <value_floats = [0.0, 1.0]> ()  y = OneHot (a, d, v)",
        "a = Constant <value_floats = [0.0]> ()  s = Constant <value_ints = [1000000000000]> ()"
        "  y = CenterCropPad (a, s)",
    ],
)
def test_results_larger_than_the_limit_are_refused_before_they_are_made(body):
    with pytest.raises(RunError) as caught:
        evaluator(body, limits=Limits(max_bytes=1 << 20)).run(None, {})
    assert caught.value.code == "R302"
