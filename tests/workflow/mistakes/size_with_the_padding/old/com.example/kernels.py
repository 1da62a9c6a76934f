import numpy as np

from opset.extend import kernel


@kernel("MaxPool", domain="com.example")
def max_pool_22(x):
    padded = np.concatenate([[-np.inf], x, [-np.inf] * (1 + len(x) % 2)])
    return padded[: 2 * ((len(x) + 2) // 2)].reshape(-1, 2).max(axis=1).astype(x.dtype)
