"""Test cases run on a runtime: `opset conformance`."""
