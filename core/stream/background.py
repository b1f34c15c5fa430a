"""Threads of a job: one runs its loop, one answers questions while the loop waits, and one reads ahead of the loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from suricate.base.errors import RequirementError

if TYPE_CHECKING:
    from suricate.stream.ranks import Ranks
    from suricate.stream.slide import Slide
    from suricate.stream.window import Window

Question = tuple[Callable[["Slide"], Any], "Future[Any]"]


class Ending(Future[None]):
    """A future that is done when the loop has ended; ``seen`` records whether its result or exception was retrieved."""

    seen = False

    def result(self, timeout: float | None = None) -> None:
        """Wait until the loop has ended, ``timeout`` seconds at most; raise the exception that ended it, if any."""
        if (error := self.exception(timeout)) is not None:
            raise error

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait until the loop has ended, ``timeout`` seconds at most; return the exception that ended it, or None."""
        try:
            return super().exception(timeout)
        finally:
            self.seen |= self.done()


class Background:
    """Two threads of a job: its loop, which calls ``callback``, and one that answers questions while the loop waits.

    The loop holds a lock except while it waits for the source, so a question never sees a slide that is partly applied.
    """

    def __init__(self, job: Window, callback: Callable[[Slide], Any] | None) -> None:
        self._job, self._callback = job, callback
        self.done = Ending()  #: has a result when the loop ends, or its exception
        self.done.set_running_or_notify_cancel()
        self._lock, self._asking, self._asked = threading.RLock(), threading.Lock(), threading.Semaphore(0)
        self._questions: deque[Question] = deque()
        self._over = False
        self._threads = [threading.Thread(target=run, name=f"suricate {what}", daemon=True)
                         for run, what in ((self._run, "job"), (self._answer_meanwhile, "questions"))]  # fmt: skip

    def start(self) -> None:
        """Start the threads. The job must refer to this object before, as its loop uses it."""
        for thread in self._threads:
            thread.start()

    @property
    def is_own_thread(self) -> bool:
        """Whether the current thread is one of the two, and so runs the callback or a question."""
        return threading.current_thread() in self._threads

    @property
    def takes_slides(self) -> bool:
        """Whether the current thread may iterate over the job: it is the thread of the loop, or the loop has ended."""
        return threading.current_thread() is self._threads[0] or self.done.done()

    def ask(self, question: Callable[[Slide], Any]) -> Future[Any]:
        """Queue a question about the newest slide; return the future of its answer.

        Once the loop has ended, the question is answered here; raises if there is no slide to ask about.
        """
        answer: Future[Any] = Future()
        with self._asking:
            if self._over:
                self._demand_slide()
            self._questions.append((question, answer))
            is_over = self._over
        self._asked.release()
        if is_over:
            with self._lock:
                self._answer()
        return answer

    def _demand_slide(self) -> None:
        """Raise ``RequirementError`` unless the loop, which has ended, left a whole slide."""
        if self._job.current is None or self._job._is_broken:
            reason = "while a slide was applied" if self._job._is_broken else "before a slide closed"
            raise RequirementError(f"query: the job ended before the question was answered, {reason}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Release the lock inside this context, where the loop waits for its source, so that questions are answered."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    def _run(self) -> None:
        error: BaseException | None = None
        with self._lock:
            try:
                for slide in self._job:
                    if self._callback is not None:
                        self._callback(slide)
                    self._answer()
            except BaseException as found:
                error = found
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        with self._asking:
            self._over = True
        with self._lock:
            try:
                self._demand_slide()
                self._answer()
            except RequirementError as reason:
                while self._questions:
                    _, answer = self._questions.popleft()
                    if answer.set_running_or_notify_cancel():
                        answer.set_exception(reason)
        self._asked.release()
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)

    def _answer_meanwhile(self) -> None:
        while not self._over:
            self._asked.acquire()
            with self._lock:
                self._answer()

    def _answer(self) -> None:
        """Answer all questions with the newest slide; before the first slide, leave them in the queue."""
        while self._questions and (slide := self._job.current) is not None:
            question, answer = self._questions.popleft()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(question(slide))
            except BaseException as error:
                answer.set_exception(error)


MOST = 10_000  #: chunks that wait; those of a silent source have no events
TICK = 0.1  #: seconds for which the loop waits for a chunk before it looks whether it should stop
NOT_YET = "not yet"  #: in place of a chunk: it has not come


class _Queue:
    """What a thread has read ahead. The thread refers to nothing else, so an unused :class:`ReadAhead` is deleted."""

    def __init__(self, chunks: Generator[Any, None, None]) -> None:
        self.condition, self.items = threading.Condition(), deque[Any]()
        self.events = self.allowed = 0  # that wait, and that may before the thread waits, too
        self.error: BaseException | None = None
        self.ended = self.closed = False
        self._chunks = chunks

    def fill(self) -> None:
        """Read chunks until the source ends or raises, or the queue is closed; runs in the reading thread."""
        try:
            with closing(self._chunks):
                while not self.closed and (found := next(self._chunks, None)) is not None:
                    self._put(found)
        except BaseException as error:
            self.error = error
        with self.condition:
            self.ended = True
            self.condition.notify_all()

    def _put(self, found: Any) -> None:
        with self.condition:
            self.items.append(found)
            self.events += size_of(found)
            self.condition.notify_all()
            while self.items and (self.events >= self.allowed or len(self.items) > MOST) and not self.closed:
                self.condition.wait()


class ReadAhead:
    """An iterator over the chunks of a source (with positions and malformed lines), which a thread reads ahead.

    At least one chunk is read ahead, more if :meth:`allow` says so; :data:`NOT_YET` says that the source takes long.
    The thread ends when this is closed or deleted, once it has the chunk that it waits for.
    """

    def __init__(self, chunks: Generator[Any, None, None]) -> None:
        self._queue = _Queue(chunks)
        threading.Thread(target=self._queue.fill, name="suricate reader", daemon=True).start()

    def allow(self, events: int) -> None:
        """Set the number of events that may be read ahead."""
        with self._queue.condition:
            self._queue.allowed = events
            self._queue.condition.notify_all()

    def __iter__(self) -> ReadAhead:
        return self

    def __next__(self) -> Any:
        queue = self._queue
        with queue.condition:
            if not queue.condition.wait_for(lambda: queue.items or queue.ended, TICK):
                return NOT_YET
            if not queue.items:
                if queue.error is not None:
                    raise queue.error
                raise StopIteration
            found = queue.items.popleft()
            queue.events -= size_of(found)
            queue.condition.notify_all()
        return found

    def close(self) -> None:
        """Read no further."""
        self._queue.closed = True
        with self._queue.condition:
            self._queue.condition.notify_all()

    __del__ = close


def size_of(found: Any) -> int:
    """Return the number of events in ``found``, an item of :class:`ReadAhead`; 0 for ``st.MARK``."""
    (_, chunk), _ = found
    return len(chunk["src"]) if isinstance(chunk, Mapping) else 0


def next_of(reader: Iterator[Any], job: Background | None, ranks: Ranks) -> Any:
    """Return the next item of ``reader``, None at its end; meanwhile the thread of ``job``, or the ``ranks``, wait."""
    if job is None and not ranks.several:
        return next(reader, None)
    with (job or ranks).waiting():
        return next(reader, None)
