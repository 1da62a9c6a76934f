"""Random inputs for a model: drawn by declared types and shapes, the same for the same seed."""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from opset.budget import Limits
from opset.errors import Finding, RunError, UsageError, safe_text
from opset.model.arrays import data_type_of, dtype_of_element
from opset.model.elements import element_name
from opset.model.types import type_string
from opset.reference.engine.limits import byte_limit
from opset.tensor_io.demands import Demand

_ENTRIES = 2  # of a sequence or map of tensors; of one that holds others 1, as they would multiply
_WORDS = ("one", "two", "three", "four", "five", "six")


def random_inputs(
    inputs: Iterable[Any],
    given: Mapping[str, Any],
    seed: int,
    limits: Limits,
    demands: Mapping[str, Demand] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return random values by name for the inputs without a given value.

    If nothing is demanded, floats are normally distributed around 0, integers are 0 to 3 (as far as the type has them),
    and text is short words. A sequence or map of tensors has two entries, an optional has a value.

    Args:
        inputs: ValueInfoProtos, whose types decide what is drawn.
        given: Values by name; they determine the dimension variables in their shapes.
        seed: The seed; the same seed gives the same values.
        limits: The limits on memory.
        demands: The demands on the values of inputs, by name.

    Raises:
        UsageError: U103 with all sizes that are not known, and all inputs for which no value can be drawn.
        RunError: R302 if the values would take too much memory.
    """
    inputs = [*inputs]
    findings: list[Finding] = []
    sizes: dict[str, int] = {}
    for value_info in inputs:
        value = given.get(value_info.name)
        if isinstance(value, np.ndarray):
            for dim, size in zip(value_info.type.tensor_type.shape.dim, value.shape, strict=False):
                if dim.dim_param:
                    sizes.setdefault(dim.dim_param, size)
    random_values = _RandomValues(sizes, findings, byte_limit(limits))
    values = {
        value_info.name: random_values.draw_value(
            value_info.name,
            value_info.type,
            np.random.default_rng((seed, zlib.crc32(value_info.name.encode()))),
            demands.get(value_info.name),
        )
        for value_info in inputs
        if value_info.name not in given
    }
    if random_values.missing:
        options = " ".join(f"--dim {safe_text(name)}=1" for name in random_values.missing)
        message = f"the size of {', '.join(map(safe_text, random_values.missing))} is not known"
        findings.append(Finding("U103", message, help=f"set it: {options}"))
    if findings:
        raise UsageError(dict.fromkeys(findings))  # the entries of a sequence have the same findings
    return values


def _entry_count(kind: Any) -> int:
    """Return how many entries a sequence or map gets; `kind` is the TypeProto of an entry."""
    return _ENTRIES if kind.WhichOneof("value") == "tensor_type" else 1


class _RandomValues:
    """Draws values; collects the names of sizes that are not known in `missing`, and other problems in `findings`."""

    def __init__(self, sizes: Mapping[str, int], findings: list[Finding], limit: int) -> None:
        self.sizes = sizes
        self.findings = findings
        self.left = limit
        self.missing: dict[str, None] = {}

    def draw_value(self, name: str, kind: Any, rng: np.random.Generator, demand: Demand | None) -> Any:
        """Return a random value for the input `name`, of the type that the TypeProto `kind` states.

        If none can be drawn, a finding is added. Raises RunError R302 if the value would take too much memory. The
        function recurses, which is safe, as Protobuf nests no more than 100 messages.
        """
        match kind.WhichOneof("value"):
            case "tensor_type" if element_name(kind.tensor_type.elem_type):
                shape = self._shape_of(name, kind.tensor_type)
                try:
                    return self._draw_tensor(shape, dtype_of_element(str(type_string(kind))[7:-1]), rng, demand)
                except (ValueError, OverflowError) as error:  # too many dimensions, or too great ones beside a 0
                    self._report_undrawable(name, f"numpy has no array of its shape: {error}")
                    return None
            case "sequence_type":
                inner = kind.sequence_type.elem_type
                return [self.draw_value(name, inner, rng, demand) for _ in range(_entry_count(inner))]
            case "optional_type":
                return self.draw_value(name, kind.optional_type.elem_type, rng, demand)
            case "map_type":
                keys: Any = _WORDS if element_name(kind.map_type.key_type) == "string" else range(_ENTRIES)
                inner = kind.map_type.value_type
                if inner.WhichOneof("value") == "tensor_type":
                    inner = copy.deepcopy(inner)
                    inner.tensor_type.shape.SetInParent()  # the standard's maps hold elements
                values = [self.draw_value(name, inner, rng, demand) for _ in range(_entry_count(inner))]
                pairs = zip(keys[: len(values)], values, strict=True)
                return {key: entry[()] if isinstance(entry, np.ndarray) else entry for key, entry in pairs}
        self._report_undrawable(name, f"it is {type_string(kind) or 'of a type that the model does not declare'}")
        return None

    def _report_undrawable(self, name: str, why: str) -> None:
        """Add a finding: no value can be drawn for the input `name`, for the reason `why`."""
        message = f"no value can be drawn for '{safe_text(name)}'"
        self.findings.append(Finding("U103", message, why=why, help="pass one in a file or with --set"))

    def _shape_of(self, name: str, kind: Any) -> list[int]:
        """Return the shape of a tensor for the input `name`; `kind` is its TypeProto.Tensor message.

        A size that is not known is 0, and its name is added to `missing`. If the rank is not known, a finding is added,
        and the result is [].
        """
        if not kind.HasField("shape"):
            self._report_undrawable(name, "the model does not declare its rank")
            return []
        shape = []
        for axis, dim in enumerate(kind.shape.dim):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
                shape.append(dim.dim_value)
                continue
            called = dim.dim_param or f"{name}.{axis}"
            if called not in self.sizes:
                self.missing[called] = None
            shape.append(self.sizes.get(called, 0))
        return shape

    def _draw_tensor(
        self, shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator, demand: Demand | None
    ) -> Any:
        """Return a random tensor of this shape and type, which meets the demand if the type has such values.

        Raises RunError R302 if the tensor, drawn in 64 bits, takes more memory than is left.
        """
        if (needed := math.prod(shape) * max(dtype.itemsize, 8)) > self.left:
            why = f"one of them needs {needed:,} bytes, and {self.left:,} are left of what is allowed in all"
            message = "the inputs would take too much memory"
            help = "smaller sizes: --dim; or more: --max-bytes"
            raise RunError(Finding("R302", message, why=why, help=help))
        self.left -= needed
        if demand is not None and (suitable := _suitable_tensor(shape, dtype, rng, demand)) is not None:
            return suitable
        if dtype.kind == "O":
            return np.array(_WORDS, object)[rng.integers(len(_WORDS), size=math.prod(shape))].reshape(shape)
        if dtype.kind == "b":
            return np.asarray(rng.integers(2, size=shape)).astype(bool)
        if dtype.name.startswith(("int", "uint")):
            return np.asarray(rng.integers(2 if dtype.name == "int2" else 4, size=shape)).astype(dtype)
        numbers = np.asarray(rng.standard_normal(shape))
        if dtype.kind == "c":
            return (numbers + 1j * np.asarray(rng.standard_normal(shape))).astype(dtype)
        if data_type_of(dtype) == 24:  # FLOAT8E8M0 holds powers of two alone, none below zero
            return np.abs(numbers).astype(dtype)
        return numbers.astype(dtype)


def _suitable_tensor(shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator, demand: Demand) -> Any:
    """Return a random tensor that meets a demand; None if no tensor of this shape and type does."""
    size = math.prod(shape)
    if demand.choices:
        is_text = isinstance(demand.choices[0], str | bytes)
        if is_text != (dtype.kind == "O") or (isinstance(demand.choices[0], float) and dtype.kind != "f"):
            return None
        words: list[Any] = [
            each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in demand.choices
        ]
        if dtype.kind in "iu":
            words = [each for each in words if np.iinfo(dtype).min <= each <= np.iinfo(dtype).max] or [0]
        return np.array(words, dtype)[rng.integers(len(words), size=size)].reshape(shape)
    if dtype.kind in "Oc":
        return None
    if demand.spread:
        if dtype.kind != "f":
            return None
        magnitudes = np.exp(rng.uniform(math.log(demand.low), math.log(demand.high), size=shape))
        with np.errstate(over="ignore"):
            return np.asarray(magnitudes * rng.choice((-1, 1), size=shape)).astype(dtype)
    if demand.mask:
        return _draw_mask(shape, dtype, rng)
    if demand.fixed:
        if len(demand.fixed) != size:
            return None
        lists = demand.fixed, *demand.others
        numbers = np.array(lists[rng.integers(len(lists))]).reshape(shape)
        return _count_from_end(numbers, demand.wraps, rng).astype(dtype)
    if demand.bounds:
        return _index_tuples(shape, rng, demand).astype(dtype) if shape and shape[-1] == len(demand.bounds) else None
    if dtype.kind == "b":
        return np.ones(shape, bool) if demand.low > 0 else None
    if demand.whole or "int" in dtype.name:
        least, most = _range_of(dtype)
        low = max(math.ceil(demand.low), least)
        high = max(min(math.floor(demand.high), most), low)
        if demand.distinct:
            return _count_from_end(_distinct_indices(shape, high + 1, rng), demand.wraps, rng).astype(dtype)
        return np.asarray(rng.integers(low, high + 1, size=shape)).astype(dtype)
    return np.asarray(rng.uniform(demand.low, demand.high, size=shape)).astype(dtype)


def _range_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the greatest integer of an integer type; for any other type, -2**31 and 2**31."""
    signed, _, bits = dtype.name.partition("int")
    if not bits.isdecimal():
        return -(2**31), 2**31
    width = int(bits)
    return (0, 2**width - 1) if signed == "u" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def _draw_mask(shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    """Return a random mask, in which False or -inf leaves out an element; None for integer types.

    Often whole rows are left out. A row of -inf alone makes NaN of a Softmax, so the last row keeps an element; only a
    mask of booleans may leave out all elements.
    """
    if dtype.kind == "b" and rng.random() < 0.5:
        return np.asarray(rng.random(shape) < rng.choice((0, 0.2, 0.5)))
    kept = np.asarray(rng.random(shape) < 0.75)
    if shape:
        kept[..., :1] = True
        if len(shape) > 1 and rng.random() < 0.75:
            kept &= np.asarray(rng.random([*shape[:-1], 1]) < 0.5)
            kept.reshape(-1, shape[-1])[-1:, :1] = True
    if dtype.kind == "b":
        return kept
    if "int" in dtype.name:
        return None
    numbers = np.asarray(rng.standard_normal(shape))
    lowest = -np.inf if dtype.kind == "f" or dtype.name == "bfloat16" else -1.0
    return np.where(kept, numbers, lowest).astype(dtype)


def _count_from_end(numbers: Any, wraps: int, rng: np.random.Generator) -> Any:
    """Return axes, some of which are counted from the end: each at random, and none in half of the draws.

    `wraps` is the rank, which is subtracted from these axes; 0 leaves all axes as they are.
    """
    if rng.random() < 0.5:
        return numbers
    return np.where(rng.random(numbers.shape) < 0.5, numbers - wraps, numbers)


def _distinct_indices(shape: list[int], count: int, rng: np.random.Generator) -> Any:
    """Return random indices from 0 to `count` - 1; if `count` suffices, none occurs twice.

    If it suffices only for the longest axis, no index occurs twice along that axis.
    """
    size = math.prod(shape)
    if size <= count <= size + 1_000_000:
        return rng.permutation(count)[:size].reshape(shape)
    if shape:  # none twice along the longest axis, as far as there are enough
        axis = shape.index(max(shape))
        places = np.arange(shape[axis]) + int(rng.integers(count))
        one_axis = [size if at == axis else 1 for at, size in enumerate(shape)]
        return np.broadcast_to((places % count).reshape(one_axis), shape)
    return rng.integers(count, size=shape)


def _index_tuples(shape: list[int], rng: np.random.Generator, demand: Demand) -> Any:
    """Return random tuples of indices along the last axis, each index at most the number in `bounds` for its position.

    If the indices are to be distinct, no tuple occurs twice, as far as there are enough tuples.
    """
    low = math.ceil(demand.low)
    sizes = [max(bound + 1 - low, 1) for bound in demand.bounds]
    count = math.prod(shape[:-1])
    if demand.distinct and math.prod(sizes) <= 1_000_000 and count <= math.prod(sizes):
        flat = rng.permutation(math.prod(sizes))[:count]
        return low + np.stack(np.unravel_index(flat, sizes), axis=-1).reshape(shape)
    return low + np.stack([rng.integers(size, size=shape[:-1]) for size in sizes], axis=-1)
