"""``Graph``: random sequences of all operations against a dictionary, on every backend and kind of graph."""

from __future__ import annotations

import gc
import weakref
from itertools import product

import numpy as np
import pytest
from graph_model import KINDS, START, Model, as_dict, assert_delta, columns, step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suricate as su
from suricate.errors import CapacityError, DeviceError, DTypeError, RequirementError, UnknownNameError, VertexRangeError
from suricate.store import Store

vertex = st.integers(0, START - 1)
batch = st.lists(st.tuples(vertex, vertex, st.integers(1, 3)), max_size=8)
operations = st.one_of(
    st.tuples(st.just("insert"), batch),
    st.tuples(st.just("insert"), batch),
    st.tuples(st.just("delete"), batch),
    st.tuples(st.just("apply"), batch, batch),
    st.tuples(st.just("delete_vertices"), st.lists(vertex, max_size=3)),
    st.tuples(st.just("insert_vertices"), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("compact")),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(todo=st.lists(operations, min_size=1, max_size=8))
def test_a_sequence_of_operations_equals_the_dictionary(kind, backend, device, todo):
    graph = su.Graph(START, backend=backend, device=device, **KINDS[kind])
    model = Model(START, **KINDS[kind])
    for operation in todo:
        step(graph, model, operation)


@pytest.mark.parametrize("kind", KINDS)
def test_large_random_batches_equal_the_dictionary(kind, backend, device):
    rng = np.random.default_rng(7)
    graph = su.Graph(300, backend=backend, device=device, **KINDS[kind])
    model = Model(300, **KINDS[kind])

    def batch(size):
        # a few hubs, and duplicates within the batch
        src, dst = rng.integers(0, 300, (2, size))
        src[: size // 4] = rng.integers(0, 3, size // 4)
        return list(zip(src.tolist(), dst.tolist(), rng.integers(1, 9, size).tolist(), strict=True))

    for _ in range(4):
        insert, delete = batch(2000), batch(2000)
        src, dst, weight = columns(insert, graph)
        assert_delta(
            graph, graph.insert_edges(src, dst, weight if model.weighted else None), model.apply(insert=insert)
        )
        assert_delta(graph, graph.delete_edges(*columns(delete, graph)[:2]), model.apply(delete=delete))
        again = delete[:500] + batch(500)
        both_parts = su.Batch(
            columns(again, graph)[: 3 if model.weighted else 2], columns(delete + insert[:700], graph)[:2]
        )
        assert_delta(graph, graph.apply(both_parts), model.apply(delete=delete + insert[:700], insert=again))
        ids = rng.integers(0, 300, 5).tolist()
        assert_delta(graph, graph.delete_vertices(ids), model.delete_vertices(ids))
    graph.check()
    assert as_dict(graph, graph.edges()) == model.edges
    assert graph.num_edges == len(model.edges)


# -- single promises ---------------------------------------------------------------------------------------------------


@pytest.fixture
def make(backend, device):
    """Return a maker of graphs on the backend and device in turn."""
    return lambda n, **options: su.Graph(n, backend=backend, device=device, **options)


def test_an_undirected_edge_is_one_edge_however_it_is_named(make):
    graph = make(4, directed=False, weight_dtype="float32")
    delta = graph.insert_edges([2, 1, 3], [1, 2, 3], [5, 6, 7])
    assert as_dict(graph, delta.inserted) == {(1, 2): 6.0, (3, 3): 7.0}
    assert graph.num_edges == 2
    assert graph.device.to_numpy(graph.edge_weights([1, 2], [2, 1])).tolist() == [6, 6]
    assert as_dict(graph, graph.delete_edges([2], [1]).deleted) == {(1, 2): 6.0}
    assert graph.num_edges == 1


def test_a_self_loop_given_twice_counts_once(make):
    graph = make(3, directed=False)
    delta = graph.insert_edges([1, 1], [1, 1])
    assert delta.num_inserted == 1
    assert (graph.num_edges, graph.device.to_numpy(graph.degrees()).tolist()) == (1, [0, 1, 0])
    assert graph.delete_edges([1, 1], [1, 1]).num_deleted == 1


@pytest.mark.parametrize("directed", [True, False])
def test_drop_leaves_self_loops_out(make, directed):
    graph = make(3, self_loops="drop", directed=directed, weight_dtype="int32")
    xp = graph.device.xp
    assert graph.insert_edges([0, 1], [0, 1], 1).is_empty
    delta = graph.insert_edges(xp.array([0, 1, 1]), xp.array([0, 2, 1]), xp.array([1, 2, 3]))
    assert as_dict(graph, delta.inserted) == {(1, 2): 2}
    graph.check()
    assert graph.num_edges == 1


def test_replacement_in_one_batch_is_reported_net(make):
    graph = make(4, weight_dtype="float64")
    graph.insert_edges([0, 1, 2], [1, 2, 3], [1, 2, 3])
    delta = graph.apply(su.Batch(insert=([0, 1], [1, 2], [9, 2]), delete=([0, 1, 2], [1, 2, 3])))
    assert as_dict(graph, delta.replaced) == {(0, 1): 9.0}
    assert graph.device.to_numpy(delta.replaced_old).tolist() == [1.0]
    assert as_dict(graph, delta.deleted) == {(2, 3): 3.0}
    assert delta.num_inserted == 0
    assert graph.version == 2


def test_a_delta_does_not_alias_the_callers_arrays(make):
    graph = make(4, weight_dtype="float32")
    xp = graph.device.xp
    src, dst, weight = xp.array([0, 1], np.uint32), xp.array([1, 2], np.uint32), xp.array([1, 2], np.float32)
    delta = graph.insert_edges(src, dst, weight)
    src[:], dst[:], weight[:] = 3, 3, 3
    assert as_dict(graph, delta.inserted) == {(0, 1): 1.0, (1, 2): 2.0}


def test_degrees_and_edges_are_copies(make):
    graph = make(3)
    graph.insert_edges([0, 0], [1, 2])
    degrees, edges = graph.degrees(), graph.edges()
    degrees[:], edges.dst[:] = 7, 0
    graph.check()
    assert graph.device.to_numpy(graph.degrees()).tolist() == [2, 0, 0]


def test_neighbors_and_adjacency(make):
    graph = make(4, in_edges=True, weight_dtype="int32")
    graph.insert_edges([0, 0, 3], [1, 2, 2], [5, 6, 7])
    host = graph.device.to_numpy
    assert sorted(host(graph.neighbors(0)).tolist()) == [1, 2]
    assert sorted(host(graph.neighbors(2, "in")).tolist()) == [0, 3]
    offsets, dst, weight = (host(part).tolist() for part in graph.adjacency([3, 1, 0]))
    assert offsets == [0, 1, 1, 3]
    assert sorted(zip(dst, weight, strict=True)) == [(1, 5), (2, 6), (2, 7)]


def test_updated_lists_what_came_since_the_mark(make):
    for directed in (True, False):
        graph = make(5, directed=directed)
        graph.insert_edges([0, 1], [1, 2])
        graph.mark()
        graph.insert_edges([0, 4, 3], [1, 3, 2])
        graph.delete_edges([3], [2])
        expected = {(4, 3)} if directed else {(3, 4)}
        assert set(as_dict(graph, graph.updated())) == expected


def test_updated_without_a_mark_lists_all(make):
    graph = make(3)
    graph.insert_edges([0, 1], [1, 2])
    assert set(as_dict(graph, graph.updated())) == {(0, 1), (1, 2)}


def test_absent_weights_have_a_default(make):
    floats, integers = make(2, weight_dtype="float32"), make(2, weight_dtype="uint32")
    host = floats.device.to_numpy
    assert np.isnan(host(floats.edge_weights([0], [1]))).all()
    assert host(integers.edge_weights([0], [1])).tolist() == [0]
    assert host(integers.edge_weights([0], [1], default=7)).tolist() == [7]
    assert host(floats.edge_weights([0], [1], default=np.inf)).tolist() == [np.inf]


def test_memory_usage_adds_up(make):
    graph = make(10, in_edges=True)
    graph.insert_edges(np.arange(9), np.arange(1, 10))
    usage = graph.memory_usage()
    assert {name.split(".")[0] for name in usage.parts} == {"out", "in"}
    assert usage.allocated == sum(size for _, size in usage.parts.values()) >= usage.used > 0
    assert usage.bytes_per_edge == usage.allocated / 9
    assert np.isnan(make(3).memory_usage().bytes_per_edge)
    graph.delete_vertices([3])
    used, allocated = graph.memory_usage().parts["live"]
    assert used == 10 + 4
    assert allocated >= used


def test_views_are_kept_until_the_graph_changes(make):
    graph = make(3)
    graph.insert_edges([0], [1])
    view = graph.view()
    assert graph.view() is view
    graph.insert_vertices(5)
    assert graph.view().num_vertices == 8


def test_in_edges_that_are_not_kept_are_refused(make):
    graph = make(3)
    for ask in (graph.view, graph.store, graph.degrees):
        with pytest.raises(RequirementError, match="in_edges=True"):
            ask("in")
    undirected = make(3, directed=False)
    assert undirected.store("in") is undirected.store("out")
    assert undirected.has_in_edges
    with pytest.raises(UnknownNameError, match="'up'"):
        graph.degrees("up")


def test_to_copies_the_graph(make, device):
    graph = make(5, directed=False, weight_dtype="float32", self_loops="drop")
    graph.insert_edges([0, 1, 4], [1, 2, 4], [1, 2, 3])
    graph.delete_vertices([2])
    for target in ("cpu", device):
        other = graph.to(target)
        other.check()
        assert (other.version, other.num_vertices, other.self_loops) == (graph.version, 5, "drop")
        assert as_dict(other, other.edges()) == as_dict(graph, graph.edges())
        other.insert_edges([3], [4], 1)
        assert graph.num_edges == 1
        assert other.deleted_vertices.tolist() == [2]


def test_reserve_makes_room(make):
    graph = make(100, in_edges=True)
    graph.reserve(500)
    graph.insert_edges(np.arange(99), np.arange(1, 100))
    graph.check()
    assert graph.num_edges == 99


def test_degree_hints_change_nothing_but_speed(make):
    hints = np.array([3, 0, 1])
    graph = make(3, degree_hints=hints, in_degree_hints=hints, in_edges=True)
    graph.insert_edges([0, 0, 1, 2], [1, 2, 2, 2])
    graph.check()
    assert graph.num_edges == 4


def test_capabilities_and_repr_tell_what_the_graph_is(make, backend):
    graph = make(3, in_edges=True, weight_dtype="int32")
    assert graph.capabilities()["insert"] == "native"
    text = repr(graph)
    for part in ("3 vertices", "0 edges", "directed", "int32", "in-edges", backend, str(graph.device)):
        assert part in text


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_without_vertices_or_edges(make, kind):
    graph = make(0, **KINDS[kind])
    weight = [] if graph.weight_dtype is not None else None
    assert graph.insert_edges([], [], weight).is_empty
    assert graph.delete_edges([], []).is_empty
    assert graph.delete_vertices([]).is_empty
    assert graph.apply(su.Batch()).is_empty
    assert len(graph.has_edges([], [])) == len(graph.degrees()) == graph.num_edges == graph.version == 0
    assert len(graph.edges().src) == len(graph.updated().src) == 0
    graph.view()
    graph.check()
    graph.compact()
    assert graph.device.to_numpy(graph.insert_vertices(2)).tolist() == [0, 1]
    graph.insert_edges([0], [1], None if weight is None else 1)
    graph.check()
    assert (graph.num_edges, graph.version) == (1, 2)


# -- running out of memory ---------------------------------------------------------------------------------------------


def failing(base):
    """Return ``base`` with a method, ``fail_at``, that fails once: before or after it does anything."""

    class Failing(base):
        fail_at, when, error = "", "before", CapacityError

        def reserve(self, num_edges):
            self.do("reserve", num_edges)

        def insert(self, src, dst, weight=None, *, guard=None):
            return self.do("insert", src, dst, weight, guard=guard)

        def delete(self, src, dst, *, guard=None):
            return self.do("delete", src, dst, guard=guard)

        def delete_vertices(self, vertices):
            self.do("delete_vertices", vertices)

        def resize(self, num_vertices):
            self.do("resize", num_vertices)

        def resizing(self, num_vertices):
            return self.do("resizing", num_vertices)

        def do(self, name, *args, **options):
            fails = self.fail_at == name
            if fails:
                self.fail_at = ""  # taking back what was done must still go
            if fails and self.when == "before":
                raise self.error("it failed")
            answer = getattr(super(), name)(*args, **options)
            if fails:
                raise self.error("it failed")
            return answer

    return Failing


@pytest.mark.parametrize("error", [CapacityError, RuntimeError])
@pytest.mark.parametrize("name", ["reserve", "insert", "delete", "delete_vertices", "resize", "resizing"])
@pytest.mark.parametrize("kind", ["directed", "directed-in", "directed-weighted-in", "undirected-weighted"])
def test_a_store_that_fails_changes_nothing(backend_class, device, kind, name, error):
    graph = su.Graph(5, backend=failing(backend_class), device=device, **KINDS[kind])
    one, two = (None, None) if graph.weight_dtype is None else (1, 2)
    graph.insert_edges([0, 1, 2], [1, 2, 3], one)
    before = as_dict(graph, graph.edges())
    second = graph.directed and graph.has_in_edges
    changes = [
        lambda: graph.apply(su.Batch((([0, 3, 0], [4, 4, 1]) + ((two,) if two else ())), ([0, 1], [1, 2]))),
        lambda: graph.insert_edges([0, 3, 0], [4, 4, 1], two),
        lambda: graph.delete_edges([2, 0], [3, 3]),
        lambda: graph.delete_vertices([1]),
        lambda: graph.insert_vertices(2),
    ]
    for change, when in product(changes, ("before", "after") if second else ("before",)):
        last = graph.store("in" if second else "out")
        last.fail_at, last.when, last.error = name, when, error
        try:
            change()
        except error as caught:
            assert "it failed" in str(caught)  # noqa: PT017 - not every change calls what fails
            graph.check()
            assert (as_dict(graph, graph.edges()), graph.version, graph.num_vertices) == (before, 1, 5)
        else:
            last.fail_at = ""
            graph = made_again(graph, before, kind)


def made_again(graph, edges, kind):
    """Return a graph as it was before a change that did not fail."""
    fresh = su.Graph(5, backend=type(graph.store()), device=graph.device, **KINDS[kind])
    weight = None if graph.weight_dtype is None else list(edges.values())
    fresh.insert_edges(*map(list, zip(*edges, strict=True)), weight)
    return fresh


def test_a_memory_limit_is_kept(make):
    graph = make(1000, memory_limit=1 << 20)
    graph.insert_edges([0, 1], [1, 2])
    rng = np.random.default_rng(1)

    def fill():
        for _ in range(200):
            graph.insert_edges(*rng.integers(0, 1000, (2, 5000)))

    with pytest.raises(CapacityError):
        fill()
    graph.check()
    assert sum(size for _, size in graph.memory_usage().parts.values()) <= 1 << 20
    assert graph.device.to_numpy(graph.has_edges([0, 1], [1, 2])).all()


# -- construction ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_vertices": -1}, VertexRangeError, "-1"),
        ({"num_vertices": 2**32 - 1}, VertexRangeError, "4294967295"),
        ({"num_vertices": 2.5}, DTypeError, r"2\.5"),
        ({"weight_dtype": "int64"}, DTypeError, "float32, float64, int32, uint32"),
        ({"weight_dtype": "nonsense"}, DTypeError, "nonsense"),
        ({"backend": "nonsense"}, UnknownNameError, "csr_baseline"),
        ({"device": "tpu"}, DeviceError, "tpu"),
        ({"device": "cuda:99"}, DeviceError, "cuda:99"),
        ({"self_loops": "keep"}, UnknownNameError, "'allow'"),
        ({"checks": "never"}, UnknownNameError, "'deferred'"),
        ({"num_vertices": 3, "degree_hints": [1, 2]}, su.errors.ShapeError, "2 entries for 3 vertices"),
        ({"num_vertices": 2, "in_degree_hints": [1.5, 2.0]}, DTypeError, "in_degree_hints"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        su.Graph(**({"num_vertices": 1, "device": "cpu"} | arguments))


def test_an_backend_may_be_given_as_a_class_and_must_run_on_the_device():
    class OnlyCuda(su.plugins.backends()["csr_baseline"]):
        name, devices = "only_cuda", ("cuda",)

    assert issubclass(OnlyCuda, Store)
    assert su.Graph(2, backend=su.plugins.backends()["csr_baseline"], device="cpu").backend == "csr_baseline"
    with pytest.raises(DeviceError, match="only_cuda"):
        su.Graph(2, backend=OnlyCuda, device="cpu")


def test_too_many_vertices_are_refused(device):
    graph = su.Graph(2, device=device)
    with pytest.raises(VertexRangeError, match="too many"):
        graph.insert_vertices(2**32 - 3)
    with pytest.raises(VertexRangeError, match="count"):
        graph.insert_vertices(-1)
    assert (graph.num_vertices, graph.version) == (2, 0)


@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_the_stores_of_a_graph_go_with_it(backend, device, checks):
    graph = su.Graph(50, backend=backend, device=device, checks=checks, in_edges=True, weight_dtype="float32")
    ids, values = device.xp.arange(50), device.xp.ones(50, np.float32)
    gc.disable()
    try:
        tracker = graph.track("bfs", source=0)
        for _ in range(2):
            graph.insert_edges(ids, ids[::-1].copy(), 1.0)
        delta = graph.delete_edges(ids[:5], ids[:5])
        assert len(tracker.result.level) == 50
        su.operators.neighbor_reduce(graph, None, lambda u, v, w, x: x[v], args=(values,), reduce="sum")
        assert graph.num_edges == 50
        graph.check()
        stores = [weakref.ref(graph.store(direction)) for direction in ("out", "in")]
        del graph, tracker, delta
        assert [store() for store in stores] == [None, None]
    finally:
        gc.enable()


@pytest.mark.gpu
@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_arrays_are_on_the_device_of_the_graph_whichever_is_current(checks):
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("this machine has one CUDA device")
    graph = su.Graph(5, device="cuda:0", directed=False, weight_dtype="float32", checks=checks)
    with cupy.cuda.Device(1):
        delta = graph.insert_edges([0, 1], [1, 2], 1.5)
        some, every = graph.frontier([3, 1, 3]), graph.frontier()
        arrays = [*delta.inserted, *delta.arcs("inserted").read(), delta.replaced_old, delta.deleted_vertices]
        arrays += [some.buffer, some.device_count, every.buffer, every.device_count, graph.degrees()]
        assert (graph.num_edges, delta.num_inserted, some.vertices.get().tolist()) == (2, 2, [1, 3])
    assert {array.device.id for array in arrays} == {0}
