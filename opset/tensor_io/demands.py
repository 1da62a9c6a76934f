"""The values that suit the inputs of a model: the demands of the operators that an input reaches.

An input is followed through nodes that hand on its elements (Cast, Reshape, Slice …), into graphs and functions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice, permutations
from operator import index as as_index
from typing import Any

from opset.budget import Limits
from opset.errors import OpsetError
from opset.inference.engine.binding import bind_dims
from opset.inference.engine.outcomes import MALFORMED
from opset.inference.engine.result import Inference, infer
from opset.inference.engine.scopes import Scope
from opset.model import proto as pb
from opset.model.attributes import attribute_value
from opset.model.elements import element_name
from opset.model.graph.index import Body, ModelIndex
from opset.model.storage.container import Model
from opset.opsets.registry import Registry

_SMALL = 3
MAX_LISTED = 4096
"""Elements of an input that lists sizes or axes; no model has so many dimensions."""
_FAR = (2**40 + 1, -(2**40), 2**63 - 1, 1 - 2**63)
_MOST_ORDERS = 24
"""Orders of axes that are listed."""
_MOST_VISITED = 100_000
"""Values that are visited for all inputs."""


@dataclass(frozen=True)
class Demand:
    """The values that suit an input: numbers from `low` to `high`, or the values that a field below describes.

    - `whole`: whether the numbers are integers;
    - `beyond`: by how much numbers may lie outside that range, if a result may be empty or otherwise special;
    - `is_clamped`: whether such numbers may have any magnitude, since the operator limits them itself;
    - `bounds`: the greatest number at each position of the last axis; the least one is `low`;
    - `distinct`: whether no number may occur twice;
    - `fixed`: all elements, in order; `others`: further such lists, one of which may be drawn instead;
    - `wraps`: a number that may be subtracted from elements, such as the rank from axes; 0 for none;
    - `choices`: the elements from which to draw;
    - `mask`: whether the input is added to scores, so that -inf leaves a score out;
    - `spread`: whether the logarithms of the numbers are distributed evenly, with both signs.
    """

    low: float = 0
    high: float = _SMALL
    whole: bool = True
    beyond: int = 0
    is_clamped: bool = False
    bounds: tuple[int, ...] = ()
    distinct: bool = False
    fixed: tuple[int, ...] = ()
    others: tuple[tuple[int, ...], ...] = ()
    wraps: int = 0
    choices: tuple[Any, ...] = ()
    mask: bool = False
    spread: bool = False

    def meet(self, other: Demand) -> Demand:
        """Return a demand whose values meet both demands; if there is none, return this demand."""
        plain = not any((self.fixed, self.choices, self.bounds, self.mask, self.spread))
        if not plain or other.mask or other.spread:
            return self
        if other.fixed or other.choices or other.bounds:
            return other
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            return self
        whole, distinct = self.whole or other.whole, self.distinct or other.distinct
        wraps, beyond = self.wraps if self.wraps == other.wraps else 0, min(self.beyond, other.beyond)
        met = replace(self, low=low, high=high, whole=whole, distinct=distinct, wraps=wraps, beyond=beyond)
        return replace(met, is_clamped=self.is_clamped and other.is_clamped)

    def resolve_range(self, is_wide: bool) -> Demand:
        """Return the demand without `beyond` and `is_clamped`.

        If `is_wide`, they extend the range, or give numbers to choose from; else they are dropped.
        """
        more = self.beyond if is_wide else 0
        low, high = self.low - more, self.high + more
        if is_wide and self.is_clamped:
            return Demand(choices=(*range(math.ceil(low), math.floor(high) + 1), *_FAR))
        return replace(self, low=low, high=high, beyond=0, is_clamped=False)


@dataclass(frozen=True)
class Use:
    """A node that reads a value at one of its inputs.

    - `operator`, `opset`: the name of the operator, and the opset version at which the model imports its domain;
    - `position`: the index of the input that reads the value;
    - `node`: the NodeProto; `scope`: the types of its graph, None if unknown; `inputs`: the names of all inputs.
    """

    operator: str
    opset: int
    position: int
    node: Any
    scope: Scope | None
    inputs: list[str]
    _attributes: dict[str, Any] = field(default_factory=dict)

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return the value of an attribute; `default` if the node does not state it, or takes it from a call."""
        found = next((each for each in self.node.attribute if each.name == name), None)
        return default if found is None or found.ref_attr_name else attribute_value(found)

    def shape(self, position: int) -> tuple[Any, ...] | None:
        """Return the shape of the input at `position`; None if its rank is unknown or the node lacks the input."""
        if self.scope is None or position >= len(self.inputs):
            return None
        found = self.scope.type_of(self.inputs[position])
        return None if found is None else found.shape

    def size(self, position: int, axis: int, default: int = _SMALL) -> int:
        """Return the size of the input at `position` along `axis`; `default` unless this is a known number above 0."""
        shape = self.shape(position)
        if shape is None or not -len(shape) <= axis < len(shape):
            return default
        size = shape[axis]
        return size if isinstance(size, int) and size > 0 else default

    def integers(self, position: int) -> tuple[int, ...]:
        """Return the elements of the input at `position` if inference computed them, such as sizes.

        The result is () if they are unknown, or one of them is no integer.
        """
        found = None if self.scope is None else self.scope.computed_elements(self.inputs[position])
        values = () if found is None else tuple(found.values)
        return values if all(isinstance(each, int) for each in values) else ()

    def count(self) -> int:
        """Return the number of elements of the input that reads the value; 0 if it is unknown or above MAX_LISTED."""
        shape = self.shape(self.position)
        count = math.prod(shape) if shape is not None and all(isinstance(each, int) for each in shape) else 0
        return count if count <= MAX_LISTED else 0


