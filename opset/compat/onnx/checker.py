"""Called as onnx.checker: `check_model`, and `check_node`, `check_tensor`, … for parts of models.

Each returns None, or raises ValidationError with all errors that the rules of `opset check` find; warnings are none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opset.checker import checking, parts
from opset.checker.checking import raise_errors
from opset.compat.onnx.absent import absent_error
from opset.compat.onnx.messages import require_message
from opset.errors import CheckError as ValidationError
from opset.errors import ModelError
from opset.opsets.releases import RELEASES, newest_ir_version

__all__ = [
    "DEFAULT_CONTEXT",
    "LEXICAL_SCOPE_CONTEXT",
    "CheckerContext",
    "LexicalScopeContext",
    "ValidationError",
    "check_attribute",
    "check_function",
    "check_graph",
    "check_model",
    "check_node",
    "check_sparse_tensor",
    "check_tensor",
    "check_value_info",
]


@dataclass
class CheckerContext:
    """The versions that a part of a model is checked for; the contexts of the onnx package serve as well."""

    ir_version: int = -1
    opset_imports: dict[str, int] = field(default_factory=dict)


class LexicalScopeContext:
    """The names around a part of a model. As in onnx, Python code cannot add any, and so it is always empty."""


DEFAULT_CONTEXT = CheckerContext(newest_ir_version(), {"": RELEASES[-1].opset})
LEXICAL_SCOPE_CONTEXT = LexicalScopeContext()


def check_model(
    model: Any | str | bytes | os.PathLike[str],
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
) -> None:
    """Check a model.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto.
        full_check: Whether types and shapes are inferred, and compared with those that the model states.
        skip_opset_compatibility_check: Whether functions may have other versions of operators than the model has.
        check_custom_domain: Whether operators of domains without schemas are errors.

    Raises:
        ValidationError: The model breaks a rule, or cannot be read.
    """
    with _model_errors():
        checking.check_model(model, full_check, skip_opset_compatibility_check, check_custom_domain)


def check_graph(graph: Any, ctx: Any = DEFAULT_CONTEXT, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT) -> None:
    """Check a GraphProto as the main graph of a model, without inference of types.

    Args:
        graph: The message.
        ctx: The versions of operator sets and of the IR.
        lexical_scope_ctx: A context without names.

    Raises:
        ValidationError: The graph breaks a rule.
        TypeError: It is no GraphProto.
    """
    require_message(graph, "GraphProto")
    with _model_errors():
        raise_errors(parts.check_graph(graph, ctx.opset_imports, full=False, ir_version=ctx.ir_version))


def check_node(node: Any, ctx: Any = DEFAULT_CONTEXT, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT) -> None:
    """Check a NodeProto. The arguments and errors are as of `check_graph`."""
    require_message(node, "NodeProto")
    with _model_errors():
        raise_errors(parts.check_node(node, ctx.opset_imports, ir_version=ctx.ir_version))


def check_attribute(attr: Any, ctx: Any = DEFAULT_CONTEXT, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT) -> None:
    """Check an AttributeProto. The arguments and errors are as of `check_graph`."""
    require_message(attr, "AttributeProto")
    with _model_errors():
        raise_errors(parts.check_attribute(attr, ctx.opset_imports, ir_version=ctx.ir_version))


def check_function(function: Any, ctx: Any = None, lexical_scope_ctx: Any = LEXICAL_SCOPE_CONTEXT) -> None:
    """Check a FunctionProto, by its own imports.

    Args:
        function: The message.
        ctx: The version of the IR; without it, the newest one.
        lexical_scope_ctx: A context without names.

    Raises:
        ValidationError: The function breaks a rule.
        TypeError: It is no FunctionProto.
    """
    require_message(function, "FunctionProto")
    with _model_errors():
        raise_errors(parts.check_function(function, ir_version=None if ctx is None else ctx.ir_version))


def check_tensor(tensor: Any, ctx: Any = DEFAULT_CONTEXT) -> None:
    """Check a TensorProto. The arguments and errors are as of `check_graph`."""
    require_message(tensor, "TensorProto")
    with _model_errors():
        raise_errors(parts.check_tensor(tensor, ir_version=ctx.ir_version))


def check_sparse_tensor(sparse: Any, ctx: Any = DEFAULT_CONTEXT) -> None:
    """Check a SparseTensorProto. The arguments and errors are as of `check_graph`."""
    require_message(sparse, "SparseTensorProto")
    with _model_errors():
        raise_errors(parts.check_sparse_tensor(sparse, ir_version=ctx.ir_version))


def check_value_info(value_info: Any, ctx: Any = DEFAULT_CONTEXT) -> None:
    """Check a ValueInfoProto. The arguments and errors are as of `check_graph`."""
    require_message(value_info, "ValueInfoProto")
    with _model_errors():
        raise_errors(parts.check_value_info(value_info, ir_version=ctx.ir_version))


@contextmanager
def _model_errors() -> Iterator[None]:
    """Raise a ModelError, about what cannot be read as a model, as a ValidationError."""
    try:
        yield
    except ModelError as error:
        raise ValidationError(error.findings) from error


def __getattr__(name: str) -> Any:
    raise absent_error("checker", name)
