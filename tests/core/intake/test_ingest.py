"""Validation of device batches, as far as the host does it: batches for fused kernels, and errors from the status."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from suricate.errors import SelfLoopError, VertexRangeError, WeightError
from suricate.graph.options import GraphOptions, choose_backend
from suricate.intake import ingest
from suricate.intake.arrays import as_array, is_cuda_array
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
    cuda.alloc = lambda size: SimpleNamespace(ptr=1 << 20, size=size)
    module = SimpleNamespace(ndarray=FakeArray, zeros=array(np.zeros), empty=array(np.empty), cuda=cuda)
    return SimpleNamespace(xp=module, index=0, is_cuda=True)


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
    made = validation(weight_dtype="float32", directed=False)
    src, dst, weight = column(1, 2), column(3, 4, dtype="uint32"), column(1, 2, dtype="float64")
    removed, added = made.batches(None, (src, dst, weight), (0, 0), paired=False)
    assert (removed, added.operation, added.size, added.waits, added.alone) == (None, "insert", 4, True, True)
    batch = added.unchecked
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


def test_a_batch_as_it_was_given_cannot_be_changed(validation):
    made = validation()
    removed, _ = made.batches((column(1), column(2), None), None, (0, 0), paired=False)
    made.begin(10, 4)
    query = made.query(column(1), column(2))
    assert (removed.unchecked.operation, query.operation) == ("delete", "find")
    with pytest.raises(AttributeError):
        query.size = 3
    assert removed.unchecked.words != query.words


@pytest.mark.parametrize("paired", [False, True])
def test_both_halves_are_parts_of_one_call(validation, paired):
    """The insertion is checked first; only the last part answers. What kernels cannot take leaves no trace."""
    made = validation(directed=False, weight_dtype="float64")
    batch = (column(1), column(2), None), (column(3, 4), column(5, 6), column(1, 1, dtype="float64"))
    removed, added = made.batches(*batch, (1, 2), paired=paired)
    assert (removed.operation, removed.size, added.operation, added.size) == ("delete", 2, "insert", 4)
    assert added.unchecked.words[-2:] == (1, 2 | ingest.FIRST_PART | ingest.MORE_PARTS)
    assert removed.unchecked.words[-2:] == (1, 1)
    assert removed.guard == added.guard == made.guard.ctypes.data
    for name, width in (("src", 4), ("dst", 4), ("status", 1), ("before", 8)):
        assert getattr(added, name) == getattr(removed, name) + 2 * width
    if paired:
        turned = removed.turned()
        assert (turned.src, turned.dst, turned.unchecked, turned.alone) == (removed.dst, removed.src, None, False)
        assert (added.turned().status, added.turned().before) == (turned.status + 2, turned.before + 16)
    made.begin(10, 4)
    assert made.batches(batch[0], ([1], [2], [1]), (1, 2), paired=paired) is None
    assert made.batches(([1], [2], None), batch[1], (1, 2), paired=paired) is None
    assert not made.used
    removed, _ = made.batches(batch[0], None, (0, 0), paired=paired)
    assert removed.unchecked.words[9] == 2  # the number of the call was not used up


def test_a_batch_is_checked_once(validation):
    made, launched = validation(), []
    made.launch_copy = lambda batch, addresses: launched.append((batch, addresses))
    removed, _ = made.batches((column(1), column(2), None), None, (0, 0), paired=False)
    unchecked = removed.unchecked
    removed.check()
    removed.check()
    assert launched == [(unchecked, (removed.src, removed.dst, removed.weight))]


def test_memory_for_the_next_change_is_that_of_an_equal_one(validation):
    made = validation()

    def memory(*ids):
        removed, _ = made.batches((column(*ids), column(*ids), None), None, (0, 0), paired=False)
        return removed.change.memory

    first = memory(1, 2)
    made.allocate_next()
    kept = made._next[1]
    assert kept is not None
    assert kept is not first
    assert memory(3, 4) is kept
    made.allocate_next()
    kept = made._next[1]
    assert memory(*range(9)) is not kept  # 9 ids take as much, but another division


@pytest.mark.parametrize(
    ("options", "edges"),
    [
        ({}, ([1], [2], None)),
        ({}, (column(1), [2], None)),
        ({}, (column(1), column(2, 3), None)),
        ({}, (column(), column(), None)),
        ({}, (column(1), column(2), column(1))),
        ({}, (column(1.5, dtype="float64"), column(2), None)),
        ({"weight_dtype": "float32"}, (column(1), column(2), None)),
        ({"weight_dtype": "float32"}, (column(1), column(2), column(1, 2))),
        ({"weight_dtype": "float32"}, (column(1), column(2), column(True, dtype="bool"))),
    ],
)
def test_what_kernels_cannot_take_as_it_is(validation, options, edges):
    assert validation(**options).batches(None, edges, (0, 0), paired=False) is None


def test_an_answer_spares_the_wait(validation):
    made = validation()
    _, added = made.batches(None, (column(1), column(2), None), (0, 0), paired=False)
    made._pinned.words[1] = added.unchecked.words[9] << 1
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


def test_a_tensor_says_itself_where_it_is():
    class Tensor:  # of a process forked after CUDA began
        is_cuda = False

        def __dlpack_device__(self):
            raise RuntimeError("CUDA error: initialization error")

    assert not is_cuda_array(Tensor())


def test_an_array_that_dlpack_refuses_is_on_the_host():
    class WithNulls:
        def __dlpack_device__(self):
            raise TypeError("Can only use DLPack on arrays with no nulls")

        def __array__(self, *_, **__):
            return np.array([1, 2])

    assert as_array(WithNulls(), "src").tolist() == [1, 2]
