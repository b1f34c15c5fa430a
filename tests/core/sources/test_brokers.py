"""What brokers have in common, over scripts in place of one: order, positions, idle partitions, refused messages."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scripted_broker import Script, Scripted, is_readable, script_of

import suricate.stream as st
from suricate.errors import BrokerError, MissingLibraryError, ParameterError, RequirementError
from suricate.io.options import FirstRow
from suricate.io.sources.lanes import merged
from suricate.io.sources.rows import NOTHING, WAITING
from suricate.io.sources.silence import Silence
from suricate.sources import broker, kafka_log, redis_log
from suricate.sources.broker import Broker, Outage, Partition
from suricate.sources.messages import Refused, Values
from suricate.sources.redis_log import After, RedisLog

pytestmark = pytest.mark.plain
GRAPH = {"device": "cpu"}


def model(script: Script) -> tuple[list[dict[str, Any]], list[str]]:
    """The events in order, and the places of messages that cannot be read: one next message after the other."""
    at, events, bad = [0] * len(script), [], []
    while all(at[number] < len(part) for number, part in enumerate(script)) or any(
        at[number] < len(part) for number, part in enumerate(script)
    ):
        heads = []
        for number, part in enumerate(script):
            if at[number] < len(part):
                message = part[at[number]]
                heads.append((json.loads(message)["time"] if is_readable(message) else -(10**9), number))
        number = min(heads)[1]
        message = script[number][at[number]]
        at[number] += 1
        if is_readable(message):
            events.append(json.loads(message))
        else:
            bad.append(f"script 's', partition {number}, offset {at[number] - 1}")
    return events, bad


def events_of(source: Broker, position: Any = None) -> list[tuple[Any, ...]]:
    found = []
    for _, chunk in source.read(position):
        if len(chunk["src"]):
            times = chunk["time"].astype("M8[s]").astype(int).tolist()
            found += zip(times, chunk["src"].tolist(), chunk["dst"].tolist(), chunk["weight"].tolist(), strict=True)
    return found


def named(source: Broker) -> Broker:
    source.want((), names=True, first=FirstRow())
    return source


@pytest.mark.parametrize("seed", range(3))
def test_partitions_are_merged_by_their_next_events_however_they_arrive(seed: int) -> None:
    script = script_of(seed)
    events, bad = model(script)
    for arrival in range(20):
        source = named(Scripted(script, arrival, on_error="skip", max_rows=random.Random(arrival).randrange(1, 40)))
        assert events_of(source) == [tuple(each.values()) for each in events]
        assert [row[5].split(": ")[0] for row in source.refusals[0].held] == bad
        (log,) = source.logs
        assert log.closed
        assert log.most <= 20 + 9  # what is ahead of others is paused


def test_one_partition_keeps_its_order() -> None:
    script = script_of(5)[:1]
    assert events_of(named(Scripted(script, on_error="skip"))) == [tuple(each.values()) for each in model(script)[0]]


def test_merging_stops_where_a_partition_has_no_more() -> None:
    first, second = Partition(0, 0), Partition(1, 0)
    first.add([10, 5, 20], [None] * 3, [1, 2, 3])
    second.add([10, 20, 20, 30], [None] * 4, [1, 2, 3, 4])
    owner, ticks = merged([first.ticks, second.ticks], 99)
    assert (owner.tolist(), ticks.tolist()) == ([0, 0, 1, 0], [10, 5, 10, 20])
    assert merged([first.ticks, second.ticks], 2)[0].tolist() == [0, 0]
    assert merged([second.ticks], 99)[1].tolist() == [10, 20, 20, 30]


def job_over(script: Script, folder: Path, arrival: int, **options: Any) -> st.Window:
    folder.mkdir(exist_ok=True)
    source = Scripted(script, arrival, on_error=folder / "bad.csv", **options)
    return st.Window(source, size="12s", slide="4s", lateness="3s", combine="sum", names=True, graph=GRAPH,
                     late=folder / "late.csv", checkpoint=folder / "state", checkpoint_every=1)  # fmt: skip


def run(job: st.Window, folder: Path, most: int = 10**6) -> bool:
    """Write what a job finds; return whether it came to its end."""
    parts, out = job.track("wcc"), job.sink(folder / "out.csv")
    with job:
        for number, w in enumerate(job):
            if number == most:
                return False
            out.write({"events": w.events, "late": w.late, "skipped": w.skipped, "parts": parts.result.num_components,
                       "names": " ".join(sorted(job.names)), "weight": int(w.graph.edges()[2].sum())})  # fmt: skip
    return True


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


@pytest.mark.parametrize(("arrivals", "count"), [(2, 14), pytest.param(20, 60, marks=pytest.mark.slow)])
def test_files_are_a_function_of_the_partitions_also_if_the_job_was_killed(
    tmp_path: Path, arrivals: int, count: int
) -> None:
    script = script_of(1, count)
    script[2][-4:] = [each for each in script[1] if is_readable(each)][:4]  # too old: late
    run(job_over(script, tmp_path / "whole", 0), tmp_path / "whole")
    whole = files_of(tmp_path / "whole")
    assert {*whole} == {"bad.csv", "late.csv", "out.csv"}
    for arrival in range(1, arrivals + 1):
        folder = tmp_path / str(arrival)
        most = 10**6 if arrival % 2 else 1 + arrival % 5
        while not run(job_over(script, folder, arrival), folder, most):
            pass
        assert files_of(folder) == whole


def test_a_silent_partition_is_waited_for_until_it_is_idle() -> None:
    """The clock stands in the test; a partition that has not said that it is at its end is not silent."""
    event = lambda time: json.dumps({"time": time, "src": "a", "dst": "b", "weight": 1}).encode()  # noqa: E731
    source, now = Scripted([[event(5), event(9)], []], live=True), 0.0
    silence = Silence(2.0)
    silence.clock = lambda: now
    source.want((), names=True, first=FirstRow(), silence=silence)
    chunks = source.read()
    seen = [next(chunks)[1] for _ in range(2)]
    assert all(chunk is WAITING for chunk in seen)  # it is not connected
    seen = [next(chunks)[1] for _ in range(30)]
    assert all(chunk is NOTHING for chunk in seen[10:])
    now = 2.5
    position, chunk = next((position, chunk) for position, chunk in chunks if len(chunk["src"]))
    assert chunk["time"].astype("M8[s]").astype(int).tolist() == [5, 9][: len(chunk["src"])]
    assert silence.turns[0] == ["merge 0", 0, [1]]
    source.script[0] += [event(12)]
    source.script[1] += [event(7)]  # from its next event on it is waited for again
    assert 7 in times_in(chunks)
    again = Scripted(source.script, 3, live=True)
    again.want((), names=True, first=FirstRow())
    assert 7 in times_in(again.read(position))


def times_in(chunks: Any) -> list[int]:
    """The times of the events in the next chunks, in seconds."""
    times = [chunk["time"] for _, chunk in itertools.islice(chunks, 60) if len(chunk["src"])]
    return np.concatenate(times).astype("M8[s]").astype(int).tolist()


class Killed(Exception):  # noqa: N818 - it stands for a kill: there is no checkpoint behind it
    """Raised by a source."""


class Fed(Scripted):
    """A live source whose script grows while it is read; the clock of the job stands, or goes on between two reads."""

    def __init__(self, parts: Script, seed: int) -> None:
        super().__init__([[] for _ in parts], seed, live=True)
        self.parts, self.now = parts, 0.0

    def read(self, position: Any = None) -> Iterator[tuple[Any, Any]]:
        for found, _ in zip(super().read(position), range(300), strict=False):
            yield found
            number = self.rng.randrange(3)
            here, whole = self.script[number], self.parts[number]
            if self.rng.random() < 0.2 and len(here) < len(whole):
                here += whole[len(here) :][: self.rng.randrange(1, 6)]
            elif self.rng.random() < 0.5:
                self.now += self.rng.choice((0.1, 1.0))
        raise Killed


@pytest.mark.parametrize("seed", range(3))
def test_slides_that_the_clock_closed_are_repeated_by_a_job_that_goes_on(tmp_path: Path, seed: int) -> None:
    """The run that is killed has one checkpoint, from before its first event, and notes of what the clock did."""
    live = Fed([[each for each in part if is_readable(each)] for part in script_of(seed, 30)], seed)

    def slides_of(source: Broker, most: int) -> int:
        job = st.Window(
            source, size="12s", slide="4s", lateness="3s", idle="2s", combine="sum", names=True, graph=GRAPH,
            late=tmp_path / "late.csv", checkpoint=tmp_path / "state", checkpoint_every="1h",
        )  # fmt: skip
        job.silence.clock = lambda: live.now
        out = job.sink(tmp_path / "out.csv")
        with job, contextlib.suppress(Killed):
            for _, w in zip(range(most), job, strict=False):
                ends = [w.graph.names[ends].tolist() for ends in w.graph.edges()[:2]]
                edges = str(sorted(zip(*ends, strict=True)))
                out.write({"events": w.events, "late": w.late, "by": w.closed_by, "edges": edges})
        return job.slides

    count = slides_of(live, 10**6)
    whole = files_of(tmp_path)
    assert count > 5
    assert b",idle," in whole["out.csv"]
    assert slides_of(Scripted(live.script, 7, live=True), count) == count
    found = files_of(tmp_path)
    assert found["out.csv"] == whole["out.csv"]
    assert whole["late.csv"].startswith(found["late.csv"])  # it ends with the last slide


def test_an_outage_is_no_silence() -> None:
    source = Scripted([[]], live=True)
    source.want((), names=True, first=FirstRow(), silence=Silence(0.001))
    chunks = source.read()
    found = [next(chunks)[1] for _ in range(4)]
    assert found[-1] is NOTHING
    source.logs[0].outage.begin("gone")
    assert next(chunks)[1] is WAITING
    source.logs[0].outage.end()
    assert next(chunks)[1] is NOTHING


def test_an_outage_ends_in_an_error_that_names_the_broker_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(broker.time, "monotonic", lambda: 100 + now)
    outage = Outage("redis at h:1", 30, ["pass word", None, ""])
    outage.note("cannot log in with pass word")
    now = 29
    outage.note("again")
    outage.end()
    outage.note("again\nat pass word")
    now = 59
    with pytest.raises(BrokerError, match=r"^redis at h:1 was not reached for 30 s: again at \*\*\*$") as error:
        outage.note("again at pass word")
    assert isinstance(error.value, ConnectionError)


def test_a_merge_is_not_silent_while_a_broker_is_not_reached() -> None:
    event = b'{"time": 5, "src": "a", "dst": "b", "weight": 1}'
    other = st.source(lambda position: iter([(1, {"src": [], "dst": []})] * 20), time_unit="s")
    source = Scripted([[event]], live=True)
    both = st.merge(source, other)
    both.want((), names=True, first=FirstRow(), silence=Silence(0.001))
    chunks = both.read()
    assert all(next(chunks)[1] is WAITING for _ in range(2))
    rest = [chunk for _, chunk in itertools.islice(chunks, 30)]
    assert any(len(chunk["src"]) for chunk in rest)  # the other one is idle
    assert rest[-1] is NOTHING


def test_a_history_goes_before_a_broker(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("src,dst,time,weight\na,b,1,5\nb,c,2,5\n")
    events = [json.dumps({"time": at, "src": "a", "dst": "d", "weight": 2}).encode() for at in (3, 9)]
    chain = st.chain(st.scan(tmp_path / "old.csv"), Scripted([events]))
    job = st.Window(chain, size="4s", slide="2s", names=True, combine="sum", graph=GRAPH)
    assert [(w.events, int(w.graph.edges()[2].sum())) for w in job] == [(1, 5), (2, 12), (0, 7), (0, 0), (1, 2)]


@pytest.mark.parametrize(
    ("last", "info", "reason"),
    [
        (("5-1", 5, "0-0"), {"first": "3-1", "added": 9, "length": 7}, None),
        (("5-1", 5, "0-0"), {"first": "6-1", "added": 9, "length": 4}, None),
        (
            ("5-1", 5, "0-0"),
            {"first": "7-1", "added": 9, "length": 3},
            "begins at 7-1, and .* go on at 5-1: .* trimmed",
        ),
        (("5-1", None, "0-0"), {"first": "5-1", "length": 4}, None),
        (("5-1", None, "0-0"), {"first": "6-1", "length": 4}, "begins at 6-1, and .* trimmed"),  # before Redis 7
        (("5-1", 5, "0-0"), {"first": "1-1", "added": 9, "length": 8, "deleted": "6-1"}, "up to 6-1 were deleted"),
        (("5-1", 5, "6-1"), {"first": "1-1", "added": 9, "length": 8, "deleted": "6-1"}, None),
        (("5-1", 5, "0-0"), {"first": "1-1", "added": 9, "length": 8, "deleted": "4-1"}, None),
        (("5-1", 5, "0-0"), {"first": None, "added": 5, "length": 0, "newest": "5-1"}, None),
        (("5-1", 5, "0-0"), {"first": None, "added": 9, "length": 0}, "begins at nothing, and .* go on at 5-1"),
        (("5-1", 5, "0-0"), {"first": "1-1", "added": 3, "length": 3}, "was made again, and .* behind 5-1"),
        (
            ("5-1", 5, "0-0"),
            {"first": "1-1", "added": 3, "length": 3, "newest": "3-1"},
            "ends at 3-1, and .* behind 5-1",
        ),
        (("5-1", 5, "0-0"), None, "is not there any more, and .* behind 5-1"),
        (("0-0", 0, "0-0"), None, None),
    ],
)
def test_entries_of_a_stream_that_are_gone(
    last: tuple[str, int | None, str], info: dict[str, Any] | None, reason: str | None
) -> None:
    log = object.__new__(RedisLog)
    log._source = SimpleNamespace(name="s")  # type: ignore[assignment]
    if info is not None:
        first = info["first"]
        answer = {"first-entry": first and (first.encode(), {}), "length": info["length"],
                  "last-generated-id": info.get("newest", "9-1").encode()}  # fmt: skip
        if "added" in info:
            answer |= {"entries-added": info["added"], "max-deleted-entry-id": info.get("deleted", "0-0").encode()}
    with contextlib.nullcontext() if reason is None else pytest.raises(RequirementError, match=reason):
        log._check(After(*last), None if info is None else answer)


# -- values ------------------------------------------------------------------------------------------------------------


def values_of(names: bool = True, **options: Any) -> Values:
    given: dict[str, Any] = {"columns": {}, "attributes": (), "time_unit": "s", "first": FirstRow(), "kinds": None}
    return Values(**(given | options), names=names)


@pytest.mark.parametrize(
    ("time", "ticks"),
    [
        (3, 3 * 10**9),
        ("3", 3 * 10**9),
        (1.25, 1_250_000_000),
        ("1970-01-01T00:00:02", 2 * 10**9),
        ("1970-01-01T01:00:02+01:00", 2 * 10**9),
        ("1970-01-01T00:00:02.5Z", 2_500_000_000),
    ],
)
def test_times_are_numbers_or_texts(time: Any, ticks: int) -> None:
    row = {"time": time, "src": "a", "dst": 7, "weight": "2.5", "kind": "delete"}
    assert values_of().read(dict, row, "") == (ticks, ("a", 7, 2.5, "delete"))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"src": 1, "dst": 2}, "it has no 'time'"),
        ({"time": True, "src": 1, "dst": 2}, "time is True"),
        ({"time": float("nan"), "src": 1, "dst": 2}, "time is nan"),
        ({"time": 10**12, "src": 1, "dst": 2}, "out of the range of years 1824 to 2116; time_unit= says its unit"),
        ({"time": "soon", "src": 1, "dst": 2}, "Invalid isoformat string: 'soon'"),
        ({"time": 1, "dst": 2}, "it has no 'src'"),
        ({"time": 1, "src": 1.5, "dst": 2}, "src is 1.5"),
        ({"time": 1, "src": 1 << 63, "dst": 2}, "src is 9223372036854775808"),
        ({"time": 1, "src": "ann", "dst": 2}, "src is 'ann': names=True takes texts"),
        ({"time": 1, "src": 1, "dst": 2, "weight": []}, "weight is []"),
        ({"time": 1, "src": 1, "dst": 2, "weight": "nan"}, "weight is nan"),
        ({"time": 1, "src": 1, "dst": 2, "weight": float("-inf")}, "weight is -inf"),
        ({"time": 1, "src": 1, "dst": 2, "kind": []}, "a value is neither a number nor a text"),
        ({"time": 1, "src": 1, "dst": 2, "fee": {}}, "a value is neither a number nor a text"),
        ({"time": 1, "src": 1, "dst": 2, "fee": "\ud800"}, "surrogates not allowed"),
        ([1, 2], "it is no object of names and values, but [1, 2]"),
    ],
)
def test_what_cannot_be_read_is_refused(row: Any, reason: str) -> None:
    ticks, refused = values_of(names=False, attributes=("fee",)).read(lambda each: each, row, b"x" * 200)
    assert ticks == np.iinfo(np.int64).min
    assert isinstance(refused, Refused)
    assert reason in refused.reason
    assert len(refused.text) == 60


def test_a_weight_that_is_missing_is_told_with_its_place() -> None:
    known = {"time": 1, "src": "a", "dst": "b", "weight": 5}
    rows = [known, known | {"kind": "delete", "weight": None}, known | {"weight": None}]
    source = Scripted([[json.dumps(row).encode() for row in rows]])
    job = st.Window(source, size="4s", slide="2s", names=True, graph=GRAPH)
    with pytest.raises(ParameterError, match=r"partition 0, offset 2: it has no weight, the first event had one"):
        list(job)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("kafka://a:1,b:2/pay%2F1?client.id=x%20y&fetch.min.bytes=3",
         ("pay/1", "a:1,b:2", {"client.id": "x y", "fetch.min.bytes": "3"})),
        ("kafka:/a", ("kafka:/a", "s:1", None)),
        ("redis://:p%2Fw@h:1/0/pay", ("pay", "redis://:p%2Fw@h:1/0")),
        ("rediss://h/a%2Fb?ssl_cert_reqs=none", ("a/b", "rediss://h?ssl_cert_reqs=none")),
        ("redis://h", ("", "redis://h")),
        ("redis:1", ("redis:1", "redis://s")),
    ],
)  # fmt: skip
def test_addresses_name_what_is_read_and_where(address: str, place: tuple[Any, ...]) -> None:
    kafka = address.startswith("kafka")
    assert (kafka_log.of_url(address, "s:1", None) if kafka else redis_log.of_url(address, "redis://s")) == place


def test_a_malformed_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ParameterError, match="url must be redis://host:6379/0") as error:
        redis_log.of_url("redis://:secret@[::1/a", "")
    assert "secret" not in str(error.value)


def test_a_name_that_is_no_unicode_is_refused() -> None:
    _, refused = values_of().read(lambda each: each, {"time": 1, "src": "a\ud800", "dst": "b"}, b"")
    assert isinstance(refused, Refused)
    assert "surrogates not allowed" in refused.reason
    assert values_of().read(dict, {"time": 1, "src": "\u00e9", "dst": "\U0001f600"}, b"")[1][:2] == (
        "\u00e9",
        "\U0001f600",
    )


def test_the_first_event_says_what_weights_and_names_are() -> None:
    values = values_of()
    rows = [("7", "x", 3, 1), (7, "x", 3, 1), (7, "x", 4, 1), (7, "x", 2.5, 1)]
    assert values.first_odd(rows) == 3
    assert values.kinds == (True, True, True)
    chunk = values.chunk(np.arange(3), rows[:3])
    assert chunk["src"].tolist() == ["7", "7", "7"]
    assert chunk["weight"].tolist() == [3, 3, 4]
    assert "kind" not in chunk
    values = values_of()
    assert values.first_odd([(1, 2, None, "insert"), (1, 2, None, "delete"), ("1", 2, None, 1)]) == 2
    assert values.misfit((1, 2, 3, 1)) == "it has a weight, the first event had none"
    assert values.chunk(np.arange(1), [(1, 2, None, "delete")])["kind"].tolist() == ["delete"]


def test_columns_name_values_and_what_the_broker_says_of_a_message() -> None:
    script = [[b'{"ts": 1, "payer": "x", "fee": 2}', b'{"ts": 2, "payer": "y", "fee": 3.5}']]
    source = Scripted(script, columns={"time": "ts", "src": "payer", "dst": "@key", "weight": "fee"}, on_error="skip")
    source = named(source)
    assert events_of(source) == [(1, "x", "0", 2)]
    (row,) = source.refusals[0].held
    assert row[5].startswith("script 's', partition 0, offset 1: weights were whole numbers so far")
    with pytest.raises(ParameterError, match=r"columns: '@nothing' is not one of @key"):
        Scripted(script, columns={"src": "@nothing"})


def test_a_message_that_cannot_be_read_raises_behind_the_events_before_it() -> None:
    script = [[b'{"time": 1, "src": "a", "dst": "b", "weight": 1}', None]]
    source, seen = named(Scripted(script)), []
    with pytest.raises(ParameterError, match=r"script 's', partition 0, offset 1: .*: None; on_error='skip'"):
        seen.extend(chunk["src"].tolist() for _, chunk in source.read() if len(chunk["src"]))
    assert seen == [["a"]]
    assert source.logs[0].closed


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "package"), [("kafka", "confluent_kafka"), ("redis", "redis")])
def test_a_missing_library_names_the_extra(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingLibraryError, match=rf"needs {package}: pip install 'suricate\[{name}\]'"):
        getattr(st, name)("payments")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "middle"}, "start='middle' is unknown"),
        ({"live": 1}, "live must be True or False"),
        ({"timeout": 3}, "timeout must be a duration"),
        ({"ahead": 0}, "prefetch must be at least 1"),
        ({"decode": "json"}, "decode must be a function of a message"),
        ({"time_unit": None}, "time_unit must be"),
        ({"on_error": "warn"}, "on_error must be"),
        ({"max_rows": 0}, "max_rows must be at least 1"),
        ({"columns": {"src": 0}}, "columns: messages have names, no positions such as 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ParameterError, KeyError), match=message):
        Scripted([], **options)
    with pytest.raises(ParameterError, match="give the name of what to read as a text, got 3"):
        Broker(3, start="earliest", live=True, timeout="1s", ahead=1, decode=None)  # type: ignore[arg-type]


def test_the_error_of_positions_that_are_gone_names_both() -> None:
    error = broker.lost("kafka: partition 2 of 'pay'", "offset 500", 100, "retention has removed the messages between")
    assert isinstance(error, RequirementError)
    assert "begins at offset 500, and reading was to go on at 100" in str(error)


@pytest.mark.parametrize(("timeout", "milliseconds"), [(5, 2500), (None, 20_000), (60, 20_000)])
def test_redis_is_not_asked_to_wait_until_its_connection_gives_up(timeout, milliseconds) -> None:
    asked: list[int] = []
    log = RedisLog.__new__(RedisLog)
    log._source, log.outage = SimpleNamespace(name="s"), Outage("redis", 1, [])  # type: ignore[assignment]
    pool = SimpleNamespace(connection_kwargs={"socket_timeout": timeout})
    log._client = SimpleNamespace(connection_pool=pool, xread=lambda streams, count, block: asked.append(block))
    log._library = SimpleNamespace(
        exceptions=SimpleNamespace(
            ConnectionError=OSError, TimeoutError=OSError, RedisError=OSError, ResponseError=OSError
        )
    )
    log._wait("0-0", 20.0)
    assert asked == [milliseconds]
