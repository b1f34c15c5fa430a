"""Graphs and batches from a seed, as arrays or drawn in pieces."""
