"""The launches of intersect agree with the parameters of its kernels; nothing is read from the device."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from launches import FakeArray, array, check_launch

import suricate as su
from suricate.base.types import ArcList
from suricate.cuda.program import Program
from suricate.operators import binding
from suricate.operators.cuda.intersect import intersect
from suricate.operators.cuda.launches import Counters
from suricate.state.workspace import Workspace

BACKENDS = ("csr_baseline", "hornet_like", "slabhash", "blocked", "gpma")


def fake_view(view: Any) -> Any:
    """Return the view with arrays that have addresses."""
    parts = (part.view(FakeArray) if isinstance(part, np.ndarray) else part for part in view.data)
    return replace(view, data=type(view.data)(*parts))


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the kernels that are launched; each launch is checked."""
    names: list[str] = []

    def kernel(program: Program, name: str) -> Any:
        def launch(grid: tuple, block: tuple, args: tuple) -> None:
            structs = {"Pairs": intersect.PAIRS, "PairList": intersect.PAIR_LIST}
            views = dict.fromkeys(("View", "LeftView", "RightView"), SimpleNamespace(size=ANY))
            plain = SimpleNamespace(text=program.text.replace(" PARAMS)", ")"), source=program.source)
            check_launch(plain, name, args, structs | views)
            names.append(name)

        return launch

    monkeypatch.setattr(Program, "kernel", kernel)
    monkeypatch.setattr(intersect, "full_grid", lambda device: 16)
    return names


def graph_on_fake_cuda(backend: str) -> tuple[Any, Any]:
    graph = su.Graph(9, backend=backend, device="cpu", directed=False)
    graph.insert_edges([0, 1, 2], [1, 2, 0])
    view = fake_view(graph.view())
    xp = SimpleNamespace(empty=array, zeros=array, cumsum=lambda a, dtype, out: None)
    device = SimpleNamespace(xp=xp, index=0, is_cuda=True)
    workspace = Workspace(device)
    return SimpleNamespace(
        device=device, workspace=workspace, num_vertices=9, weight_dtype=None, view=lambda over="out": view
    ), graph


def call_of(graph: Any) -> Any:
    return binding.bind_intersection(graph, None, (), everything=False)._replace(dtype=np.dtype(np.int64))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["auto", "bitmap"])
@pytest.mark.parametrize("splits", [True, False])
def test_pairs(backend: str, method: str, splits: bool, launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands that are both large have pairs that are split, in a second launch."""
    monkeypatch.setattr(intersect, "UNSPLIT", 0 if splits else 1 << 16)
    fake, graph = graph_on_fake_cuda(backend)
    batch = fake_view(graph.edge_set([0, 1], [2, 2]).view())
    pairs = ArcList(array(5, np.uint32), array(5, np.uint32), None, array(5, np.uint8), 1, 5)
    for right in (fake.view(), batch):
        launched.clear()
        intersect.intersect(fake, call_of(graph), fake.view(), right, pairs, array(5, np.int64), None, method)
        name = "stream" if method == "bitmap" or backend == "blocked" else "probe"
        assert launched == [f"{name}_pairs", *([f"{name}_parts"] if splits or name == "stream" else [])]


@pytest.mark.parametrize("backend", BACKENDS)
def test_everything(backend: str, launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intersect, "UNSPLIT", 0)
    fake, graph = graph_on_fake_cuda(backend)
    intersect.intersect(fake, call_of(graph), fake.view(), fake.view(), None, array(1, np.int64), None, "auto")
    assert launched[:3] == ["measure_rows", "begin_rows", "fill_rows"]
    assert len(launched) == 5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [1, 9])
@pytest.mark.parametrize("oriented", ["degree", "id"])
def test_triangles(backend: str, length: int, oriented: str, launched: list[str]) -> None:
    fake, graph = graph_on_fake_cuda(backend)
    intersect.intersect(fake, call_of(graph), fake.view(), fake.view(), None, array(length, np.int64), oriented, "auto")
    assert launched == ["measure_rows", "begin_rows", "fill_rows", "sum_rows", "sum_parts"]


@pytest.mark.parametrize("count", [1 << 22, (1 << 22) + 1])
def test_long_lists_of_pairs_are_taken_in_parts(count: int, launched: list[str]) -> None:
    fake, graph = graph_on_fake_cuda("blocked")
    ends = array(count, np.uint32)
    pairs = ArcList(ends, ends, None, None, 0, count)
    intersect.intersect(fake, call_of(graph), fake.view(), fake.view(), pairs, array(count, np.int64), None, "auto")
    assert len(launched) == (2 if count == 1 << 22 else 4)


def test_counters_are_taken_per_launch() -> None:
    fake, _ = graph_on_fake_cuda("slabhash")
    first, second = (intersect._pair_list(fake, 8) for _ in range(2))
    assert first["total"] != second["total"]
    assert isinstance(fake.workspace.state(Counters), Counters)
