"""Where CuPy keeps the class of modules."""

from cupy.modules import Module

__all__ = ["Module"]
