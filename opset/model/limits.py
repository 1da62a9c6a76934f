"""Bounds on the models that are read, and on what is said of them."""

MAX_TEXT_DEPTH = 99
"""Messages inside each other in a text, below the outermost one: protobuf reads 100, and a tensor holds one more."""
MAX_LOCATION_LEVELS = 4
"""Graphs in one another that a location shows; of more, the first and the last ones."""
MAX_STEM = 100
"""Characters of a name that a new one is made of: calls nest, and names are the file's choice."""
MAX_FOLDERS = 100
"""Folders that one model's files are written to: each stays open until all are written."""
MAX_MESSAGE = 2**31 - 1
"""Bytes that protobuf can hold in one message."""
MAX_MESSAGE_DEPTH = 100
"""Messages that protobuf reads inside each other, below the outermost one."""
MAX_DIAGNOSED = 1 << 20
"""Fields of a damaged model that are searched for the location of the damage."""
MAX_CHECKED = 1 << 18
"""Fields of a message that are checked while it arrives."""
MAX_TEXT_START = 1 << 16
"""Bytes of a stream after which a text so far is no model."""
MAX_OFFSET = 2**63 - 1
"""The largest number that an entry of external_data may state."""
MAX_ENCODED = 1 << 62
"""Elements of a tensor that dims may ask for: no file holds more."""
