"""Rounds of questions: each rank asks for what it needs, piece by piece, and answers the others.

Ranks may need different numbers of pieces. Before each round they agree whether any has one left; those with none only
answer. What fails on one rank in ``pieces`` or ``use`` is raised on all; ``ask`` sees to that
itself.
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
        comm: the communicator.
        pieces: what this rank needs; other ranks may need more, or fewer.
        ask: the collective exchange; with None this rank only answers.
        use: takes the answer, on this rank alone.
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
