"""A comm of one's own, in few lines: ranks that are threads and send each other pickles."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

from suricate.errors import CommunicationError
from suricate.parallel import Comm, PeerComm, using


class Queued(PeerComm):
    """Ranks of one process, whose messages are copied."""

    name = "queued"

    def __init__(self, rank: int, peers: list[Queued]) -> None:
        super().__init__(rank, len(peers))
        self._peers = peers
        peers[rank] = self

    @classmethod
    def join(cls) -> Comm:
        """Refuse what is no job."""
        raise CommunicationError("start the job by queued_ranks.run(job, ranks)")

    def send(self, rank: int, message: Any) -> None:
        """Send a message."""
        self._peers[rank].deliver(self.rank, pickle.loads(pickle.dumps(message)))


def run(job: Callable[[Comm], Any], ranks: int) -> list[Any]:
    """Call ``job`` on so many ranks."""
    peers: list[Any] = [None] * ranks
    results, errors = list[Any](peers), dict[int, BaseException]()
    comms = [Queued(rank, peers) for rank in range(ranks)]

    def work(comm: Queued) -> None:
        try:
            with using(comm):
                results[comm.rank] = job(comm)
            comm.end()
        except BaseException as error:
            errors[comm.rank] = error
            comm.end(f"has raised {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(comm,)) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _, error in sorted(errors.items(), key=lambda pair: isinstance(pair[1], CommunicationError)):
        raise error
    return results