Rule = Callable[[Use], Demand | None]
_SHIFTS_ALL = 28
"""The opset from which BitShift says what a shift by the width of the type or more gives."""
_COUNTS_BACK = 11
"""The opset from which Slice takes axes that are counted from the end."""


def _integers(low: int, high: int, beyond: int = 0) -> Rule:
    """Return the rule that demands integers from `low` to `high`.

    They may lie up to `beyond` outside that range.
    """
    demand = Demand(low, high, beyond=beyond)
    return lambda use: demand


def _clamped_integers(low: int, high: int, beyond: int) -> Rule:
    """Return the rule that demands integers from `low` to `high`, for an operator that clamps any other integer itself.

    `beyond` is how far outside that range integers are drawn, beside a few very large ones.
    """
    demand = Demand(low, high, beyond=beyond, is_clamped=True)
    return lambda use: demand


def _reals(low: float, high: float, beyond: int = 0) -> Rule:
    """Return the rule that demands numbers, whole or not, from `low` to `high`.

    They may lie up to `beyond` outside that range.
    """
    demand = Demand(low, high, whole=False, beyond=beyond)
    return lambda use: demand


def _new_axes(use: Use) -> Demand:
    """Return the demand for axes that Unsqueeze inserts: distinct ones, as many as the input has elements.

    They are axes of the result. If the rank of the data is unknown, they are the first ones.
    """
    rank = use.count() + len(use.shape(0) or ())
    return Demand(0, rank - 1, distinct=True, wraps=rank) if use.shape(0) is not None else _first_axes(use)


def _first_axes(use: Use) -> Demand:
    """Return the demand for the axes 0, 1, …, as many as the input has elements."""
    return Demand(fixed=tuple(range(use.count())))


def _some_axes(use: Use) -> Demand:
    """Return the demand for distinct axes of the data, as many as the input has elements."""
    rank = len(use.shape(0) or ())
    if not 0 < use.count() <= rank:
        return _first_axes(use)
    counts_back = use.operator != "Slice" or use.opset >= _COUNTS_BACK
    return Demand(0, rank - 1, distinct=True, wraps=rank if counts_back else 0)


def _writes_once(use: Use) -> bool:
    """Whether an operator writes elements to indices without combining them, so that no index may occur twice."""
    return use.operator.startswith("Scatter") and use.attribute("reduction", b"none") in (b"none", "none")


