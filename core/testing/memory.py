"""Tests of memory: that a store obeys ``memory_limit`` and ``reserve()``, and that ``memory()`` is right.

``memory_limit`` bounds everything that a store allocates, at any time: both copies while arrays grow, logs and reserves
included. Besides, an operation may take ``BATCH_BYTES`` per edge of its batch, for the outcome and a sorted copy. On
the CPU ``tracemalloc`` sees what NumPy allocates. ``build(limit)`` returns an empty store with this memory limit.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from suricate.base.devices import CPU
from suricate.base.errors import CapacityError
from suricate.store import Store
from suricate.testing.draws import draw_weights
from suricate.testing.model import ModelledStore

BATCH_BYTES = 64  # per edge of a batch, besides the limit
SLACK = 32 << 10  # bytes of Python objects that an operation makes
SMALL = 1 << 10  # bytes of arrays too small to be counted
NUM_VERTICES = 2000
LIMIT = 1 << 19

Batch = tuple[np.ndarray, np.ndarray, np.ndarray | None]
Build = Callable[[int | None], ModelledStore]  # memory limit -> an empty store of NUM_VERTICES vertices


def held(store: Store) -> int:
    """Return the number of bytes that ``store.memory()`` says are allocated."""
    return sum(allocated for _, allocated in store.memory().values())


def random_batch(rng: np.random.Generator, count: int, dtype: np.dtype | None) -> Batch:
    """Return ``count`` random edges of ``NUM_VERTICES`` vertices: ``(src, dst, weight or None)``."""
    src, dst = (rng.integers(0, NUM_VERTICES, count).astype(np.uint32) for _ in range(2))
    return src, dst, None if dtype is None else draw_weights(rng, count, dtype)


def fill(model: ModelledStore, rng: np.random.Generator, size: int, most: int) -> int:
    """Insert batches of ``size`` edges, a third of them already stored, until one fails; return how many succeeded.

    Asserts that no more than ``most`` edges were stored, and that ``memory()`` stayed below the limit.
    """
    store, count = model.store, 0
    while True:
        src, dst, weight = random_batch(rng, size, store.weight_dtype)
        there = rng.permutation(model.table.keys)[: size // 3]
        src[: len(there)], dst[: len(there)] = there >> np.uint64(32), there.astype(np.uint32)
        try:
            model.insert(src, dst, weight)
        except CapacityError:
            return count
        count += 1
        below_limit(store)
        assert len(model.table) <= most, f"{len(model.table)} edges went into {store.memory_limit} bytes"


def below_limit(store: Store) -> None:
    """Assert that ``memory()`` of the store says that no more than ``memory_limit`` bytes are allocated."""
    assert store.memory_limit is not None
    assert held(store) <= store.memory_limit, f"memory() is {held(store)}, memory_limit {store.memory_limit}"


def batches_at_the_limit(build: Build) -> None:
    """Assert that at the memory limit a batch fails as a whole: the store is unchanged, and later batches succeed."""
    for extra, size in ((50_000, 1000), (LIMIT, 700)):
        rng, empty = np.random.default_rng(30), held(build(None).store)
        limit = empty + extra
        model = build(limit)
        count = fill(model, rng, size, most=limit // 4)  # an edge takes 4 bytes at least
        assert count or extra < LIMIT, f"not one batch of {size} edges went into {limit} bytes"
        model.verify(rng)
        below_limit(model.store)
        model.delete(*(part.copy() for part in model.table.edges()[:2]))
        model.compact()
        assert model.store.num_edges == 0, "edges are left after all were deleted"
        model.insert(*random_batch(rng, 1, model.store.weight_dtype))
        model.verify(rng)


#: of :func:`operation_at_the_limit`
OPERATIONS = ("reserve", "resize", "mark", "compact", "copy_to", "delete_vertices")


def operation_at_the_limit(build: Build, operation: str) -> None:
    """Assert that near the memory limit ``operation`` stays below it, or fails and changes nothing.

    ``operation`` is one of :data:`OPERATIONS`. Further batches are inserted afterwards.
    """
    rng, limit = np.random.default_rng(31), held(build(None).store) + LIMIT
    model = build(limit)
    if operation == "copy_to":
        model.mark()  # a copy keeps it
    fill(model, rng, 500, most=limit // 4)
    actions: dict[str, tuple[Callable[[], object], ...]] = {
        "reserve": (lambda: model.reserve(limit // 40),),
        "resize": (
            lambda: model.resize(NUM_VERTICES + limit // 4),
            lambda: model.resize(model.store.num_vertices + 1000),
        ),
        "mark": (model.mark,),
        "compact": (model.compact,),
        "copy_to": (lambda: copy_at_the_limit(model, rng),),
        "delete_vertices": (lambda: model.delete_vertices(np.arange(0, NUM_VERTICES, 3, dtype=np.uint32)),),
    }
    if operation == "reserve":
        with pytest.raises(CapacityError):
            model.reserve(2 * limit)
        model.verify(rng)
    for action in (*actions[operation], lambda: fill(model, rng, 500, most=limit // 4)):
        with suppress(CapacityError):
            action()
        model.verify(rng)
        below_limit(model.store)


def copy_at_the_limit(model: ModelledStore, rng: np.random.Generator) -> None:
    """Copy a store that is near its memory limit; assert that the copy is equal and also below that limit."""
    copy = model.copy_to(model.device)
    copy.verify(rng)
    below_limit(copy.store)


def reserve_keeps_its_promise(build: Build) -> None:
    """Assert that after ``reserve(k)`` any k edges can be inserted: of one vertex, of all vertices, random ones."""
    limit = held(build(None).store) + LIMIT
    for marked in (False, True):
        most = largest_reserve(build, limit, marked)
        assert most, f"not even one edge could be reserved below a limit of {limit} bytes"
        for shape, parts in (("star", 1), ("spread", 1), ("random", 1), ("random", 7)):
            model, rng = started(build, limit, marked), np.random.default_rng(32)
            model.reserve(most)
            src, dst, weight = random_batch(rng, most, model.store.weight_dtype)
            src = np.full_like(src, 7) if shape == "star" else src
            if shape != "random":
                dst = (np.arange(most) % NUM_VERTICES).astype(np.uint32)
            if shape == "spread":
                src = dst[::-1].copy()
            for part in np.array_split(np.arange(most), parts):
                model.insert(src[part], dst[part], None if weight is None else weight[part])
            below_limit(model.store)
            model.verify(rng)


def started(build: Build, limit: int, marked: bool) -> ModelledStore:
    """Return a new store with 300 random edges; ``limit``: its memory limit in bytes; ``marked``: call ``mark()``."""
    model = build(limit)
    model.insert(*random_batch(np.random.default_rng(33), 300, model.store.weight_dtype))
    if marked:
        model.mark()
    return model


def largest_reserve(build: Build, limit: int, marked: bool) -> int:
    """Return the largest number of edges, to within 10 %, that a store of :func:`started` can reserve.

    ``limit`` is its memory limit in bytes, ``marked`` says whether it has a mark.
    """
    fits, fails = 0, 2 * limit
    while fails - fits > max(1, fits // 10):
        middle = (fits + fails) // 2
        try:
            started(build, limit, marked).reserve(middle)
            fits = middle
        except CapacityError:
            fails = middle
    assert fits < limit, f"reserve({fits}) did not raise, the limit is {limit} bytes"
    return fits


class Step(NamedTuple):
    """An operation on a store: its name in messages, the number of edges in its batch, and a function that runs it."""

    label: str
    edges: int
    run: Callable[[], object]


INSERTED, AFTER_MARK, AFTER_RESERVE = 20, 5, 5  #: batches of :func:`steps`
STEP_EDGES = 500


def inputs(rng: np.random.Generator, dtype: np.dtype | None) -> list[Batch]:
    """Return the random batches that :func:`steps` inserts, with weights of ``dtype`` or None."""
    return [random_batch(rng, STEP_EDGES, dtype) for _ in range(INSERTED + AFTER_MARK + AFTER_RESERVE)]


def steps(store: Store, batches: list[Batch]) -> Iterator[Step]:
    """Yield operations on an empty CPU store: ``batches`` are inserted one by one, then come all other operations."""
    grown, marked = INSERTED, INSERTED + AFTER_MARK
    for batch in batches[:grown]:
        yield Step("insert()", STEP_EDGES, partial(store.insert, *batch))
    yield Step("mark()", 0, store.mark)
    for batch in batches[grown:marked]:
        yield Step("insert() after mark()", STEP_EDGES, partial(store.insert, *batch))
    for batch in batches[: grown // 2]:
        yield Step("delete()", STEP_EDGES, partial(store.delete, *batch[:2]))
    yield Step("compact()", 0, store.compact)
    yield Step("reserve()", 0, lambda: store.reserve(5000))
    for batch in batches[marked:]:
        yield Step("insert() after reserve()", STEP_EDGES, partial(store.insert, *batch))
    some = batches[0][0][:50]
    yield Step("delete_vertices()", STEP_EDGES, lambda: store.delete_vertices(np.unique(some)))
    yield Step("resize()", 0, lambda: store.resize(NUM_VERTICES + 3000))
    yield Step("compact()", 0, store.compact)


@contextmanager
def tracing() -> Iterator[None]:
    """Have ``tracemalloc`` trace allocations inside the ``with`` block."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        yield
    finally:
        if not was_tracing:
            tracemalloc.stop()


