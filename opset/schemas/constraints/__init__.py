"""Constraints of operators: patterns, ranges and conditions on a node, and whether a node meets them."""
