"""The conformance kit of algorithms that have kernels of their own and can also run by operators alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.store import Store
from suricate.testing import changes
from suricate.testing.algorithms import AlgorithmConformance, Params, Variant, as_parts, on_host

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.testing.changes import Changer, Script


class OwnKernelsConformance(AlgorithmConformance):
    """The kit of an algorithm with a parameter ``kernels``: kernels of its own (True), or operators only (False).

    Besides the tests of :class:`AlgorithmConformance` it tracks the algorithm in both ways through scripts, functions
    that change a graph step by step.
    """

    def scripts(self, variant: Variant) -> list[Script]:
        """Return the scripts of changes to run on graphs of kind ``variant``."""
        scripts: list[Script] = [self.every_change, changes.self_loops, changes.mixed_batches]
        if self.takes_live():
            scripts.append(partial(changes.deleted_vertices, chosen=[0, self.num_vertices // 2]))
        return scripts if variant.weight_dtype is None else [*scripts, changes.replaced_weights]

    def every_change(self, changer: Changer) -> Iterator[None]:
        """Make a change of every kind, of about 20 edges or vertices; yield after each."""
        for kind in self.kinds_of_changes():
            changer.change(kind, 20)
            yield

    def test_parameter(self) -> None:
        """``kernels`` is True by default."""
        assert self.algorithm().kernels is True  # type: ignore[attr-defined]
        assert self.algorithm(kernels=False).kernels is False  # type: ignore[call-arg,attr-defined]

    def test_by_operators(self, backend: type[Store], device_kind: str, variant: Variant, params: Params) -> None:
        """After each change the trackers with and without kernels have the same result, which is right."""
        for script in self.scripts(variant):
            graph = self.build(backend, device_kind, variant)
            changer = self.changer(graph, 50)
            graph.insert_edges(*changer.draw(3 * self.num_vertices))
            without = {**params, "kernels": False}
            by_operators, by_kernels = graph.track(self.algorithm, **without), graph.track(self.algorithm, **params)
            for _ in script(changer):
                self.judge_tracker(by_operators, graph, params)
                self.compare(by_operators.result, by_kernels.result, graph)
            self.compare(graph.compute(self.algorithm, **without), by_kernels.result, graph)

    def compare(self, by_operators: Any, by_kernels: Any, graph: Graph) -> None:
        """Assert that results on ``graph``, ``by_operators`` and ``by_kernels``, are equal, floats within rounding."""
        pairs = zip(as_parts(on_host(by_operators, graph)), as_parts(on_host(by_kernels, graph)), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-12)
            assert np.asarray(one).dtype == np.asarray(other).dtype
