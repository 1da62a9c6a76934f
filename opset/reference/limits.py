"""Bounds on what an evaluation computes, remembers and notes, beside its budget (engine/limits.py)."""

MAX_STEPS = 10_000_000
"""Nodes that an evaluation runs if no limit is set."""
MAX_SHOWN_CALLS = 3
"""Calls of functions that the location of an error names."""
MAX_NOTES = 20
"""Nodes in a form that runtimes accept against the standard, of which each is noted."""
MAX_LEGAL = 64
"""Shapes of inputs that are remembered as legal: in a loop, each turn may have others."""
MAX_KEY = 1024
"""Bytes of the largest input whose elements are part of a remembered key."""
MAX_RANK = 64
"""Dimensions that an array of numpy can have."""
MAX_PROGRAM = 8 << 20
"""Bytes of a compiled regular expression, which also bounds the time per byte of text."""
MAX_SEARCHED = 12
"""Operands of Einsum up to which the best pair is searched; more are contracted in order."""
