"""What types and shapes follow: dimensions, the engine, its results, named rules, functions of operators by family."""
