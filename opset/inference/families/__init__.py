"""The inference of operators: functions that infer outputs, and follow elements, one module for each family."""
