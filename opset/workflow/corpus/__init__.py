"""Examples as test cases for runtimes: what `opset testgen` writes."""
