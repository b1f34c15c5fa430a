"""``su.mixed``: the same hash of Python numbers, of NumPy's, of arrays, and in functions of operators; it is spread."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.errors import DTypeError, EdgeFunctionError


def store(v, out, two, seed):
    two[v] = su.mixed(seed, v - 5)
    out[v] = su.mixed(seed, v - 5, v * 3)


def test_every_way_gives_the_same(device) -> None:
    n, seed, xp = 200, -(2**40) - 7, device.xp
    out, two = xp.zeros(n, np.int64), xp.zeros(n, np.int64)
    su.vertex_map(su.Graph(n, device=device), None, store, args=(out, two, seed))
    ids = xp.arange(n)
    arrays = su.mixed(seed, ids - 5, ids * 3)
    assert arrays.dtype == np.int64
    numbers = [su.mixed(seed, np.int16(v - 5), v * 3) for v in range(n)]
    assert device.to_numpy(out).tolist() == device.to_numpy(arrays).tolist() == numbers
    assert device.to_numpy(two).tolist() == [su.mixed(seed, v - 5, 0) for v in range(n)]


def test_it_is_splitmix64() -> None:
    """Beside the steps in integers of Python; the first is that of the reference with the seed 0."""

    def step(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    assert step(0) == 0xE220A8397B1DCDAF
    for seed, a, b in ((0, 0, 0), (1, 2, 3), (-1, 2**63 - 1, -(2**63))):
        wanted = step(step(step(seed % 2**64) ^ a % 2**64) ^ b % 2**64)
        assert su.mixed(seed, a, b) % 2**64 == wanted


def test_hashes_of_small_keys_are_spread() -> None:
    """Each bit is set in about half of them, also of the differences between neighbours, and none repeats."""
    u, v = np.divmod(np.arange(250_000), 500)
    hashes = su.mixed(3, u, v).view(np.uint64)
    assert len(np.unique(hashes)) == len(hashes)
    for words in (hashes, hashes[1:] ^ hashes[:-1], hashes[500:] ^ hashes[:-500]):
        shares = np.array([(words >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)])
        assert abs(shares - 0.5).max() < 0.006


def test_floats_are_refused(device) -> None:
    with pytest.raises(DTypeError, match="integers"):
        su.mixed(1, 0.5)
    with pytest.raises(DTypeError, match="integers"):
        su.mixed(1, np.zeros(2))
    with pytest.raises(EdgeFunctionError, match="integers"):
        su.vertex_map(su.Graph(2, device=device), None, lambda v: su.mixed(0.5, v) > 0)
