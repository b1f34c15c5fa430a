"""A source over a script in place of a broker, for tests: partitions of messages, some of which cannot be read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from suricate.sources.broker import ALL, Broker, Outage, Partition

BAD = b"{not json", None, b"[1, 2]", b'{"time": 3, "src": "a"}'
Script = list[list[Any]]  # messages by partition


def script_of(seed: int, count: int = 60) -> Script:
    """Partitions out of order, some far ahead of others, with messages that cannot be read among them."""
    rng, found = random.Random(seed), []
    for number in range(3):
        messages: list[Any] = []
        for at in range(count):
            event = {"time": at + number * 3 - rng.randrange(6), "src": f"a{rng.randrange(9)}", "dst": f"b{at % 7}",
                     "weight": rng.randrange(1, 9)}  # fmt: skip
            messages.append(rng.choice(BAD) if rng.random() < 0.05 else json.dumps(event).encode())
        found.append(messages)
    return found


class Scripted(Broker):
    """A source over a script; how many messages come at a time is drawn."""

    kind = "script"
    facts_of: ClassVar[Mapping[str, Any]] = {"@key": lambda message: str(message[1])}

    def __init__(self, script: Script, seed: int = 0, *, live: bool = False, **options: Any) -> None:
        usual = {"start": "earliest", "timeout": "1s", "ahead": 20, "decode": None, "time_unit": "s"}
        super().__init__("s", live=live, **(usual | options))
        self.script, self.rng = script, random.Random(seed)
        self.logs: list[ScriptedLog] = []

    def describe(self) -> str:
        return "script"

    def decoded(self, message: Any) -> Any:
        return json.loads(message[2])

    def position_of(self, number: int, after: Any) -> str:
        return f"partition {number}, offset {after - 1}"

    def log(self, begin: Mapping[int, Any], ends: Mapping[int, Any] | None) -> ScriptedLog:
        self.logs.append(ScriptedLog(self, begin))
        return self.logs[-1]


class ScriptedLog:
    def __init__(self, source: Scripted, begin: Mapping[int, Any]) -> None:
        self.source, self.outage, self.closed = source, Outage("script", 1, ()), False
        self.parts = [Partition(number, begin.get(number, 0)) for number in range(len(source.script))]
        self.most = 0  # messages of a partition that waited
        self.asked = 0

    def begin(self, own: slice = ALL) -> list[Partition] | None:
        self.asked += 1
        return None if self.asked < 3 else self.parts

    def poll(self, partitions: Sequence[Partition], full: set[int], seconds: float) -> Iterable[tuple[Partition, Any]]:
        found = []
        for part in partitions:
            self.most = max(self.most, len(part.rows))
            left = self.source.script[part.number][part.last :]
            count = 0 if part.number in full else self.source.rng.choice((0, 0, 1, 3, 9))
            found += [(part, (part.last + at, part.number, each)) for at, each in enumerate(left[:count])]
            part.at_end = not left
            part.has_ended = len(left) <= count and not self.source.live
        self.source.rng.shuffle(found)
        return sorted(found, key=lambda each: each[1][0])  # a partition keeps its order

    def after(self, message: Any) -> int:
        return int(message[0]) + 1

    def text(self, message: Any) -> Any:
        return message[2]

    def close(self) -> None:
        self.closed = True


def is_readable(message: Any) -> bool:
    return message not in BAD
