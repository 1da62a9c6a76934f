"""Bounds on what a conversion reads and keeps, beside its budget."""

MAX_STACKED = 8
"""Loops in a row, each of which fills a sequence with what follows from that of another one."""
MAX_READ = 256
"""Elements of a constant that inference reads for an added node, and that a form of nodes includes."""
MAX_PRODUCERS = 64
"""Values that are followed to the inputs of one: shape arithmetic takes a handful."""
MAX_FREE = 8
"""Elements of an attribute or a shape that cost nothing beside the transition."""
MAX_KEPT = 64
"""Elements of a constant that is kept to be copied."""
MAX_COUNTED = 1 << 60
"""The largest count of nodes in place of a call: calls within calls multiply."""
