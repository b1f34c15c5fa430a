"""A packed memory array of edges, in order and with gaps, after GPMA+ (Sha et al., PVLDB 2017)."""

from __future__ import annotations

from suricate.plugins.hookspecs import hookimpl


@hookimpl
def suricate_backends():
    """Return a list of the store class of the backend ``gpma``."""
    from suricate.backends.gpma.store import GpmaStore

    return [GpmaStore]
