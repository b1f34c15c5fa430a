"""Union-find: disjoint sets of the elements 0 to n - 1, united in batches (the auxiliary structure of Meerkat's WCC).

A parent never has a larger id than its child, hence the root of a set is its smallest member and serves as its label.
On CUDA the unions of a batch run asynchronously, by compare-and-swap; the sets do not depend on their order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from suricate.arrays import as_ids, checked_ids, on_device, range_message, same_length
from suricate.cuda.program import Program
from suricate.devices import CPU, Array, Device, resolve_device
from suricate.errors import DeviceError, VertexRangeError
from suricate.parameters import integer
from suricate.types import MAX_VERTICES

PROGRAM = Program(Path(__file__).with_name("union_find.cu"))
_BLOCK = 256
_MAX_BLOCKS = 1 << 16  # beyond that a thread serves several elements


class UnionFind:
    """Disjoint sets on one device; at first every element is a set of its own.

    Arguments that are ids may be lists or arrays, on the host or on this device. They are checked; on CUDA the check of
    a device array waits for the device. Pass ``trusted=True`` with ``uint32`` arrays of this device that are known to
    be in range, and nothing waits.
    """

    def __init__(self, num_elements: int, device: str | Device = CPU) -> None:
        self.device = resolve_device(device)
        self.num_elements = 0
        self._parent = self.device.xp.empty(0, np.uint32)  # uint32[capacity], the first num_elements in use
        self.resize(num_elements)

    def union(self, src: Any, dst: Any, *, trusted: bool = False) -> None:
        """Unite the sets of ``src[i]`` and ``dst[i]``, for each i; does not wait for the device.

        Raises:
            VertexRangeError, ShapeError, DTypeError: bad ids; nothing was united.
        """
        src, dst = self._pair(src, dst, ("src", "dst"), trusted)
        if not len(src):
            return
        if self.device.is_cuda:
            self._launch("unite", len(src), self._parent, src, dst, np.int64(len(src)))
        else:
            self._loops.unite(self._parent, src, dst)

    def labels(self) -> Array:
        """Return ``uint32[num_elements]``: the smallest member of each element's set, in a new array."""
        label = self.device.xp.empty(self.num_elements, np.uint32)
        if self.num_elements == 0:
            return label
        if self.device.is_cuda:
            self._launch("compress", len(label), self._parent, label, np.int64(len(label)))
        else:
            self._loops.compress(self._parent, label, len(label))
        return label

    def connected(self, a: Any, b: Any, *, trusted: bool = False) -> Array:
        """Return ``bool[n]``: whether ``a[i]`` and ``b[i]`` are in one set.

        Raises:
            VertexRangeError, ShapeError, DTypeError: bad ids.
        """
        a, b = self._pair(a, b, ("a", "b"), trusted)
        same = self.device.xp.empty(len(a), bool)
        if len(a) and self.device.is_cuda:
            self._launch("same_component", len(a), self._parent, a, b, same, np.int64(len(a)))
        elif len(a):
            self._loops.same_component(self._parent, a, b, same)
        return same

    @property
    def num_components(self) -> int:
        """Number of sets; on CUDA reading it waits for the device."""
        xp = self.device.xp
        is_root = self._parent[: self.num_elements] == xp.arange(self.num_elements, dtype=np.uint32)
        return int(xp.count_nonzero(is_root))

    def resize(self, num_elements: int) -> None:
        """Grow to ``num_elements``; the new ones are sets of their own.

        Raises:
            ParameterError: ``num_elements`` is no integer from 0 to ``MAX_VERTICES``.
            VertexRangeError: there are more elements already.
        """
        num_elements = integer("num_elements", num_elements, low=0, high=MAX_VERTICES)
        if num_elements < self.num_elements:
            raise VertexRangeError(f"a union-find of {self.num_elements} elements cannot shrink to {num_elements}")
        if num_elements > len(self._parent):
            capacity = max(num_elements, 2 * len(self._parent))
            grown = self.device.xp.empty(capacity, np.uint32)
            grown[: self.num_elements] = self._parent[: self.num_elements]
            self._parent = grown
        self._make_singletons(self.num_elements, num_elements)
        self.num_elements = num_elements

    def reset(self, vertices: Any = None, *, trusted: bool = False) -> None:
        """Make each of ``vertices`` (None: all) a set of its own again.

        They must make up whole sets: an element that is left out may stay with the one it was hooked to.
        """
        if vertices is None:
            self._make_singletons(0, self.num_elements)
            return
        vertices = vertices if trusted else self._checked(vertices, "vertices")
        self._parent[vertices] = vertices

    @property
    def _loops(self) -> Any:
        from suricate.structures import union_find_cpu

        return union_find_cpu

    def _make_singletons(self, begin: int, end: int) -> None:
        if not self.device.is_cuda:
            self._parent[begin:end] = np.arange(begin, end, dtype=np.uint32)
        elif end > begin:
            self._launch("make_singletons", end - begin, self._parent, np.int64(begin), np.int64(end))

    def _launch(self, name: str, size: int, *args: Any) -> None:
        blocks = min(-(-size // _BLOCK), _MAX_BLOCKS)
        PROGRAM.kernel(name)((blocks,), (_BLOCK,), args)

    def _pair(self, a: Any, b: Any, names: tuple[str, str], trusted: bool) -> tuple[Array, Array]:
        if trusted:
            return a, b
        a, b = as_ids(a, names[0]), as_ids(b, names[1])
        same_length(a, b)
        return self._checked(a, names[0]), self._checked(b, names[1])

    def _checked(self, ids: Any, name: str) -> Array:
        """Return ``ids`` as a ``uint32`` array on the device, all of them below ``num_elements``."""
        ids = as_ids(ids, name)
        if isinstance(ids, np.ndarray):
            checked = checked_ids(ids, self.num_elements, name)
            return on_device(checked, self.device, name) if self.device.is_cuda else checked
        if not self.device.is_cuda:
            raise DeviceError(f"{name} is on a CUDA device, the union-find on the CPU: pass a NumPy array")
        ids = on_device(ids, self.device, name)
        is_bad = (ids < 0) | (ids >= self.num_elements)
        if bool(is_bad.any()):
            at = int(is_bad.argmax())
            raise VertexRangeError(range_message(name, at, int(ids[at]), self.num_elements))
        return ids.astype(np.uint32, copy=False)
