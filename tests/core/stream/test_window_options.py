"""Windows with every option against a second model: counters, weights, names and their ids, slide by slide."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from replay_model import Replay, Shown

import suricate as su
import suricate.stream as st

CPU = {"device": "cpu", "weight_dtype": "float64"}
ROLES = ("time", "src", "dst", "weight", "kind")


def random_events(rng: random.Random) -> list[tuple]:
    """Events with equal times, gaps and late ones; names come and go."""
    now, found, spread = 0, [], rng.choice([1, 8, 40])
    for _ in range(rng.randrange(1, 70)):
        now += rng.choice([0, 0, 1, 3, rng.choice([0, 0, 0, 50])])
        src, dst = (f"n{now // 20 + rng.randrange(4)}" for _ in range(2))
        found.append((now - rng.randrange(spread), src, dst, rng.randrange(-3, 4), rng.choice([1, 1, 1, -1, 0])))
    return found


def chunks(events: list[tuple], rng: random.Random, roles: tuple[str, ...] = ROLES) -> list[dict[str, Any]]:
    """The events as chunks, cut at random places."""
    cuts = sorted({0, len(events), *(rng.randrange(len(events) + 1) for _ in range(rng.randrange(5)))})
    parts = [events[begin:end] for begin, end in itertools.pairwise(cuts)]
    columns = [dict(zip(ROLES, zip(*part, strict=True), strict=True)) for part in parts]
    return [{role: np.array(part[role]) for role in roles} for part in columns]


def shown(job: st.Window, size: int | None, *, directed: bool = True) -> list[Shown]:
    found = []
    for w in job:
        names = job.names
        src, dst, weight = w.graph.edges()
        pairs = zip(names[src].tolist(), names[dst].tolist(), strict=True)
        edges = {pair if directed else tuple(sorted(pair)): value for pair, value in zip(pairs, weight, strict=True)}
        ids = dict(zip(names, names.ids.tolist(), strict=True))
        assert w.graph.num_live == len(ids)
        assert w.start == (None if size is None else w.end - size)
        counts = w.left, w.taken, w.unmatched, w.partial, w.late, w.skipped, w.lag
        assert job.history["late"][-1] == w.late
        found.append(Shown(w.end, w.events, *counts, edges, ids))
    return found


@pytest.mark.parametrize("seed", range(80))
def test_windows_of_time(seed: int) -> None:
    rng = random.Random(seed)
    events, slide = random_events(rng), rng.randrange(1, 9)
    size, lateness = rng.choice([None, slide, slide + rng.randrange(20)]), rng.choice([0, rng.randrange(30)])
    ahead, origin = rng.choice([None, lateness + 1 + rng.randrange(60)]), rng.choice([0, rng.randrange(9)])
    every, hold, directed = rng.random() < 0.3, rng.random() < 0.3, rng.random() < 0.7
    combine = rng.choice(["last", "first", "sum", "count", "min", "max"])
    model = Replay(size, slide, lateness, origin, ahead, combine, directed, every, hold, keep=seed % 5 == 0)
    job = st.Window(
        st.source(chunks(events, rng), on_error="skip"), size=None if size is None else str(size), slide=str(slide),
        lateness=str(lateness), origin=str(origin), ahead=None if ahead is None else str(ahead), combine=combine,
        empty="emit" if every else "skip", at_end="hold" if hold else "close", names=su.Names(keep=model.keep),
        graph={**CPU, "directed": directed},
    )  # fmt: skip
    assert shown(job, size, directed=directed) == model.run(events)
    assert (job.late, job.skipped, job.read) == (len(model.late), len(model.skipped), len(events))


@pytest.mark.parametrize("seed", range(20))
def test_windows_of_counts(seed: int) -> None:
    rng = random.Random(seed)
    events, slide = [(at, *event[1:]) for at, event in enumerate(random_events(rng))], rng.randrange(1, 9)
    size = rng.choice([None, slide, slide + rng.randrange(20)])
    job = st.Window(chunks(events, rng, ROLES[1:]), size=size, slide=slide, names=True, graph=CPU)
    assert shown(job, size) == Replay(size, slide, -1).run(events)


@pytest.mark.parametrize("seed", range(20))
def test_windows_of_steps(seed: int) -> None:
    rng = random.Random(seed)
    events, marked, step = [], [], 0
    for event in random_events(rng):
        events.append((step, *event[1:]))
        marked += chunks([events[-1]], rng, ROLES[1:])
        if rng.random() < 0.3:
            step += 1
            marked.append(st.MARK)
    size = rng.choice([None, 1, 3, 5])
    found = shown(st.Window(marked, size=size, slide="step", names=True, graph=CPU), size)
    expected = Replay(size, 1).run(events)
    marks = {"partial": False, "lag": 0}  # the model has no marks: the next event closes a slide
    assert [each._replace(**marks) for each in found] == [each._replace(**marks) for each in expected]
