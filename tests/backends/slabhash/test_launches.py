"""The launches of the slab hash, without a GPU: arguments against parameters, and structs read back by name."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import FakeArray, array, check_launch, fake_cupy

from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import GuardedBatch
from suricate.backends.slabhash.layout import NUM_COUNTERS, Geometry, Slabs, geometry
from suricate.backends.slabhash.ledger import Ledger, Reservation
from suricate.backends.slabhash.options import Options
from suricate.backends.slabhash.programs import DELETION, INSERTION, KERNELS, QUERY, VIEW, backend_programs
from suricate.backends.slabhash.supply import Supply
from suricate.base.types import NEW, REMOVED, REPLACED, Outcome
from suricate.cuda.batch_memory import LazyChange, batch_offsets
from suricate.intake.batches import DeviceBatch, device_batches
from suricate.intake.ingest import STATUS, UNVALIDATED_STRUCT, UnvalidatedBatch, the_variant

PACKAGE = "suricate.backends.slabhash"
VERTICES, CAPACITY, EDGES = 50, 30, 20


class FakeKernel:
    """A kernel that keeps what it was launched with."""

    last: bytes

    def __init__(self, program: Any, name: str, size: int) -> None:
        self.buffer, self.prefix = ctypes.create_string_buffer(size), None

    def resident(self, threads: int) -> int:
        return 4

    def begin_with(self, prefix: bytes) -> None:
        self.prefix = prefix  # type: ignore[assignment]
        ctypes.memmove(self.buffer, prefix, len(prefix))

    def launch(self, blocks: int, threads: int) -> None:
        FakeKernel.last = bytes(self.buffer)


def allocate(size: int) -> Any:
    """Device memory that is on the host."""
    memory = array(size, np.uint8)
    return SimpleNamespace(ptr=memory.data.ptr, memory=memory)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of the launches, above a CuPy that has arrays on the host."""
    cupy, cuda = fake_cupy(), ModuleType("cupy.cuda")
    cupy.cumsum = lambda a, **how: np.cumsum(a, **how).view(FakeArray)  # type: ignore[attr-defined]
    cupy.ndarray, cupy.cuda = FakeArray, cuda  # type: ignore[attr-defined]
    cuda.alloc, cuda.alloc_pinned_memory = allocate, bytearray  # type: ignore[attr-defined]
    device = SimpleNamespace(attributes={"MultiProcessorCount": 10}, synchronize=lambda: None)
    cuda.Device = lambda index: device  # type: ignore[attr-defined]
    names = [f"{PACKAGE}.batches", f"{PACKAGE}.cuda"]
    before = {name: sys.modules.pop(name, None) for name in names}
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    loaded = importlib.import_module(f"{PACKAGE}.cuda")
    monkeypatch.setattr(loaded, "StructKernel", FakeKernel)
    yield loaded
    for name, old in before.items():
        sys.modules.pop(name, None)
        if old is not None:
            sys.modules[name] = old


def slabs_of(shape: Geometry) -> Slabs:
    """Arrays of a small store."""
    return Slabs(
        pool=array(CAPACITY * shape.words, np.uint32),
        owner=array(CAPACITY, np.uint32),
        vertex=array(2 * VERTICES, np.uint32),
        buckets=array(VERTICES, np.uint16),
        counters=array(NUM_COUNTERS, np.uint32),
        free_list=array(5, np.uint32),
        fresh=array(CAPACITY, np.uint32),
        touched=array(CAPACITY, np.uint32),
        capacity=CAPACITY,
        marked=1,
        words=shape.words,
        keys=shape.keys,
        weight_words=shape.weight_words,
        weight_offset=shape.weight_offset,
    )


@pytest.fixture(params=[None, "float32", "float64"], ids=str)
def case(request: pytest.FixtureRequest, module: ModuleType) -> Any:
    """Kernels, arrays and a batch of one weight dtype."""
    dtype = None if request.param is None else np.dtype(request.param)
    shape = geometry(64, dtype)
    device: Any = SimpleNamespace(index=0, is_cuda=True, xp=sys.modules["cupy"])
    options = Options.checked(slab_bytes=64, load_factor=0.7, hashing=True, in_flight="auto", reference=False)
    budget = Budget(None, device)
    kernels = module.CudaKernels(device, budget, shape, dtype, options)
    src, dst = array(EDGES, np.uint32), array(EDGES, np.uint32)
    weight, before = (None if dtype is None else array(EDGES, dtype) for _ in range(2))
    return SimpleNamespace(
        kernels=kernels,
        device=device,
        options=options,
        module=module,
        dtype=dtype,
        shape=shape,
        budget=budget,
        slabs=slabs_of(shape),
        batch=GuardedBatch(src, dst, weight, array(1, np.uint32)),
        outcome=Outcome(array(EDGES, np.uint8), before),
    )


def address(array: Any) -> int:
    return 0 if array is None else array.data.ptr


def read_struct(struct: Any, at: int) -> dict[str, int]:
    """Return the fields of a struct of the last launch."""
    found = np.frombuffer(FakeKernel.last, struct.dtype, 1, at)[0]
    return {name: found[name].item() for name in struct.dtype.names}


