"""The differences of an output over its runs: how great, how many, beyond what is allowed; the first value inside."""

import numpy as np
import pytest

import opset
from opset.verification.comparing import (
    Comparison,
    InnerValues,
    count_differences,
    differing_weight,
    leaves,
    magnitude,
    why_different,
)

F32 = np.float32


def compared(*runs, rtol=None, atol=None, allowed=0.01, random=False):
    comparison = Comparison("y", "z", rtol, atol)
    comparison.random |= random
    same = [comparison.add(before, after, allowed, 3 + number) for number, (before, after) in enumerate(runs)]
    return comparison, same


def test_the_greatest_differences_of_all_runs_are_kept():
    one = np.array([1, 2, 4, np.nan], F32)
    comparison, same = compared((one, one * F32(1.001)), (one * 2, one * 2), (one, one + np.array([0, 0, 1, 0], F32)))
    found = comparison.result()
    assert same == [True, True, False]
    assert (found.name, found.after, found.verdict) == ("y", "z", "different")
    assert (found.absolute, found.relative) == (1.0, 0.25)
    assert found.ulps == 2.0**21  # of 4, whose last place is 2 ** -21
    assert (found.elements, found.nan_before, found.nan_after, found.longest_sum) == (12, 3, 3, 5)
    assert (found.rtol, found.atol, found.varies) == (0.01, None, True)
    assert "4" in found.why and "5" in found.why
    assert sum(found.histogram) == 12 and found.histogram[0] == 8  # equal ones, NaN beside NaN among them


def test_the_first_difference_is_told_and_values_that_do_not_vary():
    one = np.array([1.0], F32)
    comparison, same = compared((one, one + 1), (one, one + 2))
    assert same == [False, False] and "2" in comparison.why and "3" not in comparison.why
    assert comparison.result().ulps == 2.0**24  # of 1, whose last place is 2 ** -23
    assert compared((one, one * F32(1.21)))[0].result().histogram == (0, 0, 0, 0, 0, 0, 1, 0)  # relative to the first
    assert not comparison.result().varies and comparison.why_little == "it was the same in all runs"


@pytest.mark.parametrize(
    ("runs", "little", "empty"),
    [
        ([], "", False),
        ([np.zeros(0, F32)], "it had no elements in any run", True),
        ([np.zeros(0, F32), np.ones(2, F32)], "", False),
        ([np.full(2, np.nan, F32)], "all elements were NaN", False),
        ([np.array([np.nan, 1], F32)], "", False),
        ([np.ones(2, F32)], "", False),  # a single run cannot vary
        ([np.ones(2, F32), np.ones((2, 1), F32)], "", False),  # the same bytes, of another shape
        ([np.ones(2, F32)] * 2, "it was the same in all runs", False),
        ([[np.array("a", object)], [np.array("b", object)]], "", False),
    ],
)
def test_what_a_comparison_says_little_about(runs, little, empty):
    comparison, _ = compared(*[(each, each) for each in runs])
    assert (comparison.why_little, comparison.is_empty) == (little, empty)
    assert comparison.result().verdict == ("same" if runs else "not compared")


def test_random_outputs_differ_in_type_or_shape_alone():
    one, other = np.zeros((2, 3), F32), np.ones((2, 3), F32)
    comparison, same = compared((one, other), random=True)
    assert same == [True] and comparison.result().why.startswith("only type and shape were compared")
    for after, why in (
        (other[:1], "it is tensor(float)[1, 3], and tensor(float)[2, 3] before"),
        (other.astype(np.float64), "it is tensor(double)[2, 3], and tensor(float)[2, 3] before"),
        ([other, other], "it has 2 tensors, and 1 before"),
    ):
        comparison, same = compared((one, after), (one, other), random=True)
        assert same == [False, False] and comparison.result().verdict == "different"
        assert comparison.result().why == why


def test_tolerances_that_are_given_take_the_place_of_others():
    one, other = np.array([1.0, 100.0], F32), np.array([1.0, 100.5], F32)
    assert compared((one, other))[1] == [True] and compared((one, other), allowed=0.001)[1] == [False]
    comparison, same = compared((one, other), rtol=0.001)
    assert same == [False] and comparison.result().rtol == 0.001
    comparison, same = compared((one, other), rtol=0.0, atol=1.0)
    assert same == [True] and comparison.result().atol == 1.0
    # Without an absolute tolerance, a small number may differ by the relative one of the median.
    many = np.array([100, 100, 0.001], F32)
    assert compared((many, many + np.array([0, 0, 0.5], F32)))[1] == [True]
    assert compared((many, many + np.array([0, 0, 2], F32)))[1] == [False]


def test_both_parts_of_complex_numbers_count():
    one = np.array([1 + 1j, complex(1, np.nan)], np.complex64)
    comparison, same = compared((one, one), (one, one.conj()))
    found = comparison.result()
    assert same == [True, False] and (found.nan_before, found.nan_after, found.absolute) == (2, 2, 2.0)


