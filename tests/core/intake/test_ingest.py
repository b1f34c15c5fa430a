"""Validation of device batches, as far as the host does it: batches for fused kernels, and errors from the status."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from suricate.errors import SelfLoopError, VertexRangeError, WeightError
from suricate.graph.options import GraphOptions, choose_backend
from suricate.intake import ingest
from suricate.intake.ingest import Ingest, UnvalidatedBatch


class FakeArray(np.ndarray):
    """A NumPy array that says about itself what CuPy's do."""

    _c_contiguous = True

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data, device_id=0)


def fake_device():
    def array(kind):
        return lambda size, dtype: kind(size, dtype).view(FakeArray)

    cuda = SimpleNamespace(alloc_pinned_memory=bytearray, get_current_stream=lambda: SimpleNamespace(ptr=0))
    module = SimpleNamespace(ndarray=FakeArray, zeros=array(np.zeros), empty=array(np.empty), cuda=cuda)
    return SimpleNamespace(xp=module, index=0, is_cuda=True)


class FakeStore:
    """Notes the batches it gets and gives the prepared answer."""

    def __init__(self, answer="applied"):
        self.answer, self.batches = answer, []

    def apply_unvalidated(self, batch):
        self.batches.append(batch)
        if isinstance(self.answer, type):
            raise self.answer
        return self.answer


@pytest.fixture
def validation(monkeypatch):
    """Return a maker of ``Ingest`` objects whose pinned memory never has to be waited for."""
    monkeypatch.setattr("suricate.intake.ingest.cuda_device_count", lambda: 1)
    monkeypatch.setattr("suricate.cuda.pinned.wait_for", lambda device: None)

    def make(**options):
        made = Ingest(fake_device(), GraphOptions(choose_backend(None, "cpu")[0], **options))
        made.begin(10, 3)
        return made

    return make


def column(*values, dtype="int64"):
    return np.array(values, dtype).view(FakeArray)


def test_a_batch_holds_what_the_kernel_takes(validation):
    made, store = validation(weight_dtype="float32", directed=False), FakeStore()
    src, dst, weight = column(1, 2), column(3, 4, dtype="uint32"), column(1, 2, dtype="float64")
    assert made.fused(store, "insert", (src, dst, weight)) == "applied"
    (batch,) = store.batches
    names = list(ingest.UNVALIDATED_STRUCT.fields)
    words = dict(zip(names, batch.words, strict=True))
    assert len(batch.words) == len(names)
    ingest.UNVALIDATED.pack(*batch.words)
    assert (words["src"], words["dst"], words["weight"]) == (src.ctypes.data, dst.ctypes.data, weight.ctypes.data)
    assert (words["n"], words["num_vertices"], words["version"], words["call"]) == (2, 10, 3, 1)
    assert words["mode"] == ingest.FIRST_PART
    assert (batch.operation, batch.size, batch.waits) == ("insert", 4, True)
    variant = batch.variant
    assert (variant.src, variant.dst, variant.weight, variant.held) == ("int64", "uint32", "float64", "float32")
    assert (variant.mirrored, variant.loops) == (True, 1)


def test_a_batch_cannot_be_changed(validation):
    store = FakeStore()
    made = validation()
    made.fused(store, "delete", (column(1), column(2), None))
    made.begin(10, 4)
    made.fused(store, "find", (column(1), column(2), None))
    first, second = store.batches
    assert (first.operation, second.operation) == ("delete", "find")
    with pytest.raises(AttributeError):
        first.size = 3
    assert first.words != second.words


@pytest.mark.parametrize("answer", [None, MemoryError])
def test_a_batch_that_the_store_declines_leaves_no_trace(validation, answer):
    made = validation()
    assert made.fused(FakeStore(answer), "insert", (column(1), column(2), None)) is False
    assert not made.used
    store = FakeStore()
    made.fused(store, "insert", (column(1), column(2), None))
    assert store.batches[0].words[9] == 1  # the number of the call was taken back


