"""Summaries of values: the statistics are those of all finite numbers, and what is small is shown whole."""

import math

import ml_dtypes
import numpy as np
import pytest

from opset.reference.numerics.arrays import PIECE
from opset.reference.numerics.memory import nbytes
from opset.tensor_io.limits import MAX_SHOWN
from opset.tensor_io.statistics import Statistics, Summary, summarize, summary_lines

LONG = np.tile(np.array([1, -3, 5], np.float32), PIECE)  # three pieces


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([1, 2, 3, 6], np.float32), (1, 6, 3, math.sqrt(3.5), 0, 0)),
        (np.array([1, np.nan, 3, np.inf, -np.inf, np.nan, np.nan]), (1, 3, 2, 1, 3, 2)),
        (np.array([np.nan, -np.inf], ml_dtypes.bfloat16), (None, None, None, None, 1, 1)),
        (np.array([2**63, 2**64 - 1], np.uint64), (2**63, 2**64 - 1, 1.5 * 2**63, 2.0**62)),
        (np.array([-8, 7], ml_dtypes.int4), (-8, 7, -0.5, 7.5, 0, 0)),
        (np.array([-1e300, 1e300]), (-1e300, 1e300, 0, None, 0, 0)),
        (np.array([1.5e308, 1.5e308]), (1.5e308, 1.5e308, None, None, 0, 0)),
        (LONG, (-3, 5, 1, math.sqrt(32 / 3), 0, 0)),
        (np.repeat(np.float32([2, 1, 3]), PIECE), (1, 3, 2, math.sqrt(2 / 3), 0, 0)),
        (np.where(np.arange(LONG.size) % PIECE == 1, np.nan, LONG)[::-1], (-3, 5, 1, math.sqrt(32 / 3), 3, 0)),
    ],
)
def test_statistics_are_of_all_finite_numbers(array, expected):
    statistics = summarize(array).statistics
    found = [statistics.min, statistics.max, statistics.mean, statistics.std, statistics.nan, statistics.inf]
    assert found[:2] == [*expected[:2]]
    for have, want in zip(found, [*expected, None, None][:6], strict=True):
        assert have == (want if want is None else pytest.approx(want, rel=1e-4))


def test_what_has_no_order_has_no_statistics():
    for array in (np.array(["a"], object), np.array([True]), np.array([1j]), np.zeros((0, 2), np.float32)):
        assert summarize(array).statistics is None


def test_small_values_alone_are_shown():
    for count, is_shown in ((MAX_SHOWN, True), (MAX_SHOWN + 1, False), (0, False)):
        assert (summarize(np.zeros(count)).value is not ...) is is_shown
    held = nbytes(np.array([""], object))
    assert summarize(np.array(["a" * (8192 - held)], object)).value is not ...
    assert summarize(np.array(["a" * (8193 - held)], object)).value is ...
    for count, is_shown in ((MAX_SHOWN, True), (MAX_SHOWN + 1, False)):
        found = summarize(dict.fromkeys(range(count), np.float32(1)))
        assert found.length == count and (found.value is not ...) is is_shown
    found = summarize([np.zeros(1)] * (MAX_SHOWN + 1))
    assert found.length == MAX_SHOWN + 1 and len(found.entries) == MAX_SHOWN


def test_a_summary_has_the_type_shape_and_value():
    assert summarize(np.array([[True, False]])) == Summary("tensor(bool)", shape=(1, 2), value=[[True, False]])
    assert summarize(np.float32(1), "tensor(float)") == Summary("tensor(float)", value=1.0)
    entry = Summary("tensor(string)", shape=(1,), value=["a"])
    assert summarize([np.array(["a"], object)]) == Summary("seq(tensor(string))", 1, [entry])
    kind = "map(int64, float)"
    assert summarize({1: np.float32(2)}, kind) == Summary(kind, 1, value={"1": 2.0})
    found = summarize(np.array([1, 3], np.int8))
    assert found == Summary("tensor(int8)", shape=(2,), statistics=Statistics(1, 3, 2.0, 1.0), value=[1, 3])
    assert [*map(type, (found.statistics.min, found.statistics.max, found.statistics.mean))] == [int, int, float]
    statistics = summarize(np.array([1.0])).statistics
    assert [type(each) for each in (statistics.min, statistics.nan, statistics.inf)] == [float, int, int]
    assert type(summarize(np.array([1], ml_dtypes.uint4)).statistics.max) is int


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (np.array([np.nan, np.nan] * 13), None, ["v  tensor(double)[26]  26 nan"]),
        (np.array([np.inf] * 25), None, ["v  tensor(double)[25]  25 inf"]),
        (np.zeros((0, 3)), None, ["v  tensor(double)[0, 3]"]),
        (np.array([["a" * 300]], object), None, [f"v  tensor(string)[1, 1]  [['{'a' * 198}…]]"]),
        (np.array([[[1, 2]], [[3, 4]]], np.int64), None,
         ["v  tensor(int64)[2, 1, 2]  min 1  max 4  mean 2.5  std 1.11803", "  [1, 2]", "  [3, 4]"]),
        (np.array([1234567.0, 1e-9]), None,
         ["v  tensor(double)[2]  min 1e-09  max 1.23457e+06  mean 617284  std 617283", "  [1.23457e+06, 1e-09]"]),
        ({"a": "x"}, "map(string, string)", ["v  map(string, string) of 1", "  a: 'x'"]),
        (np.array([[1, 2.5], [np.nan, np.inf]], np.float32), None,
         ["v  tensor(float)[2, 2]  min 1  max 2.5  mean 1.75  std 0.75  1 nan  1 inf", "  [1, 2.5]", "  [nan, inf]"]),
        (np.zeros(25, np.int64), None, ["v  tensor(int64)[25]  min 0  max 0  mean 0  std 0"]),
        (np.array(3.25), None, ["v  tensor(double)[]  3.25"]),
        (np.array([["a", "b"], ["", "nan"]], object), None,
         ["v  tensor(string)[2, 2]", "  ['a', 'b']", "  ['', 'nan']"]),
        (np.array(["a"], object), None, ["v  tensor(string)[1]  ['a']"]),
        (None, "optional(tensor(float))", ["v  optional(tensor(float))  nothing"]),
        ([], "seq(tensor(float))", ["v  seq(tensor(float)) of 0"]),
        ([np.array([1], np.int64), np.array([[2], [3]], np.int64)], None,
         ["v  seq(tensor(int64)) of 2", "  [0]  tensor(int64)[1]  [1]",
          "  [1]  tensor(int64)[2, 1]  min 2  max 3  mean 2.5  std 0.5", "    [2]", "    [3]"]),
        ({"a": np.float32(0.1), "b": np.float32(2)}, "map(string, float)",
         ["v  map(string, float) of 2", "  a: 0.1", "  b: 2"]),
    ],
)  # fmt: skip
def test_a_summary_as_text(value, kind, expected):
    assert summary_lines("v", summarize(value, kind)) == expected


def test_integers_of_few_bits_are_whole_numbers():
    found = summarize(np.array([-8, 7], ml_dtypes.int4)).statistics
    assert found is not None and [type(each) for each in (found.min, found.max)] == [int, int]
