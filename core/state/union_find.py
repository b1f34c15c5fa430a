"""Union-find: disjoint sets of the elements 0 to n - 1, united in batches (the auxiliary structure of Meerkat's WCC).

A parent never has a larger id than its child, hence the root of a set is its smallest member and serves as its label.
On CUDA the unions of a batch run asynchronously, by compare-and-swap; the sets do not depend on their order.
Edge functions unite by ``suricate.unite(sets, u, v)``: ``unite`` of ``union_find.cuh`` and of ``union_find_cpu``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import CPU, Array, Device, resolve_device
from suricate.base.errors import VertexRangeError
from suricate.base.parameters import integer
from suricate.base.types import MAX_VERTICES, ArcList, PlacedArcs
from suricate.cpu import threads
from suricate.cuda.program import Program
from suricate.edgefn.parameters import OWNERS, Argument, Owner
from suricate.intake.arrays import as_ids, placed_ids, same_length
from suricate.kernels.arcs import arc_values, plain_arcs
from suricate.state.frontier import Frontier
from suricate.state.made import MadeByGraph

OWNERS["sets"] = Owner("suricate.state.union_find_cpu", ("unite",), "union_find.cuh")
PROGRAM = Program(Path(__file__).with_name("union_find.cu"))
_BLOCK = 256
_MAX_BLOCKS = 1 << 16  # beyond that a thread serves several elements
_NULL = np.uint64(0)
_NO_LABEL = np.empty(0, np.uint32)


class UnionFind(metaclass=MadeByGraph):
    """Disjoint sets of elements on one device, made by ``graph.union_find()``; at first every element is its own set.

    Arguments that are ids may be lists or arrays, on the host or on this device. They are checked; on CUDA the check
    of a device array waits for the device. With ``trusted=True`` ids must be valid ``uint32`` arrays on this device;
    they are not checked, and nothing waits.

    Example:
        >>> sets = su.Graph(5, device="cpu").union_find()
        >>> sets.union([0, 3], [1, 4])
        >>> isinstance(sets, su.UnionFind), sets.labels().tolist(), sets.num_components
        (True, [0, 0, 2, 3, 3], 3)
    """

    def __init__(self, num_elements: int, device: str | Device = CPU) -> None:
        self.device = resolve_device(device)
        self.num_elements = 0
        self._parent = self.device.xp.empty(0, np.uint32)  # uint32[capacity], the first num_elements in use
        self._components = self.device.xp.zeros(1, np.uint64)  # what the last flattening counted
        self.resize(num_elements)

    edge_argument = Argument("sets", None)  #: how edge functions see it: see ``suricate.unite``

    @property
    def parent(self) -> Array:
        """``uint32[num_elements]``: the parent of each element, itself for a root; not a copy: kernels change it."""
        return self._parent[: self.num_elements]

    def union(self, src: Any, dst: Any, *, trusted: bool = False) -> None:
        """Unite the sets of ``src[i]`` and ``dst[i]``, for each i; only the check of ids may wait for the device.

        Raises:
            VertexRangeError, ShapeError, DTypeError: invalid ids; nothing was united.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([0, 1], [1, 2])
            >>> sets.num_components
            2
        """
        src, dst = self._pair(src, dst, ("src", "dst"), trusted)
        self.union_arcs(ArcList(src, dst, None, None, 0, len(src)))

    def union_arcs(self, arcs: ArcList | PlacedArcs) -> int:
        """Unite both ends of every arc of a list; the arcs are not checked, and nothing waits for the device.

        Returns the decrease of the number of sets; 0 on CUDA, where the host does not know it.

        Example:
            >>> g = su.Graph(4, device="cpu")
            >>> sets = g.union_find()
            >>> sets.union_arcs(g.insert_edges([0, 1], [1, 2]).arcs("inserted"))
            2
            >>> sets.labels().tolist()
            [0, 0, 0, 3]
        """
        if not arcs.size:
            return 0
        if self.device.is_cuda:
            src, dst, _, status, size, wanted = arc_values(arcs)
            places = np.uint64(src), np.uint64(dst), np.uint64(status)
            self._launch("unite_pairs", size, self._parent, *places, np.uint32(wanted), np.int64(size))
            return 0
        src, dst, status, wanted, size = plain_arcs(arcs)
        return sum(threads.over(size, self._loops.unite_pairs, self._parent, src, dst, status, wanted))

    def flatten(self) -> Array:
        """Make the root of every element its parent; return the number of sets, ``uint64[1]`` on the device.

        The result is not a copy: the next call that counts sets overwrites it. Does not wait for the device.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([0, 1], [1, 2])
            >>> sets.flatten().tolist(), sets.parent.tolist()
            ([2], [0, 0, 0, 3])
        """
        return self._compress(None)

    def roots(self) -> Array:
        """Return a new array ``bool[num_elements]``: whether an element is the smallest of its set; does not wait.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([3], [1])
            >>> sets.roots().tolist()
            [True, True, True, False]
        """
        return self.parent == self.device.xp.arange(self.num_elements, dtype=np.uint32)

    def labels(self) -> Array:
        """Return ``uint32[num_elements]``: the smallest member of each element's set, in a new array; does not wait.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([3], [1])
            >>> sets.labels().tolist()
            [0, 1, 2, 1]
        """
        label = self.device.xp.empty(self.num_elements, np.uint32)
        self._compress(label)
        return label

    def labels_at(self, vertices: Array) -> Array:
        """Return the smallest member of the set of each of ``vertices``, which are valid ids on the device.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([3], [1])
            >>> sets.labels_at(np.array([3, 2])).tolist()
            [1, 2]
        """
        if self.device.is_cuda:
            return self.labels()[vertices]
        label = np.empty(len(vertices), np.uint32)
        threads.over(len(vertices), self._loops.roots_of, self._parent, vertices, label)
        return label

    def connected(self, a: Any, b: Any, *, trusted: bool = False) -> Array:
        """Return ``bool[n]``: whether ``a[i]`` and ``b[i]`` are in one set.

        Raises:
            VertexRangeError, ShapeError, DTypeError: invalid ids.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([0], [1])
            >>> sets.connected([0, 0], [1, 2]).tolist()
            [True, False]
        """
        a, b = self._pair(a, b, ("a", "b"), trusted)
        same = self.device.xp.empty(len(a), bool)
        if len(a) and self.device.is_cuda:
            self._launch("same_component", len(a), self._parent, a, b, same, np.int64(len(a)))
        elif len(a):
            threads.over(len(a), self._loops.same_component, self._parent, a, b, same)
        return same

    @property
    def component_count(self) -> Array:
        """``uint64[1]`` on the device: the number of sets when they were last flattened or labelled; not a copy."""
        return self._components

    @property
    def num_components(self) -> int:
        """Number of sets; on CUDA reading it waits for the device."""
        return int(self.device.to_numpy(self.flatten())[0])

    def resize(self, num_elements: int) -> None:
        """Grow to ``num_elements``; each new element is its own set.

        Raises:
            ParameterError: ``num_elements`` is not an integer from 0 to ``MAX_VERTICES``.
            VertexRangeError: there are more elements already.

        Example:
            >>> sets = su.Graph(2, device="cpu").union_find()
            >>> sets.resize(4)
            >>> sets.num_components
            4
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

    def reset(self) -> None:
        """Make every element a set of its own again.

        Example:
            >>> sets = su.Graph(3, device="cpu").union_find()
            >>> sets.union([0], [2])
            >>> sets.reset()
            >>> sets.num_components
            3
        """
        self._make_singletons(0, self.num_elements)

    def detach(self, vertices: Any, *, trusted: bool = False) -> None:
        """Make each of ``vertices`` its own set again; only the check of ids may wait for the device.

        Other elements are unchanged.

        Args:
            vertices: all elements of some sets, as ids or as a :class:`~suricate.state.frontier.Frontier`, whose size
                may be known to the device only. If an element of such a set is missing, its parent may be one of
                ``vertices``.
            trusted: skip the check of ids, as in :meth:`union`; a frontier is never checked.

        Raises:
            VertexRangeError, ShapeError, DTypeError: invalid ids; nothing was detached.

        Example:
            >>> sets = su.Graph(4, device="cpu").union_find()
            >>> sets.union([0, 1], [1, 2])
            >>> sets.detach([0, 1, 2])
            >>> sets.labels().tolist()
            [0, 1, 2, 3]
        """
        count: Any = _NULL
        if isinstance(vertices, Frontier):
            ids, size = vertices.buffer, vertices.at_most
            if self.device.is_cuda and vertices.known_count is None:
                count = vertices.count_address
        else:
            ids = vertices if trusted else self._checked(vertices, "vertices")
            size = len(ids)
        if not self.device.is_cuda:
            self._parent[ids[:size]] = ids[:size]
        elif size:
            self._launch("detach", size, self._parent, ids, count, np.int64(size))

    @property
    def _loops(self) -> Any:
        from suricate.state import union_find_cpu

        return union_find_cpu

    def _compress(self, label: Array | None) -> Array:
        """Make the root of every element its parent; also in ``label``, unless None; return the number of sets."""
        n, count = self.num_elements, self._components
        if self.device.is_cuda:
            count.data.memset_async(0, count.nbytes)
            if n:
                target = _NULL if label is None else label
                self._launch("compress", n, self._parent, target, np.int64(n), count)
        else:
            label = _NO_LABEL if label is None else label
            count[0] = sum(threads.over(n, self._loops.compress, self._parent, label))
        return count

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
        return placed_ids(ids, self.device, self.num_elements, name, "union-find")
