"""Streams drawn in pieces: the same however they are cut and on both devices, and distributed as they should be."""

import hashlib

import numpy as np
import pytest

from suricate.base.types import edge_keys
from suricate.errors import ParameterError
from suricate.generate import grid
from suricate.generate.edge_streams import GRAPH500, GridStream, Permutation, RMATStream, UniformStream

STREAMS = [RMATStream, UniformStream, GridStream]


def keys_of(edges):
    return edge_keys(edges.src, edges.dst)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_is_the_same_however_it_is_cut(kind, device):
    stream, whole = kind(11, seed=7), keys_of(kind(11, seed=7).piece(0, 3000))
    begin = 0
    for size in (1, 999, 0, 2000):
        edges = stream.piece(begin, begin + size, device.xp)
        assert edges.src.dtype == edges.dst.dtype == np.uint32
        assert np.array_equal(keys_of(type(edges)(*map(device.to_numpy, edges[:2]))), whole[begin : begin + size])
        begin += size
    chosen = np.array([2999, 5, 5], np.uint64)
    assert np.array_equal(keys_of(stream.at(chosen)), whole[[2999, 5, 5]])
    assert np.array_equal(keys_of(kind(11, seed=8).piece(0, 3000)), whole) == (kind is GridStream)


@pytest.mark.parametrize(
    ("stream", "digest"),
    [(RMATStream(13, 3), "5240"), (UniformStream(31, 3), "87af")],
)
def test_streams_stay_what_they_are(stream, digest):
    edges = stream.piece(10**9, 10**9 + 1000)
    assert hashlib.sha256(keys_of(edges).tobytes()).hexdigest()[:4] == digest


@pytest.mark.parametrize("bits", [1, 2, 5, 12])
def test_a_permutation_has_an_inverse(bits):
    every = np.arange(1 << bits, dtype=np.uint64)
    shuffled = Permutation(bits, 4, "test")
    assert np.array_equal(np.sort(shuffled(every)), every)
    assert np.array_equal(shuffled.inverse(shuffled(every)), every)


def test_a_uniform_stream_has_every_pair_once_and_knows_its_numbers():
    stream = UniformStream(5, seed=2)
    edges = stream.piece(0, stream.length)
    assert len(np.unique(keys_of(edges))) == stream.length == 1024
    assert np.array_equal(stream.numbers(edges.src, edges.dst), np.arange(1024))
    part = UniformStream(16, seed=2).piece(0, 1 << 16)
    for ends in (part.src, part.dst):  # degrees of mean 1 are Poisson
        shares = np.bincount(np.bincount(ends, minlength=1 << 16))[:4] / (1 << 16)
        assert np.allclose(shares, np.exp(-1) / np.array([1, 1, 2, 6]), atol=0.005)


@pytest.mark.parametrize("scale", range(1, 8))
def test_a_grid_stream_has_the_arcs_of_a_grid(scale):
    stream = GridStream(scale)
    edges, whole = stream.piece(0, stream.length), grid(stream.width, stream.num_vertices // stream.width)
    assert np.array_equal(np.sort(keys_of(edges)), keys_of(whole))


def test_rmat_has_the_quarters_of_graph500_at_every_level():
    stream = RMATStream(7, seed=2)
    rows, columns = (stream._ids.inverse(ends.astype(np.uint64)) for ends in stream.piece(0, 1 << 16)[:2])
    for level in range(7):
        row, column = (ends >> np.uint64(level) & np.uint64(1) for ends in (rows, columns))
        shares = np.bincount((2 * row + column).astype(int), minlength=4) / (1 << 16)
        assert np.allclose(shares, GRAPH500, atol=0.01)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: RMATStream(0),
        lambda: UniformStream(32),
        lambda: UniformStream(4, seed=-1),
        lambda: UniformStream(4).piece(0, 257),
        lambda: RMATStream(4).piece(5, 4),
    ],
)
def test_arguments_out_of_range(bad):
    with pytest.raises(ParameterError, match="edge stream"):
        bad()
