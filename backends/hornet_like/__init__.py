"""Power-of-two blocks in block arrays, one block per vertex, after Hornet (Busato et al., HPEC 2018)."""

from __future__ import annotations

from suricate.hookspecs import hookimpl


@hookimpl
def suricate_engines():
    """Return the engine."""
    from suricate.backends.hornet_like.store import HornetStore

    return [HornetStore]
