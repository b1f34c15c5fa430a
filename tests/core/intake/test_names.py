"""Names against a dictionary: adding, finding, forgetting, recycling, versions, checkpoints, and bad values."""

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import suricate as su
from suricate.errors import DTypeError, ParameterError, ShapeError, VertexRangeError
from suricate.intake import name_loops

WORDS = ["", "a", "b", "ab", "ä", "日本", "x" * 8, "x" * 9, "x" * 100, "\udce9", "0", "None"]


def text_of(number):
    """Return a text of a number: of lengths from 0 to 23, some that are not ASCII."""
    return f"{'é' * (number % 3)}{number:x}{'-' * (number % 17)}"


class Model:
    """The rule of the ids, in dictionaries."""

    def __init__(self):
        self.ids, self.counts, self.free, self.freed, self.top = {}, {}, set(), set(), 0

    def add(self, name, count):
        if name not in self.ids:
            if self.free:
                self.ids[name] = min(self.free)
                self.free.remove(self.ids[name])
            else:
                self.ids[name] = self.top
                self.top += 1
            self.counts[name] = 0
        self.counts[name] += count
        return self.ids[name]

    def drop(self, name):
        self.freed.add(self.ids.pop(name))
        del self.counts[name]

    def next_slide(self):
        self.free |= self.freed
        self.freed = set()


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["text", "int64"])
def test_random_slides_agree_with_dictionaries(kind):
    """Slides that add, intern, release, forget and withdraw names."""
    rng, names, model = np.random.default_rng(5), su.Names(), Model()
    make = text_of if kind == "text" else (lambda number: (number - 300) * 2**45)
    for slide in range(60):
        for count in (1, 0):
            new = [make(int(k)) for k in rng.integers(0, 4000, rng.integers(0, 700))]
            got = (names.add if count else names.intern)(new)
            assert got.dtype == np.uint32
            assert got.tolist() == [model.add(name, count) for name in new]
        known = [name for name in model.ids for _ in range(min(model.counts[name], 2)) if rng.random() < 0.4]
        zeros = names.release([model.ids[name] for name in known])
        for name in known:
            model.counts[name] -= 1
        assert zeros.tolist() == sorted({model.ids[name] for name in known if not model.counts[name]})
        for name in dict.fromkeys(known):
            if not model.counts[name]:
                model.drop(name)
        lost = [name for name in model.ids if rng.random() < 0.1]
        names.forget([model.ids[name] for name in lost])
        for name in lost:
            model.drop(name)
        asked = [make(int(k)) for k in rng.integers(0, 4000, 300)]
        assert names.find(asked).tolist() == [model.ids.get(name, -1) for name in asked]
        ids = list(model.ids.values())
        assert names[ids].tolist() == list(model.ids)
        assert names.counts(ids).tolist() == [model.counts[name] for name in model.ids]
        assert (len(names), names.num_ids, names.version) == (len(model.ids), model.top, slide)
        if slide % 10 == 3:
            names.check()
            names = pickle.loads(pickle.dumps(names))
        names.next_slide()
        model.next_slide()
    names.check()


def test_ids_by_first_appearance_and_single_values():
    names = su.Names()
    assert names.find(["a"]).tolist() == [-1]
    assert names.dtype is None
    assert names.intern(WORDS + WORDS).tolist() == [*range(len(WORDS))] * 2
    assert names.dtype == "text"
    assert names[:].tolist() == WORDS
    assert (names.find("ab"), names.find("abc"), names.intern("new"), names[3]) == (3, -1, len(WORDS), "ab")
    assert "ä" in names
    assert 3 not in names
    assert list(names) == [*WORDS, "new"]
    names.check()


def test_a_freed_id_waits_for_the_next_slide_and_the_lowest_goes_first():
    names = su.Names()
    names.add(list("abcd"))
    assert names.release([2, 0]).tolist() == [0, 2]
    assert names.add(["e"]).tolist() == [4]
    names.next_slide()
    assert names.add(list("cfg")).tolist() == [0, 2, 5]
    assert names[[1, 3], 0].tolist() == ["b", "d"]
    assert names[[0, 2], 1].tolist() == ["c", "f"]
    with pytest.raises(VertexRangeError, match="given out again in version 1"):
        names[[1, 2], 0]
    names.forget([1])
    with pytest.raises(VertexRangeError, match="no name"):
        names[1]
    assert names.has([0, 1, 2, 99]).tolist() == [True, False, True, False]


