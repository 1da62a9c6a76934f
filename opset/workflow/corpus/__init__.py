"""Writes examples as test cases for runtimes: `opset testgen`."""
