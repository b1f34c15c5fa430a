"""What the process loads of which workers of Dask are forks: all that a graph uses, by making one."""

import dask.dataframe
import distributed
import pytest

import suricate.engines.dask
from suricate.testing.several.comms import graph

__all__ = ["dask", "distributed", "pytest", "suricate"]

graph(None)
