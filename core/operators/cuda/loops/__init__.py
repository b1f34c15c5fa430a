"""Loops on CUDA: in one launch, or recorded and repeated (``iterate``)."""
