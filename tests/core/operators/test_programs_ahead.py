"""What a first call of an algorithm compiles: programs beside each other, and no reduction of CuPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.cuda.program import Program
from suricate.operators.ahead import compile_ahead

N = 200


def graph_of(device: str) -> su.Graph:
    graph = su.Graph(N, device=device, in_edges=True)
    graph.insert_edges(*np.random.default_rng(1).integers(0, N, (2, 900)))
    return graph


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("CuPy compiles this reduction for seconds")


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "number"), [("scc", 4), ("coloring", 2)])
def test_the_large_programs_of_an_algorithm_are_compiled_beside_each_other(
    name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, launched = list[Program](), list[Program]()
    kernel, graph = Program.kernel, graph_of("cuda")

    def noted(self: Program, at: str) -> Any:
        if self.source.name in ("propagate.cu", "converge.cu"):
            launched.append(self)
        return kernel(self, at)

    monkeypatch.setattr(Program, "kernel", noted)
    monkeypatch.setattr(Program, "prepare", lambda self: launched or asked.append(self))
    result = graph.track(name).result
    assert len(asked) == number, "before any of them is launched"
    assert set(asked) == set(launched)
    expected = graph_of("cpu").track(name).result
    if name == "scc":
        assert result.label.get().tolist() == expected.label.tolist()


def test_nothing_is_called_ahead_on_the_cpu() -> None:
    compile_ahead(graph_of("cpu"), refuse)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["scc", "directed_triangles"])
def test_a_first_call_needs_no_reduction_that_cupy_compiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    if cupy.__version__ != "emulated":
        pytest.skip("CuPy's own arrays cannot be watched")
    graph, total = graph_of("cuda"), cupy.ndarray.sum

    def summed(self: Any, *given: Any, **options: Any) -> Any:
        assert self.dtype.name in ("int64", "uint64", "float32", "float64"), "others CuPy compiles for seconds"
        return total(self, *given, **options)

    for method in ("any", "all"):
        monkeypatch.setattr(cupy.ndarray, method, refuse)
    monkeypatch.setattr(cupy.ndarray, "sum", summed)
    assert graph.track(name).updates.computed == 1
