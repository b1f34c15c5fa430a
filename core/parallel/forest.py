"""The dependence forest on a graph of several ranks: computed, and repaired around changes; ``suricate.repair.forest``
has the algorithm.

Words, arcs of a change, suspects and invalid vertices are the same on every rank. In a round of the repair each rank
reads the in-neighbours of the suspects that it owns, and finds the children of the invalid vertices that it owns; both
are exchanged. Then changed words are pushed step by step, as by ``propagate``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EMPTY, ArcList, EdgeList
from suricate.edgefn.layout import keys_differ, words_less
from suricate.intake.arrays import joined, picked, sorted_distinct
from suricate.operators import binding
from suricate.operators.results import Propagated
from suricate.parallel.arguments import frontier_of
from suricate.parallel.bottom_up import BottomUp
from suricate.parallel.on_demand.rows import at_a_time, slices
from suricate.parallel.pushes import Push
from suricate.parallel.search import Search
from suricate.state.scalar import Scalar
from suricate.store import fallbacks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.parallel.partition import Partition
    from suricate.repair.forest import Forest
    from suricate.state.frontier import Frontier

Offered = tuple["Array", "Array"]  # vertices, ascending, and the least word that is offered to each


class Repairs:
    """Computes and repairs the dependence forest ``forest`` on a graph of several ranks."""

    def __init__(self, part: Partition, forest: Forest, graph: Graph) -> None:
        self.part, self.forest, self.graph, self.xp = part, forest, graph, part.xp

    @cached_property
    def first(self) -> Forest:
        """A second forest with the same functions; :meth:`_starts` computes the initial words of all vertices in it."""
        found = self.forest.of_same_functions()
        found.words = self.forest.words.of_size(0)
        return found

    @cached_property
    def best(self) -> Any:
        """Scratch words, one per vertex, for the best offers; between two uses all have the largest value."""
        return self.forest.words.of_size(0)

    def run(self, roots: Frontier | None, changes: Any, width: float | None) -> Propagated:
        """Compute the forest from ``roots``; if they are None, repair it after ``changes``.

        ``changes`` are the deleted, replaced and inserted arcs, each an arc list or None. Only without ``width``
        (see ``Forest.compute``) may steps pull, or :class:`Search` compute the forest. Returns the outcome, as
        ``propagate`` does: the steps, and how many vertices pushed.
        """
        part, words = self.part, self.forest.words
        graph = part.follow()
        uniform = self.forest.uniform and roots is not None and width is None and self._are_level(roots)
        if roots is not None and uniform and self._can_search():
            return Search(part, self.forest).run(roots)
        call = binding.bind_push(part.graph, self.forest.offer, (words, *self.forest.args), "argmin", words, None)
        self.push = Push(part, call, words, "out")
        self.push.altered = []
        if roots is None and self.push.asking.first.edges:  # offers ask for edges, which an exchange has to answer
            roots = self._roots()
        if roots is None:
            self.best.resize(len(words))
            ids = self._seeds(*(self._counted(arcs) for arcs in changes))
        else:
            words.data[:] = self._starts()
            if uniform:
                self.push.bottom_up = BottomUp.of(self.push, uniform=True)
            ids = self.xp.arange(graph.num_vertices, dtype=np.uint32) if roots.is_all else self.xp.sort(roots.vertices)
        steps, pushed, limit = 0, 0, graph.num_vertices + 1  # words may become smaller for ever
        while len(ids) and steps < limit:
            steps, pushed = steps + 1, pushed + len(ids)
            ids = self.push.step(ids, (), steps)
        self.push.totals.end()
        self._note_violations()
        return Propagated.of(steps, pushed, not len(ids))

    def _are_level(self, roots: Frontier) -> bool:
        """Return whether all roots have the same keys; False if all vertices are roots. Waits if there are several."""
        if roots.is_all or roots.capacity < 2:
            return not roots.is_all
        starts = self._starts()[roots.vertices]
        return not keys_differ(starts[1:], starts[:-1], self.forest.words.layout).any()

    def _can_search(self) -> bool:
        """Return whether :class:`Search` can compute a forest from roots of equal keys: on CUDA, by ranges."""
        args, size = self.forest.args, len(self.forest.words)
        if not (self.graph.device.is_cuda and self.graph.has_in_edges and size and self.part.ownership.is_ranges):
            return False
        return not any(isinstance(value, Scalar) or value is self.graph for value in args)

    # -- words ---------------------------------------------------------------------------------------------------------

    def _parents(self, ids: Array) -> Array:
        data = self.forest.words.data
        return ((data[ids] if data.ndim == 1 else data[ids, 0]) & np.uint64(EMPTY)).astype(np.uint32)

    def _starts(self) -> Array:
        """Return the initial words of all vertices, before any offer."""
        graph, words = self.part.local, self.first.words
        words.resize(len(self.forest.words))
        self.first.compute(graph, frontier_of(graph, self.xp.empty(0, np.uint32)))
        return words.data

    def _roots(self) -> Frontier:
        """Return the vertices that are roots in the initial words: their own parents."""
        starts = self._starts()
        parents = (starts if starts.ndim == 1 else starts[:, 0]) & np.uint64(EMPTY)
        return frontier_of(
            self.part.local, self.xp.flatnonzero(parents == self.xp.arange(len(starts))).astype(np.uint32)
        )

    def _note_violations(self) -> None:
        """Set ``forest.violated`` if a vertex whose word changed has a parent whose keys are not below its own."""
        xp, words = self.xp, self.forest.words
        altered = [ids.astype(np.uint32) for ids in self.push.altered or []]
        if not altered:
            return
        ids = xp.concatenate(altered)
        parents = self._parents(ids)
        below = (parents != EMPTY) & (parents != ids)
        own, above = words.data[ids[below]], words.data[parents[below]]
        grows = words_less(above, own) & keys_differ(above, own, words.layout)
        if not grows.all():
            self.forest.violated[0] = 1

    def _take(self, offered: Offered) -> Array:
        """Take those ``offered`` words, ``(vertices, words)``, that are smaller; return vertices whose keys changed."""
        (ids, found), words = offered, self.forest.words
        old = words.data[ids]
        better = words_less(found, old)
        words.data[ids[better]] = found[better]
        self.push.altered.append(ids[better])  # type: ignore[union-attr]
        return ids[better & keys_differ(found, old, words.layout)]

    # -- arcs ----------------------------------------------------------------------------------------------------------

    def _counted(self, arcs: ArcList | None) -> EdgeList:
        """Return the arcs of ``arcs`` that have the wanted status; None: no arcs."""
        if arcs is None:
            none = self.xp.empty(0, np.uint32)
            dtype = self.part.local.weight_dtype
            return EdgeList(none, none, None if dtype is None else self.xp.empty(0, dtype))
        edges = EdgeList(arcs.src, arcs.dst, arcs.weight)
        return picked(edges, slice(arcs.size) if arcs.status is None else arcs.status[: arcs.size] == arcs.wanted)

    def _rows(self, ids: Array, over: str) -> Iterator[EdgeList]:
        """Yield in slices the arcs ``over`` of ``ids``, vertices of this rank; they are ``src``, neighbours ``dst``."""
        view, device = self.part.local.view(over), self.part.local.device
        for begin, end in slices(fallbacks.degrees(view, device, ids), at_a_time(self.part)):
            yield fallbacks.edges_of(view, device, ids[begin:end])[1]

    def _offers(self, arcs: EdgeList) -> Offered:
        """Return destinations of ``arcs`` from vertices with a parent, each once, ascending; the best offer to each."""
        arcs = picked(arcs, self._parents(arcs.src) != EMPTY)
        ids = sorted_distinct(arcs.dst.copy(), self.xp)
        self.push.args = self.push.asking.of()
        self.push.local(ArcList.of(arcs), self.best, "auto")
        found = self.best.data[ids]
        self.best.data[ids] = np.uint64(2**64 - 1)
        return ids, found

    def _asked(self, ids: Array) -> Array:
        """Return the least word that in-neighbours offer to each of ``ids``; the largest if none does; collective."""
        own = self.part.owned(ids)
        found = self.best.of_size(len(own)).data
        for rows in self._rows(own, "in"):
            offered, values = self._offers(EdgeList(rows.dst, rows.src, rows.weight))
            found[self.xp.searchsorted(own, offered)] = values
        return self.part.in_order(ids, self.part.comm.joined(found))

    # -- repairs -------------------------------------------------------------------------------------------------------

    def _seeds(self, deleted: EdgeList, replaced: EdgeList, inserted: EdgeList) -> Array:
        """Reset vertices without a valid parent, take offers, also along new arcs; return those that must push."""
        xp, has_back = self.xp, self.graph.has_in_edges
        invalid, changed = self._invalidated(self._suspects(deleted, replaced), has_back=has_back)
        if len(invalid) and has_back:
            changed.append(self._take((invalid, self._asked(invalid))))
        changed.append(self._take(self._offers(joined(xp, replaced, inserted))))
        everything = len(invalid) and not has_back
        ids = xp.arange(len(self.forest.words)) if everything else sorted_distinct(xp.concatenate(changed), xp)
        return ids[self._parents(ids) != EMPTY].astype(np.uint32)  # some were invalid later

    def _suspects(self, deleted: EdgeList, replaced: EdgeList) -> Array:
        """Return the children whose tree edge is in ``deleted``, or in ``replaced`` and, with its new weight, worse."""
        data, layout = self.forest.words.data, self.forest.words.layout
        if not len(deleted.src) and not len(replaced.src):
            return deleted.dst
        ids, found = self._offers(picked(replaced, self._lead_down(replaced)))
        rose = words_less(data[ids], found) & keys_differ(data[ids], found, layout)
        return sorted_distinct(self.xp.concatenate((deleted.dst[self._lead_down(deleted)], ids[rose])), self.xp)

    def _lead_down(self, arcs: EdgeList) -> Array:
        """Return a mask of the arcs that lead from a parent to its child."""
        return (self._parents(arcs.dst) == arcs.src) & (arcs.src != arcs.dst)

    def _invalidated(self, suspects: Array, *, has_back: bool) -> tuple[Array, list[Array]]:
        """Reset vertices whose keys no neighbour explains: ``suspects``, and then descendants of reset vertices.

        A vertex that is not reset takes its best offer. Returns the reset vertices, and a list of arrays of those that
        were not reset and have better keys now. ``has_back``: whether the graph has in-edges; without them all
        ``suspects`` and their descendants are reset.
        """
        xp, words = self.xp, self.forest.words
        invalid, changed, starts = [xp.empty(0, np.uint32)], [xp.empty(0, np.uint32)], None
        while len(suspects):
            if has_back:
                found, old = self._asked(suspects), words.data[suspects]
                kept = ~(words_less(old, found) & keys_differ(old, found, words.layout))
                words.data[suspects[kept]] = found[kept]
                self.push.altered.append(suspects[kept])  # type: ignore[union-attr]
                changed.append(suspects[kept & keys_differ(old, found, words.layout)])
                suspects = suspects[~kept]
            if not len(suspects):
                break
            starts = self._starts() if starts is None else starts
            words.data[suspects] = starts[suspects]
            invalid.append(suspects)
            below = (rows.dst[self._lead_down(rows)] for rows in self._rows(self.part.owned(suspects), "out"))
            suspects = self.part.union(xp.concatenate([invalid[0], *below]))
        return xp.sort(xp.concatenate(invalid)), changed
