import numpy as np

from opset.extend import kernel


@kernel("Shrink", domain="com.example")
def shrink_9(x):
    return np.where(np.abs(x) > 0.5, x, 0).astype(x.dtype)
