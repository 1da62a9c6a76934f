"""The engine of inference: it walks a model, calls the rule of each node, and records the results."""
