"""Operators on CUDA without a GPU: what a call launches, every argument checked against the kernel's parameters."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from launches import FakeArray, FakePrepared, array, fake_cupy

import suricate as su
from suricate.cuda.program import C_TYPES, Program
from suricate.operators.call import Call
from suricate.operators.cuda import launches
from suricate.operators.cuda.loops import loop_memory
from suricate.operators.cuda.pull import converge, pull
from suricate.operators.cuda.push import propagate
from suricate.repair.cuda import repairs as forest
from suricate.state.workspace import Workspace

SCALARS = {c: np.dtype(name) for name, c in C_TYPES.items()} | {"uint32_t": np.dtype("u4"), "int": np.dtype("i4")}


class FakeCuda:
    """What operators ask of a CUDA device."""

    kind, index, is_cuda = "cuda", 0, True

    def __init__(self) -> None:
        self.xp = fake_cupy()
        event = SimpleNamespace(record=lambda: None, done=True)
        self.xp.cuda = SimpleNamespace(  # type: ignore[attr-defined]
            alloc_pinned_memory=bytearray, Event=lambda **options: event
        )
        self.xp.full = lambda size, value, dtype: array(size, dtype) + dtype(value)  # type: ignore[attr-defined]

    def current(self) -> nullcontext:
        """Return a context in which it is the current device."""
        return nullcontext()

    def to_numpy(self, given: Any) -> np.ndarray:
        """Return a copy on the host."""
        return np.array(given)


class FakeGraph:
    """A graph on a CUDA device of which only the views and the scratch arrays are there."""

    def __init__(self, graph: su.Graph) -> None:
        self._graph, self.device = graph, FakeCuda()
        self.num_vertices, self.directed = graph.num_vertices, graph.directed
        self.workspace = Workspace(self.device)  # type: ignore[arg-type]
        self.weight_dtype, self.has_in_edges, self.most_arcs = graph.weight_dtype, graph.has_in_edges, graph.most_arcs
        self.partition = self.edge_table = self._events = None
        self.walks_rows = False
        self._views: dict[str, Any] = {}

    def view(self, over: str = "out") -> Any:
        """Return a view whose arrays have addresses."""
        if over not in self._views:
            view = self._graph.view(over)
            data = type(view.data)(*(_faked(part) for part in view.data))
            self._views[over] = replace(view, data=data)
        return self._views[over]

    def store(self, over: str = "out") -> Any:
        """Return the store."""
        return self._graph.store(over)


def _faked(part: Any) -> Any:
    return part.view(FakeArray) if isinstance(part, np.ndarray) else part


def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of kernels that operators launch from now on; their arguments are checked."""
    names: list[str] = []

    def kernel(program: Program, name: str) -> Any:
        def launch(grid: tuple, block: tuple, arguments: tuple) -> None:
            assert grid[0] > 0
            check_arguments(program, name, arguments)
            names.append(name)

        return launch

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    for module in (forest, propagate):
        monkeypatch.setattr(module, "PreparedKernel", FakePrepared)
    for module in (launches, pull, loop_memory, converge):
        monkeypatch.setattr(module, "multiprocessors", lambda device: 132)
    return names


def parameters(program: Program, kernel: str) -> list[str]:
    """Return the C++ types of a kernel's parameters, macros expanded."""
    text = program.text
    found = re.search(rf"__global__ void\s+(?:__launch_bounds__\([\w, ]+\)\s+)?{kernel}\(([^)]*)\)", text)
    assert found, f"{program.source.name} has no kernel {kernel}"
    both = "#define OVER OVER_BOTH" in text
    arguments = re.search(r"#define PARAMS(.*)", text)
    twice, tables = "#define WAKE_BOTH 1" in text, "#define HAS_TABLES 1" in text
    declared = re.sub(r"\bWAKE_VIEWS\b", "View wake, View wake2" if twice else "View wake", found[1])
    declared = re.sub(r"\bVIEWS\b", "View g, View h" if both else "View g", declared)
    declared = re.sub(r"\bTABLES\b", ", VoteTables tables" if tables else "", declared)
    if key := re.search(r"#define FIRST_KEY_T (.*)", text):
        declared = re.sub(r"\bFIRST_KEY_T\b", key[1], declared)
    declared = re.sub(r"\bPARAMS\b", arguments[1] if arguments else "", declared)
    return [" ".join(part.split()[:-1]).replace("const ", "") for part in declared.split(",")]


def check_arguments(program: Program, kernel: str, arguments: tuple) -> None:
    """Assert that ``arguments`` fit the parameters of a kernel: how many, pointers, structs, scalars by type."""
    wanted = parameters(program, kernel)
    assert len(arguments) == len(wanted), f"{kernel} takes {wanted}, not {len(arguments)} arguments"
    for argument, kind in zip(arguments, wanted, strict=True):
        if kind.endswith("*"):
            assert isinstance(argument, (FakeArray, np.uint64)), f"{kernel}: {argument!r} for {kind}"
        elif kind in SCALARS:
            assert np.asarray(argument).dtype == SCALARS[kind], f"{kernel}: {argument!r} for {kind}"
        else:
            assert isinstance(argument, np.void), f"{kernel}: {argument!r} for {kind}"


def call_of(graph: FakeGraph, bound: Call) -> Call:
    """Return a call whose arrays have addresses."""
    return bound._replace(values=tuple(_faked(value) for value in bound.values))
