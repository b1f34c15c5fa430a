"""Functions, classes, methods and algorithms have examples that call them, show results, and are right.

The examples run as plain Python in the quick tier, compiled in others. Names that every example may use: ``su``,
``st``, ``np``.
"""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from documented import documented, examples, fault
from tiers import PLAIN

import suricate as su

DOCUMENTED = documented()
MISSING = {  #: what has no example yet: nothing is added here
    "su.EdgeFunction.typed", "su.Forest.event_step", "su.Forest.levels",
    "su.Graph.from_pyg", "su.Graph.to_pyg", "su.Scalar.slots", "su.Store.query", "su.stream.Window.alert",
    "su.stream.Window.serve",
}  # fmt: skip
OPTIONAL = ("igraph", "networkit", "polars")  #: libraries that the development extra does not install
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
pytestmark = pytest.mark.plain


@pytest.mark.parametrize("path", DOCUMENTED)
def test_object_has_an_example_that_shows_a_result(path: str) -> None:
    found = fault(path, DOCUMENTED[path])
    assert bool(found) == (path in MISSING), found or "it has an example: take it out of MISSING"


def test_what_is_missing_is_there() -> None:
    assert DOCUMENTED.keys() >= MISSING


def test_an_example_without_a_result_is_refused() -> None:
    def idle() -> None:
        """Do nothing.

        >>> idle()
        """

    assert fault("idle", idle) == "the example shows no result"
    assert fault("other", idle) == "the example does not use it"
    assert fault("documented", test_what_is_missing_is_there) == "no example"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if PLAIN else pytest.mark.slow)
        for path, value in DOCUMENTED.items()
        if examples(value)
    ],
)
def test_example_is_right(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found, said = examples(DOCUMENTED[path]), list[str]()
    used = re.findall(rf"\b(?:to_|from_)?({'|'.join(OPTIONAL)})\b", "".join(example.source for example in found))
    if absent := [name for name in used if not importlib.util.find_spec(name)]:
        pytest.skip(f"{absent[0]} is not installed")
    names = {"su": su, "st": su.stream, "np": np, "__name__": "__main__"}
    text = inspect.getdoc(DOCUMENTED[path])
    result = doctest.DocTestRunner(optionflags=FLAGS).run(
        doctest.DocTest(found, names, path, None, 0, text), out=said.append
    )
    assert result.attempted
    assert not result.failed, "".join(said)
