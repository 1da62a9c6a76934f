from opset.extend import kernel


@kernel("LpPool", domain="com.example")
def lp_pool_18(x):
    return x.reshape(-1, 2).max(axis=1)
