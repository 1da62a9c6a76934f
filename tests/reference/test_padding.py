"""Zeros around the spatial axes of a tensor: at the begin, at the end, at neither; and what windows see of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from opset.reference.numerics.windows import pad_spatial, taps


@pytest.mark.parametrize("ends", [(0, 0), (0, 1), (2, 0), (1, 2)])
@pytest.mark.parametrize("begins", [(0, 0), (0, 2), (1, 0), (2, 1)])
def test_zeros_around_spatial_axes(begins, ends):
    reserved = []
    context = SimpleNamespace(reserve=lambda count, dtype: reserved.append((count, dtype)))
    x = np.arange(1, 13, dtype=np.float32).reshape(1, 2, 2, 3)
    padded = pad_spatial(x, begins, ends, context)
    np.testing.assert_array_equal(padded, np.pad(x, [(0, 0), (0, 0), *zip(begins, ends, strict=True)]))
    assert reserved == ([(padded.size, np.float32)] if any((*begins, *ends)) else [])


@pytest.mark.parametrize("form", [(4, 3, 1, 1, 0, 2), (5, 9, 2, 1, 4, 3), (6, 4, 1, 2, 3, 3), (5, 2, 2, 1, 0, 2)])
def test_each_element_that_a_window_sees_is_yielded_once(form):
    size, kernel, stride, dilation, begin, count = form
    seen = [pair for windows, places in taps(*form)
            for pair in zip(range(count)[windows], range(size)[places], strict=True)]  # fmt: skip
    assert sorted(seen) == [
        (window, place)
        for window in range(count)
        for tap in range(kernel)
        if 0 <= (place := window * stride - begin + tap * dilation) < size
    ]
