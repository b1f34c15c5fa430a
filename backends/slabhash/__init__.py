"""One hash table of slabs per vertex, after SlabGraph (Awad et al.) and Meerkat (Concessao et al.); see README.md."""

from __future__ import annotations

from suricate.plugins.hookspecs import hookimpl


@hookimpl
def suricate_backends():
    """Return a list of the store class of the backend ``slabhash``."""
    from suricate.backends.slabhash.store import SlabHashStore

    return [SlabHashStore]
