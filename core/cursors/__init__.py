"""Cursors: how kernels walk a store, the same idea in Numba and in CUDA C++.

A backend names, in its :class:`suricate.store.StoreView`, one Python module and one CUDA header. Operators are
templates over what these define; it is the only way in which they touch storage. ``g`` is the view's NamedTuple (Numba)
or the struct ``View`` generated from it (CUDA); ``u`` a vertex; a *unit* is an independent part of a vertex's storage
(a bucket, a block); a *slot* the place of one edge.

Numba module (all functions ``@njit``, integers in and out):

====================  =============================================================================================
``degree(g, u)``      number of out-edges
``units(g, u)``       number of storage units of ``u``
``first(g, u, k)``    cursor at the first span of slots of unit ``k``, or -1
``begin(g, c)``       first slot of the span under cursor ``c``
``end(g, c)``         one past its last slot
``following(g, c)``   cursor at the unit's next span, or -1
``key(g, i)``         destination in slot ``i``; not below ``TOMBSTONE`` if the slot holds no edge
``weight(g, i)``      weight in slot ``i`` (only called on weighted stores)
``find(g, u, v)``     slot of edge ``(u, v)``, or -1
====================  =============================================================================================

A backend that remembers where it inserted may add an iterator over the edges inserted since ``Store.mark()``; operators
then serve the scheme ``"updated"`` by it, and by a list (``Store.updated()``) otherwise. A *segment* is a part of the
storage with one owner. All four functions are there, or none; they are called only while ``Store.has_mark``:

=========================  ========================================================================================
``updated_count(g)``       number of segments that were inserted into since the mark
``updated_segment(g, i)``  cursor at the ``i``-th of them (each is there once), for ``begin`` and ``end``
``segment_owner(g, c)``    the vertex of a segment; ``EMPTY`` if it is nobody's any more
``is_fresh(g, i)``         whether the edge in slot ``i`` of such a segment was inserted since the mark
=========================  ========================================================================================

CUDA header (``__device__ __forceinline__``; the struct ``View``, the macros of ``StoreView.constants``, ``WEIGHTED``
(0 or 1) and the type ``weight_t`` are defined before it is included; ``suricate.cuh`` is available):

=================================================  =================================================================
``uint32_t degree(g, u)``                          as above
``uint32_t units(g, u)``                           as above
``for_unit<LANES>(g, u, k, lane, f)``              ``LANES`` threads (power of two, at most 32, aligned in the warp)
                                                   share unit ``k``; calls ``f(v, slot)`` once per edge in some thread
``for_neighbors<LANES>(g, u, lane, f)``            the same for all units of ``u``
``weight_t weight(g, slot)``                       as above
``long long find(g, u, v)``                        as above, by one thread
``SCAN_LANES``, ``segments(g)``,                   macro: lanes that share a segment (0: it cannot scan), number
``segment_owner(g, s)``, ``for_segment(g, s,       of storage segments in address order; the vertex that owns segment
lane, f)``                                         ``s`` (``EMPTY`` if none); calls ``f(v, slot)`` once per edge in it
``HAS_UPDATED``, ``long long                       optional, where it can scan: macro, 1 if there is the iterator
updated_segments(g)``, ``long long                 over the edges inserted since the mark; number of touched segments;
updated_segment(g, i)``, ``for_updated(g, s,       number ``s`` of the ``i``-th, as for ``segment_owner``; calls
lane, f)``                                         ``f(v, slot)`` once per inserted edge in it, by ``SCAN_LANES`` lanes
=================================================  =================================================================

Both macros are written out, ``#define SCAN_LANES 0`` and ``#define HAS_UPDATED 1``: they are looked for in the text.

The threads that share a unit, a vertex or a segment call these functions together, with equal arguments but ``lane``;
``f`` may diverge between them, so it must not use warp-wide primitives.
"""

from __future__ import annotations

import importlib
from functools import cache


@cache
def has_updated_iterator(cursor: str) -> bool:
    """Return whether a cursor module can walk the edges inserted since the mark."""
    return hasattr(importlib.import_module(cursor), "updated_count")
