"""Algorithms kept current along real streams: mail in windows, and the Internet when two thirds of it were gone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_families import backend_at, check, options_of, params_of
from turns import few

import suricate as su
from suricate import io, plugins
from suricate.base.types import edge_keys, ends_of

pytestmark = pytest.mark.usefixtures("data_dir")

NAMES = (
    "bfs", "sssp", "wcc", "kcore", "triangles", "spmv", "pagerank", "coloring", "independent_set", "label_propagation",
)  # fmt: skip
STREAMS = ("caida", "enron")
COLLAPSE, STEPS = "20070917", 5


@cache
def graphs_of(folder: Path, stream: str) -> list[np.ndarray]:
    """The keys of the arcs at five moments, one after the other: around the collapse, or after every window."""
    if stream == "caida":
        base, steps = np.empty(0, np.uint64), list(io.read_events(folder / "dynamic/as-caida.events.txt.xz"))
        last = [step.label for step in steps].index(COLLAPSE) + STEPS - 2
    else:
        file = io.read(folder / "dynamic/enron-dynamic.base.txt.gz")
        base, steps = (
            edge_keys(file.src, file.dst),
            list(io.read_events(folder / "dynamic/enron-dynamic.updates.txt.gz")),
        )
        last = len(steps) - 1
    found = [after(base, steps[: last + 2 - STEPS])]
    for step in steps[last + 2 - STEPS : last + 1]:
        found.append(after(found[-1], [step]))
    return found


def after(arcs: np.ndarray, steps: Sequence[Any]) -> np.ndarray:
    """The keys of the arcs after some steps: those of which the last that is told is that they came."""
    parts = [arcs]
    for step in steps:
        parts += [edge_keys(part.src, part.dst) for part in (step.deletions, step.insertions)]
    came = np.repeat(np.arange(len(parts)) % 2 == 0, [len(part) for part in parts])
    keys, last = np.unique(np.concatenate(parts)[::-1], return_index=True)
    return keys[came[::-1][last]]


def both_ways(keys: np.ndarray) -> np.ndarray:
    """The keys of undirected edges: the smaller end first."""
    src, dst = ends_of(keys)
    return np.unique(edge_keys(np.minimum(src, dst), np.maximum(src, dst)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stream", "backend"),
    few(
        [(name, each, backend_at(number + at)) for number, name in enumerate(NAMES) for at, each in enumerate(STREAMS)],
        lambda name, *_: name,
    ),
)
def test_every_moment(data_dir: Path, device: su.devices.Device, name: str, stream: str, backend: str) -> None:
    algorithm = plugins.algorithm(name)
    moments, n = graphs_of(data_dir, stream), 0
    for keys in moments:
        n = max(n, int(np.max(ends_of(keys))) + 1)
    options = options_of(algorithm, directed=True, weighted=False)
    if not options["directed"]:
        moments = [both_ways(keys) for keys in moments]
    graph = su.Graph(n, device=str(device), backend=backend, **options)
    graph.insert_edges(*ends_of(moments[0]))
    params = params_of(algorithm, n)
    if "source" in params:
        params["source"] = int(np.bincount(ends_of(moments[0])[0]).argmax())
    tracker = graph.track(name, **params)
    for before, after in pairwise(moments):
        gone, new = np.setdiff1d(before, after), np.setdiff1d(after, before)
        graph.apply(su.Batch(insert=ends_of(new), delete=ends_of(gone)))
        assert graph.num_edges == len(after)
        check(tracker, params)
    assert (tracker.updates.updated + tracker.updates.computed, tracker.updates.failed) == (STEPS, 0)
