"""METIS files: the i-th row lists the neighbours of vertex i, so a file has every edge twice, once at either end.

An *entry* is a neighbour in a row: ``src`` is the vertex of the row, ``dst`` the neighbour. ``layout`` has what
the header says.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.io.files import ByteSource
from suricate.io.formats import Layout
from suricate.io.parallel import parsed
from suricate.io.parsing.codes import BAD_ID, ID_RANGE, MISSING, WEIGHT_RANGE

LITTLE = 1 << 16  #: bytes up to which a file is parsed by the interpreted loop
LONGEST = 1 << 31  #: bytes of a line

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def parse_rows(layout: Layout, chunk: bytes, lines_before: int, path: Path, *, little: bool) -> tuple[int, Columns]:
    """Return ``(rows, (src, dst, weight))``: the number of rows, and arrays with an element per listed neighbour.

    ``src``: the number of the row in the chunk; ``dst``: the neighbour; both from 0. ``weight``: may be empty.
    """
    from suricate.io.parsing.parse_loops import parse_adjacency  # late: small files do without Numba

    assert layout.num_vertices is not None
    most, weighted = layout.num_vertices[0], "weight" in layout.fields
    size = len(chunk) // 2 + 1  # the shortest entry is a digit and a blank
    columns = np.empty(size, np.int64), np.empty(size, np.uint32), np.empty(size if weighted else 0)
    with np.errstate(over="ignore"):
        rows, entries, error, line, start = (parse_adjacency.py_func if little else parse_adjacency)(
            np.frombuffer(chunk, np.uint8), layout.skipped, weighted, np.uint64(most), *columns
        )
    if error:
        token = (chunk[start : start + 40].split(maxsplit=1) or [b""])[0].decode("utf-8", "replace")
        reason = {
            BAD_ID: f"{token!r} is not a whole number",
            ID_RANGE: f"id {token!r} is not from 1 to {most}, the number of vertices that is declared",
            WEIGHT_RANGE: f"weight {token!r} is too large",
            MISSING: "a row ends before its weights",
        }[error]
        raise FileFormatError(path, lines_before + line + 1, reason)
    src, dst, weight = (column[:entries] for column in columns)
    return rows, (src, dst, weight)


def read_rows(source: ByteSource, layout: Layout, body: Iterator[bytes], *, little: bool, arcs: bool) -> Columns:
    """Return source, destination and weight of the edges of a METIS file, each once, with ``src <= dst``.

    ``body`` are the chunks of its rows. ``arcs``: every entry of a row is an arc and returned; the reverse entry may be
    missing. ``little``: the file is small, so nothing is compiled.
    """
    source.longest_line = LONGEST
    path, found, last, balance = source.path, [], 0, np.uint64(0)
    declared, entries, loops = layout.num_edges, 0, 0

    parse = partial(parse_rows, path=path, little=little)
    for _, (rows, (src, dst, weight)) in parsed(source, body, parse, [layout], lambda: layout, layout.header_lines):
        src += last
        last += rows
        entries += len(src)
        loops += int(np.count_nonzero(src == dst))
        kept = slice(None) if arcs else src <= dst
        if not arcs:
            balance = _balance(balance, src, dst, weight)
        found.append((src[kept].astype(np.uint32), dst[kept], weight[kept] if len(weight) else weight))
        if len(src) and src[-1] >= layout.least_vertices:
            reason = f"the header declares {layout.least_vertices} vertices, there are more rows"
            raise FileFormatError(path, layout.counts_line, reason)
    src, dst, weight = map(np.concatenate, zip(*found, strict=True))
    if balance:
        reason = "there are edges that are listed at one of their ends only, or with another weight at the other end"
        raise FileFormatError(path, None, f"{reason} (directed=True reads the entries as arcs)")
    if declared not in ((entries + loops) / 2, entries if arcs else None):
        counted = f"{entries} arcs" if arcs else f"{(entries + loops) // 2}"
        raise FileFormatError(path, layout.counts_line, f"the header declares {declared} edges, the file has {counted}")
    return src, dst, weight


def _balance(balance: np.uint64, src: np.ndarray, dst: np.ndarray, weight: np.ndarray) -> np.uint64:
    """Return ``balance`` plus the hashes of entries with ``src < dst``, less those of entries with ``src > dst``.

    An entry and its reverse of the same weight have the same hash. So at the end of a file the balance is 0 if both
    ends list every edge equally often and with equal weights, and otherwise with a probability of 2**-64.
    """
    low, high = np.minimum(src, dst).astype(np.uint64), np.maximum(src, dst).astype(np.uint64)
    code = _mixed((low << np.uint64(32)) | high)
    if len(weight):
        code = _mixed(code ^ weight.view(np.uint64))
    with np.errstate(over="ignore"):
        return balance + code[src < dst].sum(dtype=np.uint64) - code[src > dst].sum(dtype=np.uint64)


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Return a hash of uint64 keys (the finaliser of splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
