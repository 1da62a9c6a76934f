"""Measures what kernels gain by computing in place, or in blocks, beside the formula that they stand for.

    python -m benchmarks.kernels [--only REGEX] [--sizes 1,100] [--runs N]

Each row is one kernel as it is shipped and its plain formula in numpy, with inputs of 1 and of 100 megabytes: the least
CPU time of several runs, and the greatest memory beside the inputs. Both have to return the same bits. A chain of
operations in place is kept where it saves more than 15 % of time or memory at both sizes; elsewhere kernels are their
formula, whose temporary arrays numpy reuses. The exit status is 1 where one saves less, or where the bits differ.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opset.reference.kernels import activation, linalg, norm, quantize
from opset.reference.numerics import error_function
from opset.reference.numerics.selection import select

Array = np.ndarray[Any, Any]
KEPT = 0.15


class Unlimited:
    """The context of a kernel that runs by itself: nothing is limited."""

    outputs = 1

    def reserve(self, count: int, dtype: Any) -> None:
        """Allow any memory."""


@dataclass(frozen=True)
class Case:
    """A kernel, its formula, and the inputs of both for a number of elements."""

    name: str
    kernel: Callable[..., Array]
    formula: Callable[..., Array]
    inputs: Callable[[int], tuple[Array, ...]]


def numbers(count: int, *shape: int) -> Array:
    """Return `count` normally distributed floats, as rows of a shape."""
    return np.random.default_rng(0).standard_normal(count, np.float32).reshape(-1, *shape)


def channels(count: int) -> tuple[Array, ...]:
    """Return images of 16 channels of 32 by 32, and two parameters of each channel."""
    return numbers(count, 16, 32, 32), numbers(16).reshape(-1), numbers(16).reshape(-1)


def gelu_tanh(x: Array) -> Array:
    return (np.tanh((x * x * 0.044715 + 1) * x * math.sqrt(2 / math.pi)) + 1) * 0.5 * x


def erf(x: Array) -> Array:
    """Return what the shipped function does, of all elements at once and without changing an array."""
    near, far, end = error_function.FITTED[x.dtype.name]
    distance = np.minimum(np.abs(x.astype(np.float64)), end)

    def polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
        result: Any = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            result = result * x + coefficient
        return np.asarray(result)

    inner = polynomial(near, distance * distance) * distance + distance
    outer = 1 - np.exp(polynomial(far, distance - error_function.BORDER))
    return np.copysign(np.where(distance <= error_function.BORDER, inner, outer), x).astype(x.dtype)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def instance_normalization(x: Array, scale: Array, bias: Array) -> Array:
    centred = x - x.mean((2, 3), keepdims=True)
    inverse = 1 / np.sqrt(np.square(centred).mean((2, 3), keepdims=True) + 1e-5)
    return centred * inverse * scale.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)


def infer_batch(x: Array, scale: Array, bias: Array) -> Array:
    mean, variance = np.zeros(16, np.float32), np.ones(16, np.float32)
    options: Any = {"epsilon": 1e-5, "momentum": 0.9, "training_mode": 0, "context": CONTEXT}
    result: Array = norm.batch_normalization_14(x, scale, bias, mean, variance, **options)[0]
    return result


def batch_normalization(x: Array, scale: Array, bias: Array) -> Array:
    factor = (scale.astype(np.float64) / np.sqrt(np.ones(16) + 1e-5)).astype(np.float32)
    return x * factor.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)


def quantize_linear(x: Array, scale: Array, zero_point: Array) -> Array:
    shifted = np.rint(x / scale) + zero_point.astype(np.float32)
    return np.minimum(np.fmax(shifted, 0), 255).astype(np.uint8)


def dequantize_linear(x: Array, scale: Array, zero_point: Array) -> Array:
    return (x.astype(np.float32) - zero_point.astype(np.float32)[:, None]) * scale[:, None]


def gemm(a: Array, b: Array, c: Array) -> Array:
    return a @ b * np.float32(0.5) + c * np.float32(2)


def quantized(count: int) -> tuple[Array, ...]:
    """Return quantized rows of 16 channels, with a scale and a zero point for each channel."""
    x = (numbers(count, 16, 1024) * 40 + 128).astype(np.uint8)
    return x, np.linspace(0.1, 0.2, 16, dtype=np.float32), np.arange(120, 136, dtype=np.uint8)


def square(count: int) -> tuple[Array, ...]:
    """Return factors of a product with `count` elements, and a row that is added to each of its rows."""
    return numbers(count // 1024 * 8, 8), numbers(8192, 1024), numbers(1024)


CONTEXT: Any = Unlimited()
CASES = (
    Case("Gelu, tanh", lambda x: activation.gelu_20(x, approximate="tanh"), gelu_tanh, lambda n: (numbers(n),)),
    Case("erf", error_function.erf, erf, lambda n: (numbers(n),)),
    Case("Softmax", lambda x: activation.softmax(x, axis=-1), softmax, lambda n: (numbers(n, 256),)),
    Case("select", lambda x, y: select(x > 0, x, y), lambda x, y: np.where(x > 0, x, y),
         lambda n: (numbers(n), numbers(n) * 2)),
    Case("InstanceNormalization", lambda x, s, b: norm.instance_normalization_1(x, s, b, epsilon=1e-5, context=CONTEXT),
         instance_normalization, channels),
    Case("BatchNormalization", infer_batch, batch_normalization, channels),
    Case("QuantizeLinear", lambda x, s, z: quantize.quantize_linear_13(x, s, z, axis=1), quantize_linear,
         lambda n: (numbers(n) * 9, np.array(0.1, np.float32), np.array(128, np.uint8))),
    Case("DequantizeLinear", lambda x, s, z: quantize.dequantize_linear_13(x, s, z, axis=1), dequantize_linear,
         quantized),
    Case("Gemm", lambda a, b, c: linalg.gemm_7(a, b, c, alpha=0.5, beta=2.0, transA=0, transB=0, context=CONTEXT),
         gemm, square),
)  # fmt: skip


def least_time(function: Callable[..., Array], inputs: tuple[Array, ...], runs: int) -> float:
    """Return the least CPU seconds of several runs."""
    times = []
    for _ in range(runs):
        begun = time.process_time()
        function(*inputs)
        times.append(time.process_time() - begun)
    return min(times)


def peak(function: Callable[..., Array], inputs: tuple[Array, ...]) -> float:
    """Return the most megabytes that are allocated at once, the result among them."""
    tracemalloc.start()
    function(*inputs)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def measured(case: Case, megabytes: int, runs: int) -> tuple[str, float]:
    """Return a row about a case, and the greater of the fractions of time and memory that the kernel saves."""
    inputs = case.inputs(megabytes * 250_000 // 16_384 * 16_384)
    with np.errstate(all="ignore"):
        mine, plain = case.kernel(*inputs), case.formula(*inputs)
        if mine.dtype != plain.dtype or mine.tobytes() != plain.tobytes():
            return f"{case.name:22} {megabytes:4} MB   the bits differ", -math.inf
        seconds = [least_time(each, inputs, runs) for each in (case.kernel, case.formula)]
        memory = [peak(each, inputs) for each in (case.kernel, case.formula)]
    ratios = [ours / max(theirs, 1e-9) for ours, theirs in (seconds, memory)]
    row = (
        f"{case.name:22} {megabytes:4} MB {1e3 * seconds[0]:9.2f} ms {1e3 * seconds[1]:9.2f} ms {ratios[0]:6.2f}"
        f" {memory[0]:9.1f} MB {memory[1]:9.1f} MB {ratios[1]:6.2f}"
    )
    return row, 1 - min(ratios)


def main() -> int:
    """Print all rows; return 1 where a kernel saves too little, or returns other bits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--sizes", default="1,100", metavar="MB,MB")
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    print(f"{'':22} {'':4}    {'kernel':>12} {'formula':>12} {'ratio':>6} {'kernel':>12} {'formula':>12} {'ratio':>6}")
    status = 0
    for case in CASES:
        for size in map(int, options.sizes.split(",") if re.search(options.only, case.name, re.IGNORECASE) else ()):
            row, saved = measured(case, size, options.runs if size < 50 else max(options.runs // 10, 3))
            print(row, "" if saved > KEPT else "  too little", flush=True)
            status |= saved <= KEPT
    return status


if __name__ == "__main__":
    sys.exit(main())
