"""Cursors: what a view promises, its Numba module and its CUDA header have; segments with many owners."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from packed_cursor import packed_view

import suricate as su
from suricate.base.types import TOMBSTONE, EdgeList, StoreView
from suricate.cuda.program import Program
from suricate.cuda.structs import view_prelude
from suricate.cursors import missing_functions
from suricate.testing.nvrtc import CompileError, compile_program, no_nvrtc
from suricate.testing.walks import walk_view

needs_nvrtc = pytest.mark.skipif(no_nvrtc() is not None, reason="NVRTC is not installed")
N = 40


def some_edges() -> tuple[EdgeList, np.ndarray]:
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(0, N * N, 300))
    src, dst = (keys // N).astype(np.uint32), (keys % N).astype(np.uint32)
    return EdgeList(src, dst, rng.random(len(src))), rng.random(len(src)) < 0.2


def view_of(backend: str) -> StoreView:
    if backend == "packed":
        edges, inserted = some_edges()
        return packed_view(edges, N, inserted)
    return su.Graph(4, backend=backend, device="cpu").view("out")


@pytest.fixture(params=["csr_baseline", "hornet_like", "slabhash", "blocked", "gpma", "packed"])
def view(request: pytest.FixtureRequest) -> StoreView:
    return view_of(request.param)


def test_the_cursor_has_what_its_view_promises(view: StoreView) -> None:
    assert not missing_functions(view)
    assert view.find == ("sorted" if view.ascending else view.find)


def test_a_promise_that_is_not_kept_is_named() -> None:
    view = dataclasses.replace(view_of("csr_baseline"), has_updated=True, owner_per="slot")
    assert missing_functions(view) == ["updated_count", "updated_segment", "is_fresh", "slot_owner"]


def program_over(view: StoreView, tmp_path: Path) -> Program:
    source = tmp_path / "probe.cu"
    source.write_text('extern "C" __global__ void probe(View g, uint32_t* out) { *out = degree(g, 0); }')
    return Program(source, view_prelude(view), include=(view.header.parent,))


@needs_nvrtc
def test_header_and_view_agree(view: StoreView, tmp_path: Path) -> None:
    compile_program(program_over(view, tmp_path), "sm_80")


@needs_nvrtc
@pytest.mark.parametrize(
    ("backend", "field"), [("csr_baseline", "can_scan"), ("csr_baseline", "has_updated"), ("packed", "can_scan")]
)
def test_a_header_that_contradicts_the_view_does_not_compile(backend: str, field: str, tmp_path: Path) -> None:
    view = view_of(backend)
    wrong = dataclasses.replace(view, **{field: not getattr(view, field)})
    program = program_over(wrong, tmp_path)
    program.source.write_text(
        'extern "C" __global__ void probe(View g) {\n#if HAS_UPDATED\n    updated_segments(g);\n#endif\n}'
    )
    with pytest.raises(CompileError):
        compile_program(program, "sm_80")


def test_segments_with_many_owners() -> None:
    edges, inserted = some_edges()
    view = packed_view(edges, N, inserted)
    nothing = np.zeros(0, np.uint32)
    walked, degrees = walk_view(view, len(edges.src), (nothing, nothing))
    for got, wanted in zip(walked, edges, strict=True):
        assert np.array_equal(got, wanted)
    assert np.array_equal(degrees, np.bincount(edges.src, minlength=N))
    cursor = sys.modules[view.cursor]
    first, past, key, fresh, owner = cursor.begin, cursor.end, cursor.key, cursor.is_fresh, cursor.slot_owner
    count, segment = cursor.updated_count, cursor.updated_segment

    @njit
    def walk(g, src, dst):
        met = 0
        for i in range(count(g)):
            c = segment(g, i)
            for slot in range(first(g, c), past(g, c)):
                if key(g, slot) < TOMBSTONE and fresh(g, slot):
                    src[met], dst[met] = owner(g, slot), key(g, slot)
                    met += 1
        return met

    src, dst = np.zeros_like(edges.src), np.zeros_like(edges.dst)
    assert walk(view.data, src, dst) == inserted.sum()
    assert np.array_equal(src[: inserted.sum()], edges.src[inserted])
    assert np.array_equal(dst[: inserted.sum()], edges.dst[inserted])