def array_bytes() -> int:
    """Return the number of bytes in NumPy arrays that ``tracemalloc`` sees, without Python's other objects."""
    traces: Any = tracemalloc.take_snapshot().traces
    domain = np.lib.tracemalloc_domain
    return sum(trace[1] for trace in traces._traces if trace[0] == domain)  # no objects: they take most of the time


def memory_is_what_is_held(make: Callable[[], Store]) -> None:
    """Assert that after every operation ``memory()`` gives the bytes allocated, to within 5 % and 1 KB.

    ``make`` returns an empty CPU store.
    """
    for store, step, real, _ in traced_steps(make):
        said, tolerance = held(store), real // 20 + SMALL
        assert abs(said - real) <= tolerance, (
            f"memory() says {said} bytes, {real} are held in arrays of NumPy, after {step.label} (if the store holds "
            "its edges elsewhere, set traced = False)"
        )


def peak_is_below_the_limit(make: Callable[[], Store]) -> None:
    """Assert that during every operation the allocated bytes stay below ``memory_limit``.

    ``make`` returns an empty CPU store with a limit.
    """
    for store, step, _, peak in traced_steps(make):
        assert store.memory_limit is not None
        limit = store.memory_limit + BATCH_BYTES * step.edges + SLACK
        assert peak <= limit, f"{peak} bytes were held during {step.label}, memory_limit is {store.memory_limit}"
        below_limit(store)


