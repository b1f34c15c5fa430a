"""Edges of other ranks, requested when needed: their rows, in slices, and look-ups of single edges by functions."""
