"""The partitions of a Dask DataFrame, as the ranks of a job get them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from suricate.base.errors import ParameterError
from suricate.comm.protocol import Comm
from suricate.engines.partition_sources import InOrder
from suricate.io.sources.all_ranks import Shared


class Partitions(Shared):
    """The rows of a Dask DataFrame that this rank holds; every partition is with one rank.

    Iterating gives this rank's rows in *turns*, a DataFrame each, with no rows if another rank has those of the turn.
    All ranks have the same turns. In rank order and turn after turn, rows are in the order of the Dask DataFrame,
    wherever its partitions lie: so of edges that occur several times the last wins, and names get the same ids, as in
    one process.

    It is also a source of events, ``st.Window(data, readers="all", graph={"comm": comm})``, each partition of which its
    rank reads; ``st.source(data, ...)`` takes options. Events are in the order of the Dask DataFrame, or with
    ``order="time"`` sorted. Slides are those of one process that has all partitions.

    Attributes:
        numbers: numbers of the partitions that this rank holds, ascending.
        columns: names of the columns.
    """

    def __init__(self, empty: Any, owners: Sequence[int], held: Mapping[int, Any], size: int) -> None:
        self._empty, self._owners, self._held, self._size = empty, owners, held, size
        self.numbers, self.columns = sorted(held), [*empty.columns]
        ends = [number + 1 for number, (one, next_) in enumerate(pairwise(owners)) if next_ < one]
        self._turns = [range(*both) for both in pairwise([0, *ends, len(owners)])] if owners else []

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self._turns)

    def __iter__(self) -> Iterator[Any]:
        for turn in self._turns:
            yield self._joined([number for number in turn if number in self._held])

    @property
    def frame(self) -> Any:
        """All rows of this rank as one DataFrame, in the order of the partitions."""
        return self._joined(self.numbers)

    def _joined(self, numbers: Sequence[int]) -> Any:
        if not numbers:
            return self._empty
        from dask.dataframe.dispatch import concat

        found = [self._held[number] for number in numbers]
        return found[0] if len(found) == 1 else concat(found)

    def as_source(self, **options: Any) -> InOrder:
        """Return the source of events; ``options`` are those of ``st.source``."""
        held = {number: self._declared(frame) for number, frame in self._held.items()}
        return InOrder(self._owners, held, self._size, **options)

    def _declared(self, frame: Any) -> Any:
        """Return a partition with floats where the Dask DataFrame has some: without nulls they may be whole numbers."""
        facts = zip(frame.columns, frame.dtypes, self._empty.dtypes, strict=True)
        odd = {name: wanted for name, found, wanted in facts if found.kind in "iu" and wanted.kind == "f"}
        return frame.astype(odd) if odd else frame

    def check(self, comm: Comm) -> None:
        """Raise on all ranks unless all partitions have the columns of the DataFrame."""
        with comm.alike():
            for number in self.numbers:
                if [*self._held[number].columns] != self.columns:
                    raise ParameterError(
                        f"partition {number} has the columns {[*self._held[number].columns]}, the Dask DataFrame "
                        f"{self.columns}: make them equal before the run"
                    )


def assigned(holders: Sequence[Sequence[str]], addresses: Sequence[str]) -> list[int]:
    """Return a rank for each partition: of those whose workers hold it (else of all) one that has fewest so far.

    Args:
        holders: by partition, the addresses of the workers that hold it.
        addresses: those of the ranks.
    """
    count, found = [0] * len(addresses), list[int]()
    for held in holders:
        able = [rank for rank, address in enumerate(addresses) if address in held] or [*range(len(addresses))]
        rank = min(able, key=lambda each: (count[each], each))
        count[rank] += 1
        found.append(rank)
    return found
