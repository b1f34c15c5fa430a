"""Passes over events in order of time, which find arrivals and the fastest paths."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch

FIRST = np.int64(-(1 << 63))  #: at no time
AHEAD = 24  #: events ahead for which the arrival times are loaded,
MANY = 1 << 16  #: if there are more vertices than the cache has


@inner
def group_end(passed, begin):
    """Return the end of the events that are read together from ``begin`` on: all; with ``through`` those of a time."""
    time = passed.time
    if not passed.through:
        return len(time)
    end = begin + 1
    while end < len(time) and time[end] == time[begin]:
        end += 1
    return end


@inner
def arrive(passed, i, u, v, time, event):
    """Let event ``i`` lead from ``u`` to ``v``; return whether ``v`` is reached by that, for the first time."""
    now = passed.time[i]
    if (time[u] < now or (passed.through and time[u] == now)) and now < time[v]:
        time[v], event[v] = now, passed.first + i
        return True
    return False


@kernel
def find_arrivals(passed, time, event):
    """Find when vertices are reached first.

    Args:
        passed: the events, a ``Passed``.
        time: int64[n], updated: -2^63 at the source, 2^63 - 1 elsewhere.
        event: int64[n], updated: the numbers of the events that reached vertices.
    """
    begin, far = 0, len(time) > MANY
    while begin < len(passed.time):
        end, step = group_end(passed, begin), 1
        changed = True
        while changed:
            changed = False
            i = begin if step > 0 else end - 1
            while begin <= i < end:
                if far and i + AHEAD < len(passed.src):
                    prefetch(time, np.int64(passed.src[i + AHEAD]))
                    prefetch(time, np.int64(passed.dst[i + AHEAD]))
                if len(passed.alive) == 0 or passed.alive[i] != 0:
                    u, v = passed.src[i], passed.dst[i]
                    changed |= arrive(passed, i, u, v, time, event)
                    if passed.both:
                        changed |= arrive(passed, i, v, u, time, event)
                i += step
            changed &= passed.through and end - begin > 1
            step = -step
        begin = end


@inner
def depart(passed, i, u, v, source, latest, since, before, duration, departure, event):
    """Let event ``i`` lead from ``u`` to ``v``; return whether a path of later departure, or a faster one, was found.

    The arguments are those of :func:`find_fastest`.
    """
    now = passed.time[i]
    if u == source:
        begun = now
    elif passed.through or since[u] < now:
        begun = latest[u]
    else:
        begun = before[u]
    if v == source or begun == FIRST:
        return False
    later = begun > latest[v]
    if later:
        if since[v] < now:
            before[v] = latest[v]
        latest[v], since[v] = begun, now
    if now - begun < duration[v] or (now - begun == duration[v] and passed.first + i < event[v]):  # of one time
        duration[v], departure[v], event[v] = now - begun, begun, passed.first + i
    return later


@kernel
def find_fastest(passed, source, latest, since, before, duration, departure, event):
    """Find the fastest paths from the vertex ``source``.

    Args:
        passed: the events, a ``Passed``.
        source: where paths begin.
        latest: int64[n], updated: when the path departed that departed last of those that have arrived by now.
        since: int64[n], updated: when that last changed.
        before: int64[n], updated: what ``latest`` was before this time. All three: -2^63 for none.
        duration, departure, event: int64[n], updated: the answer, see ``Fastest``.
    """
    begin = 0
    while begin < len(passed.time):
        end, step = group_end(passed, begin), 1
        changed = True
        while changed:
            changed = False
            i = begin if step > 0 else end - 1
            while begin <= i < end:
                if len(passed.alive) == 0 or passed.alive[i] != 0:
                    u, v, state = passed.src[i], passed.dst[i], (latest, since, before, duration, departure, event)
                    changed |= depart(passed, i, u, v, source, *state)
                    if passed.both:
                        changed |= depart(passed, i, v, u, source, *state)
                i += step
            changed &= passed.through and end - begin > 1
            step = -step
        begin = end
