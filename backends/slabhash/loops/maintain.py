"""The loops of ``slabhash`` on the CPU over all storage: planning buckets, counting, moving, freeing, copying."""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash import loops
from suricate.backends.slabhash.cursor import (
    KEY_EMPTY,
    bucket_count,
    buckets,
    decode,
    degree_place,
    first_slab,
    following,
    head_place,
    head_word,
)
from suricate.backends.slabhash.layout import BUMP, SEVERAL, TOUCHED
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import one_bits, trailing_zeros


@kernel
def put_back(place, size, status, before, all_status, all_before):
    """Write the outcome of a part of a batch to the arrays of the whole batch: edge i of the part is edge ``place[i]``.

    ``status`` (uint8) goes to ``all_status``, weights ``before`` (``size`` 32-bit words each) go to ``all_before``.
    """
    for i in range(len(place)):
        all_status[place[i]] = status[i]
        for t in range(size):
            all_before[np.int64(place[i]) * size + t] = before[i * size + t]


@kernel
def count_keys(src, counts):
    """Add the number of edges of each source in ``src`` to ``counts`` (uint32 per vertex) in place."""
    for i in range(len(src)):
        if i + loops.FAR < len(src):
            prefetch(counts, np.int64(src[i + loops.FAR]))
        counts[src[i]] += np.uint32(1)


@kernel
def plan_buckets(expected, per_bucket, fits, hashing, codes, first, last):
    """Write encoded numbers of buckets for degrees ``expected[first:last]`` to ``codes``, zeros; return their sum.

    A vertex of expected degree 0 gets none, one of up to ``fits`` edges (without ``hashing`` any) gets one; else a
    bucket is for ``per_bucket`` edges.
    """
    total = np.int64(0)
    for v in range(first, last):
        if expected[v] > 0:
            several = hashing and expected[v] > fits
            count = np.int64(np.ceil(expected[v] / per_bucket)) if several else np.int64(1)
            codes[v] = loops.encode(max(np.int64(1), count))
            total += decode(codes[v])
    return total


@kernel
def write_tables(codes, old, vertex, buckets, first, last, head):
    """Write ``vertex`` and ``buckets`` (as in ``Slabs``) for vertices ``[first, last)`` as the plan ``codes`` says.

    Head slabs are numbered from ``head`` on, in the order of the vertices. Degrees come from the old array ``old``.
    Vertices without buckets keep the zeros that are there.
    """
    for v in range(first, last):
        code = codes[v]
        if code:
            vertex[head_place(v)] = np.uint32(head | SEVERAL if code > 1 else head) ^ KEY_EMPTY
            vertex[degree_place(v)] = old[degree_place(v)]
            buckets[v] = code
            head += decode(code)


@kernel
def place_heads(codes, owner, first, last, at):
    """Write the owners of the head slabs of vertices ``[first, last)``: slabs from ``at`` on, in order of the vertices.

    ``codes`` (uint16 per vertex) are the planned, encoded numbers of buckets; ``owner`` (uint32 per slab) is changed.
    """
    for v in range(first, last):
        end = at + decode(codes[v])
        owner[at:end] = v
        at = end


@inner
def ask_for_head(g, v):
    """Prefetch the first head slab of vertex ``v``."""
    head = head_word(g, v)
    if head != KEY_EMPTY:
        loops.fetch_slab(g, first_slab(head))


@inner
def free_slots(g, slab):
    """Return the number of key slots without a key in the chain from ``slab`` on, or 254 if there are more."""
    free = np.int64(0)
    while slab >= 0:
        free += one_bits(loops.match_free(g, slab * g.words))
        slab = following(g, slab)
    return min(free, np.int64(254))


