"""``Updater`` on a fake store: batches are validated, applied whole, and undone whatever a store raises."""

from __future__ import annotations

import copy
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import CPU
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED, Change, EdgeList, Outcome
from suricate.errors import CapacityError, SelfLoopError, VertexRangeError, WeightError
from suricate.graph.options import GraphOptions
from suricate.graph.update import Updater
from suricate.store import Store

N = 8


class FakeStore(Store):
    """A dictionary of edges. ``fail_at`` names an operation that raises ``error``, "before" or "after" it is done."""

    name = "fake"
    devices = ("cpu",)

    def __init__(self, num_vertices, **options):
        super().__init__(num_vertices, **options)
        self.held: dict[tuple[int, int], float] = {}
        self.fail_at: tuple[str, str] | None = None
        self.most = self.most_afterwards = 1 << 32  # edges at a time that there is memory for, now and after a failure
        self.error: type[BaseException] = RuntimeError

    def step(self, operation, when):
        if self.fail_at == (operation, when):
            self.fail_at = None
            self.most = self.most_afterwards
            raise self.error(f"{operation} failed {when}")

    def insert(self, src, dst, weight=None, *, guard=None):
        if len(src) > self.most:
            raise MemoryError
        self.step("insert", "before")
        status = np.full(len(src), UNCHANGED, np.uint8)
        old = None if weight is None else np.zeros(len(src), weight.dtype)
        last = {key: i for i, key in enumerate(zip(src.tolist(), dst.tolist(), strict=True))}
        for key, i in last.items():
            value = None if weight is None else weight[i]
            if key not in self.held:
                status[i] = NEW
            elif weight is not None and self.held[key].tobytes() != value.tobytes():
                status[i], old[i] = REPLACED, self.held[key]
            self.held[key] = value
        self.step("insert", "after")
        return Outcome(status, old)

    def delete(self, src, dst, *, guard=None):
        if len(src) > self.most:
            raise MemoryError
        self.step("delete", "before")
        status = np.full(len(src), UNCHANGED, np.uint8)
        old = None if self.weight_dtype is None else np.zeros(len(src), self.weight_dtype)
        for i, key in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
            if key in self.held:
                status[i], value = REMOVED, self.held.pop(key)
                if old is not None:
                    old[i] = value
        self.step("delete", "after")
        return Outcome(status, old)

    def delete_vertices(self, vertices):
        self.step("delete_vertices", "before")
        gone = set(vertices.tolist())
        self.held = {key: value for key, value in self.held.items() if key[0] not in gone}
        self.step("delete_vertices", "after")

    def resize(self, num_vertices):
        self.step("resize", "before")
        super().resize(num_vertices)
        self.step("resize", "after")

    def edges(self):
        src, dst = np.array(sorted(self.held), np.uint32).reshape(-1, 2).T
        weight = None
        if self.weight_dtype is not None:
            weight = np.array([self.held[key] for key in sorted(self.held)], self.weight_dtype)
        return EdgeList(src, dst, weight)


def updater(kind=FakeStore, **options):
    made = GraphOptions(kind, **options)
    return Updater(made.make_stores(N, CPU), made)


def state(batches):
    return [copy.copy(store.held) for store in batches.stores], batches.version, batches.num_vertices


def turned(held):
    return {(v, u): weight for (u, v), weight in held.items()}


def insertion(*edges):
    src, dst, weight = zip(*edges, strict=True)
    return list(src), list(dst), list(weight)


def test_both_stores_hold_a_batch():
    batches = updater(in_edges=True, weight_dtype="float32")
    delta = batches.apply(None, insertion((0, 1, 2), (2, 3, 4), (0, 1, 5)))
    out, into = (store.held for store in batches.stores)
    assert out == {(0, 1): 5, (2, 3): 4}
    assert into == turned(out)
    assert (delta.num_inserted, batches.version) == (2, 1)
    assert batches.apply(([0], [1], None), None).num_deleted == 1
    assert batches.stores[1].held == turned(batches.stores[0].held) == {(3, 2): 4}


class WholeStore(FakeStore):
    """Takes changes as a whole: what is in ``takes``, noted in ``asked``."""

    takes, is_done = True, False

    def apply(self, delete, insert):
        self.asked = [None if batch is None else batch.size for batch in (delete, insert)]
        return (lambda: self.carry_out(delete, insert)) if self.takes else None

    def carry_out(self, delete, insert):
        self.is_done = True
        if delete is not None:
            delete.outcome = self.delete(*delete.arcs[:2])
        if insert is not None:
            insert.outcome = self.insert(*insert.arcs)


