"""The graph of a model: an index of bodies and values, sorting, splicing."""
