"""Options are checked before anything is allocated, each with one line that names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.backends.slabhash.store import SlabHashStore
from suricate.errors import ParameterError, SuricateError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("slab_bytes", value) for value in (8, "wide", "64", 64.0, True, None, np.array([64, 32]))),
        *(("load_factor", value) for value in (0, 99, 1e-9, -1, float("nan"), float("inf"), "0.7", True, None)),
        *(("hashing", value) for value in ("no", 1, 0, None)),
        *(("in_flight", value) for value in (True, 3, "2", 1.0, None)),
        *(("reference", value) for value in ("yes", 1)),
    ],
    ids=repr,
)
def test_bad_options(name: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("something was allocated")

    monkeypatch.setattr("suricate.backends.slabhash.store.Pool", fail)
    with pytest.raises(ParameterError, match=name) as caught:
        SlabHashStore(4, **{name: value})
    assert isinstance(caught.value, SuricateError)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_reference_has_wide_slabs() -> None:
    with pytest.raises(ParameterError, match="128 bytes"):
        SlabHashStore(4, reference=True, slab_bytes=64)
    assert SlabHashStore(4, reference=True).slab_bytes == 128
    assert SlabHashStore(4, reference=True, slab_bytes=128).options()["reference"] is True


def test_options_come_back_as_plain_objects() -> None:
    store = SlabHashStore(4, slab_bytes=np.int64(32), load_factor=np.float32(0.5), hashing=np.bool_(False), in_flight=2)
    options = store.options()
    assert options == {"slab_bytes": 32, "load_factor": 0.5, "hashing": False, "in_flight": 2, "reference": False}
    assert {type(value) for value in options.values()} == {int, float, bool}


@pytest.mark.parametrize(("degree", "width"), [(3, 32), (40, 64), (200, 128)])
def test_the_first_batch_chooses_the_width_of_all_stores_of_a_graph(degree: int, width: int) -> None:
    """With in-edges memory for both is reserved before."""
    src, dst = np.divmod(np.arange(300 * degree), degree)
    for options in ({}, {"in_edges": True}):
        graph = su.Graph(300, backend="slabhash", device="cpu", **options)
        graph.insert_edges(src, (src * 7 + dst) % 300)
        stores = [graph.store(direction) for direction in ("out", "in")[: 1 + len(options)]]
        assert [store.options()["slab_bytes"] for store in stores] == [width] * len(stores)
