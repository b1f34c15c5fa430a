"""Row copies: the same results to the last bit, and nothing of them is left behind."""

import threading

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.cursors import contiguous
from suricate.graph import row_copies
from suricate.graph.row_copies import copied_rows
from suricate.store import fallbacks

N = 200


@pytest.fixture(autouse=True)
def _copied_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_copies, "LEAST", 0)


def make_graph(backend, weighted, directed=True):
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, N, (2, 3_000))
    dtype = "float64" if weighted else None
    graph = su.Graph(N, backend=backend, device="cpu", weight_dtype=dtype, directed=directed, in_edges=directed)
    graph.insert_edges(src, dst, *([rng.random(len(src))] if weighted else []))
    graph.delete_edges(src[::3], dst[::3])  # gaps
    return graph


def product(u, v, w, x):
    return w * x[u] + x[v]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("weighted", "directed"), few([(True, True), (False, False)]))
def test_sums_are_the_same_to_the_last_bit(backend, weighted, directed):
    graph, x = make_graph(backend, weighted, directed), np.random.default_rng(4).random(N)
    pulls = [
        lambda over=over: su.neighbor_reduce(graph, None, product, args=(x,), reduce="sum", over=over)
        for over in ("out", "in", "both")
    ]
    expected = [pull() for pull in pulls]
    with copied_rows(graph):
        found = [pull() for pull in pulls]
    for a, b in zip(expected, found, strict=True):
        assert a.tobytes() == b.tobytes()


def test_rows_with_gaps_are_copied_and_others_are_not(backend):
    graph = make_graph(backend, weighted=True)
    stored = graph.view("in")
    with copied_rows(graph):
        walked = graph.view("in")
        gaps = stored.owner_per == "segment" and stored.can_scan
        assert (walked.cursor == contiguous.__name__) or not gaps
        assert gaps or walked.cursor == stored.cursor
        assert graph.view("in") is walked
    assert graph.view("in").cursor == stored.cursor


@pytest.mark.parametrize("error", [None, RuntimeError])
def test_a_change_is_seen_inside_and_afterwards(backend, error):
    graph = make_graph(backend, weighted=False)
    free = next((u, v) for u in range(N) for v in range(N) if not graph.has_edges([u], [v])[0])
    try:
        with copied_rows(graph):
            before = graph.view().cursor, su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum").sum()
            graph.insert_edges([free[0]], [free[1]])
            assert su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum").sum() == before[1] + 1
            if error is not None:
                raise error
    except RuntimeError:
        assert error is RuntimeError
    graph.insert_edges([free[1]], [free[0]])
    assert su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum").sum() == graph.num_edges
    graph.check()


def test_without_memory_the_storage_is_walked(monkeypatch):
    def fail(*args):
        raise MemoryError

    graph = make_graph("slabhash", weighted=False)
    stored = graph.view()
    monkeypatch.setattr(fallbacks, "degrees", fail)
    with copied_rows(graph):
        assert graph.view().cursor == stored.cursor
        assert su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum").sum() == graph.num_edges


def test_other_threads_wait():
    graph, asked = make_graph("slabhash", weighted=False), threading.Event()
    done = []

    def insert():
        asked.set()
        graph.insert_edges([0], [0])
        done.append(True)

    thread = threading.Thread(target=insert)
    with copied_rows(graph):
        thread.start()
        asked.wait()
        thread.join(0.05)
        assert not done
    thread.join()
    assert done


def test_rows_of_small_graphs_are_walked_as_they_are_stored(monkeypatch):
    graph = make_graph("slabhash", weighted=False)
    stored = graph.view().cursor
    monkeypatch.setattr(row_copies, "LEAST", graph.most_arcs + 1)
    with copied_rows(graph):
        assert graph.view().cursor == stored
    monkeypatch.setattr(row_copies, "LEAST", graph.most_arcs)
    with copied_rows(graph):
        assert graph.view().cursor == contiguous.__name__
