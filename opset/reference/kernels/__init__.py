"""Kernels, one module for each family of operators; `opset/reference/registration.py` describes their form."""
