"""Kernels of classical machine learning, of the domain ai.onnx.ml."""

from opset.opsets.kernels import ml_trees  # noqa: F401
