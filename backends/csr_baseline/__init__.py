"""Sorted CSR, rebuilt by a merge on every batch: the baseline that a dynamic structure has to beat."""

from __future__ import annotations

from suricate.hookspecs import hookimpl


@hookimpl
def suricate_engines():
    """Return the engine."""
    from suricate.backends.csr_baseline.store import CsrStore

    return [CsrStore]
