"""Draws sparse initializers: elements that are not 0, each with one index, or with one for each axis."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import helper, numpy_helper

__all__ = ["LEAST_IR", "dense_of", "sparse_of"]

LEAST_IR = 6
"""Since which IR version a graph may have sparse initializers."""


def sparse_of(value: np.ndarray, name: str, rng: random.Random) -> onnx.SparseTensorProto | None:
    """Return an array as a sparse initializer; None for a scalar, no elements, strings and narrow types."""
    if not value.ndim or not value.size or value.dtype.kind not in "fiu" or value.dtype.type.__module__ != "numpy":
        return None
    held = np.flatnonzero((value != 0) | np.signbit(value))
    indices = held if rng.random() < 0.5 else np.stack(np.unravel_index(held, value.shape), axis=-1)
    values = numpy_helper.from_array(value.reshape(-1)[held], name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(indices.astype(np.int64)), list(value.shape))


def dense_of(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """Return what a sparse initializer stands for."""
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    found = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        found.reshape(-1)[indices] = values
    else:
        found[tuple(indices.T)] = values
    return found
