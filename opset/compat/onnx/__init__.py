"""The modules of the onnx package that opset has counterparts of, called as there; onnx itself is not needed.

    import opset.compat.onnx as onnx

    onnx.checker.check_model(model)
    converted = onnx.version_converter.convert_version(model, 21)

Each module is imported when it is first used. A function that takes a message of the onnx package, or of opset, returns
messages of the same classes; from text or bytes, it returns messages of opset. Faults are reported by the exceptions of
opset, which the modules also have under onnx's names. `opset explain from-onnx` lists each name.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from opset.compat.onnx.absent import absent_error

__all__ = [
    "checker",
    "compose",
    "defs",
    "inliner",
    "parser",
    "printer",
    "reference",
    "shape_inference",
    "utils",
    "version_converter",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise absent_error("", name)
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return __all__
