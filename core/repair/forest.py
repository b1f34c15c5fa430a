"""The dependence forest: every vertex holds a word (keys, parent), and deleted edges are repaired around the change.

Breadth-first search, shortest paths and connected components are least fixpoints of offers along edges: a vertex has
the smallest word (keys first, then the parent's id) that a neighbour offers it, and that neighbour is its parent. The
parents form a forest. Only vertices below a deleted edge in the forest can depend on it, and another neighbour explains
the values of most of them. The repair is that of Ramalingam and Reps ("An incremental algorithm for a generalization of
the shortest-path problem", 1996) and of KickStarter's trimming (Vora et al., 2017), as one launch on CUDA:

1. Children across deleted tree edges, or tree edges whose weight rose, are suspects. A suspect survives if another
neighbour offers exactly its keys; the one with the smallest id becomes its parent. Else it is invalid, and its
children, those who adopted it as parent in the same round among them, are the next suspects. 2. Invalid vertices get
the word ``restart(v)``, then the best offer of their neighbours. Inserted edges make their offers. Vertices whose words
changed then push, until nothing changes.

Work: the degrees of suspects and of vertices that change. A directed graph without in-edges gives no vertex another
explanation: the subtrees below deleted tree edges are invalid, and one pass over all edges makes the offers.

Keys must grow strictly along edges: the keys of an offer are greater than those of the vertex that makes it. An offer
that breaks this rule is dropped and sets :attr:`Forest.violated`, so that no loop runs forever. On a graph of several
processes such an offer may reach the words; it sets ``violated`` as well.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from suricate.base.devices import Array
from suricate.base.errors import DeviceError, ParameterError, ShapeError
from suricate.base.types import ArcList, EdgeList, PlacedArcs
from suricate.edgefn import EDGE, argument_of, compile_function
from suricate.graph import Graph
from suricate.intake.arrays import sorted_distinct
from suricate.operators.call import Call
from suricate.operators.checks import belongs
from suricate.operators.results import Propagated
from suricate.plugins.step import Step
from suricate.state.frontier import Frontier
from suricate.state.made import MadeByGraph


class Forest(metaclass=MadeByGraph):
    """Words that depend on each other along the edges of a graph, kept at their least fixpoint.

    Args:
        words: ``Words`` with one entry per vertex. The last payload field is ``parent`` (uint32): the vertex whose
            offer was taken; the vertex itself for a root; ``EMPTY`` for an unreached vertex, which offers nothing.
        offer: edge function ``(u, v, w, words, *args) -> tuple``: what ``u`` offers ``v``: all fields of a word in
            order, the parent being ``u``.
        restart: function ``(v, words, *args) -> tuple``: the initial word of a vertex, which it gets again when it is
            invalid: a root (parent ``v``), or unreached (parent ``EMPTY``, keys that no offer exceeds).
        args: further arguments of both.
        uniform: an offer depends on ``u`` only, and offers of vertices with the same keys differ in the parent only
            (breadth-first search). Then an offer is made once per vertex; and if all roots of a computation have the
            same keys, steps may pull when the frontier is large and there are in-edges.

    Methods wait for the device only if ids of roots may be repeated, or have no known upper bound; and on a graph of
    several processes with ``uniform`` and several roots.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], in_edges=True, device="cpu")
        >>> words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        >>> def offer(u, v, w, words):
        ...     return words.level[u] + 1, u
        >>> def restart(v, words):
        ...     if v == 0:
        ...         return 0, v
        ...     return su.EMPTY, su.EMPTY
        >>> tree = g.forest(words, offer, restart)
        >>> done = tree.compute(g, g.frontier([0]))
        >>> isinstance(tree, su.Forest), words.level.tolist()
        (True, [0, 1, 1])
    """

    def __init__(
        self,
        words: Any,
        offer: Callable[..., Any],
        restart: Callable[..., Any],
        *,
        args: tuple[Any, ...] = (),
        uniform: bool = False,
    ) -> None:
        last = words.layout.fields[-1]
        if last.name != "parent" or last.dtype != "uint32" or words.layout.num_keys == len(words.layout.fields):
            raise ParameterError("the words of a forest end with the payload 'parent' of uint32")
        self.words, self.offer, self.restart, self.args, self.uniform = words, offer, restart, args, uniform
        self._width: float | None = None  # of the last computation
        self._repairs: Any = None  # of the graph that it was last used with
        with words.device.current():
            #: ``uint32[1]`` on the device: not 0 if an offer's keys were not above those of the vertex that made it
            self.violated: Array = words.device.xp.zeros(1, "uint32")

    def rebind(self, *args: Any) -> None:
        """Replace the arguments ``args`` of the functions by as many others, for instance by arrays that have grown.

        Example:
            >>> g = su.Graph(3, device="cpu")
            >>> words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
            >>> offer = lambda u, v, w, words, lift: (words.level[u] + lift[u], u)
            >>> tree = g.forest(words, offer, lambda v, words, lift: (0, v), args=(np.ones(3, np.uint32),))
            >>> tree.rebind(np.full(3, 2, np.uint32))
            >>> tree.args[0].tolist()
            [2, 2, 2]
        """
        self.args, self._repairs = args, None

    def compute(self, graph: Graph, roots: Frontier, width: float | None = None) -> Propagated:
        """Give every vertex the word ``restart(v)``, and propagate from ``roots`` until nothing changes.

        Returns the numbers of steps and of vertices that pushed, read from the device when they are first used.

        ``width`` does not affect the words, only the speed: if it is given, vertices with small first keys push first.
        On the CPU vertices wait in buckets of this width by their first keys, and the lowest bucket is emptied first
        (delta-stepping); several threads need not be in the same bucket, so the numbers of steps and pushes depend on
        the schedule. On CUDA a step leaves vertices whose first key is more than ``width`` above the least one for
        later steps; repairs of many vertices do so, too.

        Raises:
            VertexRangeError: a root is not a vertex of the graph.
            DeviceError: the roots, or the words, are on another device than the graph.
            ShapeError: there are fewer words than vertices.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], in_edges=True, device="cpu")
            >>> words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
            >>> def restart(v, words):
            ...     if v == 0:
            ...         return 0, v
            ...     return su.EMPTY, su.EMPTY
            >>> tree = g.forest(words, lambda u, v, w, words: (words.level[u] + 1, u), restart)
            >>> done = tree.compute(g, g.frontier([0]))
            >>> words.level.tolist()
            [0, 1, 2]
        """
        belongs(graph, roots, "the frontier of roots")
        if not roots.distinct:
            with roots.device.current():
                ids = sorted_distinct(roots.vertices.copy(), roots.device.xp)
                roots = Frontier._of(roots.device, ids, num_vertices=roots.num_vertices)
        self._width = width
        return self._repairs_on(graph).run(roots, (None, None, None), width)

    def repair(self, graph: Graph, deleted: Any = None, inserted: Any = None, replaced: Any = None) -> Propagated:
        """Update the words after arcs were deleted, inserted, or got a new weight.

        Returns the numbers of steps and of vertices that pushed, as :meth:`compute` does.
        ``graph`` already holds the change, and the words have one entry per vertex. Each argument is an ``EdgeSet``,
        an ``ArcList``, ``PlacedArcs`` or None, with both arcs of undirected edges; no arc is in two of them.
        ``replaced`` has the new weights.

        Raises:
            ShapeError: there are fewer words than vertices.

        Example:
            >>> g = su.Graph.from_coo([0, 1, 0], [1, 2, 2], in_edges=True, device="cpu")
            >>> words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
            >>> def restart(v, words):
            ...     if v == 0:
            ...         return 0, v
            ...     return su.EMPTY, su.EMPTY
            >>> tree = g.forest(words, lambda u, v, w, words: (words.level[u] + 1, u), restart)
            >>> done = tree.compute(g, g.frontier([0]))
            >>> done = tree.repair(g, deleted=g.delete_edges([0], [2]).edge_set("deleted"))
            >>> words.level.tolist(), words.parent.tolist()
            ([0, 1, 2], [0, 0, 1])
        """
        changes = _arcs(deleted), None if replaced is None else _arcs(replaced), _arcs(inserted)
        return self._repairs_on(graph).run(None, changes, self._width)

    def event_step(self, graph: Graph, result: Callable[[Any], Any]) -> Step:
        """Return how a compiled loop updates the words after single edges, for ``Algorithm.event_step``; on the CPU.

        ``result`` converts ``Words`` to a ``NamedTuple`` of arrays with an entry per word. A vertex counts as changed
        if its first key or parent changed. The step refuses an event if the keys of an offer do not grow, or if it
        deletes a tree edge of a directed graph without in-edges.
        """
        step: Step = self._repairs_on(graph).event_step(result)
        return step

    def _repairs_on(self, graph: Graph) -> Any:
        """Return the object that computes and repairs this forest on ``graph``; kept until another graph is used."""
        if len(self.words) < graph.num_vertices:
            reason = f"the forest has {len(self.words)} words, but there are {graph.num_vertices} vertices"
            raise ShapeError(f"{reason}: call words.resize(graph.num_vertices)")
        if self._repairs is None or self._repairs.graph is not graph:
            self._repairs = self._bound(graph)
        return self._repairs

    def of_same_functions(self) -> Forest:
        """Return a new forest with the same words, functions and arguments, to be used with another graph.

        Example:
            >>> g = su.Graph(3, device="cpu")
            >>> words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
            >>> tree = g.forest(words, lambda u, v, w, words: (words.level[u] + 1, u), lambda v, words: (0, v))
            >>> tree.of_same_functions().words is words
            True
        """
        return Forest._of(self.words, self.offer, self.restart, args=self.args, uniform=self.uniform)

    def levels(self, graph: Graph, share: tuple[int, int, int, int], places: int) -> Any:
        """Return the kernels of a search that several ranks make together, an object of class ``Levels``.

        Args:
            graph: the graph of this rank, on CUDA.
            share: the rank, the number of ranks, the first vertex of this rank and the one after its last.
            places: how many offers a rank may make in a level of a small frontier.
        """
        from suricate.repair.cuda.levels import Kept

        return graph.workspace.state(Kept).levels(graph, self._call(graph), self.words, share, places)

    def _bound(self, graph: Graph) -> Any:
        """Return a new object that computes and repairs this forest on ``graph``."""
        if self.words.device != graph.device:
            raise DeviceError(f"the words of the forest are on {self.words.device}, the graph on {graph.device}")
        if graph.partition is not None:
            return graph.partition.repairs(self, graph)
        return _repairs_on(graph.device.kind)(graph, self._call(graph), self.words, self.violated, self.uniform)

    def _call(self, graph: Graph) -> Call:
        """Return the compiled functions with their arguments: ``offer`` as ``function``, ``restart`` as ``commit``."""
        values = (self.words, *self.args)
        arguments = tuple(map(argument_of, values))
        layout, weight = self.words.layout, graph.weight_dtype
        offer = compile_function(self.offer, arguments, weight_dtype=weight, leading=EDGE, result_layout=layout)
        restart = compile_function(self.restart, arguments, weight_dtype=weight, leading=("v",), result_layout=layout)
        return Call(offer, values, "argmin", None, None, restart, layout)


@cache
def _repairs_on(kind: str) -> Any:
    return importlib.import_module(f"suricate.repair.{kind}.repairs").Repairs


def _arcs(given: Any) -> ArcList | PlacedArcs | None:
    if given is None or isinstance(given, (PlacedArcs, ArcList)):
        return given
    if isinstance(given, EdgeList):
        return ArcList.of(given)
    arcs: ArcList = given.arcs()
    return arcs
