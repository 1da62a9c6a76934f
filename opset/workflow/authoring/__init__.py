"""Writes new operators and versions: `opset new` and `opset bump`."""