def _index_along_axis(use: Use) -> Demand:
    """Return the demand for indices along `axis` of the data, also negative ones if the operator's version takes them.

    The indices of a Scatter are never negative.
    """
    size = use.size(0, use.attribute("axis", 0))
    distinct = _writes_once(use)
    return Demand(0 if use.operator.startswith("Scatter") or use.opset < 11 else -size, size - 1, distinct=distinct)


def _tuples_of_indices(use: Use) -> Demand | None:
    """Return the demand for index tuples along the last axis, as GatherND and ScatterND read them."""
    first = use.attribute("batch_dims", 0)
    width = min(use.size(1, -1), len(use.shape(0) or ()))
    bounds = tuple(use.size(0, first + axis) - 1 for axis in range(width))
    if width == 1:  # a range, which can meet what others demand of it
        return Demand(0, bounds[0], distinct=_writes_once(use))
    return Demand(bounds=bounds, distinct=_writes_once(use))


def _class_index(use: Use) -> Demand:
    """Return the demand for labels of classes, and for `ignore_index` if it is stated.

    The number of classes is the size of the scores along axis 1.
    """
    count = use.size(0, 1)
    ignored = use.attribute("ignore_index")
    if ignored is None:
        return Demand(0, count - 1)
    return Demand(choices=(*range(min(count, MAX_LISTED)), as_index(ignored)))


def _count_of_top(use: Use) -> Demand:
    """Return the demand for k of TopK: from 1 to the size of the axis, and at most 3."""
    return Demand(1, min(use.size(0, use.attribute("axis", -1)), _SMALL))


def _expanded_shape(use: Use) -> Demand | None:
    """Return the demand for a shape to which Expand can broadcast the data."""
    shape, count = use.shape(0), use.count()
    if shape is None or count < len(shape):
        return Demand(1, 1)
    before = (_SMALL,) * (count - len(shape))
    sizes = tuple(size if isinstance(size, int) and size != 1 else _SMALL for size in shape)
    ones = tuple(1 if isinstance(size, int) and size != 1 else _SMALL for size in shape)
    return Demand(fixed=(*before, *sizes), others=((*before, *ones),))


def _shape_of_as_many(use: Use) -> Demand | None:
    """Return the demand for a shape with as many elements as the data, for Reshape.

    The result is None if the rank of the data or of the result is unknown.
    """
    shape, count = use.shape(0), use.count()
    if shape is None or not count:
        return None
    numbers = [size if isinstance(size, int) else -1 for size in shape]
    if count < len(numbers):
        others = [] if -1 in numbers[: count - 1] else [(*numbers[: count - 1], -1)]
        return Demand(fixed=(-1, *numbers[len(numbers) - count + 1 :]), others=tuple(others))
    ones = (1,) * (count - len(numbers))
    others = [(*numbers, *ones)]
    if len(numbers) > 1:  # the first size as it is, and the others in one
        others.append((numbers[0] if use.attribute("allowzero") else 0, -1, *(1,) * (count - 2)))
    return Demand(fixed=(*ones, *reversed(numbers)), others=tuple(others))


def _axes_of_size_one(use: Use) -> Demand:
    """Return the demand for axes of the data whose size is 1, for Squeeze."""
    shape = use.shape(0) or ()
    axes = [axis for axis, size in enumerate(shape) if size == 1]
    first, *others = islice(permutations(axes, min(use.count(), len(axes))), _MOST_ORDERS)
    return Demand(fixed=first, others=tuple(others), wraps=len(shape))


