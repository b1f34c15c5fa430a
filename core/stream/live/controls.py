"""What other threads ask of a job that runs: start, query, stop, metrics."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import shown
from suricate.stream.background import Background

if TYPE_CHECKING:
    from suricate.stream.history import History
    from suricate.stream.ranks import Ranks
    from suricate.stream.slide import Slide


class Controls:
    """Base class of ``Window``, which sets these attributes, with the methods that any thread may call."""

    past: History
    _ranks: Ranks
    _slides: Any
    _stop: threading.Event
    _background: Background | None
    _server: Callable[[], Any] | None
    _has_ended: bool

    def start(self, callback: Callable[[Slide], Any] | None = None) -> Future[None]:
        """Run the loop in a thread, in place of ``for w in job``; inside ``with job``, SIGINT and SIGTERM end it.

        Args:
            callback: called with each slide, in that thread. A slide is done when the call returns.

        Returns:
            A future that is done when the loop has ended: by itself, by :meth:`stop` or by a signal. Its ``result()``
                raises the exception of the loop or the callback; the slide then counts as not done.

        Raises:
            RequirementError: the loop has begun.
            ParameterError: ``callback`` cannot be called.

        Example:
            >>> seen = []
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> ending = job.start(lambda w: seen.append(w.end))
            >>> job.wait()
            >>> seen
            [1, 2]
        """
        if callback is not None and not callable(callback):
            raise ParameterError(f"start: callback must be a function of a slide, got {shown(callback)}")
        if self._ranks.several:
            raise RequirementError("start: a job of several processes runs in its loop, for w in job")
        if self._background is not None or self._slides is not None:
            raise RequirementError("start: the loop of this job has begun; make the job again to run it once more")
        self._background = Background(self, callback)  # type: ignore[arg-type]
        self._background.start()
        return self._background.done

    def query(self, question: Callable[[Slide], Any]) -> Future[Any]:
        """Call a function with the newest slide, from any thread: between slides, or while the loop waits for events.

        >>> import suricate.stream as st
        >>> job = st.Window({"src": [0, 1], "dst": [1, 0]}, size=2, slide=1, graph={"device": "cpu"})
        >>> with job:
        ...     done = job.start(lambda w: print(w.end, w.graph.num_edges))
        ...     done.result()
        1 1
        2 2

        Args:
            question: called with the newest slide, once there is one. It must not wait for another answer.

        Returns:
            A future of what the function returns or raises; an exception does not end the loop. Copy arrays that you
                keep: later slides change them. Once the job has ended, it is asked about its last slide.

        Raises:
            RequirementError: the job was not started, or has ended without a slide. If it ends so before the answer,
                the future raises it.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> ending = job.start()
            >>> job.wait()
            >>> job.query(lambda w: w.graph.num_edges).result()
            2
        """
        if not callable(question):
            raise ParameterError(f"query takes a function of a slide, got {shown(question)}")
        if self._background is None:
            raise RequirementError("query: start the job first; in a loop of one's own, ask the slide (w.graph, w.log)")
        return self._background.ask(question)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the loop that :meth:`start` runs has ended by itself, by :meth:`stop` or by a signal.

        Args:
            timeout: seconds to wait at most.

        Raises:
            RequirementError: the job was not started.
            TimeoutError: the loop has not ended in time.
            BaseException: what the loop or the callback raised.

        Example:
            >>> seen = []
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> ending = job.start(lambda w: seen.append(w.graph.num_edges))
            >>> job.wait()
            >>> seen
            [1, 2]
        """
        if self._background is None:
            raise RequirementError("wait: start the job first; a loop of one's own ends by itself")
        self._background.done.result(timeout)

    def stop(self, timeout: float | None = None) -> None:
        """End the loop after the current slide, or chunk if no slide closes, and wait until it has ended.

        A checkpoint is written. Called in a callback or a question, it does not wait.

        Args:
            timeout: seconds to wait at most.

        Raises:
            TimeoutError: the loop has not ended in time; it will end later.
            BaseException: what the loop or the callback raised.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> ending = job.start()
            >>> job.stop()
            >>> ending.done()
            True
        """
        self._stop.set()
        if self._background is not None and not self._background.is_own_thread:
            self._background.done.result(timeout)

    def metrics(self) -> dict[str, float]:
        """Return numbers as of the newest slide, from any thread, without waiting for the job.

        ``slides``, ``events_total``, ``seconds`` (that they took), ``late`` and ``skipped`` are totals. Once there was
        a slide: its ``end`` and ``lag`` (in seconds if times have a unit; the end since the epoch), ``events``,
        ``edges``, ``published`` (when it was handed out, in seconds since the epoch), and the bytes and seconds of
        :attr:`history`, as ``graph_bytes`` and ``graph_seconds``.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> slides = [w.end for w in job]
            >>> job.metrics()["slides"]
            2
        """
        return self.past.metrics()

    def serve(self, port: int, *, host: str = "127.0.0.1") -> int:
        """Serve :meth:`metrics` as text for Prometheus at ``http://host:port/metrics`` until the job ends.

        Only GET and HEAD of that path are answered, and only if the request names this machine. Of several processes
        the first one serves.

        Args:
            port: 0: one that is free. host: the address to listen at; by default other machines cannot ask.

        Returns:
            The port.

        Raises:
            RequirementError: the port is in use, or cannot be used; the job serves already, or has ended.
            MissingLibraryError: ``prometheus_client`` is not installed (``suricate[metrics]``).
        """
        if self._server is not None or self._has_ended:
            raise RequirementError(
                f"serve: this job {'has ended' if self._has_ended else 'serves its metrics already'}"
            )
        return int(self._ranks.first(lambda: self._serve(port, host)))

    def _serve(self, port: int, host: str) -> int:
        from suricate.stream.live.metrics import Server

        server = Server(port, host, self.past.metrics)
        self._server = weakref.finalize(self, server.close)
        return server.port

    def _stop_serving(self) -> None:
        """Close what :meth:`serve` began, as the job has ended."""
        self._has_ended = True
        if self._server is not None:
            self._server()
