"""Fixtures of the tests of readers."""

from __future__ import annotations

import pytest

from suricate.cpu import threads
from suricate.io import files


@pytest.fixture(params=["interpreted", "compiled"])
def reader(request, monkeypatch):
    """Both ways to parse: that of small files, and that of large ones on several threads."""
    if request.param == "compiled":
        monkeypatch.setattr(files, "SMALL", -1)
        monkeypatch.setattr(threads, "default", lambda: 3)


@pytest.fixture
def put(tmp_path):
    """A function that writes ``content`` to a file and returns its path."""

    def write(content, name="graph.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
