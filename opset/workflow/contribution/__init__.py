"""What the standard asks of an operator that is added or changed: `opset check-contribution`."""
