"""Runs examples on everything that an operator has: `opset test`."""
