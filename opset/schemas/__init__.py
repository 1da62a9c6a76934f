"""Operators: their YAML, the frozen form of it, and what holds the two together."""
