"""Output shapes of Resize, and of Upsample, its predecessor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from opset.inference.building.agreement import check_averaged_type, is_nonempty
from opset.inference.building.call import Call, Element, Unknown
from opset.inference.building.dimensions import Dim, Size, apply_to_sizes, less
from opset.inference.building.elements import round_to_single
from opset.inference.building.types import Shape
from opset.inference.limits import MAX_DIVISOR, MAX_RANK
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation


@infer("Upsample")
def upsample_1(call: Call) -> Shape:
    """Return the input's shape with height and width multiplied by the attributes `height_scale` and `width_scale`.

    The input has the axes N, C, H and W. Products are rounded down. A size is None if it is unknown. Raises Violation
    C4 if strings or booleans would be averaged.
    """
    return _scale_shape(call, (1.0, 1.0, call.attribute("height_scale"), call.attribute("width_scale")))


@infer("Upsample", since=7)
def upsample_7(call: Call) -> Shape:
    """Return the input's sizes, each multiplied by its scale in the attribute `scales` and rounded down.

    A size is None if it is unknown. If the rank is unknown, the number of scales gives it. Raises Violation C4 if
    strings or booleans would be averaged, and without a label if the attribute is absent.
    """
    scales = call.attribute("scales")
    if not isinstance(scales, tuple):
        raise Violation("", "scales is no list of numbers")
    return _scale_shape(call, scales)


@infer("Upsample", since=9)
@infer("Resize")
def upsample_9(call: Call) -> Shape:
    """Return the input's sizes, each multiplied by its scale in the second input and rounded down.

    Upsample 9 and Resize 10 have this output. A size is None if it is unknown. Raises Unknown if neither the rank nor
    the number of scales is known, Violation C4 if strings or booleans would be averaged.
    """
    return _scale_shape(call, _elements_of_input(call, 1) if call.has(1) else None)


def _scale_shape(call: Call, scales: Sequence[Element] | None) -> Shape:
    """Return the first input's sizes, each multiplied by its scale and rounded down; a size is None if unknown.

    `scales` is None if not even the number of scales is known. If the rank is unknown, it is the number of scales.
    Raises Unknown if both are unknown, or if there are more than MAX_RANK scales. Raises Violation C4 if strings or
    booleans would be averaged.
    """
    shape = call.shape(0)
    if scales is None:
        return (None,) * len(call.require_shape(0))
    if len(scales) > MAX_RANK:
        raise Unknown(f"there are {len(scales)} scales")
    result = tuple(_scale_size(size, scale) for size, scale in zip(shape or (None,) * len(scales), scales, strict=True))
    if is_nonempty(result):
        check_averaged_type(call)
    return result


@infer("Resize", since=11)
def resize_11(call: Call) -> Shape:
    """Return the shape of X with sizes multiplied by the input `scales` and rounded down, or replaced by `sizes`.

    The attribute `axes` names the axes that change, by default all. The attribute `keep_aspect_ratio_policy` may change
    the new sizes so that all axes are scaled alike. A size is None if it is unknown. Raises Unknown if the rank of X is
    unknown and no input shows it.

    Raises Violation with one of these labels:

    - C1 if there is not one scale or size for each of these axes;
    - C4 if strings or booleans would be averaged;
    - C5 if the node has both `scales` and `sizes`, or neither;
    - C6 if the input `roi` does not fit;
    - C7 if a size of 0 would become another one.
    """
    if not call.has(2) and not call.has(3):
        raise Violation("C5", "0 scales and 0 sizes")
    for index in (2, 3):
        if (call.rank(index) or 0) > 1:
            raise Violation("C1", f"{call.parameter(index)} has rank {call.rank(index)}")
    scales, sizes = _elements_of_input(call, 2), _elements_of_input(call, 3)
    # If one has elements, the other is absent or empty.
    if scales is None and sizes:
        scales = ()
    if sizes is None and scales:
        sizes = ()
    shape = call.shape(0)
    axes = call.attribute("axes") or ()
    values = scales or sizes
    if shape is None and (axes or not values):
        raise Unknown("the rank of X is not known")
    result: list[Size | None] = list(shape if shape is not None else (None,) * len(values or ()))
    indices = [axis % len(result) for axis in axes] or range(len(result))
    lengths = [result[index] for index in indices]
    outputs = _output_sizes(call, lengths, scales, sizes)
    for index, length, size in zip(indices, lengths, outputs, strict=True):
        if length == 0 and less(0, size):
            raise Violation("C7", f"axis {index} is 0, and {size} is wanted")
        result[index] = size
    if is_nonempty(result) and indices:
        check_averaged_type(call)
    return tuple(result)


def _output_sizes(
    call: Call, lengths: list[Size | None], scales: tuple[Element, ...] | None, sizes: tuple[Element, ...] | None
) -> list[Size | None]:
    """Return the new sizes of the axes that Resize changes, from `scales` or `sizes`; a size is None if it is unknown.

    Args:
        call: the node.
        lengths: the sizes of these axes before, None if unknown.
        scales: the elements of the input `scales`, () if the node does not use it, None if not even their number is
            known.
        sizes: the elements of the input `sizes`, () if the node does not use it, None if not even their number is
            known.

    Raises:
        Violation: C5 if the node has both inputs or none, C1 if the number of elements is wrong, C6 if `roi` does not
            fit.
    """
    count = len(lengths)
    if scales is not None and sizes is not None and count and bool(scales) == bool(sizes):
        raise Violation("C5", f"{len(scales)} scales and {len(sizes)} sizes")
    values = scales or sizes
    if values and len(values) != count:
        raise Violation("C1", f"{len(values)} for {count} axes")
    wanted = [element if isinstance(element, int | Dim) else None for element in sizes or ()]
    spans: list[float | None] = [1.0] * count
    if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        region = _elements_of_input(call, 1)
        spans = [None] * count
        if region is not None:
            finite = all(math.isfinite(element) for element in region if isinstance(element, int | float))
            if len(region) != 2 * count or not finite:
                raise Violation("C6", f"roi of {len(region)} values, {count} axes")
            spans = [_span_between(first, last) for first, last in zip(region[:count], region[count:], strict=True)]
    if wanted:
        return _sizes_by_policy(lengths, wanted, call.attribute("keep_aspect_ratio_policy") or "stretch")
    if scales:
        return [_scale_size(*pair) for pair in zip(lengths, scales, spans, strict=True)]
    return [None] * count


def _sizes_by_policy(lengths: list[Size | None], wanted: list[Size | None], policy: str) -> list[Size | None]:
    """Return the sizes of axes after a Resize, from the sizes before (`lengths`) and the input `sizes` (`wanted`).

    `policy` is the attribute `keep_aspect_ratio_policy`. With "stretch", for a single axis, or if a length is 0, the
    result is `wanted`. Otherwise, all axes have the same scale: the least ratio wanted / length for "not_larger", else
    the greatest. Results are rounded. All sizes are None if a size in one of the lists is unknown or symbolic.
    """
    if policy == "stretch" or 0 in lengths or len(wanted) == 1:
        return wanted
    pairs = [(length, want) for length, want in zip(lengths, wanted, strict=True) if isinstance(length, int)]
    numbers = [(length, want) for length, want in pairs if isinstance(want, int)]
    if len(numbers) < len(wanted):
        return [None] * len(wanted)
    ratios = [round_to_single(round_to_single(want) / round_to_single(length)) for length, want in numbers]
    common = min(ratios) if policy == "not_larger" else max(ratios)
    scaled = [round_to_single(round_to_single(length) * common) for length, _ in numbers]
    return [math.floor(round_to_single(size + 0.5)) for size in scaled]


def _scale_size(size: Size | None, scale: Element, span: float | None = 1.0) -> Size | None:
    """Return floor(size * span * scale) in single precision, at least 0; None if it cannot be computed.

    `size` is the old size of an axis. `span` is the fraction of the axis that a crop keeps, 1.0 without a crop. `scale`
    is a number or symbolic. The result is None if one of them is None, which means unknown. With a crop, a symbolic
    size or scale gives None. Without a crop, a symbolic size is multiplied by a symbolic scale or by a simple fraction
    such as 0.5; any other scale gives None.

    Raises Violation without the label of a constraint if a factor or the product is beyond the range of single
    precision.
    """
    if scale is None or span is None or size is None or isinstance(scale, str | bytes | bool):
        return None
    if isinstance(scale, Dim):
        return apply_to_sizes(lambda a, b: a * b, size, scale) if span == 1 else None
    if isinstance(size, int):
        try:
            length = round_to_single(round_to_single(size) * round_to_single(span))
            return max(math.floor(round_to_single(length * round_to_single(scale))), 0)
        except OverflowError as error:
            raise Violation("", f"a size of {size} times {scale} is too large") from error
        except ValueError:
            return None
    # A symbolic size is multiplied if the scale is a simple fraction rounded to single precision, and not so far below
    # it that multiples of the denominator would be rounded down. Single precision then has the same result as the
    # fraction as long as the size times the numerator is below 2**23.
    exact = Fraction(scale)
    near = exact.limit_denominator(MAX_DIVISOR)
    if span != 1 or not near or exact / near < 1 - Fraction(1, 1 << 25) or round_to_single(float(near)) != exact:
        return None
    return apply_to_sizes(lambda size: size * near.numerator // near.denominator, size)


def _span_between(first: Element, last: Element) -> float | None:
    """Return last - first, the part of an axis between two coordinates of a crop; 1.0 is the whole axis.

    The result is None if a coordinate is unknown, symbolic, or beyond the range of single precision.
    """
    if not isinstance(first, int | float) or not isinstance(last, int | float):
        return None
    try:
        return round_to_single(last) - round_to_single(first)
    except OverflowError:
        return None


def _elements_of_input(call: Call, index: int) -> tuple[Element, ...] | None:
    """Return the elements of the input at `index`, or () if it is absent.

    If the elements are unknown, each is None. Returns None if their number is unknown, too, or is above 1024.
    """
    if not call.has(index):
        return ()
    elements = call.elements(index)
    shape = call.shape(index)
    if elements is None and shape is not None and len(shape) <= 1:
        length = shape[0] if shape else 1
        return (None,) * length if isinstance(length, int) and length <= 1024 else None
    return elements
