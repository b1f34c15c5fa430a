"""Data structures that operators and algorithms share: frontier, union-find, workspace."""