def test_maintenance(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, structs = set(), {"View": SimpleNamespace(size=VIEW.dtype.itemsize)}
    programs = backend_programs(case.shape)

    def launch(self: Any, name: str, threads: int, *args: Any) -> None:
        seen.add(name)
        check_launch(programs[KERNELS[name]], name, args, structs)  # type: ignore[arg-type]

    monkeypatch.setattr(case.module.CudaKernels, "_launch", launch)
    k, slabs, batch, weight = case.kernels, case.slabs, case.batch, case.batch.weight
    plan = k.plan_buckets(array(VERTICES, np.uint32), 1.5)
    k.write_tables(plan, slabs.vertex, slabs.vertex, slabs.buckets)
    k.place_heads(plan, slabs)
    assert k.count_edges(slabs) == 0
    k.count_sources(batch, array(VERTICES, np.uint32))
    k.count_batch(slabs, 3, batch, fresh=False)
    k.count_moves(slabs, slabs, 3)
    k.move_edges(slabs, slabs)
    k.free_vertices(slabs, array(4, np.uint32))
    k.list_free(slabs, 3, array(3, np.uint32))
    k.trim(slabs, 9, 0, 3)
    k.gather(slabs, array(4, np.uint32), array(5, np.int64), batch.dst, weight)
    k.gather_all(slabs, VERTICES, batch.src, batch.dst, weight)
    k.gather_touched(slabs, 3, batch.src, batch.dst, weight)
    k.forget_touched(slabs)
    assert seen == KERNELS.keys()
    text = "".join(programs[name].source.read_text() for name in {*KERNELS.values()})
    assert len(seen) == text.count("__global__")


def test_an_insertion_is_packed_by_name(case: Any) -> None:
    k, slabs, batch, outcome = case.kernels, case.slabs, case.batch, case.outcome
    reservation = Reservation(EDGES, slabs=9, quota=5, ahead=1, ticket=77)
    scratch = k.scratch(slabs, EDGES)
    assert k.insert(slabs, batch, reservation, outcome, scratch) == EDGES
    at = VIEW.dtype.itemsize
    assert FakeKernel.last[:at] == VIEW.pack(slabs).tobytes()
    found = read_struct(INSERTION, at)
    assert at + INSERTION.size == len(FakeKernel.last)
    arrays = {"src": batch.src, "dst": batch.dst, "weight": batch.weight, "guard": batch.guard}
    arrays.update(status=outcome.status, before=outcome.weight)
    assert {name: found[name] for name in arrays} == {name: address(value) for name, value in arrays.items()}
    assert (found["n"], found["quota"], found["ahead"], found["ticket"]) == (EDGES, 5, 1, 77)
    assert found["per_bucket"] == 0.7 * case.shape.keys
    assert found["pinned"] == k._pinned.address
    assert found["most_moves"] == CAPACITY
    pointers = [found[name] for name in ("queue", "target", "code", "moves", "deferred")]
    assert all(scratch.memory.ptr <= pointer < scratch.memory.ptr + scratch.size for pointer in pointers)
    assert sorted(set(pointers)) == pointers
    assert (found["existing"] == 0) == (case.dtype is None)
    assert k._pinned.busy


@pytest.mark.parametrize("operation", ["insert", "delete", "find"])
def test_unvalidated_batches_are_packed_by_name(case: Any, operation: str) -> None:
    k, slabs = case.kernels, case.slabs
    unchecked, given = unvalidated(case, operation)
    at = VIEW.dtype.itemsize
    if operation == "find":
        answer = array(EDGES, bool), None if case.dtype is None else array(EDGES, case.dtype)
        k.find_unvalidated(slabs, unchecked, *answer)
        struct, found = QUERY, read_struct(QUERY, at)
        assert (found["found"], found["result"]) == tuple(map(address, answer))
    else:
        batch = device_batch(case, unchecked)
        struct = launch(k, slabs, batch, 77)
        found = read_struct(struct, at)
        names = ("src", "dst", "status", "before")
        assert [found[name] for name in names] == [getattr(batch, name) for name in names]
        assert (found["guard"], batch.unchecked, batch.done) == (0, None, True)
    assert found["n"] == EDGES
    assert read_struct(UNVALIDATED_STRUCT, at + struct.size) == given


@pytest.mark.parametrize("operation", ["insert", "delete"])
def test_a_second_store_takes_the_reversed_arcs_of_the_copies(case: Any, operation: str) -> None:
    k, slabs = case.kernels, case.slabs
    other = case.module.CudaKernels(case.device, case.budget, case.shape, case.dtype, case.options)
    unchecked, given = unvalidated(case, operation)
    assert unchecked.guard == given["status"] + (given["call"] & 1) * STATUS.size
    batch = device_batch(case, unchecked)
    launch(k, slabs, batch, 77)
    struct = launch(other, slabs, batch.turned(), 88)
    at = VIEW.dtype.itemsize
    found, addresses = read_struct(struct, at), batch.change.addresses
    assert len(FakeKernel.last) == at + struct.size
    assert [found[name] for name in ("src", "dst", "status", "before")] == [addresses[i] for i in (1, 0, 5, 6)]
    assert (found["n"], found["guard"]) == (EDGES, batch.guard)
    width = 0 if case.dtype is None else case.dtype.itemsize
    sizes = (4, 4, width if operation == "insert" else 0, 1, width, 1, width)
    ends = [begin + size * EDGES for begin, size in zip(addresses, sizes, strict=True)]
    assert all(end <= begin for end, begin in zip(ends, addresses[1:], strict=False))
    assert ends[-1] <= batch.change.memory.ptr + batch_offsets(*batch_sizes(case, operation))[-1]
    if operation == "insert":
        assert (found["weight"], found["ticket"], found["quota"]) == (addresses[2], 88, 4)
        assert (k._ticket, other._ticket) == (77, 88)
        assert other._pinned.busy


def unvalidated(case: Any, operation: str) -> tuple[UnvalidatedBatch, dict[str, int]]:
    """A batch as the caller gave it, and the values of its struct."""
    held = None if case.dtype is None or operation != "insert" else case.dtype.name
    variant = the_variant("int64", "int64", held, held, False, 0)
    given = {name: 1000 + number for number, name in enumerate(UNVALIDATED_STRUCT.fields)}
    return UnvalidatedBatch(operation, variant, EDGES, tuple(given.values()), True), given


def batch_sizes(case: Any, operation: str) -> tuple[int, int, int, int]:
    sizes = (EDGES, 0) if operation == "delete" else (0, EDGES)
    return *sizes, 0 if case.dtype is None else case.dtype.itemsize, 1


def device_batch(case: Any, unchecked: UnvalidatedBatch) -> DeviceBatch:
    """The batch for a store that has a second one beside it."""
    offsets = batch_offsets(*batch_sizes(case, unchecked.operation))
    halves = (unchecked, None) if unchecked.operation == "delete" else (None, unchecked)
    made = device_batches(
        *halves, case.dtype, allocate(offsets[-1]), offsets, unchecked.guard, lambda *_: None, paired=True
    )
    return next(batch for batch in made if batch is not None)


def launch(kernels: Any, slabs: Any, batch: DeviceBatch, ticket: int) -> Any:
    """Launch the batch; return the struct that was packed."""
    if batch.operation == "insert":
        prepared = kernels.prepare_insertion(slabs, batch)
        kernels.insert_batch(batch, prepared, Reservation(EDGES, 9, 4, 1, ticket))
        return INSERTION
    kernels.delete_batch(slabs, batch, kernels.prepare_deletion(slabs, batch))
    return DELETION


def test_scratch_memory_shrinks_at_the_limit(case: Any) -> None:
    """Without memory to list buckets nothing is rehashed; without any the batch fails."""
    k, slabs, budget = case.kernels, case.slabs, case.budget
    budget.limit = k.scratch_bytes(slabs, EDGES)
    scratch = k.scratch(slabs, EDGES)
    assert (scratch.edges, scratch.size, budget.held) == (EDGES, budget.limit, budget.limit)
    k.forget()
    assert budget.held == 0
    budget.limit -= 1
    with pytest.raises(MemoryError):
        k.scratch(slabs, EDGES)


def test_cached_scratch_memory_is_not_counted_twice(case: Any) -> None:
    """A batch larger than the store finds its scratch memory cached, at a limit that is used up by it."""
    k, budget, batch = case.kernels, case.budget, case.batch
    pool: Any = SimpleNamespace(slabs=case.slabs)
    ledger = Ledger(case.shape.keys, VERTICES, hashing=True, warps=k.warps)
    supply = Supply(pool, ledger, budget, k)
    supply.read()
    ledger.promise(EDGES)
    budget.limit = k.scratch_bytes(case.slabs, EDGES)
    k.cache_scratch(case.slabs, EDGES)
    assert budget.held == budget.limit
    ledger.provide = lambda edges, batch, do: "provided"  # type: ignore[assignment,method-assign]
    assert supply._provide(batch) == "provided"
    assert budget.held == 0
    k.scratch(case.slabs, EDGES)


def test_arcs_in_place_have_new_weights_or_those_that_are_gone() -> None:
    """Inserted and deleted entries have the same status: the half of the batch tells them apart."""
    dtype, addresses = np.dtype("int32"), (100, 200, 300, 400, 500, 600, 700)
    src, dst, weight, status, before, _, _ = addresses
    change = LazyChange(7, False, dtype, dtype, None, addresses)
    for wanted in (NEW, REPLACED):
        inserted = change.placed(wanted, gone=False)
        assert (inserted.addresses, inserted.wanted, inserted.size) == ((src, dst, weight, status), wanted, 7)
    assert change.placed(REMOVED, gone=True).addresses == (src, dst, before, status)
    unweighted = LazyChange(7, False, None, None, None, addresses)
    assert unweighted.placed(NEW, gone=False).addresses == (src, dst, 0, status)
