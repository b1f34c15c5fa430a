"""The numbers of a job, and how they are served: paths, methods, hosts, slow clients, ports in use, ends."""

from __future__ import annotations

import gc
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from prometheus_client.parser import text_string_to_metric_families

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError
from suricate.stream.live import metrics

pytestmark = pytest.mark.plain
GRAPH = {"device": "cpu"}


def events(number: int = 50) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    time = np.arange(number) - 12 * (np.arange(number) % 25 == 24)
    names = np.char.add("secret", rng.integers(0, 9, (2, number)).astype(str))
    return {"time": time, "src": names[0], "dst": names[1]}


def window(source: Any = None, **options: Any) -> st.Window:
    source = st.source(events() if source is None else source, time_unit="s")
    return st.Window(source, **{"size": "20s", "slide": "5s", "names": True, "graph": GRAPH, **options})


def asked(port: int, method: str = "GET", path: str = "/metrics", **headers: str) -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    line.request(method, path, headers=headers)
    answer = line.getresponse()
    body = answer.read().decode()
    line.close()
    return answer.status, body


def samples(text: str) -> dict[str, float]:
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert set(sample.labels) <= {"part"}
            found[sample.name + "".join(sample.labels.values())] = sample.value
    return found


def test_metrics_are_the_newest_row_of_the_history_and_totals() -> None:
    job = window()
    assert job.metrics() == {"slides": 0, "events_total": 0, "late": 0, "skipped": 0, "seconds": 0.0}
    port, total = job.serve(0), 0
    for w in job:
        total += w.events
        found, row = job.metrics(), {name: job.history[name][-1] for name in job.history.columns}
        assert row.pop("end") == np.datetime64(int(found["end"]), "s")
        assert row.pop("lag") == found["lag"] * 1e9
        for name, value in row.items():
            assert value == found[name if name in found else f"{name}_seconds"]
        assert (found["slides"], found["events_total"], found["late"]) == (job.slides, total, w.late)
        status, text = asked(port)
        assert status == 200
        assert "secret" not in text
        seen = samples(text)
        assert seen["suricate_slides_total"] == found["slides"]
        assert seen["suricate_events_total"] == total
        assert seen["suricate_slide_events"] == w.events
        assert seen["suricate_late_events_total"] == w.late
        assert seen["suricate_edges"] == w.graph.num_edges
        assert seen["suricate_window_end"] == found["end"]
        assert seen["suricate_part_secondsgraph"] == w.took["graph"]
        assert seen["suricate_part_byteswindow"] == found["window_bytes"]
    assert w.late > 0
    with pytest.raises(ConnectionError):
        asked(port)  # it ends with the job
    with pytest.raises(RequirementError, match="this job has ended"):
        job.serve(0)


def test_paths_methods_and_hosts() -> None:
    with window() as job:
        port = job.serve(0)
        next(job)
        text = asked(port)[1]
        assert asked(port, "HEAD") == (200, "")
        assert asked(port, path="/metrics?x=1")[0] == 200
        for method, path in (("GET", "/"), ("GET", "/metrics/"), ("POST", "/metrics"), ("OPTIONS", "/metrics"),
                             ("DELETE", "/x"), ("ODD", "/metrics"), ("HEAD", "/")):  # fmt: skip
            assert asked(port, method, path)[0] == 404, method
        for host in ("evil.example", "evil.example:80", "10.1.2.3", "", "[::", "127.0.0.1.evil.example"):
            assert asked(port, Host=host) == (403, "foreign host\n"), host
        for host in ("localhost", f"LOCALHOST:{port}", "127.0.0.1:1", "[::1]:9", socket.gethostname()):
            assert asked(port, Host=host)[0] == 200, host
        assert samples(asked(port)[1]) == samples(text)
        with pytest.raises(RequirementError, match="serves its metrics already"):
            job.serve(0)
    with pytest.raises(ConnectionError):
        asked(port)  # it ends with the block


def test_a_port_in_use_and_bad_arguments_change_nothing() -> None:
    first = window()
    port = first.serve(0)
    job = window()
    with pytest.raises(RequirementError, match=rf"serve: port {port} of 127\.0\.0\.1: Address already in use"):
        job.serve(port)
    for wrong in (-1, 65536, "80", 1.5, None):
        with pytest.raises(ParameterError, match="port must be"):
            job.serve(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="host must be"):
        job.serve(0, host="")
    with pytest.raises(RequirementError, match=r"serve: port 0 of 203\.0\.113\.9"):
        job.serve(0, host="203.0.113.9")
    assert [w.events for w in job] == [w.events for w in window()]
    del first
    gc.collect()
    window().serve(port)  # a job that nobody has any more has left it


def test_slow_and_many_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    job = window()
    port = job.serve(0)
    next(job)
    slow = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(metrics.MOST)]
    for line in slow:
        line.sendall(b"GET /metrics HTTP/1.1\r\nHost: local")
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        asked(port)  # the fifth one
    monkeypatch.setattr(metrics, "TIMEOUT", 0.0)
    for line in slow:
        assert line.recv(1) == b""  # cut by the server
        line.close()
    monkeypatch.undo()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            assert asked(port)[0] == 200
            return
        except (ConnectionError, http.client.HTTPException):
            continue
    raise AssertionError("slow connections were not cut")


def test_an_answer_does_not_wait_for_the_job() -> None:
    """The job is in a callback, and holds its lock."""
    inside, leave = threading.Event(), threading.Event()

    def callback(_: st.Slide) -> None:
        inside.set()
        assert leave.wait(PATIENCE)

    with window() as job:
        port = job.serve(0)
        job.start(callback)
        assert inside.wait(PATIENCE)
        assert samples(asked(port)[1])["suricate_slides_total"] == 1
        leave.set()
        job.wait(PATIENCE)


def test_it_ends_with_an_error_and_a_stop() -> None:
    def wrong() -> Iterator[Any]:
        yield events()
        raise LookupError("mine")

    failing = window(wrong())
    port = failing.serve(0)
    with pytest.raises(LookupError):
        list(failing)
    with pytest.raises(ConnectionError):
        asked(port)
    stopped = window()
    port = stopped.serve(0)
    next(stopped)
    stopped.stop()
    assert list(stopped) == []
    with pytest.raises(ConnectionError):
        asked(port)
