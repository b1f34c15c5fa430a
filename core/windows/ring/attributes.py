"""Attributes of events: a rule for each combines the values of the live events of an edge into one, a column of edges.

Texts are ids of a table here, from which unused texts are removed from time to time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, WeightError
from suricate.base.parameters import shown
from suricate.cpu.jit import kernel
from suricate.intake.names import Names
from suricate.io.sources.columns import as_codes, as_integers, as_numbers, has_texts
from suricate.io.sources.source import COLUMNS
from suricate.state.attributes import TEXT
from suricate.windows.ring.loops import COMBINE, HEAD, SUM, overflows, value_of

TEXTS = 1 << 16  #: texts of an attribute that are kept although nothing has them
OF_TEXTS = "first", "last"  #: rules that texts can have, beside counts, which need no column
Rules = Mapping[str, str]  #: how the values of the live events of an edge make one, by attribute


def checked_rules(attributes: Any) -> dict[str, str]:
    """Return the rule of each attribute, a key of ``COMBINE``, by name; raises ``ParameterError`` if one is invalid."""
    if attributes is None:
        return {}
    if not isinstance(attributes, Mapping):
        raise ParameterError(f"attributes must be a dict such as {{'fee': 'sum'}}, got {shown(attributes)}")
    for name, rule in attributes.items():
        if not isinstance(name, str) or not name or name in COLUMNS:
            raise ParameterError(f"attributes: {shown(name)} is no name of an attribute")
        if not isinstance(rule, str) or rule not in COMBINE:
            raise ParameterError(f"attributes[{name!r}] must be one of {', '.join(COMBINE)}, got {shown(rule)}")
    return dict(attributes)


def columns_needed(rules: Rules) -> list[str]:
    """Return the names of the attributes that chunks must have columns for: all whose rule is not ``"count"``."""
    return [name for name, rule in rules.items() if rule != "count"]


class AttributeIntake:
    """Converts the attributes of a chunk to one structured array; all chunks have the same dtypes.

    ``dtype`` is None before the first chunk, and if no columns are needed. ``texts`` has a table of ids for each
    attribute that has texts: because it is declared so, or because the first chunk has texts.
    """

    def __init__(self, rules: Rules, known: Collection[str] = ()) -> None:
        self._rules, self._names = rules, columns_needed(rules)
        self.dtype: np.dtype | None = None
        self.texts = {name: Names("text") for name in self._names if name in known}
        self._most = dict.fromkeys(self._names, TEXTS)  # number of texts at which unused ones are searched for

    def values(self, chunk: Mapping[str, Any]) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the attributes of a chunk as a structured array, and a mask of events with a NaN or infinite one.

        The mask is None if there are no such events; both are None if no columns are needed.

        Raises:
            RequirementError: a column is missing.
            DTypeError: a column has neither numbers nor texts, or texts after numbers in earlier chunks, or the
                reverse.
            WeightError: fractions in a column that had whole numbers so far.
        """
        if not self._names:
            return None, None
        missing = next((name for name in self._names if name not in chunk), None)
        if missing is not None:
            raise RequirementError(f"attributes: a chunk has no column {missing!r}")
        if self.dtype is None:
            unknown = [name for name in self._names if self._rules[name] in OF_TEXTS and name not in self.texts]
            self.texts |= {name: Names("text") for name in unknown if has_texts(chunk[name])}
        bad, columns = np.zeros(len(chunk["src"]), bool), {}
        for name in self._names:
            if name in self.texts:
                columns[name], nowhere = as_codes(chunk[name], name, self.texts[name])
            else:
                columns[name], nowhere = as_numbers(chunk[name], name)
                if nowhere is not None and self.dtype is not None and self.dtype[name].kind == "i":
                    columns[name] = as_integers(columns[name], nowhere)
            bad |= False if nowhere is None else nowhere
        if self.dtype is None:
            self.dtype = np.dtype([(name, column.dtype) for name, column in columns.items()])
        found = np.empty(len(bad), self.dtype)
        for name, column in columns.items():
            if self.dtype[name].kind == "i" and column.dtype.kind == "f":
                raise WeightError(f"{name}: whole numbers so far: give them as floats from the beginning")
            found[name] = column
        return found, bad if bad.any() else None

    @property
    def has_many_texts(self) -> bool:
        """Whether a table has so many texts that :meth:`forget` is to be called."""
        return any(len(names) >= self._most[name] for name, names in self.texts.items())

    def forget(self, used: Collection[np.ndarray]) -> None:
        """Remove texts that occur in none of the structured arrays ``used``, from tables with many texts."""
        for name, names in self.texts.items():
            if len(names) >= self._most[name]:
                seen = [np.unique(array[name]) for array in used if name in (array.dtype.names or ())]
                names.forget(np.setdiff1d(names.ids, np.concatenate(seen)))
                names.next_slide()
                names.next_slide()  # nobody asks for what was forgotten
                self._most[name] = max(TEXTS, 2 * len(names))

    @property
    def memory(self) -> int:
        """Bytes of the tables of texts."""
        return sum(sum(names.memory_usage().values()) for names in self.texts.values())


class EdgeValues:
    """The attributes of live events, and the combined values of each pair that is in the graph.

    Args:
        rules: by attribute the rule, a key of ``COMBINE``, that combines the values of a pair's live events into one.
        dtype: structured dtype of the events' attributes; None: all rules are ``"count"``.
        texts: the tables of attributes that are texts.
    """

    def __init__(self, rules: Rules, dtype: np.dtype | None, texts: Mapping[str, Names]) -> None:
        self.rules, self._texts = dict(rules), texts
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
        return {name: self._texts[name][values[name]] if name in self._texts else values[name] for name in self.rules}

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
