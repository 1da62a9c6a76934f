"""Resize, and Upsample before it: coordinate transformations, and the meaning of the inputs."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from opset.adapters.building.positions import Size, as_vector, size_name, sizes_of, vector_of
from opset.adapters.building.shared import INTEGERS, constant_ints, distinct_axes, float32, need_dims, need_size
from opset.adapters.limits import MAX_GATHERED
from opset.errors import safe_text
from opset.model.elements import NUMBERS
from opset.model.types import Constant
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal, Result

if TYPE_CHECKING:
    from opset.adapters.building.interpolation import ScaledAxis

X, ROI, SCALES, SIZES = range(4)
SINCE_11 = ("coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "nearest_mode")
ROUNDING = ("round_prefer_floor", "round_prefer_ceil")


@up("Upsample", since=7)
def upsample_7_up(op: Builder, node: Node) -> Result:
    """Write the scales of height and width as scales of all axes; `bilinear` is `linear` if two axes are scaled."""
    scales = [1.0, 1.0, node.attr("height_scale"), node.attr("width_scale")]
    mode = {"mode": "linear"} if node.attr("mode") == "bilinear" else {}
    return op.copy(node, drop=["height_scale", "width_scale"], scales=scales, **mode)


@down("Upsample", since=7)
def upsample_7_down(op: Builder, node: Node) -> Result:
    """Write the scales of height and width, the only axes that could be scaled."""
    node.need_element(X)
    scales = node.attr("scales")
    if len(scales) != 4 or scales[:2] != [1.0, 1.0]:
        label = "`scales` changes other axes; version 1 scales the last two of four dimensions"
        raise Refusal("C204", f"'scales' is {scales}; version 1 scales the last two of four dimensions", label=label)
    mode = {"mode": "bilinear"} if node.attr("mode") == "linear" else {}
    return op.copy(node, drop=["scales"], height_scale=scales[2], width_scale=scales[3], **mode)


@lower("Resize", since=10)
def resize_lowered(op: Builder, node: Node) -> Result:
    """Write Upsample if no axis shrinks, else interpolate."""
    scales = node.constant(1)
    if scales is not None and all(scale >= 1 for scale in _valid_scales(scales)):
        return op.Upsample(*node.inputs, mode=node.attr("mode"))
    if node.attr("mode") != "linear":
        node.need_constant(1)
        raise Refusal("C204", "before version 10 no axis can shrink by copying elements")
    return _interpolate(op, node, 1)


@up("Resize", since=11)
@refuses("C204", "`scales` grows an axis that keeps its size, where runtimes copy")
def resize_11_up(op: Builder, node: Node) -> Result:
    """State the coordinates of version 10, in which an output coordinate was divided by the scale.

    The nearest element was the one below if a dimension grows, and the one above if it shrinks, as in the standard's
    test cases. A node that may do both becomes two nodes.
    """
    mode = node.attr("mode")
    x = node.input(X)
    scales = node.input(1)
    roi = op.const([], "float")
    if mode == "linear":
        return op.copy(node, inputs=[x, roi, scales], coordinate_transformation_mode="asymmetric")
    constant = node.constant(1)
    factors = [1.0] if constant is None else _valid_scales(constant)
    for rounding, bound in (("floor", min), ("ceil", max)):
        if constant is not None and all(bound(scale, 1.0) == 1.0 for scale in factors):
            return _with_asymmetric_coordinates(op, node, [x, roi, scales], rounding)
    sizes = node.shape(X) or (None,) * len(factors)
    if constant is not None and not any(map(_certainly_grows, factors, sizes)):
        label = "`scales` grows an axis that keeps its size, where runtimes copy"
        why = f"'scales' is {list(factors)}; runtimes copy where growing axes keep their sizes"
        raise Refusal("C204", why, label=label)
    one = op.const(1.0, "float") if constant is None else ""
    shrinking = op.Min(scales, one) if one else op.const([min(scale, 1.0) for scale in factors], "float")
    growing = op.Max(scales, one) if one else op.const([max(scale, 1.0) for scale in factors], "float")
    smaller = _with_asymmetric_coordinates(op, node, [x, roi, shrinking], "ceil", [op.fresh("smaller")])
    return _with_asymmetric_coordinates(op, node, [smaller, roi, growing], "floor")


def _valid_scales(constant: Constant) -> list[float]:
    """Return the elements of a constant as scales; raise Refusal C103 if one is not positive and finite."""
    scales = [float(scale) for scale in constant.values if isinstance(scale, int | float)]
    if len(scales) < len(constant.values) or not all(math.isfinite(scale) and scale > 0 for scale in scales):
        raise Refusal("C103", f"'scales' is {list(constant.values)}: each is a positive number")
    return scales


def _certainly_grows(scale: float, size: int | str | None) -> bool:
    """Whether an axis certainly becomes longer."""
    return scale >= 2 or (isinstance(size, int) and _output_size(size, Fraction(scale)) > size)


def _output_size(size: int, scale: Fraction) -> int:
    """Return the size of an axis after resizing: the product in FLOAT, the type of scales, rounded down."""
    # The standard writes floor(size * scale); runtimes multiply in FLOAT, in which 20 times 1.05 is 21.
    return math.floor(float32(float(size * scale)))


def _with_asymmetric_coordinates(
    op: Builder, node: Node, inputs: list[str], rounding: str, outputs: list[str] | None = None
) -> str:
    """Return the node with asymmetric coordinates and a mode for the nearest elements."""
    mode = "asymmetric"
    return str(
        op.copy(node, inputs=inputs, outputs=outputs, coordinate_transformation_mode=mode, nearest_mode=rounding)
    )


@down("Resize", since=11)
@refuses(
    "C204",
    "a coordinate is at the edge between two elements",
    "a size is rounded to that of the input, and then some runtimes copy the axis",
    "the mode has no equivalent with these coordinates",
    "a region is cropped, and the elements nearest to its coordinates have no equivalent",
    "no axis may change its size, and then some runtimes copy the tensor and others interpolate by the scales",
    "there are no elements to copy",
    "there are no elements to interpolate",
)
def resize_11_down(op: Builder, node: Node) -> Result:
    """Keep a node that means the same at version 10, with scales in place of sizes; write out any other node.

    Otherwise the nearest elements are gathered by their indices, which the model computes if they are not known.
    """
    mode = node.attr("mode")
    coordinates = node.attr("coordinate_transformation_mode")
    constant = node.constant(SCALES)
    sized = node.input(SIZES) and (constant is None or not constant.values)
    if mode == "linear" and coordinates == "asymmetric" and not sized:
        return op.copy(node, inputs=[node.input(X), node.input(SCALES)], drop=SINCE_11)
    is_known = _has_known_numbers(node, bool(sized))
    is_growth = sized and not is_known and coordinates != "tf_crop_and_resize"
    growth = node.values.growth(node.input(X), node.output(0)) if is_growth else None
    if growth and _is_same_at_10(node, growth):
        return op.copy(node, inputs=[node.input(X), op.const(list(map(float, growth)), "float")], drop=SINCE_11)
    if mode == "cubic" or (mode == "linear" and (coordinates == "tf_crop_and_resize" or not is_known)):
        return _interpolate(op, node)
    if mode not in ("nearest", "linear") or coordinates == "tf_crop_and_resize":
        label = "the mode has no equivalent with these coordinates"
        why = f"mode {safe_text(mode)} with coordinates {safe_text(coordinates)} has no equivalent"
        raise Refusal("C204", why, label=label)
    if mode == "nearest" and not is_known and (sized or constant is None):
        return _gather_nearest(op, node)
    scales = _exact_scales(node, bool(sized))
    if _is_same_at_10(node, scales):
        constants = op.const([float(scale) for scale in scales], "float") if sized else node.input(SCALES)
        return op.copy(node, inputs=[node.input(X), constants], drop=SINCE_11)
    if mode == "linear":
        return _interpolate(op, node)
    if not is_known:
        return _gather_nearest(op, node)
    if coordinates == "tf_half_pixel_for_nn":
        raise Refusal("C204", "runtimes leave axes of scale 1 as they are, where these coordinates may be rounded up")
    if len(scales) != node.need_rank(X):
        raise Refusal("C103", f"there are {len(scales)} scales for {node.rank(X)} dimensions")
    y = node.input(X)
    for axis, scale in enumerate(scales):
        size = need_size(node, X, axis)
        indices = _nearest_indices(node, size, scale)
        if len(indices) != size:
            y = op.Gather(y, op.const(indices), axis=axis)
    return y


def _halves_are_exact(node: Node) -> bool:
    """Whether scales alone show that each coordinate is exactly half between two elements, or far from it."""
    return not node.input(SIZES) and all(
        _is_exact(Fraction(scale)) for scale in _valid_scales(node.need_constant(SCALES))
    )


def _has_known_numbers(node: Node, sized: bool) -> bool:
    """Whether scales, or sizes before and after, are numbers; nearest elements by scales require sizes too."""
    if node.constant(SIZES if sized else SCALES) is None:
        return False
    shaped = all(isinstance(size, int) for size in node.shape(X) or (None,))
    return shaped or (not sized and node.attr("mode") != "nearest")


def _gather_nearest(op: Builder, node: Node) -> Result:
    """Return the nearest elements, by coordinates computed in FLOAT; raise Refusal if runtimes may take others."""
    from opset.adapters.building.interpolation import nearest_elements

    coordinates = node.attr("coordinate_transformation_mode")
    rounding = node.attr("nearest_mode")
    if coordinates == "tf_half_pixel_for_nn":
        raise Refusal("C204", "runtimes leave axes of scale 1 as they are, where these coordinates may be rounded up")
    if coordinates == "tf_crop_and_resize":
        raise Refusal("C204", "a region is cropped, and the elements nearest to its coordinates have no equivalent")
    if rounding in ROUNDING and coordinates != "align_corners" and not _halves_are_exact(node):
        # onnxruntime takes coordinates next to a half for one; only known sizes show whether there are any.
        y = node.input(X)
        for axis in _axes_to_resize(op, node, SCALES):
            if isinstance(axis.size, str) or isinstance(axis.output, str) or isinstance(axis.scale, str):
                break
            scale = Fraction(axis.scale)
            if node.input(SIZES):
                indices = _select_nearest(node, scale, axis.size, axis.output)
            else:
                indices = _nearest_indices(node, axis.size, scale)
            y = op.Gather(y, op.const(indices), axis=axis.number)
        else:
            return y
        if node.input(SIZES):
            node.need_constant(SIZES)
        why = "a size is not known; a coordinate may be between two elements, where its last bit decides"
        raise Refusal("C207", why, FIX_SIZES)
    if not node.input(SIZES) and rounding != "ceil":
        # Rounding up copies such an axis too: no coordinate is lower by 1 than the position.
        scales = _valid_scales(node.need_constant(SCALES))
        if any(scale > 1 and not _certainly_grows(scale, None) for scale in scales):
            label = "`scales` may grow axes that keep their sizes, where runtimes copy, and the sizes are not known"
            raise Refusal(
                "C207",
                f"'scales' is {scales}; runtimes copy where growing axes keep their sizes, and the sizes are not known",
                FIX_SIZES,
                label=label,
            )
    axes = [axis for axis in _axes_to_resize(op, node, SCALES) if axis.scale != 1]
    _charge_gathering(node, axes, "there are no elements to copy")
    return nearest_elements(op, node.input(X), axes, coordinates, rounding)


def _axes_to_resize(op: Builder, node: Node, scales: int, region: list[float] | None = None) -> list[ScaledAxis]:
    """Return the axes to resize, or to crop to a region, without those whose sizes certainly stay."""
    from opset.adapters.building.interpolation import ScaledAxis

    rank = node.need_rank(X)
    numbers = node.ints("axes")
    indices = list(range(rank)) if numbers is None else distinct_axes(numbers, rank)
    count = len(indices)
    region = region or [0.0] * count + [1.0] * count
    if len(region) != 2 * count or not all(map(math.isfinite, region)):
        raise Refusal("C103", f"'roi' is {region}, for {count} axes")
    spans = list(zip(region[:count], region[count:], strict=True))
    kept = _kept_by_sizes(node) | _kept_by_scales(node, scales, indices)
    positions = [at for at, number in enumerate(indices) if number not in kept or spans[at] != (0.0, 1.0)]
    sizes = sizes_of(op, node, X, [indices[at] for at in positions])
    if node.input(SIZES) and node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        resized = _sizes_at_one_scale(op, node, sizes)
    else:
        resized = [
            _size_and_scale(op, node, scales, indices[at], at, size, count)
            for at, size in zip(positions, sizes, strict=True)
        ]
    return [
        ScaledAxis(indices[at], size, *pair, spans[at])
        for at, size, pair in zip(positions, sizes, resized, strict=True)
    ]


def _kept_by_sizes(node: Node) -> set[int]:
    """Return the axes whose size, known or not, is certainly the one that `sizes` has for them."""
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if not node.input(SIZES) or node.constant(SIZES) is not None or policy != "stretch":
        return set()
    return node.values.kept_axes(node.input(X), node.output(0))


def _kept_by_scales(node: Node, scales: int, axes: list[int]) -> set[int]:
    """Return the axes, of those to resize, whose scale is 1; an axis without elements is not among them."""
    constant, shape = node.constant(scales), node.shape(X)
    if constant is None or shape is None or len(constant.values) != len(axes):
        return set()
    return {axis for axis, scale in zip(axes, constant.values, strict=True) if scale == 1 and shape[axis] != 0}


def _sizes_at_one_scale(op: Builder, node: Node, sizes: list[Size]) -> list[tuple[Size, float | str]]:
    """Return the sizes of axes after resizing, rounded to the nearest integer, and the scale that they share."""
    shape = node.shape(SIZES)
    count = shape[0] if shape is not None and len(shape) == 1 else None
    if not sizes or 0 in sizes or count not in (None, len(sizes)):
        raise Refusal("C103", f"there are {count} sizes for dimensions of {sizes}")
    smallest = node.attr("keep_aspect_ratio_policy") == "not_larger"
    targets = node.constant(SIZES)
    known_sizes = [size for size in sizes if isinstance(size, int)]
    if targets is not None and len(known_sizes) == len(sizes):
        ratios = [float32(int(want) / size) for want, size in zip(targets.values, known_sizes, strict=True)]
        common = min(ratios) if smallest else max(ratios)
        return [(math.floor(float32(float32(size * common) + 0.5)), common) for size in known_sizes]
    ratio = op.Div(op.Cast(node.input(SIZES), to=NUMBERS["float"]), op.Cast(vector_of(op, sizes), to=NUMBERS["float"]))
    scale = (op.ReduceMin if smallest else op.ReduceMax)(ratio, keepdims=0)
    half = op.const(0.5, "float")
    lengths = [op.Mul(op.Cast(size_name(op, size), to=NUMBERS["float"]), scale) for size in sizes]
    return [(op.Cast(op.Floor(op.Add(length, half)), to=NUMBERS["int64"]), scale) for length in lengths]


def _interpolate(op: Builder, node: Node, scales: int = SCALES) -> Result:
    """Return the tensor resized by linear or cubic interpolation; raise Refusal C204 if a result is not certain."""
    from opset.adapters.building.interpolation import Interpolation, interpolate

    element = node.need_element(X)
    rank = node.need_rank(X)
    if element in INTEGERS or element == "bool":
        label = "integers are rounded, and a result of interpolation may be at an edge"
        raise Refusal("C204", f"{element} is rounded, and a result of interpolation may be at an edge", label=label)
    coordinates = node.attr("coordinate_transformation_mode", "asymmetric")
    crops = coordinates == "tf_crop_and_resize"
    region: list[float] | None = None
    if crops:
        if not node.input(SIZES):
            raise Refusal("C204", "a region is cropped, and runtimes differ in the size by its scale", "give 'sizes'")
        region = [float(bound) for bound in node.need_constant(ROI).values if isinstance(bound, int | float)]
    axes = _axes_to_resize(op, node, scales, region)
    if node.attr("antialias") and any(
        not isinstance(axis.scale, str) and axis.scale > 1 and not _certainly_grows(axis.scale, axis.size)
        for axis in axes
    ):
        raise Refusal("C204", "antialias is 1, and runtimes copy an axis that a scale above 1 leaves at its size")
    if node.attr("antialias") and any(isinstance(axis.scale, str) for axis in axes):
        node.need_constant(SIZES if node.input(SIZES) else scales)
        raise Refusal("C207", "antialias is 1, and a size is not known", FIX_SIZES)
    if not node.input(SIZES) and not any(map(_certainly_changes, axes)) and any(axis.scale != 1 for axis in axes):
        node.need_constant(scales)
        why = "no axis may change its size, and then some runtimes copy the tensor and others interpolate by the scales"
        raise Refusal("C204", why, "give 'sizes' in place of 'scales'")
    _charge_gathering(node, axes, "there are no elements to interpolate")
    axes = [axis for axis in axes if axis.scale != 1 or axis.region != (0.0, 1.0)]
    # The kernel shrinks first.
    axes.sort(key=lambda axis: axis.scale if isinstance(axis.scale, float) else 1.0)
    method = Interpolation(
        node.attr("mode"),
        coordinates,
        node.attr("cubic_coeff_a", 0.0),
        bool(node.attr("exclude_outside")),
        bool(node.attr("antialias")),
        node.attr("extrapolation_value") if crops else None,
    )
    return interpolate(op, node.input(X), rank, element, axes, method)


def _charge_gathering(node: Node, axes: list[ScaledAxis], why_none: str) -> None:
    """Charge the elements to gather along axes; raise Refusal C204 if there are none, or too many along one.

    `why_none` is the reason to refuse if there are none.
    """
    if any(0 in (axis.size, axis.output) for axis in axes):
        raise Refusal("C204", why_none, "drop the node")
    lengths = [axis.output for axis in axes if isinstance(axis.output, int)]
    if max(lengths, default=0) > MAX_GATHERED:
        raise Refusal("C204", f"an axis is longer than {MAX_GATHERED}")
    node.charge(sum(lengths) * 8)


def _certainly_changes(axis: ScaledAxis) -> bool:
    """Whether an axis that has elements certainly gets another size."""
    if isinstance(axis.size, int) and isinstance(axis.output, int):
        return axis.size != axis.output
    return not isinstance(axis.scale, str) and (axis.scale < 1 or _certainly_grows(axis.scale, axis.size))


def _target_size(op: Builder, node: Node, number: int, position: int, count: int) -> Size:
    """Return the size that `sizes` gives an axis: a number if it is constant or inferred."""
    sizes = node.constant(SIZES)
    if sizes is not None:
        if len(sizes.values) != count:
            raise Refusal("C103", f"there are {len(sizes.values)} sizes for {count} axes")
        return int(sizes.values[position])
    inferred = node.values.shape(node.output(0)) or ()
    inferred_size = inferred[number] if number < len(inferred) else None
    if isinstance(inferred_size, int):
        return inferred_size
    wide = op.Cast(as_vector(op, node, node.input(SIZES)), to=NUMBERS["int64"])
    return str(op.Gather(wide, op.const(position)))


def _size_and_scale(
    op: Builder, node: Node, index: int, number: int, position: int, size: Size, count: int
) -> tuple[Size, float | str]:
    """Return the size of axis `number` of the `count` resized ones, at `position` among them, and its scale."""
    scales = node.constant(index)
    if node.input(SIZES) and (scales is None or not scales.values):
        output = _target_size(op, node, number, position, count)
        if isinstance(output, int) and isinstance(size, int):
            return output, output / size if size else 1.0
        return output, op.Div(*(op.Cast(size_name(op, term), to=NUMBERS["float"]) for term in (output, size)))
    if scales is not None and len(scales.values) != count:
        raise Refusal("C103", f"there are {len(scales.values)} scales for {count} axes")
    if scales is not None:
        scale = _valid_scales(scales)[position]
        if isinstance(size, int):
            return _output_size(size, Fraction(scale)), scale
        if scale == 1:
            return size, scale
    factor = "" if scales is not None else op.Gather(as_vector(op, node, node.input(index)), op.const(position))
    length = op.Mul(op.Cast(size_name(op, size), to=NUMBERS["float"]), factor or op.const(scale, "float"))
    return op.Cast(op.Floor(length), to=NUMBERS["int64"]), factor or scale


def _exact_scales(node: Node, sized: bool) -> list[Fraction]:
    """Return the scale of each axis; raise Refusal C205 or C207 if one is not known."""
    if sized:
        if node.constant(SIZES) is None and (growth := node.values.growth(node.input(X), node.output(0))):
            return growth
        return [Fraction(target, present) for target, present in _target_and_present_sizes(node, None)]
    return [Fraction(scale) for scale in _valid_scales(node.need_constant(SCALES))]


def _is_same_at_10(node: Node, scales: list[Fraction]) -> bool:
    """Whether version 10 means the same with these scales of all axes, each of which FLOAT holds exactly."""
    coordinates = node.attr("coordinate_transformation_mode")
    match node.attr("mode"):
        case "nearest":
            same = all(_is_same_nearest(node, scale) for scale in scales)
        case "linear":
            same = coordinates == "asymmetric"
        case _:
            return False
    return (same or set(scales) <= {1}) and all(scale and float32(float(scale)) == scale for scale in scales)


def _is_same_nearest(node: Node, scale: Fraction) -> bool:
    """Whether version 10 takes the same nearest elements as the node along an axis with this scale."""
    rounding = node.attr("nearest_mode")
    coordinates = node.attr("coordinate_transformation_mode")
    if coordinates == "asymmetric":
        # If each coordinate is an integer, nothing is rounded.
        is_whole = scale.numerator == 1 and scale.denominator.bit_count() == 1
        halved = scale == 2 and rounding == "round_prefer_floor"
        return is_whole or halved or (rounding == "floor" and scale >= 1) or (rounding == "ceil" and scale <= 1)
    if scale.denominator != 1 or not scale:
        return False
    if coordinates in ("half_pixel", "pytorch_half_pixel"):
        return rounding in ROUNDING
    return bool(coordinates == "tf_half_pixel_for_nn" and rounding == "floor")


def _nearest_indices(node: Node, size: int, scale: Fraction) -> tuple[int, ...]:
    """Return the index of each element to copy by the given scale, even if the output size is rounded."""
    out = _output_size(size, scale)
    indices = _select_nearest(node, scale, size, out) if out or not size else ()
    if out == size and indices != tuple(range(size)):
        why = f"the size {float(size * scale)} is rounded to that before, and then some runtimes copy the axis"
        label = "a size is rounded to that of the input, and then some runtimes copy the axis"
        raise Refusal("C204", why, "give 'sizes' in place of 'scales'", label=label)
    return indices


def _select_nearest(node: Node, ratio: Fraction, size: int, out: int) -> tuple[int, ...]:
    """Return the nearest input elements by a scale; raise Refusal C204 if the last bit of a coordinate decides."""
    rounding = node.attr("nearest_mode")
    if not size or out > MAX_GATHERED:
        label = "an axis cannot be resized by this `nearest_mode`"
        raise Refusal("C204", f"{size} elements cannot be resized to {out} by {safe_text(rounding)}", label=label)
    node.charge(out)
    return _nearest_elements(node.attr("coordinate_transformation_mode"), rounding, ratio, size, out)


@lru_cache(maxsize=64)
def _nearest_elements(mode: str, rounding: str, ratio: Fraction, size: int, out: int) -> tuple[int, ...]:
    """Return the nearest input elements by a scale; raise Refusal C204 if the last bit of a coordinate decides."""
    # Coordinates are a line. As whole numbers, in units of 1 / (2 * over), they are exact, and quicker than fractions.
    first, second = (_input_coordinate(mode, position, ratio, size, out) for position in (0, 1))
    over = math.lcm(first.denominator, second.denominator)
    start = int(2 * over * first)
    step = int(2 * over * (second - first))
    exact = float32(float(ratio)) == ratio
    unit = 2 * over
    to_edge = over if rounding in ROUNDING else 0
    # Measured from the edge below: floor, or ceil for modes that go down at an edge.
    down = unit - 1 if rounding in ("round_prefer_floor", "ceil") else 0
    shift = {"round_prefer_floor": -over, "round_prefer_ceil": over}.get(rounding, 0) + down
    indices = []
    for at in range(start, start + step * out, step) if step else [start] * out:
        rest = (at + to_edge) % unit
        distance = min(rest, unit - rest)
        if distance << 20 < abs(at) + unit and (distance or (at and not exact)):
            label = "a coordinate is at the edge between two elements"
            raise Refusal("C204", f"a coordinate is {at / unit}, at the edge between two elements", label=label)
        indices.append(min(max((at + shift) // unit, 0), size - 1))
    return tuple(indices)


def _input_coordinate(mode: str, position: int, scale: Fraction, size: int, out: int) -> Fraction:
    """Return the input coordinate of an output element."""
    half = Fraction(1, 2)
    match mode:
        case "half_pixel":
            return (position + half) / scale - half
        case "pytorch_half_pixel":
            return (position + half) / scale - half if out > 1 else Fraction(0)
        case "align_corners":
            return Fraction(position * (size - 1), out - 1) if out > 1 else Fraction(0)
        case "asymmetric":
            return position / scale
        case _:  # tf_half_pixel_for_nn
            return (position + half) / scale


@up("Resize", since=13)
@refuses(
    "C204",
    "a coordinate is at the edge between two elements",
    "version 13 has no tf_half_pixel_for_nn, and other coordinates are equal to it only in mode nearest w"
    "ith nearest_mode floor or round_prefer_floor",
)
def resize_13_up(op: Builder, node: Node) -> Result:
    """Leave out the empty `scales` that was required beside `sizes`, and replace a coordinate mode that was removed.

    The coordinates of `tf_half_pixel_for_nn`, `(x + 0.5) / scale`, are greater by half than half_pixel's: `floor(c)` is
    `c - 0.5` with halves rounded up, and `c` with halves rounded down is `ceil(c - 0.5)`.
    """
    inputs = [node.input(index) for index in range(4)]
    for index in (ROI, SIZES):
        constant = node.constant(index)
        if constant is not None and not constant.values:
            inputs[index] = ""
    constant = node.constant(SCALES)
    if inputs[SIZES]:
        if constant is not None and constant.values:
            raise Refusal("C103", "both 'scales' and 'sizes' are given")
        inputs[SCALES] = ""
    elif constant is not None and not constant.values:
        raise Refusal("C103", "neither 'scales' nor 'sizes' is given")
    changes = {}
    if node.attr("coordinate_transformation_mode") == "tf_half_pixel_for_nn":
        rounding = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}.get(node.attr("nearest_mode"))
        if node.attr("mode") != "nearest" or rounding is None:
            raise Refusal(
                "C204",
                "version 13 has no tf_half_pixel_for_nn, and other coordinates are equal to it only in mode nearest "
                "with nearest_mode floor or round_prefer_floor",
            )
        for axis, scale in enumerate(_exact_scales(node, bool(inputs[SIZES]))):
            if not _is_exact(scale):
                # At an edge between two elements, runtimes differ in the last bit of the two forms.
                size = need_size(node, X, axis)
                _select_nearest(node, scale, size, _output_size(size, scale))
        changes = {"coordinate_transformation_mode": "half_pixel", "nearest_mode": rounding}
    return op.copy(node, inputs=inputs, **changes)


@down("Resize", since=13)
def resize_13_down(op: Builder, node: Node) -> Result:
    """Add an empty `roi`, and an empty `scales` beside `sizes`: both were required."""
    node.need_element(X)
    if not node.input(SCALES) and not node.input(SIZES):
        raise Refusal("C103", "neither 'scales' nor 'sizes' is given")
    constant = node.constant(SCALES)
    if node.input(SIZES) and constant is not None and constant.values:
        raise Refusal("C103", "both 'scales' and 'sizes' are given")
    if node.input(ROI) and node.input(SCALES):
        return None
    empty = op.const([], "float")
    return op.copy(
        node, inputs=[node.input(X), node.input(ROI) or empty, node.input(SCALES) or empty, node.input(SIZES)]
    )


@down("Resize", since=18)
@refuses(
    "C204",
    "antialias is 1, and each element depends on too many others",
    "antialias is 1, and runtimes copy an axis that a scale above 1 leaves at its size",
    "antialias is 1, and then runtimes round integers in another way",
    "a region is cropped, and runtimes differ in the size by its scale",
    "a region is cropped, and the elements nearest to its coordinates have no equivalent",
    "no axis may change its size, and then some runtimes copy the tensor and others interpolate by the scales",
    "runtimes leave axes of scale 1 as they are, where these coordinates may be rounded up",
    "a coordinate is at the edge between two elements",
    "there are no elements to copy",
    "there are no elements to interpolate",
)
def resize_18_down(op: Builder, node: Node) -> Result:
    """Write sizes or scales for all axes, as the policy for the aspect ratio says; write out antialiasing."""
    inputs = [node.input(index) for index in range(4)]
    axes = node.ints("axes")
    if node.attr("coordinate_transformation_mode") != "tf_crop_and_resize":
        # No other mode reads it, so it may be empty.
        inputs[ROI] = ""
    if inputs[SIZES] and node.attr("keep_aspect_ratio_policy") != "stretch":
        kept = _sizes_at_common_scale(node, axes)
        if kept is None:
            return _gather_nearest(op, node) if node.attr("mode") == "nearest" else _interpolate(op, node)
        inputs[SIZES] = op.const(kept)
    if node.attr("antialias") and node.attr("mode") != "nearest":
        if not _never_shrinks(node, axes):
            return _interpolate(op, node)
        if node.need_element(X) in INTEGERS:
            why = "antialias is 1, and then runtimes round integers in another way"
            raise Refusal("C204", why, "set antialias to 0")
    if axes is not None:
        _extend_to_all_axes(op, node, inputs, distinct_axes(axes, node.need_rank(X)))
    return op.copy(node, inputs=inputs, drop=["axes", "antialias", "keep_aspect_ratio_policy"])


def _target_and_present_sizes(node: Node, axes: list[int] | None) -> list[tuple[int, int]]:
    """Return the target size and the present size of each axis that is resized."""
    rank = node.need_rank(X)
    targets = constant_ints(node, SIZES)
    present = [need_size(node, X, axis) for axis in (range(rank) if axes is None else distinct_axes(axes, rank))]
    if len(targets) != len(present) or not all(present) or min(targets, default=0) < 0:
        raise Refusal("C103", f"'sizes' is {targets}, for dimensions of {present}")
    return list(zip(targets, present, strict=True))


def _sizes_at_common_scale(node: Node, axes: list[int] | None) -> list[int] | None:
    """Return the sizes by a common scale, None if they are not known, or not integers and therefore rounded."""
    if node.constant(SIZES) is None or not all(isinstance(size, int) for size in node.shape(X) or (None,)):
        return None
    policy = node.attr("keep_aspect_ratio_policy")
    sizes = _target_and_present_sizes(node, axes)
    if not sizes:
        raise Refusal("C103", f"'keep_aspect_ratio_policy' is {policy}, for no axes")
    ratios = [Fraction(target, present) for target, present in sizes]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    kept = [scale * present for _, present in sizes]
    return [int(size) for size in kept] if all(size.denominator == 1 for size in kept) else None


def _never_shrinks(node: Node, axes: list[int] | None) -> bool:
    """Whether every axis certainly grows or is not resized at all."""
    if node.input(SIZES):
        return node.constant(SIZES) is not None and all(
            target >= present for target, present in _target_and_present_sizes(node, axes)
        )
    scales = node.constant(SCALES)
    if scales is None or not all(scale >= 1 for scale in scales.values):
        return False
    # Runtimes that filter copy an axis that a scale above 1 leaves at its size.
    shape = node.shape(X) or ()
    sizes = list(shape)
    if axes is not None and shape:
        sizes = [shape[axis] for axis in distinct_axes(axes, len(shape))]
    sizes += [None] * (len(scales.values) - len(sizes))
    return all(scale == 1 or _certainly_grows(scale, size) for scale, size in zip(scales.values, sizes, strict=False))


def _extend_to_all_axes(op: Builder, node: Node, inputs: list[str], axes: list[int]) -> None:
    """Extend the inputs to all axes: the others have scale 1, their own size, and the whole axis as region."""
    rank = node.need_rank(X)
    count = len(axes)
    indices = {axis: index for index, axis in enumerate(axes)}
    firsts = [indices.get(axis, count) for axis in range(rank)]
    if inputs[SCALES]:
        inputs[SCALES] = _reorder(op, node, inputs[SCALES], "float", [1.0], firsts)
    if inputs[SIZES]:
        order = [indices.get(axis, count + axis) for axis in range(rank)]
        inputs[SIZES] = _reorder(op, node, inputs[SIZES], "int64", list(need_dims(node, X)), order)
    if inputs[ROI]:
        order = [indices.get(axis, 2 * count) for axis in range(rank)]
        order += [indices[axis] + count if axis in indices else 2 * count + 1 for axis in range(rank)]
        inputs[ROI] = _reorder(op, node, inputs[ROI], node.need_element(ROI), [0.0, 1.0], order)


def _reorder(op: Builder, node: Node, name: str, element: str, rest: list[Any], order: list[int]) -> str:
    """Return elements of an input and `rest`, or the shape of the first input if that is not known, in an order."""
    constant = node.values.constant(name)
    if constant is not None:
        elements = [*constant.values, *rest]
        if len(elements) <= max(order, default=-1):
            raise Refusal("C103", f"an input of {len(constant.values)} values does not fit 'axes'")
        picked = [elements[index] for index in order]
        if all(isinstance(value, (int, float)) for value in picked):
            return op.const(picked, element)
    stated = all(isinstance(value, (int, float)) for value in rest)
    others = op.const(rest, element) if stated else op.Shape(node.input(X))
    return op.Gather(op.Concat(as_vector(op, node, name), others, axis=0), op.const(order))


@down("Resize", since=19)
@refuses(
    "C204",
    "a coordinate may be at an edge, where the rounding of its last bit decides",
    "a size is rounded, and before version 19 no coordinate mode compensates for that",
)
def resize_19_down(op: Builder, node: Node) -> Result:
    """Write half_pixel_symmetric as half_pixel if no output size is rounded: by `sizes`, or by integer scales."""
    if node.attr("coordinate_transformation_mode") != "half_pixel_symmetric":
        return None
    # Elements are selected, or integers truncated: at an edge, the last bit of a coordinate decides.
    abrupt = node.attr("mode") == "nearest" or node.need_element(X) in INTEGERS
    axes = node.ints("axes")
    if node.input(SIZES):
        rounded = node.attr("keep_aspect_ratio_policy") != "stretch"
        exact = (
            not abrupt
            or rounded
            or all(map(_is_exact, (Fraction(*pair) for pair in _target_and_present_sizes(node, axes))))
        )
    else:
        scales = node.need_constant(SCALES).values
        axes = list(range(len(scales))) if axes is None else axes
        if len(axes) != len(scales) or not all(math.isfinite(scale) for scale in scales):
            raise Refusal("C103", f"'scales' is {list(scales)}, for axes {axes}")
        rounded = any(
            scale != math.floor(scale) and (need_size(node, X, axis) * Fraction(scale)).denominator != 1
            for axis, scale in zip(axes, scales, strict=True)
        )
        exact = not abrupt or all(_is_exact(Fraction(scale)) for scale in scales)
    if rounded and not abrupt and not node.input(SIZES):
        return _interpolate(op, node)
    if rounded:
        raise Refusal("C204", "a size is rounded, and before version 19 no coordinate mode compensates for that")
    if not exact:
        raise Refusal("C204", "a coordinate may be at an edge, where the rounding of its last bit decides")
    return op.copy(node, coordinate_transformation_mode="half_pixel")


def _is_exact(scale: Fraction) -> bool:
    """Whether coordinates at the edges between elements are exact: for an integer scale, a half, a quarter, …"""
    return scale.denominator == 1 or (scale.numerator == 1 and scale.denominator.bit_count() == 1)
