"""Rules about sparse tensors: their values, the indices of these, and the dims of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from opset.checker.table import CHECKER, CheckContext, StoredSparseTensor
from opset.errors import Finding, ModelError
from opset.model import proto as pb
from opset.model.storage import external
from opset.model.storage.encoding import element_count
from opset.model.storage.tensor import SMALL, tensor_values

_INT64: Final = 7
_MOST: Final = SMALL // 8
"""Indices of the largest tensor that is read."""


@CHECKER.rule("G521 G523 G524 G525 G526 G527", StoredSparseTensor)
def check_sparse_tensor(stored: StoredSparseTensor, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each way in which the parts of a sparse tensor do not fit together.

    - G521: it has no values;
    - G523: its values do not have exactly one dimension;
    - G524: its dims are missing, or not positive;
    - G525: its indices are missing, of a wrong type or of a wrong shape;
    - G526: an index lies outside of the dims;
    - G527: the indices are not ascending.

    Large and external indices are not read.
    """
    sparse = stored.proto
    if not sparse.HasField("values"):
        why = "values holds those elements that are not zero"
        yield Finding("G521", "the sparse tensor has no values", stored.place, why, "set values; they may be empty")
        return
    values, dims = sparse.values, sparse.dims[:]
    if not dims or min(dims) <= 0:
        message = "the sparse tensor has no dims" if not dims else "a dim of the sparse tensor is not positive"
        why = "dims are the shape of the whole tensor, which has elements"
        yield Finding("G524", message, stored.place, why, "set dims to the shape of the dense tensor")
        dims = []
    if len(values.dims) != 1:
        message = f"the values of the sparse tensor have {len(values.dims)} dimensions"
        why = "each value is one element, so they are a vector"
        yield Finding("G523", message, stored.place, why, "write the values as a tensor of shape [NNZ]")
        return
    fault = _shape_fault(sparse, values.dims[0], dims)
    if fault:
        why = "each value has one index, counted in the flattened tensor, or one index for each dimension"
        help = "write indices of type int64 and shape [NNZ] or [NNZ, rank]"
        yield Finding("G525", fault, stored.place, why, help)
    elif dims and values.dims[0] > 0 and not external.is_external(sparse.indices):
        try:
            numbers = tensor_values(context.model, sparse.indices, _MOST)
        except ModelError:
            return  # they are too many, or the rules on tensors report it
        yield from _index_faults(stored, numbers, dims)


def _shape_fault(sparse: Any, count: int, dims: Sequence[int]) -> str:
    """Return why the indices of a SparseTensorProto do not fit its `count` values, as a sentence; "" if they do.

    `dims` are the dims of the whole tensor, () if they are not known.
    """
    indices = sparse.indices
    if not sparse.HasField("indices"):
        return "the sparse tensor has no indices" if count else ""
    if indices.data_type != _INT64:
        return "the indices of the sparse tensor are not of type int64"
    shape = indices.dims[:]
    if len(shape) not in (1, 2):
        return f"the indices of the sparse tensor have {len(shape)} dimensions"
    if shape[0] != count:
        return f"the sparse tensor has {count} values and {shape[0]} indices"
    if dims and shape[1:] not in ([], [len(dims)]):
        return f"the indices of the sparse tensor have {shape[1]} numbers each, and its rank is {len(dims)}"
    whole = _whole_count(dims)
    if whole is not None and count > whole:
        return f"the sparse tensor has {count} values, and its dims ask for {whole} elements"
    return ""


def _whole_count(dims: Sequence[int]) -> int | None:
    """Return the number of elements of the whole tensor, None if its dims are () or too large to be real."""
    try:
        return element_count(pb.TensorProto(dims=dims)) if dims else None
    except ModelError:
        return None


def _index_faults(stored: StoredSparseTensor, numbers: list[Any], dims: Sequence[int]) -> Iterator[Finding]:
    """Yield a finding for the first index outside of the dims, and for the first one that is not above the one before.

    `numbers` are the elements of the indices, flattened.
    """
    linear = len(stored.proto.indices.dims) == 1
    limits = [_whole_count(dims)] if linear else dims
    width = len(limits)
    rows = [numbers[start : start + width] for start in range(0, len(numbers), width)]
    for row in rows:
        if any(index < 0 or (limit is not None and index >= limit) for index, limit in zip(row, limits, strict=True)):
            message = f"the index {row[0] if linear else row} of the sparse tensor lies outside of its dims"
            why = f"the dims are {[*dims][:8]}" if dims[8:] else f"the dims are {[*dims]}"
            yield Finding("G526", message, stored.place, why, "correct the index, or the dims")
            break
    for before, row in pairwise(rows):
        if before >= row:
            message = (
                f"the index {row[0] if linear else row} of the sparse tensor follows {before[0] if linear else before}"
            )
            why = "indices are ascending, and each stands once"
            yield Finding("G527", message, stored.place, why, "sort the indices together with their values")
            break
