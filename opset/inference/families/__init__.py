"""The inference of operators: functions that infer outputs, and compute elements, one module for each family."""
