"""Degrees kept current: numbers of neighbours, or sums of the weights of a vertex's edges.

An update visits the rows of the changed edges only, as that of ``spmv`` does; sums of weights are made again, never
subtracted from. ``suricate.replay`` counts the edges one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.spmv import SpMV
from suricate.base.parameters import flag
from suricate.plugins.step import Step
from suricate.state.owned import whole

if TYPE_CHECKING:
    from suricate.base.devices import ReturnedArray
    from suricate.graph import Graph
    from suricate.plugins.algorithm import Algorithm


class State(NamedTuple):
    """What a step changes: ``degree`` (``float64[num_vertices]``), of sources (``of_source``) or of destinations."""

    degree: np.ndarray
    of_source: bool


class Degree(SpMV):
    """The number of out-neighbours of each vertex, ``int64[num_vertices]``; a self-loop counts once.

    Args:
        over: ``"out"``, or ``"in"`` for in-neighbours; on a directed graph without in-edges every update of the latter
            is one pass over all edges.
        weighted: the sum of the weights of these edges in place of their number, ``float64[num_vertices]``.

    Raises:
        ParameterError: a parameter is of the wrong type.
        RequirementError: ``weighted=True`` on a graph without weights.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> g.compute("degree").tolist()
        [2, 1, 0]
    """

    name = "degree"
    uses_weights = False

    def __init__(self, over: Literal["out", "in"] = "out", weighted: bool = False) -> None:
        super().__init__(over=over, weighted=flag("degree: weighted", weighted))

    @property
    def result(self) -> ReturnedArray:
        """The degrees in a new array."""
        return super().result if self.weighting.asked else whole(self._graph, self._y).astype(np.int64)

    def event_step(self, graph: Graph) -> Step | str:
        """Return how ``suricate.replay`` counts edge by edge; a text, the reason, for sums of weights."""
        if self.weighting.asked:
            return "degree has no step for sums of weights, which it makes again and never subtracts from"
        from suricate.algorithms.degree import steps

        return Step(
            steps, State(self._y, self.over == "out"),
            lambda *shape: (np.empty(shape, np.int64),), lambda recorded: recorded[0], weighted=False,
        )  # fmt: skip

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(cls, *arcs: Any, weighted: bool | None = False, live: Any = None, **params: Any) -> np.ndarray:
        """Return the degrees by SciPy; ``arcs`` and ``params`` those of :meth:`SpMV.reference`."""
        sums = super().reference(*arcs, weighted=weighted, **params)
        return sums if weighted else sums.astype(np.int64)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: the defaults."""
        return {}


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Degree`, which registers it as a plugin."""
    return [Degree]
