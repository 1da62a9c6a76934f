"""The fixes of `opset check --fix`, by subject; `opset.checker.repairing` describes them."""
