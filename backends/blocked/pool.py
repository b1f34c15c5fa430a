"""The arrays of ``blocked``: vertices, blocks, slots, counters, and change flags for a mirror, a copy on the host."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from suricate.backends.blocked.layout import BLOCKS, COUNTERS, FREE, LAYOUT, LOWEST, MAX_BLOCKS, USED, VERTICES, Graph
from suricate.base.devices import Array, Device
from suricate.errors import CapacityError
from suricate.store.array_manager import GROWTH, ArrayManager, first_that_fits

COMPACT_BYTES = 56  #: scratch memory per vertex while blocks are repacked
MARKS = {  #: arrays of marks and lists of what is marked, by whether they are per block
    True: ("marks of blocks", "marked blocks"),
    False: ("marks of vertices", "marked vertices"),
}


class BlockedPool(ArrayManager[Graph]):
    """The arrays of a store. The stack of free blocks has space for every block, so a deletion needs no memory.

    Attributes:
        shift: a block has 2^shift slots.
        twin: of a copy on the host: the pool that it copies, which is kept at least as large; both share one limit.
        mirrored: bytes that the copy of this pool on the host has allocated.
        is_tracked: whether changed blocks and vertices are flagged, for a copy on the host.
    """

    by_row = ("vertices", "marks of vertices")

    def __init__(
        self,
        backend: str,
        num_vertices: int,
        device: Device,
        weight_dtype: np.dtype | None,
        limit: int | None,
        shift: int,
        rows: Array | None = None,
    ) -> None:
        super().__init__(backend, device, weight_dtype, limit, LAYOUT, rows)
        self.shift = shift
        self.twin: BlockedPool | None = None
        self.mirrored, self.is_tracked = 0, False
        self.admit(self.group_bytes("vertices", num_vertices) + 8 * COUNTERS)
        self.attach(self.allocate("vertices", num_vertices))
        self.attach(self.allocate("counters", COUNTERS, 0))

    def new_graph(self) -> Graph:
        """Return the current arrays as a :class:`Graph`."""
        a = self._arrays
        return Graph(
            a["head"], a["degree"], a["run"], a["link"], a["back"], a["owner"], a["free"], a["dst"], a["weight"],
            a["counters"], a["block_mark"], a["vertex_mark"], a["block_list"], a["vertex_list"], self.shift,
            len(a["link"]),
        )  # fmt: skip

    @property
    def blocks(self) -> int:
        """Number of blocks that are allocated."""
        return len(self["link"])

    @property
    def held(self) -> int:
        """Bytes that count against the limit, which a store and its mirror share."""
        return super().held + self.mirrored + (0 if self.twin is None else self.twin.allocated)

    def attach(self, arrays: Mapping[str, Array]) -> None:
        """Replace the arrays of these names; a mirror also tells the store's pool how many bytes it has allocated."""
        super().attach(arrays)
        if self.twin is not None:
            self.twin.mirrored = self.allocated

    def set_shift(self, shift: int) -> None:
        """Set the capacity of a block to 2^shift slots; possible only while there are no blocks."""
        self._graph, self.shift = None, shift

    def ensure(self, blocks: int, *, further: int = 0) -> None:
        """Make the arrays long enough for ``blocks`` blocks; raises ``CapacityError``.

        If memory allows it they grow for ``further`` more blocks, or by the growth factor if that is more.
        """
        if blocks > self.blocks:
            first_that_fits(self._resize_blocks, max(blocks + further, int(GROWTH * self.blocks)), blocks)

    def resized_vertices(self, num_vertices: int) -> Mapping[str, Array]:
        """Return copies of the arrays of vertices with ``num_vertices`` entries; raises ``CapacityError``."""
        groups = ["vertices", *self._marks(per_block=False)]
        self.admit(sum(self.group_bytes(group, num_vertices) for group in groups))
        arrays: dict[str, Array] = {}
        for group in groups:
            arrays.update(self.allocate(group, num_vertices, 0))
        return self.filled(arrays)

    def new_blocks(self, blocks: int) -> dict[str, Array]:
        """Return new arrays for ``blocks`` blocks and their slots, without change flags; raises ``CapacityError``."""
        self._check_number(blocks)
        slots = blocks << self.shift
        self.admit(blocks * self.entry_bytes("blocks") + slots * self.entry_bytes("edges"))
        return {**self.allocate("blocks", blocks, growing=True), **self.allocate("edges", slots, growing=True)}

    def carved(self, counters: np.ndarray) -> dict[str, int]:
        """Return how many entries of each group of arrays a copy needs; groups not named are copied whole.

        Of arrays per block or slot these are the entries of carved blocks; of change flags none, as the copy has no
        mirror. ``counters`` are exact, on the host.
        """
        used, marks = int(counters[USED]), (*MARKS[True], *MARKS[False])
        return {"blocks": used, "edges": used << self.shift, **dict.fromkeys(marks, 0)}

    # -- a store with a mirror -----------------------------------------------------------------------------------------

    def track(self) -> None:
        """Start to flag each block and vertex that a batch changes, so that the mirror copies only those.

        Allocates zeroed flags (uint8 per block and vertex) and, on the CPU, lists of flagged ones; raises
        ``CapacityError``.
        """
        groups = {True: self.blocks, False: len(self["head"])}
        arrays: dict[str, Array] = {}
        for per_block, length in groups.items():
            for group in self._marks(per_block=per_block, tracked=True):
                arrays.update(self.new(group, length, 0))
        self.is_tracked = True
        self.attach(arrays)
        self["counters"][LOWEST] = self["counters"][FREE]

    def untrack(self) -> None:
        """Stop flagging changed blocks and vertices, and free the flags and lists: there is no mirror any more."""
        for group in (*MARKS[True], *MARKS[False]):
            self.attach(self.allocate(group, 0))
        self.mirrored, self.is_tracked = 0, False

    def clear_marks(self) -> None:
        """Clear the flags and lists of changed blocks and vertices in place, after the mirror has copied them."""
        self["block_mark"].fill(0)
        for begin, end in self.rows.within(0, len(self["vertex_mark"])):
            self["vertex_mark"][begin:end] = 0
        counters = self["counters"]
        counters[BLOCKS : VERTICES + 1] = 0
        counters[LOWEST] = counters[FREE]

    # -- inside --------------------------------------------------------------------------------------------------------

    def _marks(self, *, per_block: bool, tracked: bool | None = None) -> list[str]:
        """Return the names of the groups of arrays that hold the change flags of blocks (``per_block``) or vertices.

        On the CPU the group with the list of flagged ones follows. The result is empty without change flags; whether
        there are any is ``tracked``, or ``is_tracked`` if that is None.
        """
        if not (self.is_tracked if tracked is None else tracked):
            return []
        marks, lists = MARKS[per_block]
        return [marks] if self.device.is_cuda else [marks, lists]

    def _check_number(self, blocks: int) -> None:
        if blocks > MAX_BLOCKS:
            raise CapacityError(f"{self.backend} numbers {MAX_BLOCKS} blocks, {blocks} are needed")

    def _resize_blocks(self, blocks: int) -> None:
        if self.twin is not None:
            self.twin.ensure(blocks)
        self._check_number(blocks)
        marks = self._marks(per_block=True)
        lengths = {"blocks": blocks, "edges": blocks << self.shift, **dict.fromkeys(marks, blocks)}
        arrays, held = self.longer(lengths), self.blocks
        for name in (name for group in marks for name in self.layout[group]):
            arrays[name][held:] = 0
        self.attach(arrays)
