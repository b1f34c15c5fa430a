"""``sample``: trees of sampled neighbours, hop by hop, of a graph without times.

The neighbours of a vertex are those with the ``k`` smallest hashes of (seed, root, hop, vertex, neighbour): a uniform
draw without replacement, at the cost of one hash per neighbour, that depends neither on the order in which a backend
stores them nor on who computes it. On CUDA rows are copied, slice by slice; most neighbours are left out by a bound on
their hashes, and the rest is sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.base.mixing import mixed, step
from suricate.base.parameters import integer, one_of, shown
from suricate.cpu import threads
from suricate.graph.naming import are_texts, names_of, vertices_of
from suricate.intake.arrays import as_ids, on_host, placed, placed_ids
from suricate.kernels import loops_over, without_weights
from suricate.operators.checks import refuse_events
from suricate.state.locks import on_graph_device
from suricate.store import fallbacks

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.graph import Graph

LOOPS = Path(__file__).parent / "loops.py"
SLICE = 1 << 24  #: neighbours that are hashed at a time on CUDA, unless one vertex has more
MOST = 1 << 10  #: neighbours per vertex
MORE = 32  #: hashes below the bound, on average, beyond twice those that are needed


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Trees of sampled neighbours, one per root, hop by hop, in each hop tree by tree. Its arrays are its own.

    Tree ``b`` has its root at place ``b`` of ``node``. An edge leads from the node at ``row`` to the one at ``col``,
    which was expanded.

    Attributes:
        node: ``uint32``: the vertex of each node.
        row, col: ``int64``: places in ``node``, of the neighbour and of the vertex that was expanded.
        batch: ``int64``: the tree of each node.
        nodes_per_hop, edges_per_hop: how many of each a hop has added, roots first: lists of int.
        event, time: ``int64``, per edge: its number in the log, and its time; None for a sample of a graph.
        cut: bool, per tree: whether events have left the log that the tree might have had; None of a graph.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> drawn = su.sample(g, [0], [1, 1], over="out")
        >>> isinstance(drawn, su.Sample), drawn.node.tolist(), drawn.batch.tolist()
        (True, [0, 1, 2], [0, 0, 0])
    """

    node: Array
    row: Array
    col: Array
    batch: Array
    nodes_per_hop: list[int]
    edges_per_hop: list[int]
    owner: Any  # the graph or the log
    event: Array | None = None
    time: Array | None = None
    cut: Array | None = None

    def __repr__(self) -> str:
        shape = f"{self.nodes_per_hop[0]} trees, {len(self.node)} nodes, {len(self.row)} edges"
        return f"<Sample: {shape}, {self.owner.device}>"

    @property
    def names(self) -> Any:
        """The names of ``node`` that they have now; raises ``RequirementError`` if there are none."""
        if self.owner.names is None:
            raise RequirementError("the vertices have no names: use sample.node")
        return names_of(self.owner.names, on_host(self.node))

    def column(self, name: str) -> Array:
        """Return what a column of the log, or ``"time"``, has for each edge; the log must still have its events.

        Example:
            >>> log = su.Events(3, columns={"fee": "float32"}, device="cpu")
            >>> numbers = log.append([1, 2], [0, 1], [1, 2], {"fee": [0.5, 2.0]})
            >>> log.close_before(3)
            >>> log.sample([2], fan=[1, 1]).column("fee").tolist()
            [2.0, 0.5]
        """
        if self.event is None:
            raise RequirementError("a sample of a graph has no events: look its edges up in the graph")
        return self.owner.at(name, self.event)


@on_graph_device
def sample(graph: Graph, vertices: Any, fan: Any, *, seed: int = 0, over: str = "in", ids: Any = None) -> Sample:
    """Sample a tree of neighbours from each of ``vertices``: ``fan[0]`` of the root, ``fan[1]`` of each of these, etc.

    Draws are uniform, without replacement. In a tree a vertex is one node, and is expanded once. A root gives the same
    tree in whatever batch, order, backend and device; another ``seed`` gives another one.

    Args:
        graph: the graph.
        vertices: the roots: ids, or names that are texts; a root twice gives equal trees, unless ``ids`` differ.
        fan: how many neighbours to draw per vertex in each hop, each from 1 to 1024; a vertex with fewer gives all.
        seed: an integer of 64 bits.
        over: ``"in"`` (needs in-edges), ``"out"``: which edges lead to neighbours.
        ids: integers, one per root, on which draws depend in place of the root; or None.

    Returns:
        The trees. Edges of a vertex are in the order of their hashes, so that a smaller fan gives the first of them.

    Raises:
        ParameterError, ShapeError, DTypeError, DeviceError, VertexRangeError, UnknownNameError: an argument is invalid.
        RequirementError: the graph keeps no in-edges, or is divided among processes.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 0], [1, 2, 3], device="cpu")
        >>> drawn = su.sample(g, [0], [2], over="out", seed=1)
        >>> drawn.node.tolist(), drawn.row.tolist(), drawn.col.tolist()
        ([0, 1, 2], [1, 2], [0, 0])
    """
    if not hasattr(graph, "partition"):
        raise ParameterError(f"sample takes a graph, got {shown(graph)}; a log has log.sample")
    if graph.partition is not None:
        raise RequirementError("sample is for graphs that are not divided: each process has its own part")
    refuse_events(graph, "draws are of neighbours; log.sample draws events")
    fans = checked_fan(fan, low=1, high=MOST)
    one_of("over", over, ("in", "out"))
    graph.store(over)
    roots, seed = roots_of(graph, vertices), integer("seed", seed, low=-(1 << 63), high=(1 << 63) - 1)
    keys = mixed(seed, roots if ids is None else given_ids(ids, len(roots), graph.device)).view(np.uint64)
    drawn = _sorted if graph.device.is_cuda else _compared
    xp, trees = graph.device.xp, graph.device.xp.arange(len(roots))
    merged, nodes, rows, cols = _Merged(xp, roots), [(roots, trees)], [], []
    first = 0
    for hop, count in enumerate(fans):
        node, tree = nodes[-1]
        with np.errstate(over="ignore"):
            bits = step(keys[tree] ^ (np.uint64(hop << 32) | node.astype(np.uint64)))
        ends, found = drawn(graph, over, node, bits, count)
        col = xp.searchsorted(ends, xp.arange(len(found)), side="right")
        row, new = merged.add(tree[col], found)
        rows.append(row)
        cols.append(col + first)
        nodes.append((found[new], tree[col[new]]))
        first += len(node)
    node, batch = (xp.concatenate(each) for each in zip(*nodes, strict=True))
    counts = [len(each) for each, _ in nodes], [len(each) for each in rows]
    return Sample(node, xp.concatenate(rows), xp.concatenate(cols), batch, *counts, graph)


