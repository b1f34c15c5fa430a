"""Operators on CUDA."""
