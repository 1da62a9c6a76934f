"""Types and shapes of values: dimensions, the engine, its results, named rules, functions of operators by family."""
