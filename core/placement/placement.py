"""How a graph is divided among ranks: who owns which vertices, and the local graph of a rank.

The owner of a vertex holds its out-edges and its in-edges. What is loaded at once has owners by ranges of ids, and new
vertices by blocks (``ownership``). Once a rank holds over ``UNEVEN`` times the mean number of arcs, all vertices are
divided into ranges again, by degrees.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suricate.graph.edge_columns.weighing import ROWS, in_rows, seen_by, with_weights
from suricate.intake.arrays import as_ids, by_owner, on_host
from suricate.operators.call import driver_of
from suricate.placement.batches import joined_batch
from suricate.placement.changes import DividedUpdater, GatheredEdges
from suricate.placement.clock import AgreedClock
from suricate.placement.edge_columns import DividedTable
from suricate.placement.own_arrays import OwnArrays, pieces_of, places
from suricate.placement.ownership import Ownership
from suricate.placement.ranges import SLICE, arcs_within, cut, first_bounds, move_rows
from suricate.placement.small_copies import Download, Shown
from suricate.placement.split import PartCounts
from suricate.placement.store import PartitionedStore, places_of_rows
from suricate.plugins.clock import clock_on
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.base.types import EdgeList, ValidEdges
    from suricate.comm.protocol import Comm
    from suricate.cuda.pinned import PinnedCounters
    from suricate.graph import Graph
    from suricate.placement.results import Tally
    from suricate.state.edge_table import Kind
    from suricate.store import Store

UNEVEN = 1.5  #: times the mean number of arcs that a rank may hold
FEW = 1 << 12  #: arcs of all ranks for which ranges are not cut again
GROWN = 1.25  #: times what cutting has reached: rows of a hub cannot be divided, and ranges are not cut at every batch


class Placement:
    """The part of a graph that one rank holds, and its communication.

    Attributes:
        comm: the communication.
        xp: NumPy or CuPy.
        memory_limit: bytes; determines the slices in which data comes from other ranks. None: no limit.
        table: the columns of this rank's edges; None: the graph has no edge columns.
        held: number of arcs of each rank, of all its stores; None: not known.
        own_arrays: arrays by vertex of which a rank keeps its own entries.
        refused: whether a batch was refused for want of memory, so that stores may have reserved more than they need.
        stores: the stores of the divided graph.
        local: a graph of all vertices and the arcs of this rank.
    """

    def __init__(
        self, graph: Graph, comm: Comm, options: Any, make: Callable[..., tuple[Store, ...]], hints: Any, count: int
    ) -> None:
        self.comm = comm
        comm.same(
            {
                "num_vertices": count, "backend": options.backend.name, "directed": options.directed,
                "weight_dtype": str(options.weight_dtype), "in_edges": options.in_edges,
                "self_loops": options.self_loops,
                "edge_columns": {name: [str(kind.dtype), kind.missing] for name, kind in options.edge_columns.items()},
            }
        )  # fmt: skip
        with comm.alike():
            expected = [None if one is None else on_host(as_ids(one, "hints of degrees")) for one in hints]
        self._owners = [Ownership(comm.rank, comm.agree(first_bounds(count, comm.size, expected)))]
        self._earlier = self.ownership  # before vertices came or went last
        with comm.alike():
            local = make(*(None if one is None else self._of_owner(one) for one in expected), self.ownership.ranges)
        self.xp = local[0].device.xp
        self.stores = tuple(PartitionedStore(self, store) for store in local)
        self.memory_limit = options.memory_limit
        self.local: Graph = object.__new__(type(graph))
        self.local._assemble(options, local)
        self._degrees: tuple[int, Array] | None = None
        self._reached = 0.0  # times the mean that the heaviest rank held after ranges were cut, or since
        self._graph = weakref.ref(graph)
        self._own: tuple[Ownership, Frontier] | None = None
        self.own_arrays = OwnArrays()
        self.table: DividedTable | None = None
        self.held: list[int] | None = None
        self.refused = False
        self.arriving: PinnedCounters | None = None  # counts of the last batch
        self.download = Download(local[0].device)  #: copies small arrays to the host
        self.shown = Shown(local[0].device)  #: shows small arrays of the host to kernels
        self._part_counts: PartCounts | None = None
        self._tally: Tally | None = None  # of the last batch, until it is counted,
        self._uneven_by: Tally | None = None  # and until ranges are cut again, or need not be: the same on all ranks
        self._weighed: list[Placement] = []  # of the graph with columns of edges for weights

    @property
    def graph(self) -> Graph:
        """The graph that is divided."""
        found = self._graph()
        assert found is not None
        return found

    def edge_table(self, device: Device, kinds: Mapping[str, Kind]) -> DividedTable:
        """Make, store and return the table of the edge columns ``kinds`` of this rank's edges, on ``device``."""
        self.table = self.local.edge_table = DividedTable(self, device, kinds)
        self.local._shown = with_weights(self.local._stores, self.table)
        return self.table

    def weighed(self, seen: Graph, name: str | None) -> Self:
        """Return the placement of ``seen``, a view of this graph weighted by the edge column ``name`` (None: not)."""
        other = copy.copy(self)
        other._graph = weakref.ref(seen)
        other.local = in_rows(self.local) if name == ROWS else seen_by(self.local, name)
        other.stores = seen._stores  # type: ignore[assignment] # these, with other weights
        other._own, other._weighed, other._tally, other._uneven_by = None, [], None, None
        self._weighed.append(other)
        return other

    def copy_to(self, graph: Graph, device: Device) -> tuple[tuple[Store, ...], Self]:
        """Return the stores and the placement of ``graph``, a copy that is being made on ``device``; collective."""
        self.comm.same({"device": device.kind})
        other = copy.copy(self)
        other.local, other._graph, other._owners = object.__new__(type(graph)), weakref.ref(graph), [self.ownership]
        with self.comm.alike():
            local = tuple(store.local.copy_to(device) for store in self.stores)
            other.local._assemble(self.local.options, local)
        other.xp, other.table, other._weighed, other._own, other._degrees = device.xp, None, [], None, None
        other.own_arrays = OwnArrays()
        other.download, other.shown = Download(device), Shown(device)
        other.arriving = other._tally = other._uneven_by = other._part_counts = None
        other.stores = tuple(store.of_copy(other, one) for store, one in zip(self.stores, local, strict=True))
        return other.stores, other

    def updater(self, *given: Any) -> DividedUpdater:
        """Return the object that applies batches; ``given`` are the arguments of ``Updater`` after the stores."""
        return DividedUpdater(self, *given)

    def clock(self) -> AgreedClock:
        """Return a clock whose measurements are the same on every rank: those of rank 0."""
        return AgreedClock(self.comm, clock_on(self.stores[0].device))

    # -- owners --------------------------------------------------------------------------------------------------------

    @property
    def ownership(self) -> Ownership:
        """Who owns which vertices now; replaced by another object when vertices come or go, or move between ranks."""
        return self._owners[0]

    @ownership.setter
    def ownership(self, ownership: Ownership) -> None:
        self._owners[0] = ownership

    @property
    def holds_both(self) -> bool:
        """Whether each edge is held by the owners of both its ends."""
        return len(self.stores) > 1 or not self.graph.directed

    @property
    def own(self) -> Array:
        """The vertices that this rank owns, ascending, ``uint32[k]``."""
        return self.own_frontier.vertices

    @property
    def own_frontier(self) -> Frontier:
        """All vertices that this rank owns, as a frontier of the local graph: no others have edges there."""
        owned = self.ownership
        if self._own is None or self._own[0] is not owned:
            if owned.is_ranges:
                self._own = owned, Frontier._of_rows(self.local, owned.low, owned.high)
            else:
                ids = self.xp.asarray(owned.own)
                self._own = owned, Frontier._of(self.local.device, ids, num_vertices=owned.num_vertices)
        return self._own[1]

    def _of_owner(self, values: Array) -> Array:
        """Return ``values``, one per vertex on the host, with 0 for vertices of other ranks."""
        return np.where(self.owns(np.arange(len(values))), values, 0)

    def owner_of(self, ids: Array) -> Array:
        """Return the rank that owns each of ``ids``."""
        return self.ownership.owner(ids)

    def owned(self, ids: Array) -> Array:
        """Return those of ``ids`` that this rank owns, in their order."""
        return ids[self.owns(ids)]

    def owns(self, ids: Array) -> Array:
        """Return the mask of those of ``ids`` that this rank owns."""
        return self.ownership.owns(ids)

    def by_owner(self, ids: Array, values: Array) -> list[Array]:
        """Split ``values``, an entry for each of the ascending ``ids``, into one array per owner."""
        if self.ownership.is_ranges:  # then ids have the order of their owners
            cuts = self.xp.searchsorted(ids.astype(np.int64), self.xp.asarray(self.ownership.bounds[1:-1]))
            return [values[low:high] for low, high in pairwise([0, *on_host(cuts).tolist(), len(ids)])]
        order, spans = by_owner(self.owner_of(ids), self.comm.size)
        return [values[order[low:high]] for low, high in spans]

    def in_order(self, ids: Array, found: Array, lengths: Array | None = None) -> Array:
        """Return ``found``, what the owners of the ascending ``ids`` have for them, rank by rank, in the order of ids.

        ``lengths``: of the row in ``found`` of each of ``ids``; None: each has one entry.
        """
        if self.ownership.is_ranges:
            return found
        order = self.xp.argsort(self.owner_of(ids).astype(np.uint16), kind="stable")
        if lengths is not None:
            order = places_of_rows((self.xp.cumsum(lengths) - lengths)[order], lengths[order])
        made = self.xp.empty_like(found)
        made[order] = found
        return made

    def share(self, array: Array) -> None:
        """Copy the entries of ``array``, by vertex (of the first ``len(array)``), of each owner to all; collective."""
        owned = self.ownership
        if owned.is_ranges:
            self.comm.share(array, owned.bounds)
            return
        order, own = owned.in_rank_order(self.xp), self.own
        if len(array) < owned.num_vertices:
            order, own = order[order < len(array)], own[own < len(array)]
        array[order] = self.comm.joined(array[own])

    def own_array(self, dtype: np.dtype, fill: float | None) -> Array:
        """Return a new array by vertex of which this rank keeps its own entries, all ``fill``, or None: anything."""
        return self.own_arrays.make(self.local.device, self.ownership, dtype, fill)

    def own_places(self) -> Any:
        """Return what selects this rank's entries of an array by vertex: a slice or, where it has blocks, ids."""
        return places(self.ownership, self.xp) if self.ownership.is_ranges else self.own

    def is_own(self, array: Any) -> bool:
        """Return whether each rank keeps its own entries of ``array`` only."""
        return array in self.own_arrays

    def swap_own(self, a: Array, b: Array) -> None:
        """Exchange the entries of this rank in two arrays by vertex; then share those that are whole. Collective."""
        at = self.own_places()
        for piece in pieces_of(at):
            a[piece], b[piece] = b[piece].copy(), a[piece].copy()
        for array in (a, b):
            if not self.is_own(array):
                self.share(array)

    def ahead(self, num_vertices: int) -> Ownership:
        """Return the ownership of at least ``num_vertices`` vertices, as :meth:`resize` would make it; collective."""
        owned = self.ownership
        return owned if num_vertices <= owned.num_vertices else owned.resized(num_vertices, self._held_by_all())

    def resized(self, num_vertices: int) -> Ownership:
        """Return the ownership of ``num_vertices`` vertices, as :meth:`resize` would make it; collective."""
        owned = self.ownership
        if num_vertices == owned.num_vertices:
            return owned
        held, earlier = self._held_by_all(), self._earlier
        if num_vertices == earlier.num_vertices and not sum(held):
            return earlier  # if a change is undone, stores that did not change have its rows
        return owned.resized(num_vertices, held)

    def resize(self, num_vertices: int) -> None:
        """Give new vertices, up to ``num_vertices``, to ranks that hold little; or remove the last ones. Collective."""
        before = self.ownership
        if num_vertices != before.num_vertices:
            self.ownership, self._earlier = self.resized(num_vertices), before
            if len(self.ownership.moved(before).begin):
                self.own_arrays.divided()

    def follow(self) -> Graph:
        """Return the local graph, after copying the version and the number of vertices of the divided graph to it."""
        if self.local.device.is_cuda:
            driver_of(self.local).by_host()
        mine, whole = self.local._updater, self.graph._updater
        if mine.version != whole.version or mine.num_vertices != whole.num_vertices:
            mine.version, mine.num_vertices = whole.version, whole.num_vertices
            mine._had_loops = whole.had_loops
            mine.count_arcs()
        self.local._columns = self.graph._columns
        return self.local

    def forget_views(self) -> None:
        """Drop cached views of stores, which are about to change."""
        for part in (self, *self._weighed):
            part.local._views.clear()
            part._degrees = None

    def note(self, tally: Tally) -> None:
        """Store ``tally``, how many arcs a batch changed; read it at once, if on a device in :meth:`count_arcs`."""
        self._tally = self._uneven_by = tally
        if isinstance(tally.counts, np.ndarray):
            self.count_arcs()

    def count_arcs(self) -> None:
        """Add to the counts of arcs how many the last batch changed, for which this waits; only once per batch."""
        if self._tally is not None:
            self._tally.note(self)
            self._tally = None  # not before: the wait may be interrupted

    def count_parts(self, parts: Sequence[EdgeList | None]) -> PartCounts:
        """Call :meth:`count_arcs`; return how many edges of ``parts``, of this rank's batch, each rank owns; waits."""
        if self._part_counts is None:
            self._part_counts = PartCounts(self.stores[0].device, self.comm.size)
        self._part_counts.begin(parts, self.ownership)
        self.count_arcs()  # those of the batch before have come by now
        self.comm.wait(self._part_counts.has_arrived)
        return self._part_counts

    def even_out(self) -> None:
        """Divide the vertices again and move rows if a rank holds too many arcs after the last batch; collective."""
        tally, self._uneven_by = self._uneven_by, None
        if tally is None:
            return
        if self._tally is not None and tally.stays_below(max(UNEVEN, GROWN * self._reached), FEW):
            self._note_reached(tally.before)
            return
        held = self._held_by_all()
        most, mean = max(held), sum(held) / self.comm.size
        if sum(held) < FEW or most <= max(UNEVEN, GROWN * self._reached) * mean:
            self._note_reached(held)
            return
        bounds, reached = cut([store.local.degrees() for store in self.stores], self.comm.size, self.comm)
        self._reached = most / mean
        if reached >= most:
            return
        self.forget_views()
        most = min(self.comm.allgather(arcs_within(self.memory_limit, SLICE)))
        divided = Ownership(self.comm.rank, bounds)
        if move_rows(tuple(store.local for store in self.stores), self.comm, self.ownership, divided, self.table, most):
            self.ownership, self._reached = divided, reached / mean
            self.own_arrays.divided()
            self.held = None
            for store in self.stores:
                store.moved()
            self.follow()._updater.count_arcs()

    def _held_by_all(self) -> list[int]:
        """Return how many arcs each rank holds after the last batch; collective if that is not known."""
        self.count_arcs()
        if self.held is None:
            self.held = self.comm.allgather(sum(store.held for store in self.stores))
        return self.held

    def _note_reached(self, held: list[int]) -> None:
        self._reached = min(self._reached, max(held) / max(sum(held) / len(held), 1))

    def degrees(self) -> Array:
        """Return the out-degrees of all vertices, ``uint32[n]``, cached until the graph changes; collective."""
        if self._degrees is None or self._degrees[0] != self.graph.version:
            self._degrees = self.graph.version, self.stores[0].degrees()
        return self._degrees[1]

    def joined_batch(self, delete: Any, insert: Any, parts: tuple[int, int]) -> list[Any]:
        """Return ``[edges to delete, edges to insert]`` of all ranks; this rank passes ``delete`` and ``insert``.

        None stands for no edges. ``parts``: what messages call the two; see ``joined_batch`` in ``placement.batches``.
        """
        self.download.at = 0
        if self.table is not None:
            self.table.begin()
        return joined_batch(self.comm, self.graph, delete, insert, parts)

    def known(self, edges: ValidEdges) -> GatheredEdges | None:
        """Wrap ``edges``, which every rank has on its device and has checked, as a batch to apply; None: no edges."""
        return GatheredEdges(*edges) if len(edges.src) else None

    def parts_of(self, src: Array, dst: Array) -> tuple[tuple[Array, Array], slice]:
        """Concatenate ``src`` and ``dst`` of all ranks, in rank order; return both, and the slice of this rank."""
        counts = self.comm.allgather(len(src))
        end = sum(counts[: self.comm.rank + 1])
        src, dst = (self.comm.joined(ids.astype(np.int64, copy=False)) for ids in (src, dst))
        return (src, dst), slice(end - counts[self.comm.rank], end)
