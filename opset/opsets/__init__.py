"""What an operator means at a version: the registry, the tables of releases and runtimes, values and their types."""
