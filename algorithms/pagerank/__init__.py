"""PageRank, from scratch and kept current, in the formulations of Meerkat and of Sahu's DF-P PageRank.

The ranks ``r`` sum to 1 and satisfy ``r = alpha P^T r + (alpha D + 1 - alpha) j``: ``P`` shares the rank of a vertex
among its out-edges in proportion to their weights, ``D`` is the rank of dangling vertices (whose out-edges weigh
nothing), and ``j`` is where jumps go, everywhere alike or by ``personalization``. This is NetworkX's definition, and
Meerkat's (Concessao et al.), who stop when the L1 norm of a step is below 1e-5. With ``self_loops=True`` every vertex
has exactly one self-loop, so nothing dangles: the formulation of Sahu ("Efficient GPU Implementation of Static and
Incrementally Expanding DF-P PageRank"), who stops when the L-infinity norm of a step is at most 1e-10.

After a batch (``method``):

==========  ============================================================================================================
"static"    computes from scratch
"nd"        passes over all vertices, from the old ranks (naive-dynamic)
"dt"        steps over what the ends of changed edges reach (dynamic traversal)
"df"        steps over the ends of changed edges and, growing, the out-neighbours of vertices whose share changed by
            more than ``frontier_tol``, relative to what they were last told (dynamic frontier)
"dfp"       the same, without vertices that changed by less than ``prune_tol`` (DF with pruning)
"auto"      "dfp" after batches so small that their effect fades near by, though not after more than 32 of them (on the
            CPU those count less whose last step is below ``tol / 8``); from scratch after batches of more than 1 % of
            the edges (on the CPU of 6 %, or where earlier ones took more steps); else "nd". Where the change of a
            whole pass falls slowly, as on grids and roads, it extrapolates (see ``steps.py``), which takes half the
            steps or less; on the CPU also where it falls like a geometric series (see ``extrapolation.py``)
==========  ============================================================================================================

The dynamic methods follow Sahu, where the printed algorithm is mended: flags of neighbours are set, the new rank is
what is compared, ranks of vertices that are left out are kept. They need in-edges, and the number of vertices as it
was, since another one changes all jumps, and no ``dangling``; otherwise "nd" takes their place. They keep the weight of
the jumps, and :attr:`PageRank.result` divides by the sum of the ranks, which is exact: for a given weight the solution
is a multiple of the ranks. After a step of more than a 16th of the vertices and edges a dynamic method goes on over all
of them, to half of the tolerances and extrapolated as by "auto": a pass looks at no flags, takes half the time or less
of a step over most vertices, and sets the sum of the ranks right, so that errors fade faster. On a CUDA device the
steps of a dynamic method are two loops without a wait, whole passes are one.

An approximation by design. With b = (tol + frontier_tol) * alpha / (1 - alpha), and the L1 norm, whole passes end at an
L1 distance of at most b from the exact ranks, dynamic methods of 3 b, and b more for each further batch since the last
whole pass, as ends of loops leave the last changes to be told. With the L-infinity norm ``tol`` counts num_vertices
times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suricate import hookimpl
from suricate.algorithms.pagerank.events import changed_arcs, event_state, fitted, kappa_of, limit_of, pushed, step_of
from suricate.algorithms.pagerank.parameters import ALPHA, TOL, Jumps, one_of, sums_up_loops, uniform
from suricate.algorithms.pagerank.passes import WholePasses, usable_weights
from suricate.algorithms.pagerank.reach import is_near, steps_until
from suricate.algorithms.pagerank.steps import (
    KAPPA,
    Local,
    is_reached,
    local,
    reach,
    undo_extrapolation,
    visit,
)
from suricate.algorithms.shared.convergence import MORE_STEPS, tolerance
from suricate.algorithms.shared.fixed_point import divided
from suricate.algorithms.shared.sums import Weighting
from suricate.algorithms.shared.vertex_values import optional_values
from suricate.base.parameters import dtype as one_dtype
from suricate.base.parameters import flag, integer, real
from suricate.cpu import threads
from suricate.errors import ParameterError
from suricate.graph.row_copies import copied_rows
from suricate.operators import Stop, converge, vertex_map
from suricate.operators.repeated import Repeated
from suricate.operators.results import Propagated
from suricate.operators.schemes import all_passes_scan
from suricate.plugins.algorithm import Algorithm, pull_bytes
from suricate.state.owned import owned, places, spread

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.plugins.step import Step
    from suricate.state.frontier import Frontier

METHODS = ("auto", "static", "nd", "dt", "df", "dfp")
SAHU = {"self_loops": True, "norm": "linf", "tol": 1e-10, "max_iter": 500}  #: the setting of Sahu's experiments
LOCAL = ("dt", "df", "dfp")
MOST_THREADS = 8  #: on the CPU, with which passes are not faster than pushing by one thread
NOTHING: tuple[np.ndarray, ...] = np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0)  #: no arcs
RENEWAL = 32  #: number of local updates after which "auto" passes over all vertices
CROWD = 16  #: dynamic methods go on over all vertices after a step that took more than 1 / CROWD of vertices and edges


class PageRank(WholePasses):
    """PageRank of all vertices: ranks that sum to 1, ``dtype[num_vertices]``.

    Args:
        alpha: probability of following an edge, in [0, 1).
        personalization: where jumps go, in any scale: a dict from vertex to a number (others: 0), or an array with an
            entry per vertex; None: everywhere alike. Vertices that are added to the graph later count as 0.
        tol: norm of a step's change at which the iteration stops; at least the rounding error of ``dtype``, with the
            L-infinity norm that divided by the number of vertices.
        max_iter: upper bound on the number of steps, at least 1; None: until ``tol`` is reached, or until the change of
            a step no longer falls, because only rounding is left.
        weighted: True uses edge weights, False ignores them; None uses them if the graph has any.
        norm: ``"l1"`` or ``"linf"``, of the change of a step.
        method: how ranks are updated after a batch; the module's docstring explains the names.
        self_loops: whether every vertex counts as having exactly one self-loop, of weight 1.
        equation: of Sahu's paper: 1 uses a self-loop's contribution from the step before, 2 (with ``self_loops``) sums
            it up exactly; None: 2 for ``"dfp"`` with self-loops, else 1.
        frontier_tol: relative change of a vertex's share above which its out-neighbours are recomputed; None: tol / 2,
            with the L-infinity norm 1e-6.
        prune_tol: relative change below which ``"dfp"`` drops a vertex from the active set; None: as ``frontier_tol``.
        dtype: ``"float64"`` or ``"float32"``.
        nstart: where a computation from scratch starts, in any scale: a dict (others: 0), or an array with an entry per
            vertex, numbers of at least 0; None: the same rank everywhere. It changes the number of steps only.
        dangling: where the rank of dangling vertices goes, as ``personalization``; None: where jumps go. With it "nd"
            is used in place of dynamic methods.

    Raises:
        ParameterError, UnknownNameError: a parameter is of the wrong type or out of range; ``dangling`` with
            ``self_loops``, where no vertex is dangling.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``personalization``, ``nstart`` or ``dangling`` does not fit the graph.
        WeightError: the graph has negative weights, or the weights of a vertex have no finite sum. On CUDA after a
            batch it is raised by :attr:`result`.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [2, 2], in_edges=True, device="cpu")
        >>> g.compute("pagerank").round(3).tolist()
        [0.213, 0.213, 0.574]
    """

    name = "pagerank"
    scale_free = True
    uses_weights = False
    suites = ("algorithms", "ablations", "crossover", "demo", "stream", "scaling")
    update_kind = "dynamic"
    recompute_share, recompute_share_on_cpu = 0.01, 0.06

    def __init__(  # noqa: PLR0913 - what a user may choose, by keyword
        self,
        alpha: float = ALPHA,
        personalization: Mapping[int, float] | Array | None = None,
        tol: float = TOL,
        max_iter: int | None = None,
        weighted: bool | None = None,
        norm: Literal["l1", "linf"] = "l1",
        method: Literal["auto", "static", "nd", "dt", "df", "dfp"] = "auto",
        self_loops: bool = False,
        equation: int | None = None,
        frontier_tol: float | None = None,
        prune_tol: float | None = None,
        dtype: Literal["float64", "float32"] = "float64",
        nstart: Mapping[int, float] | Array | None = None,
        dangling: Mapping[int, float] | Array | None = None,
    ) -> None:
        self.alpha = real("pagerank: alpha", alpha, low=0, high=1)
        self.jumps = Jumps(personalization, dangling)
        self.nstart = optional_values("pagerank: nstart", nstart, low=0)
        self.dtype = one_dtype("pagerank: dtype", dtype, ("float64", "float32"))
        self.max_iter = None if max_iter is None else integer("pagerank: max_iter", max_iter, low=1)
        self.weighting = Weighting("pagerank", weighted)
        self.norm = one_of("pagerank: norm", norm, ("l1", "linf"))
        if norm == "l1":
            self.tol = tolerance("pagerank: tol", tol, self.dtype)
        else:  # its floor depends on the number of vertices
            self.tol = real("pagerank: tol", tol, low=0, include_low=False)
        self.method = one_of("pagerank: method", method, METHODS)
        self.self_loops = flag("pagerank: self_loops", self_loops)
        if self.self_loops and self.jumps.apart:
            raise ParameterError("pagerank: dangling is about vertices without out-edges: self_loops=True leaves none")
        self.closed = sums_up_loops(equation, self.self_loops, self.method)
        told = self.tol / 2 if norm == "l1" else 1e-6
        self.frontier_tol = told if frontier_tol is None else real("pagerank: frontier_tol", frontier_tol, low=0)
        self.prune_tol = self.frontier_tol if prune_tol is None else real("pagerank: prune_tol", prune_tol, low=0)
        super().__init__()

    # -- after a batch -------------------------------------------------------------------------------------------------

    def update(self, graph: Graph, delta: Delta) -> None:
        """Update the ranks by the chosen :attr:`method`, or from scratch."""
        differs = delta.live_may_differ or graph.num_vertices > len(self._share)
        kinds = ("inserted", "deleted", "replaced") if self.weighting.applies(graph) else ("inserted", "deleted")
        placed = []
        for kind in kinds:  # on CUDA without arrays of them: whole passes need none
            part = delta.arcs(kind, placed=True)
            if part is not None and part.size:
                placed.append(part)
        method = self._chosen(graph, tuple(placed), differs=differs)
        if method == "static" or len(self._share) == 0 or not self._usable:
            self.compute(graph)
            return
        if self.method == "auto" and method == "nd" and self._push(graph, delta, placed, differs=differs):
            return
        if method in LOCAL and self._events is not None:
            self._announced, self._terms[KAPPA] = self._share.copy(), kappa_of(self._events)
        self._steps, self._loops, self._was_local, self._events = 0, [], method in LOCAL, None
        if differs:
            self._fit(graph)
        if method in LOCAL and self._announced is None:
            at, told = places(graph), owned(graph, self.dtype)
            told[at], self._announced = self._share[at], told
            self._terms[KAPPA : KAPPA + 1] = self._dangling.total * self.alpha + (1 - self.alpha)
        if method not in LOCAL and not (self._by_edges(graph) or self._local_updates):
            self._warm(graph, ())
            self._note_steps(graph, placed)
            return
        edges = tuple(arcs for arcs in map(delta.arcs, kinds) if arcs.size)
        if method not in LOCAL:
            self._warm(graph, edges)
            self._look(graph)
            self._note_steps(graph, placed)
        elif edges:
            self._relax(graph, method, self._refresh(graph, edges))

    def _push(self, graph: Graph, delta: Delta, placed: list[Any], *, differs: bool) -> bool:
        """Push the residuals of a batch in place of passes, if that is possible; return whether it was.

        ``placed`` are the arcs that changed; ``differs``: whether the set of live vertices has.
        """
        if not (self._may_push(graph, placed) and (not differs or self.jumps.are_alike)):
            return False
        weighted, arcs = self.weighting.applies(graph), NOTHING
        starts = self._events is None or self._events.share is not self._share
        if starts:
            if differs:
                self._fit(graph)
            self._rescale(graph, tuple(placed) if self._by_edges(graph) or self._local_updates else ())
            shares = self._share, self._inv, self._jump, self._spread
            self._events = event_state(graph, shares, self.alpha, usable_weights(self.dtype), weighted)
        else:
            arcs = changed_arcs(delta, weighted=weighted)
            if differs:
                (self._jump, self._spread), self._again = self.jumps.on(graph, self.dtype), Repeated(graph)
                self._events = fitted(self._events, graph.num_vertices, self._jump, self._spread)
                self._share, self._inv, self._after = self._events.share, self._events.inv, self._events.share.copy()
        self._local_updates, self._announced, self._loops, self._was_local = 1.0, None, [], False
        limit = limit_of(self.tol, self.frontier_tol, self.alpha, True) / 2  # as near as a computation mostly is
        self._steps = pushed(graph, self._events, arcs, limit)
        if self._steps < 0:
            self._events = None
            return False
        if graph.most_deleted:
            self._share *= graph.live_arrays.mask
        self._cut.clear()
        self._owes_passes = self._stalled = False
        if not starts:  # else the residual that passes have left was pushed, too
            self._pushes.updated(sum([part.size for part in placed]), 2 * self._steps)
        return True

    def _may_push(self, graph: Graph, placed: list[Any]) -> bool:
        """Return whether residuals may be pushed after a batch, which one thread does.

        Not if that took more than about half of the passes of a computation before, after no more changes.
        """
        is_alone = not graph.device.is_cuda and graph.partition is None and threads.limit() <= MOST_THREADS
        if not (is_alone and self.max_iter is None and self._has_residuals) or self._in_one_loop(graph):
            return False
        return not self._pushes.lose(sum([part.size for part in placed]))

    @property
    def _has_residuals(self) -> bool:
        return not (self.self_loops or self.jumps.apart or self.norm != "l1" or self.dtype != np.float64)

    def _note_steps(self, graph: Graph, placed: list[Any]) -> None:
        if not (graph.device.is_cuda or self._in_one_loop(graph)):  # where steps cost next to nothing
            self._starts.updated(sum([part.size for part in placed]), self.iterations)

    def _chosen(self, graph: Graph, edges: tuple[Any, ...], *, differs: bool) -> str:
        """Return the name of the method for a batch: ``"auto"`` and methods that do not apply are replaced.

        ``edges`` is a tuple of arcs: inserted, deleted, given another weight. ``differs``: whether the set of live
        vertices has changed.
        """
        method = self.method
        if method == "auto":
            if self.should_recompute(graph, None, *edges):
                return "static"
            is_local = self._local_updates < RENEWAL and not differs and self._is_local(graph, edges)
            if not (is_local or graph.device.is_cuda) and self._starts.lose(sum([part.size for part in edges])):
                self.recomputes(MORE_STEPS)
                return "static"
            method = "dfp" if is_local else "nd"
        needs_passes = differs or not graph.has_in_edges or self.jumps.apart
        return "nd" if method in LOCAL and needs_passes else method

    def _is_local(self, graph: Graph, edges: tuple[Any, ...]) -> bool:
        """Return whether the change of ranks caused by ``edges`` is likely to fade below ``tol`` near these edges.

        ``edges`` is a tuple of arcs: inserted, deleted, given another weight. This is estimated from their number; on
        the CPU, if sums are unweighted, also from the ranks of their sources.
        """
        n, arcs, size = graph.num_vertices, graph.most_arcs, sum([part.size for part in edges])
        bound = self.tol * (n if self.norm == "linf" else 1)
        if is_near(n, arcs, size, steps_until(bound, max(size, 1) / max(arcs, 1))):
            return True
        if graph.device.is_cuda or self.weighting.applies(graph) or not is_near(n, arcs, size, 0):
            return False
        return 2 * self.alpha * sum(float(self._share[part.src].sum()) for part in edges) <= self.tol

    def _fit(self, graph: Graph) -> None:
        """Adapt the state to a changed set of live vertices: deleted vertices have rank 0, new ones the mean rank."""
        n, known, xp = graph.num_vertices, len(self._share), graph.device.xp
        inv, rank = owned(graph, self.dtype, 1 if self.self_loops else -1), xp.full(n, 1 / n)
        at = places(graph)
        old = slice(at.start, min(at.stop, known)) if isinstance(at, slice) else at[at < known]
        inv[old], rank[old] = self._inv[old], (self._share[old] / abs(self._inv[old])) * (known / n)
        spread(graph, rank)
        start = uniform(graph)
        rank = rank * (start > 0)
        total = rank.sum()
        rank = xp.where(total > 0, divided(xp, rank, total), start)
        self._share, self._inv = rank.astype(self.dtype), inv
        self._share[at] = rank[at] * abs(inv[at])
        spread(graph, self._share)
        self._after, self._announced, self._local_updates = self._beside(graph), None, 0.0
        (self._jump, self._spread), self._again = self.jumps.on(graph, self.dtype), Repeated(graph)

    def event_step(self, graph: Graph) -> Step | str:
        """Return how ``suricate.replay`` keeps ranks within the bound of whole passes; a text says why it cannot.

        What it leaves to be told counts as one local update.
        """
        if not self._has_residuals:
            return "pagerank has a step with norm='l1' and dtype='float64' only, without self_loops and dangling"
        if self._events is None or self._events.share is not self._share:
            shares, weighted = (self._share, self._inv, self._jump, self._spread), self.weighting.applies(graph)
            self._events = event_state(graph, shares, self.alpha, usable_weights(self.dtype), weighted)
        self._announced, self._local_updates = self._share.copy(), 1.0
        self._terms[KAPPA] = kappa_of(self._events)
        return step_of(graph, self._events, limit_of(self.tol, self.frontier_tol, self.alpha, graph.directed))

    def _relax(self, graph: Graph, method: str, ends: Frontier) -> None:
        """Run the dynamic ``method`` in a loop on the device, starting from ``ends``, the ends of changed edges.

        After a round of too many active vertices, passes over all vertices take its place, which need not read which
        vertices are active.
        """
        paced = not (graph.device.is_cuda and all_passes_scan(graph, "in"))
        functions = local(method, self.weighting.applies(graph), self.self_loops, self.closed, paced)
        known = self._inv, self._jump, self._spread
        args = (self._share, self._after, self._announced, *known, self.alpha, self._terms, self._error)
        affected, most = self._reached(graph, ends) if method == "dt" else ends, self._most_steps
        loop = converge(
            graph, affected, functions.pull, args=args, reduce="sum", over="in", then=functions.relax,
            commit=functions.publish, wake="out", dtype="float64", max_steps=most,
            stop=Stop(until=(self._error, self.tol), most=(graph.num_vertices + graph.most_arcs) // CROWD),
        )  # fmt: skip
        self._loops += [loop]
        self._cut.note(loop, most)
        self._owes_passes = True
        if graph.device.is_cuda or loop.crowded:
            self._loops += [self._sweep(graph, functions, known, loop, paced=paced)]
            self._cut.note(self._loops[-1], most, after=loop)
        left = 1 if graph.device.is_cuda else 8 * self._error.read() / self.tol  # the change that was not passed on
        self._local_updates += min(1, max(1 / RENEWAL, left))

    def _sweep(
        self, graph: Graph, functions: Local, known: tuple[Any, ...], after: Propagated, *, paced: bool
    ) -> Propagated:
        """Make passes over all vertices if the loop ``after`` ended because too many vertices were active.

        Returns the outcome of the passes. ``functions`` are those of the method, ``known`` is the tuple of inverse
        weights, jumps and their stride. With ``paced``, passes whose changes fall slowly are extrapolated.
        """
        pace, last_pace, next_pace = self._sweep_paces
        args = (self._share, self._announced, *known, self._terms, self._kept, self._error, pace, next_pace)
        swap = (self._share, self._announced), (pace, next_pace)
        with copied_rows(graph):
            swept = self._again.passes(
                functions.pull, args=args, then=functions.sweep, dtype="float64", max_steps=self._most_steps,
                stop=Stop(until=(self._error, self.tol / 2)), swap=swap, after=after,
            )  # fmt: skip
        if paced:
            self._again.vertex_map(undo_extrapolation, args=(self._share, self._announced, pace, last_pace))
            self._sweep_paces = last_pace, pace, next_pace
        return swept

    def _reached(self, graph: Graph, ends: Frontier) -> Frontier:
        """Return the vertices that can be reached from ``ends`` along out-edges."""
        if self._mark is None or len(self._mark) < graph.num_vertices:
            self._mark, self._epoch = graph.device.xp.zeros(graph.num_vertices, np.uint32), 0
        self._epoch += 1
        args = (self._mark, self._epoch)
        converge(graph, ends, reach, args=args, reduce="max", over="in", then=visit, wake="out")
        return vertex_map(graph, None, is_reached, args=args)

    @property
    def touched(self) -> int | None:
        """Number of vertices computed in the steps of the last update; None if it made passes over all vertices."""
        return sum(loop.touched for loop in self._loops) if self._was_local and self._loops else None

    # -- benchmark (verification: _pagerank_reference) -----------------------------------------------------------------

    @classmethod
    def variants(cls) -> Mapping[str, Mapping[str, Any]]:
        """Return a dict by name of the five methods, each with the parameters of Sahu's experiments."""
        return {method: {**SAHU, "method": method} for method in METHODS if method != "auto"}

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark, for every graph the same: a tolerance of 1e-6."""
        return {"tol": 1e-6}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pull per step of the last computation or update moves at least."""
        one = pull_bytes(graph.num_vertices, graph.num_edges, self.dtype.itemsize, self.weighting.bytes_per_edge(graph))
        return self.iterations * one


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`PageRank`, which registers it as a plugin."""
    return [PageRank]
