"""The tests, in the layout of opset/; conformance/ and fuzz/ hold the commands that compare it with other packages."""
