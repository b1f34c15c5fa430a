"""Attributes of events: a rule for each combines the values of an edge's live events into a value of the edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suricate.base.errors import WeightError
from suricate.cpu.jit import kernel
from suricate.intake.names import Names
from suricate.state.column import TEXT
from suricate.windows.ring.linked import COMBINE, HEAD, SUM, overflows, value_of

Rules = Mapping[str, str]  #: how the values of the live events of an edge make one, by attribute


class EdgeValues:
    """The attributes of live events, and the combined values of each pair that is in the graph.

    Args:
        rules: by attribute the rule, a key of ``COMBINE``, that combines the values of a pair's live events into one.
        dtype: structured dtype of the events' attributes; None: all rules are ``"count"``.
        texts: the tables of attributes that are texts.
    """

    def __init__(self, rules: Rules, dtype: np.dtype | None, texts: Mapping[str, Names]) -> None:
        self.rules, self._texts = dict(rules), texts
        self.as_ids = False  #: whether columns of texts have their ids, as the tables are another rank's
        fields = [(name, np.int64 if rule == "count" else dtype[name]) for name, rule in rules.items()]  # type: ignore[index]
        self.events = np.empty(0, [] if dtype is None else dtype)  #: by place in the ring
        self.held = np.empty(0, fields)  #: by number of pair
        self.sums_floats = any(rule == "sum" and self.held.dtype[name].kind == "f" for name, rule in rules.items())

    def reserve(self, events: int, pairs: int) -> None:
        """Replace the arrays by new ones for these numbers of events and pairs; their former values are lost."""
        self.events = np.empty(events, self.events.dtype)
        self.held = np.zeros(pairs, self.held.dtype)

    def kinds(self) -> dict[str, np.dtype]:
        """Return the dtypes of the columns of edges by name."""
        return {name: TEXT if name in self._texts else self.held.dtype[name] for name in self.rules}

    def columns(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return ``values``, a structured array, as one column per attribute, with texts in place of their ids."""
        found = {name: values[name] for name in self.rules}
        return found if self.as_ids else self.with_texts(found)

    def with_texts(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the ``columns`` by attribute with texts in place of their ids."""
        return {name: self._texts[name][part] if name in self._texts else part for name, part in columns.items()}

    def changed(self, kept: Any, pairs: Any, listed: np.ndarray, fresh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the combined values of some pairs, and a mask of those that change in the graph.

        Args:
            kept, pairs: the ring.
            listed: numbers of the pairs, which have live events.
            fresh: ``bool[n]``: pairs that change whatever their values are, as they are new or have another weight.

        Returns:
            A structured array ``[n]``, copied to ``held``, and ``bool[n]``: fresh, or other values than ``held`` had.

        Raises:
            WeightError: a sum of whole numbers is out of the range of int64.
        """
        found, differs = np.empty(len(listed), self.held.dtype), fresh.copy()
        for name, rule in self.rules.items():
            values = kept.time if rule == "count" else self.events[name]
            whole = found.dtype[name].kind == "i"
            if not combine_values(kept, pairs, values, listed, COMBINE[rule], whole, found[name]):
                raise WeightError(f"attributes: a sum of {name!r} is out of the range of int64")
            differs |= found[name] != self.held[name][listed]
        self.held[listed] = found
        return found, differs


@kernel
def combine_values(kept, pairs, values, listed, combine, whole, out):
    """Write the combined value of each listed pair to ``out``; return False if a sum of integers overflows.

    Args:
        kept, pairs: the ring.
        values: an attribute by place of the event in the ring; not read if ``combine`` is ``COUNT``.
        listed: numbers of pairs that have live events.
        combine: the rule, a value of ``COMBINE``.
        whole: whether the values are integers, whose sums are exact.
        out: written, ``[len(listed)]``.
    """
    fits = True
    for i in range(len(listed)):
        row = pairs.row[listed[i]]
        if combine != SUM or not whole:
            out[i] = value_of(kept, values, row, combine, out.dtype.type)
            continue
        at, total = row[HEAD], np.int64(0)
        while at >= 0:
            number = np.int64(values[at & (len(kept.time) - 1)])
            fits = fits and not overflows(total, number)
            total += number
            at = kept.after[at & (len(kept.time) - 1)]
        out[i] = total
    return fits
