"""A store whose rows are divided among ranks: each has its rows in a store of a backend; outcomes are combined.

Batches are the same on every rank: see ``changes``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import module_of
from suricate.base.errors import CheckFailed, RequirementError
from suricate.base.types import Adjacency, EdgeList, Outcome, StoreView
from suricate.intake.arrays import bits, picked
from suricate.placement import changes
from suricate.store import Store, prepared_resize

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.placement.placement import Placement


class PartitionedStore(Store):
    """The store of a divided graph: ``local``, a store of any backend, holds the rows of this rank.

    Rows of other ranks are read from the ranks that hold them; such calls are collective. ``guard`` is not used.
    """

    def __init__(self, part: Placement, local: Store) -> None:
        self.part, self.local = part, local
        self.num_vertices, self.device, self.weight_dtype = local.num_vertices, local.device, local.weight_dtype
        self.memory_limit = local.memory_limit
        self.name = local.name  # type: ignore[misc]
        self._count, self._loops = 0, 0  # arcs and self-loops of all ranks
        self._held: int | None = 0  # arcs of this rank, None: to be read
        self._kept = part.ownership.ranges  # the rows that ``local`` keeps

    def _mine(self, edges: EdgeList) -> tuple[Array, EdgeList]:
        """Return the positions in ``edges`` of those that this rank holds, and these edges."""
        at = self.part.xp.flatnonzero(self.part.owns(edges.src))
        return at, picked(edges, at)

    def _merged(self, size: int, at: Array, values: Array) -> Array:
        whole = self.part.xp.zeros(size, values.dtype)
        whole[at] = values
        return self.part.comm.merged(whole)

    def _weights_of_all(self, weight: Array, call: str) -> list[Array]:
        """Return one array per rank: weights of its edges or, if edges have columns, their rows here; collective."""
        table = self.part.table
        return self.part.comm.allgatherv(weight) if table is None else table.rows_of_all(weight, call)

    # -- changes -------------------------------------------------------------------------------------------------------

    def plan(self, num_edges: int) -> None:
        """Choose the backend's options that were left open, for ``num_edges`` edges of all ranks; not collective."""
        self.local.plan(num_edges)

    def reserve(self, num_edges: int) -> None:
        """Reserve memory for ``num_edges`` edges on every rank; if one lacks it, raise on all. Collective."""
        with self.part.comm.alike():
            self.local.reserve(num_edges)

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges, the same on all ranks, each rank those that it holds; return the outcome of all. Collective."""
        (outcome,) = changes.change(self.part, (self,), None, EdgeList(src, dst, weight))[1:]
        assert outcome is not None
        return outcome

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges, the same on all ranks, each rank those that it holds; return the outcome of all. Collective."""
        (outcome,) = changes.change(self.part, (self,), EdgeList(src, dst), None)[:1]
        assert outcome is not None
        return outcome

    @property
    def held(self) -> int:
        """Number of arcs of this rank; not collective."""
        self.part.count_arcs()
        if self._held is None:
            self._held = self.local.num_edges
        return self._held

    def note(self, arcs: int, loops: int, own: int) -> None:
        """Add a change to the counts of arcs and self-loops of all ranks, and of this rank's ``own`` arcs."""
        self._count += arcs
        self._loops += loops
        self._held = None if self._held is None else self._held + own

    def moved(self) -> None:
        """Forget how many arcs this rank holds, after rows have moved between ranks; :attr:`held` counts them again."""
        self._held, self._kept = None, self.part.ownership.ranges

    def delete_vertices(self, vertices: Array) -> None:
        """Delete the rows of vertices, ``uint32[k]``, on every rank; collective."""
        if self.part.table is not None:
            self.part.table.leave(self.local.adjacency(vertices).weight)
            self.part.table.keep_answers()
        self.part.count_arcs()
        with self.part.comm.alike():
            self.local.delete_vertices(vertices)
        self._held, self.part.held = self.local.num_edges, None
        held = self.part.comm.allgather((self._held, self.local.num_loops()))
        self._count, self._loops = (sum(each) for each in zip(*held, strict=True))

    def resize(self, num_vertices: int) -> None:
        """Change the number of vertices on every rank; if one lacks memory, on none, and raise on all. Collective."""
        self.resizing(num_vertices)()

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Prepare :meth:`resize` on every rank; if one lacks memory, raise on all. Collective, as what it returns."""
        rows = self.part.resized(num_vertices).ranges
        with self.part.comm.alike():
            return partial(self._resize, num_vertices, rows, prepared_resize(self.local, num_vertices))

    def _resize(self, num_vertices: int, rows: Array, resize: Callable[[], None]) -> None:
        before, kept = self.local.num_vertices, self._kept
        try:
            with self.part.comm.alike():
                resize()
                self.local.keep_rows(np.concatenate((kept, rows)))
        except Exception:  # memory for the rows lacks, or a backend does not prepare it
            if self.local.num_vertices != before:
                self.local.resize(before)
            self.local.keep_rows(kept)
            raise
        self.local.keep_rows(rows)
        self._kept, self.num_vertices = rows, num_vertices
        self.part.resize(num_vertices)

    def compact(self) -> None:
        """Compact the stores of all ranks; collective."""
        with self.part.comm.alike():
            self.local.compact()

    def mark(self) -> None:
        """Start recording insertions for :meth:`updated` on every rank; collective."""
        with self.part.comm.alike():
            self.local.mark()

    # -- questions -----------------------------------------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Number of arcs of all ranks; not collective."""
        self.part.count_arcs()
        return self._count

    def num_loops(self) -> int:
        """Return the number of self-loops of all ranks; not collective."""
        self.part.count_arcs()
        return self._loops

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called."""
        return self.local.has_mark

    def edges(self) -> EdgeList:
        """Return the edges of all ranks, ordered by source; collective."""
        edges = self._gathered(self.local.edges(), "edges")
        return edges if self.part.ownership.is_ranges else picked(edges, self.part.xp.argsort(edges.src, kind="stable"))

    def updated(self) -> EdgeList:
        """Return the edges of all ranks inserted since the mark; collective."""
        return self._gathered(self.local.updated(), "updated")

    def _gathered(self, edges: EdgeList, call: str) -> EdgeList:
        if self.part.table is None or edges.weight is None:
            return edges.each(self.part.comm.joined)
        weight = self.part.xp.concatenate(self._weights_of_all(edges.weight, f"{call} {id(self)}"))
        return EdgeList(self.part.comm.joined(edges.src), self.part.comm.joined(edges.dst), weight)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return which edges are stored, ``bool[n]``, and their weights, None without weights; collective.

        All ranks pass the same edges, and get the whole answer. If edges have columns, the weights are row numbers on
        this rank. They are unspecified for edges that are not stored.
        """
        self.part.comm.same({"src": src, "dst": dst})
        at, mine = self._mine(EdgeList(src, dst))
        found, weight = self.local.find(mine.src, mine.dst)
        there = self._merged(len(src), at, found.astype(np.uint8)).astype(bool)
        if self.weight_dtype is None or weight is None:
            return there, None
        if self.part.table is not None:
            return there, changes.rows_of_batch(self, src, at, weight, there, "find")
        return there, self._merged(len(src), at, bits(weight)).view(self.weight_dtype)

    def degrees(self) -> Array:
        """Return the out-degrees of all vertices, from the ranks that own them; collective."""
        degrees = self.local.degrees().copy()
        self.part.share(degrees)
        return degrees

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k]), from the ranks that hold them; collective."""
        self.part.comm.same({"vertices": vertices})
        offsets, dst, weight = self.local.adjacency(vertices)
        xp, parts = self.part.xp, self.part.comm.allgatherv(offsets[1:] - offsets[:-1])
        total = xp.zeros(len(vertices) + 1, np.int64)
        total[1:] = xp.cumsum(sum(parts))
        owner = self.part.owner_of(vertices)
        dst = self._placed(self.part.comm.allgatherv(dst), parts, total, owner)
        if weight is not None:
            weight = self._placed(self._weights_of_all(weight, f"adjacency {id(self)}"), parts, total, owner)
        return Adjacency(total, dst, weight)

    def _placed(self, columns: list[Array], counts: list[Array], offsets: Array, owner: Array) -> Array:
        """Return entries of rows, which each rank has sent for the rows it owns, in the order of the request."""
        made = self.part.xp.empty(int(offsets[-1]), columns[0].dtype)
        for rank, (part, count) in enumerate(zip(columns, counts, strict=True)):
            mine = owner == rank
            made[places_of_rows(offsets[:-1][mine], count[mine])] = part
        return made

    def view(self) -> StoreView:
        """Raise ``RequirementError``: no rank holds all edges."""
        raise RequirementError(
            "this walks the storage of a graph whose edges are divided among processes: use operators, or kernels=False"
        )

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return the bytes used and allocated by the local store, for each of its parts by name."""
        return self.local.memory()

    def copy_to(self, device: Device) -> Store:
        """Raise ``RequirementError``: a graph copies the stores of its ranks."""
        raise RequirementError("the store of one process cannot be copied: copy the graph")

    def of_copy(self, part: Placement, local: Store) -> PartitionedStore:
        """Return the store of a copy of the graph: ``part`` divides the copy, ``local`` is the copied local store."""
        self.part.count_arcs()
        other = PartitionedStore(part, local)
        other._count, other._loops, other._held = self._count, self._loops, self._held
        return other

    def options(self) -> dict[str, Any]:
        """Return the options of the local store."""
        return self.local.options()

    def check(self) -> None:
        """Verify the local store, and that it holds rows of this rank only; collective, raises ``CheckFailed``."""
        with self.part.comm.alike():
            self.local.check()
            kept = self.local.kept_rows
            if kept is not None and not np.array_equal(kept, self.part.ownership.ranges):
                raise CheckFailed(f"rank {self.part.comm.rank} keeps rows of other vertices than those that it owns")
            degrees = self.local.degrees()
            if outside := int(degrees.sum()) - int(degrees[self.part.own].sum()):
                raise CheckFailed(f"rank {self.part.comm.rank} holds {outside} arcs of other ranks")


def places_of_rows(starts: Array, counts: Array) -> Array:
    """Return the concatenated ranges ``starts[i]`` to ``starts[i] + counts[i]`` (exclusive), ``int64``."""
    xp = module_of(starts)
    ends = xp.cumsum(counts)
    at = xp.arange(int(ends[-1]) if len(ends) else 0)
    row = xp.searchsorted(ends, at, side="right")
    return at + (starts - ends + counts)[row]
