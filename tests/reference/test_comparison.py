"""Whether two values are the same: within the tolerance of their type, and where and how they are not."""

import math

import ml_dtypes
import numpy as np
import pytest

from opset.reference.comparison import Difference, differences, ulps
from opset.reference.numerics.arrays import PIECE
from opset.reference.type_comparison import compare_results, retype_tensor
from opset.schemas.example import ExampleValue

ONE, TWO = np.array(1, np.float32), np.array(2, np.float32)
NAN, INFINITY = math.nan, math.inf


def why(expected, actual, *tolerances, **options):
    """Return what is said of values that differ, with its place."""
    found = differences(expected, actual, *tolerances, **options)
    return [f"{each.where} {each.why}".strip() for each in found if each.why]


def floats(*values, dtype=np.float32):
    return np.array(values, dtype)


def test_a_complex_number_of_which_a_part_is_none_is_the_same_as_another():
    expected, actual = (floats(complex(NAN, part), 1, dtype=np.complex64) for part in (1, INFINITY))
    assert [*differences(expected, actual)] == [Difference("", "", 0, 0)]


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        (floats(1, NAN, INFINITY), floats(1 + 9e-5, -NAN, INFINITY), []),
        (floats(1, 2), floats(1, 2 + 3e-4), ["1 of 2 elements differ; the first at [1]: 2.0003 instead of 2.0"]),
        (floats(0), floats(9e-8), []),
        (floats(0), floats(2e-7), ["2e-07 instead of 0.0"]),
        (floats(INFINITY), floats(3e38), ["3e+38 instead of inf"]),
        (floats(1), floats(INFINITY), ["inf instead of 1.0"]),
        (floats(1), floats(NAN), ["nan instead of 1.0"]),
        (floats(1, dtype=np.float64), floats(1 + 2e-9, dtype=np.float64), ["instead of 1.0"]),
        (floats(1 + 1j, dtype=np.complex64), floats(1 + 1.00001j, dtype=np.complex64), []),
        (floats(1 + 1j, dtype=np.complex64), floats(1 + 1.01j, dtype=np.complex64), ["instead of (1+1j)"]),
        (floats(1, dtype=np.float16), floats(1.002, dtype=np.float16), []),
        (floats(2**63 - 1, dtype=np.int64), floats(2**63 - 2, dtype=np.int64), ["9223372036854775806 instead"]),
        (floats(2**64 - 1, dtype=np.uint64), floats(0, dtype=np.uint64), ["0 instead of 18446744073709551615"]),
        (floats(-8, dtype=ml_dtypes.int4), floats(7, dtype=ml_dtypes.int4), ["7 instead of -8"]),
        (floats("a", "b", dtype=object), floats("a", "c", dtype=object), ["differ; the first at [1]: c"]),
        (floats(True, dtype=bool), floats(False, dtype=bool), ["False instead of True"]),
        (floats(1), floats(1, dtype=np.float64), ["it is tensor(double), and tensor(float) is expected"]),
        (floats(1), np.array([[1]], np.float32), ["its shape is [1, 1], and [1] is expected"]),
        ([ONE, [ONE, ONE]], [ONE, [ONE, TWO]], ["[1][1] 2.0 instead of 1.0"]),
        ([ONE, ONE], [TWO, TWO], ["[0] 2.0 instead of 1.0", "[1] 2.0 instead of 1.0"]),
        ([ONE], [ONE, ONE], ["it has 2 entries, or other keys, and 1 are expected"]),
        ([ONE], {0: ONE}, ["it has 1 entries, or other keys"]),
        ({"a": ONE, 1: ONE}, {1: TWO, "a": ONE}, ["[1] 2.0 instead of 1.0"]),
        ({"a": ONE}, {"b": ONE}, ["it has 1 entries, or other keys"]),
        ({"a": np.float32(1)}, {"a": np.float64(1)}, ["['a'] it is tensor(double), and tensor(float) is expected"]),
        ({"a": 1.0}, {"a": 1}, []),
        ({"a": np.float32(0.1)}, {"a": 0.1}, []),
        ({"a": 2}, {"a": np.int64(3)}, ["['a'] 3 instead of 2"]),
        ({"a": "x"}, {"a": "x"}, []),
        ({"a": "x"}, {"a": "y"}, ["['a'] y instead of x"]),
        (None, None, []),
        (None, ONE, ["it is tensor(float), and optional(?) is expected"]),
        (ONE, None, ["it is optional(?), and tensor(float) is expected"]),
    ],
)
def test_values_are_the_same_within_the_tolerance_of_their_type(expected, actual, said):
    found = why(expected, actual)
    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True)), found


def test_tolerances_are_those_that_are_given():
    one, two = floats(0, 10), floats(0.5, 12)
    assert len(why(one, two, 0.1, 0.4)) == len(why(one, two, 0.2, 0.4)) == len(why(one, two, 0.1, 0.5)) == 1
    assert why(one, two, 0.2, 0.5) == why(one, two, 0.15, 0.5) == []
    assert why(one[:1], two[:1], 0.5, absolute=1) == []  # an absolute one of 0.5 times 1
    assert why(one[:1], two[:1], 0.4, absolute=1)


