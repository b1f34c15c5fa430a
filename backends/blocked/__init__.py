"""Blocked adjacency lists with a host mirror, after Marrow-Graph (Neves) and faimGraph (Winter et al., SC 2018)."""

from __future__ import annotations

from suricate.plugins.hookspecs import hookimpl


@hookimpl
def suricate_backends():
    """Return a list of the store class of the backend ``blocked``."""
    from suricate.backends.blocked.store import BlockedStore

    return [BlockedStore]
