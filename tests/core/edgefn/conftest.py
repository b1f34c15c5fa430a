"""Fixtures of the tests of edge functions."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return tmp_path_factory.mktemp("edgefn")