@kernel
def count_slabs(g, bump, src, dst, heads, left, fresh):
    """Return an upper bound of the slabs that inserting the edges (``src``, ``dst``) needs.

    The head slabs have indices below ``bump``. ``fresh``: all head slabs are empty; the pool is not read then.
    ``heads`` (int64[RING]) is scratch of :func:`loops.fetch`. ``left`` (uint8[bump + vertices], zero before) is
    scratch, too: 1 plus the free slots of a chain, at the index of its head slab, or at ``bump + u`` for a vertex u
    without storage.
    """
    need = np.int64(0)
    for i in range(-loops.FAR, len(src)):
        if i + loops.FAR < len(src):
            prefetch(g.vertex, head_place(src[i + loops.FAR]))
        if 0 <= i + loops.MIDWAY < len(src):
            ahead = loops.head_of(g, src[i + loops.MIDWAY], dst[i + loops.MIDWAY])
            if ahead < 0:
                ahead = bump + np.int64(src[i + loops.MIDWAY])
            heads[(i + loops.MIDWAY) & (loops.RING - 1)] = ahead
            prefetch(left, ahead)
            if not fresh and ahead < bump:
                loops.fetch_slab(g, ahead)
        if not fresh and 0 <= i + loops.NEAR < len(src):
            ahead = heads[(i + loops.NEAR) & (loops.RING - 1)]
            if ahead < bump:
                after = following(g, ahead)
                loops.fetch_slab(g, ahead if after < 0 else after)
        if i < 0:
            continue
        at = heads[i & (loops.RING - 1)]
        slots = np.int64(left[at]) - 1
        if slots < 0:
            slots = np.int64(0) if at >= bump else np.int64(g.keys) if fresh else free_slots(g, at)
        if slots == 0:
            need += 1
            slots = np.int64(g.keys)
        left[at] = slots
    return need


@kernel
def count_moves(old, plan, left, first, last):
    """Return an upper bound of the slabs, besides heads, that edges of vertices ``[first, last)`` need when they move.

    ``old`` are the arrays with the edges, ``plan`` those with the new head words and bucket codes. ``left`` (uint8 per
    head slab of ``plan``, zero before) becomes 1 plus the free slots in the last slab of a chain that gets edges.
    """
    need = np.int64(0)
    for u in range(first, last):
        if u + loops.NEAR < last:
            ask_for_head(old, u + loops.NEAR)
        for k in range(buckets(old, u)):
            slab = first_slab(head_word(old, u)) + k
            while slab >= 0:
                base = slab * old.words
                for j in range(old.keys):
                    v = old.pool[base + j]
                    if v < loops.KEY_TOMBSTONE:
                        at = loops.head_of(plan, u, v)
                        slots = np.int64(left[at]) - 1
                        if slots < 0:
                            slots = np.int64(old.keys)
                        if slots == 0:
                            need += 1
                            slots = np.int64(old.keys)
                        left[at] = slots
                slab = following(old, slab)
    return need


@kernel
def move_edges(old, g, first, last):
    """Copy the edges of vertices ``[first, last)`` from the arrays ``old`` to their buckets, still empty, in ``g``."""
    for v in range(first, last):
        if v + loops.NEAR < last:
            ask_for_head(old, v + loops.NEAR)
        for k in range(buckets(old, v)):
            slab = first_slab(head_word(old, v)) + k
            while slab >= 0:
                loops.move_slab(old, slab, g, first_slab(head_word(g, v)), bucket_count(g, v))
                slab = following(old, slab)


@kernel
def count_edges(vertex, first, last):
    """Return the sum of the degrees of vertices ``[first, last)``; ``vertex`` is the array of ``Slabs`` with degrees.

    NumPy would allocate a buffer to add 32-bit numbers to a 64-bit sum.
    """
    total = np.int64(0)
    for v in range(first, last):
        total += vertex[degree_place(v)]
    return total


@kernel
def cut_evenly(vertex, num_vertices, total, cuts):
    """Cut the vertices into ``len(cuts)`` ranges with about equally many edges; ``total`` is the number of all edges.

    ``cuts`` (int64[ranges, 2]) gets the first vertex of each range, and the number of edges before it. ``vertex`` is
    the array of ``Slabs`` with the degrees.
    """
    part, before = 0, np.int64(0)
    for v in range(num_vertices):
        while part < len(cuts) and before * len(cuts) >= total * part:
            cuts[part, 0], cuts[part, 1] = v, before
            part += 1
        before += vertex[degree_place(v)]
    for later in range(part, len(cuts)):
        cuts[later, 0], cuts[later, 1] = num_vertices, before


