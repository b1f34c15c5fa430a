"""The numbers of a job as the text that Prometheus reads, over HTTP: what ``Window.serve`` starts.

Only numbers that the newest slide has published are read, so no request waits for the job. No vertex is named.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from urllib.parse import urlsplit

from suricate.base.errors import MissingLibraryError, ParameterError, RequirementError
from suricate.base.parameters import integer, shown

PATH, MOST, TIMEOUT = "/metrics", 4, 5.0  #: connections at a time, and seconds that each may take
TOTALS = {
    "slides": "Slides handed out", "events_total": "Events in slides", "late": "Late events", "skipped": "Bad events",
    "seconds": "Time that slides took",
}  # fmt: skip
NEWEST = {
    "end": "End of the newest window", "events": "Events of the newest slide", "edges": "Edges at its end",
    "lag": "How far past its end the event was that closed it", "published": "When it was handed out, seconds",
}  # fmt: skip
COUNTER_NAMES = {"events_total": "events", "late": "late_events", "skipped": "skipped_events"}
GAUGE_NAMES = {"events": "slide_events", "end": "window_end", "published": "published_timestamp_seconds"}
logger = logging.getLogger("suricate.stream")


class Server(ThreadingMixIn, TCPServer):
    """Answers GET and HEAD of ``/metrics`` in threads of its own until :meth:`close`; ``numbers`` is ``job.metrics``.

    Raises:
        RequirementError: the port is in use, or cannot be used. ParameterError: ``port`` or ``host`` is invalid.
        MissingLibraryError: ``prometheus_client`` is not installed.
    """

    allow_reuse_address, daemon_threads, block_on_close = True, True, False

    def __init__(self, port: int, host: str, numbers: Callable[[], Mapping[str, float]]) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise MissingLibraryError("serve needs prometheus_client: pip install 'suricate[metrics]'") from None
        port = integer("port", port, low=0, high=65535)
        if not isinstance(host, str) or not host:
            raise ParameterError(f"host must be the name or address of this machine, got {shown(host)}")
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._host, self._open = host.lower(), dict[Any, float]()
        registry = prometheus_client.CollectorRegistry()
        registry.register(_Collector(numbers))
        self.text = lambda: prometheus_client.generate_latest(registry)
        self.kind = prometheus_client.CONTENT_TYPE_LATEST
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise RequirementError(f"serve: port {port} of {host}: {error.strerror}; port=0 takes a free one") from None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="suricate metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens to."""
        return int(self.server_address[1])

    def close(self) -> None:
        """End it; connections that are open are cut."""
        if threading.current_thread() is self._thread:  # where the job was collected
            threading.Thread(target=self.close).start()
            return
        self.shutdown()
        self.server_close()
        self._cut(0.0)

    def knows(self, header: str) -> bool:
        """Return whether the value of ``Host`` names this server; pages of others cannot have a browser ask for it."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        if name in (self._host, "localhost"):
            return True
        with contextlib.suppress(ValueError):
            local = ipaddress.ip_address(str(self.server_address[0])).is_loopback
            return ipaddress.ip_address(name).is_loopback or not local
        return name == socket.gethostname().lower()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether one more connection may be open."""
        return len(self._open) < MOST

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread."""
        self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections that take too long, however little they send at a time."""
        self._cut(TIMEOUT)

    def _cut(self, seconds: float) -> None:
        for request, since in [*self._open.items()]:
            if time.monotonic() - since >= seconds:
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what went wrong with a connection."""
        logger.debug("metrics: a connection has failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; HTTP/1.0, so the connection ends then."""

    timeout, server_version, sys_version = TIMEOUT, "suricate", ""
    server: Server

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # whatever the method
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        status, kind, body = 404, "text/plain", b"not found\n"
        if not self.server.knows(self.headers.get("Host", "")):
            status, body = 403, b"foreign host\n"
        elif self.command in ("GET", "HEAD") and self.path.partition("?")[0] == PATH:
            status, kind, body = 200, self.server.kind, self.server.text()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug("metrics: " + format, *args)


class _Collector:
    """Makes the families of Prometheus from the numbers of a job."""

    def __init__(self, numbers: Callable[[], Mapping[str, float]]) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        numbers = self._numbers()
        for name, text in TOTALS.items():
            yield CounterMetricFamily(f"suricate_{COUNTER_NAMES.get(name, name)}", text, numbers[name])
        for name, text in NEWEST.items():
            if name in numbers:
                yield GaugeMetricFamily(f"suricate_{GAUGE_NAMES.get(name, name)}", text, numbers[name])
        for ending, text in (("_bytes", "Memory by part"), ("_seconds", "Time of the newest slide by part")):
            family = GaugeMetricFamily(f"suricate_part{ending}", text, labels=["part"])
            for name, value in numbers.items():
                if name.endswith(ending):
                    family.add_metric([name.removesuffix(ending)], value)
            yield family
