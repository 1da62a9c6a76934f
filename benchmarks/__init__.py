"""Time and memory, beside those of other implementations and against targets."""
