"""The arrays of a store, which this module allocates, grows, replaces and counts, within the memory limit.

A layout declares groups of arrays that have the same length and grow together. Weights are held as bit patterns
(unsigned integers of their size; ``uint8[0]`` on an unweighted store), so that kernels need no variant per dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import CapacityError, require
from suricate.intake.arrays import move
from suricate.primitives import bits_dtype, out_of_memory
from suricate.store.in_place import growable, lengthened, reach
from suricate.store.own_rows import ALL, Rows, without

WEIGHT = "weight"  #: stands for the dtype of the bit patterns of weights in a layout
Layout = Mapping[str, Mapping[str, Any]]  #: {part of memory(): {array: dtype, or WEIGHT}}
LOG: Layout = {
    "log": {"log": np.uint64}
}  #: the log of insertions, in every layout (see ``suricate.store.batch_store``)
GROWTH = 1.25  #: a group that must grow gets at least this many times its length, memory permitting

Graph = TypeVar("Graph")  #: the arrays of a layout as its kernels take them
Amount = TypeVar("Amount")
Made = TypeVar("Made")


def first_that_fits(make: Callable[[Amount], Made], *amounts: Amount) -> Made:
    """Return ``make(amount)`` for the first of ``amounts`` that raises no ``CapacityError``; the last may raise it."""
    for amount in amounts[:-1]:
        with suppress(CapacityError):
            return make(amount)
    return make(amounts[-1])


def in_groups(device: Device, length: int, dtype: np.dtype) -> Array:
    """Return an uninitialised array in whole groups of 16 bytes: kernels read these at once, or change whole words."""
    return device.xp.empty(length + -length % max(1, 16 // dtype.itemsize), dtype)[:length]


class ArrayManager(Generic[Graph]):
    """The arrays of one store.

    Args:
        backend: name of the backend, for messages.
        device: device of the arrays.
        weight_dtype: dtype of the weights, or None.
        limit: upper bound in bytes of everything allocated at a time, or None.
        layout: the groups of arrays, all empty at first.
        rows: which rows of the groups ``by_row`` have memory, see ``own_rows.py``; None: all.
    """

    by_row: ClassVar[tuple[str, ...]] = ()  #: groups with an entry per vertex, zeros for a vertex without edges
    besides: Callable[[], int] = int  #: what else counts against the limit, see ``Store.share_limit``: 0 bytes

    def __init__(
        self,
        backend: str,
        device: Device,
        weight_dtype: np.dtype | None,
        limit: int | None,
        layout: Layout,
        rows: Array | None = None,
    ) -> None:
        self.backend, self.device, self.weight_dtype, self.limit = backend, device, weight_dtype, limit
        self.layout: Layout = {**layout, **LOG}
        self.rows = Rows(device, rows)
        self._by_row = tuple(name for group in self.by_row for name in layout[group])
        kinds = dict[Any, Any]({WEIGHT: bits_dtype(weight_dtype)})
        self._dtypes = {
            group: {name: np.dtype(kinds.get(kind, kind)) for name, kind in arrays.items()}
            for group, arrays in self.layout.items()
        }
        weights = {name for arrays in self.layout.values() for name, kind in arrays.items() if kind == WEIGHT}
        self._absent = weights if weight_dtype is None else set[str]()  # arrays that keep length 0
        self._arrays: dict[str, Array] = {
            name: device.xp.empty(0, dtype) for dtypes in self._dtypes.values() for name, dtype in dtypes.items()
        }
        self._graph: Graph | None = None

    @property
    def graph(self) -> Graph:
        """The arrays in the form that kernels take, a NamedTuple; a new object only after one of them was replaced."""
        if self._graph is None:
            self._graph = self.new_graph()
        return self._graph

    def new_graph(self) -> Graph:
        """Return the arrays as a NamedTuple that kernels take; subclasses define it for their layout."""
        raise NotImplementedError(f"{type(self).__name__} has no tuple of its arrays")

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def length(self, group: str) -> int:
        """Return the length of the arrays of a group."""
        return max(len(self._arrays[name]) for name in self._dtypes[group])

    def entry_bytes(self, group: str) -> int:
        """Return the bytes of one entry of all arrays of a group together."""
        return sum(dtype.itemsize for name, dtype in self._dtypes[group].items() if name not in self._absent)

    def group_bytes(self, group: str, length: int, rows: Rows | None = None) -> int:
        """Return the bytes of memory of all arrays of a group together, if they have ``length`` entries.

        ``rows``: if other rows than now are kept.
        """
        if group in self.by_row:
            return sum((rows or self.rows).bytes_of(length, dtype.itemsize) for dtype in self._dtypes[group].values())
        return length * self.entry_bytes(group)

    @property
    def allocated(self) -> int:
        """Bytes of all arrays that are held, used or not."""
        whole = sum(array.nbytes for name, array in self._arrays.items() if name not in self._by_row)
        return whole + sum(self.group_bytes(group, self.length(group)) for group in self.by_row)

    def kept_back(self) -> int:
        """Return the bytes that :meth:`admit` keeps from insertions for deletions; 0 unless overridden."""
        return 0

    @property
    def held(self) -> int:
        """Bytes that count against the limit: what is allocated and kept back."""
        return self.allocated + self.kept_back()

    def admit(self, size: int) -> None:
        """Raise ``CapacityError`` if ``size`` more bytes would exceed the limit."""
        if self.limit is None:
            return
        wanted = self.held + self.besides() + size
        if wanted > self.limit:
            raise CapacityError(f"{self.backend} needs {wanted} bytes, memory_limit is {self.limit}")

    def new(self, group: str, length: int, fill: int | None = None) -> dict[str, Array]:
        """Return new arrays for a group, by name, filled with ``fill`` (None: any), to attach; ``CapacityError``."""
        self.admit(self.group_bytes(group, length))
        return self.allocate(group, length, fill)

    def allocate(self, group: str, length: int, fill: int | None = None, *, growing: bool = False) -> dict[str, Array]:
        """Return new arrays as :meth:`new` does, without a check of the limit, which the caller has made.

        ``growing``: with room for more entries, see ``in_place.py``. Arrays by row are zeros.
        """
        xp = self.device.xp
        empty = growable if growing and not self.device.is_cuda else partial(in_groups, self.device)
        try:
            if group in self.by_row:
                zeros = xp.zeros if self.rows.is_all else partial(self.rows.zeros, written=False)
                return {name: zeros(length, dtype) for name, dtype in self._dtypes[group].items()}
            make = empty if fill is None else xp.zeros  # on the CPU pages of zeros take memory when they are written
            absent, dtypes = self._absent, self._dtypes[group].items()
            arrays = {name: self._arrays[name] if name in absent else make(length, dtype) for name, dtype in dtypes}
        except (MemoryError, ValueError, OverflowError) as error:  # a size beyond 63 bits is no MemoryError
            raise CapacityError(f"{self.backend}: out of memory ({error})") from error
        for array in arrays.values() if fill else ():
            array.fill(fill)
        return arrays

    def attach(self, arrays: Mapping[str, Array]) -> None:
        """Replace the store's arrays of these names by ``arrays``."""
        self._arrays.update(arrays)
        self._graph = None

    def carry_over(self, arrays: Mapping[str, Array], keep: int | None = None) -> None:
        """Copy entries to ``arrays``, as :meth:`filled` does; they take the place of the store's arrays."""
        self.attach(self.filled(arrays, keep))

    def filled(self, arrays: Mapping[str, Array], keep: int | None = None) -> Mapping[str, Array]:
        """Copy the first ``keep`` entries (None: those of both) of the store's arrays to ``arrays``; return these.

        Of arrays by row the kept rows are copied.
        """
        for name, array in arrays.items():
            if name in self._by_row:
                self.rows.copy(self._arrays[name], array)
                continue
            kept = min(len(array), len(self._arrays[name])) if keep is None else keep
            array[:kept] = self._arrays[name][:kept]
        return arrays

    def resize(self, group: str, length: int, keep: int = 0, fill: int | None = None) -> None:
        """Give a group arrays of ``length``: ``keep`` copied, others ``fill``. Old and new exist side by side."""
        self.carry_over(self.new(group, length, fill), keep)

    def longer(self, lengths: Mapping[str, int], besides: int = 0) -> dict[str, Array]:
        """Return the arrays of groups with ``lengths``, at least those they have, to attach; raises ``CapacityError``.

        On the CPU an array that has room becomes longer where it is. Others are copied, to where there is room for
        more. ``besides``: bytes that are needed, too. New entries are uninitialised.
        """
        sizes, new = {}, {}
        for group, length in lengths.items():
            sizes.update(dict.fromkeys(self._dtypes[group].keys() - self._absent, length))
        here = set() if self.device.is_cuda else {name for name, size in sizes.items() if reach(self[name]) >= size}
        staying = sum(self[name].nbytes for name in here)
        self.admit(besides - staying + sum(size * self[name].itemsize for name, size in sizes.items()))
        for group, length in lengths.items():
            if self._dtypes[group].keys() - self._absent - here:
                new.update(self.allocate(group, length, growing=True))
        copies = self.filled({name: array for name, array in new.items() if name not in here})
        return {**copies, **{name: lengthened(self[name], sizes[name]) for name in here}}

    def grow(self, group: str, length: int) -> None:
        """Give a group arrays of at least ``length``, at best :data:`GROWTH` times longer."""
        held = self.length(group)
        if length > held:
            ample = max(length, int(GROWTH * held))
            self.attach(first_that_fits(lambda size: self.longer({group: size}), ample, length))

    def copy_from(self, other: Self, lengths: Mapping[str, int]) -> None:
        """Replace the arrays by copies of those of the manager ``other``, which may be on another device.

        Raises ``CapacityError`` if there is not enough memory. ``lengths``: how many entries of a group are copied; a
        group that it does not name is copied whole.
        """
        for group, dtypes in self._dtypes.items():
            length = lengths.get(group, other.length(group))
            self.admit(self.group_bytes(group, length))
            with out_of_memory(self.backend):
                self._arrays.update({name: self._copy(other, name, length) for name in dtypes})
        self._graph = None

    def _copy(self, other: Self, name: str, length: int) -> Array:
        part = other[name][:length]
        if name in self._by_row:
            rows = self.rows.zeros(length, part.dtype, written=False)
            for begin, end in self.rows.within(0, length):
                rows[begin:end] = move(part[begin:end], other.device, self.device)
            return rows
        host = other.device.to_numpy(part)
        if other.device.is_cuda and not self.device.is_cuda:
            return host
        copy = in_groups(self.device, len(host), host.dtype)
        copy[:] = self.device.xp.asarray(host)
        return copy

    def memory(self, used: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        """Return ``{group: (bytes used, bytes allocated)}``; ``used``: entries in use by group, all of others."""
        return {
            group: (used[group] * self.entry_bytes(group) if group in used else held, held)
            for group, held in ((group, self.group_bytes(group, self.length(group))) for group in self.layout)
        }

    # -- rows ----------------------------------------------------------------------------------------------------------

    def keep(self, kept: np.ndarray) -> None:
        """Keep the rows in ``kept``, ``int64[k, 2]``; those that go are empty. If some come: ``CapacityError``."""
        rows, lengths = Rows(self.device, kept), [(group, self.length(group)) for group in self.by_row]
        more = sum(self.group_bytes(*each, rows) - self.group_bytes(*each) for each in lengths)
        if more > 0:
            self.admit(more)
        with out_of_memory(self.backend):
            self.rows.keep(kept, *((self._arrays[name], 1) for name in self._by_row))

    def check_rows(self, num_vertices: int) -> None:
        """Verify that rows which are not kept are zeros; raises ``CheckFailed``."""
        for begin, end in without(ALL.clip(0, num_vertices), self.rows.kept).tolist():
            empty = not any(self._arrays[name][begin:end].any() for name in self._by_row)
            require(empty, "rows that are not kept are empty")
