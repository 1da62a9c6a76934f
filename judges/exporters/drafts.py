"""What the exporters have in common: a model that is to be exported, and the versions at which it is."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

Exported = tuple[onnx.ModelProto, Mapping[str, Any]]
"""A model, and a value for each of its inputs; values of other names are left out."""


class Draft(NamedTuple):
    """A model that an exporter can make: its name below the folder, and the call that makes it."""

    name: str
    export: Callable[[], Exported]


def some_versions(versions: Sequence[int], number: int, count: int, every: bool) -> list[int]:
    """Return `count` of the versions, others for the next number; all of them if `every`."""
    if every:
        return [*versions]
    step = max(1, len(versions) // count)
    return sorted({versions[(number + step * turn) % len(versions)] for turn in range(count)})


def generator(name: str, seed: int) -> np.random.Generator:
    """Return a generator of random numbers that depends on nothing but a name and the seed."""
    return np.random.default_rng([zlib.crc32(name.encode()), seed])
