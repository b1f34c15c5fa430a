"""What all ranks must ask for alike, an algorithm and its parameters: the next meeting compares it, whichever it is.

So it costs no meeting of its own where another one follows before ranks depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from suricate.base.errors import CommunicationError
from suricate.base.parameters import shown
from suricate.comm.messages import ways_apart
from suricate.comm.protocol import Comm, demand_same, digest_of

Texts = dict[str, tuple[Any, str]]  # by name: what is equal for equal values, and how messages show the value


class Asked:
    """Values by name, which all ranks must pass alike."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values, self._digests = values, {name: digest_of(value) for name, value in values.items()}
        self.digest = repr(sorted(self._digests.items()))

    @cached_property
    def texts(self) -> Texts:
        """What other ranks need for an error message."""
        return {name: (self._digests[name], shown(value)) for name, value in self._values.items()}


class AskingComm(Comm):
    """Communication whose meetings compare what was passed to :meth:`same_soon`, in :meth:`gather`."""

    _asked: Asked | None = None

    def same_soon(self, values: Mapping[str, Any]) -> None:
        """As :meth:`same`, but the next meeting raises."""
        self.compare_asked()
        self._asked = Asked(values)

    def compare_asked(self, name: str = "same") -> None:
        """Meet, unless a meeting has compared what was asked for."""
        if self._asked is not None:
            self.gather(name, None)

    def forget_asked(self) -> None:
        """Compare no longer what was asked for."""
        self._asked = None

    def take_asked(self) -> Asked | None:
        """Return what this meeting compares; the next one does not."""
        asked, self._asked = self._asked, None
        return asked


def apart(ways: Sequence[str], asked: Sequence[Texts | None]) -> CommunicationError | None:
    """Return an error if ranks are at different collectives; ``ways``: name and call site of each.

    Raises:
        ParameterError: they are since they ask for different things.
    """
    text = ways_apart([*ways])
    if text is None or None not in asked:
        demand_same([one or {} for one in asked])
    return None if text is None else CommunicationError(text)
