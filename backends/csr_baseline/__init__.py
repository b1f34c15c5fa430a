"""Sorted CSR, rebuilt by a merge on every batch: the baseline that a dynamic structure has to beat."""

from __future__ import annotations

from suricate.plugins.hookspecs import hookimpl


@hookimpl
def suricate_backends():
    """Return a list of the store class of the backend ``csr_baseline``."""
    from suricate.backends.csr_baseline.store import CsrStore

    return [CsrStore]