@kernel
def free_vertices(g, vertices):
    """Free all slabs of ``vertices`` (array of ids), which then have no edges and no storage."""
    for v in vertices:
        if head_word(g, v) != KEY_EMPTY:
            loops.release_chains(g, first_slab(head_word(g, v)), bucket_count(g, v))
            loops.set_head(g, v, KEY_EMPTY, 0)
            g.vertex[degree_place(v)] = 0


@kernel
def list_free(g, found):
    """Write the indices of the free slabs below the counter BUMP to ``found``, which is long enough for them."""
    at = 0
    for slab in range(np.int64(g.counters[BUMP])):
        if g.owner[slab] == KEY_EMPTY:
            found[at] = slab
            at += 1


@inner
def copy_slab(g, slab, slots, dst, weights, at):
    """Copy edges of slab ``slab`` to ``dst[at:]`` and ``weights`` (32-bit words); return the place behind the last one.

    Copied are the edges whose key slot is in the mask ``slots`` (-1: all) and holds a key.
    """
    base = slab * g.words
    slots &= loops.match_free(g, base) ^ ((1 << g.keys) - 1)
    while slots:
        slot = base + trailing_zeros(slots)
        slots &= slots - 1
        dst[at] = g.pool[slot]
        for t in range(g.weight_words):
            weights[at * g.weight_words + t] = g.pool[loops.weight_of(g, slot) + t]
        at += 1
    return at


@inner
def copy_vertex(g, v, dst, weights, at):
    """Copy the edges of ``v`` to ``dst[at:]`` and ``weights`` (32-bit words); return the place behind the last one."""
    for k in range(buckets(g, v)):
        slab = first_slab(head_word(g, v)) + k
        while slab >= 0:
            at = copy_slab(g, slab, np.int64(-1), dst, weights, at)
            slab = following(g, slab)
    return at


@kernel
def gather(g, vertices, offsets, dst, weights, first, last):
    """Copy the edges of ``vertices[i]``, for i in ``[first, last)``, to ``dst[offsets[i]:]`` and weights likewise."""
    for i in range(first, last):
        if i + loops.FAR < last:
            prefetch(g.vertex, head_place(vertices[i + loops.FAR]))
        if i + loops.NEAR < last:
            ask_for_head(g, vertices[i + loops.NEAR])
        copy_vertex(g, np.int64(vertices[i]), dst, weights, offsets[i])


@kernel
def gather_all(g, src, dst, weights, first, last, at):
    """Copy the edges of vertices ``[first, last)``, by source, to ``src[at:]``, ``dst[at:]``, and weights likewise."""
    for v in range(first, last):
        if v + loops.NEAR < last:
            ask_for_head(g, v + loops.NEAR)
        end = copy_vertex(g, v, dst, weights, at)
        src[at:end] = v
        at = end


@kernel
def gather_touched(g, src, dst, weights):
    """Copy the edges inserted since the mark to ``src``, ``dst`` and ``weights`` (32-bit words); return their number.

    They are ordered by slab, slabs in the order of their first insertion since the mark.
    """
    at = 0
    for t in range(g.counters[TOUCHED]):
        slab = np.int64(g.touched[t])
        end = copy_slab(g, slab, loops.fresh_slots(g, slab), dst, weights, at)
        src[at:end] = g.owner[slab]
        at = end
    return at


@kernel
def forget_touched(g):
    """Empty the list of slabs that were inserted into since the mark, and clear their entries in ``g.fresh``."""
    for t in range(g.counters[TOUCHED]):
        g.fresh[g.touched[t]] = 0
    g.counters[TOUCHED] = 0
