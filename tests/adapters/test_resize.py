"""Resize and Upsample across the versions at which they changed."""

from collections import Counter

import numpy as np
import onnx
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import opset
from opset.errors import ConversionError
from tests.bounds import draws

node = helper.make_node
RNG = np.random.default_rng(2)
IMAGE = RNG.random((1, 2, 4, 6), np.float32)
NOTHING = np.zeros(0, np.float32)
NEAR = {"rtol": 1e-5, "atol": 1e-5}
COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


def floats(*values):
    return np.array(values, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def resize(inputs, **attributes):
    return node("Resize", inputs, ["y"], **attributes)


GROW, SHRINK = floats(1, 1, 1.7, 2.3), floats(1, 1, 0.6, 0.37)
BOTH, WHOLE = floats(1, 1, 1.7, 0.6), floats(1, 1, 2, 3)


@pytest.mark.parametrize("scales", [GROW, WHOLE])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("to", [10, 11, 13, 19])
def test_upsample_becomes_resize(check, scales, mode, to):
    feeds = {"x": IMAGE}
    check(node("Upsample", ["x", "s"], ["y"], mode=mode), 9, to, feeds, {"s": scales}, operators=["Resize"])
    check(node("Upsample", ["x"], ["y"], mode=mode, scales=scales.tolist()), 8, to, feeds, operators=["Resize"])
    if to < 13:
        check(node("Upsample", ["x", "s"], ["y"], mode=mode), 9, to, {"x": IMAGE, "s": scales})


def test_upsample_of_images(check, converted, refused):
    up = node("Upsample", ["x"], ["y"], mode="bilinear", height_scale=1.5, width_scale=2.0)
    expect = check(node("Upsample", ["x"], ["y"], mode="linear", scales=[1.0, 1.0, 1.5, 2.0]), 7, 9, {"x": IMAGE})
    after = converted(up, 1, 9, {"x": IMAGE})
    assert after.graph.node[-1].attribute[0].s == b"linear"
    assert [helper.get_attribute_value(a) for a in expect.graph.node[-1].attribute] == [b"linear"]
    down = converted(node("Upsample", ["x"], ["y"], mode="linear", scales=[1.0, 1.0, 1.5, 2.0]), 7, 1, {"x": IMAGE})
    assert {a.name: a for a in down.graph.node[0].attribute} == {a.name: a for a in up.attribute}
    refused(node("Upsample", ["x"], ["y"], scales=[1.0, 2.0, 1.5, 2.0]), 7, 6, {"x": IMAGE}, "C204")
    refused(node("Upsample", ["x"], ["y"], scales=[1.5, 2.0]), 7, 6, {"x": IMAGE[0, 0]}, "C204")
    refused(node("Upsample", ["x"], ["y"], scales=[1.0] * 4), 7, 6, {"x": IMAGE.astype(np.int8)}, "C202")
    refused(node("Upsample", ["x"], ["y"], mode="cubic", height_scale=1.0, width_scale=2.0), 1, 7, {"x": IMAGE}, "C103")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [GROW, SHRINK, BOTH, WHOLE, floats(1, 1, 0.5, 3)])
def test_coordinates_are_stated(check, mode, scales):
    operators = ["Resize"]
    if mode == "nearest" and min(scales) < 1 < max(scales):
        operators *= 2
    check(resize(["x", "s"], mode=mode), 10, 11, {"x": IMAGE}, {"s": scales}, operators=operators)
    check(resize(["x", "s"], mode=mode), 10, 19, {"x": IMAGE}, {"s": scales}, operators=operators)
    check(resize(["x", "s"], mode=mode), 10, 11, {"x": IMAGE, "s": scales})


def test_the_cases_of_the_standard_at_version_10(check):
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    small = {"s": floats(1, 1, 0.6, 0.6)}
    check(resize(["x", "s"], mode="nearest"), 10, 11, {"x": x}, small, expect=[np.array([[[[1, 3]]]], np.float32)])
    near = np.array([[[[1, 2.6666665]]]], np.float32)
    check(resize(["x", "s"], mode="linear"), 10, 11, {"x": x}, small, expect=[near], rtol=1e-6)


SAME_AT_10 = [
    ("linear", "asymmetric", "floor", GROW),
    ("linear", "asymmetric", "floor", SHRINK),
    ("linear", "asymmetric", "ceil", BOTH),
    ("linear", "align_corners", "floor", floats(1, 1, 1, 1)),
    ("nearest", "asymmetric", "floor", GROW),
    ("nearest", "asymmetric", "ceil", SHRINK),
    ("nearest", "asymmetric", "floor", floats(1, 1, 0.5, 0.25)),
    ("nearest", "asymmetric", "ceil", floats(1, 1, 0.5, 1)),
    ("nearest", "half_pixel", "round_prefer_floor", WHOLE),
    ("nearest", "half_pixel", "round_prefer_ceil", WHOLE),
    ("nearest", "pytorch_half_pixel", "round_prefer_floor", WHOLE),
    ("nearest", "tf_half_pixel_for_nn", "floor", WHOLE),
    ("nearest", "align_corners", "ceil", floats(1, 1, 1, 1)),
]


@pytest.mark.parametrize(("mode", "coordinates", "rounding", "scales"), SAME_AT_10)
def test_what_version_10_does_too(check, mode, coordinates, rounding, scales):
    how = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    after = check(
        resize(["x", "r", "s"], **how), 11, 10, {"x": IMAGE}, {"r": NOTHING, "s": scales}, operators=["Resize"]
    )
    assert [a.name for a in after.graph.node[-1].attribute] == ["mode"]
    if mode == "linear" and coordinates == "asymmetric":
        check(resize(["x", "r", "s"], **how), 11, 10, {"x": IMAGE, "s": scales}, {"r": NOTHING})
    elif mode == "nearest" and coordinates != "tf_half_pixel_for_nn":
        none = {"r": NOTHING, "z": ints(*IMAGE.shape[:3], 0)}
        given = {"expect": [IMAGE[..., :0]], "operators": ["Gather"]}  # a scale of 0 is none of version 10
        check(resize(["x", "r", "r", "z"], **how), 11, 10, {"x": IMAGE}, none, **given)


@pytest.mark.parametrize(
    ("mode", "coordinates", "rounding", "scales"),
    [
        ("nearest", "tf_crop_and_resize", "floor", WHOLE),
        ("nearest", "tf_half_pixel_for_nn", "ceil", WHOLE),
    ],
)
def test_what_version_10_does_not(refused, mode, coordinates, rounding, scales):
    how = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    refused(resize(["x", "r", "s"], **how), 11, 10, {"x": IMAGE}, "C204", {"r": NOTHING, "s": scales})


def test_nearest_elements_are_the_same_at_10_or_it_refuses(converted, evaluate):
    ends = Counter()

    @settings(max_examples=draws(60))
    @given(
        coordinates=st.sampled_from([*COORDINATES, "tf_half_pixel_for_nn"]),
        rounding=st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
        size=st.integers(1, 40),
        wanted=st.integers(1, 90) | st.floats(0.25, 4, width=32) | st.sampled_from([0.5, 1.5, 2.0, 3.0]),
    )
    @example(coordinates="asymmetric", rounding="floor", size=5, wanted=2.0)
    def law(coordinates, rounding, size, wanted):
        x = np.arange(2 * size, dtype=np.float32).reshape(2, size)
        constants = {"r": NOTHING, "e": NOTHING, "s": floats(1, wanted), "z": ints(2, wanted)}
        how = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
        given_inputs = ["x", "r", "e", "z"] if isinstance(wanted, int) else ["x", "r", "s"]
        old = converted(resize(given_inputs, **how), 11, 11, {"x": x}, constants)
        try:
            new = converted(resize(given_inputs, **how), 11, 10, {"x": x}, constants)
        except ConversionError:
            ends["refused"] += 1
            return
        assume(isinstance(wanted, int) or size * wanted >= 1)
        ends["converted"] += 1
        np.testing.assert_array_equal(evaluate(old, {"x": x})[0], evaluate(new, {"x": x})[0])

    law()
    assert ends["converted"] > ends["refused"] / 9


