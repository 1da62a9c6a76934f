"""The engine of inference, which walks a model, calls the rule of each node, and records the results."""
