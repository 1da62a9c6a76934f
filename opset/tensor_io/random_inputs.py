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
    """Return values for the inputs, ValueInfoProtos, that have no given value.

    If nothing is demanded, floats are normally distributed around 0, integers 0 to 3 (as far as the type has them),
    text is short words; a sequence or map of tensors has two entries, an optional has its value.

    Args:
        given: Values by name; they determine the dimension variables in their shapes.
        limits: The limits on memory.
        demands: The demands on the values of inputs, by name.

    Raises:
        UsageError: U103 with all sizes that are not known.
        RunError: R302 if there are too many elements.
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
        value_info.name: random_values.value(
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
    """Return the number of entries of a sequence or map, by the type of its entries."""
    return _ENTRIES if kind.WhichOneof("value") == "tensor_type" else 1


class _RandomValues:
    """Draws values, and collects missing sizes and other findings."""

    def __init__(self, sizes: Mapping[str, int], findings: list[Finding], limit: int) -> None:
        self.sizes = sizes
        self.findings = findings
        self.left = limit
        self.missing: dict[str, None] = {}

    def value(self, name: str, kind: Any, rng: np.random.Generator, demand: Demand | None) -> Any:
        """Return a value of a TypeProto; it recurses, which is safe, as Protobuf nests no more than 100 messages."""
        match kind.WhichOneof("value"):
            case "tensor_type" if element_name(kind.tensor_type.elem_type):
                shape = self._shape(name, kind.tensor_type)
                try:
                    return self._tensor(shape, dtype_of_element(str(type_string(kind))[7:-1]), rng, demand)
                except (ValueError, OverflowError) as error:  # too many dimensions, or too great ones beside a 0
                    self._impossible(name, f"numpy has no array of its shape: {error}")
                    return None
            case "sequence_type":
                inner = kind.sequence_type.elem_type
                return [self.value(name, inner, rng, demand) for _ in range(_entry_count(inner))]
            case "optional_type":
                return self.value(name, kind.optional_type.elem_type, rng, demand)
            case "map_type":
                keys: Any = _WORDS if element_name(kind.map_type.key_type) == "string" else range(_ENTRIES)
                inner = kind.map_type.value_type
                if inner.WhichOneof("value") == "tensor_type":
                    inner = copy.deepcopy(inner)
                    inner.tensor_type.shape.SetInParent()  # the standard's maps hold elements
                values = [self.value(name, inner, rng, demand) for _ in range(_entry_count(inner))]
                pairs = zip(keys[: len(values)], values, strict=True)
                return {key: entry[()] if isinstance(entry, np.ndarray) else entry for key, entry in pairs}
        self._impossible(name, f"it is {type_string(kind) or 'of a type that the model does not declare'}")
        return None

    def _impossible(self, name: str, why: str) -> None:
        """Add the finding that no value can be drawn."""
        message = f"no value can be drawn for '{safe_text(name)}'"
        self.findings.append(Finding("U103", message, why=why, help="pass one in a file or with --set"))

    def _shape(self, name: str, kind: Any) -> list[int]:
        """Return the shape of a tensor, with 0 for a size that is missing, which is noted."""
        if not kind.HasField("shape"):
            self._impossible(name, "the model does not declare its rank")
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

    def _tensor(self, shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator, demand: Demand | None) -> Any:
        """Return a random tensor, drawn in 64 bits; raise RunError R302 if it takes more memory than is left."""
        if (needed := math.prod(shape) * max(dtype.itemsize, 8)) > self.left:
            why = f"one of them needs {needed:,} bytes, and {self.left:,} are left of what is allowed in all"
            message = "the inputs would take too much memory"
            help = "smaller sizes: --dim; or more: --max-bytes"
            raise RunError(Finding("R302", message, why=why, help=help))
        self.left -= needed
        if demand is not None and (suitable := _suitable(shape, dtype, rng, demand)) is not None:
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


def _suitable(shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator, demand: Demand) -> Any:
    """Return a tensor that meets a demand, None if its type holds no such values."""
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
        return _mask(shape, dtype, rng)
    if demand.fixed:
        if len(demand.fixed) != size:
            return None
        lists = demand.fixed, *demand.others
        numbers = np.array(lists[rng.integers(len(lists))]).reshape(shape)
        return _wrapped(numbers, demand.wraps, rng).astype(dtype)
    if demand.bounds:
        return _index_tuples(shape, rng, demand).astype(dtype) if shape and shape[-1] == len(demand.bounds) else None
    if dtype.kind == "b":
        return np.ones(shape, bool) if demand.low > 0 else None
    if demand.whole or "int" in dtype.name:
        least, most = _range_of(dtype)
        low = max(math.ceil(demand.low), least)
        high = max(min(math.floor(demand.high), most), low)
        if demand.distinct:
            return _wrapped(_distinct(shape, high + 1, rng), demand.wraps, rng).astype(dtype)
        return np.asarray(rng.integers(low, high + 1, size=shape)).astype(dtype)
    return np.asarray(rng.uniform(demand.low, demand.high, size=shape)).astype(dtype)


def _range_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the greatest integer of a type, or integers that each type of floating point has."""
    signed, _, bits = dtype.name.partition("int")
    if not bits.isdecimal():
        return -(2**31), 2**31
    width = int(bits)
    return (0, 2**width - 1) if signed == "u" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def _mask(shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    """Return a mask that leaves out a part, and often some rows whole; the last, or all, only if it is of bool."""
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


def _wrapped(numbers: Any, wraps: int, rng: np.random.Generator) -> Any:
    """Return axes of which some are counted from the end, each at random, and in half of the draws none."""
    if not wraps or rng.random() < 0.5:
        return numbers
    return np.where(rng.random(numbers.shape) < 0.5, numbers - wraps, numbers)


def _distinct(shape: list[int], count: int, rng: np.random.Generator) -> Any:
    """Return indices below a count, none twice if there are enough of them."""
    size = math.prod(shape)
    if size <= count <= size + 1_000_000:
        return rng.permutation(count)[:size].reshape(shape)
    if shape and max(shape) <= count:  # none twice along the longest axis
        axis = shape.index(max(shape))
        places = np.arange(shape[axis]) + int(rng.integers(count))
        return np.broadcast_to((places % count).reshape([-1 if at == axis else 1 for at in range(len(shape))]), shape)
    return rng.integers(max(count, 1), size=shape)


def _index_tuples(shape: list[int], rng: np.random.Generator, demand: Demand) -> Any:
    """Return tuples of indices within the bounds of a demand, along the last axis."""
    low = math.ceil(demand.low)
    sizes = [max(bound + 1 - low, 1) for bound in demand.bounds]
    count = math.prod(shape[:-1])
    if demand.distinct and math.prod(sizes) <= 1_000_000 and count <= math.prod(sizes):
        flat = rng.permutation(math.prod(sizes))[:count]
        return low + np.stack(np.unravel_index(flat, sizes), axis=-1).reshape(shape)
    return low + np.stack([rng.integers(size, size=shape[:-1]) for size in sizes], axis=-1)
