"""Cursors: how kernels walk a store, the same functions in Numba and in CUDA C++.

A backend names, in its :class:`suricate.base.types.StoreView`, one Python module and one CUDA header. Operators are
templates over what these define; it is the only way in which they touch storage. ``g`` is the view's NamedTuple (Numba)
or the struct ``View`` generated from it (CUDA); ``u`` a vertex; a *slot* the place of one edge, an integer of 64 bits.
A *bucket* is an independent part of the storage of one vertex (a hash bucket, a block), the grain of parallel work.

Numba module (all functions ``@njit``, integers in and out):

======================  ================================================================================================
``degree(g, u)``        number of out-edges
``buckets(g, u)``       number of buckets of ``u``
``first(g, u, k)``      cursor at the first span of slots of bucket ``k``, or -1
``begin(g, c)``         first slot of the span under cursor ``c``
``end(g, c)``           one past its last slot
``following(g, c)``     cursor at the bucket's next span, or -1
``key(g, i)``           destination in slot ``i``; not below ``TOMBSTONE`` if the slot holds no edge
``weight(g, i)``        weight in slot ``i`` (only called on weighted stores)
``find(g, u, v)``       slot of edge ``(u, v)``, or -1
``later(g, i)``         optional, a hint for prefetching: ``key`` of a slot that is read about ``LATER`` edges after
                        slot ``i`` if all vertices are walked in order; any other value is allowed
``ahead(g, u)``         optional: prefetches the first edges of ``u``, which is walked soon; the array ``g.weight``, if
                        there is one, may be empty although the store has weights
``copied(g, c, a, i)``  optional, for short spans: copies ``key`` of the slots under cursor ``c`` to ``a[i:]``; returns
                        the index after the last one; the 31 entries from there on may be overwritten
``run(g, u)``           optional, for short spans: the first slot of the edges of ``u`` if they are in ``degree(g, u)``
                        consecutive slots, else -1
``GAPLESS``             optional, not a function: each slot of a span holds an edge
``common(g, u, v, a)``  optional: writes the common neighbours of ``u`` and ``v`` to ``a`` and returns their number;
                        ``v`` has the lower degree, up to which entries of ``a`` may be overwritten; not called if
                        ``StoreView.find`` is ``"linear"``
======================  ================================================================================================

Templates may also import ``neighbors`` from ``suricate.kernels``: ``for v, slot in neighbors(g, u):`` walks
the edges of ``u``. In a module made from a template this loop is replaced by loops over ``buckets``, ``first``,
``following``, ``begin``, ``end`` and ``key``.

A *segment* is a run of slots that is read as a whole, whoever's edges they hold: a slab, a block, a leaf of a packed
array. ``StoreView.owner_per`` says who owns the edges of a segment: with ``"segment"`` one vertex owns them all
(``segment_owner``), with ``"slot"`` each slot has an owner of its own (``slot_owner``).

A cursor may have an iterator over the edges inserted since ``Store.mark()``, which is declared by
``StoreView.has_updated``. Operators use it for the scheme ``"updated"``, instead of the list ``Store.updated()``, while
``Store.has_mark`` is true. It consists of these functions, with one of the two owner functions, according to
``owner_per``:

=========================  ========================================================================================
``updated_count(g)``       number of segments that were inserted into since the mark
``updated_segment(g, i)``  cursor at the ``i``-th of them (each is there once), for ``begin`` and ``end``
``is_fresh(g, i)``         whether the edge in slot ``i`` of such a segment was inserted since the mark
``segment_owner(g, c)``    the vertex whose edges segment ``c`` holds; ``EMPTY`` if it is free
``slot_owner(g, i)``       the source of the edge in slot ``i``; unspecified if the slot holds no edge
=========================  ========================================================================================

CUDA header (``__device__ __forceinline__``; the struct ``View``, the macros of ``StoreView.constants``, ``WEIGHTED``,
``HAS_UPDATED`` and ``OWNER_PER_SLOT`` (0 or 1, from the view), and the type ``weight_t`` are defined before it is
included; ``suricate.cuh`` is available):

=================================================  =================================================================
``uint32_t degree(g, u)``                          as above
``uint32_t buckets(g, u)``                         as above
``for_bucket<LANES>(g, u, k, lane, f)``            ``LANES`` threads (power of two, at most 32, aligned in the warp)
                                                   share bucket ``k``; calls ``f(v, slot)`` once per edge in some thread
``for_neighbors<LANES>(g, u, lane, f)``            the same for all buckets of ``u``
``weight_t weight(g, slot)``                       as above
``long long find(g, u, v)``                        as above, by one thread
``SCAN_LANES``                                     macro: threads that share a segment; 0 if the header cannot scan
``LANES_ALONE``                                    optional macro: 1 if a thread may call ``for_bucket`` without the
                                                   others that share the bucket, for its part of the edges
=================================================  =================================================================

With ``StoreView.can_scan``, where ``SCAN_LANES`` is not 0:

=================================================  =================================================================
``long long segments(g)``                          number of segments, numbered in address order
``for_segment(g, s, lane, f)``                     calls ``f(v, slot)`` once per edge in segment ``s``
``uint32_t segment_owner(g, s)``                   with ``owner_per="segment"``: as above
``uint32_t slot_owner(g, slot)``                   with ``owner_per="slot"``: as above
``long long updated_segments(g)``                  with ``has_updated``: number of segments inserted into
``long long updated_segment(g, i)``                with ``has_updated``: number of the ``i``-th of them
``for_updated(g, s, lane, f)``                     with ``has_updated``: ``f(v, slot)`` once per inserted edge in it
=================================================  =================================================================

A program in which ``SCAN_LANES`` or ``HAS_UPDATED`` contradict the view does not compile.

The threads that share a bucket, a vertex or a segment call these functions together, with equal arguments but ``lane``;
``f`` may diverge between them, so it must not use warp-wide primitives.
"""

from __future__ import annotations

import importlib

from suricate.base.public import listing
from suricate.base.types import StoreView

__all__ = ["ALWAYS", "LATER", "OPTIONAL", "OWNER", "UPDATED", "missing_functions"]
__dir__ = listing(__all__)

LATER = 128  #: edges ahead at which arrays are prefetched
ALWAYS = ("degree", "buckets", "first", "begin", "end", "following", "key", "find")
OPTIONAL = ("ahead", "common", "copied", "later")
UPDATED = ("updated_count", "updated_segment", "is_fresh")
OWNER = {"segment": "segment_owner", "slot": "slot_owner"}


def missing_functions(view: StoreView) -> list[str]:
    """Return the names of the cursor functions that ``view`` requires and its Numba module does not define."""
    module = importlib.import_module(view.cursor)
    wanted = [*ALWAYS, *(("weight",) if view.weight_dtype is not None else ())]
    if view.has_updated:
        wanted += [*UPDATED, OWNER[view.owner_per]]
    return [name for name in wanted if not hasattr(module, name)]
