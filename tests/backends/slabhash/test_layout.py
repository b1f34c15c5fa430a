"""The layout: geometry, bucket codes, slab widths, bytes per edge, copies, and the list of CUDA kernels."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from slabhash_cases import (
    F32,
    F64,
    bucket_counts,
    first_slabs,
    ids,
    random_batch,
)

from suricate.backends.slabhash import layout, programs
from suricate.backends.slabhash.cursor import decode
from suricate.backends.slabhash.programs import COUNTERS
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import CPU, Device
from suricate.base.types import EMPTY


def test_geometry() -> None:
    """Keys, next pointer and weights share a slab as documented."""
    expected = {
        (32, None): (7, 0), (64, None): (15, 0), (128, None): (31, 0),
        (32, F32): (3, 4), (64, F32): (7, 8), (128, F32): (15, 16),
        (32, F64): (2, 4), (64, F64): (5, 6), (128, F64): (10, 12),
    }  # fmt: skip
    for (slab_bytes, dtype), (keys, offset) in expected.items():
        shape = layout.geometry(slab_bytes, dtype)
        assert shape.keys == keys
        if dtype is not None:
            assert shape.weight_offset == offset
            assert offset + keys * shape.weight_words <= shape.words
            assert offset % shape.weight_words == 0
        assert 4 * shape.lanes > shape.keys  # the lanes load the next pointer as well
        assert shape.lanes in (1, 2, 4, 8)


def test_bucket_codes() -> None:
    """A code stands for at least the count it was made of, exactly below 64, and for little more above."""
    from suricate.backends.slabhash.loops import encode

    for count in [*range(1, 5000), 10**5, 2**20 - 1, 2**20, 2**20 + 1, 67_000_000]:
        code = encode(count)
        assert 0 < code < 1 << 10
        assert count <= decode(code) <= count * (1 if count < 64 else 1 + 2 / 64)


def test_width_by_the_first_bulk_load(device: Device) -> None:
    """Without hints the first batch decides, if it is a bulk load; afterwards the width stays."""
    for edges, width in ((100, 64), (1_999, 64), (2_000, 32), (12_000, 64)):
        store = SlabHashStore(1_000, device=device)
        store.insert(*random_batch(store, 1, edges))
        assert store.slab_bytes == width, edges
        store.insert(*random_batch(store, 2, 3_000))
        assert store.slab_bytes == width
        store.check()
    store = SlabHashStore(1_000, device=device, slab_bytes=64)
    store.insert(*random_batch(store, 1, 2_000))
    assert store.slab_bytes == 64


def test_width_by_expected_degree() -> None:
    n = 1000
    assert SlabHashStore(n).slab_bytes == 64
    assert SlabHashStore(n, degree_hints=np.full(n, 3)).slab_bytes == 16
    assert SlabHashStore(n, degree_hints=np.full(n, 4)).slab_bytes == 32
    assert SlabHashStore(n, degree_hints=np.full(n, 7)).slab_bytes == 32
    assert SlabHashStore(n, degree_hints=np.full(n, 1), weight_dtype=F64).slab_bytes == 32
    assert SlabHashStore(n, degree_hints=np.full(n, 8)).slab_bytes == 64
    assert SlabHashStore(n, degree_hints=np.full(n, 2000)).slab_bytes == 128
    assert SlabHashStore(n, degree_hints=np.full(n, 5), weight_dtype=F64).slab_bytes == 64
    assert SlabHashStore(n, degree_hints=np.full(n, 6), weight_dtype=F64).slab_bytes == 128
    assert SlabHashStore(n, weight_dtype=F64).slab_bytes == 128
    assert SlabHashStore(n, degree_hints=np.full(n, 4), slab_bytes=128).slab_bytes == 128


def test_heads_are_contiguous_and_sized_by_hints(device: Device) -> None:
    hints = np.array([0, 1, 14, 0, 30, 1])
    store = SlabHashStore(6, device=device, degree_hints=hints, slab_bytes=32, load_factor=0.7)
    assert bucket_counts(store).tolist() == [1, 1, 3, 1, 7, 1]
    assert first_slabs(store).tolist() == [EMPTY, 0, 1, EMPTY, 4, 11]
    assert store.memory()["slabs"] == (12 * 32, 12 * 32)


def test_edges_that_fit_one_slab_take_one_bucket(device: Device) -> None:
    """Also where the load factor says otherwise; whatever buckets are sized for besides counts as well."""
    hints = np.array([7, 8, 3, 4])
    store = SlabHashStore(4, device=device, degree_hints=hints, slab_bytes=32, load_factor=0.35)
    assert bucket_counts(store).tolist() == [1, 4, 1, 1]
    assert store.kernels.plan_buckets(device.xp.array(hints, np.uint32), 2.0).codes.tolist() == [6, 7, 1, 4]
    assert SlabHashStore(4, device=device, degree_hints=hints, slab_bytes=32, load_factor=2.0).supply.ledger.used == 4


def test_vertices_without_edges_take_no_slab(device: Device) -> None:
    store = SlabHashStore(10_000, device=device)
    assert store.memory()["slabs"] == (0, 0)
    store.insert(ids(store, 5), ids(store, 6))
    assert store.memory()["slabs"][0] == store.slab_bytes
    store.check()


def test_bytes_per_edge_of_a_grid(device: Device) -> None:
    """A road-like graph with degree hints: at most 12 bytes per edge, everything included."""
    side = 300
    at = np.arange(side * side).reshape(side, side)
    pairs = [(at[:, 1:], at[:, :-1]), (at[1:], at[:-1])]
    src = np.concatenate([np.concatenate([a.ravel(), b.ravel()]) for a, b in pairs]).astype(np.uint32)
    dst = np.concatenate([np.concatenate([b.ravel(), a.ravel()]) for a, b in pairs]).astype(np.uint32)
    hints = np.bincount(src, minlength=side * side)
    store = SlabHashStore(side * side, device=device, degree_hints=hints)
    store.insert(device.xp.array(src), device.xp.array(dst))
    assert store.num_edges == len(src)
    assert sum(allocated for _, allocated in store.memory().values()) / len(src) <= 12


def test_bytes_per_edge_of_a_skewed_graph(device: Device) -> None:
    n, rng = 1 << 14, np.random.default_rng(3)
    src = (n * rng.random(16 * n) ** 3).astype(np.uint32)
    keys = np.unique(src.astype(np.uint64) << np.uint64(32) | rng.integers(0, n, len(src)).astype(np.uint64))
    src, dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    hints = np.bincount(src, minlength=n)
    store = SlabHashStore(n, device=device, degree_hints=hints)
    store.insert(device.xp.array(src), device.xp.array(dst))
    assert sum(allocated for _, allocated in store.memory().values()) / len(src) <= 11


def test_copy_has_the_same_arrays(device: Device) -> None:
    store = SlabHashStore(40, device=device, slab_bytes=32, weight_dtype=F64)
    src, dst = random_batch(store, 1, 500)
    store.insert(src, dst, device.xp.arange(500, dtype=F64))
    store.mark()
    store.insert(dst, src, device.xp.arange(500, dtype=F64))
    copy = store.copy_to(CPU)
    for name, part in store.slabs._asdict().items():
        assert np.array_equal(part if isinstance(part, int) else device.to_numpy(part), getattr(copy.slabs, name)), name
    copy.delete_vertices(np.arange(40, dtype=np.uint32))
    store.check()
    assert store.num_edges > 0


@pytest.mark.parametrize("dtype", [None, F32, F64], ids=str)
def test_cuda_sources_are_complete(dtype: np.dtype | None) -> None:
    """Every kernel that is launched is in the sources; they can be assembled without CuPy."""
    text = "\n".join(program.text for program in programs.programs(SlabHashStore(4, weight_dtype=dtype)))
    launches = re.findall(r'(?:_launch\(|_plan\(slabs, )"(\w+)"', (programs.FOLDER.parent / "cuda.py").read_text())
    kernels = re.findall(r"__global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(", text)
    assert len(launches) > 12
    assert {"insert", "erase", "find"} <= set(launches)
    assert set(launches) <= set(kernels)


def test_flags_lie_above_the_values_that_they_accompany() -> None:
    code_bits = layout.MANTISSA_BITS + layout.EXPONENT_BITS
    assert layout.QUEUED_FLAG.bit_count() == 1
    assert 1 << code_bits <= layout.QUEUED_FLAG < 1 << 16, "a code and its flag share 16 bits"
    assert layout.SEVERAL == 1 << 31
    assert layout.MAX_SLABS < layout.SEVERAL, "a head word is an index and a flag"
    widest = max(layout.geometry(size, None).keys for size in layout.SLAB_BYTES)
    assert 1 << widest <= layout.LISTED_BIT < 1 << 32, "a word of fresh has a bit per key, and the flag"
    assert layout.BARRIER_FLAG == 1 << 31, "a barrier counts blocks below its flag"


def test_counters_do_not_overlap() -> None:
    wide = {"SPENT"}  # 64 bits
    places = [getattr(layout, name) for name in COUNTERS] + [getattr(layout, name) + 1 for name in wide]
    assert len(set(places)) == len(places)
    assert max(places) < layout.NUM_COUNTERS
    assert layout.SPENT % 2 == 0, "64-bit words are aligned"
    kept = {"BUMP", "LISTED", "TAKEN", "FREED", "DENIED", "TOUCHED", "ARRIVED", "REJECTED", "ENDED"}
    assert set(layout.BATCH_COUNTERS) == set(places) - {getattr(layout, name) for name in kept}


def test_a_rehashed_vertex_is_not_rehashed_at_once_again() -> None:
    assert layout.REHASH_AT > 1
    assert 1 < layout.REHASH_GROWTH <= layout.REHASH_AT
    assert layout.LONG_CHAIN >= 1
    assert layout.REHASH_CHAIN >= 2


def test_the_kernels_of_both_devices_have_the_same_parameters() -> None:
    """But for what only one device does: the CPU takes small batches otherwise, CUDA validates and sends counters."""

    def methods(module: str) -> dict[str, list[str]]:
        tree = ast.parse((Path(layout.__file__).parent / module).read_text())
        kernels = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Kernels"))
        functions = [node for node in kernels.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
        return {f.name: [a.arg for a in (*f.args.args, *f.args.kwonlyargs)] for f in functions}

    cpu, cuda = methods("cpu.py"), methods("cuda.py")
    assert cpu.keys() - cuda.keys() == {"insert_few", "insert_rest", "delete_few", "release"}
    assert {name: cuda[name] for name in cpu.keys() & cuda.keys()} == {
        name: cpu[name] for name in cpu.keys() & cuda.keys()
    }
    assert "insert" in cuda
