"""PageRank's passes over all vertices: the computation from scratch, warm starts, and when they end."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.pagerank.extrapolation import SeriesExtrapolation, StepExtrapolation, extrapolate
from suricate.algorithms.pagerank.parameters import started, uniform
from suricate.algorithms.pagerank.reference import VerifiedRanks
from suricate.algorithms.pagerank.steps import (
    FRESH,
    GIVEN_UP,
    anyone,
    by_degree,
    by_degree_of_all,
    by_degree_with_loop,
    dangle,
    factor_of,
    measure,
    normalise,
    passes,
    undo_extrapolation,
)
from suricate.algorithms.shared.convergence import CutLoops, Progress, WarmStarts, demand_floor
from suricate.algorithms.shared.fixed_point import divided
from suricate.algorithms.shared.sums import Weighting
from suricate.errors import ConvergenceError, ParameterError, WeightError
from suricate.graph.row_copies import copied_rows
from suricate.operators import Stop, advance, converge, iterate, neighbor_reduce, vertex_map
from suricate.operators.repeated import Repeated
from suricate.operators.results import Propagated
from suricate.operators.schemes import all_passes_scan
from suricate.state.owned import owned, places, spread, summed, swapped

if TYPE_CHECKING:
    from suricate.algorithms.pagerank.parameters import Jumps
    from suricate.algorithms.shared.vertex_values import VertexValues
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.state.frontier import Frontier


SMALL = 1 << 13  #: vertices and arcs up to which the calls of a step on the CPU take longer than the step itself


class WholePasses(VerifiedRanks):
    """PageRank's state, and its passes over all vertices; the parameters are those of :class:`PageRank`."""

    alpha: float
    jumps: Jumps
    nstart: VertexValues | None
    tol: float
    max_iter: int | None
    norm: str
    method: str
    self_loops: bool
    closed: bool
    frontier_tol: float
    prune_tol: float
    dtype: np.dtype
    weighting: Weighting

    def __init__(self) -> None:
        self._starts, self._pushes = WarmStarts(), WarmStarts()
        self._events: Any = None  # the state of loops over single events, until a batch or a computation
        self._share: Array = None  # and other arrays: see _pagerank_steps
        self._error: Any = None  # and other scalars
        self._usable = True  # as far as somebody has looked
        self._steps: int = 0
        self._loops: list[Propagated] = []  # of the last computation or update, besides ``_steps``
        self._was_local = False  # whether the last update iterated over affected vertices only
        self._graph: Graph | None = None  # the one computed on
        self._cut = CutLoops()  # since the last passes over all vertices began, these included
        self._owes_passes = False  # if a loop was cut short: whether more passes are made when the result is read
        self._stalled = False  # whether whole passes ended because they did not progress

    # -- from scratch --------------------------------------------------------------------------------------------------

    def compute(self, graph: Graph) -> None:
        """Iterate from ``nstart``, by default from the same rank at every live vertex."""
        self.weighting.demand(graph)
        n = graph.num_vertices
        self.jumps.check(n, grown=self._share is not None)
        if self.norm == "linf":
            demand_floor("pagerank: tol", self.tol, self.tol, float(np.finfo(self.dtype).eps) / max(n, 1), self.dtype)
        self._graph, self._events = graph, None
        self._cut.clear()
        self._start(graph)
        self._share = self._first(graph).astype(self.dtype, copy=False)
        self._inv, self._announced = owned(graph, self.dtype, -1), None
        self._after = self._beside(graph)
        self._loops, self._steps, self._local_updates, self._was_local = [], 0, 0.0, False
        if n == 0:
            return
        self._weigh_all(graph)
        self._iterate(graph)
        self._look(graph)
        if not graph.device.is_cuda:
            self._starts.computed(self.iterations)
            self._pushes.computed(self.iterations)

    def _beside(self, graph: Graph) -> Array:
        """Return an array for the shares after a step, which neighbours read only after they have changed places."""
        return owned(graph, self.dtype) if graph.has_in_edges else graph.device.xp.empty_like(self._share)

    def _first(self, graph: Graph) -> Array:
        """Return the ranks that a computation starts from, ``float64[n]``: ``nstart``, or equal at live vertices."""
        if self.nstart is None or graph.num_vertices == 0:
            return uniform(graph)
        start = self.nstart.on_host(graph.num_vertices, grown=self._share is not None)
        if not start.any():
            raise ParameterError("pagerank: nstart is 0 at every vertex")
        return started(graph, graph.device.xp.asarray(start))

    def _start(self, graph: Graph) -> None:
        """Compute the arrays and scalars that depend on the graph but not on the ranks."""
        weighted = self.weighting.applies(graph)
        self._passes = passes(weighted, self.self_loops, self.closed, self.jumps.apart, *usable_weights(self.dtype))
        if self._error is None or self._error.device != graph.device:
            self._error = graph.scalar("sum" if self.norm == "l1" else "max", "float64")
            self._dangling, self._mass = graph.scalar("sum", "float64"), graph.scalar("sum", "float64")
            self._kept = graph.scalar("sum", "float64")
            self._sweep_paces = tuple(graph.device.xp.full(1, FRESH) for _ in range(3))
        self._pace, self._next_pace = (graph.device.xp.full(1, FRESH) for _ in range(2))  # of steps in one loop
        self._host_pace = StepExtrapolation(self.alpha)  # of others
        self._epoch, self._mark, self._again = 0, None, Repeated(graph)
        numbers = [0, self.alpha, factor_of(self.alpha), self.frontier_tol, self.prune_tol]
        self._terms = graph.device.xp.asarray(numbers, np.float64)  # of local steps
        self._jump, self._spread = self.jumps.on(graph, self.dtype)

    def _weigh_all(self, graph: Graph) -> None:
        """Set ``_inv``, one over the sum of out-weights, at all vertices.

        Also adds up the ranks of dangling vertices in ``_dangling``.
        """
        state = (self._share, self._inv)
        if not self._by_edges(graph):
            self._again.vertex_map(by_degree_of_all, args=(graph, *state, self._dangling))
            return
        if self.weighting.applies(graph):
            neighbor_reduce(
                graph, None, self._passes.weight, args=state, reduce="sum", dtype="float64", then=self._passes.weigh
            )
        else:
            self._count_edges(graph, None)
        self._again.vertex_map(dangle, args=(*state, self._dangling))

    def _by_edges(self, graph: Graph) -> bool:
        """Return whether sums of out-weights must be computed from the edges, because they are not simply degrees."""
        return self.self_loops or self.weighting.applies(graph)

    def _count_edges(self, graph: Graph, vertices: Any) -> Frontier:
        """Set ``_inv`` at ``vertices`` by their degrees, as edges weigh 1; return the vertices without repeats."""
        count = by_degree_with_loop if self.self_loops else by_degree
        return vertex_map(graph, vertices, count, args=(graph, self._share, self._inv))

    def _iterate(self, graph: Graph) -> None:
        """Make steps over all vertices until a step changes at most ``tol``, ``max_iter`` is reached, or they stall."""
        self._local_updates, self._announced = 0.0, None
        self._cut.clear()
        paced = self.method == "auto" and graph.has_in_edges
        progress = Progress(self.alpha, self.max_iter)
        if self._in_one_loop(graph):
            scans = graph.device.is_cuda and all_passes_scan(graph, "in")
            self._loop_over_all(graph, progress, paced=paced and not scans)
            return
        if graph.device.is_cuda:
            self._repeat_steps(graph, progress)
        else:
            with copied_rows(graph):
                self._step_and_extrapolate(graph, progress, paced=paced)
        self._owes_passes, self._stalled = False, progress.stalled
        self._cut.note(Propagated.of(self._steps, 0, not self._error.read() > self.tol), 0)

    def _in_one_loop(self, graph: Graph) -> bool:
        """Return whether all steps are one call: on CUDA, and of graphs so small that steps take less than calls."""
        if not graph.has_in_edges or graph.device.is_cuda:
            return graph.has_in_edges
        return graph.partition is None and graph.most_arcs + graph.num_vertices <= SMALL

    def _repeat_steps(self, graph: Graph, progress: Progress) -> None:
        """Make steps until one changes at most ``tol``, or ``progress`` finds that more are of no use.

        The steps are made several at once by the operator ``iterate``, which waits for their end.
        """
        until, change, done = (self._error, self.tol), math.inf, 0
        while change > self.tol and not (done and progress.ends(done, change)):
            most = min(progress.limit - done, progress.at_once)
            done += iterate(self._step(graph), until=until, max_steps=most, swap=((self._share, self._after),))
            change = self._error.read()
        self._steps += done

    def _step_and_extrapolate(self, graph: Graph, progress: Progress, *, paced: bool) -> None:
        """Make steps one by one on the CPU, reading the change of each, until one changes at most ``tol``.

        They also end if ``progress`` finds that more are of no use.
        ``paced``: steps whose changes fall slowly may be extrapolated.
        """
        step, fast_step = self._step(graph), self._step(graph, is_fast=True) if paced else None
        at, summing = (places(graph), partial(summed, graph)) if graph.has_in_edges else (slice(None), list)
        series = SeriesExtrapolation(self.tol, summing) if self.method == "auto" else None
        pace, change, done = self._host_pace, 0.0, 0
        while True:
            dangling = self._dangling.read()
            (fast_step if fast_step and pace.quickens(change) else step)()
            done += 1
            self._share, self._after = swapped(graph, self._share, self._after)
            change = self._error.read()
            if not change > self.tol or progress.ends(done, change):
                break
            share, before = self._share[at], self._after[at]
            weight = series.weight(change, share, before, plain=not pace.is_fast) if series else 0.0
            if weight:
                extrapolate(share, before, weight)
                self._share[at] = share
                spread(graph, self._share)
                self._dangling.set(self._dangling.read() + weight * (self._dangling.read() - dangling))
                pace.restart()
        if pace.is_fast:  # what the last step started from is within tol
            self._share, self._after = swapped(graph, self._share, self._after)
        pace.restart()
        self._steps += done

    def _loop_over_all(self, graph: Graph, progress: Progress, *, paced: bool) -> None:
        """Make the steps in one launch without waiting; if they do not suffice, reading the result makes more.

        ``progress`` limits their number. ``paced``: steps whose changes fall slowly may be extrapolated.
        """
        finish, args = self._passes.finish, self._state
        swap: tuple[Any, ...] = ((self._share, self._after),)
        if paced:
            finish, args = self._passes.finish_paced, (*args, self._pace, self._next_pace)
            swap = (*swap, (self._pace, self._next_pace))
        most = min(progress.limit, progress.at_once)
        loop = self._again.passes(
            self._passes.pull, args=args, then=finish, dtype="float64", max_steps=most,
            stop=Stop(until=(self._error, self.tol)), swap=swap,
        )  # fmt: skip
        self._loops += [loop]
        self._cut.note(loop, most)
        self._owes_passes = most < progress.limit
        if paced:
            if graph.device.is_cuda or self._pace[0] < 0:  # else nothing was extrapolated, and the pace begins anew
                self._again.vertex_map(undo_extrapolation, args=(self._share, self._after, self._pace, self._next_pace))
                self._pace, self._next_pace = self._next_pace, self._pace
            elif self._pace[0] != GIVEN_UP:
                self._pace[0] = FRESH

    def _continue(self, graph: Graph) -> None:
        """Make more passes over all vertices after a loop was ended by its limit of steps; waits for the device."""
        progress, done = Progress(self.alpha, self.max_iter), 0
        self._owes_passes, self._stalled = True, False
        while self._owes_passes:
            self._warm(graph, ())
            if self._in_one_loop(graph):
                done, change = done + self._loops[-1].steps, self._error.read()
                if not change > self.tol or progress.ends(done, change):
                    self._owes_passes, self._stalled = False, progress.stalled

    @property
    def _state(self) -> tuple[Any, ...]:
        """The arguments of all functions of a step, in their order.

        They are the shares before and after the step, the inverse weights, the jumps and their stride, ``alpha``, and
        two scalars: the norm of the change, and the rank of dangling vertices.
        """
        return (
            self._share, self._after, self._inv, self._jump, self._spread, self.alpha, self._error, self._dangling,
        )  # fmt: skip

    def _step(self, graph: Graph, *, is_fast: bool = False) -> Any:
        """Return a function without parameters: a step from ``_share`` to ``_after``, extrapolated if ``is_fast``."""
        functions = self._passes
        if graph.has_in_edges:
            then = functions.finish_fast if is_fast else functions.finish
            return lambda: neighbor_reduce(
                graph, None, functions.pull, args=self._state, reduce="sum", over="in", then=then, dtype="float64"
            )
        pushed = graph.device.xp.zeros(len(self._share))

        def step() -> None:
            advance(graph, None, functions.pull, out=pushed, args=self._state[:1], reduce="sum")
            vertex_map(graph, None, functions.finish_pushed, args=(pushed, *self._state))

        return step

    def _refresh(self, graph: Graph, edges: tuple[Any, ...]) -> Frontier:
        """Recompute the sums of out-weights at the ends of ``edges`` (a tuple of arc lists); return each end once."""
        if not self.weighting.applies(graph):
            return self._count_edges(graph, edges)
        ends = vertex_map(graph, edges, anyone)
        converge(
            graph, ends, self._passes.weight, args=(self._share, self._inv), reduce="sum", over="out",
            then=self._passes.weigh, wake=None, dtype="float64", max_steps=1,
        )  # fmt: skip
        return ends

    def _warm(self, graph: Graph, edges: tuple[Any, ...]) -> None:
        """Iterate over all vertices from the previous ranks, after ``edges``, a tuple of arc lists, changed.

        ``edges`` may be empty if nothing has changed, or if the sum of out-weights of a vertex is its degree: then the
        degrees of all vertices are read again.
        """
        self._rescale(graph, edges)
        self._iterate(graph)

    def _rescale(self, graph: Graph, edges: tuple[Any, ...]) -> None:
        """Adapt shares and the rank of dangling vertices to ``edges``, as for :meth:`_warm`; ranks are scaled to 1."""
        state = (self._share, self._inv)
        if edges:
            self._refresh(graph, edges)
        if self._local_updates:  # which do not keep the sum of the ranks
            self._again.vertex_map(measure, args=(*state, self._mass))
            self._again.vertex_map(normalise, args=(*state, self._mass, self._dangling))
        elif self._by_edges(graph):
            self._again.vertex_map(dangle, args=(*state, self._dangling))
        else:
            self._again.vertex_map(by_degree_of_all, args=(graph, *state, self._dangling))

    # -- results -------------------------------------------------------------------------------------------------------

    @property
    def result(self) -> ReturnedArray:
        """The current ranks in a new array, ``dtype[num_vertices]``; waits for the device.

        If ``max_iter`` ended a loop since the last passes over all vertices, reading makes such passes first.
        """
        if not len(self._share):
            return self._share.copy()
        assert self._graph is not None
        if not self._is_usable():
            raise self._why_unusable(self._graph)
        if self._owes_passes and self._cut.found():
            self._continue(self._graph)
        ranks = self._own_ranks(self._graph)
        if self._graph.partition is not None:
            mine, ranks = ranks, self._graph.device.xp.empty_like(self._share)
            ranks[places(self._graph)] = mine
            spread(self._graph, ranks)
        if not self.converged:
            self._raise_unconverged(ranks)
        return ranks

    def of_own(self, graph: Graph) -> ReturnedArray | None:
        """Return the ranks of this process's vertices in a new array, without those of others; None: read the result.

        Whether more passes are needed, or ranks cannot be used, is found out by reading the result.
        """
        if graph.partition is None or not (len(self._share) and self._is_usable() and self.converged):
            return None
        return self._own_ranks(graph)

    def _own_ranks(self, graph: Graph) -> Array:
        """Return the ranks of this process's vertices; collective."""
        at, xp = places(graph), graph.device.xp
        ranks = self._share[at] / abs(self._inv[at])
        total = ranks.sum()
        return divided(xp, ranks, total if graph.partition is None else xp.asarray(summed(graph, [total])[0]))

    @property
    def converged(self) -> bool:
        """Whether the ranks are within the bound that the docstring of the package states; waits for the device.

        It is False after ``max_iter`` has ended a loop: reading :attr:`result` then makes more passes, or raises.
        """
        return not self._cut.found() or (not self._owes_passes and self._error.read() <= self.tol)

    def _raise_unconverged(self, ranks: Array) -> None:
        change = float(self._error.read())
        reason = (
            f"pagerank: the change of a step no longer falls: it is {change:.3g}, above tol={self.tol:g}: raise tol"
            if self._stalled
            else f"pagerank: no convergence to tol={self.tol:g} within {self.max_iter} steps, the last one changed "
            f"{change:.3g}: raise max_iter or tol"
        )
        raise ConvergenceError(reason, result=ranks, change=change)

    @property
    def _most_steps(self) -> int:
        """The largest number of steps of one loop of an update."""
        progress = Progress(self.alpha, self.max_iter)
        return min(progress.limit, progress.at_once)

    @property
    def iterations(self) -> int:  # type: ignore[override]
        """Steps that the last computation or update took; waits for the device."""
        return self._steps + sum(loop.steps for loop in self._loops)

    def _look(self, graph: Graph) -> None:
        """Raise ``WeightError`` if the weights of ``graph``, if any, make the ranks unusable; waits."""
        if self.weighting.applies(graph) and not self._is_usable() and self.jumps.lost(graph) is None:
            raise self._why_unusable(graph)

    def _is_usable(self) -> bool:
        """Return whether all ranks are finite numbers; waits for the device."""
        self._usable = not len(self._share) or math.isfinite(float(self._share.sum()))
        return self._usable

    def _why_unusable(self, graph: Graph) -> Exception:
        if (name := self.jumps.lost(graph)) is not None:
            return ParameterError(f"pagerank: {name} has no live vertex: there is nowhere to jump to")
        return WeightError("pagerank: a vertex has a negative weight, or weights whose sum is too large or too small")


def usable_weights(dtype: np.dtype) -> tuple[float, float]:
    """Return the least and the largest sum of out-weights for which shares in ``dtype`` are precise enough.

    A share is a rank divided by the sum, rounded to a multiple of the smallest subnormal number. Multiplied by weights,
    these errors add up to less than the rounding error of the ranks, for as many vertices as a graph can have.
    """
    info = np.finfo(dtype)
    return float(info.tiny), float(info.eps) / (2.0**32 * float(info.smallest_subnormal))
