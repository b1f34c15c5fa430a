"""Silence of a source: slides that the wall clock closes, and how a resumed job closes them at the same events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from suricate.io.sources.chunk_columns import part_of

INSIDE = object()  #: in place of a position: within a chunk, where reading cannot be continued


class Silence:
    """Says for how long a source has been silent, and which slides closed meanwhile in a run that this one continues.

    Args:
        after: seconds of silence after which the clock closes slides; None: it never does.

    Attributes:
        clock: returns seconds; tests set another.
        rows: number of events that the job took, by which the moment of a close is known.
        closes: ``[rows, end, position]`` of the closes that are still to be repeated, in order.
        turns: those of merges, the newest ones, see :class:`Turns`.
        merges: the number of merges that asked for :class:`Turns`.
        note: writes a line of these to disk.
    """

    def __init__(self, after: float | None, note: Callable[[list[Any]], None] | None = None) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self.note = note or (lambda line: None)
        self.turns, self.merges = deque[Any](maxlen=1000), 0
        self.rows = 0
        self.closes = deque[Any]()
        self.after = after
        self._since: float | None = None

    def elapsed(self, asked: float, *, silent: bool) -> float | None:
        """Return for how many seconds the source has been silent, None if that is not long enough.

        ``asked``: when it was asked for the chunk that came now; time before is the loop's. ``silent``: no rows came.
        """
        self._since = (asked if self._since is None else self._since) if silent else None
        if self.after is None or self._since is None:
            return None
        elapsed = self.clock() - self._since
        return elapsed if elapsed >= self.after else None

    def cut(self, position: Any, chunks: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield positions and chunks, cut where slides are to be closed again, and there the end in place of a chunk.

        ``position`` is that where reading begins.
        """
        rows, left = self.rows, deque(self.closes)
        while left and left[0][0] <= rows:
            yield position, left.popleft()[1]
        for position, chunk in chunks:
            while left and isinstance(chunk, Mapping) and left[0][0] < rows + len(chunk["src"]):
                at, end, _ = left.popleft()
                yield INSIDE, {name: part_of(column, 0, at - rows) for name, column in chunk.items()}
                yield INSIDE, end
                chunk, rows = {name: part_of(column, at - rows) for name, column in chunk.items()}, at
            yield position, chunk
            rows += len(chunk["src"]) if isinstance(chunk, Mapping) else 0
            while left and left[0][0] <= rows:
                yield position, left.popleft()[1]


class Turns:
    """Which sources of a merge are idle: silent for so long that it does not wait for them.

    A turn is ``["merge 0", rows, idle]``: when so many events were merged, the sources with the numbers ``idle`` were.
    A resumed job repeats the turns, so that the order of events is the same.

    Args:
        silence: of the job, with the turns of the run before; None: the merge waits for all.
        rows, idle: at the beginning.
    """

    def __init__(self, silence: Silence | None, rows: int, idle: Sequence[int]) -> None:
        self._silence, self.rows, self.idle = silence or Silence(None), rows, tuple(idle)
        self._name = f"merge {self._silence.merges}"
        self._silence.merges += 1
        self._left = deque([turn for turn in self._silence.turns if turn[0] == self._name and turn[1] >= rows])
        self._since = dict[int, float]()
        self._rests = dict[int, float]()  # until when an idle source is not asked if another one has events

    @property
    def most(self) -> int | None:
        """How many events may be merged before the next turn that is to be repeated; None: any number."""
        return self._left[0][1] - self.rows if self._left else None

    def ask(self, heads: Sequence[Any]) -> list[bool | None]:
        """Have ``heads`` read; return what each ``fill`` returns, None if it was not asked; [] if all have ended."""
        while True:
            self.repeat()
            found = [*self.fill(dict(enumerate(heads))).values()]
            if self.decide(found, self.silent):
                return found if any(has is not False for has in found) else []

    def repeat(self) -> None:
        """Repeat the turns that come at this number of events."""
        while self._left and self._left[0][1] <= self.rows:
            self.idle = tuple(self._left.popleft()[2])

    def fill(self, heads: Mapping[int, Any]) -> dict[int, bool | None]:
        """Have some sources, ``heads`` by their numbers, read; return what each ``fill`` returns, see :meth:`ask`."""
        if self._left:
            return {at: None if at in self.idle else head.fill() for at, head in heads.items()}
        begin = self._silence.clock()
        rest = [at for at in heads if at in self.idle and begin < self._rests.get(at, begin)]
        found = {at: None if at in rest else self._ask(at, head) for at, head in heads.items()}
        if True not in found.values():
            found |= {at: self._ask(at, heads[at]) for at in rest}
        return found

    @property
    def silent(self) -> tuple[int, ...]:
        """Which of the sources that were asked have been silent for so long that nothing waits for them."""
        now, after = self._silence.clock(), self._silence.after
        return tuple(at for at, since in sorted(self._since.items()) if after is not None and now - since >= after)

    def decide(self, found: Sequence[bool | None], silent: tuple[int, ...]) -> bool:
        """Make the ``silent`` sources idle; False if all sources are to be asked again. ``found``: see :meth:`ask`."""
        if self._left:
            if any(has is not False for at, has in enumerate(found) if at not in self.idle):
                return True
            self._left.clear()  # there are fewer events than there were
            return False
        if silent != self.idle:
            self.idle = silent
            turn = [self._name, self.rows, [*silent]]
            self._silence.turns.append(turn)
            self._silence.note(turn)
        return True

    def _ask(self, at: int, head: Any) -> bool | None:
        asked = self._silence.clock()
        has: bool | None = head.fill()
        if has is None and not head.is_waiting:
            self._since.setdefault(at, asked)
            now = self._silence.clock()
            self._rests[at] = now + 9 * (now - asked)  # the others get most of the time
        else:
            self._since.pop(at, None)
        return has
