"""Modules with the calling conventions of other packages, for programs that were written for these."""
