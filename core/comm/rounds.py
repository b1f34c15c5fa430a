"""Rounds of questions: each rank asks for what it needs, piece by piece, and answers the others.

How many pieces a rank needs is its own affair: ranks agree before each whether any has one left, and those that need
nothing answer the others. What fails on one rank meanwhile is raised on all.
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
    """Ask for each piece, and use the answer; collective.

    Args:
        comm: the communication.
        pieces: what this rank needs; other ranks may need more, or fewer.
        ask: exchanges, on all ranks; None: this rank needs no more.
        use: works on this rank alone.
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
