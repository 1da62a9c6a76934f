"""Operator YAML: read strictly into schemas, and printed."""