def test_sizes_become_scales_below_11(check, refused):
    sized = resize(["x", "r", "e", "z"], mode="linear", coordinate_transformation_mode="asymmetric")
    empty = {"r": NOTHING, "e": NOTHING}
    check(sized, 11, 10, {"x": IMAGE}, {**empty, "z": ints(1, 2, 6, 3)})
    check(sized, 13, 10, {"x": IMAGE}, {**empty, "z": ints(1, 2, 6, 3)})
    check(sized, 11, 10, {"x": IMAGE}, {**empty, "z": ints(1, 2, 6, 7)}, **NEAR)
    refused(sized, 11, 10, {"x": IMAGE}, "C103", {**empty, "z": ints(1, 2, 6)})
    check(sized, 11, 10, {"x": IMAGE}, {**empty, "z": ints(1, 2, 6, 3)}, shapes={"x": [1, 2, "H", 6]}, **NEAR)
    check(sized, 11, 10, {"x": IMAGE, "z": ints(1, 2, 6, 3)}, empty, **NEAR)
    # 7 times the FLOAT that is nearest to 31 / 7 is less than 31.
    check(sized, 11, 10, {"x": RNG.random((4, 7), np.float32)}, {**empty, "z": ints(8, 31)}, **NEAR)
    # The sixth of ten elements stands right between two of six, and 5 / 3 is no FLOAT.
    edge = resize(["x", "r", "e", "z"], coordinate_transformation_mode="asymmetric", nearest_mode="ceil")
    refused(edge, 11, 10, {"x": IMAGE}, "C204", {**empty, "z": ints(1, 2, 4, 10)})
    check(edge, 11, 10, {"x": IMAGE}, {**empty, "z": ints(1, 2, 7, 6)}, operators=["Gather"])
    nearest = resize(["x", "r", "s"], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    refused(nearest, 11, 10, {"x": IMAGE, "s": WHOLE}, "C205", {"r": NOTHING})


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_elements_of_sizes_at_run_time(check, refused, converted, evaluate, coordinates, rounding):
    how = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    node, rows = resize(["x", "r", "e", "z"], **how), {"shapes": {"x": [2, "n"], "y": None}}
    empty = {"r": NOTHING, "e": NOTHING}
    feeds = {"x": IMAGE[0, 0], "z": ints(4, 9)}
    if rounding.startswith("round") and coordinates != "align_corners":
        refused(node, 11, 10, feeds, "C205", empty)
        return
    check(node, 11, 7, feeds, empty)
    check(resize(["x", "", "", "z"], **how, axes=[1]), 18, 9, {"x": IMAGE[0, 0], "z": ints(4)})
    check(node, 11, 10, {"x": IMAGE[0, 0]}, {**empty, "z": ints(5, 3)}, shapes={"x": ["h", "w"]})
    x = np.arange(14, dtype=np.float32).reshape(2, 7)
    old, new = (converted(node, 11, to, {"x": x, "z": ints(1, 1)}, empty, **rows) for to in (11, 10))
    for size in (1, 2, 3, 7, 10, 30):
        x = np.arange(2 * size, dtype=np.float32).reshape(2, size)
        for wanted in range(1, 37):
            feeds = {"x": x, "z": ints(2, wanted)}
            np.testing.assert_array_equal(evaluate(old, feeds)[0], evaluate(new, feeds)[0], f"{size} to {wanted}")


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
def test_nearest_elements_by_scales_at_run_time(converted, refused, evaluate, coordinates):
    how = {"coordinate_transformation_mode": coordinates, "nearest_mode": "ceil"}
    above = resize(["x", "r", "s"], **how)
    unknown = {"shapes": {"x": [2, "n"], "y": None}}
    feeds = {"x": np.ones((2, 7), np.float32), "s": floats(1, 2)}
    old, new = (converted(above, 11, to, feeds, {"r": NOTHING}, **unknown) for to in (11, 10))
    for size in (1, 2, 3, 5, 8, 20):
        x = np.arange(2 * size, dtype=np.float32).reshape(2, size)
        for scale in (0.3, 0.5, 0.6, 0.75, 0.9999, 1, 1.01, 1.1, 1.15, 1.2, 1.5, 1.7, 2, 3, 4.2):
            for other in (1, 1.3, 0.5):
                if int(size * np.float32(scale)):
                    feeds = {"x": x, "s": floats(other, scale)}
                    np.testing.assert_array_equal(evaluate(old, feeds)[0], evaluate(new, feeds)[0], f"{size}, {scale}")
    # An axis that grows may keep its size, and then runtimes copy it.
    below = resize(["x", "r", "s"], **how | {"nearest_mode": "floor"})
    refused(below, 11, 10, {"x": x, "s": floats(1, 2)}, "C205", {"r": NOTHING})
    # Version 10 has the nearest element below of these coordinates.
    for scale, code in ((0.7, None), (2.5, None), (1.1, None if coordinates == "asymmetric" else "C207")):
        constants = {"r": NOTHING, "s": floats(1, scale)}
        if code:
            refused(below, 11, 10, {"x": x}, code, constants, shapes={"x": [2, "n"]})
        else:
            old, new = (converted(below, 11, to, {"x": x}, constants, **unknown) for to in (11, 10))
            np.testing.assert_array_equal(evaluate(old, {"x": x})[0], evaluate(new, {"x": x})[0])


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
@pytest.mark.parametrize("scale", [2, 3, 4, 0.5, 0.25])
def test_rounding_by_scales_that_make_exact_halves(converted, evaluate, coordinates, rounding, scale):
    node = resize(["x", "", "s"], coordinate_transformation_mode=coordinates, nearest_mode=rounding)
    feeds, unknown = {"x": np.ones((2, 7), np.float32)}, {"shapes": {"x": [2, "n"], "y": None}}
    old, new = (converted(node, 13, to, feeds, {"s": floats(1, scale)}, **unknown) for to in (13, 10))
    if scale == 2 and coordinates == "asymmetric" and rounding == "round_prefer_floor":
        assert converted(new.graph.node, 10, 9, feeds, {"s": floats(1, scale)}).graph.node[-1].op_type == "Upsample"
    for size in (4, 5, 7, 12, 17):
        x = np.arange(2 * size, dtype=np.float32).reshape(2, size)
        np.testing.assert_array_equal(evaluate(old, {"x": x})[0], evaluate(new, {"x": x})[0])


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
def test_an_axis_of_scale_1_may_have_any_size(check, refused, coordinates, rounding):
    how = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    node, x = resize(["x", "", "s"], **how), RNG.random((3, 2, 11, 5), np.float32)
    unknown = {"shapes": {"x": ["n", 2, 11, 5]}}
    check(node, 13, 10, {"x": x}, {"s": floats(1, 1, 0.6, 1.7)}, **unknown, operators=["Gather", "Gather"])
    check(node, 13, 10, {"x": x}, {"s": floats(1, 1, 1, 1.7)}, **unknown, operators=["Gather"])
    for scale, size, code, why in (
        (1.7, "w", "C207", "a size is not known; a coordinate may be between two elements"),
        (1.12, 8, "C204", "is rounded to that before"),
    ):
        rows = {"shapes": {"x": ["n", 2, 11, size]}}
        error = refused(node, 13, 10, {"x": x}, code, {"s": floats(1, 1, 0.6, scale)}, **rows)
        assert why in str(error)
    assert "'scales'" in str(refused(node, 13, 10, {"x": x, "s": floats(1, 1, 1, 2)}, "C205", **unknown))
    empty = resize(["x", "", "", "z"], **how)
    assert "'sizes'" in str(refused(empty, 13, 10, {"x": x, "z": ints(3, 2, 7, 5)}, "C205", **unknown))
    assert "a size is not known" in str(refused(empty, 13, 10, {"x": x}, "C207", {"z": ints(3, 2, 7, 5)}, **unknown))


def test_an_axis_of_scale_1_may_be_long_but_not_empty(check, refused):
    node, scales = resize(["x", "", "s"], mode="cubic"), {"s": floats(1, 1, 1, 2)}
    check(node, 13, 10, {"x": RNG.random((1, 1, 9000, 3), np.float32)}, scales, **NEAR)
    nearest = resize(["x", "", "", "z"], nearest_mode="floor")
    check(nearest, 13, 10, {"x": RNG.random((2, 9000), np.float32)}, {"z": ints(4, 9000)}, shapes={"x": ["n", 9000]})
    refused(node, 13, 10, {"x": np.ones((1, 1, 1, 5000), np.float32)}, "C204", scales)
    for last in (1, 2):
        scales, rows = {"s": floats(1, 1, 1, last)}, {"shapes": {"x": [0, 1, 9, "w"]}}
        error = refused(node, 13, 10, {"x": np.ones((0, 1, 9, 3), np.float32)}, "C204", scales, **rows)
        assert "there are no elements to interpolate" in str(error)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_axes_that_keep_their_sizes_are_not_written_out(converted, mode):
    how = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
    sized = converted(resize(["x", "", "", "z"], **how), 13, 10, {"x": IMAGE}, {"z": ints(1, 2, 4, 12)})
    scaled = converted(resize(["x", "", "s"], **how), 13, 10, {"x": IMAGE}, {"s": floats(1, 1, 1, 2)})
    assert [each.op_type for each in sized.graph.node] == [each.op_type for each in scaled.graph.node]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(("scales", "axes"), [(floats(1, 1, 2, 0.5), [3, 2]), (floats(1, 1, 0.5, 2), [2, 3])])
def test_the_axis_that_shrinks_is_written_first(converted, mode, scales, axes):
    node = resize(["x", "", "s"], mode=mode, coordinate_transformation_mode="half_pixel")
    made = converted(node, 13, 10, {"x": IMAGE}, {"s": scales}).graph.node
    gathered = [attribute.i for each in made if each.op_type == "Gather" for attribute in each.attribute]
    assert [*dict.fromkeys(gathered)] == axes


@pytest.mark.parametrize("coordinates", [*COORDINATES, "tf_crop_and_resize"])
def test_empty_inputs_of_resize(check, coordinates):
    how = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    roi = floats(0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9) if coordinates == "tf_crop_and_resize" else NOTHING
    constants = {"r": roi, "s": WHOLE, "e": NOTHING, "z": ints(1, 2, 3, 9)}
    by_scale = check(resize(["x", "r", "s"], **how), 11, 13, {"x": IMAGE}, constants)
    by_size = check(resize(["x", "r", "e", "z"], **how), 11, 13, {"x": IMAGE}, constants)
    assert [list(m.graph.node[0].input) for m in (by_scale, by_size)] == [
        ["x", "r" * bool(roi.size), "s"],
        ["x", "r" * bool(roi.size), "", "z"],
    ]
    first = "r" if roi.size else ""
    check(resize(["x", first, "s"], **how), 13, 11, {"x": IMAGE}, constants)
    check(resize(["x", first, "", "z"], **how), 13, 11, {"x": IMAGE}, constants)
    check(resize(["x", "r", "e", "z"], **how), 11, 13, {"x": IMAGE, "z": constants["z"]}, constants)
    after = check(resize(["x", "r", "e", "z"], **how), 11, 13, {"x": IMAGE, "e": NOTHING}, constants)
    assert after.graph.node[0].input[2:] == ["", "z"]


@pytest.mark.parametrize("rounding", ["floor", "round_prefer_floor"])
@pytest.mark.parametrize("scales", [floats(1, 1, 1.75, 2.25), floats(1, 1, 0.5, 0.375), floats(1, 1, 1.75, 0.5), WHOLE])
def test_a_mode_of_coordinates_that_is_gone(check, refused, scales, rounding):
    gone = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": rounding}
    check(resize(["x", "r", "s"], **gone), 11, 13, {"x": IMAGE}, {"r": NOTHING, "s": scales}, operators=["Resize"])
    for change in ({"nearest_mode": "ceil"}, {"nearest_mode": "round_prefer_ceil"}, {"mode": "linear"}):
        refused(
            resize(["x", "r", "s"], **{**gone, **change}), 11, 13, {"x": IMAGE}, "C204", {"r": NOTHING, "s": scales}
        )


def test_nearest_elements_stay_where_a_mode_is_gone_or_it_refuses(converted, evaluate):
    ends = Counter()

    @settings(max_examples=draws(60))
    @given(
        rounding=st.sampled_from(["floor", "round_prefer_floor"]),
        size=st.integers(1, 70),
        wanted=st.integers(1, 150) | st.floats(0.25, 4, width=32) | st.sampled_from([0.5, 2.0, 3.0]),
    )
    @example(rounding="floor", size=28, wanted=2)
    @example(rounding="round_prefer_floor", size=29, wanted=float(np.float32(7 / 3)))
    def law(rounding, size, wanted):
        x = np.arange(2 * size, dtype=np.float32).reshape(2, size)
        constants = {"r": NOTHING, "e": NOTHING, "s": floats(1, wanted), "z": ints(2, wanted)}
        how = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": rounding}
        given_inputs = ["x", "r", "e", "z"] if isinstance(wanted, int) else ["x", "r", "s"]
        old = converted(resize(given_inputs, **how), 11, 11, {"x": x}, constants)
        try:
            new = converted(resize(given_inputs, **how), 11, 13, {"x": x}, constants)
        except ConversionError as error:
            ends[error.findings[0].code] += 1
            return
        assume(isinstance(wanted, int) or size * wanted >= 1)
        ends["converted"] += 1
        np.testing.assert_array_equal(evaluate(old, {"x": x})[0], evaluate(new, {"x": x})[0])

    law()
    assert {*ends} == {"C204", "converted"}
    assert ends["converted"] > ends["C204"]


@pytest.mark.parametrize(("size", "scale", "out"), [(20, 1.05, 21), (10, 0.7, 7), (20, 0.35, 7), (20, 1.15, 23)])
def test_an_output_size_is_the_product_in_single_precision(check, build, evaluate, size, scale, out):
    """The exact product is below the whole number, and rounded to it."""
    x, constants = np.arange(2 * size, dtype=np.float32).reshape(2, size), {"r": NOTHING, "s": floats(1, scale)}
    rounding = "ceil" if scale > 1 else "floor"
    how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": rounding}
    upsample = node("Upsample", ["x"], ["y"], scales=[1.0, max(scale, 1.0)])
    for made, version in (
        (resize(["x", "s"]), 10),
        (resize(["x", "r", "s"], **how), 11),
        (resize(["x", "", "s"], **how), 13),
        (node("Upsample", ["x", "s"], ["y"]), 9),
        (upsample, 7),
    ):
        if scale > 1 or made.op_type == "Resize":
            model = build(made, version, {"x": x}, constants)
            assert evaluate(model, {"x": x})[0].shape == (2, out)
            assert opset.ReferenceEvaluator(model).run(None, {"x": x})[0].shape == (2, out)
            assert opset.infer(model).shape("y") == (2, out)
    check(resize(["x", "s"]), 10, 13, {"x": x}, constants)
    check(resize(["x", "r", "s"], **how), 11, 10, {"x": x}, constants, operators=["Gather"])


def test_one_of_scales_and_sizes(refused):
    both = {"r": NOTHING, "s": WHOLE, "z": ints(1, 2, 3, 9)}
    refused(resize(["x", "r", "s", "z"]), 11, 13, {"x": IMAGE}, "C103", both)
    refused(resize(["x", "r", "s"]), 11, 13, {"x": IMAGE}, "C103", {"r": NOTHING, "s": NOTHING})
    refused(resize(["x", "", "s", "z"]), 13, 11, {"x": IMAGE}, "C103", both)
    refused(resize(["x", "r"]), 13, 11, {"x": IMAGE}, "C103", both)


@pytest.mark.parametrize("axes", [[2, 3], [-1, -2], [3]])
@pytest.mark.parametrize("known", [True, False])
def test_scales_and_sizes_of_some_axes(check, axes, known):
    values = {"s": floats(1.5, 0.5)[: len(axes)], "z": ints(7, 5)[: len(axes)]}
    for inputs, name in ((["x", "", "s"], "s"), (["x", "", "", "z"], "z")):
        feeds, constants = ({"x": IMAGE}, values) if known else ({"x": IMAGE, name: values[name]}, {})
        for shape in (IMAGE.shape, ["N", "C", "H", "W"], ["N", *IMAGE.shape[1:]]):
            check(resize(inputs, mode="linear", axes=axes), 18, 17, feeds, constants, shapes={"x": shape})


def test_regions_of_some_axes(check):
    crop = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "axes": [3, 2]}
    constants = {"r": floats(0.1, 0.2, 0.9, 0.7), "z": ints(7, 5), "s": floats(1.5, 2)}
    feeds = {"x": IMAGE}
    for model in (
        check(resize(["x", "r", "", "z"], **crop), 18, 17, feeds, constants),
        check(resize(["x", "r", "", "z"], **crop), 18, 17, {**feeds, "r": constants["r"]}, constants),
    ):
        # onnxruntime crops no axis of scale 1, so it does not notice the regions of other axes.
        names = [value.name for value in model.graph.input]
        (y,) = opset.ReferenceEvaluator(model).run(None, {name: {**feeds, **constants}[name] for name in names})
        assert np.ptp(y, axis=1).all()


