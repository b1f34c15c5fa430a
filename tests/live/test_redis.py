"""``st.redis`` against a server: ids as positions, trimming, deletion, reconnecting, back-pressure, passwords."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from brokers import PASSWORD, RedisServer
from jobs import PROGRAM, files_of, killed, run, started
from mpi_jobs import start
from patience import PATIENCE

import suricate.stream as st
from suricate.errors import BrokerError, ParameterError, RequirementError

GRAPH = {"device": "cpu"}
WINDOW = {"size": "40s", "slide": "10s", "names": True, "graph": GRAPH}


def fill(server: RedisServer, stream: str, times: Any, seed: int = 1) -> None:
    """Append an event per time, and now and then an entry that cannot be read."""
    rng, calls = random.Random(seed), server.client.pipeline(transaction=False)
    for at in times:
        calls.xadd(
            stream, {"time": at, "src": f"a{rng.randrange(30)}", "dst": f"b{rng.randrange(30)}", "weight": at % 90}
        )
        if rng.random() < 0.01:
            calls.xadd(stream, rng.choice([{"time": "soon"}, {"src": b"\xff", "dst": 1, "time": 1}]))
    calls.execute()


def source_of(server: RedisServer, stream: str = "s", **options: Any) -> st.Source:
    return st.redis(stream, url=server.url, **({"live": False, "on_error": "skip", "timeout": "2s"} | options))


def redis_job(server: RedisServer, stream: str | list[str], **more: Any) -> dict[str, Any]:
    options = {"url": server.url, "live": False} | more.pop("options", {})
    return {"kind": "redis", "name": stream, "options": options} | more


def test_entries_are_events_in_the_order_of_their_ids(server: RedisServer) -> None:
    fill(server, "s", range(100))
    tracked = st.Window(source_of(server, max_rows=7), **WINDOW, combine="sum")
    found = [(w.events, int(w.graph.edges()[2].sum())) for w in tracked]
    sums = [sum(at % 90 for at in range(max(end - 40, 0), end)) for end in range(10, 101, 10)]
    assert found == [(10, total) for total in sums]
    ids = server.client.xrange("s", count=1)
    source = source_of(server, columns={"time": "@time", "src": "@id", "dst": "dst"}, time_unit="s", max_rows=1)
    source.want((), names=True, first=None)  # type: ignore[arg-type]
    _, chunk = next(each for each in source.read() if len(each[1]["src"]))
    assert chunk["src"].tolist() == [ids[0][0].decode()]
    assert int(chunk["time"].astype("M8[ms]").astype(int)[0]) == int(ids[0][0].split(b"-")[0])


@pytest.mark.parametrize("protocol", [2, 3])
def test_both_versions_of_the_protocol(server: RedisServer, protocol: int) -> None:
    fill(server, "s", range(50))
    source = source_of(server, config={"protocol": protocol}, start="earliest")
    assert sum(w.events for w in st.Window(source, **WINDOW)) == 50


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.soak)])
def test_a_killed_job_goes_on_from_its_entries(server: RedisServer, tmp_path: Path, kills: int) -> None:
    fill(server, "s", (at + (at * 7) % 11 for at in range(600)))
    given = redis_job(server, "s", slow=0.01)
    run(tmp_path / "whole", given)
    assert killed(tmp_path, given, kills) == kills
    assert {*files_of(tmp_path / "whole")} == {"bad.csv", "late.csv", "out.csv"}


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_several_processes_that_are_killed_go_on_with_any_number(
    server: RedisServer, tmp_path: Path, kills: int
) -> None:
    """Each reads some of the streams; a process ends before or behind what the loop does with a slide."""
    for seed, name in enumerate("abc"):
        fill(server, name, (at + (at * 7) % 11 for at in range(0, 300, 1 + seed)), seed)
    given, rng, target = redis_job(server, ["a", "b", "c"], readers="all"), random.Random(kills), tmp_path / "killed"
    whole = run(tmp_path / "whole", given)
    done = 0
    while done < kills:
        ranks = 2 + done % 3
        dies = {"dies": [rng.randrange(ranks), rng.randrange(1, 5), rng.random() < 0.5]}
        ended = start(PROGRAM, str(target), json.dumps(given | dies), ranks=ranks, limit=10)
        if ended.returncode == 0:  # it came to its end before
            assert files_of(target) == files_of(tmp_path / "whole")
            shutil.rmtree(target)
            continue
        (target / "died").unlink()  # it was no other error
        done += 1
    ended = start(PROGRAM, str(target), json.dumps(given), ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert files_of(target) == files_of(tmp_path / "whole")
    assert len(whole) > 25


@pytest.fixture
def read_in_part(server: RedisServer, tmp_path: Path) -> Any:
    """A checkpoint that goes on behind the 60 first of 100 entries; returns what makes the job again."""
    for at in range(1, 61):
        server.client.xadd("s", {"time": at, "src": at, "dst": 0}, id=f"{at}-1")

    def job() -> st.Window:
        return st.Window(source_of(server), **WINDOW, checkpoint=tmp_path / "state", checkpoint_every=1, at_end="hold")

    assert [w.events for w in job()][1:] == [10] * 5
    for at in range(61, 101):
        server.client.xadd("s", {"time": at, "src": at, "dst": 0}, id=f"{at}-1")
    return job


@pytest.mark.parametrize("keep", [100, 41, 40])
def test_entries_that_were_read_may_be_trimmed(server: RedisServer, read_in_part: Any, keep: int) -> None:
    server.client.xtrim("s", maxlen=keep, approximate=False)
    if keep == 40 and not server.counts:
        with pytest.raises(RequirementError, match=r"begins at 61-1, and .* go on at 60-1: .* trimmed before"):
            list(read_in_part())
        return
    assert [w.events for w in read_in_part()] == [10] * 4


@pytest.mark.parametrize(("keep", "first"), [(39, "62-1"), (1, "100-1"), (0, "nothing")])
def test_trimming_ahead_of_the_position_is_an_error(
    server: RedisServer, read_in_part: Any, keep: int, first: str
) -> None:
    server.client.xtrim("s", maxlen=keep, approximate=False)
    with pytest.raises(RequirementError, match=rf"'s' begins at {first}, and .* go on at 60-1: .* trimmed before"):
        list(read_in_part())


def test_deleting_ahead_of_the_position_is_an_error(server: RedisServer, read_in_part: Any) -> None:
    server.demand_counts()
    server.client.xdel("s", "30-1")
    server.client.xdel("s", "70-1")
    with pytest.raises(RequirementError, match=r"begins at 1-1, and .* go on at 60-1: entries up to 70-1 were deleted"):
        list(read_in_part())


def test_what_was_deleted_before_the_job_began_is_no_loss(server: RedisServer, tmp_path: Path) -> None:
    for at in range(1, 101):
        server.client.xadd("s", {"time": at, "src": at, "dst": 0}, id=f"{at}-1")
    for gone in (3, 50, 70, 99):
        server.client.xdel("s", f"{gone}-1")
    server.client.xtrim("s", minid="11-1", approximate=False)
    options: Any = WINDOW | {"checkpoint": tmp_path / "state", "checkpoint_every": 1, "at_end": "hold"}
    job = st.Window(source_of(server, max_rows=9), **options)
    assert sum(w.events for w in job) == 86  # 100-1 waits for its slide
    server.demand_counts()
    server.client.xtrim("s", maxlen=0, approximate=False)
    server.client.xadd("s", {"time": 130, "src": 1, "dst": 0}, id="130-1")
    job = st.Window(source_of(server), **options)
    assert len(list(job)) > 0
    assert job.read == 88


def test_a_stream_that_was_made_again_is_an_error(server: RedisServer, read_in_part: Any) -> None:
    server.client.delete("s")
    with pytest.raises(RequirementError, match="'s' is not there any more, and reading was to go on behind 60-1"):
        list(read_in_part())
    server.client.xadd("s", {"time": 1, "src": 1, "dst": 2}, id="7-1")
    with pytest.raises(RequirementError, match="'s' ends at 7-1, and reading was to go on behind 60-1"):
        list(read_in_part())
    server.client.xadd("s", {"time": 1, "src": 1, "dst": 2}, id="90-1")
    server.demand_counts()
    with pytest.raises(RequirementError, match="'s' was made again, and reading was to go on behind 60-1"):
        list(read_in_part())


def test_trimming_that_overtakes_a_slow_job_is_an_error(server: RedisServer) -> None:
    fill(server, "s", range(200))
    job = st.Window(source_of(server, live=True, max_rows=10), **WINDOW)
    next(job)
    server.client.xtrim("s", maxlen=5, approximate=False)
    with pytest.raises(RequirementError, match=r"begins at \S+, and .* go on at \S+: .* trimmed before"):
        list(job)


def test_a_live_job_waits_for_entries_and_silence_closes_slides(server: RedisServer) -> None:
    job = st.Window(source_of(server, live=True), **WINDOW, idle="200ms")
    parts = job.track("wcc")
    with job:
        done = job.start(lambda w: job._stop.set() if w.closed_by == "idle" else None)
        time.sleep(0.3)  # the stream is not there yet
        for at in (1, 2, 3):
            server.client.xadd("s", {"time": at, "src": f"n{at}", "dst": "hub"})
            time.sleep(0.05)
        done.result(PATIENCE)
        assert job.query(lambda w: (w.events, parts.result.num_components)).result() == (3, 1)


def test_latest_begins_behind_what_is_there(server: RedisServer) -> None:
    fill(server, "s", range(50))
    job = st.Window(source_of(server, live=True, start="latest"), **WINDOW)
    with job:
        done = job.start(lambda w: job._stop.set())
        time.sleep(0.5)
        fill(server, "s", range(100, 120))
        done.result(PATIENCE)
    assert job.read - job.skipped == 20


def test_it_reconnects_and_slides_are_those_of_a_server_that_stayed(server: RedisServer, tmp_path: Path) -> None:
    """The server is away for longer than ``idle``: that is no silence, so no slide is closed by the clock."""
    fill(server, "s", range(200))
    fill(server, "t", range(200))
    given = redis_job(server, "s", options={"live": True, "timeout": "60s"}, window={"idle": "1h"}, slow=0.02)
    process = started(tmp_path / "cut", given)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("slide"):
        pass
    server.stop()
    time.sleep(2)
    server.start()
    fill(server, "s", range(200, 400), 2)
    fill(server, "t", range(200, 400), 2)
    lines = list(itertools.islice((line for line in process.stdout if line.startswith("slide")), 37))
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert len(lines) == 37
    steady = started(tmp_path / "steady", given | {"name": "t"})
    assert steady.stdout is not None
    lines = list(itertools.islice((line for line in steady.stdout if line.startswith("slide")), 38))
    steady.terminate()
    steady.communicate(timeout=PATIENCE)
    texts = [files_of(tmp_path / name)["out.csv"].splitlines()[:38] for name in ("cut", "steady")]
    assert texts[0] == texts[1]


def test_an_outage_closes_no_slide(server: RedisServer) -> None:
    fill(server, "s", range(100))
    job = st.Window(source_of(server, live=True, timeout="30s"), **WINDOW, idle="400ms")
    seen: list[str] = []
    with job:
        job.start(lambda w: seen.append(w.closed_by))
        while len(seen) < 9:
            time.sleep(0.01)
        server.stop()
        time.sleep(1.5)
        assert seen == ["events"] * 9
        server.start()
        while len(seen) < 10:
            time.sleep(0.01)
        job.stop(20)
    assert seen[9] == "idle"


def test_a_server_that_is_gone_is_an_error_that_names_it(server: RedisServer, tmp_path: Path) -> None:
    fill(server, "s", range(100))
    process = started(tmp_path, redis_job(server, "s", options={"live": True, "timeout": "2s"}))
    assert process.stdout is not None
    while not process.stdout.readline().startswith("slide"):
        pass
    server.stop()
    (tmp_path / "output").write_text(process.stdout.read() + str(process.communicate(timeout=PATIENCE)))
    text = (tmp_path / "output").read_text()
    assert f"BrokerError: redis at 127.0.0.1:{server.port} was not reached for 2 s: " in text
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        for secret in (PASSWORD, "pass%20w%2Ford", server.url):
            assert secret.encode() not in path.read_bytes() or path.name.startswith("appendonly"), path


def test_a_wrong_password_is_an_error_without_it(server: RedisServer) -> None:
    for url, config in (
        (server.url.replace("pass", "wrong"), {}),
        (f"redis://127.0.0.1:{server.port}", {"password": "wrong"}),
    ):
        source = st.redis("s", url=url, config=config, timeout="1s")
        with pytest.raises(BrokerError, match=rf"redis at 127.0.0.1:{server.port} ") as error:
            next(st.Window(source, **WINDOW))
        assert "wrong" not in str(error.value).replace("WRONGPASS", "").replace("wrong number", "")
        assert "wrong%20" not in repr(error.value)


@pytest.mark.parametrize("url", ["http://u:secret@h", "redis://u:secret/x@h", 7, "redis://u:secret@h:port"])
def test_a_wrong_address_is_an_error_without_it(url: Any) -> None:
    with pytest.raises(ParameterError, match="redis: url must be redis://") as error:
        st.redis("s", url=url)
    assert "secret" not in str(error.value)
    assert error.value.__suppress_context__
    with pytest.raises(ParameterError, match=r"arguments of redis\.Redis"):
        st.redis("s", config={"no_such_argument": 1})


def test_a_key_that_is_no_stream_is_an_error(server: RedisServer) -> None:
    server.client.set("s", "text")
    with pytest.raises(BrokerError, match=r"reports an error: .*WRONGTYPE"):
        next(st.Window(source_of(server), **WINDOW))


def test_a_slow_job_leaves_entries_in_the_server(server: RedisServer, tmp_path: Path) -> None:
    """Four times as many events take no more memory: what is read is what a slide needs."""
    sizes = []
    for name, count in (("few", 30_000), ("many", 120_000)):
        fill(server, name, (at / 100 for at in range(count)))
        lines = run(tmp_path / name, redis_job(server, name, every=10**6))
        _, read, _, skipped, size = lines[-1].split()
        assert int(read) - int(skipped) == count
        sizes.append(int(size))
    assert sizes[1] < sizes[0] + 20_000  # KiB


def test_stop_does_not_wait_for_the_server(server: RedisServer) -> None:
    job = st.Window(source_of(server, live=True), **WINDOW)
    with job:
        job.start()
        begin = time.monotonic()
        threading.Timer(0.2, server.stop).start()
        time.sleep(0.5)
        job.stop(10)
    assert time.monotonic() - begin < 4
