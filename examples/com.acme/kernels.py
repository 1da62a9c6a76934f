import numpy as np

from opset.extend import kernel, rounded_once


@kernel("Thin", domain="com.acme")
def thin_1(x, *, skip):
    return x[..., :: skip + 1]


@kernel("Thin", since=2, domain="com.acme")
def thin_2(x, *, step, start):
    return x[..., start::step]


@kernel("Softcap", domain="com.acme")
@rounded_once
def softcap_1(x, *, cap, scale=1.0):
    cap, scale = x.dtype.type(cap), x.dtype.type(scale)
    return cap * np.tanh(x * scale / cap)
