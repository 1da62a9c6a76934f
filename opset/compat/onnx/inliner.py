"""Called as onnx.inliner: the nodes of functions in place of the nodes that call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.compat.onnx.messages import model_message
from opset.model import load
from opset.opsets.registry import default_registry
from opset.schemas.names import domain_name, normalize_domain
from opset.version_converter.inlining import inline_functions

__all__ = ["inline_local_functions", "inline_selected_functions"]


def inline_local_functions(model: Any, convert_version: bool = False) -> Any:
    """Return the model with the nodes of its functions in place of the calls; the given one is not touched.

    Args:
        model: A ModelProto, an opset.Model, a path or bytes.
        convert_version: Whether functions that import other versions than the model are converted to these; without
            it, they stay.

    Returns:
        A ModelProto of the caller's class; an opset.Model for one.

    Raises:
        ConversionError: A call cannot be inlined; the error has all refusals.
        ModelError: The model is malformed.
    """
    loaded = load(model)
    left = () if convert_version else _functions_of_other_versions(loaded.proto)
    return model_message(inline_functions(loaded, exclude=left), model)


def inline_selected_functions(
    model: Any, function_ids: Sequence[tuple[str, str]], exclude: bool = False, inline_schema_functions: bool = False
) -> Any:
    """Return the model with the nodes of some functions in place of the calls; the given one is not touched.

    Args:
        model: A ModelProto, an opset.Model, a path or bytes.
        function_ids: Domains and names of functions; those that the model does not have count for nothing.
        exclude: Whether all functions but these are inlined.
        inline_schema_functions: Whether operators with a function body are expressed by others, too.

    Returns:
        A ModelProto of the caller's class; an opset.Model for one.

    Raises:
        ConversionError: A call cannot be inlined, or an operator not be expressed; the error has all refusals.
        ModelError: The model is malformed.
    """
    loaded = load(model)
    given = {(normalize_domain(domain), name) for domain, name in function_ids}
    known = {(normalize_domain(function.domain), function.name) for function in loaded.proto.functions}
    if inline_schema_functions:
        known |= _operators_with_bodies(loaded.proto)
    chosen = known - given if exclude else known & given
    return model_message(inline_functions(loaded, [f"{domain_name(domain)}.{name}" for domain, name in chosen]), model)


def _functions_of_other_versions(proto: Any) -> list[str]:
    """Return the functions of a model that import versions which it does not, as `inline_functions` names them."""
    imports = _imports_of(proto)
    return [
        f"{domain_name(function.domain)}.{function.name}:{function.overload}"
        for function in proto.functions
        if any(imports.get(domain, version) != version for domain, version in _imports_of(function).items())
    ]


def _operators_with_bodies(proto: Any) -> set[tuple[str, str]]:
    """Return domain and name of each operator that is expressed by others at the versions that a model imports."""
    registry = default_registry()
    return {
        (domain, name)
        for domain, version in _imports_of(proto).items()
        for name in registry.operators(domain)
        if (schema := registry.schema(name, version, domain)) is not None and schema.function
    }


def _imports_of(proto: Any) -> dict[str, int]:
    """Return the versions that a model or function imports, by domain."""
    return {normalize_domain(each.domain): each.version for each in proto.opset_import}
