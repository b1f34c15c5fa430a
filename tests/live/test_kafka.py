"""``st.kafka`` against librdkafka's mock cluster: order, resuming, retention, partitions, outages, back-pressure."""

from __future__ import annotations

import json
import logging
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from brokers import PASSWORD, MockKafka, ReturningKafka
from jobs import ended, files_of, killed, run, started
from patience import PATIENCE

import suricate.stream as st
from suricate.errors import BrokerError, ParameterError, RequirementError
from suricate.parallel import run as ranks_run
from suricate.sources.kafka_log import KafkaLog

GRAPH = {"device": "cpu"}
WINDOW = {"size": "40s", "slide": "10s", "names": True, "graph": GRAPH}


def message(time: float, src: str = "a", dst: str = "b", weight: int = 1) -> bytes:
    return json.dumps({"time": time, "src": src, "dst": dst, "weight": weight}).encode()


def payments(partitions: int, count: int = 400, seed: int = 1) -> list[list[bytes | None]]:
    """Messages of each partition, out of order, a few of which cannot be read."""
    rng = random.Random(seed)
    found: list[list[bytes | None]] = []
    for number in range(partitions):
        part: list[bytes | None] = []
        for at in range(count):
            when = at / 2 + number - rng.randrange(8)
            part.append(message(when, f"a{rng.randrange(30)}", f"b{rng.randrange(30)}", rng.randrange(1, 90)))
            if rng.random() < 0.02:
                part.append(rng.choice([None, b"{", b"7"]))
        found.append(part)
    return found


def interleaved(parts: list[list[Any]], seed: int) -> list[tuple[int, Any]]:
    """Each message with the number of its partition, in an order that keeps that of each partition."""
    turns = [number for number, part in enumerate(parts) for _ in part]
    random.Random(seed).shuffle(turns)
    left = [iter(part) for part in parts]
    return [(number, next(left[number])) for number in turns]


@pytest.mark.parametrize("partitions", [3, 2])
def test_ranks_read_partitions_of_their_own(partitions: int, kafka: MockKafka, tmp_path: Path) -> None:
    """Each of as many as read it has the files of one process, also where another number goes on in between."""
    kafka.write("shared", interleaved(payments(partitions, seed=5), 2))

    def work(comm: Any, folder: Path, most: int = 10**6) -> list[int]:
        source = st.kafka("shared", servers=kafka.servers, live=False, on_error=folder / "bad.csv")
        graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
        job = st.Window(source, **{**WINDOW, "graph": graph}, combine="sum", lateness="5s", late=folder / "late.csv",
                        readers="all", checkpoint=folder / "state", checkpoint_every=1)  # fmt: skip
        tops, out = job.track("wcc"), job.sink(folder / "out.csv")
        for number, w in enumerate(job):
            if number == most:
                break
            weight = int(w.graph.edges()[2].sum())
            out.write({"events": w.events, "late": w.late, "n": tops.result.num_components, "weight": weight})
        return [job.read, job.skipped]

    for name in ("whole", "shared"):
        (tmp_path / name).mkdir()
    expected = work(None, tmp_path / "whole")
    assert expected[1] > 5
    for ranks, most in ((2, 5), (4, 4), (3, 10**6)):
        found = ranks_run(lambda comm, most=most: work(comm, tmp_path / "shared", most), ranks)
    assert found == [expected] * 3
    assert files_of(tmp_path / "shared") == files_of(tmp_path / "whole")


def kafka_job(kafka: MockKafka, topic: str, **more: Any) -> dict[str, Any]:
    options = {"servers": kafka.servers, "live": False} | more.pop("options", {})
    return {"kind": "kafka", "name": topic, "options": options} | more


