"""What an operator is: its YAML, the frozen form of it, and what holds the two together."""
