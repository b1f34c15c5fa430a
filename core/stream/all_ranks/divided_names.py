"""Names that are divided among ranks by their hash: each has a share of the table, all know which ids are in use.

A name lies with one rank, its owner. Ids are those of one process: the first place of a new name decides, and the
lowest free id goes out first. All ranks know which ids have a name and since when, 9 bytes each; what a name is, its
owner alone knows. So to read names, or to find their ids, is a call of all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from suricate.base.errors import RequirementError, VertexRangeError, require
from suricate.base.types import EMPTY, MAX_VERTICES
from suricate.comm.protocol import Comm
from suricate.cpu.jit import kernel
from suricate.intake.arrays import as_ids, by_owner, on_host
from suricate.intake.name_state import FORMAT
from suricate.intake.name_table import NO_IDS, Prepared
from suricate.intake.name_values import KINDS, NEXT_SLIDE, TEXT, Values, as_values, fixed
from suricate.intake.names import Names
from suricate.stream.all_ranks.waiting_names import concatenated, taken

_NONE = np.empty(0, np.int64)
_HEAD = "about", "freed", "free"  #: arrays of a state that are not by name


@kernel
def own_numbers(ids, numbers, found):
    """Write ``numbers[id]`` of each of the ``ids`` to ``found`` if it is not negative; return how many these are."""
    count = 0
    for i in range(len(ids)):
        found[count] = numbers[ids[i]]
        count += numbers[ids[i]] >= 0  # no branch, which nothing could foresee
    return count


class Forgotten(NamedTuple):
    """Names of this rank that were forgotten together: their ids, since when they had them, and in which version."""

    ids: np.ndarray
    since: np.ndarray
    names: Values
    version: int


class DividedNames(Names):
    """The names of the ranks of ``comm``, of which this one has a share; other arguments are those of ``Names``.

    Reading is as of ``Names``, by calls of all ranks, which may pass different ids or names. Slides alone add names.
    """

    def __init__(self, comm: Comm, dtype: str | None = None, *, keep: bool = False) -> None:
        super().__init__(dtype, keep=keep)
        self.comm = comm
        self.share = Names(dtype, keep=keep)  #: the names of this rank, by numbers of its own
        self.share.remembers = False
        self._id_of = np.empty(0, np.uint32)  # by number
        self._numbers = np.empty(0, np.int32)  # by id; -1: the name is another rank's
        self._named, self._since = np.empty(0, bool), np.empty(0, np.int32)  # by id
        self._end, self._version = 0, 0
        self._waits = NO_IDS  # ids that the next slide frees
        self._past: tuple[Forgotten, ...] = ()

    def set_kind(self, kind: str | None) -> None:
        """Say of which kind names are, before the first one."""
        if self.share.dtype is None and kind is not None:
            self.share = Names(kind, keep=self.keep)
            self.share.remembers = False

    # -- what all ranks know -------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> str | None:
        """``"text"``, ``"int64"`` or ``"uint64"``; None as long as there are no names to tell."""
        return self.share.dtype

    @property
    def num_ids(self) -> int:
        """One more than the largest id that was ever given out."""
        return self._end

    @property
    def version(self) -> int:
        """Number of slides."""
        return self._version

    def __len__(self) -> int:
        return int(np.count_nonzero(self._named[: self._end]))

    @property
    def ids(self) -> np.ndarray:
        """Ids that have a name, ascending, ``uint32``."""
        return np.flatnonzero(self._named[: self._end]).astype(np.uint32)

    @property
    def by_id(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether each id has a name, and in which version it was last given out, with room for more."""
        return self._named, self._since

    def has(self, ids: Any) -> np.ndarray:
        """Return ``bool[n]``: which ids have a name."""
        return self._at(ids, self._named, 0) != 0

    def since(self, ids: Any) -> np.ndarray:
        """Return ``int64[n]``: the version in which each id was last given out."""
        return self._at(ids, self._since, 0)

    def _known(self, ids: Any) -> np.ndarray:
        given = on_host(as_ids(ids, "ids"))
        nameless = np.flatnonzero(~self.has(given))
        if len(nameless):
            raise VertexRangeError(f"ids[{nameless[0]}] is {given[nameless[0]]}, which has no name (any more)")
        return fixed(given.astype(np.uint32, copy=False))

    def _check_version(self, known: np.ndarray, version: int) -> None:
        recycled = np.flatnonzero(self._since[known] > version)
        if len(recycled):
            at = known[recycled[0]]
            reason = f"which was given out again in version {self._since[at]}"
            raise VertexRangeError(f"ids[{recycled[0]}] is {at}, {reason}: at version {version} it had another name")

    def memory_usage(self) -> dict[str, int]:
        """Return the bytes of each part on this rank, as of ``Names``."""
        found = self.share.memory_usage()
        by_id = self._id_of, self._numbers, self._named, self._since
        past = [part for each in self._past for part in (each.ids, each.since, each.names.numbers, each.names.data)]
        found["ids"] += sum(part.nbytes for part in by_id)
        return found | {"forgotten": sum(part.nbytes for part in past)}

    # -- asking the owners ---------------------------------------------------------------------------------------------

    def owner(self, values: Values) -> np.ndarray:
        """Return the rank that has, or would have, each name."""
        owners = [np.empty(0, np.uint32)]
        for keys, data in values.blocks():
            codes = np.empty(len(keys), np.uint32)
            self._loops.hash_names(fixed(keys), fixed(data), values.kind == TEXT, codes)
            owners.append((codes >> np.uint32(8)) % np.uint32(self.comm.size))
        return np.concatenate(owners)

    def _ids_of(self, values: Any, *, adds: bool = True) -> np.ndarray:
        if adds:
            self._refuse()
        given = as_values(values, self.dtype)
        return self.asked(None, as_values([], given.kind), _NONE, _NONE, given)[1]

    def asked(
        self, change: DividedChange | None, new: Values, time: np.ndarray, position: np.ndarray, others: Values
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of names, EMPTY for unknown ones; those of ``new`` are added by ``change``; collective.

        ``time``, ``position``: of the first event of each new name; they say in which order names get their ids.
        """
        (order, spans), (other_order, other_spans) = (
            by_owner(self.owner(each), self.comm.size) for each in (new, others)
        )
        new, time, position, others = taken(new, order), time[order], position[order], taken(others, other_order)
        sent = [(*_unpacked(new.part(*at)), time[slice(*at)], position[slice(*at)], *_unpacked(others.part(*other)))
                for at, other in zip(spans, other_spans, strict=True)]  # fmt: skip
        come = _swapped(self.comm, sent, (np.int64, np.uint8, np.int64, np.int64, np.int64, np.uint8))
        asked = [(_packed(new.kind, *each[:2]), _packed(others.kind, *each[4:])) for each in come]
        places_of = [(each[2], each[3]) for each in come]
        given = [NO_IDS] * len(come)
        if change is not None:
            added = change.add([(one, *place) for (one, _), place in zip(asked, places_of, strict=True)])
            given = [self._id_of[numbers] for numbers in added]
        answers = []
        for found, (_, known) in zip(given, asked, strict=True):
            known_ids = self._own_ids(known)
            if change is None:  # one that waits to be kept has names that nobody has yet
                known_ids[~self.has(known_ids)] = EMPTY
            answers.append((found, known_ids))
        come = _swapped(self.comm, answers, (np.uint32, np.uint32))
        ids = [np.empty(len(each), np.uint32) for each in (new, others)]
        for found, places, parts in zip(ids, (order, other_order), zip(*come, strict=True), strict=True):
            found[places] = np.concatenate(parts)
        return ids[0], ids[1]

    def _own_ids(self, values: Values) -> np.ndarray:
        """Return the ids of names of this rank, EMPTY for unknown ones."""
        if not len(values) or self.dtype is None:
            return np.full(len(values), EMPTY, np.uint32)
        numbers = self.share._ids_of(values, adds=False)
        found, known = np.full(len(values), EMPTY, np.uint32), numbers != EMPTY
        found[known] = self._id_of[numbers[known]]
        return found

    def _values_of(self, known: np.ndarray) -> Values:
        """Return the names of ids; collective."""
        kind, comm = self.dtype or "int64", self.comm
        given = comm.allgatherv(np.asarray(known))
        answers, found = list[Any](), list[Any]()
        is_same = all(np.array_equal(each, given[0]) for each in given)
        for ids in given[:1] if is_same else given:
            at = np.flatnonzero(self._numbers[ids] >= 0)
            answers.append((at, *_unpacked(self.share._values_of(fixed(self._numbers[ids[at]].astype(np.uint32))))))
        found = (
            comm.gather("names of ids", answers[0])
            if is_same
            else _swapped(comm, answers, (np.int64, np.int64, np.uint8))
        )
        places, values = np.concatenate([each[0] for each in found]), [_packed(kind, *each[1:]) for each in found]
        order = np.empty(len(known), np.int64)
        order[places] = np.arange(len(places))
        return taken(concatenated(values), order)

    def counts(self, ids: Any) -> np.ndarray:
        """Return the counts of ids, ``int64[n]``, the same ids on all ranks; collective."""
        return self.counts_of(self._known(ids))

    def counts_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the counts of ids, those of a change that is made ahead included; collective."""
        own, found = self._numbers[ids], np.zeros(len(ids), np.int64)
        found[own >= 0] = self.share._table.counts[own[own >= 0]]
        total: np.ndarray = np.sum(self.comm.gather("counts of names", found), axis=0)
        return total

    def release(self, ids: Any) -> np.ndarray:
        """Lower the counts of ids, the same on all ranks, as ``Names.release``; collective."""
        with self._lock:
            change = DividedChange(self)
            zeros = change.recount(NO_IDS, self._known(ids), forgets=not self.keep)
            change.keep()
            return zeros

    def forgotten(self, version: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and names that were forgotten in the last slide or in this one, as ``Names``; collective."""
        last = self.version if version is None else version
        parts = []
        for each in self._past:
            if each.version >= self.version - 1:
                at = np.flatnonzero(each.since <= last)
                parts.append((each.version, each.ids[at], taken(each.names, at)))
        everybody = [each for one in self.comm.gather("forgotten names", parts) for each in one]
        everybody.sort(key=lambda each: each[0])
        ids = np.concatenate([NO_IDS, *(ids for _, ids, _ in everybody)])
        none = np.empty(0, object if self.dtype == TEXT else self.dtype or "int64")
        return ids, np.concatenate([none, *(names.decoded() for *_, names in everybody)])

    # -- state ---------------------------------------------------------------------------------------------------------

    def share_state(self) -> dict[str, np.ndarray]:
        """Return the names of this rank as arrays, as :meth:`state` does those of all."""
        numbers = self.share.ids
        ids = self._id_of[numbers]
        order = np.argsort(ids)
        ids, numbers = ids[order], numbers[order]
        values, table, unused = self.share._values_of(fixed(numbers)), self.share._table, ~self._named[: self._end]
        unused[self._waits] = False
        text = values.kind == TEXT
        return {
            "about": np.array([FORMAT, (None, *KINDS).index(self.dtype), self.keep, self._end, self._version]),
            "ids": ids, "counts": table.counts[numbers], "since": self._since[ids].astype(np.int64),
            "freed": np.sort(self._waits), "free": np.flatnonzero(unused).astype(np.uint32),
            "data": values.data if text else values.numbers.view(np.uint64),
            "offsets": values.numbers if text else np.zeros(1, np.int64),
        }  # fmt: skip

    def state(self) -> dict[str, np.ndarray]:
        """Return the names of all ranks as arrays; collective."""
        return joined_states(self.comm.gather("names", self.share_state()))

    def load(self, head: dict[str, np.ndarray], parts: Sequence[dict[str, np.ndarray]]) -> None:
        """Restore names from the ``parts`` of a state that this rank has read, and its ``head``; collective."""
        _, kind, _, self._end, self._version = (int(value) for value in head["about"])
        self.set_kind((None, *KINDS)[kind])
        self._waits = head["freed"].astype(np.uint32)
        self._grow(self._end)
        own = joined_states([head | _no_names(), *parts])
        values = _values_in(own)
        owner = self.owner(values)
        places = [np.flatnonzero(owner == rank) for rank in range(self.comm.size)]
        sent = [(own["ids"][at], own["counts"][at], own["since"][at], *_unpacked(taken(values, at))) for at in places]
        for ids, counts, since, *texts in _swapped(
            self.comm, sent, (np.uint32, np.int64, np.int64, np.int64, np.uint8)
        ):
            if len(ids):
                numbers = self.share.intern(_packed(values.kind, *texts))
                self._enter(ids, numbers)
                self.share.retain(np.repeat(numbers, counts))
            for all_ids, all_since in self.comm.gather("names", (ids, since)):
                self._named[all_ids], self._since[all_ids] = True, all_since

    # -- changes -------------------------------------------------------------------------------------------------------

    def _grow(self, number: int) -> None:
        """Have room for ``number`` ids."""
        if number > MAX_VERTICES:
            raise VertexRangeError(f"more than {MAX_VERTICES} names")
        if number > len(self._named):
            size = max(number, len(self._named) * 5 // 4, 1 << 10)
            self._named, self._since = _longer(self._named, size, 0), _longer(self._since, size, 0)
            self._numbers = _longer(self._numbers, size, -1)

    def _enter(self, ids: np.ndarray, numbers: np.ndarray) -> None:
        """Say which ids the names of this rank with these ``numbers`` have."""
        most = int(numbers.max()) + 1 if len(numbers) else 0
        if most > len(self._id_of):
            self._id_of = _longer(self._id_of, max(most, len(self._id_of) * 5 // 4, 1 << 10), EMPTY)
        self._id_of[numbers], self._numbers[ids] = ids, numbers

    def _own(self, ids: np.ndarray) -> np.ndarray:
        """Return the numbers of those of ``ids`` whose names are this rank's, ``uint32[n]``."""
        found = np.empty(len(ids), np.uint32)
        return found[: own_numbers(fixed(ids), self._numbers, found)]

    def _lowest_free(self, number: int, taken_by: np.ndarray) -> np.ndarray:
        """Return the ids that go to ``number`` new names, the lowest free ones first; ``taken_by``: by a change."""
        is_free = ~self._named[: self._end]
        is_free[self._waits] = False
        is_free[taken_by[taken_by < self._end]] = False
        free = np.flatnonzero(is_free)[:number]
        end = max(self._end, int(taken_by.max()) + 1 if len(taken_by) else 0)
        return np.concatenate((free, end + np.arange(number - len(free)))).astype(np.uint32)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RequirementError("the names of a window are divided among processes: its slides alone change them")

    intern = add = intern_pairs = intern_spans = retain = forget = withdraw = skip = next_slide = _refuse

    def check(self) -> None:
        """Verify the names of this rank; raises ``CheckFailed``."""
        self.share.check()
        numbers = self.share.ids
        ids = self._id_of[numbers]
        require(bool(self._named[ids].all()), "all names of this rank are known")
        require(np.array_equal(self._numbers[ids], numbers), "an id leads to its name")
        require(
            bool((self.owner(self.share._values_of(fixed(numbers))) == self.comm.rank).all()),
            "names lie with their owners",
        )


class DividedChange:
    """A change of divided names, with the methods of ``Prepared`` that windows use; all but ``keep`` are collective."""

    def __init__(self, names: DividedNames, *, slides: bool = False) -> None:
        self.names, self._slides = names, slides
        self._share = Prepared(names.share, NEXT_SLIDE, slides=slides)
        self._new, self._gone = NO_IDS, NO_IDS  # ids that get names, and that lose them, of all ranks
        self.up, self.is_kept = NO_IDS, False

    @property
    def lock(self) -> Any:
        """The lock of the map."""
        return self.names._lock

    @property
    def num_ids(self) -> int:
        """The number of ids with this change."""
        return max(self.names._end, int(self._new.max()) + 1 if len(self._new) else 0)

    def ready(self) -> None:
        """Make the change again if it was undone."""
        self._share.ready()

    def add(self, asked: Sequence[tuple[Values, np.ndarray, np.ndarray]]) -> list[np.ndarray]:
        """Add the names that the ranks have asked this one for, with their places; return the number of each."""
        names = self.names
        numbers = [self._share.intern(values) if len(values) else NO_IDS for values, *_ in asked]
        every, times = np.concatenate(numbers), np.concatenate([each for _, each, _ in asked])
        positions = np.concatenate([each for *_, each in asked])
        new = np.flatnonzero(self._share.added(every)) if len(every) else _NONE
        new = new[np.isin(every[new], self._own_new(), invert=True)] if len(self._new) else new
        new = new[np.lexsort((positions[new], times[new]))]
        _, first = np.unique(every[new], return_index=True)
        new = new[np.sort(first)]
        everybody = names.comm.gather("new names", (times[new], positions[new]))
        sizes = [len(each) for each, _ in everybody]
        order = np.lexsort(tuple(np.concatenate([each[at] for each in everybody]) for at in (1, 0)))
        ids = np.empty(len(order), np.uint32)
        ids[order] = names._lowest_free(len(order), self._new)
        self._new = np.concatenate((self._new, ids))
        names._grow(self.num_ids)
        names._numbers[ids] = -1
        begin = sum(sizes[: names.comm.rank])
        names._enter(ids[begin : begin + len(new)], every[new])
        return numbers

    def _own_new(self) -> np.ndarray:
        numbers = self.names._numbers[self._new]
        return numbers[numbers >= 0]

    def intern(self, values: Any) -> np.ndarray:
        """Return the ids of names, which all ranks pass; unknown names are added, in this order."""
        names = self.names
        given = as_values(values, names.dtype)
        names.set_kind(given.kind if len(given) else None)
        own = given if names.comm.rank == 0 else taken(given, _NONE)
        order = np.arange(len(own))
        ids, _ = names.asked(self, own, order, order, taken(given, _NONE))
        found: np.ndarray = names.comm.agree(ids)
        return found

    def recount(self, up: np.ndarray, down: np.ndarray, *, forgets: bool) -> np.ndarray:
        """Raise and lower counts of ids; return those that reach 0, whose names are forgotten if ``forgets``."""
        names = self.names
        own = [names._own(up), names._own(down)]
        zeros = names._id_of[self._share.recount(*own, forgets=forgets)]
        everybody = np.sort(np.concatenate(names.comm.allgatherv(zeros)))
        self._gone = everybody if forgets else NO_IDS
        return everybody

    def keep(self) -> None:
        """Keep the change."""
        names, new, gone = self.names, self._new, self._gone
        names._named[new], names._since[new] = True, names._version
        names._end = self.num_ids
        own = names._numbers[gone]
        if len(gone):
            at = own >= 0
            values = names.share._values_of(fixed(own[at].astype(np.uint32)))
            past = Forgotten(gone[at], names._since[gone[at]], values, names._version)
            names._past = *(each for each in names._past if each.version >= names._version - 1), past
        self._share.up = names._own(self.up)
        self._share.keep()
        names._named[gone] = False
        names._numbers[gone] = -1
        if self._slides:
            names._version, names._waits = names._version + 1, NO_IDS
            names._past = tuple(each for each in names._past if each.version >= names._version - 1)
        else:
            names._waits = np.concatenate((names._waits, gone))
        self.is_kept = True


# -- names as arrays ---------------------------------------------------------------------------------------------------


def joined_states(states: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the state of all names from the states of shares, of which the first one says what is not by name."""
    order = np.argsort(np.concatenate([each["ids"] for each in states]))
    found = {name: np.concatenate([each[name] for each in states])[order] for name in ("ids", "counts", "since")}
    head = {name: states[0][name] for name in _HEAD}
    kinds = [each for each in states if len(each["ids"])]
    values = taken(concatenated([_values_in(head | each) for each in kinds]), order) if kinds else None
    if values is None:
        return {**head, **found, **{name: states[0][name] for name in ("data", "offsets")}}
    text = values.kind == TEXT
    data, offsets = (values.data, values.numbers) if text else (values.numbers.view(np.uint64), np.zeros(1, np.int64))
    return {**head, **found, "data": data, "offsets": offsets}


def _values_in(state: dict[str, np.ndarray]) -> Values:
    """Return the names of a state."""
    kind = (None, *KINDS)[int(state["about"][1])] or "int64"
    if kind == TEXT:
        return Values(kind, state["offsets"], state["data"])
    return Values(kind, state["data"].view(kind))


def _no_names() -> dict[str, np.ndarray]:
    """Return the arrays of a state that are by name, without any."""
    none = {name: np.empty(0, dtype) for name, dtype in (("ids", np.uint32), ("counts", np.int64), ("since", np.int64))}
    return none | {"data": np.empty(0, np.uint64), "offsets": np.zeros(1, np.int64)}


def _unpacked(values: Values) -> tuple[np.ndarray, np.ndarray]:
    return values.numbers.view(np.int64), values.data


def _packed(kind: str, numbers: np.ndarray, data: np.ndarray) -> Values:
    return Values(kind, numbers, data) if kind == TEXT else Values(kind, numbers.view(kind))


def _swapped(comm: Comm, sent: Sequence[Sequence[np.ndarray]], dtypes: Sequence[Any]) -> list[list[np.ndarray]]:
    """Send ``sent[r]``, arrays of these ``dtypes``, to each rank ``r``; return those received, in rank order."""
    parts = []
    for arrays in sent:
        sizes = np.array([each.nbytes for each in arrays], np.int64)
        given = [np.ascontiguousarray(each, dtype) for each, dtype in zip(arrays, dtypes, strict=True)]
        parts.append(np.concatenate([each.view(np.uint8) for each in (sizes, *given)]))
    found = []
    for part in comm.exchange(parts):
        at = 8 * len(dtypes)
        sizes = part[:at].copy().view(np.int64)
        found.append(list[np.ndarray]())
        for size, dtype in zip(sizes.tolist(), dtypes, strict=True):
            found[-1].append(part[at : at + size].copy().view(dtype))
            at += size
    return found


def _longer(array: np.ndarray, size: int, fill: int) -> np.ndarray:
    grown = np.full(size, fill, array.dtype)
    grown[: len(array)] = array
    return grown
