"""Building blocks of inference: dimensions, types, and the call of a node that a rule reads."""