@pytest.mark.parametrize("declines", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("fails", [None, 0, 1])
def test_stores_may_take_a_change_as_a_whole(declines, fails):
    """All of them or none: else all delete and insert. A failure of either store is undone in both."""
    batches = updater(WholeStore, in_edges=True, weight_dtype="float32")
    batches.apply(None, insertion((0, 1, 1), (2, 3, 2), (4, 4, 3)))
    before = state(batches)
    for number, store in enumerate(batches.stores):
        store.takes = number not in declines
        store.fail_at = ("insert", "after" if number else "before") if fails == number else None
    halves = ([0, 2], [1, 3], None), insertion((2, 3, 7), (5, 6, 8))
    if fails is not None:
        with pytest.raises(RuntimeError, match="insert failed"):
            batches.apply(*halves)
        assert state(batches) == before
        return
    delta = batches.apply(*halves)
    assert (delta.num_deleted, delta.num_inserted, delta.num_replaced) == (1, 1, 1)
    assert batches.stores[0].held == turned(batches.stores[1].held) == {(2, 3): 7, (4, 4): 3, (5, 6): 8}
    assert [store.is_done for store in batches.stores] == [not declines] * 2


def test_an_empty_batch_is_no_step():
    batches = updater()
    assert batches.apply(None, ([], [], None)).is_empty
    assert batches.apply(None, None).is_empty
    assert batches.version == 0


class FakeDevice:
    """The CPU under the name of a device: its arrays are of a subclass, and it counts what is moved to it."""

    class ndarray(np.ndarray):  # noqa: N801 - the name that array modules use
        pass

    def __init__(self):
        self.moved, self.is_cuda, self.xp = 0, True, SimpleNamespace(ndarray=self.ndarray, asarray=self.asarray)

    def asarray(self, values):
        self.moved += 1
        return np.array(values).view(self.ndarray)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("takes", [(True, True), (True, False)])
def test_stores_may_take_host_batches_as_they_are(monkeypatch, directed, takes):
    """If all do; then the arrays of the delta are moved to the device when they are asked for, not before."""
    batches, device = updater(WholeStore, directed=directed, in_edges=directed), FakeDevice()
    uploaded, nothing = [], lambda *args, **options: None
    batches.ingest = SimpleNamespace(begin=nothing, batches=nothing, upload=uploaded.append, used=False)
    batches.device, batches.lock = device, threading.RLock()
    for store, answer in zip(batches.stores, takes, strict=False):
        monkeypatch.setattr(store, "device", device)
        store.takes = answer
    if not all(takes[: len(batches.stores)]):
        with pytest.raises(AssertionError):  # nothing comes of the upload
            batches.apply(None, ([0, 1], [1, 1], None))
        assert [len(edges.src) for edges in uploaded] == [2]
        return
    delta = batches.apply(None, ([0, 1], [1, 1], None))
    assert device.moved == 0
    assert all(store.asked == [None, 2 if directed else 4] for store in batches.stores)
    assert len(delta.arcs("inserted").src) == (2 if directed else 4)
    assert device.moved == 3
    assert isinstance(delta.arcs("inserted").status, device.ndarray)


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, CapacityError, KeyboardInterrupt])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("operation", ["delete", "insert"])
def test_a_failure_of_the_second_store_is_undone_in_both(operation, when, error):
    batches = updater(in_edges=True, weight_dtype="float32")
    batches.apply(None, insertion((0, 1, 1), (2, 3, 2), (4, 4, 3)))
    before = state(batches)
    batches.stores[1].fail_at, batches.stores[1].error = (operation, when), error
    with pytest.raises(error, match=f"{operation} failed {when}"):
        batches.apply(([0, 4, 7], [1, 4, 7], None), insertion((0, 1, 7), (2, 3, 9), (5, 6, 4), (5, 6, 8)))
    assert state(batches) == before
    assert batches.apply(([2], [3], None), None).num_deleted == 1


@pytest.mark.parametrize("done", [(), ("removed",), ("removed", "added")])
def test_of_a_device_batch_that_fails_what_was_done_is_undone(done):
    batches = updater(in_edges=True, weight_dtype="float32")
    batches.apply(None, insertion((0, 1, 1), (2, 3, 2)))
    before, halves = state(batches), {}
    given = {"removed": ([0, 5], [1, 5]), "added": ([2, 6], [3, 6], [9, 9])}
    for name, columns in given.items():
        edges = EdgeList(*np.array(columns[:2], np.uint32), *np.array(columns[2:], np.float32))
        halves[name] = SimpleNamespace(edges=edges, done=False)

    def step():
        for name in done:
            half, store = halves[name], batches.out
            outcome = store.delete(*half.edges[:2]) if name == "removed" else store.insert(*half.edges)
            half.done, half.change = True, lambda half=half, outcome=outcome: Change(half.edges, outcome, False)
        raise RuntimeError("no launch")

    with pytest.raises(RuntimeError, match="no launch"):
        batches._all.carry_out([step], halves["removed"], halves["added"])
    assert state(batches) == before


