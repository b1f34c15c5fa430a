"""Pushes on CUDA: ``advance`` and ``propagate``, with their kernels."""
