"""suricate: dynamic graphs on GPUs and CPUs.

>>> import suricate as su
>>> g = su.Graph(num_vertices=4, device="cpu")
>>> delta = g.insert_edges([0, 1], [1, 2])
>>> g.num_edges
2

Importing the package loads neither Numba nor CuPy; that happens when a graph needs them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from suricate import errors
from suricate.base import public, renamed

__version__ = "0.2.0"

_HOME = {  # public name -> module that defines it; imported on first use
    "Advice": "suricate.plugins.advice",
    "Algorithm": "suricate.plugins.algorithm",
    "Batch": "suricate.graph.delta",
    "Contraction": "suricate.operators.contraction",
    "Delta": "suricate.graph.delta",
    "Device": "suricate.base.devices",
    "EMPTY": "suricate.base.types",
    "EdgeFunction": "suricate.edgefn",
    "EdgeList": "suricate.base.types",
    "EdgeSet": "suricate.state.edges.edge_set",
    "Events": "suricate.events",
    "Forest": "suricate.repair.forest",
    "Frontier": "suricate.state.frontier",
    "Graph": "suricate.graph",
    "Names": "suricate.intake.names",
    "Repeated": "suricate.operators.repeated",
    "Requirements": "suricate.plugins.algorithm",
    "Sample": "suricate.operators.sampling",
    "Scalar": "suricate.state.scalar",
    "Step": "suricate.plugins.step",
    "Stop": "suricate.operators",
    "Store": "suricate.store",
    "Tracker": "suricate.graph.tracker",
    "UnionFind": "suricate.state.union_find",
    "Words": "suricate.state.words",
    "advance": "suricate.operators",
    "advise": "suricate.plugins.advice",
    "algorithm": "suricate.plugins.manager",
    "arcs": "suricate.operators",
    "atomic": "suricate.base.effects",
    "contract": "suricate.operators.contraction",
    "converge": "suricate.operators",
    "edge_map": "suricate.operators",
    "estimate_memory": "suricate.graph.estimates",
    "filter": "suricate.operators",
    "generate": "suricate.generate",
    "hookimpl": "suricate.plugins",
    "intersect": "suricate.operators",
    "io": "suricate.io",
    "iterate": "suricate.operators",
    "kernels": "suricate.kernels",
    "mixed": "suricate.base.mixing",
    "neighbor_reduce": "suricate.operators",
    "networkx": "suricate.networkx",
    "parallel": "suricate.parallel",
    "plugins": "suricate.plugins",
    "propagate": "suricate.operators",
    "read": "suricate.io",
    "replay": "suricate.replaying",
    "sample": "suricate.operators.sampling",
    "stream": "suricate.stream",
    "testing": "suricate.testing",
    "unite": "suricate.base.effects",
    "vertex_map": "suricate.operators",
    "wedges": "suricate.operators.wedges",
    "write": "suricate.io",
}
_OLD = {
    "edges": "suricate.arcs(graph)",
    "generators": "suricate.generate",
    "words": "graph.words(keys, payload)",
}


def _functions() -> Mapping[str, Any]:
    from suricate.plugins import functions

    return functions()


__all__ = ["__version__", "errors", *_HOME]
__dir__ = public.listing(__all__)
if not TYPE_CHECKING:
    __getattr__ = public.on_use(__name__, _HOME, old=_OLD, others=_functions)
sys.meta_path.append(renamed.Imports(__name__, _OLD))


if TYPE_CHECKING:
    from suricate import generate as generate
    from suricate import io as io
    from suricate import kernels as kernels
    from suricate import networkx as networkx
    from suricate import parallel as parallel
    from suricate import plugins as plugins
    from suricate import stream as stream
    from suricate import testing as testing
    from suricate.base.devices import Device as Device
    from suricate.base.effects import atomic as atomic
    from suricate.base.effects import unite as unite
    from suricate.base.mixing import mixed as mixed
    from suricate.base.types import EMPTY as EMPTY
    from suricate.base.types import EdgeList as EdgeList
    from suricate.edgefn import EdgeFunction as EdgeFunction
    from suricate.events import Events as Events
    from suricate.graph import Graph as Graph
    from suricate.graph.delta import Batch as Batch
    from suricate.graph.delta import Delta as Delta
    from suricate.graph.estimates import estimate_memory as estimate_memory
    from suricate.graph.tracker import Tracker as Tracker
    from suricate.intake.names import Names as Names
    from suricate.io import read as read
    from suricate.io import write as write
    from suricate.operators import Stop as Stop
    from suricate.operators import advance as advance
    from suricate.operators import arcs as arcs
    from suricate.operators import converge as converge
    from suricate.operators import edge_map as edge_map
    from suricate.operators import filter as filter
    from suricate.operators import intersect as intersect
    from suricate.operators import iterate as iterate
    from suricate.operators import neighbor_reduce as neighbor_reduce
    from suricate.operators import propagate as propagate
    from suricate.operators import vertex_map as vertex_map
    from suricate.operators.contraction import Contraction as Contraction
    from suricate.operators.contraction import contract as contract
    from suricate.operators.repeated import Repeated as Repeated
    from suricate.operators.sampling import Sample as Sample
    from suricate.operators.sampling import sample as sample
    from suricate.operators.wedges import wedges as wedges
    from suricate.plugins import hookimpl as hookimpl
    from suricate.plugins.advice import Advice as Advice
    from suricate.plugins.advice import advise as advise
    from suricate.plugins.algorithm import Algorithm as Algorithm
    from suricate.plugins.algorithm import Requirements as Requirements
    from suricate.plugins.manager import algorithm as algorithm
    from suricate.plugins.step import Step as Step
    from suricate.repair.forest import Forest as Forest
    from suricate.replaying import replay as replay
    from suricate.state.edges.edge_set import EdgeSet as EdgeSet
    from suricate.state.frontier import Frontier as Frontier
    from suricate.state.scalar import Scalar as Scalar
    from suricate.state.union_find import UnionFind as UnionFind
    from suricate.state.words import Words as Words
    from suricate.store import Store as Store
