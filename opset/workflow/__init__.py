"""Contributes an operator: writes, checks and compares its files before a version is released."""
