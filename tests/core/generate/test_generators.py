"""Generators: counts, structure and reproducibility; streams of batches against a replay of the stream."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suricate as su
from suricate import generate
from suricate.base.types import EdgeList, edge_keys
from suricate.errors import ParameterError, ShapeError


def pairs(edges):
    return list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))


GRAPHS = {
    "rmat": lambda seed: generate.rmat(8, 4, seed=seed),
    "rmat weighted": lambda seed: generate.rmat(8, 4, seed=seed, weights=(1, 9)),
    "rmat raw": lambda seed: generate.rmat(7, 4, seed=seed, deduplicate=False, permute=False),
    "uniform": lambda seed: generate.uniform(100, 500, seed=seed, weights=(0.0, 1.0)),
    "uniform dense": lambda seed: generate.uniform(30, 800, seed=seed, self_loops=False),
    "grid": lambda seed: generate.grid(5, 7, seed=seed, weights=(1, 100)),
    "geometric": lambda seed: generate.random_geometric(200, degree=6, seed=seed, weights="distance"),
    "uniform_pairs": lambda seed: generate.uniform_pairs(50, 300, seed=seed),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_seed_decides(name):
    first, again, other = (GRAPHS[name](seed) for seed in (5, 5, 6))
    assert all((a is b is None) or np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all((a is b is None) or np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert first.src.dtype == first.dst.dtype == np.uint32


def test_a_generator_goes_on():
    rng = np.random.default_rng(1)
    assert pairs(generate.uniform_pairs(99, 50, seed=rng)) != pairs(generate.uniform_pairs(99, 50, seed=rng))


# -- R-MAT -------------------------------------------------------------------------------------------------------------


def test_rmat_counts_and_order():
    raw = generate.rmat(10, 8, seed=1, deduplicate=False)
    assert len(raw.src) == 8 << 10
    edges = generate.rmat(10, 8, seed=1)
    assert pairs(edges) == sorted(set(pairs(raw)))
    loopless = generate.rmat(10, 8, seed=1, self_loops=False)
    assert pairs(loopless) == [(u, v) for u, v in pairs(edges) if u != v]
    assert len(pairs(loopless)) < len(pairs(edges))
    assert edges.src.max() < 1 << 10


def test_rmat_permutes_ids_only():
    plain, permuted = (generate.rmat(9, 8, seed=2, permute=permute, deduplicate=False) for permute in (False, True))
    assert np.array_equal(
        np.sort(np.bincount(plain.src, minlength=512)), np.sort(np.bincount(permuted.src, minlength=512))
    )
    assert np.bincount(plain.src).argmax() == 0
    assert len(set(zip(plain.src.tolist(), permuted.src.tolist(), strict=True))) == len(set(plain.src.tolist()))


@pytest.mark.parametrize("scale", [1, 5, 7])
def test_rmat_follows_the_recursive_probabilities(scale):
    quarters = np.array([[0.5, 0.25], [0.15, 0.1]])
    edges = generate.rmat(scale, 2**20 / 2**scale, 0.5, 0.25, 0.15, seed=3, permute=False, deduplicate=False)
    matrix = np.ones((1, 1))
    for _ in range(scale):
        matrix = np.kron(matrix, quarters)
    count = len(edges.src)
    seen = np.bincount(edges.src.astype(int) << scale | edges.dst, minlength=4**scale)
    expected = matrix.ravel() * count
    enough = expected > 10
    chi = np.sum((seen[enough] - expected[enough]) ** 2 / expected[enough])
    assert abs(chi - enough.sum()) < 6 * np.sqrt(2 * enough.sum())


def test_rmat_is_skewed():
    degrees = np.bincount(generate.rmat(12, 16, seed=0).src, minlength=1 << 12)
    assert degrees.max() > 20 * degrees.mean()
    assert np.count_nonzero(degrees == 0) > 500


NAN = float("nan")
BAD = [
    (generate.rmat, {"scale": 0}, "scale must be at least 1"),
    (generate.rmat, {"scale": 32}, "scale must be at most 31"),
    (generate.rmat, {"scale": 1.5}, "scale must be an integer"),
    (generate.rmat, {"scale": True}, "scale must be an integer"),
    (generate.rmat, {"scale": NAN}, "scale must be an integer"),
    (generate.rmat, {"scale": 4, "edge_factor": -1}, "edge_factor must be in"),
    (generate.rmat, {"scale": 4, "edge_factor": NAN}, "edge_factor must be in"),
    (generate.rmat, {"scale": 4, "edge_factor": "16"}, "edge_factor must be a number"),
    (generate.rmat, {"scale": 4, "a": 0.9, "b": 0.2, "c": 0.1}, r"a \+ b \+ c must be at most 1"),
    (generate.rmat, {"scale": 4, "a": -0.1}, "a must be in"),
    (generate.rmat, {"scale": 4, "b": NAN}, "b must be in"),
    (generate.rmat, {"scale": 4, "permute": "no"}, "permute must be True or False"),
    (generate.rmat, {"scale": 4, "seed": -1}, "seed must be at least 0"),
    (generate.rmat, {"scale": 4, "seed": 0.5}, "seed must be an integer"),
    (generate.rmat, {"scale": 4, "weights": 3}, r"weights must be \(low, high\)"),
    (generate.rmat, {"scale": 4, "weights": (5, 1)}, "high must be at least 5"),
    (generate.rmat, {"scale": 4, "weights": (1, 2**31)}, "high must be at most"),
    (generate.rmat, {"scale": 4, "weights": (0.0, NAN)}, "high must be in"),
    (generate.uniform, {"num_vertices": 2.0, "num_edges": 1}, "num_vertices must be an integer"),
    (generate.uniform, {"num_vertices": -1, "num_edges": 0}, "num_vertices must be at least 0"),
    (generate.uniform, {"num_vertices": 2**32, "num_edges": 0}, "num_vertices must be at most"),
    (generate.uniform, {"num_vertices": 4, "num_edges": -2}, "num_edges must be at least 0"),
    (generate.uniform, {"num_vertices": 4, "num_edges": 2, "self_loops": 1}, "self_loops must be True or False"),
    (generate.grid, {"width": 0, "height": 0}, "width must be at least 1"),
    (generate.grid, {"width": 3, "height": 2.5}, "height must be an integer"),
    (generate.grid, {"width": 2**17, "height": 2**17}, "more than"),
    (generate.random_geometric, {"num_vertices": 9, "radius": NAN}, "radius must be in"),
    (generate.random_geometric, {"num_vertices": 9, "degree": -1}, "degree must be in"),
    (generate.random_geometric, {"num_vertices": 9, "degree": 1, "radius": 1}, "either radius or degree"),
    (generate.uniform_pairs, {"num_vertices": 9, "size": 1.5}, "must be an integer"),
]


@pytest.mark.parametrize(("generator", "arguments", "says"), BAD)
def test_bad_arguments(generator, arguments, says):
    with pytest.raises(ParameterError, match=says):
        generator(**arguments)


def test_bad_batches():
    edges = generate.uniform(9, 20)
    for size in (-1, 1.5, 21):
        with pytest.raises(ParameterError):
            generate.existing_edges(edges, size)
    for fraction in (-0.1, 1.1, NAN, True):
        with pytest.raises(ParameterError, match="insert_fraction"):
            generate.mixed(edges, 9, 4, insert_fraction=fraction)
        with pytest.raises(ParameterError, match="initial_fraction"):
            next(generate.temporal_batches([0], [1], initial_fraction=fraction))
    for batches in (-1, 2.5):
        with pytest.raises(ParameterError, match="batches"):
            next(generate.temporal_batches([0], [1], batches=batches))


# -- uniform, grid, geometric ------------------------------------------------------------------------------------------


@given(st.integers(1, 12), st.floats(0, 1), st.booleans(), st.booleans(), st.integers(0, 99))
def test_uniform(num_vertices, share, self_loops, deduplicate, seed):
    most = num_vertices * (num_vertices - (not self_loops))
    count = int(share * most)
    edges = generate.uniform(num_vertices, count, seed=seed, self_loops=self_loops, deduplicate=deduplicate)
    assert len(edges.src) == count
    assert all(u < num_vertices and v < num_vertices and (self_loops or u != v) for u, v in pairs(edges))
    if deduplicate:
        assert pairs(edges) == sorted(set(pairs(edges)))
        with pytest.raises(ValueError, match="different arcs"):
            generate.uniform(num_vertices, most + 1, self_loops=self_loops)


@pytest.mark.parametrize("options", [{"deduplicate": False}, {"deduplicate": False, "self_loops": False}, {}])
def test_uniform_is_uniform(options):
    seen = Counter()
    for seed in range(600):
        seen.update(pairs(generate.uniform(6, 10, seed=seed, **options)))
    cells = 30 if "self_loops" in options else 36
    expected = 6000 / cells
    assert len(seen) == cells
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 80


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 5), (4, 1), (6, 4)])
def test_grid(width, height):
    expected = {
        (y * width + x, b * width + a)
        for y in range(height) for x in range(width) for b in range(height) for a in range(width)
        if abs(x - a) + abs(y - b) == 1
    }  # fmt: skip
    assert pairs(generate.grid(width, height)) == sorted(expected)
    assert pairs(generate.grid(width, height, symmetric=False)) == sorted((u, v) for u, v in expected if u < v)


def test_weights():
    edges = generate.grid(9, 9, weights=(3, 5))
    assert edges.weight.dtype == np.int32
    assert set(edges.weight.tolist()) == {3, 4, 5}
    by_arc = dict(zip(pairs(edges), edges.weight.tolist(), strict=True))
    assert all(weight == by_arc[v, u] for (u, v), weight in by_arc.items())
    weight = generate.uniform(50, 400, weights=(0.5, 2.0)).weight
    assert weight.dtype == np.float32
    assert 0.5 <= weight.min() < 0.7
    assert 1.8 < weight.max() <= 2


@pytest.mark.parametrize("radius", [0.02, 0.15, 1.5])
def test_random_geometric_by_brute_force(radius):
    points = np.random.default_rng(4).random((150, 2))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = (distance <= radius) & ~np.eye(150, dtype=bool)
    edges = generate.random_geometric(150, radius=radius, seed=4, weights="distance")
    assert np.array_equal(np.stack((edges.src, edges.dst), 1), np.argwhere(near))
    assert np.allclose(edges.weight, distance[near])
    half = generate.random_geometric(150, radius=radius, seed=4, symmetric=False)
    assert np.array_equal(np.stack((half.src, half.dst), 1), np.argwhere(np.triu(near)))


def test_random_geometric_degree():
    edges = generate.random_geometric(20_000, degree=8, seed=0)
    assert 7.5 < len(edges.src) / 20_000 < 8.1  # a little below: points near the border have fewer
    with pytest.raises(ValueError, match="either"):
        generate.random_geometric(10)
    assert len(generate.random_geometric(0, degree=1).src) == 0


def test_device(device):
    here, there = generate.rmat(6, 4, seed=1), generate.rmat(6, 4, seed=1, device=device)
    assert isinstance(there.src, device.xp.ndarray)
    assert np.array_equal(device.to_numpy(there.src), here.src)
    assert np.array_equal(device.to_numpy(there.dst), here.dst)


# -- batches -----------------------------------------------------------------------------------------------------------


def test_existing_edges():
    edges = generate.uniform(40, 300, weights=(1, 1000))
    some = generate.existing_edges(edges, 120, seed=2)
    weights = dict(zip(pairs(edges), edges.weight.tolist(), strict=True))
    assert len(set(pairs(some))) == 120
    assert [weights[pair] for pair in pairs(some)] == some.weight.tolist()
    assert sorted(pairs(generate.existing_edges(edges, 300))) == pairs(edges)
    with pytest.raises(ValueError, match="301 of 300"):
        generate.existing_edges(edges, 301)


@pytest.mark.parametrize(("fraction", "inserts"), [(0.8, 80), (0.0, 0), (1.0, 100)])
def test_mixed(fraction, inserts):
    edges = generate.uniform(40, 300, weights=(1, 5))
    batch = generate.mixed(edges, 40, 100, insert_fraction=fraction, seed=7, weights=(1, 5))
    assert (len(batch.insert.src), len(batch.delete.src)) == (inserts, 100 - inserts)
    assert set(pairs(batch.delete)) <= set(pairs(edges))
    assert batch.delete.weight is None
    assert len(batch.insert.weight) == inserts
    other = generate.mixed(edges, 40, 100, insert_fraction=fraction, seed=7, weights=(1, 5))
    assert pairs(batch.insert) == pairs(other.insert)


def apply_batch(graph, batch):
    if batch.delete is not None:
        for pair in pairs(batch.delete):
            del graph[pair]  # every deletion is of an arc that is there
    for pair, weight in zip(pairs(batch.insert), batch.insert.weight.tolist(), strict=True):
        graph[pair] = weight


streams = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5)), max_size=40)


@given(streams, st.integers(1, 12), st.floats(0, 1), st.booleans())
def test_sliding_window_content_is_exact(stream, window, part, timed):
    slide = max(1, round(part * window))
    src, dst, time = np.array(stream, np.int64).reshape(-1, 3).T
    weight = np.arange(len(stream))
    order = np.argsort(time, kind="stable") if timed else np.arange(len(stream))
    events = [((stream[k][0], stream[k][1]), int(weight[k])) for k in order]
    graph, end = {}, 0
    batches = list(
        generate.sliding_window(src, dst, weight=weight, time=time if timed else None, window=window, slide=slide)
    )
    for number, batch in enumerate(batches):
        apply_batch(graph, batch)
        end = min(window + number * slide, len(events))
        assert graph == dict(events[max(0, end - window) : end])
    assert end == len(events)


@given(streams, st.integers(1, 12))
def test_a_window_of_undirected_edges_is_exact(stream, window):
    src, dst, weight = np.array(stream, np.int64).reshape(-1, 3).T
    graph, end = su.Graph(4, device="cpu", directed=False, weight_dtype="int32"), 0
    for batch in generate.sliding_window(src, dst, weight=weight, window=window, slide=1, directed=False):
        graph.apply(batch)
        end = min(window, len(stream)) if end == 0 else end + 1
        last = {(min(u, v), max(u, v)): value for u, v, value in stream[max(0, end - window) : end]}
        assert dict(zip(pairs(graph.edges()), graph.edges().weight.tolist(), strict=True)) == last


def test_columns_of_a_stream_have_one_length():
    for argument, values in (("weight", [1]), ("time", [2, 1]), ("weight", 3)):
        with pytest.raises(ShapeError, match=f"{argument} has shape"):
            next(generate.sliding_window([0, 1, 2], [1, 2, 0], window=2, slide=1, **{argument: values}))
    with pytest.raises(ShapeError, match="dst has shape"):
        next(generate.temporal_batches([0, 1, 2], [1, 2]))


@given(streams, st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.integers(1, 12), st.booleans())
def test_temporal_batches_cover_the_stream_in_order(stream, fraction, count, timed):
    src, dst, time = np.array(stream, np.int64).reshape(-1, 3).T
    weight = np.arange(len(stream))
    batches = list(
        generate.temporal_batches(
            src, dst, weight=weight, time=time if timed else None, initial_fraction=fraction, batches=count
        )
    )
    sizes = [len(batch) for batch in batches]
    assert len(batches) == count + 1
    assert sizes[0] == round(fraction * len(stream))
    assert max(sizes[1:]) - min(sizes[1:]) <= 1
    order = np.argsort(time, kind="stable") if timed else weight
    assert np.concatenate([batch.insert.weight for batch in batches]).tolist() == order.tolist()
    assert [pair for batch in batches for pair in pairs(batch.insert)] == [stream[k][:2] for k in order]
    assert all(batch.delete is None for batch in batches)


@pytest.mark.parametrize(("window", "slide"), [(0, 1), (0, 0), (5, 0), (5, 6), (5, 1.5), (True, 1)])
def test_window_arguments(window, slide):
    with pytest.raises(ParameterError, match="sliding_window: "):
        next(generate.sliding_window([0], [1], window=window, slide=slide))


def test_keys_of_large_ids_do_not_mix():
    batches = list(generate.sliding_window([2**32 - 3, 0], [0, 2**32 - 3], window=1, slide=1))
    assert edge_keys(*map(np.asarray, batches[1].delete[:2])).tolist() == [(2**32 - 3) << 32]
    assert isinstance(batches[0].insert, EdgeList)
