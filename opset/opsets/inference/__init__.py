"""How types and shapes follow from a node's inputs and attributes."""
