"""Array functions that kernels of several families share."""
