"""Pulls on the CPU: ``neighbor_reduce`` and ``converge``, with their templates."""
