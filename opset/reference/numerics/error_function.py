"""The Gauss error function of arrays, which numpy lacks.

Up to 1.25 it is `x + x * P(x * x)`, which loses nothing near zero; beyond, `1 - exp(Q(x - 1.25))`, where Q follows the
logarithm of the complement. P and Q were fitted to values of 40 digits by least squares, reweighted until the
greatest relative error of the result was as small as it gets: below 1e-9 for float32, below 4e-17 for double. Both are
computed in double. Results in float32 are within 0.52 units of the last place, those in double within 4e-16 of the
exact value, relative to it.
"""

from __future__ import annotations

import numpy as np

from opset.reference.numerics.arrays import Array

BORDER = 1.25
_BLOCK = 1 << 14  # elements computed at a time, so that temporaries stay in the processor's cache

# By type: P and Q from the constant term on, and where the result is 1 when rounded.
FITTED: dict[str, tuple[tuple[float, ...], tuple[float, ...], float]] = {
    "float32": (
        (0.128379166, -0.3761263004, 0.11283675, -0.02686024641, 0.005209014305, -0.0008339551396, 0.000103937912,
         -7.572809289e-06),
        (-2.562653665, -3.067723523, -0.870817668, -0.03264078569, 0.007666537505, -0.001445288127, 0.0001546823213),
        4.0,
    ),
    "float64": (
        (0.128379167095512534, -0.376126389031829025, 0.112837916709253089, -0.0268661706410021174,
         0.00522397759561016522, -0.000854832573579058812, 0.000120552971629594363, -1.49249796420899533e-05,
         1.6453467227425963e-06, -1.62886475025003656e-07, 1.4335217594723408e-08, -1.03770020853842863e-09,
         4.59966638100355079e-11),
        (-2.56265366192212553, -3.06772394166928876, -0.87081016405677695, -0.0326870087122299272,
         0.00779196181183760199, -0.00160695156178684365, 0.000246783950383049967, -1.00351838336193058e-05,
         -1.08552855265345205e-05, 5.21678529887484245e-06, -1.51394954984657144e-06, 3.15884602313347631e-07,
         -4.66361603226124095e-08, 4.37443216167328093e-09, -1.95083012766878522e-10),
        6.0,
    ),
}  # fmt: skip


def erf(x: Array) -> Array:
    """Return 2/sqrt(pi) times the integral of exp(-t*t) from 0 to each element of a float32 or double array."""
    result = np.empty(x.shape, x.dtype)
    values, results = x.reshape(-1), result.reshape(-1)
    for start in range(0, values.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        results[block] = _of_block(values[block].astype(np.float64), *FITTED[x.dtype.name])
    return result


def _of_block(x: Array, near: tuple[float, ...], far: tuple[float, ...], end: float) -> Array:
    distance = np.abs(x)
    np.minimum(distance, end, out=distance)
    inner = _polynomial(near, distance * distance)
    inner *= distance
    inner += distance
    is_near = distance <= BORDER
    distance -= BORDER
    outer = _polynomial(far, distance)
    np.exp(outer, out=outer)
    np.subtract(1, outer, out=outer)
    np.copyto(outer, inner, where=is_near)
    return np.copysign(outer, x, out=outer)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Return the polynomial's values, by Horner's rule."""
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result
