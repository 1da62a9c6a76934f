"""Conversions between element types against exact arithmetic on every value of the narrow type."""

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from opset.model.arrays import DTYPES
from opset.model.elements import NUMBERS
from opset.reference.kernels.cast import bit_cast_26
from opset.reference.numerics.conversion import convert_numbers
from opset.schemas.constraints.violation import Violation

NARROW = {
    np.dtype(kind): largest
    for kind, largest in {
        ml_dtypes.bfloat16: None,
        ml_dtypes.float8_e4m3fn: 448,
        ml_dtypes.float8_e4m3fnuz: 240,
        ml_dtypes.float8_e5m2: 57344,
        ml_dtypes.float8_e5m2fnuz: 57344,
        ml_dtypes.float4_e2m1fn: 6,
        ml_dtypes.float6_e2m3fn: 7.5,
        ml_dtypes.float6_e3m2fn: 28,
    }.items()
}
BITS = {ml_dtypes.float4_e2m1fn: 4, ml_dtypes.float6_e2m3fn: 6, ml_dtypes.float6_e3m2fn: 6}


def values_of(dtype):
    """Return all finite values of a narrow float that are not negative, ascending."""
    count = 1 << BITS.get(dtype.type, 8 * dtype.itemsize)
    codes = np.arange(count, dtype=np.uint16 if dtype.itemsize == 2 else np.uint8)
    values = codes.view(dtype).astype(np.float64)
    return np.unique(values[np.isfinite(values) & (values >= 0)])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("source", [np.float64, np.float32])
def test_what_lies_between_two_values_goes_to_the_nearer_one_and_a_tie_to_the_even_one(dtype, source):
    values = values_of(dtype)
    if len(values) > 1000:
        values = np.concatenate([values[:300], values[10000:10300], values[-300:]])
        values = values[:300] if source is np.float32 else values
    low, high = values[:-1], values[1:]
    adjacent = high - low <= np.maximum(low, values[1]) if dtype.itemsize == 2 else np.ones(len(low), bool)
    low, high = low[adjacent], high[adjacent]
    middle = ((low + high) / 2).astype(source)
    exact = middle.astype(np.float64) == (low + high) / 2
    below, above = np.nextafter(middle, source(0)), np.nextafter(middle, source(np.inf))
    assert np.array_equal(convert_numbers(below, dtype).astype(np.float64)[exact], low[exact])
    assert np.array_equal(convert_numbers(above, dtype).astype(np.float64)[exact], high[exact])
    bits = np.uint16 if dtype.itemsize == 2 else np.uint8
    tied = convert_numbers(middle, dtype)
    assert not (tied.view(bits)[exact] & 1).any()
    assert exact.any()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32])
@pytest.mark.parametrize("target", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_integers_are_rounded_once(dtype, target):
    limits = np.iinfo(dtype)
    exponents = range(9, min(limits.bits - 1, 15 if target is ml_dtypes.float8_e5m2 else 64))
    bits = 7 if target is ml_dtypes.bfloat16 else 2
    ties = [(1 << e) + (1 << (e - bits - 1)) for e in exponents]
    given = np.array([each + off for each in ties for off in (-1, 0, 1)], dtype)
    step = [Fraction(1 << e, 1 << bits) for e in exponents for _ in range(3)]
    expected = [float((1 << e) + (up and step[3 * i])) for i, e in enumerate(exponents) for up in (False, False, True)]
    assert convert_numbers(given, np.dtype(target)).astype(np.float64).tolist() == expected
    if limits.min < 0:
        assert convert_numbers(-given, np.dtype(target)).astype(np.float64).tolist() == [-each for each in expected]


@pytest.mark.parametrize("dtype", [each for each in NARROW if NARROW[each]], ids=str)
def test_out_of_range_is_the_largest_value(dtype):
    given = np.array([1e300, -1e300, 70000, np.inf, -np.inf])
    largest = NARROW[dtype]
    assert convert_numbers(given, dtype).astype(np.float64).tolist() == [largest, -largest, largest, largest, -largest]


def test_without_saturation_out_of_range_is_infinite_or_nan():
    given = np.array([1e300, -np.inf], np.float64)
    for name, infinite in (("e4m3fn", False), ("e4m3fnuz", False), ("e5m2", True), ("e5m2fnuz", False)):
        result = convert_numbers(given, np.dtype(f"float8_{name}"), saturate=False).astype(np.float32)
        assert np.isinf(result).all() == infinite
        assert np.isnan(result).all() != infinite


@pytest.mark.parametrize(("mode", "expected"), [("up", (0, 1, 1)), ("down", (0, 0, 0)), ("nearest", (0, 0, 1))])
def test_powers_of_two_are_rounded_by_their_mode(mode, expected):
    e8m0 = np.dtype(ml_dtypes.float8_e8m0fnu)
    powers = 2.0 ** np.arange(-127, 127)
    for factor, above in zip((1.0, np.nextafter(1.5, 1), 1.5), expected, strict=True):
        assert np.array_equal(
            convert_numbers(powers * factor, e8m0, round_mode=mode).astype(np.float64), powers * 2**above
        )
    assert np.isnan(convert_numbers(np.array([-1.0, np.nan]), e8m0).astype(np.float32)).all()


def test_every_pair_of_numeric_types_converts_small_integers():
    kinds = [dtype for dtype in DTYPES.values() if dtype.kind not in "Oc"]
    for source in kinds:
        for target in kinds:
            given = convert_numbers(np.array([1, 2, 1], np.int64), source)
            two = 1 if "bool" in (source.name, target.name) else -2 if "int2" in (source.name, target.name) else 2
            if target.name in ("uint2", "bool") or (target.name.startswith("uint") and source.name == "int2"):
                continue  # other readings of the same bits
            result = convert_numbers(given, target)
            assert result.dtype == target
            if target.name == "float8_e8m0fnu" and two < 0:
                continue
            assert result.astype(np.float64).tolist() == [1, two, 1], (source, target)


@pytest.mark.parametrize("names", [["int4", "uint4", "float4e2m1"], ["int2", "uint2"]])
def test_bits_of_a_part_of_a_byte_are_those_of_the_value(names):
    """Each type has one value for each pattern; as integers, those with the highest bit set are below zero."""
    patterns = np.arange(4 if names[0] == "int2" else 16, dtype=np.uint8)
    values = {}
    for name in names:
        dtype = DTYPES[NUMBERS[name]]
        signed = np.where(patterns < len(patterns) // 2, patterns, patterns.astype(np.int8) - np.int8(len(patterns)))
        values[name] = (
            patterns.view(dtype) if name[0] == "f" else (signed if name[0] == "i" else patterns).astype(dtype)
        )
    for source, target in itertools.product(names, repeat=2):
        found = bit_cast_26(values[source], to=NUMBERS[target])
        assert found.dtype == values[target].dtype
        assert found.astype(np.float32).tolist() == values[target].astype(np.float32).tolist()
        assert found.tobytes() == values[target].tobytes()
        with pytest.raises(Violation, match=f"C2.*{len(patterns).bit_length() - 1} bits, 8 in the target type"):
            bit_cast_26(values[source], to=NUMBERS["int8"])


def test_bits_of_a_byte_are_a_bool_that_is_0_or_1():
    found = bit_cast_26(np.array([0, 1, 2, -1], np.int8), to=NUMBERS["bool"])
    assert (found.dtype, found.tobytes()) == (np.bool_, bytes([0, 1, 1, 1]))
    assert bit_cast_26(found, to=NUMBERS["uint8"]).tolist() == [0, 1, 1, 1]
