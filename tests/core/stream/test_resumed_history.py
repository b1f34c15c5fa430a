"""Answers that depend on history: jobs that go on from a checkpoint give those of one run, byte for byte."""

import numpy as np
import pytest

import suricate as su
import suricate.stream as st

TRACKED = {"coloring": {}, "label_propagation": {"seed": 3}}


def chunks(seed=1, count=1200, names=60):
    random = np.random.default_rng(seed)
    name = np.array([f"n{i}" for i in range(names)], object)
    src, dst = name[random.integers(0, names, (2, count))]
    time = np.sort(random.integers(0, 60, count))
    return [{"time": time[i : i + 40], "src": src[i : i + 40], "dst": dst[i : i + 40]} for i in range(0, count, 40)]


def job_of(folder, device, **options):
    job = st.Window(chunks(), size="7", slide="1", names=True, graph={"device": device, "in_edges": True}, **options)
    trackers = {name: job.track(name, **params) for name, params in TRACKED.items()}
    sinks = {name: job.sink(folder / f"{name}.csv") for name in TRACKED}
    return job, trackers, sinks


def run(folder, device, stop=10**6, **options):
    job, trackers, sinks = job_of(folder, device, **options)
    with job:
        for _ in job:
            for name, tracker in trackers.items():
                sinks[name].write(tracker.top(60, by=None) if name == "coloring" else tracker.to_arrow())
            if job.slides >= stop:
                return job
    return job


@pytest.mark.compiled
def test_answers_that_depend_on_history_go_on(tmp_path, device):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    run(whole, device)
    for stop in (5, 6, 19, 33, 10**6):
        last = run(parts, device, stop, checkpoint=tmp_path / "state", checkpoint_every=1)
    for name in TRACKED:
        right = (whole / f"{name}.csv").read_bytes()
        assert len(right) > 10_000
        assert (parts / f"{name}.csv").read_bytes() == right
    trackers = last.graphs.trackers
    assert all(tracker.updates.computed == 0 for tracker in trackers)  # they went on


def test_a_state_is_that_of_the_algorithm(device):
    """Without its state an algorithm would answer something else here."""
    graph = su.Graph(6, device=device, directed=False)
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 4])
    tracker = graph.track("coloring")
    for u, v in ((0, 2), (1, 3), (2, 4), (0, 4), (3, 5)):
        graph.insert_edges([u], [v])
        graph.delete_edges([v], [(v + 1) % 6])
    state = {name: device.to_numpy(part).copy() for name, part in tracker.algorithm.state().items()}
    from suricate.graph.edge_columns.weighing import track_from

    other = graph.to(device)
    again = track_from(other, "coloring", {}, state)
    assert again.result.tolist() == tracker.result.tolist()
    for each in (graph, other):
        each.insert_edges([0, 1], [5, 4])
    assert again.result.tolist() == tracker.result.tolist()
    assert graph.track("bfs", source=0).algorithm.state() is None
