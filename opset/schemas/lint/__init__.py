"""The rules of `opset lint`."""
