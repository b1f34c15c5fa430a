"""How a graph is divided among ranks: who owns which vertices, the local graph of a rank, and what ranks exchange.

The owner of a vertex holds its out-edges and its in-edges. Owners have ranges of ids: rank ``r`` owns the vertices from
``bounds[r]`` on, below ``bounds[r + 1]``; new vertices go to the last rank. Once a rank holds over ``UNEVEN`` times the
mean number of arcs, the ranges are cut again by degrees.

Operators are run by the :attr:`Partition.local` graph, an ordinary graph over the local stores, and then exchange what
they wrote (``pushes``, ``pulls``, ``maps``).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base import errors
from suricate.base.errors import CommunicationError, RequirementError, SuricateError
from suricate.parallel import forest, maps, pulls, pushes
from suricate.parallel.arguments import REDUCE
from suricate.parallel.store import PartitionedStore
from suricate.state.scalar import Scalar
from suricate.state.words import Words

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.parallel.comm import Comm
    from suricate.repair.forest import Forest
    from suricate.store import Store

UNEVEN = 2  #: times the mean number of arcs that a rank may hold
FEW = 1 << 12  #: arcs of all ranks for which ranges are not cut again


class Partition:
    """The part of a graph that one rank holds, and its communication.

    Attributes:
        comm: the communication.
        bounds: ``int64[size + 1]``: where the ranges of the owners begin and end; the same on every rank.
        stores: what the graph has for stores.
        local: the graph of the arcs of this rank, with all vertices.
    """

    def __init__(self, graph: Graph, comm: Comm, options: Any, stores: tuple[Store, ...]) -> None:
        if stores[0].device.is_cuda:
            raise RequirementError("a graph of several processes runs on the CPU: pass device='cpu'")
        if options.edge_columns:
            raise RequirementError("a graph of several processes has no columns of edges")
        self.comm = comm
        count = stores[0].num_vertices
        agreed = comm.agree(
            (count, options.directed, str(options.weight_dtype), options.in_edges, options.backend.name)
        )
        mine = (count, options.directed, str(options.weight_dtype), options.in_edges, options.backend.name)
        self.together(
            None if mine == agreed else errors.ParameterError(f"rank 0 makes a graph of {agreed}, not {mine}")
        )
        self.bounds = np.linspace(0, count, comm.size + 1).astype(np.int64)
        self.stores = tuple(PartitionedStore(self, store) for store in stores)
        self.local: Graph = object.__new__(type(graph))
        self.local._assemble(options, stores)
        self._whole: tuple[int, Graph] | None = None
        self._graph = weakref.ref(graph)

    @property
    def graph(self) -> Graph:
        """The graph that is divided."""
        found = self._graph()
        assert found is not None
        return found

    # -- operators: see ``suricate.operators`` -------------------------------------------------------------------------

    advance, propagate = pushes.advance, pushes.propagate
    neighbor_reduce, converge = pulls.neighbor_reduce, pulls.converge
    vertex_map, edge_map = maps.vertex_map, maps.edge_map

    def repairs(self, words: Forest, graph: Graph) -> forest.Repairs:
        """Return what computes a forest on the graph."""
        return forest.Repairs(self, words, graph)

    # -- owners --------------------------------------------------------------------------------------------------------

    @property
    def low(self) -> int:
        """The first vertex that this rank owns."""
        return int(self.bounds[self.comm.rank])

    @property
    def high(self) -> int:
        """The vertex after the last that this rank owns."""
        return int(self.bounds[self.comm.rank + 1])

    def owned(self, ids: Array) -> Array:
        """Return the ids of ``ids`` that this rank owns, in their order."""
        return ids[(ids >= self.low) & (ids < self.high)]

    def resize(self, num_vertices: int) -> None:
        """Give the last rank the new vertices, or take removed ones from the end."""
        self.bounds = np.minimum(self.bounds, num_vertices)
        self.bounds[-1] = num_vertices

    def follow(self) -> Graph:
        """Return the local graph, brought up to the version of the graph."""
        mine, whole = self.local._updater, self.graph._updater
        if mine.version != whole.version or mine.num_vertices != whole.num_vertices:
            mine.version, mine.num_vertices, mine.live = whole.version, whole.num_vertices, whole.live
            mine._had_loops = whole.had_loops
            mine._count_arcs()
            self.local._columns = self.graph._columns
        return self.local

    def forget_views(self) -> None:
        """Drop what was made of stores that change."""
        self.local._views.clear()
        self._whole = None

    def even_out(self) -> None:
        """Cut the ranges again if a rank holds too many arcs; collective, after a change of the graph."""
        held = sum(store.local.num_edges for store in self.stores)
        parts = self.comm.allgather(held)
        if sum(parts) < FEW or max(parts) * self.comm.size <= UNEVEN * sum(parts):
            return
        weight = np.zeros(self.stores[0].num_vertices, np.int64)
        for store in self.stores:
            weight += store.degrees()
        bounds = self._cut(weight)
        if np.array_equal(bounds, self.bounds):
            return
        self.forget_views()
        edges = [store.edges() for store in self.stores]
        self.bounds = bounds
        for store, all_edges in zip(self.stores, edges, strict=True):
            store.take_rows(all_edges)
        self.follow()._updater._count_arcs()

    def _cut(self, weight: np.ndarray) -> np.ndarray:
        """Return bounds between which there is about as much weight each."""
        total = np.cumsum(weight)
        wanted = total[-1] * np.arange(1, self.comm.size) / self.comm.size
        return np.concatenate(([0], np.searchsorted(total, wanted, side="left") + 1, [len(weight)])).clip(
            0, len(weight)
        )

    def whole(self) -> Graph:
        """Return a graph of all edges, which every rank holds until the next change; collective."""
        version = self.graph.version
        if self._whole is None or self._whole[0] != version:
            options = self.local._options
            stores = options.make_stores(self.graph.num_vertices, self.graph.device)
            for store, part in zip(stores, self.stores, strict=True):
                store.insert(*part.edges())
            graph = object.__new__(type(self.graph))
            graph._assemble(options, stores)
            graph._updater.version, graph._updater.live = version, self.graph._updater.live
            graph._updater._had_loops = self.graph._updater.had_loops
            graph._updater._count_arcs()
            self._whole = version, graph
        return self._whole[1]

    # -- batches -------------------------------------------------------------------------------------------------------

    def gathered(self, edges: Any) -> Any:
        """Return a batch of which every rank has passed a part (None: nothing): all parts, in rank order."""
        parts: list[list[Any]] = []
        problem: Exception | None = None
        try:
            mine = None if edges is None or edges[0] is None else [_listed(column) for column in edges]
        except SuricateError as error:
            mine, problem = None, error
        self.together(problem)
        parts = [part for part in self.comm.gather("parts of a batch", mine) if part is not None]
        if not parts:
            return None
        columns = list(zip(*parts, strict=True))
        return tuple(_joined(column, [len(part[0]) for part in parts]) for column in columns)

    def together(self, problem: BaseException | None) -> None:
        """Raise on every rank what one of them has met, if any has; the first rank's."""
        found = self.comm.allgather(None if problem is None else (type(problem).__name__, str(problem)))
        if problem is not None:
            raise problem
        for rank, each in enumerate(found):
            if each is not None:
                kind = getattr(errors, each[0], CommunicationError)
                raise kind(f"rank {rank}: {each[1]}")

    # -- exchange ------------------------------------------------------------------------------------------------------

    def union(self, ids: Array) -> Array:
        """Return the ids that any rank has, ascending, each once."""
        return np.unique(np.concatenate(self.comm.allgatherv(np.ascontiguousarray(ids, np.uint32))))

    def joined(self, ids: Array) -> Array:
        """Return the ids that each rank has of those that it owns, ascending; they are distinct."""
        return np.concatenate(self.comm.allgatherv(np.sort(ids)))

    def share_rows(self, ids: Array | None, arrays: Sequence[Any]) -> None:
        """Give all ranks what the owner of each vertex has in ``arrays``.

        Args:
            ids: the vertices, ascending, each once, the same on every rank; None: all.
            arrays: arrays or ``Words``, an entry per vertex, written in place.
        """
        for array in arrays:
            data = array.data if isinstance(array, Words) else array
            if ids is None:
                self._share_ranges(data)
            elif len(ids):
                ends = np.searchsorted(ids, self.bounds)
                mine = ids[ends[self.comm.rank] : ends[self.comm.rank + 1]]
                data[ids] = np.concatenate(self.comm.allgatherv(data[mine]))

    def _share_ranges(self, data: Array) -> None:
        parts = self.comm.allgatherv(data[self.low : self.high])
        for low, part in zip(self.bounds, parts, strict=False):
            data[low : low + len(part)] = part

    def add_up(self, scalars: Sequence[Scalar]) -> None:
        """Make the total of each scalar that of all ranks, reduced in rank order."""
        for scalar in scalars:
            scalar.total[0] = REDUCE[scalar.op].reduce(np.concatenate(self.comm.allgatherv(scalar.total)))


def _listed(column: Any) -> Any:
    """Return a column of a batch as what can be gathered: an array, a list, a number or None."""
    if column is None or isinstance(column, (int, float, np.ndarray, np.number)):
        return column
    if isinstance(column, (list, tuple)):
        return list(column)
    return np.asarray(column)


def _joined(columns: Sequence[Any], lengths: list[int]) -> Any:
    """Return one column of several parts; a number stands for as many entries as its part has."""
    if all(column is None for column in columns):
        return None
    if any(isinstance(column, list) and any(isinstance(each, str) for each in column) for column in columns):
        return [each for column in columns for each in column]
    whole = [np.full(n, one) if np.ndim(one) == 0 else np.asarray(one) for one, n in zip(columns, lengths, strict=True)]
    kept = [part for part in whole if len(part)]
    return np.concatenate(kept) if kept else []
