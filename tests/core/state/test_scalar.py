"""Scalars: slots that take turns, bad input, copies."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import suricate as su
from suricate.errors import DTypeError, ParameterError, UnknownNameError


def test_slots_take_turns():
    s = su.Scalar._of("sum", "int64", value=5)
    for added in (3, 4, 0, 7):
        before = s.read()
        read, write = s.arrays()
        assert (read[0], write[0]) == (before, 0)
        write[0] += added
        assert int(s) == added


@pytest.mark.parametrize("op", ["sum", "min", "max", "or"])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32"])
def test_neutral_values(op, dtype, device):
    if op == "or" and dtype == "float32":
        return
    s = su.Scalar._of(op, dtype, device)
    low, high = (-np.inf, np.inf) if dtype == "float32" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    neutral = {"sum": 0, "or": 0, "min": high, "max": low}[op]
    assert s.read() == neutral
    s.set(3)
    assert (s.read(), float(s)) == (3, 3.0)
    for _ in range(4):
        s.skip()
        assert s.read() == neutral


def test_skipped_operators_leave_clean_slots():
    s = su.Scalar._of("max", "int32")
    for turn in range(7):
        s.set(9)
        if turn % 3:
            s.skip()
            assert s.read() == -(2**31)
        _, write = s.arrays()
        assert write[0] == -(2**31)
        write[0] = turn


@pytest.mark.gpu
def test_addresses_on_cuda():
    s = su.Scalar._of("sum", "float32", "cuda")
    turns = [tuple(s.slots().tolist()) for _ in range(4)]
    assert turns[0] == turns[3]
    for one, following in itertools.pairwise(turns):
        assert following == (one[1], one[2], one[0])


def test_device_of_a_graph(device):
    g = su.Graph(2, device=device)
    assert g.scalar().device == g.device


def test_copies(device):
    s = su.Scalar._of("min", "float32", device, value=1.5)
    for other in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert (other.op, other.dtype, other.device, other.read()) == (s.op, s.dtype, s.device, 1.5)
        other.set(0)
    assert s.read() == 1.5
    assert repr(s) == f"<Scalar: min of float32, {s.device}>"


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("mean",), UnknownNameError, "op='mean' is unknown: use one of 'sum'"),
        (("sum", "int8"), DTypeError, "no dtype 'int8'"),
        (("sum", None), DTypeError, "no dtype None"),
        (("or", "float32"), DTypeError, "needs integers"),
        (("sum", "int32", "cpu", 0.5), ParameterError, "must be a number of int32"),
        (("sum", "uint32", "cpu", -1), ParameterError, "must be a number of uint32"),
        (("sum", "float32", "cpu", "x"), ParameterError, "must be a number of float32"),
        (("sum", "float32", "cpu", True), ParameterError, "must be a number"),
    ],
)
def test_bad_arguments(arguments, error, says):
    with pytest.raises(error, match=says):
        su.Scalar._of(*arguments)
