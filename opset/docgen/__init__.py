"""Documentation of operator sets: an HTML site, Markdown and JSON, made from a registry."""
