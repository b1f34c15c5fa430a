"""Message brokers as sources of events: ``st.kafka`` and ``st.redis``, found by the hook ``suricate_sources``.

Offsets and entry ids are the positions, so the checkpoint of a job, not the broker, says where reading continues. The
libraries of the brokers are extras, imported when a source is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from suricate.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from suricate.io.sources.source import Source


def kafka(  # noqa: PLR0913 - what a user may choose, by keyword
    topic: str,
    *,
    servers: str = "localhost:9092",
    config: Mapping[str, Any] | None = None,
    start: str = "earliest",
    live: bool = True,
    decode: Callable[[Any], Mapping[str, Any]] | None = None,
    columns: Mapping[str, str] | None = None,
    time_unit: str = "s",
    on_error: Any = "raise",
    timeout: Any = "60s",
    prefetch: int = 20_000,
    max_wait: Any = None,
    max_rows: int | None = None,
) -> Source:
    """Return a source of events for ``st.Window`` from a topic of Kafka, one event per message.

    Events of a partition keep their order; those of several are merged by time: of the next events of all partitions
    the one with the smallest time comes first, of equal times that of the partition with the lowest number. So slides
    depend on the topic only. It waits for every partition, with ``idle=`` of the window not for those that are silent.
    Positions are offsets. All partitions are assigned: there is no group, and nothing is committed.

    Args:
        topic: its name; or ``"kafka://host:port,host:port/topic?property=value&..."``, which says servers and config
            too, as on the command line.
        servers: addresses of brokers, ``"host:port,host:port"``.
        config: further properties of librdkafka (``"security.protocol"``, ``"sasl.password"``, ...).
        start: where to begin without a checkpoint: ``"earliest"``, or ``"latest"``, behind what is there.
        live: False: the source ends with the messages that are there when it begins.
        decode: called with each ``confluent_kafka.Message``; returns a dict of values. None: the value is a JSON
            object in UTF-8. What it raises makes the message one that cannot be read.
        columns: the key of ``src``, ``dst``, ``time``, ``weight``, ``kind`` and of the attributes of the window, by
            default that name; ``"@time"`` is the timestamp of the message, ``"@key"`` its key as a text.
        time_unit: the unit of times that are numbers; others are texts in ISO 8601, in UTC unless they have a zone.
        on_error: what happens to messages that are null or cannot be read, and events that the window refuses:
            ``"raise"``, ``"skip"`` (``job.skipped`` counts them), or the name of a CSV file to append them to.
        timeout: a duration: how long to try to reach the brokers before an error.
        prefetch: so many messages of a partition may wait for those of others; then the partition is paused.
        max_wait, max_rows: as of ``st.source``.

    Raises:
        MissingLibraryError: confluent-kafka is not installed (extra ``kafka``).
        ParameterError: an option is invalid; while reading, there is no such topic, or a message cannot be read.
        RequirementError: while reading, retention has removed messages at the position, or there are new partitions.
        BrokerError: while reading, no broker was reached for ``timeout``, or one reports an error.
    """
    from suricate.sources.kafka_log import Kafka, of_url

    topic, servers, config = of_url(topic, servers, config)
    reading = {"decode": decode, "columns": columns, "time_unit": time_unit, "on_error": on_error,
               "max_wait": max_wait, "max_rows": max_rows}  # fmt: skip
    return Kafka(topic, servers, config, start=start, live=live, timeout=timeout, ahead=prefetch, **reading)


def redis(  # noqa: PLR0913 - what a user may choose, by keyword
    stream: str,
    *,
    url: str = "redis://localhost:6379",
    config: Mapping[str, Any] | None = None,
    start: str = "earliest",
    live: bool = True,
    decode: Callable[[Any], Mapping[str, Any]] | None = None,
    columns: Mapping[str, str] | None = None,
    time_unit: str = "s",
    on_error: Any = "raise",
    timeout: Any = "60s",
    prefetch: int = 20_000,
    max_wait: Any = None,
    max_rows: int | None = None,
) -> Source:
    """Return a source of events for ``st.Window`` from a Redis Stream, one event per entry, in the order of their ids.

    Positions are ids of entries. There is no consumer group, and nothing is acknowledged or deleted. Events are the
    fields of entries, texts in UTF-8; numbers are read from them, and names stay texts.

    Args:
        stream: its key; or ``"redis://user:password@host:port/db/key"`` or ``rediss://``, which says the url too, as on
            the command line.
        url: ``"redis://user:password@host:port/db"``, ``rediss://`` or ``unix://``. Nothing of it but host and port is
            shown or stored.
        config: further arguments of ``redis.Redis`` (``password``, ``ssl_ca_certs``, ...).
        start, live, time_unit, on_error, timeout: as of ``st.kafka``.
        decode: called with each entry, ``(id, fields)`` in bytes; returns a dict of values. None: the fields.
        columns: as of ``st.kafka``; ``"@time"`` is the time in the id of the entry, ``"@id"`` the id.
        prefetch, max_wait, max_rows: entries are read ``max_rows`` at a time, at most ``prefetch``, and those of
            ``max_wait`` are joined.

    Raises:
        MissingLibraryError: redis is not installed (extra ``redis``).
        ParameterError: an option is invalid; while reading, an entry cannot be read.
        RequirementError: while reading, entries behind the position were trimmed or deleted before they were read.
        BrokerError: while reading, the server was not reached for ``timeout``, or reports an error.
    """
    from suricate.sources.redis_log import Redis, of_url

    stream, url = of_url(stream, url)
    reading = {"decode": decode, "columns": columns, "time_unit": time_unit, "on_error": on_error,
               "max_wait": max_wait, "max_rows": max_rows}  # fmt: skip
    return Redis(stream, url, config, start=start, live=live, timeout=timeout, ahead=prefetch, **reading)


@hookimpl
def suricate_sources() -> list[Callable[..., Source]]:
    """Return the sources of this room."""
    return [kafka, redis]
