"""Called as onnx.defs: the operators of the standard, each at its versions."""

from __future__ import annotations

from typing import Any

from opset.compat.onnx.absent import absent_error
from opset.errors import UsageError as SchemaError
from opset.opsets.registry import default_registry, get_schema, sort_arguments
from opset.schemas.model import OpSchema

__all__ = [
    "AI_ONNX_PREVIEW_DOMAIN",
    "AI_ONNX_PREVIEW_TRAINING_DOMAIN",
    "ONNX_DOMAIN",
    "ONNX_ML_DOMAIN",
    "OpSchema",
    "SchemaError",
    "get_all_schemas",
    "get_all_schemas_with_history",
    "get_function_ops",
    "get_schema",
    "has",
    "onnx_ml_opset_version",
    "onnx_opset_version",
]

ONNX_DOMAIN = ""
ONNX_ML_DOMAIN = "ai.onnx.ml"
AI_ONNX_PREVIEW_DOMAIN = "ai.onnx.preview"
AI_ONNX_PREVIEW_TRAINING_DOMAIN = "ai.onnx.preview.training"


def has(op_type: str, max_inclusive_version: int | str | None = None, domain: str | int = "") -> bool:
    """Whether the standard has an operator.

    Args:
        op_type: The name of the operator.
        max_inclusive_version: The version of the operator set, None for the newest; or the domain.
        domain: The domain; or the version, if the domain stands before it.
    """
    version, domain = sort_arguments(max_inclusive_version, domain)
    registry = default_registry()
    if version is None:
        return bool(registry.since_versions(op_type, domain))
    return registry.schema(op_type, version, domain) is not None


def get_all_schemas() -> list[OpSchema]:
    """Return the newest version of each operator, by domain and name."""
    registry = default_registry()
    return [registry.versions(name, domain)[-1] for domain in registry.domains for name in registry.operators(domain)]


def get_all_schemas_with_history() -> list[OpSchema]:
    """Return every version of each operator, by domain and name, oldest first."""
    registry = default_registry()
    return [
        schema
        for domain in registry.domains
        for name in registry.operators(domain)
        for schema in registry.versions(name, domain)
    ]


def get_function_ops() -> list[OpSchema]:
    """Return the newest version of each operator that has a function body."""
    return [schema for schema in get_all_schemas() if schema.function]


def onnx_opset_version() -> int:
    """Return the newest version of ai.onnx."""
    return default_registry().domains[ONNX_DOMAIN]


def onnx_ml_opset_version() -> int:
    """Return the newest version of ai.onnx.ml."""
    return default_registry().domains[ONNX_ML_DOMAIN]


def __getattr__(name: str) -> Any:
    raise absent_error("defs", name)
