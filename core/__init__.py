"""suricate: dynamic graphs on GPUs and CPUs.

>>> import suricate as su
>>> g = su.Graph(num_vertices=4, device="cpu")
>>> delta = g.insert_edges([0, 1], [1, 2])
>>> g.num_edges
2

Importing the package loads neither Numba nor CuPy; that happens when a graph needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suricate import errors

__version__ = "0.1.0"

_HOME = {  # public name -> module that defines it; imported on first use
    "Advice": "suricate.advice",
    "Algorithm": "suricate.algorithm",
    "Batch": "suricate.delta",
    "Delta": "suricate.delta",
    "Device": "suricate.devices",
    "EdgeFunction": "suricate.edgefn",
    "EdgeList": "suricate.types",
    "EdgeSet": "suricate.structures.edge_set",
    "Frontier": "suricate.structures.frontier",
    "Graph": "suricate.graph",
    "Requirements": "suricate.algorithm",
    "Scalar": "suricate.structures.scalar",
    "Store": "suricate.store",
    "Tracker": "suricate.tracker",
    "UnionFind": "suricate.structures.union_find",
    "Words": "suricate.structures.words",
    "advance": "suricate.operators",
    "advise": "suricate.advice",
    "atomic": "suricate.effects",
    "converge": "suricate.operators",
    "edge_map": "suricate.operators",
    "edges": "suricate.operators",
    "filter": "suricate.operators",
    "generators": "suricate.generators",
    "hookimpl": "suricate.plugins",
    "intersect": "suricate.operators",
    "io": "suricate.io",
    "iterate": "suricate.operators",
    "neighbor_reduce": "suricate.operators",
    "plugins": "suricate.plugins",
    "propagate": "suricate.operators",
    "read": "suricate.io",
    "unite": "suricate.effects",
    "vertex_map": "suricate.operators",
    "words": "suricate.structures.words",
    "write": "suricate.io",
}

__all__ = ["__version__", "errors", *_HOME]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'suricate' has no attribute {name!r}")
    module = importlib.import_module(home)
    value = module if home == f"suricate.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from suricate import generators as generators
    from suricate import io as io
    from suricate import plugins as plugins
    from suricate.advice import Advice as Advice
    from suricate.advice import advise as advise
    from suricate.algorithm import Algorithm as Algorithm
    from suricate.algorithm import Requirements as Requirements
    from suricate.delta import Batch as Batch
    from suricate.delta import Delta as Delta
    from suricate.devices import Device as Device
    from suricate.edgefn import EdgeFunction as EdgeFunction
    from suricate.effects import atomic as atomic
    from suricate.effects import unite as unite
    from suricate.graph import Graph as Graph
    from suricate.io import read as read
    from suricate.io import write as write
    from suricate.operators import advance as advance
    from suricate.operators import converge as converge
    from suricate.operators import edge_map as edge_map
    from suricate.operators import edges as edges
    from suricate.operators import filter as filter
    from suricate.operators import intersect as intersect
    from suricate.operators import iterate as iterate
    from suricate.operators import neighbor_reduce as neighbor_reduce
    from suricate.operators import propagate as propagate
    from suricate.operators import vertex_map as vertex_map
    from suricate.plugins import hookimpl as hookimpl
    from suricate.store import Store as Store
    from suricate.structures.edge_set import EdgeSet as EdgeSet
    from suricate.structures.frontier import Frontier as Frontier
    from suricate.structures.scalar import Scalar as Scalar
    from suricate.structures.union_find import UnionFind as UnionFind
    from suricate.structures.words import Words as Words
    from suricate.structures.words import words as words
    from suricate.tracker import Tracker as Tracker
    from suricate.types import EdgeList as EdgeList
