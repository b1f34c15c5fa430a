"""Loops over the rows of a cursor, as templates write them and as the modules that are made from them have them."""

from __future__ import annotations

import pytest

import suricate as su
from suricate.cursors import bindings
from suricate.kernels.generated import load_module, rows_written_out

WALKS = """
def two_steps(g, u):
    found = []
    for v, _ in neighbors(g, u):
        if v == u:
            continue  # a loop

        for w, slot in neighbors(g, v):
            found.append((v, w, slot))
        # behind the inner loop
        found.append((v, None, None))
    return found


def first_above(g, u, least):
    for v, slot in neighbors(g, u):
        for k in range(3):
            if k == 1:
                break
        if v > least:
            return v, slot
    return None"""


def test_rows_are_written_out_to_the_loops_of_the_cursor(tmp_path):
    graph = su.Graph(6, backend="csr_baseline", device="cpu")
    graph.insert_edges([0, 0, 0, 1, 1, 4], [0, 1, 4, 2, 5, 0])
    g = graph.view("out").data
    names = ", ".join(["neighbors", "begin", "buckets", "end", "first", "following", "key"])
    header = f"from suricate.base.types import TOMBSTONE\nfrom suricate.cursors.bindings import {names}\n"
    plain: dict = {}
    exec(header + WALKS, plain)
    written = load_module("rows", header + WALKS)
    assert "in neighbors(" not in rows_written_out(WALKS)
    for module in (plain["two_steps"], written.two_steps):
        assert [(int(v), w and int(w)) for v, w, _ in module(g, 0)] == [(1, 2), (1, 5), (1, None), (4, 0), (4, None)]
    for least, found in ((0, 1), (1, 4), (4, None)):
        for first_above in (plain["first_above"], written.first_above):
            place = first_above(g, 0, least)
            assert place == found if found is None else (place[0] == found == bindings.key(g, place[1]))


def test_a_break_out_of_a_row_is_an_error():
    with pytest.raises(ValueError, match="line 3: break in a loop over neighbors"):
        rows_written_out("for v, slot in neighbors(g, u):\n    if v:\n        break\n")
