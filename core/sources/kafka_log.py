"""Kafka topics by ``confluent-kafka``: all partitions assigned, positions by offsets, nothing committed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import shown
from suricate.intake.tables import library
from suricate.sources.broker import ALL, LOGGER, TRY, Broker, Outage, Partition, lost

CHECK = 30.0  #: seconds after which it is looked whether there are new partitions
#: properties that a user may change, and those that the source needs
USUAL = {"queued.max.messages.kbytes": 16_384, "reconnect.backoff.max.ms": 1000, "group.id": "suricate"}
NEEDED = {"enable.auto.commit": False, "enable.auto.offset.store": False, "enable.partition.eof": True,
          "auto.offset.reset": "error"}  # fmt: skip
SECRET = "password", "secret", "key", "token", "jaas", "oauthbearer.config"  #: in names of properties


def of_url(topic: Any, servers: str, config: Any) -> tuple[Any, str, Any]:
    """Return topic, servers and config, all of which a topic that begins with ``kafka://`` says."""
    if not isinstance(topic, str) or not topic.startswith("kafka://"):
        return topic, servers, config
    place, _, query = topic.removeprefix("kafka://").partition("?")
    servers, _, name = place.partition("/")
    return unquote(name), servers, {**dict(parse_qsl(query)), **(config or {})}


class Kafka(Broker):
    """A topic; ``suricate.sources.kafka`` explains the arguments."""

    kind = "kafka topic"

    def __init__(self, topic: str, servers: str, config: Mapping[str, Any] | None, **options: Any) -> None:
        self._library = library("confluent_kafka", "kafka")
        self.facts_of = {"@time": _time_of, "@key": _key_of}
        super().__init__(topic, **options)
        if not isinstance(servers, str) or not servers:
            raise ParameterError(f"kafka: servers must be a text such as 'localhost:9092', got {shown(servers)}")
        if "@" in servers:  # not shown: it may be a password
            raise ParameterError(
                "kafka: servers must be 'host:port,host:port'; user and password belong to config, or behind '?'"
            )
        if not isinstance(config or {}, Mapping):
            raise ParameterError("kafka: config must be a dict of properties of librdkafka")
        given = dict(config or {})
        if clash := sorted(NEEDED.keys() & given.keys()):
            raise ParameterError(f"kafka: config cannot have {clash[0]!r}: positions are in the checkpoint alone")
        self._config = {"bootstrap.servers": servers, **USUAL, **given, **NEEDED}
        self._servers = str(self._config["bootstrap.servers"])
        self.consumer(self.outage(), log_level=0).close()  # to check the properties

    def outage(self) -> Outage:
        """Return what notes that no broker is reached."""
        secrets = [value for name, value in self._config.items() if any(word in name for word in SECRET)]
        return Outage(f"kafka at {self._servers}", self.seconds, secrets)

    def consumer(self, outage: Outage, **properties: Any) -> Any:
        """Return a consumer that notes errors in ``outage``; raises ``ParameterError`` for bad properties."""
        config = self._config | {"error_cb": lambda error: outage.begin(error.str())} | properties
        try:
            return self._library.Consumer(config, logger=_Logger(outage))
        except (self._library.KafkaException, TypeError, ValueError) as error:
            raise ParameterError(f"kafka: config: {outage.hidden(_text_of(error))}") from None

    def log(self, begin: Mapping[int, Any], ends: Mapping[int, Any] | None) -> KafkaLog:
        """Return a connection that reads behind the offsets ``begin``."""
        return KafkaLog(self, begin, ends)

    def decoded(self, message: Any) -> Any:
        """Return the JSON object in the value of a message."""
        return json.loads(message.value())

    def position_of(self, number: int, after: Any) -> str:
        """Return the partition and the offset of a message."""
        return f"partition {number}, offset {after - 1}"


