"""Runs test cases on a runtime: `opset conformance`."""