def test_a_difference_says_how_many_elements_differ_and_how_far():
    expected = np.tile(floats(1, 2, 4), PIECE)
    actual = expected.copy()
    actual[PIECE + 5], actual[-1] = 1.5, 5  # in two pieces
    (found,) = differences(expected.reshape(3, -1), actual.reshape(3, -1))
    assert found.why.startswith(f"2 of {3 * PIECE:} elements differ; the first at [1, 5]: 1.5 instead of ")
    assert (found.where, found.absolute) == ("", 1)
    (found,) = differences(floats(1, -4, 0), floats(1.00005, -5, 0), where="y")
    assert found == Difference("y", "1 of 3 elements differ; the first at [1]: -5.0 instead of -4.0", 1, 0.25)
    (found,) = differences(floats(2, INFINITY), floats(2.00005, INFINITY))
    assert (found.why, found.absolute) == ("", pytest.approx(5e-5, rel=0.01))


@pytest.mark.parametrize(
    ("expected", "actual", "reason", "steps"),
    [
        (floats(1, 2), floats(1 + 2**-22, 2), "", 2),
        (floats(1, dtype=np.float16), floats(1 - 2**-10, dtype=np.float16), "", 1),
        (floats(), floats(), "", 0),
        (floats(NAN, INFINITY, 1), floats(NAN, INFINITY, 1), "", 0),
        (floats(NAN, 1), floats(1, 1), "one is NaN where the other is a number", INFINITY),
        (floats(INFINITY), floats(-INFINITY), "one is infinite where the other is not", INFINITY),
        (floats(INFINITY), floats(1), "one is infinite where the other is not", INFINITY),
        (floats(1), floats(1, 1), "it is tensor(float)[2], and tensor(float)[1] is expected", INFINITY),
        (floats(1), floats(1, dtype=np.float64), "it is tensor(double)[1], and tensor(float)[1] is expected", INFINITY),
        (floats(1, dtype=np.int32), floats(2, dtype=np.int32), "2 instead of 1", INFINITY),
        (floats(1, dtype=np.int32), floats(1, dtype=np.int32), "", 0),
        (floats(1j, dtype=np.complex64), floats(1.00001j, dtype=np.complex64), "", 0),
        ([floats(1)], [floats(1 + 2**-22)], "[0] 1.0000002 instead of 1.0", INFINITY),
        ([floats(1)], [floats(1)], "", 0),
        (floats(1), [floats(1)], "it is seq(tensor(float)), and tensor(float) is expected", INFINITY),
        ([floats(1)], floats(1), "it is tensor(float), and seq(tensor(float)) is expected", INFINITY),
    ],
)
def test_units_of_the_last_digit(expected, actual, reason, steps):
    assert ulps(expected, actual) == (reason, steps)


@pytest.mark.parametrize(
    ("want", "have", "said", "compared"),
    [
        (floats(1, 2), floats(1, 2, dtype=np.int8), "", True),
        (floats(1, 2), floats(1, 3, dtype=np.int8), "element 1 of output {} is 3, and it is 2", True),
        (floats(1.5), floats(1, dtype=np.int8), "", False),  # no integer
        (floats(0), floats(0, dtype=np.int8), "", False),  # a kernel of zeros would pass
        (floats(63), floats(0, dtype=np.int8), "element 0 of output {} is 0, and it is 63", True),
        (floats(64), floats(0, dtype=np.int8), "", False),  # near the limit, where numbers wrap
        (floats(-1), floats(0, dtype=np.uint8), "", False),
        (floats(2.0**60), floats(1, dtype=np.int64), "", False),
        (floats(1e30, 1), floats(INFINITY, 1, dtype=np.float16), "", True),
        (floats(1), floats(1.5, dtype=np.float16), "element 0 of output {} is 1.5, and it is 1", True),
        (floats(1), floats(1.001, dtype=np.float16), "", True),
        (floats(1.25), floats(1, dtype=ml_dtypes.float4_e2m1fn), "", True),
        (floats(1), floats(True, dtype=bool), "", True),
        (floats(2), floats(True, dtype=bool), "", False),
        (floats(1), floats(1, 1), "output {} has the shape [2], and [1]", True),
    ],
)
def test_results_in_two_types_are_compared_where_both_hold_them(want, have, said, compared):
    assert compare_results(want, have, 0.0) == (said, compared)
    if said.startswith("element"):
        assert compare_results(want, have, 100.0)[0] == ""


@pytest.mark.parametrize(
    ("values", "kind", "content"),
    [
        ([1.0, 0.0], "tensor(int8)", [1, 0]),
        ([1.0, 0.0], "tensor(bool)", [True, False]),
        ([2.0], "tensor(bool)", None),
        ([0.5, math.inf], "tensor(float16)", [0.5, math.inf]),
        ([0.1], "tensor(bfloat16)", None),
        ([-1.0], "tensor(uint8)", None),
    ],
)
def test_values_in_another_type_are_the_same_or_none(values, kind, content):
    found = retype_tensor(ExampleValue("tensor(float)", values, (len(values),)), kind)
    assert found == (None if content is None else ExampleValue(kind, content, (len(values),)))
    assert content is None or [*map(type, found.content)] == [*map(type, content)]
