"""The slabs of a store in plain integers: how many are free, what a batch can need, and how to get more of them.

Slabs never run out inside a kernel: before a batch the host reserves as many as any such batch can need. It knows a
lower bound of the free ones, and reads the device's counters only when that does not suffice. Then, in this order: a
growing store on CUDA is sized again for batches to come; free slabs are listed for reuse; the pool grows geometrically;
or the batch is counted exactly and the pool grows by what it really needs.

Nothing here holds an array or calls a kernel: the steps are methods of the store's ``Supply``, the argument ``do``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from suricate.backends.slabhash.layout import BUMP, DENIED, FREED, LISTED, TAKEN, TOUCHED

if TYPE_CHECKING:
    from suricate.backends.slabhash.supply import Supply

FEW = 1 << 12  # edges of a small batch, at most
MIN_SLABS = 64  # least growth of a pool
SLACK = 32  # an exactly counted pool is made 1 / SLACK larger
BULK_LOAD = 2  # edges per vertex from which on a first batch is taken for all of a graph
COUNTED_FROM = 1 << 15  # edges of such a batch from which on its slabs are counted; fewer take some more of them
BULK_SHARE = 32  # a batch of this share of the edges is large for a store ...
BATCHES_AHEAD = 16  # ... which is then sized for this many more of them,
EDGES_AHEAD = 1 << 24  # but for no more than this many edges, or half as many again
POLL_AFTER = 16  # batches without polling the counters, which also say what rehashing lacks
HOLES = 4  # the CPU repacks a pool that has to grow and has a free slab among each ``HOLES`` slabs in use
FREELY = 16  #: a pool that is not copied grows by such a share of its slabs without a count of those it needs,
LISTED_FROM = 32  #: unless one in so many slabs is free, but not listed
DELETIONS_PER_SLAB = 4  # deleted edges that pay for a slab to be trimmed ...
TRIM_SHARE = 16  # of the free slabs that trimming on CUDA may take at a time
LOOSE_SHARE = 8  #: deletions of such a share of the slots in use are worth a look at the size of the pool,
LOOSE = 1.25  #: which is too large if it has this many times the slabs that the edges need
TRIMMED_AT_ONCE = 1 << 10  # ... when this number of slabs is paid for,
TRIM_PART = 32  # and on CUDA, where trimming takes two launches, one in ``TRIM_PART`` of all slabs
LARGE_VERTEX = 1 << 12  # slabs that the rehashing of a heavy vertex may take, in a small batch too

# Slabs that lanes and warps of a CUDA insertion take before they know that they need them.
LANES = 32  # of a warp
CHUNK = 32  # slabs that a warp takes at a time, where there are more than its share of a large batch needs
CHUNK_FROM = 1 << 17  # edges of such a batch
MAX_UNUSED_PER_WARP = CHUNK - 1 + LANES  # slabs a warp of a large batch returns: rest of a chunk, one of each lane
SMALL_SHARE = 64  # a batch of at most this share of the pool's slabs is small: its lanes take one each for new vertices

LOWER_HALF, HALF = 0xFFFFFFFF, 1 << 31  # tickets are counted modulo 2**32


@dataclass(slots=True, eq=False)  # read on the hot path, where a slot takes a third of the time of a NamedTuple's field
class Demand:
    """Upper bounds of the slabs that a batch can need.

    Attributes:
        edges, need: number of edges of the batch, and of slabs for them.
        quota: slabs for rehashing.
        least: slabs that must be free for the batch, with those that ``reserve()`` has set aside for later batches.
        ample: with at least this many free slabs, warps may take some in advance, which may remain unused.
        ahead: number of slabs that a warp then takes in advance at a time (0: none).
        sized: whether all buckets were sized for this batch.
    """

    edges: int
    need: int
    quota: int
    least: int
    ample: int
    ahead: int
    sized: bool = False


@dataclass(slots=True, eq=False)
class Reservation:
    """Slabs set aside for a batch that is about to be queued.

    Attributes:
        edges, slabs: number of edges of the batch, and of slabs set aside.
        quota: those of the slabs that rehashing may use; negative: no rehashing.
        ahead: slabs that a warp takes in advance at a time, or 0.
        ticket: number of the batch, which its kernel sends with the counters.
        kept: number of slabs that suffice for the edges without rehashing.
    """

    edges: int
    slabs: int
    quota: int
    ahead: int
    ticket: int
    kept: int = 0


class Arrived(NamedTuple):
    """Counters that the kernel of batch number ``ticket`` has sent: slabs free, in use and denied after the batch."""

    ticket: int
    free: int
    used: int
    denied: int


NO_DEMAND = Demand(0, 0, 0, 0, 0, 0)


class Ledger:
    """The host's numbers of a store's slabs, and the decisions that follow from them.

    A slab has ``keys`` key slots. The store keeps ``num_vertices`` up to date. Without ``hashing`` no vertex is
    rehashed. ``warps`` is the number of resident warps of an insertion on CUDA; 0: on the CPU, where nothing is taken
    in advance. Methods that change the pool do so by methods of their argument ``do``, the store's ``Supply``.

    Attributes:
        capacity: slabs of the pool.
        free: lower bound of the free slabs, without those reserved for batches under way.
        used: slabs in use, or a few more.
        denied: slabs whose allocation was denied during rehashing.
        space: slabs behind the last one that was ever used, as of the last :meth:`record`; head slabs are taken there.
        freed: free slabs below that space, as of the last :meth:`record`, that are not in the list of free slabs.
        listed: free slabs in the list of free slabs, as of the last :meth:`record`.
        touched: slabs inserted into since the mark, as of the last :meth:`record`.
        inserted: upper bound of the edges inserted since the buckets of all vertices were last sized.
        has_deleted: whether any edge was deleted since the buckets of all vertices were last sized.
        behind: batches queued since the last :meth:`record` or :meth:`take_over`.
        promised: edges that ``reserve()`` was called for and that are not inserted yet.
        credit: deleted edges for which no slabs were trimmed yet; see :meth:`trimming`.
        hand: index of the slab at which the next trimming begins.
        deleted: edges deleted since the size of the pool was last compared with what the edges need.
    """

    def __init__(self, keys: int, num_vertices: int, *, hashing: bool, warps: int = 0) -> None:
        self.keys, self.num_vertices, self.hashing, self.warps = keys, num_vertices, hashing, warps
        self.capacity = self.free = self.used = self.denied = self.space = self.freed = self.listed = self.touched = 0
        self.inserted = 0
        self.has_deleted = False
        self.behind = 0
        self.promised = 0
        self.credit = self.hand = self.deleted = 0
        self._usual = NO_DEMAND  # of any batch of that size, while the pool stays as it is
        self._issued = self._seen = 0  # slabs reserved in all, and as of the counters that are known, modulo 2**32

    # -- what the device says ------------------------------------------------------------------------------------------

    def record(self, counters: Sequence[int], capacity: int, inserted: int = 0) -> None:
        """Record the counters after all queued work, and the capacity of the pool.

        ``inserted`` is the number of edges inserted that :meth:`queued` was not called for.
        """
        if inserted:
            self.inserted += inserted
            self.promised = max(0, self.promised - inserted)
        bump, taken = counters[BUMP], counters[TAKEN]
        self.listed = max(0, counters[LISTED] - taken)
        self.capacity, self.space, self.freed = capacity, capacity - bump, counters[FREED]
        self.free, self.used, self.denied = self.space + self.listed, bump - self.listed - self.freed, counters[DENIED]
        self.touched = counters[TOUCHED]
        self._seen, self.behind = self._issued, 0

    def take_over(self, arrived: Arrived | None) -> None:
        """Take over counters that have arrived (None: none have), unless they are older than the ones recorded last."""
        if arrived is None or not 0 < arrived.ticket - self._seen & LOWER_HALF < HALF:
            return
        self._seen, self.behind = arrived.ticket, 0
        self.free, self.used, self.denied = arrived.free - self.pending, arrived.used, arrived.denied

    @property
    def pending(self) -> int:
        """Number of slabs reserved for batches after which no counters have arrived yet."""
        return self._issued - self._seen & LOWER_HALF

    def rebuilt(self, capacity: int, used: int, stored: int) -> None:
        """Record a new pool with ``stored`` edges in at most ``used`` slabs; no earlier batch is under way."""
        self.inserted, self.has_deleted = stored, False
        self.capacity, self.free, self.used, self.denied = capacity, capacity - used, used, 0
        self.space, self.freed, self.listed = self.free, 0, 0
        self.credit = self.hand = self.deleted = 0
        self._seen, self.behind, self._usual = self._issued, 0, NO_DEMAND

    def grown(self, capacity: int) -> None:
        """Record that the pool has grown to ``capacity`` slabs."""
        more = capacity - self.capacity
        self.capacity, self.free, self.space, self._usual = capacity, self.free + more, self.space + more, NO_DEMAND

    # -- what a batch can need -----------------------------------------------------------------------------------------

    def bound(self, edges: int, chains: int) -> int:
        """Return how many slabs ``edges`` edges can need if they go to ``chains`` chains without free slots."""
        return min(edges, chains + edges // self.keys)

    def worst_case(self, edges: int) -> int:
        """Return how many slabs any ``edges`` edges can need at worst: from any vertices, if all slabs are full."""
        return self.bound(edges, self.capacity - self.free + self.num_vertices)

    def in_advance(self, edges: int) -> int:
        """Return how many slabs the warps of a batch may take before they know that they need them; 0 on the CPU.

        A warp of a large batch may leave up to ``MAX_UNUSED_PER_WARP`` slabs unused. In a small batch each edge of a
        vertex without storage takes a slab, although a slab has room for several of these edges.
        """
        if not self.warps:
            return 0
        if edges >= CHUNK_FROM:
            return MAX_UNUSED_PER_WARP * self.warps
        return edges // self.keys + 1 if edges * SMALL_SHARE <= self.capacity else 0

    def allowance(self, edges: int) -> int:
        """Return how many slabs a batch of ``edges`` edges should have besides those for its edges.

        They are for rehashing, and for those that warps take in advance (see :meth:`in_advance`).
        """
        if not self.hashing:
            return 0
        denied = 2 * min(self.denied, self.used + edges)  # denied requests come again, and are counted again
        heavy = min(self.capacity // 32, max(edges // 4, LARGE_VERTEX))
        at_the_end = 6 * edges // self.keys if self.warps else 0  # CUDA rehashes at the end of a batch
        return at_the_end + self.in_advance(edges) + heavy + denied

    def is_large(self, edges: int) -> bool:
        """Return whether a batch has more ``edges`` than slabs in use have slots; then all buckets are sized for it."""
        return self.hashing and edges > (self.capacity - self.free) * self.keys

    def demand(self, edges: int) -> Demand | None:
        """Return, on the CPU, the demand of a batch of ``edges`` edges; None: call :meth:`provide`.

        None if the slabs known to be free do not cover the worst case, if the batch is large (see :meth:`is_large`), or
        if slabs were denied.
        """
        if self.denied or self.is_large(edges):
            return None
        need, allowance = self.worst_case(edges), self.allowance(edges)
        return self._demand(edges, need, allowance) if self._covers(need, allowance) else None

    def quota_of_few(self, edges: int) -> int:
        """Return how many slabs a small CPU batch may use to rehash; -1: too few are free for its ``edges`` edges."""
        free = self.free
        if self.denied or free < edges or (self.hashing and edges > (self.capacity - free) * self.keys):
            return -1
        kept = max(edges, self.worst_case(self.promised)) if self.promised > edges else edges
        return max(0, min(free - kept, self.capacity // 32, LARGE_VERTEX)) if self.hashing else 0

    def keeps(self, edges: int) -> bool:
        """Reserve slabs for ``edges`` more edges on the CPU if enough are free; return whether that was done.

        No slabs are reserved for rehashing, since a few edges should not make the pool grow.
        """
        allowance = self.allowance(edges) if edges > FEW else 0
        if self.warps or self.denied or self.free < edges + allowance:
            return False
        self.promised = max(self.promised, edges)
        return True

    def _covers(self, need: int, allowance: int) -> bool:
        """Return whether enough slabs are free for ``need`` and, on CUDA, also the ``allowance`` for rehashing."""
        return self.free >= need + (allowance if self.warps else 0)

    def usual_demand(self, edges: int) -> Demand | None:
        """Return, on CUDA, the demand of a batch of ``edges`` edges; None if free slabs do not cover its worst case.

        Counted are the slabs known to be free; rehashing gets at most those beyond the worst case. None as well if
        slabs were denied, or the batch is large (see :meth:`is_large`).
        """
        usual = self._usual
        if usual.edges == edges and not self.denied and self.free >= usual.least:
            return usual
        need = self.worst_case(edges)
        if self.denied or self.free < need or self.is_large(edges):
            return None
        demand = self._demand(edges, need, self.allowance(edges))
        if need == edges and self.free > demand.least:  # neither can become more
            self._usual = demand
        return demand

    def _demand(self, edges: int, need: int, allowance: int, *, sized: bool = False) -> Demand:
        """Return the demand of ``edges`` edges that need ``need`` slabs, and up to ``allowance`` more if free."""
        kept = max(need, self.worst_case(self.promised)) if self.promised else need
        in_advance = self.in_advance(edges)
        quota = max(0, min(self.free - kept, allowance - in_advance))
        ahead = 0
        # A small batch may take one slab per edge then: more than its need if that was counted.
        if in_advance and (edges >= CHUNK_FROM or need >= edges):
            ahead = CHUNK if edges >= CHUNK_FROM else 1
        least = kept + quota
        return Demand(edges, need, quota, least, least + in_advance, ahead, sized)

    def reserve(self, demand: Demand) -> Reservation:
        """Take the slabs of ``demand`` from the free ones, for a batch about to be queued; return the reservation."""
        slabs, ahead = demand.need + demand.quota, demand.ahead
        if ahead:
            if demand.ample <= self.free:
                slabs += demand.ample - demand.least
            else:
                ahead = 0
        self._issued = ticket = self._issued + (slabs or 1) & LOWER_HALF  # another number with each batch
        self.free -= slabs
        self.behind += 1
        return Reservation(demand.edges, slabs, demand.quota, ahead, ticket, demand.least - demand.quota)

    def queued(self, edges: int) -> None:
        """Record that a batch which inserts up to ``edges`` edges was queued."""
        self.inserted += edges
        if self.promised:
            self.promised = max(0, self.promised - edges)

    def continue_from(self, other: Ledger) -> None:
        """Copy ``num_vertices``, ``inserted`` and ``has_deleted`` from ``other``, the ledger of the copied store."""
        self.num_vertices, self.inserted, self.has_deleted = other.num_vertices, other.inserted, other.has_deleted

    def promise(self, edges: int) -> None:
        """Set slabs aside for ``edges`` edges of later batches: other batches leave enough of them free."""
        self.promised, self._usual = max(self.promised, edges), NO_DEMAND

    # -- after deletions -----------------------------------------------------------------------------------------------

    def trimming(self, edges: int) -> tuple[int, int]:
        """Record that ``edges`` edges were deleted; return the range (begin, end) of slabs to trim now, or (0, 0).

        The length of a range is proportional to the deletions. Each range begins where the last one ended, and after
        the last slab at 0, so that every slab is trimmed from time to time.
        """
        self.has_deleted = True
        self.credit += edges
        self.deleted += edges
        bump, slabs = self.capacity - self.space, self.credit // DELETIONS_PER_SLAB
        if slabs < max(TRIMMED_AT_ONCE, bump // TRIM_PART if self.warps else 0):
            return 0, 0
        begin = self.hand if self.hand < bump else 0
        end = min(begin + slabs, bump)
        self.hand = end if end < bump else 0
        self.credit -= (end - begin) * DELETIONS_PER_SLAB
        return begin, end

    @property
    def may_be_loose(self) -> bool:
        """Whether so many edges were deleted that the CPU should see whether the pool is too large."""
        return not self.warps and self.deleted * LOOSE_SHARE > self.used * self.keys

    def is_loose(self, heads: int, stored: int, *, crowded: bool) -> bool:
        """Return whether the pool is much larger than for ``stored`` edges in buckets with ``heads`` head slabs.

        ``crowded``: buckets are sized for more edges than a slab holds.
        """
        self.deleted = 0
        need = heads + (stored // self.keys >> (0 if crowded else 2)) + self.worst_case(self.promised)
        return self.capacity > LOOSE * need + TRIMMED_AT_ONCE

    @property
    def is_scattered(self) -> bool:
        """Whether more than an eighth of the slabs that were ever used are free, but not listed for reuse."""
        return self.freed * 8 > self.capacity - self.space

    def spend(self, most: int) -> int:
        """Return how many free slabs trimming may take; on CUDA subtract them from ``free``.

        On the CPU trimming may take all free slabs that are not promised to later batches; on CUDA at most ``most``,
        and a small share of these, since only the counters of a later batch tell how many slabs are free afterwards.
        """
        free = max(0, self.free - (self.worst_case(self.promised) if self.promised else 0))
        if not self.warps:
            return free
        slabs = min(most, free // TRIM_SHARE)
        self._issued, self.free = self._issued + slabs & LOWER_HALF, self.free - slabs
        return slabs

    # -- getting slabs -------------------------------------------------------------------------------------------------

    def provide(self, edges: int, batch: Any, do: Supply) -> Demand:
        """Get the slabs for ``batch``, which has ``edges`` edges, by methods of ``do``; return its demand."""
        if self.is_large(edges):
            sized = do.size_for_batch(batch, max(0, self.promised - edges))
            if sized is not None:
                return self._demand(edges, sized, self.allowance(edges), sized=True)
        do.read()
        need, allowance = self.worst_case(edges), self.allowance(edges)
        if self._covers(need, allowance) and (not self.denied or self.space >= allowance):
            self._forget_denied(do)
        elif self.warps and self._size_ahead(edges, batch, do):
            need, allowance = self.worst_case(edges), self.allowance(edges)
        elif self.warps and need + allowance <= self.capacity and self._free_slabs(need + allowance, do):
            need = self.worst_case(edges)
        elif self._grow_in_place(need, allowance, do):
            need = self.worst_case(edges)
            self._forget_denied(do)
        else:
            need = self._free_counted(edges, allowance, batch, do)
        return self._demand(edges, need, allowance)

    def provide_more(self, edges: int, need: int, do: Supply) -> tuple[int, int]:
        """Get slabs for rehashing a vertex within a batch on the CPU, whose last ``edges`` edges need ``need`` slabs.

        Return how many slabs these edges need now, and how many rehashing may use; negative: no rehashing.
        """
        do.read()
        allowance = self.allowance(edges)
        if self._lack(need, allowance) > 0:
            if self._repack(self.worst_case(edges) + allowance, do):
                need = self.worst_case(edges)
                return need, max(-1, min(allowance, self.free - need))
            if not self._grow_in_place(need, allowance, do):
                self._sweep(need + allowance, do)
        lack = self._lack(need, allowance)
        if lack > 0 and not do.grow(self.free + lack, self.free + lack + self.capacity // 4, optional=True):
            return need, -1
        self._forget_denied(do)
        return need, allowance

    def _lack(self, need: int, allowance: int) -> int:
        """Return how many free slabs a batch lacks; 0 or negative if it lacks none.

        ``need + allowance`` slabs must be free, ``allowance`` of them at the end of the pool, where heads are taken.
        """
        return max(allowance - self.space, need + allowance - self.free)

    def provide_for(self, edges: int, do: Supply) -> None:
        """Get slabs for any ``edges`` edges to come by methods of ``do``; :meth:`promise` then reserves the slabs."""
        if self.free >= self.worst_case(edges) + self.allowance(edges):
            return
        do.read()
        need = self.worst_case(edges) + self.allowance(edges)
        if not self._sweep(need, do):
            do.grow(need, need + max(need, self.capacity) // 16, optional=False)  # so that few calls make it grow

    def _size_ahead(self, edges: int, batch: Any, do: Supply) -> bool:
        """Size all buckets for ``batch`` (``edges`` edges) and several more like it; return whether slabs suffice now.

        This is for a graph that grows by large batches: until those are in, few vertices are rehashed one by one, and
        few batches lack slabs. If edges have been deleted, nothing is done: their slabs may be enough.
        """
        if not self.hashing or self.has_deleted:
            return False
        stored = do.count_edges()
        if 2 * stored < edges or edges * BULK_SHARE < stored:
            return False
        coming = min(BATCHES_AHEAD * edges, max(stored // 2, EDGES_AHEAD - stored))
        unused = edges + 6 * edges // self.keys + self.in_advance(edges) + coming // self.keys
        unused += (self.capacity + unused) // 8  # a larger pool keeps more for rehashing
        if not do.size_ahead(batch, stored, unused, 1 + coming / (stored + edges)):
            return False
        if self.free < self.worst_case(edges) + self.allowance(edges):
            do.read()
        return self.free >= self.worst_case(edges) + self.allowance(edges)

    def _free_slabs(self, slabs: int, do: Supply) -> bool:
        """Get free slabs until there are ``slabs`` of them; return whether that succeeded.

        The edges move to a new pool, or free slabs are listed for reuse, or the pool grows.
        """
        lacks_heads = self.denied > 0 and self.space < slabs  # heads do not come from the free list
        self._forget_denied(do)
        if self._repack(slabs, do) or (not lacks_heads and self._sweep(slabs, do)):
            return True
        least = self.free + slabs - self.space if lacks_heads else slabs
        return do.grow(least, least + self.capacity // 4, optional=True)

    def _free_counted(self, edges: int, allowance: int, batch: Any, do: Supply) -> int:
        """Count the slabs that ``batch`` needs; get them, and ``allowance`` more if possible; return the count."""
        need = do.count_batch(batch)
        if self.free < need and self._repack(need + self.capacity // 8, do):
            need = do.count_batch(batch)
        if not self._sweep(need, do):
            more = self.capacity // (4 if self.inserted else SLACK) + MIN_SLABS  # a bulk build: no more than it takes
            while self.free < need and not do.grow(need, need + more, optional=False):
                need = do.count_batch(batch)  # chains that were trimmed have fewer free slots
        lack = need + allowance - self.free
        if self.denied:
            lack = max(lack, allowance - self.space)  # heads come from the end
        if lack > 0 and self.inserted and self.warps:
            do.grow(self.free + lack, self.free + lack, optional=True)
        self._forget_denied(do)
        return need

    def _grow_in_place(self, need: int, allowance: int, do: Supply) -> bool:
        """Grow a pool on the CPU by what a batch lacks, uncounted, if that is little and nothing is copied.

        Return whether it grew. Not if free slabs are worth being listed for reuse.
        """
        lack = self._lack(need, allowance)
        if self.warps or lack * FREELY > self.capacity or self.freed * LISTED_FROM > self.capacity:
            return False
        return do.grows_in_place(lack) and do.grow(self.free + lack, self.free + 2 * lack, optional=True)

    def _forget_denied(self, do: Supply) -> None:
        if self.denied:
            do.forget_denied()
            self.denied = 0

    def _repack(self, unused: int, do: Supply) -> bool:
        """If many free slabs lie between those in use, move all edges to a new pool with ``unused`` free slabs.

        Return whether that was done; False if there are few, or memory is lacking.
        """
        holes = self.capacity - self.space - self.used
        if holes <= self.used // (1 if self.warps else HOLES) + MIN_SLABS:
            return False
        return do.repack(unused)

    def _sweep(self, need: int, do: Supply) -> bool:
        """List free slabs for reuse if they suffice or are many; return whether ``need`` slabs can be used now."""
        if self.freed and (self.free + self.freed >= need or 8 * self.freed >= self.capacity):
            do.sweep(self.freed + self.listed)
        return self.free >= need
