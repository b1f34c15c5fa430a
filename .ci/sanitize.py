"""A short tour of every CUDA kernel, for ``compute-sanitizer``: all backends, updated, queried and traversed.

Usage: ``compute-sanitizer --tool memcheck python .ci/sanitize.py [--part PART ...] [--graph NUMBER] [--share I/K]
[BACKEND ...]``; parts, graphs and shares of the answers are independent, so they can run side by side, or one after the
other where a machine is lent for minutes. Every step is checked against a dict. ``DEVICE=cpu``
makes the tour on the CPU, which shows that the script itself is right. The part ``divided`` is for memcheck: its ranks
are two threads that launch on one device, of which racecheck loses track, and then it does not end.
"""

from __future__ import annotations

import argparse
import os

import numpy as np

import suricate as su
from suricate.parallel import Comm, run, search
from suricate.store import fallbacks, sorter

DEVICE = os.environ.get("DEVICE", "cuda")
VERTICES, BATCH, ROUNDS = 200, 600, 2
sorter.MOST_BUCKETED = 1 << 16  # so that the largest batch is sorted by digits
PARTS = "tour", "answers", "divided", "events"
LARGE, LARGEST = 40_000, 1 << 17  # kernels serve batches of hundreds, tens of thousands and more edges differently


def hop(u, v, w, dist):
    """Distance of ``v`` through ``u``."""
    return dist[u] + 1