def test_files_are_the_same_for_20_interleavings_of_the_partitions(kafka: MockKafka, tmp_path: Path) -> None:
    parts = payments(3)
    whole: dict[str, bytes] = {}
    for seed in range(20):
        kafka.write(f"t{seed}", interleaved(parts, seed))
        folder = tmp_path / str(seed)
        folder.mkdir()
        source = st.kafka(f"t{seed}", servers=kafka.servers, live=False, on_error=folder / "bad.csv")
        job = st.Window(source, **WINDOW, combine="sum", lateness="5s", late=folder / "late.csv")
        tops, out = job.track("wcc"), job.sink(folder / "out.csv")
        with job:
            for w in job:
                out.write({"events": w.events, "skipped": w.skipped, "late": w.late, "n": tops.result.num_components})
        found = {name: text.replace(f"'t{seed}'".encode(), b"") for name, text in files_of(folder).items()}
        assert job.read == sum(map(len, parts))
        assert job.skipped > 5
        whole = whole or found
        assert found == whole
    assert {*whole} == {"bad.csv", "late.csv", "out.csv"}


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.soak)])
def test_a_killed_job_goes_on_from_its_offsets(kafka: MockKafka, tmp_path: Path, kills: int) -> None:
    kafka.write("t", interleaved(payments(3), 1))
    given = kafka_job(kafka, "t", slow=0.01)
    lines = run(tmp_path / "whole", given)
    assert lines[-1].startswith("read 12")
    assert killed(tmp_path, given, kills) == kills
    assert len(files_of(tmp_path / "whole")) == 3


