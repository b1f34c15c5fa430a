"""Building blocks that backends share; a backend is free not to use them.

``sort_batch`` orders a batch by (source, destination), ``copy_segments`` moves many short ranges of edges at once. Each
works on both devices, and none of them waits for the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import CapacityError
from suricate.base.types import EdgeList


class SortedBatch(NamedTuple):
    """A batch sorted by (source, destination): ``keys`` is ``uint64[m]``, ascending, ``order`` ``uint32[m]``.

    A key is ``src << 32 | dst``; ``order[i]`` is the position of the i-th key in the batch. The sort is stable: among
    equal keys, the last one is the last duplicate in the batch.
    """

    keys: Array
    order: Array


def of_device(device: Device) -> Any:
    """Return the module of this package that has the building blocks for ``device``: ``cuda`` or ``cpu``."""
    if device.is_cuda:
        from suricate.primitives import cuda

        return cuda
    from suricate.primitives import cpu

    return cpu


def sort_batch(device: Device, src: Array, dst: Array, num_vertices: int) -> SortedBatch:
    """Return the edges ``src[i] -> dst[i]`` sorted by source, then destination, by a stable sort.

    ``src`` and ``dst`` are ``uint32[m]`` on ``device``, with ids below ``num_vertices``; they are not changed.
    """
    bits = max(1, (num_vertices - 1).bit_length())
    return SortedBatch(*of_device(device).sort_batch(src, dst, bits))


def copy_segments(
    device: Device, offsets: Array, begin: Array, target: Array, bound: int, old: EdgeList, new: EdgeList
) -> None:
    """Copy ``k`` ranges of slots from the arrays of ``old`` to those of ``new``.

    Range i has ``offsets[i + 1] - offsets[i]`` slots (``offsets`` is int64[k + 1]), and is copied from slot
    ``begin[i]`` of ``old`` to slot ``target[i]`` of ``new`` (both int64[k]). ``bound`` is at least ``offsets[k]``. If
    the ``src`` of ``new`` is not empty, the number i is written to it for every slot; ``src`` of ``old`` is ignored.
    Weights that are None or of length 0 are not copied.
    """
    if not bound or not len(begin):
        return
    of_device(device).copy_segments(offsets, begin, target, bound, old, new)


def bits_dtype(weight_dtype: np.dtype | None) -> np.dtype:
    """Return the unsigned integer dtype with as many bits as a weight; ``uint8`` for None (unweighted)."""
    return np.dtype(np.uint8 if weight_dtype is None else f"u{weight_dtype.itemsize}")


def power_class(sizes: Array, xp: Any) -> Array:
    """Return ``ceil(log2(size))`` for each of ``sizes`` as ``uint8[n]``, 0 for sizes below 2.

    The result is exact for sizes up to ``2**33``. ``xp`` is NumPy or CuPy.
    """
    result = xp.zeros(len(sizes), np.uint8)
    for exponent in range(33):
        result += (sizes > (1 << exponent)).astype(np.uint8)
    return result


@contextmanager
def out_of_memory(backend: str) -> Iterator[None]:
    """Turn a ``MemoryError`` of an allocation into a ``CapacityError`` that names the backend."""
    try:
        yield
    except CapacityError:
        raise
    except MemoryError as error:
        raise CapacityError(f"{backend}: out of memory ({error})") from error
