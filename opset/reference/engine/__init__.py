"""The reference evaluator: it compiles a model into programs, and runs their steps on kernels."""
