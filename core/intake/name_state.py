"""The state of a ``Names`` object as arrays, and the check of its invariants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, require
from suricate.base.types import MAX_VERTICES
from suricate.intake.name_values import (
    DEAD,
    FIRST_FREE,
    KINDS,
    LONGEST,
    NUM_FREE,
    NUM_FREED,
    NUM_IDS,
    NUM_NAMES,
    SLIDE,
    TEXT,
    USED,
)

if TYPE_CHECKING:
    from suricate.intake.names import Names

FORMAT = 1  #: of a state
_ARRAYS = {
    "ids": np.uint32,
    "counts": np.int64,
    "since": np.int64,
    "freed": np.uint32,
    "free": np.uint32,
}  # with dtypes
_NO_BYTES, _NO_OFFSETS = np.empty(0, np.uint8), np.zeros(1, np.int64)


def state_of(names: Names) -> dict[str, np.ndarray]:
    """Return all that ``names`` hold as arrays by name."""
    table, ids = names._whole(), names.ids
    values = names.values_of(ids)
    text = values.kind == TEXT
    return {
        "about": np.array([FORMAT, (None, *KINDS).index(names.dtype), names.keep, names.num_ids, names.version]),
        "ids": ids,
        "counts": table.counts[ids],
        "since": table.since[ids],
        "freed": _set_in(table.freed),
        "free": _set_in(table.free),
        "data": values.data if text else values.numbers.view(np.uint64),
        "offsets": values.numbers if text else _NO_OFFSETS,
    }


def restored(cls: type[Names], state: Any) -> Names:
    """Return the map of names of a saved ``state``; raise ``ParameterError`` if it is damaged or too new."""
    try:
        parts = {name: np.asarray(part) for name, part in dict(state).items()}
        format, kind, keep, num_ids, version = (int(value) for value in parts["about"])
        if format > FORMAT:
            raise ParameterError(f"the names have format {format}, this suricate reads up to {FORMAT}")
        names = cls((None, *KINDS)[kind], keep=bool(keep))
        _check(parts, num_ids, version)
        _fill(names, parts, num_ids, version)
    except ParameterError:
        raise
    except (ValueError, LookupError, TypeError, OverflowError) as error:
        raise ParameterError(f"this is no state of names, or a damaged one: {error}") from error
    return names


def _check(parts: dict[str, np.ndarray], num_ids: int, version: int) -> None:
    """Raise ``ValueError`` unless ``parts``, the arrays of a saved state, fit together, ``num_ids`` and ``version``."""
    ids, both = parts["ids"], np.sort(np.concatenate([parts[name] for name in ("ids", "freed", "free")]))
    _demand(all(parts[name].dtype == dtype and parts[name].ndim == 1 for name, dtype in _ARRAYS.items()))
    _demand(0 <= num_ids <= MAX_VERTICES and version >= 0 and len(ids) == len(parts["counts"]) == len(parts["since"]))
    _demand(not len(both) or (int(both[-1]) < num_ids and bool((both[1:] > both[:-1]).all())))
    _demand(not len(ids) or bool((parts["counts"] >= 0).all() and (parts["since"] <= version).all()))


def _fill(names: Names, parts: dict[str, np.ndarray], num_ids: int, version: int) -> None:
    ids, data, text = parts["ids"], parts["data"], names.dtype == TEXT
    names._allot(max(num_ids, len(names._table.words)))
    table = names._table
    _demand(data.dtype == (np.uint8 if text else np.uint64))
    if text:
        offsets = parts["offsets"].astype(np.int64)
        lengths = np.diff(offsets)
        _demand(len(lengths) == len(ids) and int(offsets[0]) == 0 and int(offsets[-1]) == len(data))
        _demand(bool((lengths >= 0).all() and (lengths <= LONGEST).all()))
        table = table._replace(heap=np.concatenate((data, np.empty(len(data) // 2 + 1024, np.uint8))))
        table.words[ids] = (offsets[:-1].astype(np.uint64) << np.uint64(24)) | lengths.astype(np.uint64)
        table.head[USED] = len(data)
    else:
        table.words[ids] = data
    table.counts[ids], table.since[ids] = parts["counts"], parts["since"]
    table.head[[NUM_IDS, NUM_NAMES, SLIDE]] = num_ids, len(ids), version
    for part, bits, number in (("free", table.free, NUM_FREE), ("freed", table.freed, NUM_FREED)):
        wide = parts[part].astype(np.int64)
        np.bitwise_or.at(bits, wide >> 6, np.uint64(1) << (wide & 63).astype(np.uint64))
        table.head[number] = len(wide)
    table.kept[:] = table.head
    slots = np.zeros((1 << max(11, (2 * len(ids)).bit_length()), 2), np.uint64)
    names._loops.enter(ids, text, slots, table.words, table.heap)
    names._table = table._replace(slots=slots)
    _demand(np.array_equal(_found(names, ids), ids))


def _found(names: Names, ids: np.ndarray) -> np.ndarray:
    """Look up the names of ``ids`` in the hash table; return the ids that it has for them."""
    return names._ids_of(names.values_of(ids), adds=False) if names.dtype is not None else ids


def _set_in(bits: np.ndarray) -> np.ndarray:
    """Return the ids in a bitmap, ascending."""
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).astype(np.uint32)


def check(names: Names) -> None:
    """Verify every invariant of ``names``; raises ``CheckFailed``."""
    table, ids = names._whole(), names.ids
    head, free, freed = table.head, _set_in(table.free), _set_in(table.freed)
    everything = np.sort(np.concatenate((ids, free, freed)))
    require(bool((everything[1:] > everything[:-1]).all()), "an id has a name, or is free, or will be")
    require(not len(everything) or everything[-1] < names.num_ids, "the largest id is known")
    require(len(ids) == len(names), "the number of names is that of ids with a name")
    require((len(free), len(freed)) == (head[NUM_FREE], head[NUM_FREED]), "the free ids are those of the bitmaps")
    require(not len(free) or head[FIRST_FREE] <= free[0], "no free id is before the first one")
    require(len({len(part) for part in (table.words, table.counts, table.since)}) == 1, "arrays by id are equally long")
    require(bool((table.counts[names.num_ids :] < 0).all()), "ids that were not given out have no names")
    require(bool((table.since[ids] <= names.version).all()), "no name is of a later slide")
    require(np.count_nonzero(table.slots[:, 0]) == len(ids), "the table has an entry per name")
    require(np.array_equal(_found(names, ids), ids), "the table finds every name")
    if names.dtype == TEXT:
        used = int((table.words[ids] & np.uint64(LONGEST)).sum())
        require(used == head[USED] - head[DEAD], "the bytes of forgotten texts are counted")
        require(head[USED] <= len(table.heap), "the texts fit into their bytes")


def _demand(holds: bool) -> None:
    if not holds:
        raise ValueError("its arrays do not fit together")
