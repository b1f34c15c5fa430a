"""Devices, ids, weights and hypothesis examples for the conformance kits."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from suricate.base.devices import cuda_device_count

SIZES = (0, 1, 2, 7, 40, 300)  # edges of a batch; ids drawn by an operation
SPREADS = (1, 3, 40, 1000)  # distinct ids among them: few make duplicates and hubs, many make growth
STRIDES = (1, 32)  # distance of these ids: 32 collides in tables and aligns with 32-bit masks


def no_cuda() -> str | None:
    """Return why this machine cannot run CUDA, as text; None if it can."""
    if cuda_device_count() == 0:
        return "the CUDA driver offers no device"
    return None if importlib.util.find_spec("cupy") else "CuPy is not installed"


def demand_class(case: object, attribute: str) -> None:
    """Raise ``pytest.UsageError`` if the test ``case`` has not set ``attribute``, which is the class it tests."""
    if not hasattr(case, attribute):
        name = type(case).__name__
        raise pytest.UsageError(f"{name} does not say what it tests: set {attribute} = ... in the class")


def device_params(kinds: Sequence[str], marks: Sequence[pytest.MarkDecorator]) -> list[Any]:
    """Return pytest parameters for device kinds; "cuda" gets ``marks``, and is skipped where CUDA is absent."""
    reason = no_cuda()
    skip = pytest.mark.skipif(reason is not None, reason=str(reason))
    return [pytest.param(kind, marks=[skip, *marks] if kind == "cuda" else []) for kind in kinds]


def run_examples(body: Callable[..., None], examples: int | None, **strategies: st.SearchStrategy[Any]) -> None:
    """Call ``body`` with values drawn from ``strategies``, ``examples`` times; None: as the hypothesis profile says."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    count = settings().max_examples if examples is None else examples
    settings(max_examples=count, deadline=None, suppress_health_check=quiet, report_multiple_bugs=False)(
        given(**strategies)(body)
    )()


def draw_ids(rng: np.random.Generator, count: int, num_vertices: int, spread: int, stride: int) -> np.ndarray:
    """Return ``uint32[count]``, ids below ``num_vertices``: random ones of 0, ``stride``, 2 ``stride``, ... (modulo).

    ``spread`` is the number of ids to draw from. Without vertices there are none.
    """
    if num_vertices == 0:
        return np.zeros(0, np.uint32)
    return (rng.integers(0, spread, count) * stride % num_vertices).astype(np.uint32)


def edge_weights(dtype: np.dtype) -> np.ndarray:
    """Return weights of ``dtype`` that are easily confused.

    Floats: both zeros, subnormals, adjacent numbers, and numbers that differ in the upper or lower 32 bits only.
    Integers: powers of two and the ends of the range.
    """
    if dtype.kind != "f":
        top = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        return np.concatenate([np.array([0, 1, 2, 256, 65536, 1 << 24], dtype), top, top - np.array([1, 0], dtype)])
    one, tiny, top = dtype.type(1), np.finfo(dtype).tiny, np.finfo(dtype).max
    zero = dtype.type(0)
    neighbours = [np.nextafter(one, zero), one, np.nextafter(one, top), np.nextafter(top, zero), top]
    subnormal = [np.nextafter(zero, one), np.nextafter(zero, -one), tiny / 2, tiny]
    low_word = [1 + 2.0**-30, 1 + 2.0**-50] if dtype.itemsize == 8 else []  # the upper 32 bits are those of 1.0
    high_word = [2.0, 3.0, -1.0]  # as float64 the lower 32 bits are 0, as in 1.0
    return np.array([zero, -zero, *subnormal, *neighbours, *low_word, *high_word], dtype)


def draw_weights(rng: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Return ``count`` random weights out of few values, some extreme; few, so that batches repeat stored weights."""
    if dtype.kind == "f":
        least = np.nextafter(dtype.type(0), dtype.type(1))
        values = np.array([0.0, -0.0, 0.1, 1.0, -2.5, np.finfo(dtype).max, np.finfo(dtype).tiny, least], dtype)
    else:
        values = np.array([0, 1, 2, 7, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    return values[rng.integers(0, len(values), count)]


def garbled(result: Any, rng: np.random.Generator) -> Any:
    """Return a result with the form and the shapes of ``result``, filled with random values."""
    if isinstance(result, tuple):
        return getattr(type(result), "_make", tuple)([garbled(part, rng) for part in result])
    array = np.asarray(result)
    if array.dtype == bool:
        values: np.ndarray = rng.random(array.shape) < 0.5
    elif array.dtype.kind in "iu":
        values = rng.integers(0, 100, array.shape).astype(array.dtype)
    else:
        values = 100 * rng.random(array.shape)
    return values if array.ndim else array.dtype.type(values).item()


def named_vertices(value: Any) -> set[int]:
    """Return all integers in the value of a parameter (a number, list, array or dict): they may be vertex ids."""
    if isinstance(value, (int, np.integer)):
        return set() if isinstance(value, bool) else {int(value)}
    if isinstance(value, np.ndarray):
        return set(value.ravel().tolist()) if value.dtype.kind in "iu" else set()
    if isinstance(value, str) or not isinstance(value, Iterable):
        return set()
    return set().union(*map(named_vertices, value))
