"""The conformance kit of algorithms whose updated result depends on the history, and can be replayed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.plugins.algorithm import Algorithm
from suricate.testing.algorithms import AlgorithmConformance, Params, Variant

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.graph.tracker import Tracker
    from suricate.store import Store


class Snapshot(NamedTuple):
    """A graph at one time, in host arrays: its arcs (undirected: both directions), and which vertices are live."""

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None
    num_vertices: int
    live: np.ndarray

    def changed(self, before: Snapshot) -> np.ndarray:
        """Return the vertices at either end of an arc that only one of this snapshot and ``before`` has.

        They are int64, ascending, without repeats. Weights are not compared.
        """
        keys, old = (part.src.astype(np.int64) << 32 | part.dst for part in (self, before))
        different = np.setxor1d(keys, old)
        return np.unique(np.concatenate((different >> 32, different & 0xFFFFFFFF)))


class _Recorder(Algorithm):
    """Keeps a snapshot of the graph after every change."""

    name = "recorder"

    def compute(self, graph: Graph) -> None:
        self.snapshots = [_snapshot(graph)]

    def update(self, graph: Graph, delta: Delta) -> None:
        self.snapshots.append(_snapshot(graph))

    @property
    def result(self) -> None:
        """None: the recorder only keeps snapshots."""
        return None


def _snapshot(graph: Graph) -> Snapshot:
    host = graph.device.to_numpy
    src, dst, weight = graph.store("out").edges()
    weights = None if weight is None else host(weight)
    return Snapshot(host(src), host(dst), weights, graph.num_vertices, host(graph.live))


class ReplayedConformance(AlgorithmConformance):
    """The kit for an algorithm without a unique result: every result must be valid, and equal to that of a replay.

    A subclass writes the algorithm in plain NumPy or Python: :meth:`begin` and :meth:`follow_on` return its state, any
    object, and :meth:`answer` the result. A tracker may have computed from scratch at any snapshot: its result must be
    that of a replay from some snapshot to the last.
    """

    def begin(self, first: Snapshot, **params: Any) -> Any:
        """Return the state after a computation from scratch on ``first``; ``params``: parameters of the algorithm."""
        raise NotImplementedError("define begin()")

    def follow_on(self, state: Any, before: Snapshot, after: Snapshot, **params: Any) -> Any:
        """Return the state after an update, when the graph has changed from ``before`` to ``after``.

        ``state`` is the state before it, and may be changed in place; ``params`` are parameters of the algorithm.
        """
        raise NotImplementedError("define follow_on()")

    def answer(self, state: Any, **params: Any) -> np.ndarray:
        """Return the result of the algorithm, one array, in ``state``."""
        raise NotImplementedError("define answer()")

    def build(self, backend: type[Store], device_kind: str, variant: Variant) -> Graph:
        """Return a graph of kind ``variant`` without edges, with a tracker that keeps a snapshot after every change."""
        graph = super().build(backend, device_kind, variant)
        self._recorders: Mapping[int, Tracker] = {id(graph): graph.track(_Recorder)}
        return graph

    def judge(self, result: Any, graph: Graph, params: Params) -> None:
        """Verify that ``result`` is valid for ``graph`` and ``params``, and that some replay gives it."""
        super().judge(result, graph, params)
        found = graph.device.to_numpy(result)
        snapshots = self._recorders[id(graph)].algorithm.snapshots  # type: ignore[attr-defined]
        assert any(np.array_equal(found, self._replayed(snapshots[at:], params)) for at in range(len(snapshots))), (
            "the result is not that of a replay"
        )

    def _replayed(self, snapshots: list[Snapshot], params: Params) -> np.ndarray:
        state = self.begin(snapshots[0], **params)
        for before, after in itertools.pairwise(snapshots):
            state = self.follow_on(state, before, after, **params)
        return self.answer(state, **params)
