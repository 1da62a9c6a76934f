"""The tests, in the layout of opset/; conformance/ and fuzz/ hold commands that judge it against other implementations."""
