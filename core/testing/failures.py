"""A store is unchanged after an operation in which an allocation failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from suricate.testing.draws import draw_weights
from suricate.testing.model import ModelledStore

ALLOCATORS = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "full_like", "concatenate")
MOST_FAILURES = 25  # per operation: later allocations are left out
NUM_VERTICES = 300


class Allocations:
    """Counts the arrays that a module allocates, and lets one allocation fail.

    Args:
        at: the number, from 0, of the allocation that raises ``error``; None: none does.
        error: the exception to raise.

    Attributes:
        count: number of allocations so far, the failed one included.
    """

    def __init__(self, at: int | None = None, error: type[Exception] = MemoryError) -> None:
        self.at, self.error, self.count = at, error, 0

    @contextmanager
    def watched(self, xp: ModuleType) -> Iterator[None]:
        """Count the calls of ``xp.empty``, ``xp.zeros`` and so on in the ``with`` block; call number ``at`` fails."""
        with ExitStack() as patches:
            for name in ALLOCATORS:
                patches.enter_context(patch.object(xp, name, self._wrapped(getattr(xp, name))))
            yield

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(*args: Any, **kwargs: Any) -> Any:
            number, self.count = self.count, self.count + 1
            if number == self.at:
                raise self.error("injected by the conformance kit")
            return function(*args, **kwargs)

        return allocate


def filled(build: Callable[[], ModelledStore]) -> ModelledStore:
    """Fill the empty store ``build()``; return it with edges, a mark, and edges inserted since the mark."""
    model, rng = build(), np.random.default_rng(40)
    for _ in range(2):
        model.insert(*batch_for(model, rng))
        model.mark()
    model.insert(*batch_for(model, rng))
    return model


def batch_for(model: ModelledStore, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return a batch of 400 random edges, ``(src, dst, weight)``, with hubs, duplicates, and stored edges."""
    src, dst = rng.integers(0, NUM_VERTICES // 3, 400) ** 2 % NUM_VERTICES, rng.integers(0, NUM_VERTICES, 400)
    there = rng.permutation(model.table.keys)[:100]
    src[: len(there)], dst[: len(there)] = there >> np.uint64(32), there & np.uint64(0xFFFFFFFF)
    dtype = model.store.weight_dtype
    return src.astype(np.uint32), dst.astype(np.uint32), None if dtype is None else draw_weights(rng, 400, dtype)


def operations(seed: int) -> dict[str, Callable[[ModelledStore], object]]:
    """Return operations by name, each a function of a store; ``seed`` fixes their input."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    return {
        "insert()": lambda model: model.insert(*batch_for(model, rng())),
        "delete()": lambda model: model.delete(*batch_for(model, rng())[:2]),
        "delete_vertices()": lambda model: model.delete_vertices(np.arange(0, NUM_VERTICES, 3, dtype=np.uint32)),
        "resize()": lambda model: model.resize(2 * NUM_VERTICES),
        "mark()": lambda model: model.mark(),
        "reserve()": lambda model: model.reserve(2000),
        "compact()": lambda model: model.compact(),
        "copy_to()": lambda model: model.copy_to(model.device),
    }


def failing_allocations(build: Callable[[], ModelledStore]) -> None:
    """Let up to 25 allocations of each operation fail in turn; assert that the store is unchanged, and a retry works.

    ``build`` returns an empty store of ``NUM_VERTICES`` vertices.
    """
    rng = np.random.default_rng(41)
    for name, operation in operations(42).items():
        model, allocations = filled(build), Allocations()
        model.calling = partial(allocations.watched, model.device.xp)
        operation(model)
        for at in range(min(allocations.count, MOST_FAILURES)):
            fail_once(filled(build), name, operation, Allocations(at, (MemoryError, RuntimeError)[at % 2]), rng)


def fail_once(
    model: ModelledStore,
    name: str,
    operation: Callable[[ModelledStore], object],
    allocations: Allocations,
    rng: np.random.Generator,
) -> None:
    """Run an operation of which one allocation fails; assert that the store is unchanged, and that a retry works.

    Args:
        model: the store to change, with edges and a mark.
        name: the operation's name, for messages.
        operation: the operation, a function of the store.
        allocations: which allocation fails, and with which exception.
        rng: draws the edges and vertices by which the store is compared with its table.
    """
    model.calling = partial(allocations.watched, model.device.xp)
    failed = False
    try:
        operation(model)
    except (MemoryError, RuntimeError):
        failed = True
    model.calling = nullcontext
    try:
        model.verify(rng)
        if failed:
            operation(model)
            model.verify(rng)
    except Exception as error:
        error.add_note(f"allocation {allocations.at} of {name} had raised {allocations.error.__name__}")
        raise
