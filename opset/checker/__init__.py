"""Whether a model follows the specification: rules with codes, each with its section, a bad and a good example."""
