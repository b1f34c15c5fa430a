"""Communities by label propagation, kept current: every vertex has the label that most of its neighbours have.

Raghavan, Albert and Kumara, *Near linear time algorithm to detect community structures in large-scale networks* (2007):
initially each vertex has its own label, and takes the most frequent label of its neighbours, until every label is among
the most frequent ones. A computation from scratch has two parts.

In the first one vertices take turns: a round has sub-rounds, in each of which the vertices of one class, given by a
hash, take labels at once, and see those of the classes before. Of equally frequent labels, its own one included, a
vertex takes the first in an order of labels. In the first ``APART`` rounds every vertex has an order of its own. (If
all had the same one, a label could flood a graph whose communities are less clear.) Then all have the same order, and
another one in each of ``PERIODS``: so borders of communities move, as by chance, and small communities vanish. As the
vertices of a border move together, that takes few rounds; most of it happens in the first period, which is the longest.

In the second part all active vertices take labels at once, and keep their own one if it is among the most frequent
ones; else they take the first in an order given by ``seed``. A vertex that changes its label activates its neighbours.
Two rules keep neighbours from exchanging labels for ever. A vertex that wants a label later in the order waits for a
round every second time (the pick-less rounds of Sahu's *nu-LPA*, 2024). A vertex that has wanted many labels also waits
in some rounds, chosen by a hash of its id and of how many it has wanted, so a result can be replayed. O(m) per round.

After a change the ends of the changed edges are active first, and all labels start with their current values. The
result is stable again, but may differ from that of a computation from scratch. A label that is the id of a deleted
vertex is replaced by that of a live one first.

``synchronous=True`` is LDBC Graphalytics' CDLP: starting from the ids, all vertices take the most frequent label of
their neighbours at once, exactly ``max_iter`` times; of equally frequent labels the smallest wins.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.convergence import CutLoops
from suricate.algorithms.shared.hash import LOW, key_of, mixed, mixed_ids, unmixed
from suricate.algorithms.shared.vertex_values import resized
from suricate.base.parameters import flag, integer
from suricate.graph.row_copies import copied_rows
from suricate.kernels import loops_over
from suricate.kernels.walking import plain_view
from suricate.operators import Propagated, converge, neighbor_reduce, vertex_map
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

LOOPS = Path(__file__).with_name("label_propagation_cpu.py")
STAY, WAKE = 1, 2  #: stay active; activate the neighbours
NOBODY = 2**63 - 1  #: the mode of no neighbours
KEPT = 0  #: the mode where the vertex's own label is among the most frequent ones
ODD, STEP = 0x9E3779B9, 0x9E3779B97F4A7C15  #: between numbers that are hashed, and between keys
APART, PERIODS = 3, 9  #: rounds with an order per vertex; periods with one order
LONG, ROUNDS = 12, 6  #: rounds of the first of those periods, and of the others, at most
FIRST_BITS, BITS = (6, 3, 3), 1  #: of the classes of the first rounds, and of the others
PATIENCE = 8  #: labels that a vertex has wanted before a hash makes it wait
MAX_ITERATIONS = 100


class ArcTable(NamedTuple):
    """All edges from both sides, with which the labels of a stable result are checked.

    Attributes:
        neighbour: ``int64[k]``, one end of each edge, whose label counts for the other end.
        vertex: ``int64[k]``, the other end.
        num_vertices: the number of vertices.
        live: the mask of live vertices; None: all are live.
    """

    neighbour: np.ndarray
    vertex: np.ndarray
    num_vertices: int
    live: np.ndarray | None = None  # None: all vertices are live


def rank_of(v, rank, key):
    """Write the hash of ``rank[v]``, a label, with ``key`` in its place."""
    rank[v] = mixed(rank[v], key)


def label_of(u, v, w, label):
    """Return the label of ``u``, a neighbour of ``v``."""
    return label[u]


def has_turn(v, step, label, taken, key, apart, bits):
    """Return whether sub-round ``step``, of ``1 << bits`` in a round, is that of ``v``: by a hash."""
    return mixed((v + ODD * (1 + (step >> bits))) & LOW, key) & ((1 << bits) - 1) == step & ((1 << bits) - 1)


def place_of(u, v, w, label, taken, key, apart, bits):
    """Return 1 plus the place of the label of ``u`` in the order of ``key``; if ``apart`` is 1, in that of ``v``."""
    return 1 + mixed(label[u] ^ (apart * mixed(v, key)), key)


def take_first(v, mode, label, taken, key, apart, bits):
    """Write to ``taken[v]`` the label whose place is ``mode`` less 1, see :func:`place_of`; wake if it is new."""
    taken[v] = label[v] if mode == NOBODY else unmixed(mode - 1, key) ^ (apart * mixed(v, key))
    return WAKE if taken[v] != label[v] else 0


def publish_first(v, label, taken, *others):
    """Copy ``taken[v]`` to ``label[v]``, which the neighbours read."""
    label[v] = taken[v]


def choice_of(u, v, w, rank, taken, wanted, key):
    """Return the vote of neighbour ``u``: 1 plus ``rank[u]``, its label as a rank, or ``KEPT`` if ``v`` has it, too.

    Of equally frequent votes the smallest wins, so that ``v`` keeps its label if it can. ``taken``, ``wanted`` and
    ``key`` are not read.
    """
    return (rank[u] + 1) * (rank[u] != rank[v])  # ``KEPT`` is 0; a branch takes 1.4 times as long


def take(v, mode, rank, taken, wanted, key):
    """Write to ``taken[v]`` the label that ``v`` takes, as a rank: the one that most neighbours have, or its old one.

    The old one stays if it wins, or while ``v`` waits; without neighbours ``v`` takes its own id. ``mode`` is the most
    frequent vote (see :func:`choice_of`), ``rank[v]`` the label so far. ``wanted[v]``, how often ``v`` wanted another
    label, is raised in place; ``key`` is that of the hashes. Returns 0 (keeps its label), ``STAY`` (waits) or ``WAKE``
    (takes another label).
    """
    taken[v] = rank[v]
    if mode == NOBODY:
        taken[v] = mixed(v, key)
        return 0
    if mode == KEPT or mode - 1 == rank[v]:
        return 0
    wanted[v] = wanted[v] + 1
    if mode - 1 > rank[v] and wanted[v] & 1:
        return STAY
    if wanted[v] > PATIENCE and mixed((v + ODD * wanted[v]) & 0xFFFFFFFF, key) & 3 == 0:
        return STAY
    taken[v] = mode - 1
    return WAKE


def publish(v, rank, taken, wanted, key):
    """Copy ``taken[v]``, the label that ``v`` takes, as a rank, to ``rank[v]``, which the neighbours read.

    ``wanted`` and ``key`` are not used.
    """
    rank[v] = taken[v]


class LabelPropagation(Algorithm):
    """The label of every vertex, ``uint32[num_vertices]``; communities are the vertices of equal labels.

    The label of a live vertex is the id of a live vertex; deleted vertices, and those without neighbours, have their
    own id. Edges count in both directions, reciprocal ones twice; weights are ignored. A self-loop is one vote for the
    vertex's own label. A directed graph needs in-edges.

    Args:
        max_iter: maximum number of rounds of a computation or an update; with ``synchronous`` the exact number. Of a
            computation up to three quarters are of the first part. If an update ran out of rounds and another one
            followed, reading the result makes up to this many rounds from all vertices.
        seed: determines the order of labels and which vertices wait; unused with ``synchronous``.
        synchronous: compute LDBC's CDLP.

    Attributes:
        iterations: rounds of the last computation or update; reading it waits for the device.
        converged: whether every label is stable; False if ``max_iter`` rounds were not enough, now or since the last
            rounds that began at all vertices. Reading it waits for the device.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: a directed graph without in-edges.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 3], [1, 2, 0, 4], directed=False, device="cpu")
        >>> label = g.compute("label_propagation").tolist()
        >>> label[0] == label[1] == label[2] != label[3]
        True
    """

    name = "label_propagation"
    uses_weights = False
    requires = Requirements(in_edges=True)
    update_kind = "repair"
    groups = "value"

    def __init__(self, max_iter: int = MAX_ITERATIONS, seed: int = 0, synchronous: bool = False) -> None:
        self.max_iter = integer("label_propagation: max_iter", max_iter, low=1)
        self.key = key_of(integer("label_propagation: seed", seed))
        self.synchronous = flag("label_propagation: synchronous", synchronous)
        self._rank: Array = None  # labels, renamed so that the smallest is the first in the order that the seed gives
        self._taken: Array = None
        self._wanted: Array = None
        self._outcome: Propagated | None = None
        self._turns: list[tuple[Propagated, int]] = []  # of sub-rounds before those, and the bits of their classes
        self._graph: Graph | None = None
        self._cut = CutLoops()  # since the last loop that began at all vertices
        self._owes_rounds = False  # if a loop was cut short: whether rounds are made when the result is read

    def compute(self, graph: Graph) -> None:
        """Compute from scratch: at first the label of a vertex is its own id."""
        with copied_rows(graph):
            self._compute(graph)

    def _compute(self, graph: Graph) -> None:
        xp, n = graph.device.xp, graph.num_vertices
        self._graph, self._outcome = graph, None
        if self.synchronous:
            self._rank = xp.arange(n, dtype=np.uint32)
            for _ in range(self.max_iter):
                most = neighbor_reduce(graph, None, label_of, args=(self._rank,), reduce="mode", over="both")
                self._rank = xp.where(most == NOBODY, self._rank, most).astype(np.uint32)
            return
        self._rank = xp.arange(n, dtype=np.uint32)
        self._taken, self._wanted = xp.zeros((2, n), np.uint32)
        loop = TurnLoop(graph) if by_loops(graph) else None
        before = self._take_turns(graph, loop)
        if loop is not None:
            self._look(graph, loop.end(self._rank, self.key), before)
            return
        if graph.device.is_cuda and graph.partition is None:  # in one program: CuPy compiles each step of a hash
            vertex_map(graph, None, rank_of, args=(self._rank, self.key))
        else:
            self._rank = mixed(self._rank, self.key)
        self._look(graph, None, before)

    def _take_turns(self, graph: Graph, loop: TurnLoop | None) -> int:
        """Make the rounds in which vertices take turns, up to 3/4 of ``max_iter``; return how many may be made."""
        label, limit, turns = self._rank, self.max_iter * 3 // 4, []
        left = limit
        for number in range(APART + PERIODS):
            bits, rounds = FIRST_BITS[number] if number < APART else BITS, min(left, rounds_of(number))
            key, apart = (self.key + STEP * (number + 1)) & ((1 << 63) - 1), int(number < APART)
            if loop is not None:
                order = Order(key, apart, bits, number >= APART - 1)
                made = Propagated.of(loop.take_turns(label, order, rounds), 0, converged=False)
            else:
                made = converge(
                    graph, None, place_of, args=(label, self._taken, key, apart, bits), reduce="mode", over="both",
                    then=take_first, commit=publish_first, wake="both", turn=has_turn, dtype="int64",
                    max_steps=rounds << bits,
                )  # fmt: skip
            turns.append((made, bits))
            left -= rounds
        self._turns = turns
        return limit - left

    def update(self, graph: Graph, delta: Delta) -> None:
        """Run rounds in which at first only the ends of changed edges are active."""
        if self.synchronous:
            self.compute(graph)
            return
        xp, n, known = graph.device.xp, graph.num_vertices, len(self._rank)
        if n > known:
            self._rank = xp.concatenate([self._rank, mixed_ids(xp, known, n, self.key)])
            self._taken, self._wanted = (resized(xp, array, n, 0) for array in (self._taken, self._wanted))
        if delta.live_may_differ and len(delta.deleted_vertices):
            self._rename_labels_of(delta.deleted_vertices, graph)
        self._look(graph, (delta.edge_set("inserted"), delta.edge_set("deleted")))
        self._owes_rounds = True

    def _rename_labels_of(self, deleted: Array, graph: Graph) -> None:
        """Replace labels that are ids of ``deleted`` vertices by ids of live vertices that are no label; O(n), waits.

        The new label of a community is its first member that is no label, or, if all members are labels of other
        communities, the first vertex of the graph that is none.
        """
        xp, live = graph.device.xp, graph.live_arrays.mask
        self._rank[deleted] = mixed(deleted, self.key)
        label = unmixed(self._rank, self.key)
        moved = xp.flatnonzero(live & ~live[label])
        if not len(moved):
            return
        is_free = live.copy()
        is_free[label[live]] = False
        name, group = xp.unique(label[moved], return_inverse=True)
        every = xp.arange(len(name))
        members = xp.sort(((group << 32) | moved)[is_free[moved]])  # those that are no label, by community
        first = xp.searchsorted(members, every << 32)
        new = xp.concatenate((members, every[:1] - 1))[first]  # -1: there is none
        has_member, new = new >> 32 == every, (new & 0xFFFFFFFF).astype(np.uint32)
        is_free[new[has_member]] = False
        nameless = xp.flatnonzero(~has_member)
        new[nameless] = xp.flatnonzero(is_free)[: len(nameless)]
        self._rank[moved] = mixed(new[group], self.key)

    def _look(self, graph: Graph, frontier: Any, before: int | None = None) -> None:
        """Make rounds from the vertices of ``frontier``, ``before`` less than ``max_iter``; None: it is an update."""
        if frontier is None or before is not None:
            self._cut.clear()
            self._owes_rounds = False
        self._turns, before = ([], 0) if before is None else (self._turns, before)
        self._outcome = converge(
            graph, frontier, choice_of, args=(self._rank, self._taken, self._wanted, self.key), reduce="mode",
            over="both", then=take, commit=publish, wake="both", max_steps=self.max_iter - before,
        )  # fmt: skip
        self._cut.note(self._outcome, self.max_iter - before)

    def state(self) -> dict[str, Array] | None:
        """Return arrays, by name, from which updates continue; None with ``synchronous``.

        They are labels, how often each vertex wanted another one, and two marks: whether ``max_iter`` ended a loop, and
        whether reading the result then makes more rounds.
        """
        if self.synchronous:
            return None
        marks = np.array([self._cut.found(), self._owes_rounds])
        return {"rank": self._rank, "taken": self._taken, "wanted": self._wanted, "marks": marks}

    def restore(self, graph: Graph, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned."""
        xp, n = graph.device.xp, graph.num_vertices
        self._graph, self._outcome, self._rank = graph, None, state["rank"]
        if n > len(self._rank):
            self._rank = xp.concatenate([self._rank, mixed_ids(xp, len(self._rank), n, self.key)])
        self._taken, self._wanted = (resized(xp, state[name], n, 0) for name in ("taken", "wanted"))
        is_cut, owes = (bool(mark) for mark in graph.device.to_numpy(state["marks"]))
        self._cut.restore(is_cut)
        self._owes_rounds = owes

    @property
    def iterations(self) -> int:  # type: ignore[override]
        """Rounds of the last computation or update; waits for the device."""
        if self._outcome is None:
            return self.max_iter
        return self._outcome.steps + sum(-(-made.steps >> bits) for made, bits in self._turns)

    @property
    def converged(self) -> bool:
        """Whether the last loop from all vertices, and all later loops, ended because labels were stable."""
        return self._outcome is not None and not self._cut.found()

    @property
    def result(self) -> ReturnedArray:
        """The current labels in a new array; after an update this waits for the device."""
        if self.synchronous:
            return self._rank.copy()
        if self._owes_rounds and self._cut.found():
            assert self._graph is not None
            self._look(self._graph, None)
        self._owes_rounds = False
        return unmixed(self._rank, self.key)

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        max_iter: int = MAX_ITERATIONS,
        synchronous: bool = False,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> Any:
        """Return labels computed by NumPy.

        Without ``synchronous`` it returns the edges, an :class:`ArcTable`, with which :meth:`mismatch` checks labels.
        ``src`` and ``dst`` are the ends of all arcs (two per undirected edge), ``weight`` their weights, None without
        weights; ``live`` is the mask of live vertices (None: all are live), other keywords those of the algorithm.
        """
        once = src == dst
        neighbour = np.concatenate((src, dst[~once])) if directed else src
        vertex = np.concatenate((dst, src[~once])) if directed else dst
        arcs = ArcTable(neighbour.astype(np.int64), vertex.astype(np.int64), num_vertices, live)
        if not synchronous:
            return arcs
        label = np.arange(num_vertices, dtype=np.uint64)
        for _step in range(max_iter):
            label = modes(arcs, label, label)
        return label.astype(np.uint32)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, *, seed: int = 0, **params: Any) -> str | None:
        """Return a text that says what is wrong with the labels ``result``, or None.

        If ``reference`` is an array of labels (with ``synchronous``), both must be equal. If it is an
        :class:`ArcTable`, each label must be a most frequent one among the neighbours of its vertex (its own id without
        neighbours), and the id of a live vertex. ``seed`` is the algorithm's parameter.
        """
        if not isinstance(reference, ArcTable):
            return super().mismatch(result, reference, **params)
        if result.shape != (reference.num_vertices,):
            return f"result has shape {result.shape} instead of {(reference.num_vertices,)}"
        if len(result) and not 0 <= int(result.min()) <= int(result.max()) < len(result):
            return "a label is no id of a vertex"
        live = reference.live
        if live is not None and np.any(~live[result] & (live | (result != np.arange(len(result))))):
            return "labels are ids of deleted vertices"
        key = np.uint64(key_of(seed))
        rank, own = (mixed(ids.astype(np.uint64), key) for ids in (result, np.arange(len(result))))
        wrong = np.count_nonzero(modes(reference, rank, own, kept=rank) != rank)
        return f"{wrong} vertices have another label than most of their neighbours" if wrong else None

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark, for every graph the same: enough rounds that labels become stable."""
        return {"max_iter": 10_000}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pull at every vertex moves at least."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


def by_loops(graph: Graph) -> bool:
    """Return whether vertices of ``graph`` take turns in the loop of the CPU, whose labels are those of operators."""
    return not (graph.device.is_cuda or graph.directed or graph.partition is not None)


class Order(NamedTuple):
    """What decides, in a period, whose turn it is, and which of equally frequent labels a vertex takes.

    Attributes:
        salt: the key of hashes.
        apart: 1 if each vertex has an order of its own, else 0.
        bits: of the number of classes.
        wakes: whether the next period leaves out vertices that would keep their labels.
    """

    salt: int
    apart: int
    bits: int
    wakes: bool


#: arrays of the loop of the CPU: by vertex, up to ``queue``; ``starts``, by class; by lane, and ``state``
Scratch = namedtuple(
    "Scratch",
    "marks table touched turns active sorted wanted queue starts seen times vertex own worth best second state",
)


def rounds_of(number: int) -> int:
    """Return how many rounds period ``number`` has at most; the first ``APART`` periods have an order per vertex."""
    return 1 if number < APART else LONG if number == APART else ROUNDS


class TurnLoop:
    """The loop of the CPU over ``graph``, with its scratch; no vertex was visited yet."""

    def __init__(self, graph: Graph) -> None:
        view, n = plain_view(graph.view()), graph.num_vertices
        loops = loops_over(view, LOOPS)
        by_vertex = np.full(n, loops.QUEUED), np.zeros(n, np.int32), *np.empty((6, n + 1), np.uint32)
        seen, starts = np.full((loops.FEW, loops.LANES), loops.NO_LABEL), np.empty((1 << max(FIRST_BITS)) + 1, np.int64)
        by_lane = *np.empty((3, loops.LANES), np.uint32), *np.empty((3, loops.LANES), np.int64)
        self._scratch = Scratch._make((*by_vertex, starts, seen, *by_lane, np.zeros(5, np.int64)))
        self._loops, self._view = loops, view.data

    def take_turns(self, label: Array, order: Order, rounds: int) -> int:
        """Make up to ``rounds << order.bits`` sub-rounds; return how many were made."""
        return self._loops.take_turns(self._view, label, order, rounds, self._scratch)

    def end(self, label: Array, key: int) -> Array:
        """Make ranks of labels, in place; return the vertices with which the second part begins."""
        return self._scratch.active[: self._loops.end_turns(label, key, self._scratch)]


def modes(arcs: ArcTable, label: np.ndarray, alone: np.ndarray, kept: np.ndarray | None = None) -> np.ndarray:
    """Return the most frequent label among the neighbours of each vertex; for a vertex without neighbours ``alone[v]``.

    ``arcs`` are the edges, ``label`` the label of each vertex. Of several most frequent labels it is ``kept[v]`` if
    that is one of them (``kept`` None: no label is preferred), else the smallest.
    """
    result = alone.copy()
    if len(arcs.vertex):
        seen = np.sort(arcs.vertex.astype(np.uint64) << np.uint64(32) | label[arcs.neighbour].astype(np.uint64))
        first = np.flatnonzero(np.append(True, seen[1:] != seen[:-1]))
        vertex, found = (seen[first] >> np.uint64(32)).astype(np.int64), seen[first] & np.uint64(0xFFFFFFFF)
        votes = 2 * np.diff(np.append(first, len(seen)))  # a half more for the label that is kept if it is one of them
        if kept is not None:
            votes += found == kept[vertex]
        begin = np.flatnonzero(np.append(True, vertex[1:] != vertex[:-1]))
        most = np.repeat(np.maximum.reduceat(votes, begin), np.diff(np.append(begin, len(vertex))))
        best = np.flatnonzero(votes == most)[::-1]  # the first of each vertex, its smallest, is written last
        result[vertex[best]] = found[best]
    return result


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`LabelPropagation`, which registers it as a plugin."""
    return [LabelPropagation]
