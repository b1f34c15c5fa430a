"""Power-of-two blocks in block arrays, one block per vertex, after Hornet (Busato et al., HPEC 2018)."""

from __future__ import annotations

from suricate.plugins.hookspecs import hookimpl


@hookimpl
def suricate_backends():
    """Return a list of the store class of the backend ``hornet_like``."""
    from suricate.backends.hornet_like.store import HornetStore

    return [HornetStore]