@pytest.mark.parametrize(
    ("policy", "sizes", "axes", "kept"),
    [
        ("not_larger", (9, 6), [3, 2], (1, 2, 6, 9)),
        ("not_larger", (12, 6), [3, 2], (1, 2, 6, 9)),
        ("not_smaller", (3, 6), [3, 2], (1, 2, 6, 9)),
        ("not_smaller", (1, 2, 4, 3), None, (1, 2, 4, 6)),
        ("stretch", (3, 5), [3, 2], (1, 2, 5, 3)),
        ("not_larger", (12,), [3], (1, 2, 4, 12)),
    ],
)
def test_a_common_scale_that_leads_to_whole_sizes(check, policy, sizes, axes, kept):
    how = {"mode": "linear", "keep_aspect_ratio_policy": policy, "axes": axes}
    after = check(
        resize(["x", "", "", "z"], **{k: v for k, v in how.items() if v}), 18, 17, {"x": IMAGE}, {"z": ints(*sizes)}
    )
    values = [tensor_of(n) for n in after.graph.node if n.op_type == "Constant"]
    assert kept in [tuple(value) for value in values]


@pytest.mark.parametrize("sizes", [(1, 2, -4, 6), (1, 2, 6)])
def test_sizes_that_are_no_sizes_are_refused(sizes):
    listed = ", ".join(map(str, sizes))
    text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[1, 2, 4, 6] x) => (float[?, ?, ?, ?] y)
        <int64[{len(sizes)}] z = {{{listed}}}> {{
        y = Resize <mode = "linear", keep_aspect_ratio_policy = "not_larger"> (x, , , z) }}"""
    (refusal,) = opset.plan(opset.parse_model(text), 17).refusals
    assert (refusal.code, refusal.why) == ("C103", f"'sizes' is [{listed}], for dimensions of [1, 2, 4, 6]")


def tensor_of(constant):
    return numpy_helper.to_array(constant.attribute[0].t).tolist()


@pytest.mark.parametrize("policy", ["not_smaller", "not_larger"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(7, 3), (9, 3), (6, 9), (5, 2), (6, 4)])
def test_a_common_scale_that_rounds_or_is_not_known(check, policy, mode, sizes):
    wanted = ints(*sizes)
    how = {"mode": mode, "keep_aspect_ratio_policy": policy, "nearest_mode": "floor"}
    keep = resize(["x", "", "", "z"], **how, axes=[3, 2])
    for to in (17, 9):
        check(keep, 18, to, {"x": IMAGE, "z": wanted}, **NEAR)
    check(keep, 18, 13, {"x": IMAGE}, {"z": wanted}, **NEAR)
    check(keep, 18, 10, {"x": IMAGE}, {"z": wanted}, shapes={"x": [1, 2, 4, "W"]}, **NEAR)


def test_a_policy_that_does_not_apply(check, converted, refused):
    corners = {"coordinate_transformation_mode": "align_corners", "keep_aspect_ratio_policy": "not_larger"}
    corner = resize(["x", "", "", "z"], **corners, axes=[2, 3])
    check(corner, 18, 17, {"x": IMAGE, "z": ints(3, 7)}, kinds={"y": 1}, **NEAR)
    refused(
        resize(["x", "", "", "z"], keep_aspect_ratio_policy="?"), 18, 17, {"x": IMAGE}, "C103", {"z": ints(1, 2, 4, 6)}
    )
    # A policy for sizes says nothing about scales.
    ignored = resize(["x", "", "s"], keep_aspect_ratio_policy="not_larger")
    assert not converted(ignored, 18, 17, {"x": IMAGE}, {"s": BOTH}).graph.node[0].attribute


def test_antialiasing_where_something_shrinks(check, refused):
    grow, shrink = {"s": GROW}, {"s": BOTH}
    for mode in ("linear", "cubic"):
        check(resize(["x", "", "s"], mode=mode, antialias=1), 18, 17, {"x": IMAGE}, grow, rtol=1e-5, atol=1e-5)
        check(resize(["x", "", "s"], mode=mode, antialias=1), 18, 17, {"x": IMAGE}, shrink, rtol=1e-5, atol=1e-5)
        refused(resize(["x", "", "s"], mode=mode, antialias=1), 18, 17, {"x": IMAGE, "s": GROW}, "C205")
        sized = resize(["x", "", "", "z"], mode=mode, antialias=1, axes=[2, 3])
        check(sized, 18, 17, {"x": IMAGE}, {"z": ints(5, 6)}, rtol=1e-5, atol=1e-5)
        check(sized, 18, 9, {"x": IMAGE}, {"z": ints(5, 5)}, rtol=1e-5, atol=1e-5)
        check(sized, 18, 17, {"x": IMAGE}, {"z": ints(2, 3)}, rtol=1e-5, atol=1e-5)
    check(resize(["x", "", "s"], mode="nearest", antialias=0), 18, 17, {"x": IMAGE}, shrink)
    for scale in (np.nan, -np.inf, -1.0, 0.0):
        scaled = resize(["x", "", "s"], mode="linear", antialias=1, axes=[2, 3])
        refused(scaled, 18, 17, {"x": IMAGE}, "C103", {"s": floats(2, scale)})


def test_wrong_axes_are_refused(refused):
    for axes, scales in (([2, -2], (2, 2)), ([4], (2,)), ([2, 3], (2,))):
        refused(resize(["x", "", "s"], axes=axes), 18, 17, {"x": IMAGE}, "C103", {"s": floats(*scales)})
    refused(resize(["x", "", "s"], axes=[2]), 18, 17, {"x": IMAGE}, "C207", {"s": floats(2)}, shapes={"x": None})


def test_symmetry_where_no_size_is_rounded(check, refused):
    how = {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}
    near = {"rtol": 1e-5, "atol": 1e-6}
    for scales in (WHOLE, floats(1, 1, 0.75, 1.5)):
        check(resize(["x", "", "s"], **how), 19, 18, {"x": IMAGE}, {"s": scales}, **near)
    check(resize(["x", "", "s"], **how, axes=[3]), 19, 18, {"x": IMAGE}, {"s": floats(1.5)}, **near)
    check(resize(["x", "", "", "z"], **how, axes=[3]), 19, 18, {"x": IMAGE}, {"z": ints(7)}, **near)
    unknown = {"shapes": {"x": ["N", "C", "H", "W"]}}
    check(resize(["x", "", "s"], **how), 19, 18, {"x": IMAGE}, {"s": WHOLE}, **unknown, **near)
    check(resize(["x", "", "s"], **how), 19, 18, {"x": IMAGE}, {"s": GROW}, **near)
    refused(resize(["x", "", "s"], **how), 19, 18, {"x": IMAGE}, "C207", {"s": floats(1, 1, 1.5, 1)}, **unknown)
    refused(resize(["x", "", "s"], **how), 19, 18, {"x": IMAGE, "s": WHOLE}, "C205")
    policy = {**how, "keep_aspect_ratio_policy": "not_larger"}
    refused(resize(["x", "", "", "z"], **policy, axes=[3]), 19, 18, {"x": IMAGE}, "C204", {"z": ints(7)})
    check(resize(["x", "", "s"], mode="linear"), 19, 18, {"x": IMAGE}, {"s": GROW}, operators=["Resize"])


def test_two_nodes_for_one_have_two_names(check):
    after = check(
        node("Resize", ["x", "s"], ["y"], name="it"),
        10,
        11,
        {"x": IMAGE},
        {"s": floats(1, 1, 2, 0.5)},
        operators=["Resize", "Resize"],
    )
    names = [made.name for made in after.graph.node if made.op_type == "Resize"]
    assert "it" in names and len(set(names)) == 2


def test_a_region_that_nothing_looks_at_may_be_empty(check):
    feeds = {"x": IMAGE, "r": NOTHING}
    half = resize(["x", "r", "s"], axes=[2, 3], mode="nearest")
    for to in (17, 13, 11):
        check(half, 18, to, feeds, {"s": floats(2, 2)})


def test_antialias_of_integers(check, refused):
    node = resize(["x", "", "s"], mode="linear", antialias=1)
    scales = {"s": floats(1, 1, 2, 2)}
    check(node, 18, 17, {"x": IMAGE}, scales, rtol=1e-5)
    x = (IMAGE * 9).astype(np.int32)
    refused(node, 18, 17, {"x": x}, "C204", scales)
    nearest = resize(["x", "", "s"], mode="nearest", antialias=1)
    check(nearest, 18, 17, {"x": x}, scales, expect=[x.repeat(2, 2).repeat(2, 3)], operators=["Resize"])


def test_growth_that_may_change_no_size_beside_shrinking(check, refused):
    check(resize(["x", "s"]), 10, 11, {"x": IMAGE}, {"s": floats(1, 1, 1.3, 0.5)})
    for shape in ([1, 2, "H", "W"], None):
        check(resize(["x", "s"]), 10, 11, {"x": IMAGE}, {"s": floats(1, 1, 2, 0.5)}, shapes={"x": shape})
    for scale, shape in ((1.1, [1, 2, 4, 6]), (1.9, [1, 2, "H", "W"])):
        refused(resize(["x", "s"]), 10, 11, {"x": IMAGE}, "C204", {"s": floats(1, 1, scale, 0.5)}, shapes={"x": shape})


def test_antialias_where_growing_changes_no_size(check, refused):
    how = resize(["x", "", "s"], mode="linear", antialias=1)
    check(how, 18, 17, {"x": IMAGE}, {"s": floats(1, 1, 1.3, 2)}, rtol=1e-5, operators=["Resize"])
    open_sizes = {"shapes": {"x": [1, 2, "H", "W"]}, "operators": ["Resize"]}
    check(how, 18, 17, {"x": IMAGE}, {"s": floats(1, 1, 2, 3)}, rtol=1e-5, **open_sizes)
    refused(how, 18, 17, {"x": IMAGE}, "C204", {"s": floats(1, 1, 1.1, 2)})
    refused(how, 18, 17, {"x": IMAGE}, "C204", {"s": floats(1, 1, 1.3, 2)}, shapes={"x": [1, 2, "H", "W"]})
    unranked = {"shapes": {"x": None}}
    check(how, 18, 17, {"x": IMAGE}, {"s": floats(1, 1, 2, 3)}, rtol=1e-5, **unranked, operators=["Resize"])
    refused(how, 18, 17, {"x": IMAGE}, "C207", {"s": floats(1, 1, 1.3, 2)}, **unranked)


def test_symmetry_at_the_edge_between_two_elements(check, refused):
    how = {"coordinate_transformation_mode": "half_pixel_symmetric", "nearest_mode": "floor"}
    for sizes in (ints(1, 2, 2, 3), ints(1, 2, 12, 18)):
        check(resize(["x", "", "", "z"], **how), 19, 18, {"x": IMAGE}, {"z": sizes})
    refused(resize(["x", "", "", "z"], **how), 19, 18, {"x": IMAGE}, "C204", {"z": ints(1, 2, 4, 2)})
    refused(resize(["x", "", "s"], **how), 19, 18, {"x": IMAGE}, "C204", {"s": floats(1, 1, 0.75, 1)})
    refused(resize(["x", "", "", "z"], **how), 19, 18, {"x": IMAGE, "z": ints(1, 2, 2, 3)}, "C205")
    whole = {"x": (IMAGE * 9).astype(np.int32)}
    check(resize(["x", "", "s"], **how | {"mode": "linear"}), 19, 18, whole, {"s": floats(1, 1, 2, 0.5)})
    refused(resize(["x", "", "s"], **how | {"mode": "linear"}), 19, 18, whole, "C204", {"s": floats(1, 1, 0.75, 1)})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scales", [WHOLE, GROW, SHRINK, BOTH])
def test_interpolation_is_written_out(check, refused, mode, coordinates, scales):
    node = resize(["x", "r", "s"], mode=mode, coordinate_transformation_mode=coordinates)
    constants = {"s": scales, "r": NOTHING}
    for to in (10, 7):
        check(node, 13, to, {"x": IMAGE}, constants, **NEAR)
    check(node, 13, 9, {"x": IMAGE}, constants, shapes={"x": ["n", 2, "h", "w"]}, **NEAR)
    if (coordinates, mode) == ("asymmetric", "linear"):
        check(node, 13, 10, {"x": IMAGE, "s": scales}, {"r": NOTHING}, **NEAR)  # as version 10 does it
    else:
        refused(node, 13, 10, {"x": IMAGE, "s": scales}, "C205", {"r": NOTHING})


@pytest.mark.parametrize("size", [5, 8, 11])
@pytest.mark.parametrize("scale", [0.45, 0.7, 1.3, 1.7])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_size_that_is_rounded(check, mode, coordinates, scale, size):
    node = resize(["x", "r", "s"], mode=mode, coordinate_transformation_mode=coordinates, nearest_mode="floor")
    x = np.random.default_rng(size).random((1, 1, 3, size), np.float32)
    for to in (10, 9, 7):
        check(node, 13, to, {"x": x}, {"s": floats(1, 1, 1, scale), "r": NOTHING}, **NEAR)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_where_no_size_changes_runtimes_copy_and_do_not_interpolate(check, refused, mode):
    node = resize(["x", "r", "s"], mode=mode, coordinate_transformation_mode="half_pixel")
    x = IMAGE[:, :, :3, :3]
    refused(node, 13, 10, {"x": x}, "C204", {"s": floats(1, 1, 1.15, 1.15), "r": NOTHING})
    refused(node, 13, 10, {"x": x}, "C204", {"s": floats(1, 1, 1.15, 1), "r": NOTHING}, shapes={"x": [1, 2, "h", "w"]})
    check(node, 13, 10, {"x": x}, {"s": floats(1, 1, 1.15, 0.5), "r": NOTHING}, **NEAR)
    check(node, 13, 10, {"x": x}, {"s": floats(1, 1, 1, 1), "r": NOTHING}, **NEAR)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("region", [(0.2, 0.1, 0.7, 0.9), (-0.1, 0.2, 0.8, 1.3)])
def test_a_region_is_cropped(check, own, refused, mode, region):
    how = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.5}
    constants = {"r": floats(0, 0, *region[:2], 1, 1, *region[2:]), "z": ints(1, 2, 7, 3)}
    for to in (10, 9):
        check(resize(["x", "r", "", "z"], **how), 13, to, {"x": IMAGE}, constants, **NEAR)
    kept = {**constants, "z": ints(1, 2, 4, 3)}  # runtimes take an axis whole if its size stays
    expect = own(resize(["x", "r", "", "z"], **how), 13, {"x": IMAGE, **kept})
    check(resize(["x", "r", "", "z"], **how), 13, 10, {"x": IMAGE}, kept, expect=expect, **NEAR)
    refused(resize(["x", "r", "s"], **how), 13, 10, {"x": IMAGE}, "C204", {**constants, "s": GROW})
    refused(resize(["x", "r", "", "z"], **how), 13, 10, {"x": IMAGE, **constants}, "C205")


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("run_time", [False, True])
def test_cubic_interpolation_to_sizes(check, coordinates, outside, run_time):
    how = {"coordinate_transformation_mode": coordinates, "exclude_outside": outside, "cubic_coeff_a": -0.5}
    node = resize(["x", "", "", "z"], mode="cubic", **how)
    feeds, constants = {"x": IMAGE}, {"z": ints(1, 2, 7, 3)}
    if run_time:
        feeds |= constants
        constants = {}
    for to in (10, 9):
        check(node, 13, to, feeds, constants, **NEAR)


def test_interpolation_of_other_elements(check, refused):
    node = resize(["x", "", "s"], mode="linear")
    check(node, 13, 10, {"x": IMAGE.astype(np.float64)}, {"s": BOTH}, expect=None, **NEAR)
    refused(node, 13, 10, {"x": (IMAGE * 9).astype(np.int32)}, "C204", {"s": BOTH})


def test_what_is_not_resized_keeps_infinity_apart(check):
    x = IMAGE.copy()
    x[0, 0, 1, 1] = np.inf
    node = resize(["x", "", "s"], mode="linear", coordinate_transformation_mode="half_pixel")
    after = check(node, 13, 10, {"x": IMAGE}, {"s": WHOLE}, **NEAR)
    found = opset.ReferenceEvaluator(after).run(None, {"x": x})[0]
    assert np.isfinite(found[0, 1]).all()


@pytest.mark.parametrize(
    "chain",
    [
        "a = Constant <value = float[2] {1, 1}> () b = Constant <value = float[2] {1.5, 3}> ()"
        "s = Concat <axis = 0> (a, b)",
        "a = Constant <value = int64[4] {2, 2, 3, 6}> () f = Cast <to = 1> (a) b = Constant <value = float {2}> ()"
        "s = Div (f, b)",
    ],
)
def test_scales_that_follow_from_a_few_constants(run, chain):
    text = '<ir_version: 7, opset_import: ["": 13]> g (float[1, 1, 2, 4] x) => (float[1, 1, 3, 12] y) '
    text += "{" + chain + ' y = Resize <coordinate_transformation_mode = "half_pixel"> (x, "", s) }'
    before = onnx.parser.parse_model(text)
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)}
    np.testing.assert_array_equal(run(opset.convert(before, 9), feeds)[0], run(before, feeds)[0])


def test_nearest_elements_by_a_common_scale_that_rounds_a_size(check):
    how = {"keep_aspect_ratio_policy": "not_smaller", "axes": [2, 3]}
    check(resize(["x", "", "", "s"], **how), 18, 9, {"x": IMAGE[:, :, :2, :4]}, {"s": ints(1, 3)})


def resize_by_shape(mode, spatial, sizes="N C H W"):
    """Return a model that resizes images to a height and width, beside the first two sizes of the input."""
    given = "int64[2] hw" if spatial is None else ""
    constant = "" if spatial is None else f"hw = Constant <value = int64[2] {{{spatial[0]}, {spatial[1]}}}> ()"
    text = f"""<ir_version: 8, opset_import: ["": 13]>
    g (float[{sizes.replace(" ", ",")}] x{", " + given if given else ""}) => (float[A, B, D, E] y) {{
        {constant} s = Shape (x) zero = Constant <value = int64[1] {{0}}> () two = Constant <value = int64[1] {{2}}> ()
        kept = Slice (s, zero, two) sizes = Concat <axis = 0> (kept, hw)
        y = Resize <mode = "{mode}", coordinate_transformation_mode = "align_corners"> (x, "", "", sizes) }}"""
    return onnx.parser.parse_model(text)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("spatial", [None, (7, 3), (1, 4)])
@pytest.mark.parametrize("to", [10, 9, 7])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max])
def test_axes_that_sizes_keep_are_left_alone(run, mode, spatial, to, bad):
    before = resize_by_shape(mode, spatial)
    after = opset.convert(before, to)
    x = np.random.default_rng(3).random((3, 2, 4, 5), np.float32)
    feeds = {"x": x} | ({} if spatial else {"hw": ints(7, 3)})
    (clean,) = run(before, feeds)
    np.testing.assert_allclose(run(after, feeds)[0], clean, rtol=1e-5, atol=1e-6)
    x[1] = bad
    (found,) = run(after, feeds)
    kept = found.shape == clean.shape and found[[0, 2]]
    np.testing.assert_array_equal(kept, run(after, feeds | {"x": np.where(x == x[1, 0, 0, 0], 0, x)})[0][[0, 2]])
    assert np.isfinite(kept).all()
    # Gathered are the neighbours along height and width, for each of which there are two, or four.
    assert sum(made.op_type == "Gather" for made in after.graph.node) <= 2 * (4 if mode == "cubic" else 2) + 4


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_axes_that_turn_out_to_keep_their_size_are_left_alone(mode):
    """Nothing shows before the run that two axes keep their sizes."""
    before = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> g (float[N, C, H, W] x, int64[4] s) => (float[A, B, D, E] y) '
        f'{{ y = Resize <mode = "{mode}"> (x, "", "", s) }}'
    )
    x = np.random.default_rng(3).random((3, 2, 4, 5), np.float32)
    x[1], x[2, 1, 0, 0] = np.nan, np.inf
    feeds = {"x": x, "s": ints(3, 2, 8, 15)}
    after = opset.convert(before, 10)
    want, have = (opset.ReferenceEvaluator(model).run(None, feeds)[0] for model in (before, after))
    np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def test_a_region_that_is_the_whole_axis_leaves_it_alone(run):
    before = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> g (float[3, 2, 4, 5] x) => (float[3, 2, 3, 5] y) {
        r = Constant <value = float[8] {0, 0, 0.25, 0, 1, 1, 0.75, 1}> ()
        s = Constant <value = int64[4] {3, 2, 3, 5}> ()
        y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, "", s) }"""
    )
    x = np.random.default_rng(3).random((3, 2, 4, 5), np.float32)
    x[1] = np.nan
    (want,) = run(before, {"x": x})
    for model in (before, opset.convert(before, 9)):
        np.testing.assert_allclose(opset.ReferenceEvaluator(model).run(None, {"x": x})[0], want, rtol=1e-5, atol=1e-6)