def _sizes_of_parts(use: Use) -> Demand:
    """Return the demand for sizes of parts that add up to the size of the axis, for Split.

    If there is room, the parts differ, and are also drawn in other orders.
    """
    count, size = use.count(), use.size(0, use.attribute("axis", 0))
    whole = count * (count + 1) // 2
    parts = [size * (number + 1) // whole for number in range(count - 1)]
    fixed = (*parts, size - sum(parts))
    return Demand(fixed=fixed, others=() if len({*fixed}) == 1 else (fixed[::-1], (*fixed[1:], fixed[0])))


def _length_of_sequence(use: Use) -> Demand:
    """Return the demand for lengths of sequences, from 1 to the size of the data's time axis."""
    axis = use.attribute("time_axis", 0) if use.operator == "ReverseSequence" else 0
    return Demand(1, use.size(0, axis))


def _any_axis(use: Use) -> Demand:
    """Return the demand for an axis of the data, counted from the beginning or the end."""
    rank = max(len(use.shape(0) or ()), 1)
    return Demand(-rank, rank - 1)


def _divisor(use: Use) -> Demand | None:
    """Return the demand for integers above 0, by which integers can be divided; None if the input holds no integers."""
    found = use.scope.type_of(use.inputs[use.position]) if use.scope is not None else None
    return Demand(low=1) if found is not None and "int" in str(found.element) else None


def _listed_elements(*attributes: str) -> Rule:
    """Return the rule that demands the elements listed in the first of `attributes` that the node has.

    An element that is not listed is drawn, too, unless the operator takes no other.
    """

    def rule(use: Use) -> Demand | None:
        for name in attributes:
            if found := use.attribute(name):
                known = tuple(found)
                takes_others = use.attribute("zeros") != 0  # a OneHotEncoder may take nothing else
                return Demand(choices=(*known, _other_than(known)) if takes_others else known)
        return None

    return rule


def _other_than(known: tuple[Any, ...]) -> Any:
    """Return a text or number that is not in `known`, which holds at least one, all of one kind."""
    if isinstance(known[0], str | bytes):
        longest = max(known, key=len)
        return longest + (b"x" if isinstance(longest, bytes) else "x")
    taken = {*known}
    return next(each for each in count() if each not in taken)


def _mask_of_scores(use: Use) -> Demand | None:
    """Return the demand for a mask that is added to scores."""
    return Demand(mask=True)


def _place_in_cache(use: Use) -> Demand:
    """Return the demand for the positions in a cache at which TensorScatter writes.

    The update fits into the cache behind them. In the mode "circular", all positions are legal.
    """
    axis = use.attribute("axis", -2)
    room = 1 if use.attribute("mode") in (b"circular", "circular") else use.size(1, axis, 1)
    return Demand(0, max(use.size(0, axis, 1) - room, 0))


def _grid_size(use: Use) -> Demand:
    """Return the demand for the size of AffineGrid's output image, different along each axis.

    The batch is the size of the transformations along axis 0.
    """
    sizes = range(_SMALL + 1, _SMALL + max(use.count() - 1, 1))
    return Demand(fixed=(use.size(0, 0), 1, *sizes), others=((use.size(0, 0), 2, *reversed(sizes)),))


def _sizes_to_crop_or_pad(use: Use) -> Demand | None:
    """Return the demand for sizes of CenterCropPad's output, some smaller and some larger than the data's.

    The result is None if the input does not have as many elements as there are axes.
    """
    axes = use.attribute("axes") or range(len(use.shape(0) or ()))
    return (
        Demand(low=1, bounds=tuple(use.size(0, axis) + _SMALL for axis in axes)) if use.count() == len(axes) else None
    )


def _around_sizes(use: Use) -> Demand | None:
    """Return the demand for integers below and above the sizes with which the node compares them.

    The result is None if the other input holds no known sizes above 0.
    """
    sizes = use.integers(1 - use.position) if len(use.inputs) == 2 else ()
    fits = bool(sizes) and use.count() == len(sizes) and min(sizes) > 0
    return Demand(low=1, bounds=tuple(size + _SMALL for size in sizes)) if fits else None


def _numbers_around_float8(use: Use) -> Demand | None:
    """Return the demand for numbers within and beyond the range of 8-bit floats.

    The result is None if the node does not cast to such a type.
    """
    kind = element_name(use.attribute("to"))
    if use.operator == "CastLike" and use.scope is not None:
        found = use.scope.type_of(use.inputs[1])
        kind = found.element if found is not None else None
    return Demand(0.01, 1e6, whole=False, spread=True) if str(kind).startswith("float8") else None


def _numbers_around_16_bits(use: Use) -> Demand | None:
    """Return the demand for numbers within and beyond the range of 16 bits if QuantizeLinear gives such a type."""
    found = use.scope.type_of(use.inputs[2]) if use.scope is not None and len(use.inputs) > 2 else None
    kind = found.element if found is not None else element_name(use.attribute("output_dtype"))
    return Demand(0.01, 1e5, whole=False, spread=True) if str(kind).endswith("int16") else None


def _texts_with_delimiter(use: Use) -> Demand:
    """Return the demand for texts for StringSplit: without its delimiter, with one, and with several in a row."""
    given = use.attribute("delimiter") or b" "
    mark = given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
    return Demand(choices=(f"a{mark}b{mark}c", f"{mark}d{mark}{mark}e f  g", "h", "", f"i  {mark}"))


def _numbers_with_infinities(use: Use) -> Demand | None:
    """Return the demand for infinite numbers, NaN and a few others."""
    return Demand(choices=(math.inf, -math.inf, math.nan, 0.5, -2.0))


def _pads(use: Use) -> Demand:
    """Return the demand for pads: how many elements Pad adds at an end, or removes if the number is negative.

    None is negative in the mode "wrap", for which the standard does not define it.
    """
    return Demand(0, 1, beyond=0 if use.attribute("mode") in (b"wrap", "wrap") else 2)


def _shift_counts(use: Use) -> Demand:
    """Return the demand for numbers of bits by which BitShift shifts: few, half the width of the type, and all but one.

    From the opset on that defines it, also the whole width and more.
    """
    found = use.scope.type_of(use.inputs[use.position]) if use.scope is not None else None
    digits = "".join(each for each in str(found.element if found is not None else "") if each.isdecimal())
    width = int(digits or 8)
    more = (width, width + 1) if use.opset >= _SHIFTS_ALL else ()
    return Demand(choices=(0, 1, 2, 3, width // 2, width - 1, *more))


def _dropped_shares(use: Use) -> Demand:
    """Return the demand for shares of elements that Dropout drops: none, a quarter, or half."""
    return Demand(choices=(0.0, 0.25, 0.5))


_WIDE = _integers(-(2**31), 2**31 - 1)
_BYTES = _integers(-128, 255)
_COMPARING = ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Max", "Min")
_POSITIVE = _reals(0.1, 3)
_UNIT = _reals(-0.9, 0.9)
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
RULES: Mapping[tuple[str, int], Rule] = {
    **{(name, 1): _index_along_axis for name in ("Gather", "GatherElements", "Scatter", "ScatterElements")},
    **{(name, 1): _tuples_of_indices for name in ("GatherND", "ScatterND")},
    **{(name, 1): _class_index for name in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    ("ArrayFeatureExtractor", 1): lambda use: Demand(0, use.size(0, -1) - 1),
    ("OneHot", 0): _integers(0, 3, beyond=6), ("OneHot", 1): _integers(4, 4), ("TopK", 1): _count_of_top,
    ("Tile", 1): _integers(1, 2), ("Expand", 1): _expanded_shape, ("Reshape", 1): _shape_of_as_many,
    ("ConstantOfShape", 0): _integers(1, 4, beyond=1), ("Range", 0): _integers(0, 1),
    ("Range", 1): _integers(4, 6, beyond=5), ("Range", 2): _integers(1, 2),
    ("Slice", 1): _clamped_integers(0, 1, 6), ("Slice", 2): _clamped_integers(2, 4, 5),
    ("Slice", 3): _some_axes, ("Slice", 4): _integers(1, 2, beyond=3), ("Pad", 1): _pads,
    ("Pad", 3): _some_axes, ("Unsqueeze", 1): _new_axes, ("Squeeze", 1): _axes_of_size_one,
    ("Split", 1): _sizes_of_parts, ("CumSum", 1): _any_axis,
    **{(f"Reduce{name}", 1): _some_axes for name in _REDUCTIONS},
    ("Resize", 2): _reals(1, 2.6), ("Resize", 3): _integers(2, 5), ("Upsample", 1): _reals(1, 2.6),
    **{(name, 4): _length_of_sequence for name in ("RNN", "GRU", "LSTM")}, ("ReverseSequence", 1): _length_of_sequence,
    **{(f"Sequence{name}", at): _integers(-2, 1) for name, at in (("At", 1), ("Erase", 1), ("Insert", 2))},
    ("Loop", 0): _integers(1, 5, beyond=1), ("Loop", 1): _integers(1, 1, beyond=1), ("Dropout", 1): _dropped_shares,
    ("Bernoulli", 0): _reals(0, 1), ("Multinomial", 0): _reals(-3, 0), ("BatchNormalization", 4): _POSITIVE,
    **{(name, 1): _reals(0.05, 0.3) for name in ("QuantizeLinear", "DequantizeLinear")},
    **{(name, at): _reals(0.05, 0.3) for name in ("QLinearConv", "QLinearMatMul") for at in (1, 4)},
    ("QLinearConv", 6): _reals(5, 40), ("QLinearMatMul", 6): _reals(5, 40),
    ("Div", 1): _divisor, ("Mod", 1): _divisor, ("BitShift", 1): _shift_counts,
    ("Trilu", 1): _integers(-1, 1, beyond=3),
    ("RoiAlign", 1): _reals(0, 4), ("RoiAlign", 2): lambda use: Demand(0, use.size(0, 0) - 1),
    ("MaxRoiPool", 1): _reals(0, 0.9), ("GridSample", 1): _reals(-1.1, 1.1), ("AffineGrid", 1): _grid_size,
    ("MaxUnpool", 1): lambda use: Demand(0, max(use.count() - 1, 0), distinct=True),
    ("NonMaxSuppression", 0): _reals(0, 1),
    ("NonMaxSuppression", 2): _integers(1, 3), ("NonMaxSuppression", 3): _reals(0.3, 0.6),
    ("NonMaxSuppression", 4): _reals(0, 0.5), ("DFT", 1): _integers(4, 8), ("DFT", 2): _integers(1, 1),
    **{(name, 0): _integers(4, 8) for name in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    ("STFT", 1): _integers(1, 2), ("STFT", 3): _integers(4, 4), ("MelWeightMatrix", 0): _integers(4, 4),
    ("MelWeightMatrix", 1): _integers(16, 16), ("MelWeightMatrix", 2): _integers(8000, 8000),
    ("MelWeightMatrix", 3): _integers(0, 100), ("MelWeightMatrix", 4): _integers(3000, 4000),
    ("Clip", 1): _reals(-1, 0, beyond=2), ("Clip", 2): _reals(0.25, 1.5, beyond=2),
    ("CenterCropPad", 1): _sizes_to_crop_or_pad,
    **{(name, at): _around_sizes for name in _COMPARING for at in (0, 1)},
    ("Attention", 3): _mask_of_scores, ("Attention", 6): lambda use: Demand(1, use.size(1, -2)),
    ("TensorScatter", 2): _place_in_cache, ("RotaryEmbedding", 3): lambda use: Demand(0, use.size(1, 0) - 1),
    **{(f"Bitwise{name}", at): _WIDE for name in ("And", "Or", "Xor", "Not") for at in (0, 1)}, ("BitShift", 0): _WIDE,
    ("BitCast", 0): _WIDE, ("IsInf", 0): _numbers_with_infinities,
    ("IsNaN", 0): _numbers_with_infinities, ("Mod", 0): _integers(-9, 9),
    ("StringSplit", 0): _texts_with_delimiter, ("DequantizeLinear", 0): _BYTES,
    **{(name, at): _BYTES for name in ("QLinearConv", "QLinearMatMul") for at in (0, 3)},
    **{(name, at): _BYTES for name in ("ConvInteger", "MatMulInteger") for at in (0, 1)},
    ("Cast", 0): _numbers_around_float8, ("CastLike", 0): _numbers_around_float8,
    ("QuantizeLinear", 0): _numbers_around_16_bits,
    ("Sqrt", 0): _POSITIVE, ("Log", 0): _POSITIVE, ("Pow", 0): _reals(0.2, 2), ("Pow", 1): _reals(-1, 2),
    ("Acos", 0): _UNIT, ("Asin", 0): _UNIT, ("Atanh", 0): _UNIT, ("Acosh", 0): _reals(1, 3),
    ("LabelEncoder", 0): _listed_elements("keys_strings", "keys_int64s", "keys_floats", "classes_strings"),
    ("CategoryMapper", 0): _listed_elements("cats_strings", "cats_int64s"),
    ("OneHotEncoder", 0): _listed_elements("cats_strings", "cats_int64s"),
    ("TfIdfVectorizer", 0): _listed_elements("pool_strings", "pool_int64s"),
    ("StringNormalizer", 0): _listed_elements("stopwords"),
}  # fmt: skip
"""What an input of an operator demands of its values."""
HANDS_ON: Mapping[str, Iterable[int]] = {
    **dict.fromkeys(
        ("Identity Cast CastLike Reshape Flatten Squeeze Unsqueeze Transpose Slice Gather GatherElements Expand Tile "
        "Split Dropout Optional OptionalGetElement SplitToSequence DepthToSpace SpaceToDepth").split(), (0,)),
    **dict.fromkeys(("Concat", "SequenceConstruct", "ConcatFromSequence", "Max", "Min"), range(100)),
    "Where": (1, 2), "ScatterND": (0, 2), "ScatterElements": (0, 2), "Pad": (0, 2), "Clip": (0,), "Compress": (0,),
}  # fmt: skip
"""Operators whose outputs hold elements of these inputs."""
_CARRIES = {"Loop": 2, "Scan": 0}
"""Operators whose inputs from this one on are the last inputs of their body."""


class _ValueFollower:
    """Follows values of a model to the nodes that read them, and collects what these demand."""

    def __init__(self, index: ModelIndex, inference: Inference) -> None:
        self.index = index
        self.scopes = {id(scope.body): scope for scope in reversed(inference.scopes)}
        self.readers: dict[int, dict[str, list[tuple[Body, int, int]]]] = {}
        self.left = _MOST_VISITED

    def _readers_in(self, body: Body) -> dict[str, list[tuple[Body, int, int]]]:
        """Return the nodes that read each value, by its name, as (body, index of the node, index of the input).

        They are the nodes of a body that read the value, and nodes in its inner graphs.
        """
        if id(body) not in self.readers:
            found: dict[str, list[tuple[Body, int, int]]] = defaultdict(list)
            pending = [body]
            while pending:
                inner = pending.pop()
                uses = ((name, number, at) for number, names in enumerate(inner.reads) for at, name in enumerate(names))
                for name, number, position in uses:
                    if name and (inner is body or name not in inner.definitions):
                        found[name].append((inner, number, position))
                pending += inner.inner_bodies
            self.readers[id(body)] = found
        return self.readers[id(body)]

    def demand(self, name: str) -> Demand | None:
        """Return the demand on the input `name` of the main graph, None if no node demands anything of it.

        It meets the demands of all nodes that the elements of the input reach, as far as one demand can.
        """
        found: Demand | None = None
        pending = [(self.index.main, name)]
        seen: set[tuple[int, str]] = set()
        while pending and self.left > 0:
            body, value = pending.pop()
            if (id(body), value) in seen:
                continue
            seen.add((id(body), value))
            for reader, number, position in self._readers_in(body).get(value, ()):
                self.left -= 1
                demanded = self._demand_at(reader, number, position)
                if demanded is not None:
                    found = demanded if found is None else found.meet(demanded)
                pending += self._values_with_elements(reader, number, position)
        return found

    def _demand_at(self, body: Body, number: int, position: int) -> Demand | None:
        """Return the demand of the node at index `number` of a body on its input at `position`, None for none."""
        operator, domain = body.operators[number]
        if domain not in ("", "ai.onnx.ml") or self._is_call(body, number):
            return None
        if operator == "Cast" and any(
            each.name == "to" and each.i == pb.TensorProto.BOOL for each in body.attributes[number]
        ):
            return Demand(0, 1)
        if operator == "Add" and self._feeds_softmax(body, number):
            return Demand(mask=True)
        rule = RULES.get((operator, position))
        if rule is None:
            return None
        opset = self.index.imports(body).get(domain, 1)
        use = Use(operator, opset, position, body.nodes[number], self.scopes.get(id(body)), body.reads[number])
        try:
            return rule(use)
        except MALFORMED:  # an attribute of another type: the node is told when it runs
            return None

    def _feeds_softmax(self, body: Body, number: int) -> bool:
        """Whether a Softmax reads the first output of the node at index `number` of a body."""
        readers = self._readers_in(body).get(next(iter(body.computes[number]), ""), ())
        return any(reader.operators[at][0] == "Softmax" for reader, at, _ in readers)

    def _is_call(self, body: Body, number: int) -> bool:
        """Whether the node at index `number` of a body calls a function of the model."""
        return bool(self.index.functions) and body.function_key(number) in self.index.functions

    def _values_with_elements(self, body: Body, number: int, position: int) -> list[tuple[Body, str]]:
        """Return the values into which a node hands on elements of its input at `position`, as pairs (body, name).

        They are outputs of the node, inputs of a function that it calls, or inputs of the body of a Loop or Scan.
        """
        operator, _ = body.operators[number]
        if self._is_call(body, number):
            called = self.index.functions[body.function_key(number)]
            formal = called.proto.input  # not all names: there may be a call of this function for each of them
            return [(called, formal[position])] if position < len(formal) else []
        if operator in _CARRIES:
            handed = []
            for inner in body.inner_bodies_by_node.get(number, ()):
                formal = inner.proto.input
                at = len(formal) - (len(body.reads[number]) - position)
                if position >= _CARRIES[operator] and 0 <= at < len(formal):
                    handed.append((inner, formal[at].name))
            return handed
        if position in HANDS_ON.get(operator, ()):
            return [(body, name) for name in body.computes[number]]
        return []


def demands_of(index: ModelIndex, inference: Inference, names: Iterable[str]) -> dict[str, Demand]:
    """Return the demands on inputs of the main graph, by name; inputs of which nothing is demanded are left out.

    Args:
        index: The index of the model that was inferred.
        inference: The types of its values; sizes that are numbers bound the indices.
        names: The names of the inputs.
    """
    follower = _ValueFollower(index, inference)
    found = {name: follower.demand(name) for name in names}
    return {name: demand for name, demand in found.items() if demand is not None}


def suitable_demands(
    model: Model, registry: Registry, limits: Limits, names: Iterable[str]
) -> tuple[Inference | None, dict[str, Demand]]:
    """Return the inference of a model, and by name the demands on the inputs in `names`.

    If inference fails, the result is (None, {}). Of `limits`, only the time counts.
    """
    try:
        inference = infer(model, schemas=registry, limits=Limits(timeout=limits.timeout))
    except OpsetError:
        return None, {}
    return inference, demands_of(inference.index, inference, names)


def demands_for(model: Model, registry: Registry, limits: Limits, given: Mapping[str, Any]) -> dict[str, Demand]:
    """Return the demands on the inputs of a model that have no value in `given`, by name.

    The shapes of the arrays in `given`, values by name, are the sizes of the inputs that the model leaves open.
    """
    sizes: dict[str, int] = {}
    names = []
    for value in model.proto.graph.input:
        shape = getattr(given.get(value.name), "shape", None)
        if shape is None:
            names.append(value.name)
            continue
        for axis, (dim, size) in enumerate(zip(value.type.tensor_type.shape.dim, shape, strict=False)):
            sizes.setdefault(dim.dim_param or f"{value.name}.{axis}", int(size))
    if not names:
        return {}
    return suitable_demands(bind_dims(model, sizes), registry, limits, names)[1]
