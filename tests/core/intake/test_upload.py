"""Small batches of host arrays on CUDA: one transfer, the fused path, and the answers of device arrays."""

import numpy as np
import pytest

import suricate as su
from suricate.base.types import EdgeList
from suricate.intake.batches import AT_ONCE, MOST_BYTES, fits_one_transfer

N = 300
LARGEST = MOST_BYTES // 8  #: edges of the largest unweighted batch that goes in one transfer
PAGEABLE = AT_ONCE // 8  #: of the largest one that the driver copies at once

ON_CUDA = pytest.mark.parametrize("device", ["cuda"], indirect=True)


def pairs(rng, size):
    return rng.integers(0, N, (2, size))


def keys(src, dst, directed):
    """Return the edges as a list of pairs, in the order of the batch; undirected ones as (smaller, larger)."""
    ends = zip(np.asarray(src).tolist(), np.asarray(dst).tolist(), strict=True)
    return [(u, v) if directed else (min(u, v), max(u, v)) for u, v in ends]


@pytest.mark.gpu
@ON_CUDA
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [False, True], ids=["set", "map"])
@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_host_batches_against_a_dictionary(backend, device, directed, weighted, checks):
    """Insertions and deletions in one call, of sizes that take both ways to the device."""
    rng, model = np.random.default_rng(4), {}
    graph = su.Graph(
        N, backend=backend, device="cuda", directed=directed, in_edges=directed, checks=checks,
        weight_dtype="float64" if weighted else None,
    )  # fmt: skip
    for size in (1, 7, PAGEABLE, PAGEABLE + 1, 300):
        (src, dst), (old_src, old_dst) = pairs(rng, size), pairs(rng, size)
        weight = rng.random(size) if weighted else None
        delete = old_src.astype(np.uint32), old_dst.tolist()
        delta = graph.apply(su.Batch(insert=su.EdgeList(src, dst, weight), delete=delete))
        before = set(model)
        for key in keys(*delete, directed):
            model.pop(key, None)
        model.update(zip(keys(src, dst, directed), weight if weighted else src, strict=True))
        assert delta.num_deleted == len(before - set(model))
        assert delta.num_inserted == len(set(model) - before)
        asked = pairs(rng, size)
        expected = [key in model for key in keys(*asked, directed)]
        assert graph.has_edges(*asked).get().tolist() == expected
    edges = graph.edges()
    found = keys(edges.src.get(), edges.dst.get(), directed)
    assert sorted(found) == sorted(model)
    if weighted:
        assert dict(zip(found, edges.weight.get().tolist(), strict=True)) == model
    graph.check()


@pytest.mark.gpu
@ON_CUDA
@pytest.mark.parametrize("weight_dtype", [None, "int32", "float64"])
def test_a_batch_takes_one_transfer(device, weight_dtype, monkeypatch):
    graph = su.Graph(N, backend="slabhash", device="cuda", weight_dtype=weight_dtype)
    runtime, sent = device.xp.cuda.runtime, []
    copy = runtime.memcpyAsync

    def counted(target, source, size, kind, stream):
        sent.append((size, kind))
        return copy(target, source, size, kind, stream)

    monkeypatch.setattr(runtime, "memcpyAsync", counted)
    weight = () if weight_dtype is None else ([5, 6, 7],)
    graph.insert_edges([1, 2, 3], [4, 5, 6], *weight)
    graph.has_edges([1], [4])
    width = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    assert sent == [(3 * (8 + width), runtime.memcpyHostToDevice), (8, runtime.memcpyHostToDevice)]


@pytest.mark.gpu
@ON_CUDA
@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_errors_come_at_once_and_change_nothing(backend, device, checks):
    graph = su.Graph(N, backend=backend, device="cuda", checks=checks, self_loops="error")
    graph.insert_edges([1, 2], [2, 3])
    for bad, error in (
        (([5, N], [6, 7]), su.errors.VertexRangeError),
        (([5, 6], [6, -1]), su.errors.VertexRangeError),
        (([5, 6], [6, 6]), su.errors.SelfLoopError),
    ):
        with pytest.raises(error, match=r"\[1\]"):
            graph.insert_edges(*bad)
        with pytest.raises(error, match=r"insert\.\w+\[1\]"):
            graph.apply(su.Batch(insert=bad, delete=([1], [2])))
    with pytest.raises(su.errors.VertexRangeError, match=r"dst\[0\]"):
        graph.has_edges([1], [N])
    assert graph.num_edges == 2
    assert graph.has_edges([1, 2], [2, 3]).all()
    graph.check()


def test_the_largest_transfer():
    ids = np.zeros(LARGEST + 1, np.uint32)
    assert fits_one_transfer(EdgeList(ids[1:], ids[1:]))
    assert not fits_one_transfer(EdgeList(ids, ids))
    assert not fits_one_transfer(EdgeList(ids[1:], ids[1:], ids[1:]))