def test_withdrawn_names_leave_no_trace():
    names = su.Names()
    names.add(["a", "b"])
    names.next_slide()
    new = names.add(["c", "d"])
    with pytest.raises(ParameterError, match="earlier slide"):
        names.withdraw([1, 2])
    names.withdraw(new)
    assert names.intern(["d", "c"]).tolist() == [2, 3]
    names.check()


def test_forgotten_names_are_told_in_this_slide_and_the_next():
    for given in (["a", "ü", "c"], [5, -1, 7]):
        names = su.Names()
        names.intern(given)
        names.forget([2])
        names.forget([1, 0])
        ids, last = names.forgotten()
        assert ids.tolist() == [2, 0, 1]
        assert last.tolist() == [given[2], given[0], given[1]]
        names.next_slide()
        names.withdraw([names.intern(given[0])])
        assert names.forgotten()[0].tolist() == [2, 0, 1]
        names.next_slide()
        assert names.forgotten()[1].tolist() == []
        assert names.memory_usage()["forgotten"] == 0
        assert names.intern(given[1:]).tolist() == [0, 1]
        assert names.since([1, 0, 2, 9]).tolist() == [2, 2, 0, 0]
        names.forget([0])
        assert names.memory_usage()["forgotten"] > 0
        assert names.forgotten(2)[1].tolist() == [given[1]]
        assert names.forgotten(1)[1].tolist() == []


def test_kept_names_and_counts_below_zero():
    names = su.Names("text", keep=True)
    ids = names.add(["a", "b", "a"])
    with pytest.raises(ParameterError, match=r"ids\[3\] is 0, which is released more often"):
        names.release([0, 1, 0, 0])
    assert names.counts(ids).tolist() == [2, 1, 2]
    assert names.release(ids).tolist() == [0, 1]
    assert names.find(["a", "b"]).tolist() == [0, 1]
    names.retain([1])
    assert names.counts([0, 1]).tolist() == [0, 1]


@pytest.mark.compiled
def test_texts_are_compacted():
    """Names that come and go do not make the table, the texts or the ids grow."""
    names, before = su.Names(), None
    for slide in range(40):
        new = names.add([f"{slide}-{k}-{'y' * (k % 60)}" for k in range(5000)])
        if slide == 10:
            before = names.memory_usage()
        names.release(new)
        names.next_slide()
    assert {**names.memory_usage(), "forgotten": 0} == {**before, "forgotten": 0}
    assert names.num_ids == 5000
    names.check()


@pytest.mark.parametrize("values", [
    np.array(["b", "a", "b"]), np.array(["b", "a", "b"], object), np.array([b"b", b"a", b"b"]), ("b", "a", "b"),
    np.array(["b", "a", "b"], np.dtypes.StringDType()) if hasattr(np.dtypes, "StringDType") else ["b", "a", "b"],
])  # fmt: skip
def test_arrays_of_texts(values):
    assert su.Names().intern(values).tolist() == [0, 1, 0]


def test_columns_of_arrow_pandas_and_polars():
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    texts = ["b", "a", "", "b", "é"]
    plain = pa.array(["zzz", *texts])[1:]
    columns = [plain, plain.cast(pa.large_string()), pa.chunked_array([plain[:2], plain[2:]]),
               plain.dictionary_encode(), plain.cast(pa.binary()), pandas.Series(texts),
               pandas.Series(texts, dtype="category"),
               pandas.Series(texts, dtype="str")]  # fmt: skip
    if hasattr(pa, "string_view"):
        columns.append(plain.cast(pa.string_view()))
    for column in columns:
        names = su.Names()
        assert names.intern(column).tolist() == [0, 1, 2, 0, 3]
        assert names[:].tolist() == ["b", "a", "", "é"]
    assert names.to_arrow([3, 0]).to_pylist() == ["é", "b"]
    assert su.Names().intern(pa.array([7, -1, 7], pa.int32())).tolist() == [0, 1, 0]
    assert su.Names().intern(pandas.Series([7, -1, 7])).tolist() == [0, 1, 0]
    for missing in (pa.array(["a", None]), pandas.Series(["a", None]), ["a", None], ["a", float("nan")]):
        with pytest.raises(DTypeError, match=r"names\[1\] is missing"):
            su.Names().intern(missing)


