"""Operators on the CPU."""