def test_a_region_is_cropped_where_open_sizes_stay():
    before = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> g (float[N, M] x) => (float[N, M] y)
        <float[4] r = {0.25, 0, 0.75, 1}> { s = Shape (x)
        y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, "", s) }"""
    )
    feeds = {"x": np.random.default_rng(3).random((5, 3), np.float32)}
    want, have = (opset.ReferenceEvaluator(model).run(None, feeds)[0] for model in (before, opset.convert(before, 10)))
    np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 4), (1, 1, 4, 1), (1, 1, 1, 1)])
@pytest.mark.parametrize("open_axes", ["N 1 4 6", "1 1 H 6", "1 1 4 W", "N C H W"])
def test_an_output_of_one_element_keeps_its_axis(mode, coordinates, sizes, open_axes):
    before = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13]> g (float[{open_axes.replace(" ", ",")}] x) => (float[A, B, D, E] y) '
        f"{{ s = Constant <value = int64[4] {{{str(sizes)[1:-1]}}}> () "
        f'y = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}"> (x, "", "", s) }}'
    )
    x = np.random.default_rng(3).random((1, 1, 4, 6), np.float32)
    try:
        after = opset.convert(before, 9)
    except ConversionError as error:
        assert mode == "nearest", str(error)
        return
    want, have = (opset.ReferenceEvaluator(model).run(None, {"x": x})[0] for model in (before, after))
    assert have.shape == want.shape == sizes
    np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("region", [(0.2, 0.7), (-0.3, 1.2), (0.0, 1.0)])
@pytest.mark.parametrize("count", [1, 3, 4, None])
@pytest.mark.parametrize("to", [10, 9, 7])
def test_a_region_of_an_axis_whose_size_is_open(mode, region, count, to):
    """The run shows how long the axis is: as long as the result, or not; and what is outside."""
    sizes = "int64[2] z" if count is None else f"int64[2] z = {{{count}, 2}}"
    before = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13]> g (float[N, 2] x{", " + sizes if count is None else ""}) => '
        f"(float[A, B] y) <float[4] r = {{{region[0]}, 0, {region[1]}, 1}}{', ' + sizes if count else ''}> {{ "
        f'y = Resize <mode = "{mode}", coordinate_transformation_mode = "tf_crop_and_resize", '
        'extrapolation_value = 7.5> (x, r, "", z) }'
    )
    evaluators = [opset.ReferenceEvaluator(model) for model in (before, opset.convert(before, to))]
    for length in (1, 2, 3, 4, 6):
        for target in [count] if count else [1, 2, 3, 4]:
            feeds = {"x": np.random.default_rng(3).random((length, 2), np.float32)}
            feeds |= {} if count else {"z": ints(target, 2)}
            want, have = (evaluator.run(None, feeds)[0] for evaluator in evaluators)
            assert have.shape == want.shape == (target, 2)
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sizes", [(3, 1), (3, 2), (7, 3)])
def test_antialiasing_in_double_is_exact_in_double(sizes):
    before = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (double[7, 4] x) => (double[A, B] y) '
        f"<int64[2] z = {{{str(sizes)[1:-1]}}}> {{ "
        'y = Resize <mode = "linear", antialias = 1> (x, "", "", z) }'
    )
    x = np.random.default_rng(3).random((7, 4))
    want, have = (
        opset.ReferenceEvaluator(model).run(None, {"x": x})[0] for model in (before, opset.convert(before, 17))
    )
    np.testing.assert_allclose(have, want, rtol=1e-14)


REFUSED = [
    (18, 17, "C207", "the rank of 'x' is not known",
     "(float[] x) => (float[] y) <int64[2] z = {1, 2}> { "
     'y = Resize<mode="linear", keep_aspect_ratio_policy="not_larger">(x, , , z) }'),
    (18, 17, "C207", "antialias is 1, and a size is not known",
     '(float[1,1,N,4] x) => (float[] y) <int64[4] z = {1, 1, 2, 2}> { '
     'y = Resize<mode="linear", antialias=1, keep_aspect_ratio_policy="not_larger">(x, , , z) }'),
    (18, 17, "C205", "the input 'sizes' ('z') is computed at run time",
     '(float[4,4] x, int64[2] z) => (float[] y) { y = Resize<mode="linear", antialias=1>(x, , , z) }'),
    (18, 17, "C205", "the input 'sizes' ('z') is computed at run time",  # and the size of one axis is known
     '(float[4,4] x, int64[1] k) => (float[a,2] y) <int64[1] two = {2}> { z = Concat<axis=0>(k, two) '
     'y = Resize<mode="linear", antialias=1>(x, , , z) }'),
    (18, 17, "C204", "each element depends on 200",
     '(float[400,4] x) => (float[] y) <int64[2] z = {4, 4}> { y = Resize<mode="linear", antialias=1>(x, , , z) }'),
    (18, 17, "C207", "antialias is 1, and a size",
     '(float[n,4] x) => (float[] y) <float[2] s = {0.5, 1}> { y = Resize<mode="cubic", antialias=1>(x, , s) }'),
    (18, 17, "C207", "the size of 'x' along axis 0 is not known",
     '(float[n,4] x) => (float[] y) <int64[2] z = {3, 4}> { y = Resize<mode="linear", antialias=1>(x, , , z) }'),
    (10, 9, "C204", "no axis can shrink",
     '(float[2,4] x) => (float[] y) <float[2] s = {1, 0.5}> { y = Resize<mode="nearest">(x, s) }'),
    (10, 9, "C103", "each is a positive",
     '(float[2,4] x) => (float[] y) <float[2] s = {1, -1}> { y = Resize<mode="nearest">(x, s) }'),
    (10, 9, "C103", "each is a positive",
     '(float[2,4] x) => (float[] y) <float[2] s = {1, inf}> { y = Resize<mode="nearest">(x, s) }'),
    *((13, 10, "C207", "the rank of 'x' is not known",
       f'(float[] x) => (float[] y) <{given}> {{ y = Resize<mode="{mode}", nearest_mode="floor">(x, {inputs}) }}')
      for given, inputs in (("float[2] s = {2, 3}", ", s"), ("int64[2] s = {2, 3}", ", , s"))
      for mode in ("nearest", "linear")),
    (11, 10, "C103", "there are 1 scales for 2",
     '(float[2,4] x) => (float[] y) <float[0] r = {}, float[1] s = {1.3}> { y = Resize<nearest_mode="floor">(x, '
     "r, s) }"),
    (11, 10, "C204", "runtimes leave axes of scale 1",
     '(float[2,n] x, int64[2] z) => (float[] y) <float[0] r = {}> { y = Resize<nearest_mode="floor", '
     'coordinate_transformation_mode="tf_half_pixel_for_nn">(x, r, r, z) }'),
    (11, 10, "C204", "no elements to copy",
     '(float[0,n] x, int64[2] z) => (float[] y) <float[0] r = {}> { y = Resize<nearest_mode="floor">(x, r, r, '
     "z) }"),
    (11, 10, "C204", "an axis is longer",
     "(float[2,n] x) => (float[] y) <float[0] r = {}, int64[2] z = {2, 9000}> { y = "
     'Resize<nearest_mode="floor">(x, r, r, z) }'),
    (11, 10, "C103", "'roi' is [0.0, 0.0, inf, 1.0]",
     "(float[2,4] x) => (float[] y) <float[4] r = {0, 0, inf, 1}, float[0] e = {}, int64[2] z = {2, 3}> { y = "
     'Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize">(x, r, e, z) }'),
    (11, 10, "C103", "'roi' is [0.0, 0.0, 1.0]",
     "(float[2,4] x) => (float[] y) <float[3] r = {0, 0, 1}, float[0] e = {}, int64[2] z = {2, 3}> { y = "
     'Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize">(x, r, e, z) }'),
    (18, 10, "C103", "there are 3 sizes for",
     '(float[2,4] x, int64[3] z) => (float[] y) { y = Resize<nearest_mode="floor", '
     'keep_aspect_ratio_policy="not_larger">(x, , , z) }'),
    (11, 10, "C204", "no elements to interpolate",
     '(float[0,4] x, int64[2] z) => (float[] y) <float[0] r = {}> { y = Resize<mode="linear">(x, r, r, z) }'),
    (11, 10, "C204", "an axis is longer",
     '(float[2,4] x) => (float[] y) <float[0] r = {}, int64[2] z = {2, 9001}> { y = Resize<mode="linear">(x, r, '
     "r, z) }"),
    (11, 10, "C103", "there are 1 scales for 2",
     '(float[2,4] x) => (float[] y) <float[0] r = {}, float[1] s = {1.3}> { y = Resize<mode="cubic">(x, r, s) }'),
    (11, 10, "C204", "cannot be resized to 9001",
     "(float[2,4] x) => (float[] y) <float[0] r = {}, int64[2] z = {2, 9001}> { y = "
     'Resize<nearest_mode="floor">(x, r, r, z) }'),
    (19, 18, "C103", "for axes [0, 1]",
     '(float[2,4] x) => (float[] y) <float[1] s = {2}> { y = Resize<mode="linear", '
     'coordinate_transformation_mode="half_pixel_symmetric", axes=[0,1]>(x, , s) }'),
    (18, 17, "C103", "for no axes",
     "(float[2,4] x) => (float[] y) <int64[0] z = {}> { y = Resize<axes: ints = [], "
     'keep_aspect_ratio_policy="not_larger">(x, , , z) }'),
    (18, 17, "C204", "a region is cropped",
     "(float[4,3] x) => (float[] y) <float[4] r = {0, 0.5, 1, 1}, int64[2] z = {5, 7}> { y = "
     'Resize<nearest_mode="floor", coordinate_transformation_mode="tf_crop_and_resize", '
     'keep_aspect_ratio_policy="not_larger">(x, r, , z) }'),
    (11, 10, "C103", "there are 3 sizes for 2",
     '(float[2,4] x) => (float[] y) <float[0] r = {}, int64[3] z = {2, 2, 2}> { y = Resize<mode="cubic">(x, r, r, '
     "z) }"),
    (11, 10, "C204", "is rounded to that before",
     '(float[1,3] x) => (float[] y) <float[0] r = {}, float[2] s = {1, 1.3}> { y = Resize<nearest_mode="floor">(x, '
     "r, s) }"),
    (11, 10, "C204", "no elements to interpolate",
     '(float[2,4] x) => (float[] y) <float[0] r = {}, int64[2] z = {2, 0}> { '
     'y = Resize<mode="linear", coordinate_transformation_mode="asymmetric">(x, r, r, z) }'),
    *((version, version - 1, "C203", "'c' is not known",
       f"(float[2] x) => (float[] y) <float[4] s = {{1, 1, 2, 2}}> {{ c = my.F(x)  d = {graph}  y = my.G(d) }}")
      for version, graph in ((7, "Upsample<scales=[1.0, 1.0, 2.0, 2.0]>(c)"), (13, "Resize(c, s, s)"),
                             (13, "Resize(c, , s)"))),
    (11, 10, "C205", "the input 'scales'",
     "(float[2,n] x, float[2] s) => (float[] y) <float[0] r = {}> { y = Resize(x, r, s) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("coordinates", "sizes", "computed"),
    [
        ("tf_half_pixel_for_nn", (1, 2, 7, 5), True),
        ("half_pixel", (1, 2, 3, 4), True),
        ("tf_crop_and_resize", (1, 2, 1, 5), False),
    ],
)
def test_coordinates_that_few_models_have(check, dtype, coordinates, sizes, computed):
    made = resize(["x", "r", "e", "z"], mode="linear", coordinate_transformation_mode=coordinates)
    feeds, constants = {"x": IMAGE.astype(dtype)}, {"r": floats(0, 0, 0.2, 0, 1, 1, 0.9, 1), "e": floats()}
    (feeds if computed else constants)["z"] = ints(*sizes)
    # The evaluator of this project has all modes in double, too.
    check(made, 11, 10, feeds, constants, judge=lambda model, given: opset.ReferenceEvaluator(model).run(None, given),
          **NEAR)  # fmt: skip


def resize_to_multiples(factors, opset_version, how):
    """Return a model that resizes images of any size to sizes that it computes: multiples, or quotients, of theirs."""
    op, numbers = ("Mul", factors) if isinstance(factors[0], int) else ("Div", [int(1 / factor) for factor in factors])
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": {opset_version}]>
    g (float[N, 3, {"H, W" if op == "Mul" else "4, 6"}] x) => (float[A, B, C, D] y)
    <float[0] e = {{}}, int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] four = {{4}},
     int64[2] f = {{{numbers[0]}, {numbers[1]}}}> {{
        s = Shape (x) kept = Slice (s, zero, two) rest = Slice (s, two, four) wanted = {op} (rest, f)
        z = Concat <axis = 0> (kept, wanted) y = Resize <{how}> (x, e, e, z) }}""")


