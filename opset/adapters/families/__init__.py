"""Adapters, one module for each family of operators; `opset/version_converter/registration.py` describes the form."""