# -- checks, also of samples of events ---------------------------------------------------------------------------------


def checked_fan(fan: Any, *, low: int, high: int, argument: str = "fan") -> tuple[int, ...]:
    """Return ``fan``, how many neighbours to draw in each hop, as a tuple; raises unless it has some, low to high."""
    if not isinstance(fan, (list, tuple)) or not len(fan):
        raise ParameterError(f"{argument} must be a list of integers, one per hop, got {shown(fan)}")
    return tuple(integer(f"{argument}[{hop}]", count, low=low, high=high) for hop, count in enumerate(fan))


def roots_of(owner: Any, vertices: Any, argument: str = "vertices") -> Array:
    """Return ``vertices``, the ``argument`` of a graph or log, as ``uint32`` on its device, in their own array."""
    ids = vertices_of(owner, vertices, argument) if are_texts(vertices) else vertices
    return placed_ids(ids, owner.device, owner.num_vertices, argument).copy()


def given_ids(ids: Any, count: int, device: Device) -> Array:
    """Return ``ids``, one integer per root, as ``int64`` on ``device``; those beyond 63 bits become negative.

    Raises:
        ShapeError, DTypeError, DeviceError: they are not one integer per root, on ``device``.
    """
    given = placed(as_ids(ids, "ids"), device, "ids")
    if len(given) != count:
        raise ShapeError(f"ids has {len(given)} entries for {count} vertices: pass one per vertex")
    return given.astype(np.int64, copy=False)


# -- neighbours --------------------------------------------------------------------------------------------------------


def _compared(graph: Graph, over: Any, node: Any, keys: Any, most: int) -> tuple[Any, Any]:
    """Draw on the CPU: return where the neighbours of each of ``node`` end, and these."""
    sizes = graph.degrees(over)[node]
    ends = np.cumsum(np.minimum(sizes, most), dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    hashes, found, view = np.empty(total, np.uint64), np.empty(total, np.uint32), graph.view(over)
    given = without_weights(view), node, keys, ends, hashes, found
    with np.errstate(over="ignore"):
        threads.over(len(node), loops_over(view, LOOPS).smallest, *given, unit=float(sizes.mean()) if len(sizes) else 1)
    return ends, found


def _sorted(graph: Graph, over: Any, node: Array, keys: Array, most: int) -> tuple[Array, Array]:
    """Draw as :func:`_compared` does, by operations on arrays of rows."""
    xp, sizes = graph.device.xp, graph.degrees(over)[node].astype(np.int64)
    ends = xp.cumsum(xp.minimum(sizes, most))
    parts = [xp.empty(0, np.uint32)]
    for begin, end in fallbacks.slices_of(sizes, SLICE):
        offsets, found, _ = graph.store(over).adjacency(node[begin:end])
        place = xp.searchsorted(offsets[1:], xp.arange(len(found)), side="right")
        with np.errstate(over="ignore"):
            bits = step(keys[begin:end][place] ^ found.astype(np.uint64))
        few = (bits >> np.uint64(32)).astype(np.int64) * sizes[begin:end][place] < (2 * most + MORE) << 32
        counts = xp.bincount(place[few], minlength=end - begin)
        few |= (counts < xp.minimum(sizes[begin:end], most))[place]
        place, found = place[few], found[few]
        order = xp.lexsort(xp.stack((bits[few], place.astype(np.uint64))))
        place, found = place[order], found[order]
        starts = xp.searchsorted(place, xp.arange(end - begin))
        parts.append(found[xp.arange(len(place)) - starts[place] < most])
    return ends, xp.concatenate(parts)


class _Merged:
    """The nodes of all trees: keys ``tree << 32 | vertex``, ascending, and their places."""

    def __init__(self, xp: Any, roots: Array) -> None:
        self.xp = xp
        self.places = xp.arange(len(roots))
        self.keys = self.places << 32 | roots

    def add(self, tree: Array, vertex: Array) -> tuple[Array, Array]:
        """Return the place of each vertex in its tree, and which are new: the first time each, in order."""
        xp, count = self.xp, len(self.keys)
        keys, first, inverse = xp.unique(tree << 32 | vertex, return_index=True, return_inverse=True)
        at = xp.minimum(xp.searchsorted(self.keys, keys), max(count - 1, 0))
        is_new = self.keys[at] != keys
        new = xp.sort(first[is_new])
        places = xp.where(is_new, count + xp.searchsorted(new, first), self.places[at])
        self.keys = xp.concatenate((self.keys, keys[is_new]))
        self.places = xp.concatenate((self.places, places[is_new]))
        order = xp.argsort(self.keys)
        self.keys, self.places = self.keys[order], self.places[order]
        return places[inverse.reshape(-1)], new
