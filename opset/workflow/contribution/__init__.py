"""Checks the standard's demands on an operator that is added or changed: `opset check-contribution`."""
