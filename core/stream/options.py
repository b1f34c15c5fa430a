"""The options of a window, validated once: :class:`WindowOptions`."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suricate.base.errors import ParameterError
from suricate.base.parameters import is_number, shown
from suricate.events import OVER
from suricate.io.sources.times import LATEST, duration
from suricate.stream.attributes import checked_rules
from suricate.windows.ring.decay import LONGEST
from suricate.windows.ring.linked import COMBINE
from suricate.windows.rule import Grid, Rule

TIME, COUNT, STEP = "time", "count", "step"
DECAY = "decay"  #: the rule by which weights halve with every half-life


@dataclass(frozen=True)
class WindowOptions:
    """The options of a window over a stream, validated; the class ``Window`` explains them."""

    size: Any
    slide: Any
    lateness: Any
    ahead: Any
    combine: str
    late: Any
    origin: Any
    empty: str
    at_end: str
    attributes: Any
    idle: Any = None
    half_life: Any = None
    events: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_rules(self.attributes))
        _one_of("combine", self.combine, (*COMBINE, DECAY))
        _one_of("events", self.events, (None, *OVER))
        _one_of("empty", self.empty, ("skip", "emit"))
        _one_of("at_end", self.at_end, ("close", "hold"))
        if self.slide is None:
            raise ParameterError("slide must be a duration ('1d'), a number of events, or 'step'")
        if (self.half_life is None) != (self.combine != DECAY):
            raise ParameterError(f"half_life='7d', say, goes with combine={DECAY!r}, and neither without the other")
        if self.half_life is not None and (self.mode != TIME or self.attributes):
            other = "those of attributes do not decay" if self.mode == TIME else f"this one counts {self.mode}s"
            raise ParameterError(f"combine={DECAY!r} is for windows of time without attributes: {other}")
        if self.mode == TIME:
            self.rule(None)
            _ = self.idle_seconds
            return
        if self.idle is not None:
            raise ParameterError(f"idle is for windows of time, which a clock can close; this one counts {self.mode}s")
        for label in ("lateness", "ahead", "origin"):
            value = getattr(self, label)
            if value is not None and not (is_number(value) and value == 0):
                raise ParameterError(f"{label} is for windows of time; this one counts {self.mode}s")
        if self.mode == COUNT:
            _positive("slide", self.slide)
        if self.size is not None:
            _positive("size", self.size)
            if self.mode == COUNT and self.slide > self.size:
                raise ParameterError(f"slide={self.slide} is larger than size={self.size}: events would be left out")

    @cached_property
    def mode(self) -> str:
        """What slides are measured in: ``"time"``, ``"count"`` (of events) or ``"step"`` (marks of the source)."""
        if isinstance(self.slide, str) and self.slide == STEP:
            return STEP
        return COUNT if is_number(self.slide, numbers.Integral) else TIME

    @cached_property
    def idle_seconds(self) -> float | None:
        """Seconds of silence after which the wall clock closes slides; None: it never does."""
        if self.idle is None:
            return None
        seconds = duration(self.idle, "idle", has_unit=True) / 1e9
        if not seconds:
            raise ParameterError("idle must be longer than nothing: idle='2s', say")
        return seconds

    @cached_property
    def half_life_ticks(self) -> int:
        """The half-life in ticks of the time; 0 if weights do not decay."""
        return 0 if self.half_life is None else duration(self.half_life, "half_life", has_unit=True)

    def rule(self, has_unit: bool | None) -> Rule:
        """Return the :class:`Rule` by which slides close; ``has_unit``: whether times have a unit, None: unknown."""
        every = self.empty == "emit"
        if self.mode != TIME:
            size = None if self.size is None else int(self.size)
            return Rule(
                Grid(size, 1 if self.mode == STEP else int(self.slide), 0),
                -1 if self.mode == COUNT else 0,
                None,
                every=every,
            )
        if self.idle is not None and has_unit is False:
            raise ParameterError("idle: times have no unit, so no clock runs on with them; time_unit= says it")
        if self.half_life is not None and has_unit is False:
            raise ParameterError("half_life: times have no unit; time_unit= says it")
        slide = duration(self.slide, "slide", has_unit=has_unit)
        size = None if self.size is None else self._size(has_unit)
        if slide == 0 or size == 0:
            raise ParameterError("slide and size must be longer than nothing")
        if self.half_life is not None and not 0 < (size or LATEST) <= LONGEST * self.half_life_ticks:
            kept = "a window without size" if size is None else f"size={shown(self.size)}"
            reason = f"a window whose weights decay holds at most {LONGEST} half-lives, and older events weigh nothing"
            raise ParameterError(f"{kept} is too long for half_life={shown(self.half_life)}: {reason}")
        if size is not None and slide > size:
            raise ParameterError(
                f"slide={shown(self.slide)} is longer than size={shown(self.size)}: events would be left out"
            )
        lateness = duration(self.lateness, "lateness", has_unit=has_unit)
        origin = duration(self.origin, "origin", has_unit=has_unit)
        ahead = None if self.ahead is None else duration(self.ahead, "ahead", has_unit=has_unit)
        if ahead is not None and ahead <= lateness:
            reason = "the watermark is lateness behind the newest event, so no event could move it"
            raise ParameterError(
                f"ahead={shown(self.ahead)} must be longer than lateness={shown(self.lateness)}: {reason}"
            )
        return Rule(Grid(size, slide, origin), lateness, ahead, every=every)

    def _size(self, has_unit: bool | None) -> int:
        if is_number(self.size, numbers.Integral):
            raise ParameterError(
                f"size={self.size} counts events, but slide={shown(self.slide)} is a time: size='{self.size}s', say?"
            )
        return duration(self.size, "size", has_unit=has_unit)


def _one_of(label: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise ParameterError(f"{label} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}")


def _positive(label: str, value: Any) -> None:
    if not is_number(value, numbers.Integral) or not 1 <= int(value) < 2**40:
        raise ParameterError(f"{label} must be a number of events or steps of at least 1, got {shown(value)}")
