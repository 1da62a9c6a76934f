"""What the operators of com.example compute."""

import numpy as np

from opset.extend import KernelContext, Violation, kernel


@kernel("Stretch", domain="com.example")
def stretch_1(x, *, times, context: KernelContext):
    return _copies(x, times, "whole", context)


@kernel("Stretch", since=2, domain="com.example")
def stretch_2(x, times, *, mode, context: KernelContext):
    return _copies(x, int(times), mode, context)


def _copies(x, times, mode, context):
    if times < 0:
        raise Violation("C1", f"times is {times}")
    context.reserve(x.size * times, x.dtype)
    return np.repeat(x, times, axis=-1) if mode == "each" else np.tile(x, times)
