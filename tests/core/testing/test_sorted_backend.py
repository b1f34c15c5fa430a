"""A backend on ``BatchStore`` in some 250 lines, cursors for both devices included, passes the conformance kit."""

from __future__ import annotations

import pytest
from sorted_backend import SortedStore

from suricate.testing import StoreConformance


class TestSortedStore(StoreConformance):
    backend = SortedStore
    weight_dtypes = (None, "float64")
    cuda_marks = (pytest.mark.gpu,)
