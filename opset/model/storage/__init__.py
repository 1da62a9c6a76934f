"""Models in files: bytes, parts, external data, reading, and writing."""
