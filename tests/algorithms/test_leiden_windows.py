"""Communities over whole real streams, and of real graphs beside igraph; minutes in all."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate as su

pytestmark = [pytest.mark.slow, pytest.mark.compiled]
STREAMS = {  # length of the window, slide, slides between comparisons
    "CollegeMsg": (5_000, 50, 50),
    "email-Eu-core-temporal": (10_000, 500, 40),
    "sx-mathoverflow": (50_000, 5_000, 8),
}


def pairs_of(path: Path, columns: int) -> tuple[np.ndarray, int]:
    """The pairs of a file as numbers, by time if there are three columns, and the number of vertices."""
    with gzip.open(path) as file:
        rows = np.loadtxt(file, np.int64, usecols=range(columns))
    rows = rows[np.argsort(rows[:, 2], kind="stable")] if columns == 3 else rows
    rows = rows[rows[:, 0] != rows[:, 1], :2]
    names, ends = np.unique(rows, return_inverse=True)
    ends = ends.reshape(-1, 2)
    return ends.min(1) * len(names) + ends.max(1), len(names)


@pytest.mark.parametrize("name", STREAMS)
def test_windows_of_real_streams(name: str, data_dir: Path) -> None:
    """Over all windows the quality stays within 1 % of that from scratch, at worst 2.5 %, and labels last."""
    pair, n = pairs_of(data_dir / "temporal" / f"{name}.txt.gz", 3)
    size, slide, every = STREAMS[name]
    graph = su.Graph(n, device="cpu", directed=False, weight_dtype="float64")
    known, times = np.unique(pair[:size], return_counts=True)
    graph.insert_edges(known // n, known % n, times)
    tracker = graph.track("leiden")
    before, changed, gaps = tracker.result.label, [], []
    for number, at in enumerate(range(size, len(pair) - slide + 1, slide), 1):
        window = np.sort(pair[at + slide - size : at + slide])
        touched = np.unique(np.concatenate((pair[at - size : at - size + slide], pair[at : at + slide])))
        times = np.searchsorted(window, touched, "right") - np.searchsorted(window, touched)
        gone, kept = touched[times == 0], touched[times > 0]
        graph.apply(su.Batch(delete=(gone // n, gone % n), insert=(kept // n, kept % n, times[times > 0])))
        result = tracker.result
        changed.append(np.mean((result.label != before)[graph.degrees() > 0]))
        before = result.label
        if number % every == 0:
            right = np.mean([graph.compute("leiden", seed=seed).quality for seed in range(3)])
            gaps.append(1 - result.quality / right)
    assert np.mean(gaps) <= 0.01
    assert max(gaps) <= 0.025
    assert np.mean(changed) <= 0.1 * 100 * slide / size
    assert tracker.updates.computed == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["static/facebook_combined", "temporal/email-Eu-core-temporal", "temporal/CollegeMsg"])
def test_quality_beside_igraph(name: str, weighted: bool, data_dir: Path) -> None:
    """The mean quality of ten seeds is at least that of igraph's Leiden method less 0.5 %."""
    igraph: Any = pytest.importorskip("igraph")
    pair, n = pairs_of(data_dir / f"{name}.txt.gz", 2)
    pair, times = np.unique(pair, return_counts=True)
    weight = times if weighted else np.ones(len(pair))
    graph = su.Graph(n, device="cpu", directed=False, weight_dtype="float64")
    graph.insert_edges(pair // n, pair % n, weight)
    there = igraph.Graph(n, np.stack((pair // n, pair % n), 1))
    found, right = [], []
    for seed in range(10):
        found.append(graph.compute("leiden", seed=seed).quality)
        random.seed(seed)
        groups = there.community_leiden("modularity", weights=weight, n_iterations=2)
        right.append(there.modularity(groups, weights=weight))
    assert np.mean(found) >= 0.995 * np.mean(right)
