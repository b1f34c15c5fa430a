"""Loops of one's own over the cursor of a view: what reads no weights is compiled once for all types of weights."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof

import suricate as su
from suricate import kernels
from suricate.algorithms.wcc.afforest import LOOPS
from suricate.cpu.code_key import attributes_of
from suricate.cursors import bindings, contiguous
from suricate.kernels import loops_over, walking, without_weights

BACKENDS = ("slabhash", "hornet_like", "csr_baseline", "blocked", "gpma")


def view_of(backend, weight_dtype):
    graph = su.Graph(9, backend=backend, device="cpu", directed=False, weight_dtype=weight_dtype)
    weight = None if weight_dtype is None else np.ones(3, weight_dtype)
    graph.insert_edges([0, 1, 5], [1, 2, 6], weight)
    return graph, graph.view()


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_without_weights_have_one_type(backend):
    views = [view_of(backend, dtype)[1] for dtype in (None, "float32", "float64", "int32")]
    assert len({typeof(without_weights(view)) for view in views}) == 1
    assert len({loops_over(view, LOOPS) for view in views}) == 1


def test_loops_are_compiled_once_for_all_weights():
    found = []
    for dtype in ("float64", None, "float32"):
        graph, view = view_of("slabhash", dtype)
        found.append(graph.compute("wcc").num_components)
    assert found == [6, 6, 6]
    assert len(loops_over(view, LOOPS).unite_rest.signatures) == 1


TEMPLATE = """
from suricate.cpu.jit import kernel
from suricate.kernels import ROUND_WORDS, find, inner
from suricate.kernels import neighbors

@inner
def answered(g, u):
    count = 0
    for v, _ in neighbors(g, u):
        if find(g, v, u) >= 0:
            count += ROUND_WORDS
    return count

@kernel
def total(g, num_vertices):
    count = 0
    for u in range(num_vertices):
        count += answered(g, u)
    return count
"""


@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline"])
def test_templates_take_functions_of_the_cursor_among_other_names(backend, tmp_path):
    (template := tmp_path / "answered.py").write_text(TEMPLATE)
    view = view_of(backend, None)[1]
    module = loops_over(view, template)
    assert module.total(without_weights(view), 9) == 6 * walking.ROUND_WORDS
    assert module.find is import_module(view.cursor).find


def test_templates_may_take_every_function_of_a_cursor():
    defined = {name for name, value in vars(bindings).items() if callable(value) or isinstance(value, bool)}
    assert defined - {"Any", "Iterator", "inner"} == walking.FUNCTIONS
    assert set(kernels.__all__) >= walking.FUNCTIONS | walking.DECORATORS


class View(NamedTuple):
    target: np.ndarray
    weight: np.ndarray


def test_a_cursor_that_finds_its_way_by_weights_gets_them(monkeypatch):
    assert "weight" in attributes_of(contiguous.weight)
    assert "weight" not in attributes_of(contiguous.key)

    def key(g, i):
        return hidden(g)[i]

    def hidden(g):
        return g.weight

    assert walking._can_drop_weights.__wrapped__("suricate.cursors.contiguous", View)
    monkeypatch.setattr(contiguous, "key", key)
    assert not walking._can_drop_weights.__wrapped__("suricate.cursors.contiguous", View)


def test_a_cursor_that_calls_what_reads_weights_by_its_module_gets_them(monkeypatch):
    def key(g, i):
        return np.uint32(helpers.deeper.hidden(g)[i])

    def hidden(g):
        return g.weight

    def unused(g):
        return g.weight

    helpers, deeper = ModuleType("helpers"), ModuleType("helpers.deeper")
    helpers.deeper, deeper.hidden, helpers.unused = deeper, hidden, unused
    monkeypatch.setattr(contiguous, "key", key)
    assert not walking._can_drop_weights.__wrapped__("suricate.cursors.contiguous", View)
    deeper.hidden = lambda g: g.dst
    assert walking._can_drop_weights.__wrapped__("suricate.cursors.contiguous", View)
