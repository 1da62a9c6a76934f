"""The table of quirks: to which nodes each entry applies."""

import pytest

from opset.opsets.registry import get_schema
from opset.schemas import quirks

ATTRIBUTES = [
    ("BatchNormalization", 7, None, "is_test", 1, "mend"),
    ("BatchNormalization", 9, None, "spatial", 1, "mend"),
    ("Dropout", 7, None, "is_test", 1, "mend"),
    ("Dropout", 12, None, "ratio", 0.5, "mend"),
    ("RoiAlign", 10, None, "mode", "AVG", "mend"),
    ("RoiAlign", 10, None, "mode", "MAX", "mend"),
    ("Squeeze", 1, 10, "axes", -1, "keep"),
    ("Unsqueeze", 1, 10, "axes", -1, "keep"),
    ("QuantizeLinear", 10, 12, "axis", 0, "refuse"),
    ("DequantizeLinear", 10, 12, "axis", 0, "refuse"),
    ("Pad", 2, 18, "mode", "wrap", "keep"),
    ("Resize", 11, 18, "coordinate_transformation_mode", "half_pixel_symmetric", "refuse"),
]


@pytest.mark.parametrize(("name", "first", "last", "attribute", "value", "action"), ATTRIBUTES)
def test_a_quirk_of_an_attribute_is_one_of_some_opsets(name, first, last, attribute, value, action):
    def found(version, attribute=attribute, value=value):
        quirk = quirks.quirk_of_attribute(name, version, attribute, value)
        return quirk and quirk.action

    assert found(first) == found(last or 99) == action
    assert found(first - 1) is None and (last is None or found(last + 1) is None)
    assert found(first, "other") is None
    assert (found(first, value="other") is None) == (attribute not in ("ratio", "axes", "axis"))


@pytest.mark.parametrize(
    ("name", "first", "last", "stand_in"),
    [
        ("Squeeze", 1, 10, ("", 11)),
        ("Unsqueeze", 1, 10, ("", 11)),
        ("Gather", 1, 10, ("", 11)),
        ("Clip", 11, None, None),
        ("STFT", 17, None, None),
        ("QuantizeLinear", 10, 12, ("", 13)),
        ("DequantizeLinear", 10, 12, ("", 13)),
        ("Pad", 11, 18, ("", 19)),
        ("Attention", 25, 27, ("", 24)),
    ],
)
def test_a_quirk_of_values_is_computed_by_another_definition(name, first, last, stand_in):
    for version in (first, last or 99):
        quirk = quirks.quirk_of_values(name, version)
        assert quirk is not None and (quirk.stand_in, quirk.action) == (stand_in, "keep")
    assert quirks.quirk_of_values(name, first - 1) is None
    assert last is None or quirks.quirk_of_values(name, last + 1) is None


OWN = [
    ("SimplifiedLayerNormalization", None, "com.microsoft", ("RMSNormalization", 23), False),
    ("LayerNormalization", 16, "com.microsoft", ("LayerNormalization", 17), True),
    ("ThresholdedRelu", 9, "experimental", ("ThresholdedRelu", 10), True),
    *[
        (name, 9, "experimental", None, False)
        for name in ("Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh")
    ],
    ("MeanVarianceNormalization", 8, "experimental", None, False),
]


@pytest.mark.parametrize(("name", "last", "origin", "stand_in", "becomes_standard"), OWN)
def test_an_operator_of_another_origin_is_known_up_to_an_opset(name, last, origin, stand_in, becomes_standard):
    for version in (1, last or 99):
        quirk = quirks.alias(name, version)
        assert quirk is not None
        assert (quirk.origin, quirk.stand_in, quirk.becomes_standard) == (origin, stand_in, becomes_standard)
    assert quirks.alias(name, 0) is None and quirks.quirk_of_values(name, 5) is None
    assert last is None or quirks.alias(name, last + 1) is None


def test_other_operators_have_none():
    assert quirks.alias("Relu", 13) is quirks.quirk_of_values("Relu", 13) is None
    assert quirks.alias("Clip", 13) is quirks.quirk_of_values("Dropout", 13) is None


def test_values_that_are_kept_are_those_of_the_standard():
    pad, squeeze, resize = get_schema("Pad", 11), get_schema("Squeeze", 1), get_schema("Resize", 11)
    assert quirks.is_kept(pad, 11, "mode", "wrap") and not quirks.is_kept(pad, 11, "mode", "other")
    assert not quirks.is_kept(pad, 19, "mode", "wrap")
    assert quirks.is_kept(squeeze, 9, "axes", (0, -1)) and not quirks.is_kept(squeeze, 9, "axes", ())
    assert not quirks.is_kept(resize, 11, "coordinate_transformation_mode", "half_pixel_symmetric")
    assert not quirks.is_kept(get_schema("ZipMap", 1, "ai.onnx.ml"), 1, "mode", "wrap")


def test_names_that_begin_with_two_underscores_are_for_some_runtime():
    assert quirks.is_internal("__stream") and not quirks.is_internal("_stream") and not quirks.is_internal(b"__a")