def test_the_example_tells_of_fan_out(kafka: MockKafka, tmp_path: Path) -> None:
    begin = int(time.time()) // 3600 * 3600 - 7200
    rows = [(begin + at, f"p{at % 7}", f"q{at % 5}") for at in range(0, 3600, 10)]
    rows += [(begin + 1800 + at, "spreader", f"q{at}") for at in range(25)] + [(begin + 4300, "p0", "q0")] * 4
    messages = [json.dumps({"at": at, "payer": src, "payee": dst, "cents": 5}).encode() for at, src, dst in rows]
    kafka.write("t", [(0, b"?"), *((number % 4, each) for number, each in enumerate(messages))])
    program = Path(__file__).parents[2] / "examples" / "payments" / "from_broker.py"
    command = [sys.executable, "-P", str(program), "kafka", "t", kafka.servers, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert "['spreader']" in first
    assert (tmp_path / "alerts.csv").read_text().count("spreader") == 1
    assert (tmp_path / "bad.csv").read_text().count("kafka topic 't', partition 0, offset 0: Expecting value") == 1


def test_a_source_that_ended_goes_on_with_what_came_since_and_then_live(kafka: MockKafka, tmp_path: Path) -> None:
    options: dict[str, Any] = WINDOW | {"checkpoint": tmp_path, "at_end": "hold"}
    kafka.write("t", [(0, message(at)) for at in range(50)])
    assert [w.events for w in st.Window(st.kafka("t", servers=kafka.servers, live=False), **options)] == [10] * 4
    kafka.write("t", [(0, message(at)) for at in range(50, 75)])
    assert [w.events for w in st.Window(st.kafka("t", servers=kafka.servers, live=False), **options)] == [10] * 3
    kafka.write("t", [(0, message(at)) for at in range(75, 95)])
    job = st.Window(st.kafka("t", servers=kafka.servers), **options, idle="300ms")
    with job:
        found = [(w.events, w.closed_by) for w, _ in zip(job, range(2), strict=False)]
    assert found == [(10, "events"), (10, "events")]


def test_latest_begins_behind_what_is_there_and_silence_closes_slides(kafka: MockKafka) -> None:
    kafka.write("t", [(0, message(1))])
    columns = {"time": "@time", "src": "@key", "dst": "dst"}
    source = st.kafka(
        "t", servers=kafka.servers, start="latest", columns=columns, decode=lambda each: {"dst": each.topic()}
    )
    job = st.Window(source, size="1h", slide="1s", names=True, graph=GRAPH, idle="500ms")
    with job:
        future = job.start(lambda w: job._stop.set() if w.closed_by == "idle" else None)
        time.sleep(1.5)
        kafka.producer.produce("t", b"", key=b"ann", partition=1)
        kafka.producer.flush(10)
        future.result(PATIENCE)
    assert job.read == 1
    assert sorted(job.names) == ["ann", "t"]


@pytest.fixture
def read_in_part(kafka: MockKafka, tmp_path: Path) -> Any:
    """A checkpoint that goes on in the middle of a topic; returns what makes the job again."""
    kafka.write("t", [(at % 4, message(at)) for at in range(200)])

    def job() -> st.Window:
        return st.Window(st.kafka("t", servers=kafka.servers, live=False, timeout="2s"), **WINDOW, checkpoint=tmp_path,
                         checkpoint_every=1)  # fmt: skip

    first = job()
    with first:
        for number, _ in enumerate(first):
            if number == 5:
                break
    return job


def test_positions_that_retention_removed_are_an_error(kafka: MockKafka, read_in_part: Any) -> None:
    kafka.write("t", [(2, bytes(200_000)) for _ in range(60)])  # beyond what the mock keeps of a partition
    with pytest.raises(
        RequirementError, match=r"partition 2 of 't' begins at offset \d+, and .* go on at \d+: retention"
    ):
        list(read_in_part())


def test_retention_that_overtakes_a_slow_job_is_an_error(kafka: MockKafka) -> None:
    kafka.write("t", [(0, message(at)) for at in range(300)])
    tiny = {"queued.max.messages.kbytes": 1, "fetch.message.max.bytes": 1000, "queued.min.messages": 1}
    job = st.Window(st.kafka("t", servers=kafka.servers, config=tiny, prefetch=10, max_rows=5), **WINDOW, idle="1ms")
    next(job)
    kafka.write("t", [(0, bytes(200_000)) for _ in range(60)])
    with pytest.raises(RequirementError, match=r"partition 0 of 't' begins at offset \d+, and .* go on at \d+"):
        list(job)


def test_other_partitions_are_an_error(kafka: MockKafka, read_in_part: Any, tmp_path: Path) -> None:
    from suricate.sources.kafka_log import KafkaLog

    source = st.kafka("t", servers=kafka.servers)
    log = KafkaLog(source, {0: 1, 1: 1}, None)  # type: ignore[arg-type]
    with pytest.raises(RequirementError, match=r"'t' had the partitions \[0, 1\], and has \[0, 1, 2, 3\]"):
        list(map(KafkaLog.begin, [log] * 20))
    log = KafkaLog(source, dict.fromkeys(range(4), 999), None)  # type: ignore[arg-type]
    with pytest.raises(RequirementError, match=r"partition 0 of 't' ends at offset 50, and .* go on at 999"):
        list(map(KafkaLog.begin, [log] * 20))
    log = KafkaLog(source, {}, None)  # type: ignore[arg-type]
    while log.begin() is None:
        pass
    log._numbers = [0, 1]

    def poll(_: int) -> None:
        log._checked = 0.0  # it is time to look whether there are others
        log.poll([], set(), 0)

    with pytest.raises(RequirementError, match=r"had the partitions \[0, 1\]"):
        list(map(poll, range(20)))


def test_a_topic_that_is_not_there_is_an_error(kafka: MockKafka) -> None:
    with pytest.raises(ParameterError, match=rf"kafka at {kafka.servers} has no topic 'nothing'"):
        next(st.Window(st.kafka("nothing", servers=kafka.servers), **WINDOW))


def test_messages_that_cannot_be_read_raise_with_their_place(kafka: MockKafka) -> None:
    kafka.write("t", [(number, message(1)) for number in range(4)] + [(3, None)])
    with pytest.raises(ParameterError, match=r"kafka topic 't', partition 3, offset 1: .*: None; on_error='skip'"):
        next(st.Window(st.kafka("t", servers=kafka.servers, live=False), **WINDOW))


def test_an_error_of_a_message_raises(kafka: MockKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    from confluent_kafka import KafkaError

    from suricate.sources import kafka_log

    kafka.write("t", [(0, message(1))])
    wrong = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not for you, pass w/ord")
    monkeypatch.setattr(kafka_log.KafkaLog, "_handle", lambda self, part, found, error, keep=kafka_log.KafkaLog._handle:
                        keep(self, part, found, wrong))  # fmt: skip
    source = st.kafka("t", servers=kafka.servers, config={"sasl.password": PASSWORD})
    with pytest.raises(BrokerError, match=r"reports an error in partition \d of 't': not for you, \*\*\*"):
        next(st.Window(source, **WINDOW))


def test_a_broker_that_is_gone_is_an_error_that_names_it(kafka: MockKafka, tmp_path: Path) -> None:
    kafka.write("t", [(0, message(at)) for at in range(100)])
    secret = {"sasl.password": PASSWORD, "ssl.key.password": "other secret"}
    given = kafka_job(kafka, "t", options={"live": True, "timeout": "3s", "config": secret}, window={"idle": "200ms"})
    process = started(tmp_path, given)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("slide"):
        pass
    servers = kafka.servers
    kafka.close()
    lines = ended(process, 3)
    assert f"BrokerError: kafka at {servers} was not reached for 3 s: " in lines[-1]
    (tmp_path / "output").write_text("\n".join(lines))
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes()
            assert b"other secret" not in path.read_bytes()
    assert "refused" in (tmp_path / "log").read_text()


def test_silence_does_not_wait_for_the_report_of_an_end(kafka: MockKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker sends that half a second after the last message; here, never."""
    monkeypatch.setattr(KafkaLog, "_handle", lambda *args: None)
    kafka.write("t", [(number, message(number)) for number in range(4)])
    job = st.Window(st.kafka("t", servers=kafka.servers), **WINDOW, idle="100ms")
    seen: list[tuple[int, str]] = []
    with job:
        job.start(lambda w: seen.append((w.events, w.closed_by)))
        while not seen:
            time.sleep(0.01)
        job.stop(60)
    assert seen[0] == (4, "idle")


def test_a_broker_that_returns_is_read_on_and_an_outage_closes_no_slide(
    returning: ReturningKafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "suricate.sources")
    returning.write("t", [(0, message(at)) for at in range(100)])
    source = st.kafka("t", servers=returning.servers, timeout="60s")
    job = st.Window(source, **WINDOW, idle="1s")
    seen: list[tuple[int, str]] = []
    with job:
        job.start(lambda w: seen.append((w.events, w.closed_by)))
        while len(seen) < 9:
            time.sleep(0.01)
        returning.go()
        while "is not reached" not in caplog.text:
            time.sleep(0.01)
        time.sleep(2)  # twice as long as idle=
        assert len(seen) == 9
        returning.come_back()
        returning.write("t", [(0, message(at)) for at in range(100, 200)])
        while len(seen) < 19:
            time.sleep(0.01)
        job.stop(60)
    assert [events for events, _ in seen[:19]] == [10] * 19, "none is lost, late, or read twice"
    assert caplog.text.count("is reached again") == caplog.text.count("is not reached") == 1


def test_a_broker_that_never_answers_is_an_error_and_a_stop_does_not_wait(kafka: MockKafka) -> None:
    servers = kafka.servers
    kafka.close()
    with pytest.raises(BrokerError, match=f"kafka at {servers} was not reached for 1 s"):
        next(st.Window(st.kafka("t", servers=servers, timeout="1s"), **WINDOW))
    job = st.Window(st.kafka("t", servers=servers), **WINDOW)
    with job:
        job.start()
        begin = time.monotonic()
        job.stop(10)
        assert time.monotonic() - begin < 3


def test_a_slow_job_holds_the_broker_back(kafka: MockKafka, tmp_path: Path) -> None:
    """A partition that is far ahead is paused."""
    import suricate.sources.broker as common

    few = [(0, message(at)) for at in range(200)]
    kafka.write("t", few + [(1, message(at)) for at in range(200)] + [(1, message(1000 + at)) for at in range(60_000)])
    source = st.kafka("t", servers=kafka.servers, prefetch=2_000, max_rows=500)
    most, use = 0, common.Partition.add

    def add(part: Any, *args: Any) -> None:
        nonlocal most
        use(part, *args)
        most = max(most, len(part.rows))

    common.Partition.add = add  # type: ignore[method-assign]
    try:
        job = st.Window(source, **WINDOW, idle="1h")
        with job:
            job.start()
            time.sleep(3)
            job.stop(10)
    finally:
        common.Partition.add = use  # type: ignore[method-assign]
    assert 2_000 <= most <= 2_500


@pytest.mark.parametrize("config", [{"no.such.property": 1}, {"fetch.min.bytes": []}, {"auto.offset.reset": "latest"}])
def test_wrong_properties(config: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="kafka: config"):
        st.kafka("t", config=config)
    with pytest.raises(ParameterError) as error:
        st.kafka("t", config={"sasl.password": PASSWORD, "sasl.mechanism": f"x{PASSWORD}"})
    assert PASSWORD not in str(error.value)
    assert error.value.__suppress_context__


def test_wrong_servers(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ParameterError, match="user and password belong to config") as error:
        st.kafka("t", servers=f"user:{PASSWORD}@host:9092")
    assert PASSWORD not in str(error.value)
    st.kafka("t", servers="127.0.0.1:9")
    assert not caplog.records  # it is not connected before it is read
    with pytest.raises(ParameterError, match="servers must be a text"):
        st.kafka("t", servers=9092)
