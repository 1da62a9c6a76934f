"""Operators at a version: the registry, the tables of releases and runtimes, hooks."""
