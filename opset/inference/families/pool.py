"""Output shape of MaxUnpool; the pools themselves have rules in `rules/windows.py`."""

from __future__ import annotations

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, apply_to_sizes, less
from opset.inference.building.types import Shape
from opset.inference.registration import infer
from opset.inference.rules.windows import windows_of
from opset.schemas.constraints.violation import Violation


@infer("MaxUnpool")
def max_unpool_9(call: Call) -> Shape:
    """Return the output shape: the input `output_shape`, or else the sizes of the tensor that was pooled.

    Without `output_shape`, each spatial size is the number of elements that the windows cover, less the pads. A size is
    None if it is unknown. Raises Violation C2 for an empty window, C4 if `output_shape` does not fit or the pads remove
    more elements than there are. Raises Violation without the label of a constraint if `kernel_shape` is absent.
    """
    kernel = required_attribute(call, "kernel_shape")
    windows = windows_of(call, kernel)
    rank = len(kernel)
    shape = call.run("S") or (None,) * (rank + 2)
    if call.has(2):
        sizes = call.sizes(2)
        if sizes is None:
            return (*shape[:2], *[None] * rank)
        pairs = zip(shape[:2], sizes, strict=False)
        leading = [call.same(size, stated, "C4", "a size of X and output_shape") for size, stated in pairs]
        return (*leading, *sizes[2:])

    def covered_size(size: Size, extent: int, stride: int, begin: int, end: int) -> Size:
        """Return how many elements along an axis `size` windows cover, without pads."""
        result = (size - 1) * stride + extent - begin - end
        if less(result, 0):
            raise Violation("C4", f"the windows over {size} positions cover {result} elements")
        return result

    axes = zip(shape[2:], kernel, windows.strides, windows.begins, windows.ends, strict=True)
    return (*shape[:2], *[apply_to_sizes(covered_size, *axis) for axis in axes])
