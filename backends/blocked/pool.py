"""The arrays of ``blocked``: vertices, blocks, their slots, counters."""

from __future__ import annotations

import numpy as np

from suricate.array_manager import GROWTH, ArrayManager
from suricate.backends.blocked.layout import COUNTERS, LAYOUT, MAX_BLOCKS, USED, Graph
from suricate.devices import Array, Device
from suricate.errors import CapacityError
from suricate.types import EMPTY

VERTEX_BYTES, COMPACT_BYTES = 8, 40  #: of a vertex; scratch memory per vertex while blocks are repacked


class BlockedPool(ArrayManager):
    """The arrays of a store. Every block has its place in the stack of free ones: a deletion needs no memory.

    Attributes:
        shift: a block has 2^shift slots.
    """

    def __init__(
        self,
        backend: str,
        num_vertices: int,
        device: Device,
        weight_dtype: np.dtype | None,
        limit: int | None,
        shift: int,
    ) -> None:
        super().__init__(backend, device, weight_dtype, limit, LAYOUT)
        self.shift = shift
        self.admit(VERTEX_BYTES * num_vertices + 8 * COUNTERS)
        self.attach(self._empty_vertices(num_vertices))
        self.attach(self.allocate("counters", COUNTERS, 0))

    @property
    def graph(self) -> Graph:
        """The arrays that kernels work on."""
        a = self._arrays
        return Graph(
            a["head"], a["degree"], a["link"], a["back"], a["owner"], a["free"], a["dst"], a["weight"], a["counters"],
            self.shift,
        )  # fmt: skip

    @property
    def blocks(self) -> int:
        """Number of blocks that there is space for."""
        return self.length("blocks")

    def ensure(self, blocks: int) -> None:
        """Make space for this many blocks: some more if memory allows it; raises ``CapacityError``."""
        held = self.blocks
        if blocks <= held:
            return
        try:
            self._resize_blocks(max(blocks, int(GROWTH * held)), held)
        except CapacityError:
            self._resize_blocks(blocks, held)

    def resize_vertices(self, num_vertices: int) -> None:
        """Grow to more vertices, or back to fewer if those beyond have no edges; raises ``CapacityError``."""
        self.admit(VERTEX_BYTES * num_vertices)
        vertices, kept = self._empty_vertices(num_vertices), min(num_vertices, len(self["head"]))
        for name, array in vertices.items():
            array[:kept] = self[name][:kept]
        self.attach(vertices)

    def new_blocks(self, blocks: int) -> dict[str, Array]:
        """Return new arrays of blocks and slots; raises ``CapacityError``."""
        if blocks > MAX_BLOCKS:
            raise CapacityError(f"{self.backend} numbers {MAX_BLOCKS} blocks, {blocks} are needed")
        slots = blocks << self.shift
        self.admit(blocks * self.entry_bytes("blocks") + slots * self.entry_bytes("edges"))
        return {**self.allocate("blocks", blocks), **self.allocate("edges", slots)}

    def copy_of(self, counters: np.ndarray) -> dict[str, int]:
        """Return how many entries of each group a copy takes: all carved blocks."""
        used = int(counters[USED])
        return {"blocks": used, "edges": used << self.shift}

    def _resize_blocks(self, blocks: int, held: int) -> None:
        arrays = self.new_blocks(blocks)
        for name, array in arrays.items():
            kept = self[name][: held << self.shift if name in ("dst", "weight") else held]
            array[: len(kept)] = kept
        self.attach(arrays)

    def _empty_vertices(self, num_vertices: int) -> dict[str, Array]:
        vertices = self.allocate("vertices", num_vertices, 0)
        vertices["head"][:] = EMPTY
        return vertices
