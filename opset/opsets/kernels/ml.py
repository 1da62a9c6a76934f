"""Kernels of classical machine learning, the domain ai.onnx.ml: its parts register them."""

from opset.opsets.kernels import ml_encode, ml_linear, ml_trees

__all__ = ["ml_encode", "ml_linear", "ml_trees"]
