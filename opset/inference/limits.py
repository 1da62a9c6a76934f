"""Limits of an inference: for the elements, sizes and types that it follows, keeps or writes."""

MAX_DATA = 1024
"""Elements of the largest tensor whose elements are followed."""
MAX_RANK = 64
"""Rank of the largest shape that is worked with, as large as numpy's: a model may state one of millions."""
MAX_NESTING = 64
"""Types inside each other that are worked with."""
MAX_SIZE = 48
"""Parts of the largest expression: variables, factors, functions."""
MAX_BOUND_DEPTH = 3
"""Functions within each other that are taken apart to bound a size."""
MAX_BOUND_SIZE = 16
"""Parts of the largest expression of which functions are taken apart to bound it."""
MAX_BOUND = 2**63 - 1
"""The largest number that a size can be set to."""
MAX_PASSED = 64
"""Elements of an initializer that is passed to a body."""
MAX_FLOATS = 8
"""Numbers of a float type that are computed with: scales, bounds."""
MAX_RECENT = 1024
"""Signatures of nodes whose outcome is kept."""
MAX_ATTRIBUTE = 4096
"""Bytes of an attribute that is kept as part of a signature."""
MAX_AROUND = 1 << 14
"""Product of the sizes other than 0 of an empty tensor whose elements are followed."""
MAX_WARNINGS = 20
"""Nodes that differ harmlessly from their schemas, each of which a warning names."""
MAX_WRITTEN = 1 << 26
"""Bytes of the types that are written into a model, beside MAX_EACH for each node."""
MAX_EACH = 256
"""Further bytes of types for each node: small models may have long ones."""
MAX_DIVISOR = 64
"""The largest denominator of a scale by which symbolic sizes are multiplied."""
