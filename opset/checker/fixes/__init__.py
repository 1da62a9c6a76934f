"""The fixes of `opset check --fix`, by what they change; `opset.checker.repairing` describes them."""
