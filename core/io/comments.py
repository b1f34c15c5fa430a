"""Facts in the comments before the edges of a file: whether edges are directed, and the header of KONECT."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ADDRESS = re.compile(r"\S*(?:://|www\.|[@/\\])\S*|\S+\.[a-z]\w*")  # URLs, mail addresses, paths, names of files
_UNDIRECTED = re.compile(r"\b(?:un|non)[- ]?directed\b")
_COMPOUND = re.compile(r"\b[a-z]+-(?:un)?directed\b")  # bi-directed
_WORDS = re.compile(r"[a-z0-9]+|[:=,;]")
_HEDGES = {"not", "no", "never", "neither", "nor", "isn", "aren", "t", "or", "both"}
_YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_KINDS = {"directed": True, "undirected": False}
_KONECT = re.compile(
    r"%\s*(sym|asym|bip)\s+"
    r"(unweighted|positive|posweighted|signed|multisigned|weighted|multiweighted|multiposweighted|dynamic)\s*"
)
_KONECT_SIZES = re.compile(r"%\s*(\d+)(?:\s+(\d+)\s+(\d+))?\s*")


def direction(comments: list[str]) -> bool | None:
    """Return whether comments say that edges are directed (True) or undirected (False); None if unclear.

    Only whole words count, not parts of words, addresses or file names. "not directed" and "directed: no" are
    understood; the result is None if both words occur, or another negation is near the word.
    """
    said: set[bool | None] = set()
    named: set[str] = set()
    for comment in comments:
        text = _UNDIRECTED.sub("undirected", _ADDRESS.sub(" ", comment.lower()))
        words = _WORDS.findall(_COMPOUND.sub(" ", text))
        for at, word in enumerate(words):
            if word in _KINDS:
                named.add(word)
                said.add(_statement(words, at))
    return said.pop() if len(said) == len(named) == 1 else None


def _statement(words: list[str], at: int) -> bool | None:
    """Return what the word at ``words[at]`` and its neighbours say: directed (True), not (False), unclear (None)."""
    kind, before, after = _KINDS[words[at]], words[max(at - 4, 0) : at], words[at + 1 : at + 3]
    clause = before[max((i + 1 for i, word in enumerate(before) if word in ",;"), default=0) :]
    if after[:1] in ([":"], ["="]) and after[-1] in _YES_NO:
        return kind == _YES_NO[after[-1]]
    if clause[-1:] == ["not"] and not _HEDGES & {*clause[:-1]}:
        return not kind
    return None if _HEDGES & {*clause} or after[:1] == ["or"] else kind


@dataclass(frozen=True)
class Konect:
    """The header of a file of the KONECT collection, whose ids count from 1."""

    directed: bool
    weighted: bool  #: whether the third column is a weight (or a multiplicity) and not a constant
    parts: tuple[int, int] | None = None  #: number of vertices on the left and on the right of a bipartite graph
    least_vertices: int = 0  #: number of vertices that the header declares


def konect_header(lines: list[str]) -> Konect | None:
    """Return the header in comments of a KONECT file, else None; ``ValueError`` if sizes of its parts lack."""
    found = _KONECT.fullmatch(lines[0].strip().lower()) if lines else None
    if found is None:
        return None
    kind, weights = found.groups()
    sizes = _KONECT_SIZES.fullmatch(lines[1].strip()) if len(lines) > 1 else None
    left, right = (int(size or 0) for size in sizes.groups()[1:]) if sizes else (0, 0)
    if kind != "bip":
        return Konect(kind == "asym", weights != "unweighted", least_vertices=max(left, right))
    if not (left and right):
        raise ValueError("a bipartite graph of KONECT needs its sizes in the second line: '% EDGES LEFT RIGHT'")
    return Konect(False, weights != "unweighted", (left, right), left + right)
