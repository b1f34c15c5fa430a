"""Requests in rounds: in each round every rank requests one piece of the data it needs, and answers the others.

Ranks may need different numbers of pieces. Before each round they agree whether any has one left; those with none only
answer. An error in ``pieces`` or ``use`` on one rank is raised on all; ``ask`` must do so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from suricate.comm.protocol import Comm

Piece = TypeVar("Piece")
Found = TypeVar("Found")


def in_rounds(
    comm: Comm, pieces: Iterable[Piece], ask: Callable[[Piece | None], Found], use: Callable[[Piece, Found], None]
) -> None:
    """Request each piece from other ranks, one per round, and use the answers; collective.

    Args:
        comm: the communication.
        pieces: what this rank needs; ranks may need different numbers of pieces.
        ask: the collective exchange, which returns the answer; called with None, this rank only answers others.
        use: called with each piece and its answer, on this rank alone.
    """
    own, problem = iter(pieces), None
    while True:
        piece: Piece | None = None
        if problem is None:
            try:
                piece = next(own, None)
            except Exception as error:
                problem = error
        if not any(comm.together(problem, piece is not None)):
            return
        found = ask(piece)
        try:
            if piece is not None:
                use(piece, found)
        except Exception as error:
            problem = error
