"""Communities by modularity, connected and kept current: Leiden's method, and Louvain's.

Traag, Waltman and van Eck, *From Louvain to Leiden: guaranteeing well-connected communities* (2019); Blondel et al.,
*Fast unfolding of communities in large networks* (2008). Vertices move to the community of neighbours where the
modularity gains most; communities are then divided into connected parts, which are the vertices of the next level, and
move in turn, and so on. In a sub-round all vertices of one class, given by a hash, move at once by the state before it:
so the communities depend on the graph and the seed only, not on threads, storage, device or processes. (With one class
neighbours exchange places for ever.) Totals are sums of multiples of one power of two, exact in any order. At the end
communities that are not connected are divided, and single vertices move until none gains.

After a change the ends of the changed edges move, and the neighbours of those that did; communities that lost an edge
or a member inside are searched, side by side from all ends, and divided if they are not connected any more. On
sliding windows of real messages that alone loses a tenth of the modularity, while no vertex could gain by a move:
communities that were joined are never divided again. So when the changes since then add up to ``pass_share`` of all
weight, one iteration refines all communities from the present labels. It is taken only if the modularity gains more
than ``pass_gain`` of itself. Between such passes labels outside of what moved stay.

Such iterations do not leave a division that was good once: where other communities come with time, the modularity
falls behind by three percent, however small the batches, and further passes gain nothing. So when the changes add up
to half of all weight, communities are found from single vertices, and take the names of those before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.leiden.levels import CYCLES, CYCLES_OF_LEVEL, Communities
from suricate.algorithms.leiden.weighed import Weighed
from suricate.algorithms.shared.hash import key_of
from suricate.base.devices import total
from suricate.base.html import result_html
from suricate.base.parameters import flag, integer, real
from suricate.base.types import EMPTY
from suricate.intake.arrays import on_host
from suricate.plugins.algorithm import LARGE, Algorithm, Requirements, pull_bytes

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

STEP = 0x9E3779B97F4A7C15  #: between the keys of iterations
TIMES, PASSES = 3, 3  #: changes by that many times ``pass_share`` are followed by so many passes, while these are taken
RESTART = 0.5  #: changes by that share of all weight are followed by a pass from single vertices
FEWEST = 2.0**40  #: units in the sum of all weights; right after a computation there are at least 2^44


class LeidenResult(NamedTuple):
    """``label`` is uint32[n], an id below n that the vertices of a community share; EMPTY at deleted vertices.

    ``num_communities`` is their number, an int, ``quality`` the modularity, a float. ``levels`` is None, or, if asked
    for, ``uint32[k, n]``: the labels after each level of the last computation from scratch.
    """

    label: ReturnedArray
    num_communities: int
    quality: float
    levels: ReturnedArray | None = None

    def _repr_html_(self) -> str:
        return result_html(self)


class Leiden(Algorithm):
    """Communities of high modularity, each connected, of an undirected graph; a :class:`LeidenResult`.

    From scratch, O(m) per level and cycle of moves. An update moves the ends of changed edges and what they wake,
    searches communities that may have been divided (the work is that of all parts but the largest), and now and then
    makes a pass over the graph, see ``pass_share``. Labels last: a community keeps its label as long as vertices of it
    stay together, also through a pass. On CUDA and divided graphs an update waits for the device, and to find divided
    communities takes a pass over all edges. The CPU uses one core.

    Weights count if the graph has them; self-loops as in NetworkX, twice in the strength of their vertex. Results of
    updates depend on the history; their quality stays within 1 % of a computation from scratch, on average. A
    computation from scratch with ``stable`` ends when no vertex gains 1e-9 by a move, to another community or alone.

    Args:
        resolution: above 1: smaller communities, below 1: larger ones.
        seed: determines the classes in which vertices move.
        refine: False: Louvain's method, whose communities may be disconnected.
        stable: False: leave out the last moves of single vertices.
        max_iter: iterations of a computation from scratch; None: 2, without ``refine`` 1.
        levels: whether the result has the labels of all levels.
        pass_share: share of the weight of all edges whose change is followed by a pass.
        pass_gain: share of the modularity that a pass must gain to be taken.
        kernels: False: by operators only, also on the CPU; the labels are the same.

    Attributes:
        passes: how many passes there were since the computation, and how many of them were taken.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: a directed graph.
        WeightError: an edge has a negative weight, or the largest weight is above 1e285 or below 1e-270 (of float32
            1e-27).

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3], directed=False, device="cpu")
        >>> g.compute("leiden").num_communities
        2
    """

    name = "leiden"
    requires = Requirements(undirected=True)
    update_kind = "repair"
    scale_free = True
    groups = "label"
    suites = ("algorithms", "quality")
    recompute_share = 0.5
    quality_within = 0.02

    def __init__(
        self,
        resolution: float = 1.0,
        seed: int = 0,
        refine: bool = True,
        stable: bool = True,
        max_iter: int | None = None,
        levels: bool = False,
        pass_share: float = 0.03,
        pass_gain: float = 0.001,
        kernels: bool = True,
    ) -> None:
        label = self.name
        self.resolution = real(f"{label}: resolution", resolution, low=0)
        self.key = key_of(integer(f"{label}: seed", seed))
        self.refine, self.stable = flag(f"{label}: refine", refine), flag(f"{label}: stable", stable)
        most = 1 + self.refine if max_iter is None else max_iter
        self.max_iter = integer(f"{label}: max_iter", most, low=1)
        self.keeps_levels, self.kernels = flag(f"{label}: levels", levels), flag(f"{label}: kernels", kernels)
        self.pass_share = real(f"{label}: pass_share", pass_share, low=0)
        self.pass_gain = real(f"{label}: pass_gain", pass_gain, low=0)
        self.passes = 0, 0
        self._found: Communities = None  # type: ignore[assignment]
        self._levels: list[Array] = []
        self._changed = 0.0  # weight, since the last pass
        self._drift = 0.0  # weight that has changed since communities were found from single vertices

    def compute(self, graph: Graph) -> None:
        """Compute from scratch: at first each vertex is alone."""
        found = Communities(graph, self.resolution, self.key, self.kernels)
        with found.copied():
            found.weigh()
            self._found, self.passes, self._changed, self._drift, self._levels = found, (0, 0), 0.0, 0.0, []
            self._climb(0, self._levels if self.keeps_levels else None)
            self._finish()
        if self.keeps_levels and not self._levels:
            self._levels.append(found.base.label.copy())

    def _climb(self, first: int, levels: list[Array] | None = None) -> None:
        """Make the iterations of a computation, the first of which has the number ``first``."""
        found, best = self._found, -math.inf
        cycles = CYCLES_OF_LEVEL if self.refine and self.max_iter > 1 else CYCLES
        for number in range(first, first + self.max_iter if found.whole > 0 else 0):
            found.climb(self.refine, self._key_of(number), levels, cycles)
            if self.max_iter > 2 and found.quality() <= best:
                return
            best = found.quality() if self.max_iter > 2 else best

    def _key_of(self, number: int) -> int:
        return (self.key + STEP * (number + 1)) & ((1 << 63) - 1)

    def _finish(self) -> None:
        """Divide communities that are not connected, and let single vertices move, until there is nothing to do."""
        found = self._found
        if self.refine:
            found.split()
        while self.stable and found.whole > 0:
            found.end_moves()
            if not self.refine or not len(found.split()):
                return

    def update(self, graph: Graph, delta: Delta) -> None:
        """Move the ends of changed edges and what they wake, divide communities, and make a pass if one is due."""
        found, size = self._found, delta.num_deleted + delta.num_inserted
        large = size > self.recompute_share * graph.num_arcs  # edges are counted by a pass where there are self-loops
        if (large and size > 2 * self.recompute_share * graph.num_edges) or found.whole <= 0:
            self.recomputes(LARGE)  # by exact numbers, as labels are those of other devices
            self.compute(graph)
            return
        ends, cut, changed = found.follow(graph, delta)
        self._changed, self._drift = self._changed + changed, self._drift + changed
        weighted = graph.weight_dtype is not None
        if found.whole >= found.unit * 2.0**53 or (weighted and found.whole < found.unit * FEWEST):
            self.recomputes("the unit of the sums of weights is too small or too large for them now")
            self.compute(graph)
            return
        found.repair(ends, cut, self.refine)
        share = 2 * self._changed / found.whole if found.whole > 0 else 0.0
        if share > self.pass_share:
            for _ in range(PASSES if share > TIMES * self.pass_share else 1):
                if not self._pass(graph):
                    break

    def _pass(self, graph: Graph) -> bool:
        """Make an iteration from the present labels; undo it if the modularity does not gain enough.

        After many changes make all iterations of a computation instead. Return whether another iteration may gain.
        """
        found, self._changed = self._found, 0.0
        (tried, taken), restarts = self.passes, 2 * self._drift > RESTART * found.whole
        before = found.base.label.copy(), found.total.copy(), found.count.copy(), found.quality(), found.inside
        with found.copied():
            if restarts:
                self._drift = 0.0
                found.weigh(found.unit)
                self._climb(self.max_iter + tried)
            else:
                found.climb(self.refine, self._key_of(self.max_iter + tried))
            if self.refine:
                found.split()
        worth = found.quality() > before[3] + self.pass_gain * abs(before[3])
        if not worth:
            found.base.label, found.total, found.count, _, found.inside = before
        elif restarts:
            found.name_after(before[0])
        self.passes = tried + 1, taken + worth
        return worth and not restarts

    def state(self) -> dict[str, Array]:
        """Return labels, and what decides about the next pass, by name."""
        marks = np.array([self._found.unit, self._changed, *self.passes, self._drift])
        levels = {"levels": self._stacked()} if self.keeps_levels else {}
        return {"label": self._found.base.label, "marks": marks, **levels}

    def restore(self, graph: Graph, state: Mapping[str, Array]) -> None:
        """Continue from the arrays that :meth:`state` returned."""
        unit, self._changed, tried, taken, self._drift = on_host(state["marks"]).tolist()
        self.passes, self._levels = (int(tried), int(taken)), [one.copy() for one in state.get("levels", ())]
        self._found = Communities(graph, self.resolution, self.key, self.kernels)
        with self._found.copied():
            self._found.weigh(unit)
        self._found.take(state["label"])

    @property
    def result(self) -> LeidenResult:
        """The current communities; the quality is computed by a pass over all edges on CUDA. Waits for the device."""
        found = self._found
        live = found.base.size > 0
        xp = found.base.graph.device.xp
        label = xp.where(live, found.base.label, np.uint32(EMPTY))
        levels = xp.where(live, self._stacked(), np.uint32(EMPTY)) if self.keeps_levels else None
        return LeidenResult(label, total(found.count != 0), found.quality(), levels)

    def _stacked(self) -> Array:
        """Return the labels of all levels, those of vertices that came later their ids."""
        base = self._found.base
        xp, known = base.graph.device.xp, len(self._levels[0])
        stacked = xp.stack(self._levels)
        more = xp.broadcast_to(base.own[known:], (len(stacked), len(base.own) - known))
        return xp.concatenate((stacked, more), axis=1)

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
        live: np.ndarray | None = None,
        **_: Any,
    ) -> Any:
        """Return the arcs, :class:`Weighed`, with which :meth:`mismatch` checks communities."""
        live = np.ones(num_vertices, bool) if live is None else live
        return Weighed(src, dst, np.ones(len(src)) if weight is None else weight.astype(np.float64), live)

    @classmethod
    def mismatch(
        cls, result: Any, reference: Any, *, resolution: float = 1.0, refine: bool = True, **params: Any
    ) -> str | None:
        """Return what is wrong with a result, or None: its labels, connection, number of communities or quality.

        Whether vertices could gain by a move is not looked at: after an update some may.
        """
        label, live = result.label, reference.live
        if label.shape != live.shape:
            return f"label has shape {label.shape} instead of {live.shape}"
        if np.any(label[~live] != EMPTY) or np.any(label[live] >= len(live)) or not np.all(live[label[live]]):
            return "labels are no ids of live vertices, or deleted vertices have one"
        count = len(np.unique(label[live]))
        if count != result.num_communities:
            return f"num_communities is {result.num_communities}, there are {count}"
        pieces = reference.pieces(label) - np.count_nonzero(~live)
        if refine and pieces != count:
            return f"{count} communities are in {pieces} pieces"
        right = reference.modularity(label, resolution)
        return None if abs(right - result.quality) <= 1e-9 else f"quality is {result.quality} instead of {right}"

    @classmethod
    def quality(cls, result: Any, graph: Graph, *, resolution: float = 1.0, **params: Any) -> float:
        """Return the modularity of a result on ``graph``, computed from its edges by NumPy."""
        host = graph.device.to_numpy
        arcs = graph.store("out").edges()
        weight = None if arcs.weight is None else host(arcs.weight)
        weighed = cls.reference(
            host(arcs.src), host(arcs.dst), weight, graph.num_vertices, False, live=host(graph.live)
        )
        return float(weighed.modularity(host(result.label), resolution))

    @classmethod
    def gains(cls, result: Any, reference: Any, *, resolution: float = 1.0, **params: Any) -> float:
        """Return what a vertex gains at most by a move to another community, or alone; ``reference()`` has the arcs."""
        return float(reference.best_gain(result.label, resolution))

    @classmethod
    def variants(cls) -> Mapping[str, Mapping[str, Any]]:
        """Return sets of parameters for the benchmark's suite of methods."""
        return {"leiden": {}, "without the last moves": {"stable": False}, "louvain": {"refine": False}}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pull at every vertex moves at least."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this package, :class:`Leiden`, which registers it as a plugin."""
    return [Leiden]
