"""Kernels of element-wise functions of two or more operands: arithmetic, comparison, logic, bits and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.broadcasting import broadcast, broadcast_from_axis, check_same_shape, reserve_broadcast
from opset.reference.numerics.selection import select
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import Function, KernelContext, kernel
from opset.schemas.constraints.violation import Violation


def divide(a: Array, b: Array) -> Array:
    """Return a / b; integers are truncated toward zero. Raises Violation C2 if an integer is divided by 0."""
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    _check_divisor(b)
    return np.floor_divide(a - np.fmod(a, b), b)


def _check_divisor(b: Array) -> None:
    """Raise Violation C2 if a divisor of integers is 0."""
    if b.dtype.kind in "iu" and not b.all():
        raise Violation("C2", "an integer is divided by 0")


def power(x: Array, y: Array) -> Array:
    """Return x ** y in the type of x; integers are truncated toward zero.

    Powers of integers with integer exponents are exact, and those that overflow, which is not defined, wrap around.
    Raises Violation C2 if an integer 0 is raised to a negative power.
    """
    if y.size == 1 and y.ndim <= x.ndim and y.item() == 2:
        return np.square(x)
    if x.dtype.kind == "i":
        if y.size == 1 and y.ndim <= x.ndim and y.item() == 3:
            return x * x * x
        if ((x == 0) & (y < 0)).any():
            raise Violation("C2", "0 is raised to a negative power")
        if y.dtype.kind in "iu":
            # By squaring; unsigned, since numpy refuses negative exponents: wrap-around gives the same bits.
            powers = np.power(x.astype(np.uint64), np.abs(y).astype(np.uint64)).astype(x.dtype)
            return np.where((y < 0) & (np.abs(x) != 1), x.dtype.type(0), powers)
    elif x.dtype == y.dtype:
        return np.power(x, y)
    wide = np.float32 if max(x.dtype.itemsize, y.dtype.itemsize) < 4 else np.float64
    return np.power(x.astype(wide), y.astype(wide)).astype(x.dtype)


# Operators of two operands, with the function of their elements; the last two tables are newer than opset 7.
_ARITHMETIC: dict[str, Function] = {
    "Add": np.add,
    "And": np.logical_and,
    "Div": divide,
    "Mul": np.multiply,
    "Or": np.logical_or,
    "Pow": power,
    "Sub": np.subtract,
    "Xor": np.logical_xor,
}
_COMPARISON: dict[str, Function] = {"Equal": np.equal, "Greater": np.greater, "Less": np.less}
_LATER: dict[str, Function] = {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
_LATER_COMPARISON: dict[str, Function] = {"GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal}

for _name, _function in {**_ARITHMETIC, **_COMPARISON}.items():
    kernel(_name)(broadcast_from_axis(_function))
    kernel(_name, since=7)(broadcast(_function, np.bool_ if _name in _COMPARISON else None))
for _name, _function in _LATER.items():
    kernel(_name)(broadcast(_function))
for _name, _function in _LATER_COMPARISON.items():
    kernel(_name)(broadcast(_function, np.bool_))


@kernel("Mod", since=28)
def mod_28(a: Array, b: Array, *, fmod: int, context: KernelContext) -> Array:
    """Return the remainder of a / b, with the sign of b, or of a if `fmod` is 1."""
    _check_divisor(b)
    if a.shape != b.shape:
        reserve_broadcast(context, a, b)
    return np.fmod(a, b) if fmod else np.remainder(a, b)


@kernel("Mod")
def mod_10(a: Array, b: Array, *, fmod: int, context: KernelContext) -> Array:
    """Return the remainder of a / b; floats require `fmod=1`."""
    if not fmod and a.dtype.kind not in "iu":
        raise Violation("C4", f"fmod is 0, and the type is {a.dtype}")
    return mod_28(a, b, fmod=fmod, context=context)


@kernel("BitShift")
def bit_shift_11(x: Array, y: Array, *, direction: str, context: KernelContext) -> Array:
    """Return x shifted by y bits; by the width or more, or a negative number, only copies of the sign bit remain."""
    if x.shape != y.shape:
        reserve_broadcast(context, x, y)
    return np.left_shift(x, y) if direction == "LEFT" else np.right_shift(x, y)


@kernel("Where")
def where_9(condition: Array, x: Array, y: Array, *, context: KernelContext) -> Array:
    """Return x for elements whose condition is true, else y."""
    if not condition.shape == x.shape == y.shape:
        reserve_broadcast(context, condition, x, y)
    return select(condition, x, y)


def _fold_operands(ufunc: Any) -> Function:
    """Return the function that folds any number of operands with a function of two."""

    def function(*operands: Array, context: KernelContext) -> Array:
        result = operands[0]
        for operand in operands[1:]:
            if result.shape != operand.shape:
                reserve_broadcast(context, result, operand)
            result = ufunc(result, operand)
        return result

    return function


maximum, minimum = _fold_operands(np.maximum), _fold_operands(np.minimum)
_total = _fold_operands(np.add)


@rounded_once
def total(*operands: Array, context: KernelContext) -> Array:
    """Return the sum of all operands."""
    return _total(*operands, context=context)


@rounded_once
def mean(*operands: Array, context: KernelContext) -> Array:
    """Return the sum of all operands divided by their number."""
    return np.divide(_total(*operands, context=context), operands[0].dtype.type(len(operands)))


def _require_one_shape(function: Function) -> Function:
    """Return the kernel of versions before 8, whose operands all have one shape."""

    def of_one_shape(*operands: Array, context: KernelContext) -> Array:
        for operand in operands:
            check_same_shape(operands[0], operand)
        return function(*operands, context=context)

    return of_one_shape


for _name, _function in (("Max", maximum), ("Min", minimum), ("Sum", total), ("Mean", mean)):
    kernel(_name)(_require_one_shape(_function))
    kernel(_name, since=8)(_function)
