"""The conformance kit over the slab hash, and random operations on few vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slabhash_cases import (
    F32,
    F64,
)

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import Device
from suricate.testing import STEPS, ModelledStore, StoreConformance


class TestConformance(StoreConformance):
    backend = SlabHashStore
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceWithoutHashing(StoreConformance):
    backend = SlabHashStore
    options = {"slab_bytes": 32, "hashing": False}  # noqa: RUF012
    weight_dtypes = (None, "float64")
    examples = 8
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)


class TestConformanceWithOverfullBuckets(StoreConformance):
    backend = SlabHashStore
    options = {"slab_bytes": 32, "load_factor": 6.0}  # noqa: RUF012
    weight_dtypes = (None, "float32")
    examples = 8
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)


@pytest.mark.parametrize("slab_bytes", layout.SLAB_BYTES)
@pytest.mark.parametrize("hashing", [True, False])
@pytest.mark.parametrize("dtype", [None, F32, F64], ids=str)
def test_random_operations_with_few_vertices(
    device: Device, slab_bytes: int, hashing: bool, dtype: np.dtype | None
) -> None:
    @settings(max_examples=6)
    @given(num_vertices=st.sampled_from((1, 3, 200)), steps=STEPS)
    def run(num_vertices: int, steps: list[Any]) -> None:
        options = {"slab_bytes": slab_bytes, "hashing": hashing}
        model = ModelledStore(SlabHashStore(num_vertices, device=device, weight_dtype=dtype, **options), walks=False)
        for step in steps:
            model.step(*step)

    run()
