"""The conformance kit of backends: every test of the store protocol."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings

from suricate.base.devices import CPU, Array, resolve_device
from suricate.base.errors import ParameterError
from suricate.base.types import NEW, REMOVED
from suricate.cuda.program import Program, own_programs
from suricate.graph import Graph
from suricate.store import OPERATIONS, Store
from suricate.testing import failures, graphs, memory, nvrtc, scale, wholes
from suricate.testing.draws import SIZES, SPREADS, STRIDES, demand_class, device_params, no_cuda, run_examples
from suricate.testing.model import ModelledStore

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("insert", "delete", "delete_vertices", "resize", "mark", "reserve", "compact", "copy", "insert")
        ),
        st.sampled_from(SIZES),
        st.sampled_from(SPREADS),
        st.sampled_from(STRIDES),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=7,
)

TOUR = (  # every operation, most of them where they hurt: (operation, size, spread, stride, seed)
    ("delete", 7, 3, 1, 1),
    ("insert", 40, 3, 1, 2),
    ("insert", 300, 40, 1, 3),
    ("insert", 300, 40, 1, 4),
    ("copy", 0, 1, 1, 5),
    ("delete", 40, 40, 1, 6),
    ("mark", 0, 1, 1, 7),
    ("insert", 300, 40, 32, 8),
    ("copy", 0, 1, 1, 8),
    ("compact", 0, 1, 1, 9),
    ("delete", 40, 40, 1, 10),
    ("insert", 40, 40, 1, 11),
    ("delete_vertices", 7, 40, 1, 12),
    ("resize", 300, 1, 1, 13),
    ("reserve", 300, 1, 1, 14),
    ("insert", 300, 1000, 1, 15),
    ("insert", 0, 1, 1, 16),
    ("delete_vertices", 300, 1000, 1, 17),
    ("compact", 0, 1, 1, 18),
    ("insert", 7, 3, 1, 19),
)

AMPLE = 1 << 40  #: a memory limit that is never reached
LIMITED = ("batches", *memory.OPERATIONS, "reserved", "peak")  #: what may obey a memory limit, see ``memory_limited``


class StoreConformance:
    """The test of a backend; a subclass named ``Test...`` sets ``backend``.

    The graphs are small. Rare events (growing, splitting, rebuilding, running out of numbers) happen often with small
    options: write a second subclass whose ``options`` make blocks, buckets, pages and thresholds as small as the
    backend allows.

    Attributes:
        backend: the class under test.
        options: backend options to construct it with.
        devices: device kinds to test; those of the backend by default. CUDA is skipped where there is none.
        weight_dtypes: weight dtypes to test (None: unweighted). Views are walked, and CUDA sources compiled, for the
            first two.
        memory_limited: True if every operation obeys ``memory_limit``, False if none does, else the names of those
            that do, some of ``LIMITED``: "batches" are insertions and deletions, "peak" is the most memory held during
            an operation, as ``tracemalloc`` measures it.
        traced: whether ``tracemalloc`` sees the arrays of a CPU store, as it does those of NumPy.
        examples: random operation sequences per dtype; by default the number of the hypothesis profile.
        cuda_marks: pytest marks for the CUDA variants.
    """

    backend: ClassVar[type[Store]]
    options: ClassVar[Mapping[str, Any]] = {}
    devices: ClassVar[Sequence[str] | None] = None
    weight_dtypes: ClassVar[Sequence[str | None]] = (None, "float32", "float64", "int32", "uint32")
    memory_limited: ClassVar[bool | Collection[str]] = True
    traced: ClassVar[bool] = True
    examples: ClassVar[int | None] = None
    cuda_marks: ClassVar[Sequence[pytest.MarkDecorator]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise over devices and weight dtypes."""
        demand_class(self, "backend")
        if "device_kind" in metafunc.fixturenames:
            kinds = self.backend.devices if self.devices is None else self.devices
            metafunc.parametrize("device_kind", device_params(kinds, self.cuda_marks))
        if "weight_dtype" in metafunc.fixturenames:
            metafunc.parametrize("weight_dtype", self.weight_dtypes, ids=str)

    def build(self, num_vertices: int, device_kind: str = "cpu", weight_dtype: str | None = None, **more: Any) -> Store:
        """Return an empty store of the backend under test; ``more``: options of the backend beside ``self.options``."""
        dtype = None if weight_dtype is None else np.dtype(weight_dtype)
        device = resolve_device(device_kind)
        return self.backend(num_vertices, device=device, weight_dtype=dtype, **{**self.options, **more})

    def modelled(self, store: Store) -> ModelledStore:
        """Return ``store`` with a table of its edges, as a ``ModelledStore``, which compares both."""
        dtypes = [None if dtype is None else np.dtype(dtype) for dtype in self.weight_dtypes[:2]]
        return ModelledStore(store, walks=not store.device.is_cuda and store.weight_dtype in dtypes)

    def batch(
        self, store: Store, edges: Sequence[tuple[int, int]], weights: Sequence[float]
    ) -> tuple[Array, Array, Array | None]:
        """Return ``edges``, ``weights`` as ``(src, dst, weight)`` on the store's device; weight None if unweighted."""
        xp = store.device.xp
        src, dst = xp.array([u for u, _ in edges], np.uint32), xp.array([v for _, v in edges], np.uint32)
        return src, dst, None if store.weight_dtype is None else xp.array(weights, store.weight_dtype)

    def cuda_programs(self, store: Store) -> Iterable[Program]:
        """Return the CUDA programs of the backend itself, to be compiled without a GPU."""
        return own_programs(store)

    def limited(self, device_kind: str, weight_dtype: str | None) -> memory.Build:
        """Return a function that takes a memory limit and returns an empty store with it, as a ``ModelledStore``."""
        return lambda limit: self.modelled(
            self.build(memory.NUM_VERTICES, device_kind, weight_dtype, memory_limit=limit)
        )

    def limit(self) -> int:
        """Return a memory limit in bytes below which thousands of edges can be stored."""
        return memory.held(self.build(memory.NUM_VERTICES)) + memory.LIMIT

    def skip_unless_limited(self, *operations: str) -> None:
        """Skip a test unless the backend keeps to the memory limit in all ``operations``, some of ``LIMITED``."""
        if isinstance(self.memory_limited, bool):
            obeys: Collection[str] = LIMITED if self.memory_limited else ()
        else:
            obeys = self.memory_limited
            assert set(obeys) <= set(LIMITED), f"memory_limited names some of {', '.join(LIMITED)}"
        for operation in operations:
            if operation not in obeys:
                pytest.skip(f"{self.backend.name} has no memory limit for {operation}")

    def skip_unless_traced(self) -> None:
        """Skip a test that traces allocations if there is no CPU store, or ``tracemalloc`` does not see its arrays."""
        if not self.traced or "cpu" not in self.backend.devices:
            pytest.skip(f"the arrays of {self.backend.name} cannot be traced")

    # -- the class -----------------------------------------------------------------------------------------------------

    def test_is_named(self) -> None:
        """The backend is a Store with a name, devices and a priority."""
        assert issubclass(self.backend, Store)
        assert isinstance(self.backend.name, str)
        assert self.backend.name
        assert set(self.backend.devices) <= {"cpu", "cuda"}
        assert self.backend.devices
        assert isinstance(self.backend.guarded, bool)
        assert isinstance(self.backend.priority, int)

    @pytest.mark.parametrize("operation", [*OPERATIONS, "options", "apply", "query"])
    def test_signature(self, operation: str) -> None:
        """Every operation has the parameters of the protocol: names, kinds and defaults."""
        wanted, got = (_parameters(getattr(each, operation)) for each in (Store, self.backend))
        assert got == wanted, f"{operation}{got}, but the protocol has {operation}{wanted}"

    def test_constructor(self) -> None:
        """The constructor has the parameters of the store protocol; all others are keywords with defaults."""
        protocol = inspect.signature(Store.__init__).parameters
        parameters = inspect.signature(self.backend.__init__).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            assert set(protocol) <= set(parameters)
        for p in parameters.values():
            if p.name not in protocol:
                assert p.kind is p.VAR_KEYWORD or (p.kind is p.KEYWORD_ONLY and p.default is not p.empty), p

    def test_capabilities(self) -> None:
        """``capabilities()`` calls each operation "native" or "fallback"; insert, delete and edges must be native."""
        capabilities = self.backend.capabilities()
        assert set(capabilities) == set(OPERATIONS)
        assert set(capabilities.values()) <= {"native", "fallback"}
        assert all(capabilities[name] == "native" for name in ("insert", "delete", "edges"))

    def test_options(self) -> None:
        """``options()`` returns what the store was built with, and a store built with the result has equal options."""
        parameters = inspect.signature(self.backend.__init__).parameters.values()
        named = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
        named -= set(inspect.signature(Store.__init__).parameters)
        for given, store in self._with_each_option():
            options = store.options()
            assert named <= set(options), f"options() leaves out {', '.join(sorted(named - set(options)))}"
            for name, value in {**self.options, **given}.items():
                assert options.get(name) == value, f"options() does not say that {name} is {value!r}"
            again = self.build(40, store.device.kind, **options)
            assert again.options() == options, "a store that is built with options() has others"

    def test_options_of_copies(self) -> None:
        """A copy has the options of the store."""
        for _, store in self._with_each_option():
            assert store.copy_to(store.device).options() == store.options(), "a copy has other options"

    def test_no_attribute_hides_a_method(self) -> None:
        """Nothing that a store keeps as an attribute has the name of one of its methods."""
        for _, store in self._with_each_option():
            hidden = [name for name in vars(store) if callable(getattr(type(store), name, None))]
            assert not hidden, f"attributes of the store hide its methods {', '.join(hidden)}"

    def _with_each_option(self) -> Iterator[tuple[dict[str, Any], Store]]:
        """Yield ``(given, store)``, options and a store built with them besides ``self.options``.

        First without any, then with each value of each option in ``backend.knobs`` that ``self.options`` allow.
        """
        kind = "cpu" if "cpu" in self.backend.devices else "cuda"
        if kind == "cuda" and no_cuda():
            pytest.skip("there is no CUDA device")
        yield {}, self.build(40, kind)
        for given in [{name: value} for name, values in self.backend.knobs.items() for value in values]:
            with suppress(ParameterError):  # the value does not go with the options of this test
                yield given, self.build(40, kind, **given)

    # -- behaviour -----------------------------------------------------------------------------------------------------

    def test_every_operation(self, device_kind: str, weight_dtype: str | None) -> None:
        """After each step of a fixed sequence of all operations, every query gives what a table of edges gives."""
        model = self.modelled(self.build(40, device_kind, weight_dtype, memory_limit=AMPLE))
        for step in TOUR:
            model.step(*step)

    def test_random_operations(self, device_kind: str, weight_dtype: str | None) -> None:
        """Random sequences of operations leave the store equal to a table; a failure names the shortest sequence."""
        count = settings().max_examples if self.examples is None else self.examples
        integral = weight_dtype is not None and np.dtype(weight_dtype).kind in "iu"

        def body(num_vertices: int, hinted: bool, steps: list[tuple[str, int, int, int, int]]) -> None:
            hints = np.arange(num_vertices, dtype=np.int64) % 50 if hinted else None
            model = self.modelled(self.build(num_vertices, device_kind, weight_dtype, degree_hints=hints))
            for step in steps:
                model.step(*step)

        vertices = st.sampled_from((0, 1, 2, 40, 1500))
        run_examples(
            body, max(1, count // 5) if integral else count, num_vertices=vertices, hinted=st.booleans(), steps=STEPS
        )

    def test_shrinks_again(self, device_kind: str, weight_dtype: str | None) -> None:
        """``resize`` removes vertices that have no edges, also repeatedly, and later operations work."""
        model, rng = self.modelled(self.build(40, device_kind, weight_dtype)), np.random.default_rng(9)
        model.step("insert", 300, 40, 1, 1)
        for round_, more in enumerate((1, 300, 5000)):
            model.mark()
            for _ in range(2):
                model.resize(40 + more)
                model.resize(40)
                model.verify(rng)
            model.step("insert", 40, 40, 1, 2 + round_)
            model.resize(40 + more)
            ends = np.array([40 + more - 1, 40, 3], np.uint32)
            model.insert(ends, ends[::-1].copy(), scale.weights_for(model, rng, 3))
            model.verify(rng)
            model.delete(ends, ends[::-1].copy())
            model.resize(40)
            model.verify(rng)

    def test_outcomes_belong_to_the_caller(self, device_kind: str, weight_dtype: str | None) -> None:
        """A later batch, of the same size or another, does not write to the outcome of an earlier one."""
        model = self.modelled(self.build(40, device_kind, weight_dtype))
        rng = np.random.default_rng(5)
        for operation, size in (("insert", 50), ("insert", 50), ("insert", 20), ("delete", 50), ("delete", 50)):
            src, dst = (rng.integers(0, 40, size).astype(np.uint32) for _ in range(2))
            if operation == "insert":
                model.insert(src, dst, scale.weights_for(model, rng, size))
            else:
                model.delete(src, dst)
        model.insert(src, dst, scale.weights_for(model, rng, size))
        model.verify(rng)

    def test_results_are_copies(self, device_kind: str, weight_dtype: str | None) -> None:
        """Writing to the arrays that queries (edges(), adjacency(), ...) returned does not change the store."""
        model = self.modelled(self.build(6, device_kind, weight_dtype))
        store, rng = model.store, np.random.default_rng(6)
        src, dst = np.array([0, 2, 2], np.uint32), np.array([1, 3, 4], np.uint32)
        model.mark()
        model.insert(src, dst, scale.weights_for(model, rng, 3))
        model.keep("edges()", store.edges())
        model.keep("adjacency()", store.adjacency(model.to_device(np.array([2, 0], np.uint32))))
        model.keep("degrees()", (store.degrees(),))
        model.keep("find()", store.find(model.to_device(src), model.to_device(dst)))
        model.keep("updated()", store.updated())
        model.forget_results()  # overwrites them
        model.verify(rng)

    def test_guard(self, device_kind: str, weight_dtype: str | None) -> None:
        """``insert`` and ``delete`` do nothing if their ``guard`` is not zero; a guard of zero has no effect."""
        if not self.backend.guarded:
            pytest.skip(f"{self.backend.name} takes no guard: the graph checks every batch before it")
        model, rng = self.modelled(self.build(4, device_kind, weight_dtype)), np.random.default_rng(7)
        store, xp = model.store, model.device.xp
        model.insert(np.array([0, 1], np.uint32), np.array([1, 2], np.uint32), scale.weights_for(model, rng, 2))
        first = self.batch(store, [(0, 1), (1, 2)], [5, 6])
        more = self.batch(store, [(0, 1), (0, 3), (3, 3)], [9, 9, 9])
        for value in (1, 2**32 - 1):
            guard = xp.array([value], np.uint32)
            assert not store.device.to_numpy(store.insert(*more, guard=guard).status).any(), "insert() reports a change"
            assert not store.device.to_numpy(store.delete(*first[:2], guard=guard).status).any(), "delete() does"
            model.verify(rng)
        zero = xp.zeros(1, np.uint32)
        status = store.insert(*self.batch(store, [(3, 3)], [1]), guard=zero).status
        assert store.device.to_numpy(status).tolist() == [NEW], "a guard of zero holds insert() back"
        status = store.delete(*first[:2], guard=zero).status
        assert store.device.to_numpy(status).tolist() == [REMOVED, REMOVED], "a guard of zero holds delete() back"
        store.check()

    def test_changes_that_are_dropped(self, device_kind: str, weight_dtype: str | None) -> None:
        """A change that ``apply()`` prepares, and that is never carried out, leaves the store as it was."""
        wholes.whole_changes(self.with_apply(device_kind, weight_dtype), wholes.TWO_SIDED, dropped=True)

    def test_changes_as_a_whole(self, device_kind: str, weight_dtype: str | None) -> None:
        """A change that ``apply()`` prepares acts as ``delete()`` or ``insert()``, and reports the same outcome."""
        wholes.whole_changes(self.with_apply(device_kind, weight_dtype), wholes.ONE_SIDED)

    def test_replacements_as_a_whole(self, device_kind: str, weight_dtype: str | None) -> None:
        """A change that ``apply()`` prepares deletes before it inserts."""
        wholes.whole_changes(self.with_apply(device_kind, weight_dtype), wholes.TWO_SIDED)

    def with_apply(self, device_kind: str, weight_dtype: str | None) -> ModelledStore:
        """Return an empty store that has ``apply()``; skip the test if the backend has none."""
        if self.backend.apply is Store.apply:
            pytest.skip(f"{self.backend.name} has no apply()")
        return self.modelled(self.build(wholes.NUM_VERTICES, device_kind, weight_dtype))

    def test_unchecked_queries(self, device_kind: str, weight_dtype: str | None) -> None:
        """``query()`` of an unvalidated batch answers as ``find()`` does, or returns None."""
        if self.backend.query is Store.query:
            pytest.skip(f"{self.backend.name} has no query()")
        wholes.unchecked_queries(self.modelled(self.build(wholes.NUM_VERTICES, device_kind, weight_dtype)))

    def test_failing_allocations(self, device_kind: str) -> None:
        """An operation in which an allocation raises leaves the store unchanged, and succeeds when it is repeated."""
        dtype = next((dtype for dtype in self.weight_dtypes if dtype is not None), None)
        failures.failing_allocations(lambda: self.modelled(self.build(failures.NUM_VERTICES, device_kind, dtype)))

    def test_copy_to_other_device(self, weight_dtype: str | None) -> None:
        """A copy on CUDA of a CPU store, and a CPU copy of that one, have the same edges, mark and settings."""
        if len(self.backend.devices) < 2 or no_cuda():
            pytest.skip("needs a backend for both devices, a CUDA device and CuPy")
        model = self.modelled(self.build(40, "cpu", weight_dtype, memory_limit=self.limit()))
        for step in (
            ("insert", 300, 40, 1, 5),
            ("mark", 0, 1, 1, 6),
            ("delete", 40, 40, 1, 6),
            ("insert", 40, 9, 1, 7),
        ):
            model.step(*step)
        rng = np.random.default_rng(4)
        there = model.copy_to(resolve_device("cuda"))
        there.verify(rng)
        there.verify_copy(CPU, rng)

    def test_below_a_graph(self, device_kind: str, weight_dtype: str | None) -> None:
        """A graph's deltas and queries are right, and batches with bad ids, also on the device, change nothing."""
        if device_kind not in self.backend.devices:
            pytest.skip(f"{self.backend.name} does not run on {device_kind}")
        options = {"backend": self.backend, "device": device_kind, "weight_dtype": weight_dtype, **self.options}
        graphs.changes_of_a_graph(Graph(graphs.NUM_VERTICES, **options))

    # -- scale ---------------------------------------------------------------------------------------------------------

    def test_hub(self, device_kind: str) -> None:
        """Batches of growing size give one vertex thousands of edges, and others delete them again.

        At last it has more than 16 bits can count.
        """
        model = self.modelled(self.build(5000, device_kind))
        rng = np.random.default_rng(1)
        every = rng.permutation(5000).astype(np.uint32)
        for lo, hi in ((0, 1), (1, 40), (40, 700), (700, 5000)):
            model.insert(np.full(hi - lo, 7, np.uint32), every[lo:hi], None)
            model.verify(rng)
        for lo, hi in ((0, 2600), (2600, 4990), (4990, 5000)):
            model.delete(np.full(hi - lo, 7, np.uint32), every[lo:hi])
            model.verify(rng)
        model.insert(np.full(3000, 7, np.uint32), every[:3000], None)
        model.verify(rng)
        model.delete_vertices(np.array([7], np.uint32))
        model.resize(scale.MANY_VERTICES)
        model.insert(np.full(scale.MANY_VERTICES, 8, np.uint32), np.arange(scale.MANY_VERTICES, dtype=np.uint32), None)
        model.verify_degrees()

    def test_ids_beyond_16_bits(self, device_kind: str, weight_dtype: str | None) -> None:
        """Ids on both sides of 65,536 are told apart, by every operation."""
        scale.ids_beyond_16_bits(self.modelled(self.build(scale.MANY_VERTICES, device_kind, weight_dtype)))

    def test_batch_sizes(self, device_kind: str, weight_dtype: str | None) -> None:
        """Batches around the powers of two up to 4096, with duplicates: every status and every weight is right."""
        scale.batch_sizes(self.modelled(self.build(scale.FEW_VERTICES, device_kind, weight_dtype)))

    def test_large_batches(self, device_kind: str, weight_dtype: str | None) -> None:
        """In batches of 40,000 and 70,000 edges with duplicates, on 70,000 vertices, all statuses are right."""
        scale.large_batches(self.modelled(self.build(scale.MANY_VERTICES, device_kind, weight_dtype)))

    def test_one_edge_at_a_time(self, device_kind: str, weight_dtype: str | None) -> None:
        """Adjacencies grow from 60 to 260 edges and shrink again, one edge at a time."""
        scale.one_edge_at_a_time(self.modelled(self.build(scale.FEW_VERTICES, device_kind, weight_dtype)))

    def test_weights_bit_for_bit(self, device_kind: str, weight_dtype: str | None) -> None:
        """Weights are stored and compared bit for bit: both zeros, subnormals, adjacent floats, each 32-bit half."""
        if weight_dtype is None:
            pytest.skip("no weights")
        scale.every_replacement(self.modelled(self.build(scale.FEW_VERTICES, device_kind, weight_dtype)))

    # -- memory --------------------------------------------------------------------------------------------------------

    def test_reuses_memory(self, device_kind: str) -> None:
        """Repeatedly inserting and deleting the same edges does not use ever more memory."""
        store = self.build(300, device_kind)
        rng = np.random.default_rng(2)
        src, dst = (store.device.xp.array(rng.integers(0, 300, 4000), np.uint32) for _ in range(2))
        allocated = []
        for _ in range(12):
            for change in (store.insert, store.delete):
                change(src, dst)
                store.device.synchronize()  # what a backend keeps in hand may depend on when its counters arrive
            store.compact()
            allocated.append(memory.held(store))
        assert store.num_edges == 0, "edges are left after all were deleted"
        assert allocated[-1] <= max(allocated[:3]), f"memory() goes up: {allocated}"

    def test_repeated_batches_after_mark(self, device_kind: str, weight_dtype: str | None) -> None:
        """After ``mark()``, repeating the same batches does not use ever more memory."""
        memory.repeated_batches(self.limited(device_kind, weight_dtype))

    def test_memory_goes_with_the_store(self, device_kind: str) -> None:
        """The memory of a store is freed with the last reference to the store, without a garbage collection."""
        store = self.build(300, device_kind)
        src, dst = (store.device.xp.arange(300, dtype=np.uint32) for _ in range(2))
        collecting = gc.isenabled()
        gc.disable()
        try:
            for change in (store.insert, store.insert, store.delete):
                change(src, dst)
            store.compact()
            store.view()
            store.check()
            gone = weakref.ref(store)
            del store, change
            assert gone() is None, "a cycle of references keeps the store"
        finally:
            if collecting:
                gc.enable()

    def test_memory_is_what_is_held(self, weight_dtype: str | None) -> None:
        """After every operation on the CPU ``memory()`` gives the bytes that ``tracemalloc`` sees allocated."""
        self.skip_unless_traced()
        memory.memory_is_what_is_held(lambda: self.build(memory.NUM_VERTICES, "cpu", weight_dtype))

    def test_memory_limit(self, device_kind: str, weight_dtype: str | None) -> None:
        """At the memory limit a batch fails as a whole: the store keeps its edges, and later batches succeed."""
        self.skip_unless_limited("batches")
        memory.batches_at_the_limit(self.limited(device_kind, weight_dtype))

    @pytest.mark.parametrize("operation", memory.OPERATIONS)
    def test_operations_at_the_limit(self, device_kind: str, weight_dtype: str | None, operation: str) -> None:
        """Near the memory limit operations other than batches stay below it, or fail and change nothing."""
        self.skip_unless_limited("batches", operation)
        memory.operation_at_the_limit(self.limited(device_kind, weight_dtype), operation)

    def test_reserve(self, device_kind: str) -> None:
        """After ``reserve(k)`` below the limit any k edges can be inserted, with a mark or without."""
        self.skip_unless_limited("batches", "reserve", "reserved")
        memory.reserve_keeps_its_promise(self.limited(device_kind, self.weight_dtypes[0]))

    def test_peak_is_below_the_limit(self, weight_dtype: str | None) -> None:
        """During every operation ``memory_limit`` bounds the memory held, also while arrays are copied to grow."""
        self.skip_unless_limited("batches", "peak")
        self.skip_unless_traced()
        limit = self.limit()
        memory.peak_is_below_the_limit(lambda: self.build(memory.NUM_VERTICES, "cpu", weight_dtype, memory_limit=limit))

    # -- CUDA sources --------------------------------------------------------------------------------------------------

    def test_cuda_sources_compile(self, weight_dtype: str | None) -> None:
        """NVRTC compiles the backend's CUDA programs, and calls of all functions of its cursor; no GPU is needed."""
        if "cuda" not in self.backend.devices:
            pytest.skip(f"{self.backend.name} does not run on CUDA")
        if weight_dtype not in self.weight_dtypes[:2]:
            pytest.skip("compiled for the first two weight dtypes")
        if nvrtc.no_nvrtc():
            pytest.skip(str(nvrtc.no_nvrtc()))
        store = self.build(4, "cpu" if "cpu" in self.backend.devices else "cuda", weight_dtype)
        for program in (*self.cuda_programs(store), nvrtc.cursor_program(store.view())):
            nvrtc.compile_program(program, "compute_80")


def _parameters(function: Any) -> str:
    """Return the parameters of a function with their defaults, without ``self`` and without types."""
    parameters = inspect.signature(function).parameters.values()
    plain = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    return str(inspect.Signature(plain))