@pytest.mark.parametrize("operation", ["delete", "insert"])
def test_undoing_makes_do_with_little_memory(monkeypatch, operation):
    batches = updater(in_edges=True, weight_dtype="float32")
    every = np.indices((N, N)).reshape(2, -1)
    batches.apply(None, (*every[:, ::2], 1))
    before = state(batches)
    for store in batches.stores:
        store.most_afterwards = 3
    batches.stores[0].most = 64
    into = batches.stores[1]
    into.fail_at, into.error = (operation, "after"), MemoryError

    def failing(self, *names, step=FakeStore.step):
        if self is into and self.fail_at == names:
            batches.stores[0].most = 3
        step(self, *names)

    monkeypatch.setattr(FakeStore, "step", failing)
    with pytest.raises(MemoryError) as caught:
        batches.apply((*every[:, ::3], None), (*every, 2))
    assert not hasattr(caught.value, "__notes__")
    assert state(batches) == before


@pytest.mark.parametrize("operation", ["delete", "insert"])
def test_a_failure_of_the_first_store_is_undone(operation):
    batches = updater(in_edges=True, weight_dtype="float32")
    batches.apply(None, insertion((0, 1, 1), (2, 3, 2)))
    before = state(batches)
    batches.stores[0].fail_at = (operation, "before")
    with pytest.raises(RuntimeError):
        batches.apply(([0], [1], None), insertion((2, 3, 9)))
    assert state(batches) == before


def test_a_second_failure_while_undoing_is_noted():
    batches = updater(in_edges=True)
    batches.apply(None, ([0], [1], None))
    into = batches.stores[1]
    into.insert = into.delete = broken
    before = state(batches)
    with pytest.raises(RuntimeError, match="broken") as caught:
        batches.apply(None, ([2, 0], [3, 1], None))
    assert any("undoing" in note for note in caught.value.__notes__)
    assert state(batches) == before  # this store had not begun


def broken(*args, **kwargs):
    raise RuntimeError("broken")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("store", "operation"), [(0, "delete"), (0, "delete_vertices"), (1, "delete"), (1, "delete_vertices")]
)
@pytest.mark.parametrize("options", [{"in_edges": True, "weight_dtype": "float64"}, {"directed": False}])
def test_deleting_vertices_is_undone(options, store, operation, when):
    batches = updater(**options)
    if store >= len(batches.stores):
        pytest.skip("one store")
    weight = None if options.get("weight_dtype") is None else [1, 2, 3, 4, 5]
    batches.apply(None, ([0, 1, 1, 2, 5], [1, 1, 2, 0, 6], weight))
    before = state(batches)
    batches.stores[store].fail_at = (operation, when)
    with pytest.raises(RuntimeError):
        batches.delete_vertices([1, 2])
    assert state(batches) == before
    assert batches.delete_vertices([1, 2]).num_deleted == 4


def unnamed(ids):
    """Return that no names change with recycled ``ids``."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("store", [0, 1])
def test_adding_vertices_is_undone(store, when):
    batches = updater(in_edges=True)
    batches.stores[store].fail_at = ("resize", when)
    with pytest.raises(RuntimeError):
        batches.insert_vertices(3, False, unnamed)
    assert [part.num_vertices for part in batches.stores] == [N, N]
    assert batches.insert_vertices(3, False, unnamed)[0].tolist() == [N, N + 1, N + 2]


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (([1, 2, N], [1, 2, 3], [1, 2, 3]), SelfLoopError, r"src\[0\] and dst\[0\] are both 1"),
        (([1, N, 3], [2, 3, 3], [1, 2, np.nan]), VertexRangeError, r"src\[1\] is 8"),
        (([1, 2, 3], [2, 3, N], [1, np.nan, 3]), WeightError, r"weight\[1\] is nan"),
        (([1, 2, N], [2, N, N], [1, 2, np.nan]), VertexRangeError, r"dst\[1\] is 8"),
        (([1, N], [2, N], [1, np.nan]), VertexRangeError, r"src\[1\] is 8"),
        (([1, 2], [2, 2], [1, np.nan]), SelfLoopError, r"src\[1\]"),
    ],
)
def test_the_first_invalid_entry_is_reported(batch, error, message):
    """As the kernels do it, see ``refusal`` in ingest.cuh: ids, then the self-loop, then the weight of one entry."""
    batches = updater(self_loops="error", weight_dtype="float32")
    with pytest.raises(error, match=message):
        batches.apply(None, batch)
    assert state(batches) == ([{}], 0, N)


def test_the_deleted_part_is_reported_first():
    batches = updater()
    with pytest.raises(VertexRangeError, match=r"delete\.dst\[3\] is 9"):
        batches.apply(([0, 0, 0, 0], [0, 0, 0, 9], None), ([9], [0], None), parts=(1, 2))


def test_a_failing_store_leaves_the_graph_whole():
    graph = su.Graph(N, backend=FakeStore, device="cpu", in_edges=True)
    graph.insert_edges([0, 1], [1, 2])
    graph.store("in").fail_at = ("insert", "after")
    version = graph.version
    with pytest.raises(RuntimeError):
        graph.insert_edges([3, 0], [4, 1])
    graph.check()
    assert (graph.num_edges, graph.version) == (2, version)
    graph.store("in").fail_at = ("insert", "before")
    graph.store("in").error = MemoryError
    with pytest.raises(CapacityError, match="memory does not suffice on cpu"):
        graph.insert_edges([3, 0], [4, 1])
    graph.check()
