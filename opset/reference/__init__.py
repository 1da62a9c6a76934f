"""What an operator computes: kernels by family, the evaluator that runs models on them, comparison of values."""
