"""Pulls on CUDA: ``neighbor_reduce`` and ``converge``, with their kernels."""