class KafkaLog:
    """The consumer of a topic; see ``broker.Log``."""

    def __init__(self, source: Kafka, begin: Mapping[int, Any], ends: Mapping[int, Any] | None) -> None:
        self._source, self._begin, self._ends, self._library = source, dict(begin), ends, source._library
        self.outage = source.outage()
        self._consumer = source.consumer(self.outage)
        self._paused, self._numbers, self._checked = set[int](), list[int](), 0.0

    def begin(self, own: slice = ALL) -> list[Partition] | None:
        """Look up partitions and their offsets, and assign those that are ``own``; None if no broker answers."""
        self._consumer.poll(0)  # for what it logs and reports
        numbers = self._look_up()
        if numbers is None:
            return None
        if self._begin and numbers != sorted(self._begin):
            raise self._changed(sorted(self._begin), numbers)
        self._numbers, parts = numbers, list[Partition]()
        for number in numbers:
            found = self._limits(number)
            if found is None:
                return None
            low, high = found
            at = self._begin.get(number, low if self._source.start == "earliest" else high)
            if at < low:
                raise self._lost(number, low, at)
            if at > high:
                raise RequirementError(f"{self._place(number)} ends at offset {high}, and reading was to go on at {at}")
            parts.append(Partition(number, at, None if self._source.live else high))
        if self._ends and any(each.after < self._ends.get(each.number, 0) for each in parts):
            for each in parts:  # the run before was to end there
                each.end = self._ends[each.number]
        for each in parts:
            each.has_ended = each.end is not None and each.after >= each.end
        topic = self._source.name
        self._consumer.assign([self._library.TopicPartition(topic, each.number, each.after) for each in parts[own]])
        self.outage.end()
        return parts

    def poll(self, partitions: Sequence[Partition], full: set[int], seconds: float) -> Iterable[tuple[Partition, Any]]:
        """Return new messages; errors of messages raise, and so do new partitions and offsets that are gone."""
        self._pause(full | {each.number for each in partitions if each.has_ended})
        for each in partitions:  # a broker reports the end of a partition half a second later
            each.at_end = each.at_end or self._known_end(each.number) == each.last
        try:
            messages = self._consumer.consume(self._source.max_rows, seconds)
        except self._library.KafkaException as error:
            raise self.outage.error(f"reports an error: {_text_of(error)}") from None
        if time.monotonic() >= self._checked + (1.0 if self.outage.lasts else CHECK):
            self._check()
        by_number, found = {each.number: each for each in partitions}, []
        for message in messages:
            part, problem = by_number[message.partition()], message.error()
            if problem is not None:
                self._handle(part, message, problem)
            elif part.end is not None and message.offset() >= part.end:
                part.has_ended = True
            else:
                found.append((part, message))
                part.has_ended = part.end is not None and message.offset() + 1 >= part.end
        return found

    def _handle(self, part: Partition, message: Any, error: Any) -> None:
        """Note that a partition has no more messages; raise for any other error."""
        code, codes = error.code(), self._library.KafkaError
        if code == codes._PARTITION_EOF:
            part.at_end = True
            part.has_ended = part.end is not None and message.offset() >= part.end
        elif code in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            low = (self._limits(part.number) or (None,))[0]
            raise self._lost(part.number, "a later one" if low is None else low, part.last)
        else:
            place = f"partition {part.number} of {self._source.name!r}"
            raise self.outage.error(f"reports an error in {place}: {error.str()}")

    def _pause(self, wanted: set[int]) -> None:
        changes = (self._consumer.pause, wanted - self._paused), (self._consumer.resume, self._paused - wanted)
        for change, numbers in changes:
            if numbers:
                change([self._library.TopicPartition(self._source.name, number) for number in sorted(numbers)])
        self._paused = set(wanted)

    def _check(self) -> None:
        """Ask for the partitions: whether a broker answers, and whether there are new ones."""
        numbers = self._look_up()
        self._checked = time.monotonic()
        if numbers is not None:
            self.outage.end()
            if numbers != self._numbers:
                raise self._changed(self._numbers, numbers)

    def _look_up(self) -> list[int] | None:
        """Return the numbers of the partitions; None if no broker answers."""
        try:
            found = self._consumer.list_topics(self._source.name, TRY).topics[self._source.name]
        except self._library.KafkaException as error:
            self.outage.note(_text_of(error))
            return None
        if found.error is None and found.partitions:
            return sorted(found.partitions)
        if found.error is not None and found.error.code() == self._library.KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise ParameterError(f"kafka at {self._source._servers} has no topic {self._source.name!r}")
        self.outage.note(found.error.str() if found.error is not None else "the topic has no partitions yet")
        return None

    def _limits(self, number: int) -> tuple[int, int] | None:
        """Return the first offset of a partition, and the one behind its last; None if no broker answers."""
        place = self._library.TopicPartition(self._source.name, number)
        try:
            return self._consumer.get_watermark_offsets(place, TRY)
        except self._library.KafkaException as error:
            self.outage.note(_text_of(error))
            return None

    def _known_end(self, number: int) -> int:
        """Return the offset behind the last message of a partition by what came last from its broker."""
        place = self._library.TopicPartition(self._source.name, number)
        return int(self._consumer.get_watermark_offsets(place, cached=True)[1])

    def _place(self, number: int) -> str:
        return f"kafka: partition {number} of {self._source.name!r}"

    def _lost(self, number: int, low: Any, at: int) -> RequirementError:
        what = "retention has removed the messages between"
        return lost(self._place(number), f"offset {low}", at, what)

    def _changed(self, was: list[int], now: list[int]) -> RequirementError:
        reason = "with other partitions events come in another order: begin again with another folder of checkpoints"
        return RequirementError(f"kafka topic {self._source.name!r} had the partitions {was}, and has {now}: {reason}")

    def after(self, message: Any) -> int:
        """Return the offset behind a message."""
        return int(message.offset()) + 1

    def text(self, message: Any) -> Any:
        """Return the value of a message."""
        return message.value()

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


class _Logger:
    """Passes on what the library logs, without secrets, for those who look for the reason of an outage."""

    def __init__(self, outage: Outage) -> None:
        self._outage = outage

    def log(self, level: int, text: str, *args: Any) -> None:
        """Log ``text`` with its arguments."""
        LOGGER.log(logging.DEBUG, "%s", self._outage.hidden(text % args))


def _time_of(message: Any) -> int:
    kind, milliseconds = message.timestamp()
    if not kind:
        raise ValueError("it has no timestamp")
    return int(milliseconds)


def _key_of(message: Any) -> str | None:
    key = message.key()
    return key.decode() if isinstance(key, bytes) else key


def _text_of(error: Exception) -> str:
    """Return what a ``KafkaException`` says."""
    inner = error.args[0] if error.args else error
    return str(inner.str() if hasattr(inner, "str") else inner)