def test_both_halves_are_parts_of_one_call(validation):
    """The insertion is checked first; only the last part answers. A batch that is declined leaves no trace."""
    given, copies = [], []

    def halves(removed, added, copy, into):
        given.append((removed, added))
        copies.append(copy)
        return answers.pop()

    made, answers = validation(directed=False), [("delete", "insert"), None]
    store = SimpleNamespace(halves=halves)
    batch = (column(1), column(2), None), (column(3, 4), column(5, 6), None)
    assert made.halves(store, *batch) is False
    assert made.halves(store, *batch) == ("delete", "insert")
    for removed, added in given:
        assert (removed.operation, removed.size, added.operation, added.size) == ("delete", 2, "insert", 4)
        assert added.words[-2:] == (1, 2 | ingest.FIRST_PART | ingest.MORE_PARTS)
        assert removed.words[-2:] == (1, 1)
        assert removed.guard == added.guard == made.guard.ctypes.data
    assert copies == [made.launch_copy] * 2
    made.begin(10, 4)
    assert made.halves(store, batch[0], ([1], [2], None)) is None
    assert made.halves(store, ([1], [2], None), batch[1]) is None
    assert not made.used
    assert len(given) == 2


@pytest.mark.parametrize(
    ("options", "operation", "edges"),
    [
        ({}, "insert", ([1], [2], None)),
        ({}, "insert", (column(1), [2], None)),
        ({}, "insert", (column(1), column(2, 3), None)),
        ({}, "insert", (column(), column(), None)),
        ({}, "insert", (column(1), column(2), column(1))),
        ({}, "insert", (column(1.5, dtype="float64"), column(2), None)),
        ({"weight_dtype": "float32"}, "insert", (column(1), column(2), None)),
        ({"weight_dtype": "float32"}, "insert", (column(1), column(2), column(1, 2))),
        ({"weight_dtype": "float32"}, "insert", (column(1), column(2), column(True, dtype="bool"))),
        ({"self_loops": "drop"}, "insert", (column(1), column(2), None)),
    ],
)
def test_what_kernels_cannot_take_as_it_is(validation, options, operation, edges):
    store = FakeStore()
    assert validation(**options).fused(store, operation, edges) is None
    assert not store.batches


def test_an_answer_spares_the_wait(validation):
    made = validation()

    def answer(batch):
        made._pinned.words[1] = batch.words[9] << 1
        return "applied"

    store = SimpleNamespace(apply_unvalidated=answer)
    made.fused(store, "insert", (column(1), column(2), None))
    made.raise_pending(fused=True)  # would call the fake's synchronize(), which is not there


def found(reason, index=0, part=0, value=0, unsigned=False):
    block = np.zeros((), ingest.STATUS.dtype)
    word = part << ingest.KEY_PART | index << ingest.KEY_INDEX | reason | unsigned * ingest.UNSIGNED_VALUE
    block["key"], block["vertices"], block["version"] = ~np.uint64(word), 10, 7
    block["value"] = np.array(value).view(np.uint64) if isinstance(value, float) else np.uint64(value % (1 << 64))
    return block[()]


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (found(ingest.BAD_SRC, 5, value=-3), VertexRangeError, r"^src\[5\] is -3, but ids are 0 to 9"),
        (found(ingest.BAD_SRC, 5, value=2**64 - 3, unsigned=True), VertexRangeError, rf"^src\[5\] is {2**64 - 3}, "),
        (found(ingest.BAD_DST, 2**40, 2, 12), VertexRangeError, rf"^insert\.dst\[{2**40}\] is 12"),
        (found(ingest.BAD_LOOP, 1, 1, 4), SelfLoopError, r"^delete\.src\[1\] and delete\.dst\[1\] are both 4"),
        (found(ingest.BAD_WEIGHT, 3, value=1e300), WeightError, r"^weight\[3\] is 1e\+300, too large for float32"),
    ],
)
def test_errors_from_the_status(block, error, message):
    with pytest.raises(error, match=message):
        raise ingest.error_of(block, np.dtype(np.float32), deferred=False)
    with pytest.raises(error, match=r'checks="deferred": of a batch given at version 7\)$'):
        raise ingest.error_of(block, np.dtype(np.float32), deferred=True)


def test_the_key_orders_errors_as_the_host_does():
    """By part, then index; the largest key is the first error."""
    places = [(part, index) for part in (0, 1, 2) for index in (0, 1, 15, 16, 2**40)]
    keys = [int(found(ingest.BAD_WEIGHT, index, part)["key"]) for part, index in places]
    assert keys == sorted(keys, reverse=True)


def test_a_batch_is_a_tuple_of_five():
    assert UnvalidatedBatch._fields == ("operation", "variant", "size", "words", "waits")
