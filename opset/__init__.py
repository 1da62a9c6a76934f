"""ONNX operator sets: what operators mean at a version, and conversion of models between versions.

    import opset
    opset.convert("model.onnx", 21).save("model-21.onnx")

Everything below is imported when it is first used, so that `import opset` costs next to nothing.
"""

TYPE_CHECKING = False  # as in typing, which is not imported: opset.__main__ says why
if TYPE_CHECKING:
    from typing import Any

    from opset.budget import Limits
    from opset.errors import (
        CheckError,
        ConversionError,
        Finding,
        InferenceError,
        ModelError,
        OpsetError,
        RunError,
        SchemaError,
        UsageError,
    )
    from opset.inference.engine.result import Inference, infer, infer_shapes
    from opset.model import Model, load
    from opset.model.text.printing import to_text
    from opset.model.text.syntax import parse_function, parse_graph, parse_model, parse_node
    from opset.opsets.registry import Registry, get_schema
    from opset.reference.engine.evaluator import ReferenceEvaluator
    from opset.schemas.model import OpSchema
    from opset.version_converter import Conversion, convert, lower, plan
    from opset.version_converter.inlining import inline_functions

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(
        (
            "CheckError ConversionError Finding InferenceError ModelError OpsetError RunError SchemaError UsageError"
        ).split(),
        "opset.errors",
    ),
    "Conversion": "opset.version_converter",
    "Inference": "opset.inference.engine.result",
    "Limits": "opset.budget",
    "Model": "opset.model",
    "OpSchema": "opset.schemas.model",
    "ReferenceEvaluator": "opset.reference.engine.evaluator",
    "Registry": "opset.opsets.registry",
    "convert": "opset.version_converter",
    "get_schema": "opset.opsets.registry",
    "infer": "opset.inference.engine.result",
    "infer_shapes": "opset.inference.engine.result",
    "inline_functions": "opset.version_converter.inlining",
    "load": "opset.model",
    "lower": "opset.version_converter",
    **dict.fromkeys("parse_function parse_graph parse_model parse_node".split(), "opset.model.text.syntax"),
    "plan": "opset.version_converter",
    "to_text": "opset.model.text.printing",
}

__all__ = [
    "CheckError",
    "Conversion",
    "ConversionError",
    "Finding",
    "Inference",
    "InferenceError",
    "Limits",
    "Model",
    "ModelError",
    "OpSchema",
    "OpsetError",
    "ReferenceEvaluator",
    "Registry",
    "RunError",
    "SchemaError",
    "UsageError",
    "convert",
    "get_schema",
    "infer",
    "infer_shapes",
    "inline_functions",
    "load",
    "lower",
    "parse_function",
    "parse_graph",
    "parse_model",
    "parse_node",
    "plan",
    "to_text",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'opset' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
