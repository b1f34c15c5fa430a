"""The dependence forest after single edges: the step by which ``suricate.replay`` updates it in a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from suricate.graph import Graph
from suricate.plugins.step import Step
from suricate.state.words import Words

NAMES = ("queue", "buffer", "invalid", "touched", "heap", "place")
REFUSAL = "an offer does not grow, or the graph keeps no in-edges to repair a deletion with"


class State(NamedTuple):
    """The data that the template ``forest_events`` works on; arrays without a dtype below are ``uint32[num_vertices]``.

    Attributes:
        tree: the words by vertex.
        before: the words that the vertices in ``touched`` had before the event.
        queue, buffer, invalid: lists of suspects of a round and of the next one, and of invalid vertices.
        touched, heap: vertices whose words this event has changed; vertices that have yet to push, a heap by word.
        place: 1 more than the index of a vertex in ``heap``, 0 if it is not there.
        seen, stamp: ``int64[num_vertices]``: the event, and the round, in which a vertex was last visited.
        counts: ``int64[5]``: number of the event, number of the round, lengths of ``touched`` and of ``heap``, work.
        violated: ``uint32[1]``: 1 if the keys of an offer did not grow.
        values: the arguments of the user's functions.
    """

    tree: np.ndarray
    before: np.ndarray
    queue: np.ndarray
    buffer: np.ndarray
    invalid: np.ndarray
    touched: np.ndarray
    heap: np.ndarray
    place: np.ndarray
    seen: np.ndarray
    stamp: np.ndarray
    counts: np.ndarray
    violated: np.ndarray
    values: tuple[Any, ...]


class Events:
    """Makes the step of one forest for ``suricate.replay``, and keeps its scratch arrays for the next call."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def step(
        self,
        graph: Graph,
        module: ModuleType,
        words: Words,
        violated: np.ndarray,
        values: tuple[Any, ...],
        result: Callable[[Words], Any],
    ) -> Step:
        """Return the step by which :func:`suricate.replay` updates a forest.

        Args:
            graph: the graph.
            module: the instance of ``forest_events.py`` with the functions of the forest.
            words: the words of the forest.
            violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
            values: the arguments of the user's functions.
            result: converts words to the algorithm's result.
        """
        held = self._arrays
        if not held or len(held["before"]) != len(words.data) or held["before"].ndim != words.data.ndim:
            n = graph.num_vertices
            held.update({name: np.zeros(n, np.uint32) for name in NAMES})
            held.update(seen=np.zeros(n, np.int64), stamp=np.zeros(n, np.int64), counts=np.zeros(5, np.int64))
            held["before"] = np.empty_like(words.data)
        state = State(tree=words.data, violated=violated, values=values, **held)
        shape = words.data.shape[1:]
        answer = partial(_answer, words, result)
        return Step(module, state, lambda events, k: (np.empty((events, k, *shape), np.uint64),), answer, REFUSAL)


def _answer(words: Words, result: Callable[[Words], Any], recorded: tuple[np.ndarray, ...]) -> Any:
    """Return the results after many events, from ``recorded[0]``, which has their words: events x vertices."""
    (raw,) = recorded
    some = words.picked(np.empty(0, np.int64))
    some.data = raw.reshape(-1, *raw.shape[2:])
    found = result(some)
    return type(found)(*(part.reshape(raw.shape[:2]) for part in found))
