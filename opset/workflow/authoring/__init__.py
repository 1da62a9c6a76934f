"""New operators and versions: what `opset new` and `opset bump` write."""