GONE = 'coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = '


@pytest.mark.parametrize(
    ("factors", "how", "targets"),
    [
        ((2, 2), f'{GONE}"floor"', [7, 9, 10, 13, 19]),
        ((3, 1), f'{GONE}"floor"', [9, 10, 13]),
        ((2, 4), f'{GONE}"round_prefer_floor"', [13]),
        ((0.5, 0.5), f'{GONE}"floor"', [13]),
        ((2, 3), 'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"', [7, 10]),
        ((2, 3), 'mode = "linear", coordinate_transformation_mode = "asymmetric"', [10]),
    ],
)
def test_sizes_that_are_multiples_of_those_before_are_scales(evaluate, factors, how, targets):
    before = resize_to_multiples(factors, 11, how)
    for target in targets:
        after = opset.convert(before, target)
        kinds = [node.op_type for node in after.graph.node]
        assert ("Upsample" if target < 10 else "Resize") in kinds, target
        assert {"Gather", "MatMul"}.isdisjoint(kinds)
        for shape in ((1, 3, 4, 6), (2, 3, 4, 6)) if factors[0] < 1 else ((1, 3, 4, 6), (2, 3, 5, 7)):
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            np.testing.assert_array_equal(evaluate(before, {"x": x})[0], evaluate(after, {"x": x})[0])


