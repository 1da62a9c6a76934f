"""The rules of the checker, by subject."""
