"""Imports for authors of operators: decorators for kernels, inference and adapters, and the objects that these use.

    from opset.extend import kernel, infer, down, Violation, Refusal

Files beside the YAML of a domain, `kernels.py`, `inference.py` and `adapters.py`, register the functions of its
operators. Tests of an operator run its examples: `model_of`, `feeds_of`, `value_of` and `differences`. Everything below
is imported when it is first used, so that a file of adapters does not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opset.inference.building.call import Call, Constant, Unknown
    from opset.inference.building.dimensions import (
        Dim,
        Size,
        broadcast,
        ceil_div,
        equal,
        less,
        maximum,
        minimum,
        product,
        variable,
    )
    from opset.inference.building.types import Shape, Type, optional, sequence, tensor
    from opset.inference.registration import data, infer
    from opset.model.elements import NUMBERS, element_name
    from opset.model.text.syntax import parse_model
    from opset.opsets.registry import registry_with
    from opset.reference.comparison import differences
    from opset.reference.example_models import feeds_of, model_of, value_of
    from opset.reference.numerics.small_floats import rounded_once
    from opset.reference.registration import KernelContext, kernel
    from opset.schemas.constraints.violation import Violation
    from opset.schemas.model import example_versions
    from opset.version_converter.registration import down, lower, up
    from opset.version_converter.rewrite import Builder, Node, Refusal, Result

_NAMES = {
    "opset.inference.building.call": "Call Constant Unknown",
    "opset.inference.building.dimensions": "Dim Size broadcast ceil_div equal less maximum minimum product variable",
    "opset.inference.registration": "data infer",
    "opset.inference.building.types": "Shape Type optional sequence tensor",
    "opset.model.elements": "NUMBERS element_name",
    "opset.model.text.syntax": "parse_model",
    "opset.opsets.registry": "registry_with",
    "opset.reference.comparison": "differences",
    "opset.reference.example_models": "feeds_of model_of value_of",
    "opset.reference.numerics.small_floats": "rounded_once",
    "opset.reference.registration": "KernelContext kernel",
    "opset.schemas.constraints.violation": "Violation",
    "opset.schemas.model": "example_versions",
    "opset.version_converter.registration": "down lower up",
    "opset.version_converter.rewrite": "Builder Node Refusal Result",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "NUMBERS",
    "Builder",
    "Call",
    "Constant",
    "Dim",
    "KernelContext",
    "Node",
    "Refusal",
    "Result",
    "Shape",
    "Size",
    "Type",
    "Unknown",
    "Violation",
    "broadcast",
    "ceil_div",
    "data",
    "differences",
    "down",
    "element_name",
    "equal",
    "example_versions",
    "feeds_of",
    "infer",
    "kernel",
    "less",
    "lower",
    "maximum",
    "minimum",
    "model_of",
    "optional",
    "parse_model",
    "product",
    "registry_with",
    "rounded_once",
    "sequence",
    "tensor",
    "up",
    "value_of",
    "variable",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'opset.extend' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__.copy()
