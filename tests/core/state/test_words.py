"""Words: fields, their order, bad input, copies."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import edgefn_cases
import numpy as np
import pytest
from edgefn_cases import needs_nvrtc

import suricate as su
from suricate.cuda.program import Program
from suricate.edgefn.layout import layout_of
from suricate.errors import DTypeError, ParameterError, ShapeError, UnknownNameError, VertexRangeError
from suricate.state.words import make_words
from suricate.testing.nvrtc import compile_program

SPECIAL = {
    "uint32": [0, 1, 2**31, 2**32 - 1],
    "int32": [-(2**31), -1, 0, 2**31 - 1],
    "uint64": [0, 2**63, 2**64 - 1, 5],
    "int64": [-(2**63), -1, 2**63 - 1, 0],
    "float32": [-np.inf, -1.5, 1e-45, np.inf],
    "float64": [-np.inf, -1e-320, 0.0, 1e300],
}


def as_integers(s) -> list[int]:
    data = s.device.to_numpy(s.data)
    return data.tolist() if data.ndim == 1 else [low | high << 64 for low, high in data.tolist()]


@pytest.mark.parametrize("payload", [None, "uint32", "int64", "float32"])
@pytest.mark.parametrize("key", SPECIAL)
def test_words_compare_as_their_fields_do(key, payload, device):
    payloads = {} if payload is None else {"p": payload}
    s = make_words(4, {"k": key}, payloads, device=device)
    s.set(range(4), k=np.array(SPECIAL[key], key))
    pairs = [(k, 0) for k in SPECIAL[key]]
    if payload is not None:
        keys, values = [SPECIAL[key][0], SPECIAL[key][0], *SPECIAL[key][2:]], SPECIAL[payload][::-1]
        s.set(range(4), k=np.array(keys, key), p=np.array(values, payload))
        pairs = list(zip(keys, values, strict=True))
        assert device_list(s, "p") == np.array(values, payload).tolist()
    assert device_list(s, "k") == np.array([k for k, _ in pairs], key).tolist()
    by_word = sorted(range(4), key=lambda i: as_integers(s)[i])
    assert by_word == sorted(range(4), key=lambda i: pairs[i])


def device_list(s, field: str) -> list:
    return s.device.to_numpy(getattr(s, field)).tolist()


def test_shapes_of_the_data(device):
    assert make_words(3, {"k": "uint64"}, device=device).data.shape == (3,)
    wide = make_words(3, {"k": "uint64"}, {"p": "uint32"}, device=device)
    assert wide.data.shape == (3, 2)
    address = wide.data.data.ptr if wide.device.is_cuda else wide.data.ctypes.data
    assert address % 16 == 0


def test_new_words_have_the_largest_fields(device):
    s = make_words(2, {"d": "float32", "h": "int32"}, {"p": "uint32", "q": "uint32"}, device=device)
    assert device_list(s, "d") == [np.inf, np.inf]
    assert device_list(s, "h") == [2**31 - 1] * 2
    assert device_list(s, "p") == [2**32 - 1] * 2
    assert as_integers(s) == [s.layout.identity] * 2


@pytest.mark.parametrize("key", SPECIAL)
def test_no_words_have_empty_fields(key, device):
    s = make_words(0, {"k": key}, {"p": "uint32"}, device=device)
    assert device_list(s, "k") == device_list(s, "p") == s.device.to_numpy(s.ids("p")).tolist() == []


def test_zeros_and_nans(device):
    s = make_words(4, {"d": "float64"}, device=device)
    s.set(range(4), d=[-0.0, 0.0, np.nan, -np.nan])
    zero, same, nan, other = as_integers(s)
    assert zero == same
    assert nan == other > s.layout.identity
    assert np.isnan(s.device.to_numpy(s.d)).tolist() == [False, False, True, True]


def test_fields_keep_their_values_when_others_change(device):
    s = make_words(3, {"a": "uint32", "b": "float64"}, {"c": "int32"}, device=device)
    s.fill(a=7, b=-0.5, c=-1)
    s.fill(b=2)
    s.set([2, 0], c=[5, 6])
    s.set([1], a=9)
    assert device_list(s, "a") == [7, 9, 7]
    assert device_list(s, "b") == [2, 2, 2]
    assert device_list(s, "c") == [6, -1, 5]


def test_set_of_arrays_of_the_device(device):
    s = make_words(4, {"a": "uint32"}, device=device)
    xp = s.device.xp
    s.set(xp.array([1, 3]), a=xp.array([5, 6]))
    s.set(xp.array([0], np.uint32), trusted=True, a=2)
    assert device_list(s, "a") == [2, 5, 2**32 - 1, 6]


def test_resize(device):
    s = make_words(1, {"a": "uint32"}, {"b": "float64"}, device=device)
    s.fill(a=3, b=1.5)
    s.resize(3)
    assert len(s) == 3
    assert device_list(s, "a") == [3, 2**32 - 1, 2**32 - 1]
    assert device_list(s, "b") == [1.5, np.inf, np.inf]
    with pytest.raises(VertexRangeError, match="3 elements cannot shrink to 2"):
        s.resize(2)
    with pytest.raises(ParameterError):
        s.resize(1.5)


def test_words_of_a_graph(device):
    g = su.Graph(3, device=device)
    s = g.words({"a": "uint32"})
    assert (len(s), s.device) == (3, g.device)


def test_copies(device):
    s = make_words(2, {"a": "float32"}, {"b": "uint64"}, device=device)
    s.fill(a=1.5, b=2**40)
    for other in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert other.layout is s.layout
        assert other.device == s.device
        other.fill(a=0)
        assert device_list(other, "b") == [2**40] * 2
    assert device_list(s, "a") == [1.5, 1.5]


def test_layouts_are_shared():
    one, other = make_words(1, {"a": "f4"}, {"b": "u4"}), make_words(2, {"a": np.float32}, {"b": np.uint32})
    assert one.layout is other.layout is layout_of((("a", "float32"),), (("b", "uint32"),))
    assert one.edge_argument == other.edge_argument
    assert repr(one) == "<Words: 1 of 64 bits (a:float32 b:uint32 1), cpu>"


@pytest.mark.parametrize(
    ("keys", "payload", "error", "says"),
    [
        ({}, {"a": "uint32"}, ParameterError, "at least one key"),
        ({"a": "uint32"}, {"a": "uint32"}, ParameterError, "give it once"),
        ({"fill": "uint32"}, {}, ParameterError, "cannot be the name"),
        ({"_a": "uint32"}, {}, ParameterError, "cannot be the name"),
        ({"a b": "uint32"}, {}, ParameterError, "cannot be the name"),
        ({"a": "float64", "b": "float64", "c": "uint32"}, {}, ParameterError, "take 160 bits"),
        ({"a": "uint16"}, {}, DTypeError, "field a has dtype 'uint16'"),
        ({"a": None}, {}, DTypeError, "field a has dtype None"),
        ({"a": "no"}, {}, DTypeError, "field a has dtype 'no'"),
    ],
)
def test_bad_fields(keys, payload, error, says):
    with pytest.raises(error, match=says):
        make_words(3, keys, payload)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda s: s.fill(c=1), UnknownNameError, "no field c: they have a, b"),
        (lambda s: s.fill(a=[1, 2, 3]), ShapeError, "pass one number"),
        (lambda s: s.fill(a=0.5), DTypeError, "a has dtype uint32"),
        (lambda s: s.fill(a=-1), DTypeError, "does not fit"),
        (lambda s: s.fill(b="x"), DTypeError, "b has dtype float32"),
        (lambda s: s.set([0, 1], a=[1, 2, 3]), ShapeError, "one number, or 2 of them"),
        (lambda s: s.set([3], a=1), VertexRangeError, "3"),
        (lambda s: s.set([0.5], a=1), DTypeError, "ids"),
        (lambda s: s.set([0], a=1, b=True, c=2), UnknownNameError, "no field c"),
        (lambda s: s.c, AttributeError, "no field c"),
    ],
)
def test_bad_values_change_nothing(change, error, says, device):
    s = make_words(3, {"a": "uint32"}, {"b": "float32"}, device=device)
    before = as_integers(s)
    with pytest.raises(error, match=says):
        change(s)
    assert as_integers(s) == before


# -- smallest words ----------------------------------------------------------------------------------------------------

LAYOUTS = [
    ({"d": "float32"}, {"p": "uint32"}),
    ({"d": "float32", "h": "uint32"}, {"p": "uint32"}),
    ({"d": "int64"}, {"p": "float64"}),
    ({"d": "int32"}, {"p": "uint32", "q": "float64"}),
]


def offers(keys, payload, count=20_000, targets=7):
    """Return words to take offers, the targets of the offers, the offers, and the smallest of each target."""
    rng = np.random.default_rng(3)
    offered = make_words(count, keys, payload)
    lowest = {name: 0 if dtype[0] == "u" else -9 for name, dtype in (keys | payload).items()}
    offered.set(range(count), **{name: rng.integers(low, 9, count) for name, low in lowest.items()})
    at = rng.integers(0, targets, count).astype(np.uint32)
    values = as_integers(offered)
    smallest = [min(value for value, target in zip(values, at, strict=True) if target == k) for k in range(targets)]
    return at, offered, smallest


@pytest.mark.parametrize(("keys", "payload"), LAYOUTS)
def test_functions_of_generated_modules(keys, payload):
    at, offered, smallest = offers(keys, payload, 500)
    names: dict = {"np": np, "inner": lambda function: function}
    exec(offered.layout.numba_source, names)
    data = make_words(7, keys, payload)
    for i, target in enumerate(at):
        word = names["load_word"](offered.data, i)
        if names["less_word"](word, names["load_word"](data.data, target)):
            names["store_word"](data.data, target, word)
    assert as_integers(data) == smallest
    assert names["load_word"](make_words(1, keys, payload).data, 0) == names["identity_word"]
    one = make_words(2, keys, payload)
    one.fill(p=3)
    same = [names["load_word"](words.data, 0) for words in (one, data)]
    assert names["same_word"](same[0], same[0])
    assert not names["same_word"](*same)
    assert not names["same_keys"](*same)
    assert names["same_keys"](same[0], names["identity_word"])


def probe(layout, defines=()) -> Program:
    source = Path(edgefn_cases.__file__).with_name("words_probe.cu")
    return Program(source, layout.cuda_source, defines)


@needs_nvrtc
@pytest.mark.parametrize("arch", ["compute_70", "compute_90"])
@pytest.mark.parametrize(("keys", "payload"), LAYOUTS)
def test_the_minimum_compiles(keys, payload, arch):
    compile_program(probe(make_words(0, keys, payload).layout), arch)


@pytest.mark.gpu
@pytest.mark.parametrize("defines", [(), (("WITHOUT_CAS_128", 1),)], ids=["cas", "lock"])
@pytest.mark.parametrize(("keys", "payload"), LAYOUTS)
def test_the_smallest_word_wins_on_cuda(keys, payload, defines):
    at, offered, smallest = offers(keys, payload)
    data = make_words(7, keys, payload, device="cuda")
    xp = data.device.xp
    data.fill(d=0)
    program, changed = probe(data.layout, defines), xp.zeros(1, np.uint32)
    program.kernel("clear")((1,), (32,), (data.data, np.int64(7)))
    assert as_integers(data) == [data.layout.identity] * 7
    for _ in range(3):
        program.kernel("offer")(
            (64,), (256,), (data.data, xp.asarray(at), xp.asarray(offered.data), changed, np.int64(len(at)))
        )
        assert as_integers(data) == smallest
    assert 7 <= int(changed[0]) <= len(at)
    payloads = xp.empty(7)
    program.kernel("payload")((1,), (32,), (data.data, payloads, np.int64(7)))
    assert payloads.get().tolist() == data.p.get().astype(np.float64).tolist()
