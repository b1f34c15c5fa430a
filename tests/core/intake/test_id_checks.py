"""Ids that lie on the device: what the check is launched with and what it says; on CUDA, when operators' ids raise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import FakeArray, array

import suricate as su
from suricate.errors import VertexRangeError
from suricate.intake import id_checks
from suricate.intake.id_checks import GIVEN, REPORT, IdChecks


class FakeKernel:
    """Notes what it is launched with."""

    def __init__(self, program: Any, name: str, size: int) -> None:
        assert f" {name}(" in program.text
        self.program, self.buffer, self.grids = program, bytearray(size), []

    def launch(self, blocks: int, threads: int) -> None:
        self.grids.append((blocks, threads))


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> IdChecks:
    monkeypatch.setattr(id_checks, "StructKernel", FakeKernel)
    device = SimpleNamespace(xp=SimpleNamespace(zeros=array), to_numpy=np.array)
    return IdChecks(device)  # type: ignore[arg-type]


def test_nothing_is_read_where_nothing_was_checked(checks: IdChecks) -> None:
    checks.raise_pending()
    checks.check(array(0, np.uint32), "vertices", 10, 1)
    assert checks._report is None
    checks.raise_pending()


def test_a_launch_names_ids_argument_and_call(checks: IdChecks) -> None:
    ids, others = array(300, np.int64), array(5, np.uint32)
    checks.check(ids, "vertices", 10, 4)
    checks.check(others, "edges.src", 10, 5)
    checks.check(ids, "vertices", 11, 6)
    kernel = checks._kernels["int64"]
    assert kernel.grids == [(2, 256)] * 2
    assert "#define ID_T long long" in kernel.program.text
    given = GIVEN.dtype.names, GIVEN.packer.unpack(bytes(kernel.buffer))
    report = checks._report.data.ptr
    assert dict(zip(*given, strict=True)) == {
        "ids": ids.data.ptr, "report": report, "size": 300, "vertices": 11, "version": 6, "argument": 0, "call": 3,
    }  # fmt: skip
    assert checks._kernels["uint32"].grids == [(1, 256)]


@pytest.mark.parametrize(("dtype", "value"), [("int64", -7), ("uint64", 2**64 - 7), ("uint32", 12)])
def test_the_first_error_is_raised_once(checks: IdChecks, dtype: str, value: int) -> None:
    checks.check(array(5, "int8"), "u", 10, 4)
    checks.raise_pending()
    checks.check(array(5, dtype), "v", 10, 4)
    found = checks._report.view(np.ndarray).view(REPORT.dtype)
    found[0] = (2**64 - 1 - 3, (value + 2**63) % 2**64 - 2**63, 10, 4, 1, 2, 0)
    checks._report = found.view(np.uint8).view(FakeArray)
    with pytest.raises(VertexRangeError, match=rf"^v\[3\] is {value}, but ids are 0 to 9.*called at version 4\)$"):
        checks.raise_pending()
    checks.check(array(5, dtype), "v", 10, 4)
    checks.raise_pending()


# -- on a GPU ----------------------------------------------------------------------------------------------------------


def hop(u, v, w, out):
    return out[u] + 1


def add_one(v, out):
    out[v] += 1


@pytest.fixture
def graph(backend_on_cuda: str, request: pytest.FixtureRequest) -> su.Graph:
    made = su.Graph(6, backend=backend_on_cuda, device="cuda", checks=request.param, in_edges=True)
    made.insert_edges([0, 1, 2, 3], [1, 2, 3, 4])
    made.synchronize()
    return made


@pytest.fixture(params=["slabhash", "csr_baseline"])
def backend_on_cuda(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["deferred"], indirect=True)
@pytest.mark.parametrize("dtype", ["uint32", "int64", "uint64"])
def test_bad_ids_raise_at_the_next_wait(graph: su.Graph, dtype: str) -> None:
    import cupy

    bad = cupy.asarray(np.array([0, 2, 9, 3, 8]).astype(dtype))
    out = cupy.zeros(6, np.int64)
    su.vertex_map(graph, bad, add_one, args=(out,))
    assert out.tolist() == [1, 0, 1, 1, 0, 0], "the others are served"
    su.advance(graph, bad[3:], hop, out=out, args=(out,), reduce="min")
    for wait in (graph.synchronize, lambda: graph.num_edges):
        with pytest.raises(VertexRangeError, match=r"^frontier\[2\] is 9, but ids are 0 to 5.*called at version 1\)$"):
            wait()
        graph.synchronize()
        su.vertex_map(graph, bad, add_one, args=(out,))
    with pytest.raises(VertexRangeError, match=r"frontier\[2\]"):
        graph.edges()
    assert su.neighbor_reduce(graph, bad[:2], lambda u, v, w: 1, reduce="sum").tolist() == [1, 1]
    graph.synchronize()
    su.neighbor_reduce(graph, bad, lambda u, v, w: 1, reduce="sum")
    su.intersect(graph, u=bad, v=bad)
    with pytest.raises(VertexRangeError, match=r"frontier\[2\]"):
        graph.synchronize()
    su.intersect(graph, u=bad[:2], v=bad[3:])
    with pytest.raises(VertexRangeError, match=r"^v\[1\] is 8"):
        graph.synchronize()


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["deferred"], indirect=True)
def test_the_first_position_of_many_counts(graph: su.Graph) -> None:
    import cupy

    out, ids = cupy.zeros(6, np.int64), cupy.full(1 << 20, 5, np.int32)
    ids[700_001:] = -3
    for _ in range(3):
        su.vertex_map(graph, ids, add_one, args=(out,))
        with pytest.raises(VertexRangeError, match=r"^frontier\[700001\] is -3"):
            graph.synchronize()


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["eager", "deferred"], indirect=True)
def test_ids_of_edges_are_checked_without_a_wait(graph: su.Graph) -> None:
    import cupy

    out = cupy.zeros(6, np.int64)
    su.advance(graph, su.EdgeList(cupy.array([0, 1]), cupy.array([1, 6])), hop, out=out, args=(out,), reduce="max")
    assert out.tolist() == [0, 1, 0, 0, 0, 0]
    with pytest.raises(VertexRangeError, match=r"^edges\.dst\[1\] is 6"):
        graph.synchronize()


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["eager"], indirect=True)
def test_eager_ids_raise_in_the_call(graph: su.Graph) -> None:
    import cupy

    out = cupy.zeros(6, np.int64)
    with pytest.raises(VertexRangeError, match=r"^frontier\[1\] is 6"):
        su.vertex_map(graph, cupy.array([5, 6]), add_one, args=(out,))
    assert not out.any()
    graph.synchronize()
