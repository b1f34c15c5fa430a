"""Redis Streams by ``redis``: ids of entries are the positions; nothing is acknowledged or deleted.

Each read is a transaction with a look at the stream, so that it is noticed if entries were trimmed before they were
read. While the entry of the position is in the stream, no entry behind it has been trimmed; else the number of entries
that are gone must be that of the entries read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from suricate.base.errors import ParameterError, RequirementError
from suricate.intake.tables import library
from suricate.sources.broker import ALL, PAUSE, Broker, Outage, Partition, lost

BAD_URL = "redis: url must be redis://host:6379/0, rediss:// or unix://, and config arguments of redis.Redis"
FIRST = "0-0"  #: before all ids


class After(NamedTuple):
    """The position behind an entry.

    Attributes:
        id: of the entry.
        gone: how many entries will be gone when all up to this one are, None: the server does not count them.
        deleted: the largest id of a deleted entry that was known.
    """

    id: str
    gone: int | None
    deleted: str


def of_url(stream: Any, url: str) -> tuple[Any, str]:
    """Return the key of a stream and the url of its server, both of which a key that begins with one says."""
    if not isinstance(stream, str) or not stream.startswith(("redis://", "rediss://")):
        return stream, url
    try:
        address = urlsplit(stream)
    except ValueError:  # which may name the password
        raise ParameterError(BAD_URL) from None
    place, _, name = address.path.rpartition("/")
    return unquote(name), urlunsplit(address._replace(path=place))


class Redis(Broker):
    """A stream; ``suricate.sources.redis`` explains the arguments."""

    kind, _is_single = "redis stream", True

    def __init__(self, stream: str, url: str, config: Mapping[str, Any] | None, **options: Any) -> None:
        self._library = library("redis", "redis")
        self.facts_of = {"@time": lambda entry: int(entry[0].split(b"-")[0]), "@id": lambda entry: entry[0].decode()}
        super().__init__(stream, **options)
        if not isinstance(config or {}, Mapping):
            raise ParameterError("redis: config must be a dict of arguments of redis.Redis")
        self._url, self._config = url, dict(config or {})
        self.client().close()  # to check the arguments

    def client(self) -> Any:
        """Return a client; raises ``ParameterError`` for a bad address or arguments."""
        retry = self._library.retry.Retry(self._library.backoff.NoBackoff(), 0)  # that is done here
        usual = {"socket_timeout": 5, "socket_connect_timeout": 1, "retry": retry}
        try:
            found = self._library.Redis.from_url(self._url, **(usual | self._config), decode_responses=False)
            found.connection_pool.make_connection()  # which checks the arguments, and connects to nothing
            return found
        except (ValueError, TypeError, AttributeError):  # which may name the password
            raise ParameterError(BAD_URL) from None

    def outage(self, client: Any) -> Outage:
        """Return what notes that the server of a client is not reached."""
        address = client.connection_pool.connection_kwargs
        secrets = {address.get("password"), self._config.get("password"), urlsplit(self._url).password, self._url}
        secrets |= {unquote(each) for each in secrets if isinstance(each, str)}
        place = address.get("path") or f"{address.get('host', 'localhost')}:{address.get('port', 6379)}"
        return Outage(f"redis at {place}", self.seconds, secrets)

    def log(self, begin: Mapping[int, Any], ends: Mapping[int, Any] | None) -> RedisLog:
        """Return a connection that reads behind the entry in ``begin``."""
        return RedisLog(self, begin, ends)

    def decoded(self, message: Any) -> Any:
        """Return the fields of an entry as texts."""
        return {name.decode(): value.decode() for name, value in message[1].items()}

    def position_of(self, number: int, after: Any) -> str:
        """Return the id of an entry."""
        return f"entry {After(*after).id}"


class RedisLog:
    """The client of a stream; see ``broker.Log``."""

    def __init__(self, source: Redis, begin: Mapping[int, Any], ends: Mapping[int, Any] | None) -> None:
        self._source, self._library = source, source._library
        self._begin = After(*begin[0]) if begin else None
        self._end: str | None = ends[0] if ends else None
        self._client = source.client()
        self.outage = source.outage(self._client)

    def begin(self, own: slice = ALL) -> list[Partition] | None:
        """Look at the stream, and return it as the only partition; None if the server does not answer."""
        answers = self._ask(lambda calls: calls.xinfo_stream(self._source.name))
        if answers is None:
            return None
        info = answers[0]
        last = FIRST if info is None else info["last-generated-id"].decode()
        if self._begin is None:
            self._begin = After(FIRST, _gone(info), _deleted(info))
            if self._source.start == "latest" and info is not None:
                self._begin = self._begin._replace(id=last, gone=info.get("entries-added"))
        self._check(self._begin, info)
        if self._source.live or self._end is None or _key(self._begin.id) >= _key(self._end):
            self._end = None if self._source.live else last
        part = Partition(0, self._begin, self._end)
        part.has_ended = self._end is not None and _key(self._begin.id) >= _key(self._end)
        return [part]

    def poll(self, partitions: Sequence[Partition], full: set[int], seconds: float) -> Iterable[tuple[Partition, Any]]:
        """Return new entries; raises ``RequirementError`` if some were trimmed or deleted before they were read."""
        (part,) = partitions
        if part.number in full or part.has_ended:
            return []
        last, stream, most = After(*part.last), self._source.name, self._source.max_rows

        def read(calls: Any) -> None:
            calls.xinfo_stream(stream)
            calls.xread({stream: last.id}, count=most)

        answers = self._ask(read)
        if answers is None:
            return []
        info, found = answers
        self._check(last, info)
        entries = _entries_of(found)
        part.at_end = not entries
        if part.end is not None:
            part.has_ended = not entries or _key(entries[-1][0].decode()) >= _key(part.end)
            entries = [entry for entry in entries if _key(entry[0].decode()) <= _key(part.end)]
        elif not entries and seconds:
            self._wait(last.id, seconds)
        self._gone, self._deleted = last.gone, _deleted(info)
        return [(part, entry) for entry in entries]

    def _wait(self, behind: str, seconds: float) -> None:
        """Wait for an entry behind an id, and as long again for others that may join it."""
        most = self._client.connection_pool.connection_kwargs.get("socket_timeout")  # longer ones are outages
        milliseconds = max(int(min(seconds, most / 2 if most else seconds) * 1000), 1)
        stream = self._source.name
        answers = self._ask(lambda calls: calls.xread({stream: behind}, count=1, block=milliseconds), wait=True)
        if answers and answers[0]:
            time.sleep(seconds)

    def after(self, message: Any) -> After:
        """Return the position behind an entry."""
        self._gone = None if self._gone is None else self._gone + 1
        return After(message[0].decode(), self._gone, self._deleted)

    def _ask(self, add: Any, *, wait: bool = False) -> list[Any] | None:
        """Return the answers to the calls that ``add`` makes, in a transaction unless they ``wait``.

        A stream that is not there is None. None for all: the server was not reached.
        """
        try:
            if wait:
                answers = [add(self._client)]
            else:
                with self._client.pipeline(transaction=True) as calls:
                    add(calls)
                    answers = calls.execute(raise_on_error=False)
        except self._library.exceptions.AuthenticationError as error:  # no outage: to try again changes nothing
            raise self.outage.error(f"refuses: {error}") from None
        except (self._library.exceptions.ConnectionError, self._library.exceptions.TimeoutError, OSError) as error:
            self.outage.note(error)
            time.sleep(PAUSE)
            return None
        except self._library.exceptions.RedisError as error:
            raise self.outage.error(f"reports an error: {error}") from None
        self.outage.end()
        for at, answer in enumerate(answers):
            if isinstance(answer, self._library.exceptions.ResponseError) and "no such key" in str(answer):
                answers[at] = None
            elif isinstance(answer, Exception):
                raise self.outage.error(f"reports an error: {answer}")
        return answers

    def _check(self, last: After, info: Any) -> None:
        """Raise ``RequirementError`` if entries behind ``last`` are gone, as ``info`` about the stream tells."""
        place = f"redis: the stream {self._source.name!r}"
        if last.id == FIRST:
            return
        if info is None:
            raise RequirementError(f"{place} is not there any more, and reading was to go on behind {last.id}")
        newest, first = info["last-generated-id"].decode(), info["first-entry"] and info["first-entry"][0].decode()
        if _key(newest) < _key(last.id):
            raise RequirementError(f"{place} ends at {newest}, and reading was to go on behind {last.id}")
        if last.gone is not None and int(info.get("entries-added", last.gone)) < last.gone:
            raise RequirementError(f"{place} was made again, and reading was to go on behind {last.id}")
        if _key(_deleted(info)) > max(_key(last.id), _key(last.deleted)):
            raise lost(place, first, last.id, f"entries up to {_deleted(info)} were deleted before they were read")
        if (first is None or _key(first) > _key(last.id)) and (last.gone is None or _gone(info) != last.gone):
            raise lost(place, first or "nothing", last.id, "the entries between were trimmed before they were read")

    def text(self, message: Any) -> Any:
        """Return the fields of an entry."""
        return message[1]

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def _key(entry_id: str) -> tuple[int, int]:
    """Return the two numbers of an id of an entry."""
    first, _, second = entry_id.partition("-")
    return int(first), int(second)


def _gone(info: Any) -> int | None:
    """Return how many entries of a stream are gone; None if the server, before Redis 7, does not count them."""
    if info is None:
        return 0
    return None if "entries-added" not in info else int(info["entries-added"]) - int(info["length"])


def _deleted(info: Any) -> str:
    """Return the largest id of a deleted entry."""
    return FIRST if info is None else info.get("max-deleted-entry-id", FIRST.encode()).decode()


def _entries_of(answer: Any) -> list[Any]:
    """Return the entries, ids and fields, in what XREAD answered, in either version of the protocol."""
    if not answer:
        return []
    ((_, found),) = answer.items() if isinstance(answer, Mapping) else answer
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found