def traced_steps(make: Callable[[], Store]) -> Iterator[tuple[Store, Step, int, int]]:
    """Run the operations of :func:`steps` on ``make()``, an empty CPU store, and trace the memory of each.

    Yields ``(store, step, bytes allocated after it, peak of allocated bytes during it)``, also if the step failed with
    ``CapacityError``.
    """
    dtype = make().weight_dtype
    for step in steps(warm := make(), batches := inputs(np.random.default_rng(34), dtype)):
        with suppress(CapacityError):  # what is compiled, imported and cached on first use is no memory of a store
            step.run()
    del warm, step
    gc.collect()
    with tracing():
        batches = inputs(np.random.default_rng(34), dtype)
        before = array_bytes()
        store = make()
        for step in steps(store, batches):
            others = tracemalloc.get_traced_memory()[0] - array_bytes()
            tracemalloc.reset_peak()
            with suppress(CapacityError):
                step.run()
            peak = tracemalloc.get_traced_memory()[1] - others - before
            yield store, step, array_bytes() - before, peak


def repeated_batches(build: Build) -> None:
    """Assert that after ``mark()``, repeating the same batches does not use ever more memory."""
    model, rng = build(None), np.random.default_rng(35)
    store = model.store
    batch = random_batch(rng, 1000, store.weight_dtype)
    model.insert(*random_batch(rng, 2000, store.weight_dtype))
    model.mark()
    said = []
    with tracing() if store.device == CPU else nullcontext():
        for round_ in range(60):
            model.insert(*batch)
            if round_ % 3 == 2:
                model.delete(*batch[:2])
            model.forget_results()
            real = array_bytes() if store.device == CPU else 0
            said.append((held(store), real))
    model.verify(rng)
    for what, sizes in zip(("memory()", "what is held"), zip(*said, strict=True), strict=True):
        first, then = max(sizes[:20]), max(sizes[20:])
        assert then <= first + first // 4 + SLACK, f"{what} goes up from {first} to {then} bytes"
