"""Calls of every function that the backend serves with inputs that it, or NetworkX, may refuse: by introspection."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from types import GeneratorType
from typing import Any

import networkx as nx
import numpy as np
import pytest

from suricate.networkx import backend
from suricate.networkx.functions import Served
from suricate.networkx.info import offered

RAISES = "raises"
LOOSE = 1e-3  #: a tolerance above it lets answers differ by as much
NAN, NOBODY, UNHASHABLE = float("nan"), "nobody", ["n0"]
GOOD: dict[str, Any] = {
    "source": "n0", "target": "n2", "sources": ["n0"], "n": "n0", "distance": 1, "k": 2,
    "mapping": {"n0": "first"}, "H": nx.path_graph(["x", "y"]),
    "communities": [{"n0", "n1", "n2", "n3"}],
    "nodes": ["n0", "n2"], "node1": "n2", "node2": "n3", "neighbors": None,
}  # fmt: skip
NODE = (NOBODY, None, UNHASHABLE, 7, NAN, ("n0",))
SEVERAL = ([], [NOBODY], ["n2", "n0", "n2"], ["n0", NOBODY], {"n1"}, None, NOBODY, 7, [UNHASHABLE], "n1", True)
NUMBER = (0, -1, 1, 2.5, -0.5, NAN, math.inf, "x", None, 10**30, np.int64(2), np.float32(0.25), True, Decimal(1), [1])
BY_NODE = (
    {}, {NOBODY: 1}, {"n0": 0}, {"n0": -1, "n1": 3}, {"n1": 1}, {"n0": NAN}, {"n0": "x"}, {"n0": None}, [1], 3, None,
    {"n2": 2, "n1": 1, "n0": 1}, {"n3": 1.0, "n2": 2, "n1": 1, "n0": 5},
)  # fmt: skip
FLAG = (0, 1, None, "x", [])
ODD: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("source", "target", "n", "u", "node1", "node2", "default"), NODE),
    **dict.fromkeys(("sources", "nodes", "nbunch", "v"), SEVERAL),
    **dict.fromkeys(("cutoff", "depth_limit", "k", "max_iter", "tol", "alpha"), NUMBER),
    **dict.fromkeys(("nstart", "personalization", "dangling", "core_number", "e", "sp"), BY_NODE),
    "beta": (*NUMBER, *BY_NODE),
    **dict.fromkeys(("normalized", "endpoints", "reverse", "wf_improved", "count_zeros", "usebounds"), FLAG),
    **dict.fromkeys(("return_seen", "keys", "data", "ignore_nan"), FLAG),
    "algorithm": ("prim", "boruvka", "x", None, 3, UNHASHABLE),
    "method": ("guess", None, "unweighted", 3, "floyd-warshall", "bellman-ford", "dijkstra"),
    "weight": (None, "cost", "none has it", 3, UNHASHABLE, len, lambda u, v, data: 2),
    "distance": (*NUMBER, "cost", "none has it"),
    "ebunch": (
        [],
        [("n0", "n2"), ("n2", "n0"), ("n1", "n1")],
        [("n0", NOBODY)],
        [("n0",)],
        ["n0"],
        7,
        [(UNHASHABLE, "n0")],
    ),
    "sort_neighbors": (None, sorted, "x"),
    "neighbors": (lambda node: iter(()), "x", 3),
    "first_label": (3, -1, "x"),
    "ordering": ("sorted", "decreasing degree", "x"),
    "label_attribute": (None, "old", UNHASHABLE),
    "mapping": ({}, {"n0": "n1"}, str.upper, 3),
    "copy": (False, None, 3),
    "nodelist": ([], ["n0", "n1"], [NOBODY], "x", 3),
    "dtype": (float, "x"),
    "format": ("coo", "x"),
    "order": ("C", "x"),
    "multigraph_weight": (min,),
    "nonedge": (-1, None),
    "H": (nx.path_graph(["n0", "n9"]), nx.DiGraph(), nx.MultiGraph(), 7, None),
    "rename": (("a", "b"), ("a",), "x", 3),
    "seed": (1, None, "x", 2.5),
    "resolution": (0, 0.5, 2, -1, NAN, "x", None),
    "threshold": (0, 1e-7, "x", None),
    "max_level": (1, 7, 0, -1, None, "x"),
    "communities": ([], [{"n0"}], [{"n0", "n1"}, {"n2", "n3"}], [["n0", "n0", "n1", "n2", "n3"]], [{NOBODY}], 7, None),
}
WEIGHTS = {
    "negative": -2, "negative float": -0.5, "nan": NAN, "infinite": math.inf, "text": "x", "none": None, "zero": 0,
    "huge": 2**60, "beyond floats": 10**400, "fraction": Fraction(1, 3), "complex": 1j, "bool": True, "list": [1],
    "decimal": Decimal("1.5"), "float": 1.5, "numpy": np.float64(0.25),
}  # fmt: skip


def graph_of(kind: str, *, directed: bool) -> Any:
    """A small graph whose shortest paths are unique; with a weight of the ``kind``, if that is one of ``WEIGHTS``."""
    made = nx.DiGraph() if directed else nx.Graph()
    made.add_nodes_from(["n3", "n0", "n1", "n2"][: {"null": 0, "one": 1}.get(kind, 4)])
    if kind == "one":
        return nx.relabel_nodes(made, {"n3": "n0"})
    if kind not in ("null", "no edges"):
        nx.add_path(made, ["n0", "n1", "n2", "n3"], cost=2, weight=2)
        made.add_edge("n1", "n0", cost=1, weight=1)
    if kind == "loop":
        made.add_edge("n1", "n1")
    if kind == "apart":
        made.add_edge("n4", "n5")
    if kind == "cycle":
        nx.add_path(made, ["n3", "n4", "n0"])
    if kind in WEIGHTS:
        made.add_edge("n2", "n3", cost=WEIGHTS[kind], weight=WEIGHTS[kind])
    return made


SHAPES = ("null", "one", "no edges", "path", "loop", "apart", "cycle")


def functions() -> list[Served]:
    """Every function that the installed packages offer."""
    return [getattr(backend, name) for name in sorted(offered())]


def odd_arguments(function: Served) -> Iterator[dict[str, Any]]:
    """Arguments that are as they should be, then one of them after the other with each odd value."""
    names = [name for name in function.signature.parameters if name not in ("G", "graphs")]
    required = [n for n in names if function.signature.parameters[n].default is function.signature.parameters[n].empty]
    good = {name: GOOD[name] for name in required}
    yield good
    for name in names:
        for value in ODD[name]:
            if name != "tol" or not isinstance(value, (int, float, np.number)) or not value > LOOSE:
                yield {**good, name: value}


def weighted_arguments(function: Served) -> Iterator[dict[str, Any]]:
    """Arguments for a graph with odd weights."""
    names = function.signature.parameters
    good = next(odd_arguments(function))
    if function.limits.get("distance"):
        yield {**good, "distance": "cost"}
    yield {**good, "weight": "cost"} if "weight" in names else good
    for method in ("dijkstra", "bellman-ford") if "method" in names else ():
        yield {**good, "weight": "cost", "method": method}


def outcome(call: Any) -> tuple[Any, ...]:
    """What a call gives, or when it raises what: at the call, or when its iterator is read."""
    try:
        found = call()
    except Exception as error:
        return RAISES, "at the call", type(error), str(error)
    try:
        return "gives", comparable(found)
    except Exception as error:
        return RAISES, "when it is read", type(error), str(error)


def agree(name: str, found: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether two outcomes are the same, as far as the function ``name`` has one answer."""
    converged = right[2:3] == (nx.PowerIterationFailedConvergence,)  # in as few steps as NetworkX needs more than
    if found[0] == "gives" and (converged or right[0] == "gives") and name in ("hits", "eigenvector_centrality"):
        return converged or name == "hits" or found == right  # singular vectors of small graphs are several
    if name == "bfs_layers" and found[0] == right[0] == "gives":
        return list(map(set, found[1])) == list(map(set, right[1]))
    if name == "single_target_shortest_path_length" and found[0] == right[0] == "gives":
        return dict(found[1]) == dict(right[1])  # pairs before NetworkX 3.5
    if "_spanning_" in name and found[0] == right[0] == "gives":  # of equal weights any may be taken
        numbers = [len(answer[1][1] if name.endswith("tree") else answer[1]) for answer in (found, right)]
        return numbers[0] == numbers[1]
    return found == right


def comparable(found: Any) -> Any:
    """An answer without the order of what has none."""
    if hasattr(found, "toarray"):
        return comparable(found.toarray())
    if isinstance(found, np.ndarray):
        return comparable(found.tolist())
    if isinstance(found, nx.Graph):
        return set(found), {frozenset(edge) for edge in found.edges}
    if isinstance(found, dict):
        return {node: comparable(value) for node, value in found.items()}
    if isinstance(found, (GeneratorType, zip, type({}.items()), type(iter({}.items())), type({}.values()))):
        found = list(found)
        return sorted(map(sorted, found)) if all(isinstance(each, set) for each in found) else comparable(found)
    if isinstance(found, (list, tuple)):
        return type(found)(map(comparable, found))
    if isinstance(found, float):
        return pytest.approx(found, rel=1e-4, abs=1e-5, nan_ok=True)
    return found
