"""Events from a Kafka topic, as a source that goes on from its offsets. It needs ``pip install confluent-kafka``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import suricate.stream as st


def messages(consumer: Any, topic: str, partitions: list[int]) -> st.Source:
    """Return a source over messages like ``{"time": 1732600000, "src": "ann", "dst": "bob", "weight": 12}``.

    Positions are the offsets behind what was read, by partition. They are in the checkpoint; nothing is committed to
    Kafka. A poll without messages yields a chunk without rows, so that the job can be stopped meanwhile.
    """
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    def read(offsets: dict[int, int] | None) -> Iterator[tuple[dict[int, int], dict[str, list[Any]]]]:
        at = {number: (offsets or {}).get(number, OFFSET_BEGINNING) for number in partitions}
        consumer.assign([TopicPartition(topic, number, offset) for number, offset in at.items()])
        while True:
            batch = [message for message in consumer.consume(10_000, timeout=1.0) if message.error() is None]
            rows = [json.loads(message.value()) for message in batch]
            at = at | {message.partition(): message.offset() + 1 for message in batch}
            yield dict(at), {name: [row[name] for row in rows] for name in ("time", "src", "dst", "weight")}

    return st.source(read, time_unit="s")