@pytest.mark.parametrize(("factors", "refused"), [("2, 2", []), ("2, 0", []), ("2, 0", ["C204"])])
def test_a_size_may_be_multiplied_by_0(factors, refused):
    """Of no elements, the coordinates do not matter; version 10 has no scale of 0."""
    text = f"""<ir_version: 8, opset_import: ["": 11]> g (float[N, 3, 4, 6] x) => (float[A, B, C, D] y)
    <float[0] e = {{}}, int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] four = {{4}},
     int64[2] f = {{{factors}}}> {{
        s = Shape (x) kept = Slice (s, zero, two) rest = Slice (s, two, four) wanted = Mul (rest, f)
        z = Concat <axis = 0> (kept, wanted) y = Resize <{GONE}"floor"> (x, e, e, z) }}"""
    assert [each.code for each in opset.plan(opset.parse_model(text), 10 if refused else 13).refusals] == refused


def test_computed_sizes_of_what_has_no_known_rank_are_no_scales():
    text = f"""<ir_version: 8, opset_import: ["": 11]> g (float[] x, int64[4] z) => (float[] y) <float[0] e = {{}}> {{
        y = Resize <{GONE}"floor"> (x, e, e, z) }}"""
    assert [each.code for each in opset.plan(opset.parse_model(text), 13).refusals] == ["C207"]


@pytest.mark.parametrize("sizes", ["kept = Slice (s, zero, two) w = Slice (s, two, four) m = Add (w, f)", ""])
def test_sizes_that_may_be_no_multiples_are_no_scales(sizes):
    text = f"""<ir_version: 8, opset_import: ["": 11]>
    g (float[N, 3, H, W] x{"" if sizes else ", int64[2] kept, int64[2] m"}) => (float[A, B, C, D] y)
    <float[0] e = {{}}, int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] four = {{4}}, int64[2] f = {{1, 1}}> {{
        s = Shape (x) {sizes} z = Concat <axis = 0> (kept, m) y = Resize <{GONE}"floor"> (x, e, e, z) }}"""
    (refusal,) = opset.plan(opset.parse_model(text), 13).refusals
    assert (refusal.code, refusal.why) == ("C205", "the input 'sizes' ('z') is computed at run time")
