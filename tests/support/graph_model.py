"""A model of ``Graph``: a dictionary of edges, and comparisons of everything that a graph can tell with it."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

import suricate as su

KINDS = {
    "directed": {},
    "directed-in": {"in_edges": True},
    "directed-weighted": {"weight_dtype": "int32"},
    "directed-weighted-in": {"weight_dtype": "float32", "in_edges": True},
    "undirected": {"directed": False},
    "undirected-weighted": {"directed": False, "weight_dtype": "float64"},
}
START = 6


class Model:
    """The oracle: a dictionary of edges, undirected ones under ``(min, max)``."""

    def __init__(self, num_vertices, directed=True, weight_dtype=None, in_edges=False):
        self.num_vertices, self.directed, self.weighted = num_vertices, directed, weight_dtype is not None
        self.edges, self.deleted, self.revived = {}, set(), set()  # revived: by the last insertion

    def key(self, u, v):
        return (u, v) if self.directed else (min(u, v), max(u, v))

    def apply(self, delete=(), insert=()):
        """Return the net change as dictionaries: inserted, deleted, replaced (new weight), replaced (old weight)."""
        before = dict(self.edges)
        for u, v, _ in delete:
            self.edges.pop(self.key(u, v), None)
        for u, v, w in insert:
            self.edges[self.key(u, v)] = w if self.weighted else None
        self.revived = self.deleted & {end for u, v, _ in insert for end in (u, v)}
        self.deleted -= self.revived
        return self.change_since(before)

    def delete_vertices(self, ids):
        before = dict(self.edges)
        self.edges = {key: w for key, w in before.items() if not set(key) & set(ids)}
        self.deleted |= set(ids)
        return self.change_since(before)

    def change_since(self, before):
        now = self.edges
        changed = [key for key in now if key in before and now[key] != before[key]]
        return (
            {key: w for key, w in now.items() if key not in before},
            {key: w for key, w in before.items() if key not in now},
            {key: now[key] for key in changed},
            {key: before[key] for key in changed},
        )

    def arcs(self):
        for (u, v), w in self.edges.items():
            yield u, v, w
            if not self.directed and u != v:
                yield v, u, w


CHANGES = ("inserted", "deleted", "replaced", "replaced_old")


def as_dict(graph, edges):
    """Return ``{(u, v): weight or None}``, having checked that no edge is listed twice."""
    src, dst = (graph.device.to_numpy(part).tolist() for part in edges[:2])
    weight = [None] * len(src) if edges.weight is None else graph.device.to_numpy(edges.weight).tolist()
    pairs = list(zip(src, dst, strict=True))
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, weight, strict=True))


def both(edges):
    """Return the arcs of undirected edges."""
    return edges | {(v, u): w for (u, v), w in edges.items()}


def assert_delta(graph, delta, expected):
    inserted, deleted, replaced, old = expected
    for kind, edges in zip(CHANGES, expected, strict=True):
        arcs = edges if graph.directed else both(edges)
        assert as_dict(graph, delta.edge_set(kind).arcs().read()) == (
            arcs if graph.weight_dtype else dict.fromkeys(arcs)
        )
    assert as_dict(graph, delta.inserted) == inserted
    assert as_dict(graph, delta.deleted) == deleted
    assert as_dict(graph, delta.replaced) == replaced
    for kind, edges in zip(CHANGES, expected, strict=True):
        assert as_dict(graph, delta.arcs(kind).read()) == (edges if graph.directed else both(edges))
    if graph.weight_dtype is not None:
        assert as_dict(graph, delta.replaced._replace(weight=delta.replaced_old)) == old
    assert (delta.num_inserted, delta.num_deleted, delta.num_replaced) == (len(inserted), len(deleted), len(replaced))


def assert_equal(graph, model):
    """Compare all that a graph can tell with the model."""
    graph.check()
    host = graph.device.to_numpy
    n = model.num_vertices
    assert (graph.num_vertices, graph.num_edges) == (n, len(model.edges))
    assert as_dict(graph, graph.edges()) == model.edges
    arcs = {(u, v): w for u, v, w in model.arcs()}
    out, into = Counter(u for u, _ in arcs), Counter(v for _, v in arcs)
    assert host(graph.degrees()).tolist() == [out[v] for v in range(n)]
    if graph.has_in_edges:
        assert host(graph.degrees("in")).tolist() == [into[v] for v in range(n)]
    pairs = np.array(list(product(range(n), repeat=2)), np.int64).reshape(-1, 2)
    assert host(graph.has_edges(pairs[:, 0], pairs[:, 1])).tolist() == [(u, v) in arcs for u, v in pairs.tolist()]
    if model.weighted:
        weights = host(graph.edge_weights(pairs[:, 0], pairs[:, 1], default=-1)).tolist()
        assert weights == [arcs.get((u, v), -1) for u, v in pairs.tolist()]
    live = [v not in model.deleted for v in range(n)]
    assert graph.deleted_vertices.tolist() == sorted(model.deleted)
    assert (graph.num_live, graph.most_deleted) == (sum(live), len(model.deleted))
    assert host(graph.live).tolist() == live
    assert host(graph.live_vertices).tolist() == [v for v in range(n) if live[v]]
    mask, count = map(host, graph.live_arrays)
    assert (mask.tolist(), count.tolist()) == (live, [sum(live)])


def columns(edges, graph):
    """Return a batch as arrays on the graph's device."""
    xp = graph.device.xp
    src, dst, weight = (list(column) for column in zip(*edges, strict=True)) if edges else ([], [], [])
    return xp.array(src, np.int64), xp.array(dst, np.int64), xp.array(weight, np.float64)


def step(graph, model, operation):
    """Do one operation on both and compare what changed."""
    name, *arguments = operation
    version, deleted, delta = graph.version, set(model.deleted), None
    if name == "insert":
        src, dst, weight = columns(arguments[0], graph)
        delta = graph.insert_edges(src, dst, weight if model.weighted else None)
        assert_delta(graph, delta, model.apply(insert=arguments[0]))
    elif name == "delete":
        delta = graph.delete_edges(*columns(arguments[0], graph)[:2])
        assert_delta(graph, delta, model.apply(delete=arguments[0]))
    elif name == "apply":
        delete, insert = (columns(edges, graph) for edges in arguments)
        delta = graph.apply(su.Batch(insert if model.weighted else insert[:2], delete[:2]))
        assert_delta(graph, delta, model.apply(*arguments))
    elif name == "delete_vertices":
        delta = graph.delete_vertices(arguments[0])
        assert_delta(graph, delta, model.delete_vertices(arguments[0]))
        arguments[0] = sorted(set(arguments[0]) - deleted)
        assert graph.device.to_numpy(delta.deleted_vertices).tolist() == arguments[0]
    elif name == "insert_vertices":
        count, recycle = arguments
        ids = graph.device.to_numpy(graph.insert_vertices(count, recycle=recycle)).tolist()
        free = sorted(model.deleted)[:count] if recycle else []
        model.deleted -= set(free)
        assert ids == free + list(range(model.num_vertices, model.num_vertices + count - len(free)))
        model.num_vertices += count - len(free)
    else:
        graph.compact()
    if name in ("insert", "apply"):
        assert graph.device.to_numpy(delta.revived_vertices).tolist() == sorted(model.revived)
    nothing = name == "compact" or not any(arguments[:2] if name == "apply" else arguments[:1])
    assert graph.version == version + (not nothing)
    assert_equal(graph, model)
