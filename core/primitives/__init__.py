"""Building blocks that backends with contiguous adjacencies share; a backend is free not to use them.

``sort_batch`` orders a batch by (source, destination), ``copy_segments`` moves many short ranges of edges at once,
:class:`InsertLog` remembers insertions for ``mark()`` / ``updated()``. Each works on both devices. On CUDA none of them
synchronises host and device, except :meth:`InsertLog.edges`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from suricate.devices import Array, Device
from suricate.errors import CapacityError
from suricate.store import Store
from suricate.types import NEW, EdgeList, edge_keys


class SortedBatch(NamedTuple):
    """A batch in order: ``keys`` is ``uint64[m]`` (``src << 32 | dst``, ascending), ``order`` ``uint32[m]``.

    ``order[i]`` is the place of the i-th key in the batch; equal keys keep their order in it, so that the last of a run
    of equal keys is the last duplicate.
    """

    keys: Array
    order: Array


def sort_batch(device: Device, src: Array, dst: Array, num_vertices: int) -> SortedBatch:
    """Return the edges (``uint32[m]``, ids below ``num_vertices``) in order of source, then destination, stable."""
    bits = max(1, (num_vertices - 1).bit_length())
    if device.is_cuda:
        from suricate.primitives import cuda

        return cuda.sort_batch(src, dst, bits)
    from suricate.primitives import cpu

    return SortedBatch(*cpu.sort_batch(src, dst, bits))


def copy_segments(
    device: Device, offsets: Array, begin: Array, target: Array, bound: int, old: EdgeList, new: EdgeList
) -> None:
    """Copy ``k`` ranges of slots from the arrays of ``old`` to those of ``new``.

    Range i holds ``offsets[i + 1] - offsets[i]`` slots (``offsets`` is int64[k + 1]), starts at slot ``begin[i]`` of
    ``old`` and goes to slot ``target[i]`` of ``new`` (both int64[k]). ``bound`` is at least ``offsets[k]``. The ``src``
    of ``new`` receives the number i of the range where it is not empty; ``src`` of ``old`` is ignored.
    """
    if not bound or not len(begin):
        return
    if device.is_cuda:
        from suricate.primitives import cuda as kernels
    else:
        from suricate.primitives import cpu as kernels  # type: ignore[no-redef]
    kernels.copy_segments(offsets, begin, target, bound, old, new)


def bit_pattern(weight: Array | None, like: Array) -> Array:
    """Return ``weight`` as unsigned integers of the same size (no copy); ``uint8[0]`` for None.

    Weights are stored and compared bit for bit, so that kernels need one variant per size, not per dtype.
    """
    if weight is None:
        return like[:0].view(np.uint8)
    return weight.view(f"u{weight.dtype.itemsize}")


def power_class(sizes: Array, xp) -> Array:
    """Return ``ceil(log2(sizes))`` as ``uint8``, exactly; 0 for sizes below 2."""
    result = xp.zeros(len(sizes), np.uint8)
    for exponent in range(33):
        result += (sizes > (1 << exponent)).astype(np.uint8)
    return result


class InsertLog:
    """The insertions since a mark: copies of the batches with their statuses, sifted when they are asked for."""

    def __init__(self) -> None:
        self._batches: list[tuple[Array, Array, Array]] = []

    def add(self, src: Array, dst: Array, status: Array) -> None:
        """Remember an insertion batch and its statuses."""
        if len(src):
            self._batches.append((src.copy(), dst.copy(), status.copy()))

    def edges(self, store: Store) -> EdgeList:
        """Return the logged edges that are still in ``store``, ordered by source, with their present weights."""
        xp = store.device.xp
        if not self._batches:
            return empty_edges(store)
        src, dst, status = (xp.concatenate(parts) for parts in zip(*self._batches, strict=True))
        keys = xp.unique(edge_keys(src, dst)[status == NEW])
        src, dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        found, weight = store.find(src, dst)
        return EdgeList(src[found], dst[found], None if weight is None else weight[found])


def empty_edges(store: Store, size: int = 0, *, owners: bool = True) -> EdgeList:
    """Return uninitialised arrays of ``size`` edges that fit ``store``; ``src`` has length 0 without ``owners``."""
    xp = store.device.xp
    weight = None if store.weight_dtype is None else xp.empty(size, store.weight_dtype)
    return EdgeList(xp.empty(size if owners else 0, np.uint32), xp.empty(size, np.uint32), weight)


@contextmanager
def out_of_memory(backend: str) -> Iterator[None]:
    """Turn a ``MemoryError`` of an allocation into a ``CapacityError`` that names the backend."""
    try:
        yield
    except CapacityError:
        raise
    except MemoryError as error:
        raise CapacityError(f"{backend}: out of memory ({error})") from error
