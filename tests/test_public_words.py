"""The public words: one short script uses them all, and what is made or returned has the kind that one would guess."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import suricate as su

SCRIPT = Path(__file__).with_name("support") / "every_word.py"
MOST_LINES = 60
RETURNED = {
    "g.insert_edges([0], [2])": su.Delta,
    "g.delete_edges([0], [2])": su.Delta,
    "g.delete_vertices([3])": su.Delta,
    "g.edges()": su.EdgeList,
    "delta.inserted": su.EdgeList,
    "delta.deleted": su.EdgeList,
    "delta.edge_set('inserted')": su.EdgeSet,
    "delta.num_inserted": int,
    "g.num_edges": int,
    "g.degree(0)": int,
    "g.degrees()": np.ndarray,
    "g.neighbors(0)": np.ndarray,
    "g.has_edges([0], [1])": np.ndarray,
    "(0, 1) in g": bool,
    "g.live": np.ndarray,
    "g.track('bfs')": su.Tracker,
    "g.compute('pagerank')": np.ndarray,
    "g.frontier([0])": su.Frontier,
    "su.vertex_map(g, None, is_later)": su.Frontier,
    "su.generate.grid(2, 2)": su.EdgeList,
}
DEFAULTS = {
    "g.directed": True,
    "g.has_in_edges": False,
    "g.weight_dtype": None,
    "g.names": None,
    "g.self_loops": "allow",
}
pytestmark = pytest.mark.plain


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict]:
    """What the script leaves."""
    monkeypatch.chdir(tmp_path)
    try:
        yield runpy.run_path(str(SCRIPT))
    finally:
        su.plugins.unregister("every word")


def test_a_short_script_uses_every_public_word() -> None:
    text = SCRIPT.read_text()
    assert sum(bool(line.strip()) for line in text.splitlines()) <= MOST_LINES
    read = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
    words = {node.attr for node in read if isinstance(node.value, ast.Name) and node.value.id == "su"}
    assert words == set(su.__all__)


def test_what_the_script_makes_is_what_its_words_say(made: dict) -> None:
    assert [(type(value), kind) for value, kind in made["kinds"] if not isinstance(value, kind)] == []
    assert [number for number, fact in enumerate(made["facts"]) if not fact] == []


def test_returned_kinds_and_defaults_are_those_that_one_would_guess() -> None:
    g = su.Graph(4, device="cpu")
    names = {"g": g, "su": su, "is_later": lambda v: v > 0, "delta": g.insert_edges([0, 1], [1, 2])}
    found = {call: eval(call, names) for call in RETURNED}
    assert {call: type(value) for call, value in found.items() if not isinstance(value, RETURNED[call])} == {}
    assert {call: eval(call, names) for call in DEFAULTS} == DEFAULTS