def test_integers():
    names = su.Names()
    assert names.intern([5, -3, 5, 2**62]).tolist() == [0, 1, 0, 2]
    assert names[:].tolist() == [5, -3, 2**62]
    assert names[:].dtype == np.int64
    assert names.find(np.array([2**62], np.uint64)).tolist() == [2]
    assert names[1] == -3
    large = su.Names()
    assert large.intern([2**64 - 1, 0]).tolist() == [0, 1]
    assert (large.dtype, large[0]) == ("uint64", 2**64 - 1)
    assert large.find(np.array([0], np.int8)).tolist() == [1]
    with pytest.raises(DTypeError, match="uint64"):
        large.intern([-1])


@pytest.mark.parametrize(("values", "error"), [
    ([1.5], DTypeError), ([1, "a"], DTypeError), ([True], DTypeError), (["a", 1], DTypeError), ([[1]], ShapeError),
    ([2**64], DTypeError), (["\ud800"], DTypeError),
    ([1], DTypeError), (["x" * (1 << 24)], ParameterError), ([("a",)], DTypeError),
])  # fmt: skip
def test_bad_values_change_nothing(values, error):
    names = su.Names("text")
    names.intern(["a"])
    with pytest.raises((error, ShapeError)):
        names.intern(values)
    assert list(names) == ["a"]
    with pytest.raises(ParameterError):
        su.Names("float")


def test_ids_that_are_none():
    names = su.Names()
    names.add(["a"])
    for ids in ([1], [-1], 7):
        with pytest.raises(VertexRangeError):
            names[ids]
    with pytest.raises(DTypeError):
        names.release([0.0])
    assert names.counts([0]).tolist() == [1]
    assert names[[]].tolist() == []


@pytest.mark.parametrize("kind", ["text", "int64", None])
def test_state_restores_everything_and_damage_is_found(kind):
    names = su.Names(kind, keep=True)
    if kind:
        names.add(WORDS if kind == "text" else np.arange(12) * 7)
        names.forget([3, 5])
        names.next_slide()
        names.forget([1])
    file = io.BytesIO()
    np.savez(file, **names.state())
    state = dict(np.load(io.BytesIO(file.getvalue()), allow_pickle=False))
    for other in (su.Names.restore(state), copy.deepcopy(names), names.copy()):
        other.check()
        assert repr(other) == repr(names)
        if kind:
            new = ["p", "q", "r"] if kind == "text" else [1, 2, 3]
            assert other.intern(new).tolist() == [3, 5, 12]
            assert other.next_slide() == 2
            assert other.intern(["s"] if kind == "text" else [4]).tolist() == [1]
    for part in ("about", "counts", "data"):
        with pytest.raises(ParameterError):
            su.Names.restore({name: array for name, array in state.items() if name != part})
    if kind:
        state["ids"] = np.roll(state["ids"], 1) // 2 * 2
        with pytest.raises(ParameterError, match="damaged"):
            su.Names.restore(state)


@pytest.mark.compiled
def test_each_loop_is_compiled_once_whatever_the_arrays():
    """Users wait for every compilation: read-only, strided and writable arrays, texts and integers share them."""
    for values in (["a", "b"], np.array([1, 2]), np.arange(4)[::2], np.broadcast_to(np.int64(3), 2)):
        names = su.Names()
        ids = names.add(values)
        names.intern_pairs(values, values, count=True)
        for known in (ids, np.stack((ids, ids), axis=1)[:, 0], np.broadcast_to(ids[0], 1)):
            names.retain(known)
            names.release(known)
        names.copy().forget(ids[:1])
        assert names[ids].tolist() == np.asarray(values).tolist()
    for name, loop in vars(name_loops).items():
        assert len(getattr(loop, "signatures", ())) <= 1, name


@pytest.mark.compiled
def test_threads_take_turns():
    names, texts = su.Names(), [f"name {number}" for number in range(20_000)]

    def work(seed):
        order = np.random.default_rng(seed).permutation(len(texts))
        for part in np.split(order, 20):
            ids = names.add([texts[index] for index in part])
            assert names[ids].tolist() == [texts[index] for index in part]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    names.check()
    assert len(names) == len(texts)
    assert (names.counts(names.ids) == 4).all()
