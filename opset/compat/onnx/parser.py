"""Called as onnx.parser: messages from the ONNX text syntax. ParseError names line and column."""

from __future__ import annotations

from typing import Any

from opset.errors import ModelError as ParseError
from opset.model.text import syntax

__all__ = ["ParseError", "parse_function", "parse_graph", "parse_model", "parse_node"]


def parse_model(model_text: str) -> Any:
    """Return the ModelProto of a text.

    Args:
        model_text: The model in ONNX text syntax.

    Raises:
        ParseError: M301 if the text is not ONNX text syntax, M104 if it is nested too deeply.
    """
    return syntax.parse_model(model_text)


def parse_graph(graph_text: str) -> Any:
    """Return the GraphProto of a text.

    Args:
        graph_text: The graph in ONNX text syntax.

    Raises:
        ParseError: As in `parse_model`.
    """
    return syntax.parse_graph(graph_text)


def parse_function(function_text: str) -> Any:
    """Return the FunctionProto of a text.

    Args:
        function_text: The function in ONNX text syntax.

    Raises:
        ParseError: As in `parse_model`.
    """
    return syntax.parse_function(function_text)


def parse_node(node_text: str) -> Any:
    """Return the NodeProto of a text.

    Args:
        node_text: The node in ONNX text syntax.

    Raises:
        ParseError: As in `parse_model`.
    """
    return syntax.parse_node(node_text)
