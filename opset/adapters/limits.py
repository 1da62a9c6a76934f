"""Bounds on the constants and nodes that an adapter writes in place of one node."""

MAX_NEIGHBORS = 32
"""Neighbors along an axis that an element of a resized tensor depends on."""
MAX_AXES = 64
"""Axes that are listed without a look at the rank: the most of a tensor in numpy and in runtimes."""
MAX_NODES = 1 << 18
"""Nodes to which trees grow, if leaves have many votes or nodes are shared, beside MAX_GROWTH times their own."""
MAX_GROWTH = 32
"""How many times its nodes a tree may grow, beside MAX_NODES."""
MAX_ELEMENTS = 1 << 24
"""Elements of a constant that is written in another type."""
MAX_CONSTANTS = 1 << 12
"""Zero points, or numbers of blocks, that are written as a constant."""
MAX_TERMS = (1 << 24) // 255**2
"""Products of bytes, each minus a zero point, whose sum FLOAT holds."""
MAX_GATHERED = 1 << 13
"""Elements of the longest axis that are gathered one by one."""
MAX_COMPARED = 1 << 24
"""Comparisons of Unique if each element is compared with each."""
MAX_PAIRED = 1024
"""Elements of the longest axis of which each two are compared."""
MAX_WINDOW = 1 << 24
"""The largest size, stride, dilation or padding: products of a few are int64, and FLOAT holds each."""
MAX_DIMENSIONS = 4
"""Spatial dimensions that are written out."""
MAX_ENTRIES = 1 << 22
"""Entries of a table that is read from tensors."""
MAX_SUMMED = 1 << 19
"""Products of parts in a sum: the sums of up to four pairs of parts are added, and double holds the total."""
MAX_DIAGONAL = 1 << 12
"""Elements of a diagonal that are taken by their indices."""
MAX_DETERMINANT = 3
"""Rows of the largest matrix whose determinant is written out."""
MAX_WRITTEN_OUT = 64
"""Elements of a tensor that is written out."""
MAX_TABLE = 1 << 12
"""Numbers in a table of shapes."""
MAX_VISIBLE = 1 << 12
"""Elements of a causal mask that is written as a constant."""
