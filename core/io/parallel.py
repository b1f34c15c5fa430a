"""Files of lines on several threads: some parse a chunk each, while one reads and decompresses what comes next."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from suricate.base.errors import FileFormatError
from suricate.cpu import threads
from suricate.io.files import ByteSource, newlines

MOST_AHEAD = 16  #: chunks that are parsed at a time: each takes a few megabytes

Parser = TypeVar("Parser")  #: a ``Tokenizer``, say
Result = TypeVar("Result")


def parsed(
    source: ByteSource,
    chunks: Iterator[bytes],
    parse: Callable[[Parser, bytes, int], Result],
    parsers: list[Parser],
    make: Callable[[], Parser],
    lines: int,
) -> Iterator[tuple[bytes, Result]]:
    """Yield each chunk with the result of ``parse(parser, chunk, lines_before)``, in the order of the file.

    Chunks are parsed on all threads, each with one of ``parsers``, to which those of ``make`` are added. A result is
    valid until the next chunk is requested. An error is raised after all earlier chunks. ``lines``: before the first.
    """

    def work(parser: Parser | None, chunk: bytes, number: int) -> Any:
        try:
            return source.fetch(number) if parser is None else parse(parser, chunk, number)
        except FileFormatError as error:
            return error

    error = None
    while error is None:
        number, ahead = min(threads.limit(), MOST_AHEAD), []
        try:
            for chunk in itertools.islice(chunks, number):
                ahead.append(chunk)  # those before an error are kept
                if not source.is_ready():
                    break
        except FileFormatError as found:  # the chunks before it come first
            error = found
        if not ahead and error is None:
            return
        parsers += [make() for _ in range(len(ahead) - len(parsers))]
        *begins, lines = itertools.accumulate((newlines(chunk) for chunk in ahead), initial=lines)
        calls = list(zip(parsers, ahead, begins, strict=False))
        reading = [(None, b"", number)] if number > 1 and len(ahead) == number else []
        results = threads.run(work, [*reading, *calls])[len(reading) :]
        for chunk, result in zip(ahead, results, strict=True):
            if isinstance(result, FileFormatError):
                raise result
            yield chunk, result
    raise error
