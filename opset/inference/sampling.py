"""Output shapes of GridSample and AffineGrid."""

from __future__ import annotations

from opset.inference.agreement import check_numbers, is_filled, unify
from opset.inference.call import Call, Unknown
from opset.inference.dimensions import followed, less
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@infer("AffineGrid")
def affine_grid_20(call: Call) -> Shape:
    """Return (N, *spatial sizes, their number) by `size`, and by theta where `size` is not known."""
    sizes = call.sizes(1)
    if sizes is not None and (len(sizes) not in (4, 5) or any(less(size, 0) for size in sizes)):
        raise Violation("C1", f"size {', '.join(map(str, sizes))}")
    batch, rows, columns = unify(call, 0, (None,) * 3, "C2")
    rank = call.same(rows, followed(lambda size: size - 1, columns), "C2", "the number of spatial dimensions")
    if isinstance(rank, int) and rank not in (2, 3):
        raise Violation("C2", f"theta is for {rank} spatial dimensions")
    if sizes is None:
        if not isinstance(rank, int):
            raise Unknown("size is not known")
        sizes = (None,) * (2 + rank)
    call.same(rank, len(sizes) - 2, "C2", "the number of spatial dimensions")
    return (call.same(batch, sizes[0], "C2", "the batch of theta"), *sizes[2:], len(sizes) - 2)


@infer("GridSample")
def grid_sample_16(call: Call) -> Shape:
    """Return (N, C, *spatial sizes of the grid)."""
    two_dimensional = call.version < 20
    ranks = {rank for index in (0, 1) if (rank := call.rank(index)) is not None}
    rank = next(iter(ranks), 4 if two_dimensional else 0)
    if len(ranks) > 1 or (rank != 4 if two_dimensional else ranks and rank < 3):
        raise Violation("C1", f"ranks {' and '.join(map(str, sorted(ranks)))}")
    if not rank:
        raise Unknown("the rank of X is not known")
    x, grid = (call.shape(index) or (None,) * rank for index in (0, 1))
    batch = call.same(x[0], grid[0], "C1", "the batch")
    call.same(grid[-1], rank - 2, "C1", "the last size of grid")
    result = (batch, x[1], *grid[1:-1])
    if is_filled(result):
        check_numbers(call)
        if 0 in x[2:] and call.attribute("padding_mode") != "zeros":
            raise Violation("C5", f"X of {', '.join(map(str, x))}")
    return result
