"""Conformance kits: subclass one class in a test file, and a backend, an algorithm or a comm is tested.

>>> class TestMyStore(StoreConformance):          # doctest: +SKIP
...     backend = MyStore
>>> class TestMyAlgorithm(AlgorithmConformance):  # doctest: +SKIP
...     algorithm = MyAlgorithm
...     def oracle(self, num_vertices, src, dst, weight, **params): ...
>>> class TestMyComm(CommConformance):            # doctest: +SKIP
...     def run(self, job, ranks): ...

pytest collects what the class inherits; the ``dev`` extra brings pytest and hypothesis. A backend is compared with a
table of edges in NumPy arrays (``table``, ``model``): random operations, large batches and ids (``scale``), the memory
limit (``memory``), failing allocations (``failures``), deltas (``graphs``), CUDA sources (``nvrtc``). An algorithm is
compared, after random and scripted changes (``changes``), with an oracle that its author writes by another method; one
whose result depends on the history is replayed (``replays``), one with kernels of its own is compared with the same by
operators alone, one with many right answers must keep their quality (``qualities``). A comm runs jobs in which ranks
exchange, go different ways, end, hang (``several.comms``).
:func:`check_replay` compares an answer after every event with single calls (``single_events``): for algorithms with a
step and stores with single edges.
:func:`measure` says what a call costs: waits, launches, bytes, vertices (``costs``; ``syncs`` proves that none waits).
"""

from __future__ import annotations

import pkgutil
import sys
from typing import TYPE_CHECKING

from suricate.base.public import listing, on_use

if TYPE_CHECKING:
    from suricate.testing.algorithms import VARIANTS, AlgorithmConformance, OwnKernelsConformance, Variant
    from suricate.testing.costs import Costs, measure
    from suricate.testing.draws import device_params, draw_ids, draw_weights, run_examples
    from suricate.testing.model import ModelledStore
    from suricate.testing.qualities import QualityConformance
    from suricate.testing.replays import ReplayedConformance, Snapshot
    from suricate.testing.several.comms import CommConformance
    from suricate.testing.single_events import check_replay
    from suricate.testing.stores import STEPS, StoreConformance
    from suricate.testing.walks import walk_updated, walk_view

__all__ = [
    "STEPS", "VARIANTS", "AlgorithmConformance", "CommConformance", "Costs", "ModelledStore",
    "OwnKernelsConformance", "QualityConformance", "ReplayedConformance", "Snapshot", "StoreConformance", "Variant",
    "check_replay", "device_params", "draw_ids", "draw_weights", "measure", "run_examples", "walk_updated", "walk_view",
]  # fmt: skip
__dir__ = listing(__all__)
_NAMES = {
    "algorithms": ("VARIANTS", "AlgorithmConformance", "OwnKernelsConformance", "Variant"),
    "several.comms": ("CommConformance",),
    "costs": ("Costs", "measure"),
    "draws": ("device_params", "draw_ids", "draw_weights", "run_examples"),
    "single_events": ("check_replay",),
    "model": ("ModelledStore",),
    "qualities": ("QualityConformance",),
    "replays": ("ReplayedConformance", "Snapshot"),
    "stores": ("STEPS", "StoreConformance"),
    "walks": ("walk_updated", "walk_view"),
}
if not TYPE_CHECKING:
    __getattr__ = on_use(
        __name__,
        {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names},
        extra="dev",
    )

if pytest := sys.modules.get("pytest"):  # ahead of the imports, so that a failing assertion of a kit shows its values
    pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))
