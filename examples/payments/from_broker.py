"""A job over a topic of Kafka or a Redis Stream.

Messages are like ``{"at": 1732600000, "payer": "ann", "payee": "bob", "cents": 12}``.

Usage: from_broker.py kafka TOPIC HOST:PORT FOLDER, or from_broker.py redis STREAM URL FOLDER. It needs
``pip install 'suricate[kafka]'`` or ``'suricate[redis]'``. Killed, it goes on from FOLDER; Ctrl-C ends it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import suricate.stream as st

COLUMNS = {"time": "at", "src": "payer", "dst": "payee", "weight": "cents"}


def from_kafka(topic: str, servers: str, folder: Path) -> st.Source:
    """Return the source of a topic: values are JSON objects."""
    return st.kafka(topic, servers=servers, columns=COLUMNS, on_error=folder / "bad.csv")


def from_redis(stream: str, url: str, folder: Path) -> st.Source:
    """Return the source of a stream: values are the fields of entries."""
    return st.redis(stream, url=url, columns=COLUMNS, on_error=folder / "bad.csv")


def main(kind: str, name: str, address: str, target: str) -> None:
    """Keep a week of payments, an hour at a time, and tell who begins to pay many others."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    source = (from_kafka if kind == "kafka" else from_redis)(name, address, folder)
    job = st.Window(
        source, size="7d", slide="1h", lateness="10min", idle="5s", combine="sum", names=True,
        late=folder / "late.csv", checkpoint=folder / "state",
    )  # fmt: skip
    fan_out, out = job.track("degree"), job.sink(folder / "fan-out.csv")
    busy = job.alert(fan_out, above=20, sink=folder / "alerts.csv")
    with job:
        for w in job:
            out.write(fan_out.top(3))
            print(w.end, w.closed_by, w.events, w.late, w.skipped, [row[2] for row in busy.fired], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
