"""Output shapes of GridSample and AffineGrid."""

from __future__ import annotations

from opset.inference.building.agreement import check_averaged_type, is_nonempty
from opset.inference.building.call import Call, Unknown
from opset.inference.building.types import Shape
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation


@infer("AffineGrid")
def affine_grid_20(call: Call) -> Shape:
    """Return (N, *spatial sizes, number of spatial axes); the sizes are the input `size` without N and C.

    A size is None if it is unknown. Raises Unknown if not even the number of sizes is known, Violation C2 if N differs
    from the batch of theta.
    """
    sizes = call.sizes(1)
    if sizes is None:
        _, rows, columns = call.require_shape(0)
        rank = rows if isinstance(rows, int) else columns - 1
        if not isinstance(rank, int):
            raise Unknown("size is not known")
        sizes = (None,) * (2 + rank)
    return (call.same(call.size("N"), sizes[0], "C2", "the batch of theta"), *sizes[2:], len(sizes) - 2)


@infer("GridSample")
def grid_sample_16(call: Call) -> Shape:
    """Return (N, C, *spatial sizes of the grid); a size is None if it is unknown.

    Raises Unknown from version 20 on if the ranks of X and the grid are unknown. Raises Violation C4 if strings or
    booleans would be averaged, C5 if X has no elements to sample and `padding_mode` is not "zeros".
    """
    output: Shape | None = call.run("D")
    if output is None:
        output = (None,) * ((4 if call.version < 20 else len(call.require_shape(0))) - 2)
    result = (call.size("N"), call.size("C"), *output)
    if is_nonempty(result):
        check_averaged_type(call)
        sizes = call.require_shape(0)
        if 0 in sizes[2:] and call.attribute("padding_mode") != "zeros":
            raise Violation("C5", f"X of {', '.join(map(str, sizes))}")
    return result
