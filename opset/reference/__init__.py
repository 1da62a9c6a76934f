"""Kernels of operators by family, the evaluator that runs models on them, and the comparison of values."""