def tour(backend: str, weight_dtype: str | None, directed: bool, large: int, **options) -> None:
    """Drive one graph through updates, queries, trackers and operators; one batch has ``large`` edges."""
    rng = np.random.default_rng(7)
    graph = su.Graph(
        VERTICES,
        backend=backend,
        device=DEVICE,
        weight_dtype=weight_dtype,
        directed=directed,
        **options,
    )
    xp, model = graph.device.xp, {}
    graph.reserve(LARGE)  # so that batches of BATCH edges are small for the store
    ranks, reach = graph.track("pagerank", tol=0.1), graph.track("bfs", source=0)
    graph.mark()
    for _ in range(ROUNDS):
        src, dst = rng.integers(0, VERTICES, (2, BATCH))
        src[: BATCH // 4] = 3  # a hub
        weight = rng.integers(1, 9, BATCH) if weight_dtype else None
        graph.insert_edges(
            xp.asarray(src), xp.asarray(dst), None if weight is None else xp.asarray(weight).astype(weight_dtype)
        )
        model.update(zip(pairs(src, dst, directed), weight if weight is not None else np.ones(BATCH, int), strict=True))
        some = rng.integers(0, BATCH, BATCH // 3)
        graph.delete_edges(xp.asarray(src[some]), xp.asarray(dst[some]))
        for pair in pairs(src[some], dst[some], directed):
            model.pop(pair, None)
        assert graph.num_edges == len(model)
        found = graph.device.to_numpy(graph.has_edges(xp.asarray(src), xp.asarray(dst)))
        assert found.tolist() == [pair in model for pair in pairs(src, dst, directed)]
        assert abs(float(ranks.result.sum()) - 1) < 1e-6
        assert int(reach.result.level[0]) == 0
        graph.check()
    operators(graph)
    edge_sets(graph)
    hub = xp.asarray(np.minimum(rng.integers(0, 2 * VERTICES, (2, large)), VERTICES - 1))
    graph.insert_edges(*hub, None if weight_dtype is None else 1)
    graph.check()
    graph.delete_edges(*hub)
    gone = set(pairs(*graph.device.to_numpy(hub), directed))
    model = {pair: weight for pair, weight in model.items() if pair not in gone}
    graph.updated()
    graph.insert_vertices(5)
    graph.delete_vertices([3, 4])
    edge = xp.asarray([3]), xp.asarray([5])
    assert graph.insert_edges(*edge, None if weight_dtype is None else 1).revived_vertices.tolist() == [3]
    graph.delete_edges(*edge)
    graph.compact()
    graph.check()
    assert graph.to("cpu").num_edges == sum(not {3, 4} & set(pair) for pair in model)


def answers(backend: str, weight_dtype: str | None, directed: bool, share: tuple[int, int]) -> None:
    """Keep every algorithm of a share, the first of so many, that such a graph allows current over two batches."""
    rng = np.random.default_rng(11)
    options = {"in_edges": True} if directed else {"directed": False}
    graph = su.Graph(VERTICES, backend=backend, device=DEVICE, weight_dtype=weight_dtype, **options)
    trackers = [
        graph.track(name, **algorithm.sample_params(VERTICES, 3))
        for name, algorithm in [*su.plugins.algorithms().items()][share[0] - 1 :: share[1]]
        if algorithm.requires.missing(graph) is None
    ]
    for _ in range(ROUNDS):
        insert, delete = (graph.device.xp.asarray(rng.integers(0, VERTICES, (2, BATCH))) for _ in range(2))
        weight = 1 if weight_dtype else None
        graph.apply(su.Batch(insert=(*insert, weight), delete=tuple(delete)))
    src, dst, weight = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    for tracker in trackers:
        algorithm = tracker.algorithm
        if algorithm.has_reference():
            params = algorithm.sample_params(VERTICES, 3)
            right = algorithm.reference(src, dst, weight, VERTICES, directed, **params)
            wrong = algorithm.mismatch(on_host(graph, tracker.result), right, **params)
            assert wrong is None, f"{algorithm.name}: {wrong}"


def on_host(graph: su.Graph, result):
    """Return a result with NumPy arrays."""
    if isinstance(result, tuple):
        return type(result)(*(on_host(graph, part) for part in result))
    return graph.device.to_numpy(result) if hasattr(result, "shape") else result


def edge_sets(graph: su.Graph) -> None:
    """Delete all edges, insert most of them and some others, and walk the rows of what changed; then undo that."""
    before, xp = graph.edges(), graph.device.xp
    none = xp.empty(0, np.uint32)
    for batch in (
        su.Batch(delete=before[:2], insert=su.EdgeList(*(None if part is None else part[5:] for part in before))),
        su.Batch(delete=(none, none), insert=before),
    ):
        delta = graph.apply(batch)
        for kind in ("inserted", "deleted", "replaced"):
            rows = fallbacks.edges_of(delta.edge_set(kind).view(), graph.device)[1]
            listed = delta.edge_set(kind).arcs().read()
            found, expected = (
                sorted(zip(part.src.tolist(), part.dst.tolist(), strict=True)) for part in (rows, listed)
            )
            assert found == expected
    assert graph.num_edges == len(before.src)


def pairs(src, dst, directed):
    """Edges as a list of tuples, canonical if undirected."""
    return [(int(u), int(v)) if directed or u <= v else (int(v), int(u)) for u, v in zip(src, dst, strict=True)]


def operators(graph: su.Graph) -> None:
    """Run each operator once in each of its schemes."""
    xp = graph.device.xp
    dist = xp.full(graph.num_vertices, 1000, np.int32)
    dist[0] = 0
    su.propagate(graph, [0], hop, out=dist, args=(dist,), reduce="min")
    x = xp.ones(graph.num_vertices, np.float32)
    for scheme in ("auto", "vertex", "bucket"):
        assert int(
            su.neighbor_reduce(graph, None, lambda u, v, w, x: x[v], args=(x,), reduce="sum", scheme=scheme).sum()
        ) == len(su.arcs(graph).src)
    fresh = xp.zeros(graph.num_vertices, np.int64)
    su.advance(graph, None, lambda u, v, w, x: 1, out=fresh, args=(x,), reduce="sum", scheme="updated")
    counts = su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum", scheme="updated")
    assert (
        int(fresh.sum()) == int(counts.sum()) == len(graph.updated().src) * (1 if graph.directed else 2) - loops(graph)
    )
    total = xp.zeros(graph.num_vertices, np.float64)
    su.advance(graph, None, lambda u, v, w, x: x[u], out=total, args=(x,), reduce="sum")
    assert int(total.sum()) == len(su.arcs(graph).src)
    again = xp.zeros(graph.num_vertices, np.float64)
    su.advance(
        graph,
        xp.arange(graph.num_vertices),
        lambda u, v, w, x: x[u],
        out=again,
        args=(x,),
        reduce="sum",
        scheme="bucket",
    )
    assert bool((again == total).all())
    even = su.filter(graph, None, lambda v: v % 2 == 0)
    su.advance(graph, even, hop, out=dist, args=(dist,), reduce="min")
    src, dst, _ = su.arcs(graph)
    su.intersect(graph, u=src, v=dst)


def loops(graph: su.Graph) -> int:
    """Self-loops among the updated edges of an undirected graph, which are one arc each."""
    src, dst, _ = graph.updated()
    return 0 if graph.directed else int((src == dst).sum())


GRAPHS = (  # weights, directed, in-edges kept, edges of the large batch
    (None, True, False, LARGE),
    ("float32", False, False, LARGEST),
    ("float64", True, True, LARGE),
)


def union_find() -> None:
    """Join some elements."""
    components = su.Graph(VERTICES, device=DEVICE).union_find()
    components.union([0, 1, 5], [1, 2, 6])
    assert components.num_components == VERTICES - 3


def later(u, v, event, time):
    """The time of an event."""
    return time[event]


def events() -> None:
    """Drive logs of events: what comes is merged, removed, let go and sampled, all of it checked."""
    rng = np.random.default_rng(5)
    for over in ("in", "both"):
        log, now = su.Events(VERTICES, device=DEVICE, over=over), 0
        xp = log.device.xp
        for size in (BATCH, BATCH, LARGE):
            time = now + np.sort(rng.integers(0, 50, size))
            now = int(time[-1])
            ends = (VERTICES * rng.random((2, size)) ** 2).astype(np.int64)
            log.append(xp.asarray(time), *map(xp.asarray, ends))
            log.expire(now - 60)
            log.remove(xp.arange(log.first, log.next, 97))
            log.check()
            roots, at = xp.arange(VERTICES), xp.asarray(rng.integers(0, now, VERTICES))
            for options in ({}, {"span": 20}, {"hops": "back"}, {"take": "recent"}, {"replace": True}):
                sample = log.sample(roots, [10, 3], at=at, **options)
                assert int((sample.time >= at[sample.batch[sample.col]]).sum()) == 0
            assert log.sample(roots[:9], [-1, 2], at=now).edges_per_hop[0] > 0
            last = su.neighbor_reduce(log.between(now - 30, now), None, later, args=("time",), reduce="max", over=over)
            assert int(last.max()) < now
            if over == "both":
                continue
            sent = su.Events(VERTICES, device=DEVICE, over="out")
            sent.append(xp.asarray(time), *map(xp.asarray, ends))
            walks = su.temporal_walks(sent, roots, 5, bias="linear")
            assert int((walks.time[:, 1:] - walks.time[:, :-1])[walks.event[:, 1:] >= 0].min()) > 0
            for through in (False, True):
                assert int(su.earliest_arrival(sent, 0, through=through).time[1:].min()) >= int(time[0])
                assert int(su.latest_departure(log, 0, through=through).time[1:].max()) <= now


def divided(backend: str, directed: bool) -> None:
    """Two ranks that share the device search in every form, rank and join a graph, after each of two batches."""
    rng = np.random.default_rng(13)
    path = np.arange(VERTICES)
    edges = np.concatenate((rng.integers(0, VERTICES // 2, (2, LARGE // 40)), (path[:-1], path[1:])), axis=1)
    options = {"in_edges": True} if directed else {"directed": False}

    def job(comm: Comm | None) -> list[np.ndarray]:
        graph, found = su.Graph(VERTICES, backend=backend, device=DEVICE, comm=comm, **options), []
        for name in ("insert_edges", "delete_edges"):
            part = edges if name == "insert_edges" else edges[:, : BATCH // 2]
            getattr(graph, name)(*(part if comm is None or comm.rank == 0 else part[:, :0]))
            levels, labels = graph.compute("bfs", source=3).level, graph.compute("wcc").label
            results = (levels, labels, graph.compute("pagerank", tol=0.1))
            found += [graph.device.to_numpy(result) for result in results]
            graph.check()
        return found

    alone = job(None)
    for alpha, places, arcs in ((4, 16, -1), (4, 16, 60), (search.ALPHA, search.PLACES, search.FEW_ARCS)):
        search.ALPHA, search.PLACES, search.FEW_ARCS = alpha, places, arcs
        for ranks in run(job, 2):
            for one, other in zip(ranks, alone, strict=True):
                np.testing.assert_allclose(one, other)


def share_of(text: str) -> tuple[int, int]:
    """Return the numbers of ``I/K``."""
    which, _, of = text.partition("/")
    share = int(which), int(of)
    if not 1 <= share[0] <= share[1]:
        raise ValueError("I is 1 to K")
    return share


def main() -> None:
    """Tour the backends that are named, or all that run on the device."""
    available = [name for name, backend in su.plugins.backends().items() if DEVICE in backend.devices]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=", ".join(available))
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be given several times")
    parser.add_argument("--graph", type=int, choices=range(len(GRAPHS)), help="only this graph")
    parser.add_argument("--share", type=share_of, default=(1, 1), metavar="I/K", help="the I-th of K shares of answers")
    chosen = parser.parse_args()
    parts = chosen.part or PARTS
    for name in chosen.backends or available:
        for weight_dtype, directed, kept, large in GRAPHS if chosen.graph is None else [GRAPHS[chosen.graph]]:
            if "tour" in parts:
                tour(name, weight_dtype, directed, large, in_edges=kept)
            if "answers" in parts:
                answers(name, weight_dtype, directed, chosen.share)
            if "divided" in parts:
                divided(name, directed)
            print(name, weight_dtype, "directed" if directed else "undirected", "ok", flush=True)
    union_find()
    if "events" in parts:
        events()


if __name__ == "__main__":
    main()
