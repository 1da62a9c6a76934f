"""Changes a size of a model: follows an axis whose slices never meet through every node, and the constants with it."""
