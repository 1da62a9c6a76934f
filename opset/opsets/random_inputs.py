"""Inputs drawn at random for a model, of the types and shapes that it declares."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from opset.errors import Finding, UsageError, printable
from opset.model.arrays import DTYPES
from opset.opsets.values import element_name, shape_of, type_string

ENTRIES = 2
"""How many entries a sequence or a map gets."""
_WORDS = ("", "a", "one", "two", "Über", "x y")


def draw_inputs(values: Iterable[Any], sizes: Mapping[str, int], seed: int, limit: int) -> dict[str, Any]:
    """Give a value for each ValueInfoProto, by name.

    Floats are of the standard normal distribution, integers from 0 to 9. `sizes` has the sizes of dimension variables
    by their names, and of dimensions without name by input and axis, "x.0". What an input gets depends on the seed and
    its name alone. Raises UsageError U103 with all sizes that are missing, or where more than `limit` bytes are needed.
    """
    values = list(values)
    missing: dict[str, str] = {}
    shapes = {value.name: _shape(value.name, value.type, sizes, missing) for value in values}
    if missing:
        raise UsageError(
            Finding("U103", f"the size of {what} has to be known", help=f"give it: --dim {key}=2")
            for key, what in missing.items()
        )
    total = sum(math.prod(shape) for shape in shapes.values()) * 16
    if total > limit:
        why = f"about {total:,} bytes; {limit:,} are allowed"
        raise UsageError(Finding("U103", "the inputs would be too large", why=why))
    return {
        value.name: _drawn(value.type, shapes[value.name], np.random.default_rng([seed, *value.name.encode()]))
        for value in values
    }


def _innermost(kind: Any) -> Any:
    """Give the tensor type in a TypeProto."""
    while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type", "map_type"):
        inner = getattr(kind, which)
        kind = inner.value_type if which == "map_type" else inner.elem_type
    return kind


def _shape(name: str, kind: Any, sizes: Mapping[str, int], missing: dict[str, str]) -> tuple[int, ...]:
    """Give the shape to draw; sizes that are not known are noted in `missing`."""
    tensor = _innermost(kind)
    declared = shape_of(tensor)
    if declared is None:  # of an unknown rank, as many as sizes are given
        axes = [int(key.rpartition(".")[2]) for key in sizes if re.fullmatch(rf"{re.escape(name)}\.\d{{1,2}}", key)]
        declared = (None,) * (1 + max(axes, default=-1))
    shape = []
    for axis, size in enumerate(declared):
        key = f"{name}.{axis}"
        if key in sizes:
            shape.append(sizes[key])
        elif isinstance(size, int):
            shape.append(size)
        elif isinstance(size, str) and size in sizes:
            shape.append(sizes[size])
        else:
            what = f"dimension {axis} of '{printable(name)}'"
            missing.setdefault(size or key, f"'{printable(size)}', {what}," if size else what)
            shape.append(1)
    return tuple(shape)


def _drawn(kind: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    which = kind.WhichOneof("value")
    if which == "optional_type":
        return _drawn(kind.optional_type.elem_type, shape, rng)
    if which == "sequence_type":
        return [_drawn(kind.sequence_type.elem_type, shape, rng) for _ in range(ENTRIES)]
    if which == "map_type":
        keys = _WORDS[1:] if element_name(kind.map_type.key_type) == "string" else range(ENTRIES)
        value_type = kind.map_type.value_type
        return {key: _drawn(value_type, shape, rng)[()] for key, _ in zip(keys, range(ENTRIES), strict=False)}
    if which != "tensor_type":
        message = f"no value of the type {type_string(kind) or 'that is declared'} can be drawn"
        raise UsageError(Finding("U103", message, help="give the input in a file"))
    dtype = DTYPES[kind.tensor_type.elem_type]
    if dtype.kind == "O":
        words = np.empty(len(_WORDS), object)
        words[:] = _WORDS
        return np.asarray(words[rng.integers(0, len(_WORDS), shape)], object)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype.name:
        highest = {"uint2": 3, "int2": 1, "int4": 7}.get(dtype.name, 9)
        return np.asarray(rng.integers(0, highest, shape, endpoint=True)).astype(dtype)
    normal = np.asarray(rng.standard_normal(shape))
    if dtype.kind == "c":
        return (normal + 1j * rng.standard_normal(shape)).astype(dtype)
    return (np.exp2(np.rint(normal)) if "e8m0" in dtype.name else normal).astype(dtype)