def test_nan_is_counted_before_and_after():
    found = compared((np.array([1.0, np.nan, 3.0], F32), np.array([np.nan, np.nan, 3.0], F32)))[0].result()
    assert (found.nan_before, found.nan_after, found.verdict) == (1, 2, "different")


def test_infinite_differences_are_words():
    found = compared((np.array([1.0], F32), np.array([np.inf], F32)))[0].result()
    assert (found.absolute, found.relative, found.verdict) == ("inf", "inf", "different")


def test_differences_are_counted_by_their_share_of_what_is_allowed():
    before = np.ones(9, np.float64)
    after = before + np.array([0, 0.0005, 0.005, 0.05, 0.5, 5, 50, 500, np.nan]) * 0.1
    assert count_differences(before, after, 0.05, 0.05).tolist() == [1, 1, 1, 1, 1, 1, 1, 2]
    texts = np.array(["a", "b"], object)
    assert count_differences(texts, texts[::-1], 0.1, 0.1).tolist() == [0] * 7 + [2]
    turned = np.array([1 + 1j, 1 + 2j, complex(1, np.nan)], np.complex64)
    assert count_differences(turned, turned.conj(), 0.1, 0.1).tolist() == [1, 0, 0, 0, 0, 1, 1, 0]
    flags = np.array([True, False, True])
    assert count_differences(flags, ~flags, 0.1, 0.1).tolist() == [0] * 7 + [3]
    assert count_differences(flags, flags, 0.1, 0.1).tolist() == [3] + [0] * 7


@pytest.mark.parametrize(
    ("value", "median"),
    [
        (np.array([0, -3, 5, 7, np.inf, np.nan], F32), 5),
        ([np.array([1.0, 2.0]), None, {"k": np.array([-9.0])}], 2),
        (np.array([3 + 4j], np.complex64), 5),
        (np.array([4, 5]), 0),
        (np.zeros(3, F32), 0),
    ],
)
def test_the_magnitude_is_the_median_of_finite_numbers_but_0(value, median):
    assert magnitude(value) == median


def test_tensors_are_found_in_order_in_lists_and_maps():
    a, b, c = np.array(1), np.array(2), np.array(3)
    assert [int(each) for each in leaves([a, [None, b], {"k": c}])] == [1, 2, 3]
    assert [int(each) for each in leaves({"x": c, "y": a})] == [3, 1]
    assert why_different([a, b], [a, c], 0, 0).startswith("[1]")


def test_the_first_value_inside_that_differs_is_kept_of_as_many_as_fit():
    numbers = [np.full(2, each, F32) for each in (100.0, 200.0, 400.0)]
    values = InnerValues(3 * numbers[0].nbytes)
    for number, name in enumerate("aba"):  # a is computed twice, as in a loop
        values.keep(f"one {number}", name, numbers[number])
    values.keep("one 3", "c", numbers[0])
    assert values.cut  # there is no room for c
    values.start_comparing(0.1)
    values.compare("two 0", "a", numbers[0] * F32(1.01))
    values.compare("two 3", "c", numbers[2])
    assert values.first is None
    values.compare("two 2", "a", numbers[1])
    values.compare("two 1", "b", numbers[0])
    assert values.first is not None and values.first[:3] == ("a", "one 2", "two 2") and "2" in values.first[3]


def test_values_inside_functions_are_not_those_of_the_graph_that_have_their_names():
    one, two, four = (np.full(2, each, F32) for each in (1.0, 2.0, 4.0))
    values = InnerValues(1 << 10)
    values.keep("graph 'g', node 'b'", "a", one)
    values.keep("function 'f', node 'c'", "a", two)
    values.start_comparing(0.0)
    values.compare("function 'h', node 'c'", "a", four)  # a lowering has put it before the node 'b'
    values.compare("function 'f', node 'c'", "a", two)
    values.compare("graph 'g', node 'b'", "a", one)
    assert values.first is None
    values.compare("function 'f', node 'd'", "a", four)
    values.compare("graph 'g', node 'e'", "a", four)
    assert values.first is None  # neither was computed twice before


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("float[1] a = {1}, float[1] b = {2}", "float[1] a = {1}, float[1] b = {2}", ""),
        ("float[1] a = {1}, float[1] b = {2}", "float[1] b = {3}, float[1] a = {2}", "a"),
        ("float[1] a = {1}, float[1] b = {2}", "float[1] b = {3}", "b"),
        ("float[1] a = {1}, float[1] b = {2}", "float[2] a = {1, 2}, float[1] b = {3}", "b"),
        ("float[1] a = {1}, float[1] b = {2}", "int64[1] a = {4}, float[1] b = {3}", "b"),
        ("float[1] a = {1}", "float a = {2}", ""),
        ("float[1] a = {1}", "double[1] a = {2}", ""),
        ("float[1] a = {1}", "float[1] c = {2}", ""),
    ],
)
def test_the_first_weight_that_differs_is_named_where_name_type_and_shape_are_equal(before, after, name):
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) <{}> {{ y = Neg (x) }}'
    models = [opset.load(opset.parse_model(text.format(each))) for each in (before, after)]
    assert differing_weight(*models) == name
