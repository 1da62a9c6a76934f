"""What authors of operators import: decorators for kernels, inference and adapters, and what such functions work with.

    from opset.extend import kernel, infer, down, Violation, Refusal

Files beside the YAML of a domain, `kernels.py`, `inference.py` and `adapters.py`, register the functions of its
operators. Everything below is imported when it is first used, so that a file of adapters does not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opset.inference.call import Call, Unknown
    from opset.inference.dimensions import Dim, ceil_div, variable
    from opset.inference.registration import data, infer
    from opset.inference.types import Type, tensor
    from opset.reference.comparison import differences
    from opset.reference.numerics.small_floats import rounded_once
    from opset.reference.registration import KernelContext as KernelContext
    from opset.reference.registration import kernel
    from opset.schemas.constraints import Violation
    from opset.version_converter.registration import down, up
    from opset.version_converter.rewrite import Builder, Node, Refusal, Result

_HOMES = {
    "Builder": "opset.version_converter.rewrite",
    "Call": "opset.inference.call",
    "Dim": "opset.inference.dimensions",
    "KernelContext": "opset.reference.registration",
    "Node": "opset.version_converter.rewrite",
    "Refusal": "opset.version_converter.rewrite",
    "Result": "opset.version_converter.rewrite",
    "Type": "opset.inference.types",
    "Unknown": "opset.inference.call",
    "Violation": "opset.schemas.constraints",
    "ceil_div": "opset.inference.dimensions",
    "data": "opset.inference.registration",
    "differences": "opset.reference.comparison",
    "down": "opset.version_converter.registration",
    "infer": "opset.inference.registration",
    "kernel": "opset.reference.registration",
    "rounded_once": "opset.reference.numerics.small_floats",
    "tensor": "opset.inference.types",
    "up": "opset.version_converter.registration",
    "variable": "opset.inference.dimensions",
}

__all__ = [
    "Builder",
    "Call",
    "Dim",
    "KernelContext",
    "Node",
    "Refusal",
    "Result",
    "Type",
    "Unknown",
    "Violation",
    "ceil_div",
    "data",
    "differences",
    "down",
    "infer",
    "kernel",
    "rounded_once",
    "tensor",
    "up",
    "variable",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'opset.extend' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), "Call" if name == "KernelContext" else name)
    globals()[name] = value
    return value
