"""Samples of a log: trees of past events, as of a time, for the CPU and CUDA; checks, and times made into numbers.

Numbers ascend by time, so that "before t" is "below the number of the first event at t or later": one search per root,
after which samplers compare numbers of 32 bits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import DTypeError, ParameterError, RequirementError, ShapeError, UnknownNameError
from suricate.base.parameters import flag, integer, is_number, one_of, shown
from suricate.events.record import FIRST, LAST
from suricate.events.sampling import cuda
from suricate.events.sampling.starting import Asked
from suricate.events.sampling.trees import Drawn, Plan
from suricate.graph.naming import are_texts
from suricate.intake.arrays import as_array, as_ids, on_host, placed
from suricate.operators.sampling import Sample, checked_fan, given_ids, roots_of

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.events import Events
    from suricate.intake.names import Names

TAKE, HOPS = ("uniform", "recent"), ("seed", "back")


def sample(
    log: Events, vertices: Any, fan: Any, at: Any, span: Any, take: Any, through: Any, hops: Any, replace: Any,
    seed: Any, ids: Any,
) -> Sample:  # fmt: skip
    """Draw what ``Events.sample`` returns."""
    plan = _plan_of(fan, take, hops, replace, through)
    seed = integer("seed", seed, low=FIRST, high=LAST)
    span = None if span is None else integer("span", span, low=1, high=LAST)
    if log.names is not None and not are_texts(vertices):
        _demand_names(log.names, log.num_vertices, vertices)
    draw = _on_cuda if log.device.is_cuda else _on_cpu
    drawn, has_left = draw(log, plan, vertices, at, span, seed, ids)
    node, row, col, event, time, batch, nodes_per_hop, edges_per_hop = drawn
    return Sample(node, row, col, batch, nodes_per_hop, edges_per_hop, log, event, time, has_left)


def _plan_of(fan: Any, *words: Any) -> Plan:
    """Return the plan of the arguments of a sample: ``fan``, then ``take``, ``hops``, ``replace`` and ``through``."""
    if isinstance(fan, (list, tuple)):
        try:
            return _known_plan(*words, *fan)
        except TypeError:  # something cannot be looked up: nor is it valid, which the checks say
            pass
    return _checked_plan(fan, *words)


@lru_cache(typed=True)  # True is no 1
def _known_plan(take: Any, hops: Any, replace: Any, through: Any, *fan: Any) -> Plan:
    return _checked_plan(fan, take, hops, replace, through)


def _checked_plan(fan: Any, take: Any, hops: Any, replace: Any, through: Any) -> Plan:
    replaces, recent = flag("replace", replace), one_of("take", take, TAKE) == "recent"
    plan = Plan(
        checked_fan(fan, low=-1, high=(1 << 31) - 1), recent, one_of("hops", hops, HOPS) == "back", replaces,
        flag("through", through),
    )  # fmt: skip
    if 0 in plan.fan:
        raise ParameterError("fan has a 0: pass at least 1 per hop, or -1 for all events")
    if replaces and (recent or -1 in plan.fan):
        raise RequirementError("replace=True is for uniform draws of a number of events: not for all, nor the latest")
    return plan


def _on_cpu(
    log: Events, plan: Plan, vertices: Any, at: Any, span: int | None, seed: int, ids: Any
) -> tuple[Drawn, Array]:
    """Return what ``plan`` draws, and of which trees events have left."""
    from suricate.events.sampling.cpu import sample_trees, start_trees  # imports Numba

    given = _checked(log, plan.through, vertices, at, ids)
    trees, has_left = start_trees(log._record, *given, span, plan.through, seed, _time_or_oldest(log._expired))
    return sample_trees(log._index.rows, log._record, trees, plan), has_left


def _on_cuda(
    log: Events, plan: Plan, vertices: Any, at: Any, span: int | None, seed: int, ids: Any
) -> tuple[Drawn, Array]:
    """Return the same on CUDA, where a kernel checks values, which the host would wait for, as it starts the trees."""
    roots = roots_of(log, vertices) if are_texts(vertices) else as_ids(vertices, "vertices")
    roots, count = placed(roots, log.device, "vertices", "log"), len(roots)
    times, names = _times(log, at, count), None if ids is None else given_ids(ids, count, log.device)
    limits = log.num_vertices, _time_or_oldest(log.closed), _time_or_oldest(log._expired)
    asked = Asked(roots, times, span, seed, names, limits)
    drawn = cuda.draw(log._index.rows, log._record, log._workspace, plan, asked)
    if drawn is None:
        _checked(log, plan.through, vertices, at, ids)
        raise AssertionError("a kernel found a root or a time invalid, the host did not")
    return drawn


def _checked(log: Events, through: bool, vertices: Any, at: Any, ids: Any) -> tuple[Array, Array, Array | None]:
    """Return roots, a time for each, and ids or None; raises for arguments that are invalid."""
    roots = roots_of(log, vertices)
    times, count = _times(log, at, len(roots)), len(roots)
    if count:
        _demand_final(log, times if isinstance(times, int) else int(times.max()), through)
    if isinstance(times, int):
        times = log.device.xp.full(count, times, np.int64)
    return roots, times, None if ids is None else given_ids(ids, count, log.device)


def _demand_names(names: Names, bound: int, vertices: Any) -> None:
    """Raise ``UnknownNameError`` if one of the ids ``vertices``, below ``bound``, has no name."""
    ids = on_host(as_ids(vertices, "vertices"))
    forgotten = [] if not len(ids) or int(ids.min()) < 0 else ids[(ids < bound) & ~names.has(ids)]
    if len(forgotten):
        why = "a name is forgotten with its last event, and its id is given to another one"
        raise UnknownNameError(f"vertices: id {int(forgotten[0])} has no name: {why}; su.Names(keep=True) keeps names")


def _time_or_oldest(time: int | None) -> int:
    return FIRST if time is None else time


def _demand_final(log: Events, time: int, through: bool) -> None:
    """Raise ``RequirementError`` if a sample at ``time`` could still change."""
    closed, latest = log.closed, _time_or_oldest(log.closed)
    if time < latest or (time == latest and not through):
        return
    known = f"is final before {closed}; pass at= {'before it' if through else 'that time at most'}, or"
    known = "has no events yet;" if closed is None else known
    advice = "say log.close_before(t) if no event before t comes any more"
    raise RequirementError(f"the sample at {time} could still change: the log {known} {advice}")


def _times(log: Events, at: Any, count: int) -> Array | int:
    """Return ``at``, one time for all roots or ``int64[count]``; None is the time up to which the log is final.

    Raises:
        DTypeError, ShapeError, ParameterError, DeviceError: ``at`` is no integer, and not one integer per root.
    """
    if at is None:
        return _time_or_oldest(log.closed)
    if getattr(at, "ndim", 0) == 0 and is_number(at):
        return integer("at", at, low=FIRST, high=LAST)
    given = as_array(at, "at")
    if given.dtype.kind not in "iu" and given.size:
        has_unit = given.dtype.kind == "M"
        advice = " (of a window's log nanoseconds; the end of the slide is log.closed)" if has_unit else ""
        raise DTypeError(f"at has dtype {given.dtype}: times are integers, ticks of the log's unit{advice}")
    if given.ndim != 1 or len(given) != count:
        raise ShapeError(f"at has shape {given.shape} for {count} vertices: pass one time, or one per vertex")
    if count and given.dtype == np.uint64 and int(given.max()) > LAST:
        raise ParameterError(f"at has {shown(int(given.max()))}: times are int64")
    return placed(given, log.device, "at").astype(np.int64, copy=False)
