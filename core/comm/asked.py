"""Checks that all ranks pass the same values (an algorithm, its parameters) as part of the next collective.

If another collective follows before ranks depend on each other, the check costs no collective of its own.
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
    """Values by name that must be equal on all ranks, and ``digest``, a text that is the same for equal values."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values, self._digests = values, {name: digest_of(value) for name, value in values.items()}
        self.digest = repr(sorted(self._digests.items()))

    @cached_property
    def texts(self) -> Texts:
        """By name: the digest of each value, and the value as text, which other ranks need for an error message."""
        return {name: (self._digests[name], shown(value)) for name, value in self._values.items()}


class AskingComm(Comm):
    """Communication whose :meth:`gather` also compares the values that ranks have passed to :meth:`same_soon`.

    Attributes:
        under_way: whether this rank has sent what others do not have yet, or lacks what they have sent.
        interrupted: what every further collective says, see ``interrupted.py``; empty: nothing.
    """

    under_way, interrupted = False, ""
    _asked: Asked | None = None

    def same_soon(self, values: Mapping[str, Any]) -> None:
        """Require that all ranks pass the same ``values``: the next collective compares them."""
        self.compare_asked()
        self._asked = Asked(values)

    def compare_asked(self, name: str = "same") -> None:
        """Compare the values of :meth:`same_soon` now, if no collective has yet, in one called ``name`` in messages."""
        if self._asked is not None:
            self.gather(name, None)

    def forget_asked(self) -> None:
        """Drop the values of :meth:`same_soon` without comparing them."""
        self._asked = None

    def take_asked(self) -> Asked | None:
        """Return the values of :meth:`same_soon` that the current collective must compare, or None, and forget them."""
        asked, self._asked = self._asked, None
        return asked


def apart(ways: Sequence[str], asked: Sequence[Texts | None]) -> CommunicationError | None:
    """Return an error if ranks are at different collectives, None if not; raise one if values ``asked`` differ."""
    text = ways_apart([*ways])
    if text is None or None not in asked:
        demand_same([one or {} for one in asked])
    return None if text is None else CommunicationError(text)
