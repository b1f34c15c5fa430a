"""Results of operators besides arrays and frontiers: the outcome of a propagation, and the vertices of its steps.

Both stay on the device until they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device


class Best(NamedTuple):
    """The best labels of each vertex in a vote, best first, and their scores.

    Attributes:
        labels: ``(rows, k)``, uint32 unless asked for otherwise; ``EMPTY`` where fewer labels had votes.
        scores: float64 of the same shape; minus infinity where there is no label.
    """

    labels: Array
    scores: Array


class Layers:
    """The vertices of each step of a propagation: layer 0 is the initial frontier, layer ``i`` joined in step i.

    ``neighbor_reduce(graph, layers, ...)`` walks the layers in order, ``layers.reversed`` as the frontier from the last
    to the first, in one call: results of a layer are complete before the next one begins.

    Attributes:
        device: device of the arrays.
        vertices: ``uint32[capacity]``, layer after layer, ids in any order within a layer.
        offsets: ``int64[capacity + 2]``: layer ``i`` is ``vertices[offsets[i]:offsets[i + 1]]``.
        count: ``int64[1]``: number of layers, without empty ones at the end.
        backwards: whether an operator walks them from the last to the first.
    """

    __slots__ = ("backwards", "count", "device", "num_vertices", "offsets", "vertices")

    def __init__(
        self,
        device: Device,
        vertices: Array,
        offsets: Array,
        count: Array,
        *,
        num_vertices: int,
        backwards: bool = False,
    ) -> None:
        self.device = device
        self.vertices, self.offsets, self.count = vertices, offsets, count
        self.num_vertices = num_vertices
        self.backwards = backwards

    @property
    def reversed(self) -> Layers:
        """The same layers in the opposite order for operators that walk them; the arrays are shared."""
        return Layers(
            self.device, self.vertices, self.offsets, self.count,
            num_vertices=self.num_vertices, backwards=not self.backwards,
        )  # fmt: skip

    def __len__(self) -> int:
        """Return the number of layers; waits for the device."""
        return int(self.device.to_numpy(self.count)[0])

    def __getitem__(self, index: int) -> Array:
        """Return the vertices of layer ``index``, ``uint32[k]``; waits for the device."""
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"there are {count} layers, not a layer {index}")
        at = index % count
        at = count - 1 - at if self.backwards else at
        first, last = self.device.to_numpy(self.offsets[at : at + 2]).tolist()
        return self.vertices[first:last]


class Propagated:
    """The outcome of a propagation; its numbers are read from the device when first used.

    Args:
        read: returns ``(steps, touched, converged, crowded)``; called at most once.
        layers: the vertices of the steps, if they were kept.
        address: device address of the numbers, ``uint64``, or None.
    """

    __slots__ = ("_numbers", "_read", "address", "layers")

    def __init__(
        self, read: Callable[[], tuple[int, int, bool, bool]], layers: Layers | None = None, address: Any = None
    ) -> None:
        self._read = read
        self._numbers: tuple[int, int, bool, bool] | None = None
        self.layers = layers  #: :class:`Layers`, or None
        self.address = address

    @classmethod
    def of(
        cls, steps: int, touched: int, converged: bool, crowded: bool = False, *, layers: Layers | None = None
    ) -> Propagated:
        """Return an outcome with the given numbers; the parameters are the properties of the same names."""
        numbers = int(steps), int(touched), bool(converged), bool(crowded)
        made = cls(lambda: numbers, layers)
        made._numbers = numbers
        return made

    @property
    def steps(self) -> int:
        """Number of steps, or of rounds; waits for the device."""
        return self._all()[0]

    @property
    def touched(self) -> int:
        """Number of vertices that pushed (or were computed), summed over the steps; waits for the device."""
        return self._all()[1]

    @property
    def converged(self) -> bool:
        """Whether the loop ended because no vertex was left to process; waits for the device.

        It is False if ``max_steps``, ``until`` or ``most`` ended the loop.
        """
        return self._all()[2]

    @property
    def crowded(self) -> bool:
        """Whether a round with more work than ``most`` ended the loop; waits for the device."""
        return self._all()[3]

    def _all(self) -> tuple[int, int, bool, bool]:
        if self._numbers is None:
            self._numbers = self._read()
        return self._numbers

    def __repr__(self) -> str:
        if self._numbers is None:
            return "<Propagated: still on the device>"
        steps, touched, converged, _ = self._numbers
        return f"<Propagated: {steps} steps, {touched} vertices touched, {'' if converged else 'not '}converged>"


def empty_layers(device: Device, num_vertices: int, capacity: int) -> Layers:
    """Return layers without content, with space for ``capacity`` vertices in all, of a graph of ``num_vertices``."""
    xp = device.xp
    arrays = xp.empty(capacity, np.uint32), xp.empty(capacity + 2, np.int64), xp.zeros(1, np.int64)
    return Layers(device, *arrays, num_vertices=num_vertices)
