"""The text syntax of ONNX: tokens, parsing, printing."""
