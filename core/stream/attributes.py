"""Attributes of events: further columns of chunks, which become columns of edges, by a rule for each.

Texts are ids of a table here, from which unused texts are removed from time to time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, WeightError
from suricate.base.parameters import shown
from suricate.intake.names import Names
from suricate.io.sources.chunk_columns import as_codes, as_integers, as_numbers, has_texts
from suricate.io.sources.source import COLUMNS
from suricate.windows.ring.combined_values import Rules
from suricate.windows.ring.linked import COMBINE

TEXTS = 1 << 16  #: texts of an attribute that are kept although nothing has them
OF_TEXTS = "first", "last"  #: rules that texts can have, beside counts, which need no column


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

    ``names`` are those of the columns needed; ``dtype`` is None before the first chunk. ``texts`` has a table of ids
    for each attribute that has texts: because it is declared so, or because the first chunk has texts.
    """

    def __init__(self, rules: Rules, known: Collection[str] = ()) -> None:
        self._rules, self.names = rules, columns_needed(rules)
        self.dtype: np.dtype | None = None
        self.texts = {name: Names("text") for name in self.names if name in known}
        self._most = dict.fromkeys(self.names, TEXTS)  # number of texts at which unused ones are searched for

    def values(self, chunk: Mapping[str, Any]) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the attributes of a chunk as a structured array, and a mask of events with NaN or infinity, or None.

        Raises ``RequirementError`` if a column is missing, ``DTypeError`` or ``WeightError`` if its kind has changed.
        """
        missing = next((name for name in self.names if name not in chunk), None)
        if missing is not None:
            raise RequirementError(f"attributes: a chunk has no column {missing!r}")
        if self.dtype is None:
            unknown = [name for name in self.names if self._rules[name] in OF_TEXTS and name not in self.texts]
            self.texts |= {name: Names("text") for name in unknown if has_texts(chunk[name])}
        bad, columns = np.zeros(len(chunk["src"]), bool), {}
        for name in self.names:
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
