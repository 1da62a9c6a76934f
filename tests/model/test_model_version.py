"""Versions of models: in the bits of a number, as text, and what follows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opset.errors import UsageError, VersionError
from opset.model.model_version import LEVELS, ModelVersion

GREATEST = "65535.65535.4294967295"


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        ("1.2.345", 0x0001000200000159, "1.2.345"),
        ("0x0001000200000159", 0x0001000200000159, "1.2.345"),
        ("0X10002", 0x10002, "65538"),
        ("7", 7, "7"),
        ("0", 0, "0"),
        ("007", 7, "7"),
        ("4294967295", 2**32 - 1, "4294967295"),
        ("0.1.0", 2**32, "0.1.0"),
        ("32767.0.0", 0x7FFF << 48, "32767.0.0"),
        ("32768.0.0", -(1 << 63), "32768.0.0"),
        (GREATEST, -1, GREATEST),
        ("0xffffffffffffffff", -1, GREATEST),
    ],
)
def test_texts_and_numbers(text, number, shown):
    version = ModelVersion.parse(text)
    assert (version.number, str(version)) == (number, shown)
    assert ModelVersion.of(number) == version


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a version is MAJOR.MINOR.PATCH"),
        ("1.2", "a version is MAJOR.MINOR.PATCH"),
        ("1.2.3.4", "a version is MAJOR.MINOR.PATCH"),
        ("-1", "a version is MAJOR.MINOR.PATCH"),
        ("1.2.-3", "a version is MAJOR.MINOR.PATCH"),
        ("v1.2.3", "a version is MAJOR.MINOR.PATCH"),
        ("1.2.3\n", "a version is MAJOR.MINOR.PATCH"),
        ("\u0661.\u0662.\u0663", "a version is MAJOR.MINOR.PATCH"),
        ("1.2.3-beta", "a version is MAJOR.MINOR.PATCH"),
        ("9" * 5000, "a version is MAJOR.MINOR.PATCH"),
        ("0x" + "1" * 17, "a version is MAJOR.MINOR.PATCH"),
        ("65536.0.0", "MAJOR is at most 65535"),
        ("1.65536.0", "MINOR is at most 65535"),
        ("1.0.4294967296", "PATCH is at most 4294967295"),
        ("4294967296", "a plain number is at most 4294967295"),
        ("0.0.7", "it would be the plain number 7"),
    ],
)
def test_texts_that_are_no_versions(text, why):
    with pytest.raises(UsageError) as caught:
        ModelVersion.parse(text)
    assert caught.value.code == "U107" and why in caught.value.why


@pytest.mark.parametrize(
    ("version", "following"),
    [
        ("1.2.3", ["1.2.3", "1.2.4", "1.3.0", "2.0.0"]),
        ("0.2.3", ["0.2.3", "0.2.4", "0.3.0", "1.0.0"]),
        ("7", ["7", "8", "8", "8"]),
        ("0", ["0", "1", "1", "1"]),
        ("1.2.4294967295", ["1.2.4294967295", "1.3.0", "1.3.0", "2.0.0"]),
        ("1.65535.3", ["1.65535.3", "1.65535.4", "2.0.0", "2.0.0"]),
        ("65535.1.2", ["65535.1.2", "65535.1.3", "65535.2.0", None]),
        (GREATEST, [GREATEST, None, None, None]),
    ],
)
def test_the_version_that_follows(version, following):
    for level, text in zip(LEVELS, following, strict=True):
        if text is not None:
            assert str(ModelVersion.parse(version).after(level)) == text
            continue
        with pytest.raises(VersionError) as caught:
            ModelVersion.parse(version).after(level)
        assert caught.value.code == "V102" and level in caught.value.why


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
def test_each_number_is_a_version_and_back_and_they_compare_without_a_sign(number, other):
    version = ModelVersion.of(number)
    assert version.number == number == ModelVersion.parse(str(version)).number
    assert ModelVersion.parse(hex(number % (1 << 64))) == version
    assert version.is_semantic == (number % (1 << 64) >> 32 != 0)
    assert (version < ModelVersion.of(other)) == (number % (1 << 64) < other % (1 << 64))
