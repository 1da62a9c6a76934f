"""Examples run on all that an operator has: what `opset test` does."""
