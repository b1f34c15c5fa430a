"""Small files of edges for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path_graph(tmp_path: Path) -> Path:
    """0 -> 1 -> 2 -> 3, and a duplicate."""
    file = tmp_path / "path.txt"
    file.write_text("# a path\n0 1\n1 2\n2 3\n2 3\n")
    return file


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    file = tmp_path / "weighted.csv"
    file.write_text("src,dst,weight\nann,bob,0.5\nbob,cid,1.5\ncid,cid,2\n")
    return file
