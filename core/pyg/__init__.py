"""PyTorch Geometric over a log of events: a sampler for its loaders, and a loader of its own (docs/time.md).

``sampler`` is a ``BaseSampler`` for ``NodeLoader`` and ``LinkLoader``; ``loader`` yields ``Data`` on the log's device.
Both take a ``su.Events``, a log that a window shows, or the job of a live window, which they ask between two slides.
Neither needs pyg-lib. Importing this imports neither PyTorch nor PyTorch Geometric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.public import listing, on_use

if TYPE_CHECKING:
    from suricate.pyg.loading import Loader as loader  # noqa: N813
    from suricate.pyg.sampling import Sampler as sampler  # noqa: N813

__all__ = ["loader", "sampler"]
__dir__ = listing(__all__)
if not TYPE_CHECKING:
    _HOMES = {"loader": "suricate.pyg.loading:Loader", "sampler": "suricate.pyg.sampling:Sampler"}
    __getattr__ = on_use(__name__, _HOMES, extra="pyg")
