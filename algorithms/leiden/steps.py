"""The steps of communities by operators, for CUDA and divided graphs; the loops of ``loops_cpu.py`` do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.algorithms.shared.hash import mixed
from suricate.base.devices import any_true
from suricate.base.effects import atomic, unite
from suricate.base.types import EMPTY
from suricate.operators import converge, edge_map, neighbor_reduce

if TYPE_CHECKING:
    from suricate.algorithms.leiden.levels import Communities, Level
    from suricate.base.devices import Array
    from suricate.graph import Graph

ODD, LOW = 0x9E3779B9, 0xFFFFFFFF


def units(w, unit):
    """Return how many times ``unit`` the weight ``w`` is, rounded: below 2^53."""
    return np.int64(np.floor(w / unit + 0.5))


def rounded(w, unit):
    """Return ``w`` rounded to a multiple of ``unit``."""
    return np.floor(w / unit + 0.5) * unit


def strength_of(u, v, w, unit):
    """Return what an edge adds to the strength of its end: its weight, of a self-loop twice."""
    return rounded(w, unit) * (2 if u == v else 1)


def loop_of(u, v, w, unit):
    """Return the weight of a self-loop, 0 of other edges."""
    return rounded(w, unit) if u == v else 0.0


def inside_of(u, v, w, label, unit):
    """Return the weight of an edge within a community, of a self-loop twice: summed over all arcs that is twice."""
    return (rounded(w, unit) * (2 if u == v else 1)) if label[u] == label[v] else 0.0


def strengths(graph: Graph, unit: float) -> tuple[Array, Array]:
    """Return the strength of each vertex and the weight of its self-loop, ``float64``."""
    both = [
        neighbor_reduce(graph, None, fn, args=(unit,), reduce="sum", dtype="float64") for fn in (strength_of, loop_of)
    ]
    return both[0], both[1]


def inside(graph: Graph, label: Array, unit: float) -> float:
    """Return the weight of all edges within communities, each once; waits."""
    return float(neighbor_reduce(graph, None, inside_of, args=(label, unit), reduce="sum", dtype="float64").sum()) / 2


def has_turn(v, step, classes, n, key):
    """Return whether sub-round ``step`` is that of ``v``: by a hash, or one vertex at a time from ``n`` classes on."""
    return (
        step % classes == v
        if classes >= n
        else mixed((v + ODD * (step // classes)) & LOW, key) & (classes - 1) == step & (classes - 1)
    )


def vote(u, v, w, label, total, count, strength, size, own, wanted, scale, margin, unit, *others):  # noqa: PLR0913
    """Return the community of a neighbour and the weight of the edge to it, in units; self-loops do not count."""
    return label[u], (units(w, unit) if u != v else 0)


def gain(v, c, weight, label, total, count, strength, size, own, wanted, scale, margin, unit, *others):  # noqa: PLR0913
    """Return what ``v`` gains in community ``c``, to which its edges have ``weight``; its own one is preferred."""
    mine = c == label[v]
    inside = total[c] - (strength[v] if mine else 0.0)
    return weight * unit - strength[v] / unit * inside * scale + (margin if mine else 0.0)


def choose(v, c, weight, label, total, count, strength, size, own, wanted, scale, margin, unit, *others):  # noqa: PLR0913
    """Write the community that ``v`` takes to ``wanted[v]``; ``c`` is the best. Wake neighbours if it is another."""
    wanted[v] = label[v]
    if c == EMPTY:
        return 0
    mine = c == label[v]
    k = strength[v]
    most = weight * unit - k / unit * (total[c] - (k if mine else 0.0)) * scale + (margin if mine else 0.0)
    if not mine and most <= margin - k / unit * (total[label[v]] - k) * scale:  # as no edge leads to its own
        return 0
    wanted[v] = own[v] if most - (margin if mine else 0.0) < -margin and count[own[v]] == 0 else c
    return 2 if wanted[v] != label[v] else 0


def publish(v, label, total, count, strength, size, own, wanted, *others):
    """Move ``v`` to the community ``wanted[v]``, and its strength and size with it."""
    if wanted[v] != label[v]:
        atomic.add(total, label[v], -strength[v])
        atomic.add(total, wanted[v], strength[v])
        atomic.add(count, label[v], -size[v])
        atomic.add(count, wanted[v], size[v])
        label[v] = wanted[v]


def takes_turns(v, step, label, total, count, strength, size, own, wanted, scale, margin, unit, key, classes, n):  # noqa: PLR0913
    """Return whether sub-round ``step`` is that of ``v``."""
    return has_turn(v, step, classes, n, key)


def move(communities: Communities, level: Level, active: Array | None, classes: int, most: int) -> bool:
    """Move vertices as the loop ``move`` does; return whether none is left that gains; waits."""
    every, graph, rule = communities, level.graph, communities.rule
    args = (
        level.label, every.total, every.count, level.strength, level.size, level.own, level.label.copy(), rule.scale,
        rule.margin, every.unit, every.key, classes, graph.num_vertices,
    )  # fmt: skip
    done = converge(
        graph, active, vote, args=args, reduce="vote", over="in", score=gain, keep=level.label, then=choose,
        labels=len(every.total), commit=publish, turn=takes_turns, wake="both", max_steps=most,
    )  # fmt: skip
    return bool(done.converged)


def within(u, v, w, label, unit):
    """Return the weight of an edge to the own community; self-loops do not count."""
    return rounded(w, unit) if label[u] == label[v] and u != v else 0.0


def join_vote(u, v, w, label, total, strength, sub, members, heavy, inner, wanted, scale, unit, key, classes):  # noqa: PLR0913
    """Return the part of a neighbour and the weight to it, in units; 0 in another community, or if it may leave now."""
    here = label[u] == label[v] and u != v
    leaves = here and members[sub[u]] == 1 and (mixed(u, key) ^ mixed(v, key)) & (classes - 1) == 0
    return (sub[u] if here else 0), (units(w, unit) if here and not leaves else 0)


def join_gain(v, s, weight, label, total, strength, sub, members, heavy, inner, wanted, scale, unit, *others):  # noqa: PLR0913
    """Return what ``v`` gains in part ``s``."""
    return weight * unit - strength[v] / unit * heavy[s] * scale


def join(v, s, weight, label, total, strength, sub, members, heavy, inner, wanted, scale, unit, *others):  # noqa: PLR0913
    """Write the part that ``v`` joins to ``wanted[v]``: ``s``, if it is alone, gains, and is well connected."""
    k = strength[v]
    well = inner[v] >= k / unit * (total[label[v]] - k) * scale
    gains = s != EMPTY and weight * unit - k / unit * heavy[s] * scale > 0
    wanted[v] = s if gains and well and members[sub[v]] == 1 else sub[v]
    return 0


def publish_part(v, label, total, strength, sub, members, heavy, inner, wanted, *others):
    """Move ``v`` to the part ``wanted[v]``."""
    if wanted[v] != sub[v]:
        atomic.add(members, sub[v], -1)
        atomic.add(members, wanted[v], 1)
        atomic.add(heavy, sub[v], -strength[v])
        atomic.add(heavy, wanted[v], strength[v])
        sub[v] = wanted[v]


def has_its_turn(v, step, label, total, strength, sub, members, heavy, inner, wanted, scale, unit, key, classes):  # noqa: PLR0913
    """Return whether sub-round ``step`` is the only one of ``v``, which no other vertex has joined."""
    return mixed(v, key) & (classes - 1) == step & (classes - 1) and members[sub[v]] == 1


def refine(
    communities: Communities, level: Level, key: int, classes: int, sub: Array, members: Array, heavy: Array
) -> None:
    """Divide communities into parts as the loop ``refine`` does."""
    graph, every, rule = level.graph, communities, communities.rule
    of = level.label, every.unit
    inner = neighbor_reduce(graph, None, within, args=of, reduce="sum", over="in", dtype="float64")
    args = (
        level.label, every.total, level.strength, sub, members, heavy, inner, sub.copy(), rule.scale, every.unit, key,
        classes,
    )  # fmt: skip
    converge(
        graph, None, join_vote, args=args, reduce="vote", over="in", score=join_gain, then=join, commit=publish_part,
        turn=has_its_turn, wake=None, max_steps=classes,
    )  # fmt: skip


def unite_inside(u, v, w, label, sets):
    """Unite the ends of an edge within a community."""
    if label[u] == label[v]:
        unite(sets, u, v)


def split(communities: Communities) -> Array:
    """Divide communities as the loop ``split`` does, whatever divided them; a pass over all edges. Waits.

    The host sees the parts of divided communities, and the members of those that get new labels.
    """
    base, every, device = communities.base, communities, communities.base.graph.device
    xp, host, n = device.xp, device.to_numpy, len(base.label)
    sets = base.graph.union_find()
    edge_map(base.graph, None, unite_inside, args=(base.label, sets))
    part = sets.labels()  # the smallest vertex of each
    first = xp.flatnonzero((part == xp.arange(n, dtype=np.uint32)) & (base.size > 0))
    several = xp.bincount(base.label[first], minlength=n)[base.label[first]] > 1
    if not any_true(several):
        return xp.empty(0, np.uint32)
    first = first[several]
    size, old = host(xp.bincount(part, minlength=n)[first]), host(base.label[first])
    order = np.lexsort((-size, old))  # the largest part of each community first, of equal ones the first
    is_kept = np.append(True, old[order][1:] != old[order][:-1])
    renamed = np.sort(order[~is_kept])
    is_renamed = xp.zeros(n, bool)
    is_renamed[first[xp.asarray(renamed)]] = True
    ids = xp.flatnonzero(is_renamed[part])
    ids = ids[xp.argsort(part[ids], kind="stable")]  # part by part
    is_free, sizes = host(every.count[ids] == 0), size[renamed]
    begin = np.cumsum(sizes) - sizes
    at = np.minimum.reduceat(np.where(is_free, np.arange(len(ids)), len(ids)), begin)  # the first of each that is free
    named = at < len(ids)
    new = np.append(host(ids), 0)[at]
    if not named.all():
        is_label = (every.count > 0) | (base.size == 0)
        is_label[xp.asarray(new[named])] = True
        new[~named] = host(xp.flatnonzero(~is_label)[: int((~named).sum())])
    labels, before, weight = xp.asarray(np.repeat(new, sizes).astype(np.uint32)), base.label[ids], base.strength[ids]
    every.count += xp.bincount(labels, minlength=n) - xp.bincount(before, minlength=n)
    every.total += xp.bincount(labels, weight, n) - xp.bincount(before, weight, n)
    base.label[ids] = labels
    return ids.astype(np.uint32)
