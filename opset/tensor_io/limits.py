"""Bounds on the files of values that are read, and on the values that are shown."""

MAX_JSON = 32 << 20
"""Bytes of the longest text that is read: parsed, it takes thirty times as much memory."""
MAX_JSON_RANK = 32
"""Dimensions of a tensor in JSON."""
MAX_JSON_DEPTH = 64
"""Types inside each other of a value in JSON."""
MAX_JSON_ENTRIES = 1 << 20
"""Entries of all sequences in a value: each is an array of its own, which takes microseconds."""
MAX_SHOWN = 24
"""Elements of the largest tensor, and entries of the longest list or map, whose values are shown."""
MAX_SHOWN_BYTES = 1 << 13
"""Bytes of the largest tensor whose values are shown: texts may be long."""
MAX_HEADER = 8192
"""Bytes of the longest header that is read; numpy writes about a hundred."""
MAX_DIRECTORY = 1 << 22
"""Bytes of the longest directory of an archive that is read: it has 70,000 arrays."""
