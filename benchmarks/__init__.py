"""What the converter is measured by: correctness over large sets of models (matrix, models) and cost (speed)."""
