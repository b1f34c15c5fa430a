"""Streams of events: steps, batches against a replay one event at a time, malformed files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suricate import io
from suricate.errors import FileFormatError
from suricate.io import files

pytestmark = pytest.mark.usefixtures("reader")


@pytest.fixture
def put(tmp_path):
    def write(content):
        path = tmp_path / "events.txt"
        path.write_text(content)
        return path

    return write


def apply_batch(graph, batch):
    """Deletions first, then insertions, on a dict of arcs."""
    for u, v in zip(batch.delete.src.tolist(), batch.delete.dst.tolist(), strict=True):
        graph.pop((u, v), None)
    weight = batch.insert.weight
    values = [1] * len(batch.insert.src) if weight is None else weight.tolist()
    for u, v, w in zip(batch.insert.src.tolist(), batch.insert.dst.tolist(), values, strict=True):
        graph[u, v] = w


def test_windows(put):
    stream = io.read_events(put("# made by hand\n# window 1\nI 0 1 50\nI 1 2 51\n# window b\nD 0 1 60\n# window 3\n"))
    assert [step.label for step in stream] == ["1", "b", "3"]
    assert [len(step) for step in stream] == [2, 1, 0]
    assert stream[0].time.tolist() == [50, 51]
    assert stream[0].insertions.src.tolist() == [0, 1]
    assert stream[1].deletions.dst.tolist() == [1]
    assert stream[0].weight is stream[0].insertions.weight is None
    assert (stream.num_vertices, len(stream)) == (3, 3)
    assert stream[1:] == (stream[1], stream[2])


def test_events_ahead_of_the_first_window_and_without_times(put):
    stream = io.read_events(put("I 0 1\n# window 1\nD 0 1\n"))
    assert [(step.label, len(step)) for step in stream] == [("", 1), ("1", 1)]
    assert stream[0].time is None


def test_snapshots(put):
    stream = io.read_events(put("# x\n+ 1 2 -1\n+ 2 3 2\n@ 20040105 3 2\n- 1 2\n= 2 3 5\n@ next 2 1\n"))
    first, second = stream
    assert (first.label, first.num_vertices, first.num_edges) == ("20040105", 3, 2)
    assert first.insertions.weight.tolist() == [-1, 2]
    assert first.weight.dtype == np.int32
    assert second.deletions.src.tolist() == [1]
    assert second.reweights.weight.tolist() == [5]
    assert second.batch().insert.weight.tolist() == [5]
    assert len(second.batch(weighted=False).insert.src) == 0


def test_insertions_without_weights(put):
    (step,) = io.read_events(put("+ 1 2\n- 1 2\n+ 3 4\n"))
    assert step.weight is step.insertions.weight is None
    with pytest.raises(FileFormatError, match=r":2: a line must start with one of \+, -, not '='"):
        io.read_events(put("+ 1 2\n= 1 2 5\n"))


def test_times_in_iso_8601(put):
    (step,) = io.read_events(put("# window 1\nI 0 1 1970-01-01T00:00:02\nD 0 1 1970-01-02\n"))
    assert step.time.tolist() == [2_000_000, 86_400_000_000]
    with pytest.raises(FileFormatError, match=r":2: '1970-13-01' is no time of ISO 8601"):
        io.read_events(put("I 0 1 1970-01-01\nI 0 1 1970-13-01\n"))
    with pytest.raises(FileFormatError, match=r":2: time '.*' is finer than microseconds"):
        io.read_events(put("I 0 1 1970-01-01\nI 0 1 1970-01-01T00:00:00.0000001\n"))


def test_no_marks_is_one_step(put):
    assert [len(step) for step in io.read_events(put("+ 1 2\n- 1 2\n"))] == [2]
    assert len(io.read_events(put(""))) == 0
    assert io.read_events(put("# nothing\n")).num_vertices == 0


events = st.lists(st.tuples(st.sampled_from("+-="), st.integers(0, 3), st.integers(0, 3), st.integers(-9, 9)))


@given(st.lists(events, max_size=4), st.sampled_from([40, 1 << 20]))
def test_batches_lead_where_the_events_lead(tmp_path_factory, steps, chunk):
    text = ""
    for step in steps:
        for op, u, v, w in step:
            text += f"- {u} {v}\n" if op == "-" else f"{op} {u} {v} {w}\n"
        text += "@ s 0 0\n"
    path = tmp_path_factory.mktemp("events") / "e.txt"
    path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", chunk)
        stream = io.read_events(path)
    replayed, batched = {}, {}
    assert len(stream) == len(steps)
    for step, batch in zip(steps, stream.batches(), strict=True):
        for op, u, v, w in step:
            if op == "-":
                replayed.pop((u, v), None)
            else:
                replayed[u, v] = w
        apply_batch(batched, batch)
        assert batched == replayed


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("# window 1\nI 0 1 50\nX 1 2 3\n", 3, "a line must start with one of I, D"),
        ("# window 1\nI 0 1 50\n# window 2\nI 0\n", 4, "missing column (1 of 3 columns)"),
        ("# window 1\nI 0 1 50\n# window 2\nI 0 x 7\n", 4, "id 'x'"),
        ("I 0 1 5\nD 0", 2, "the file ends in the middle of a line (1 of 3 columns)"),
        ("+ 1 2 3\n@ a 2 1\n+ 1 -2 3\n", 3, "id '-2' is negative"),
        ("+ 1 2 3\n@ a 2 1\n- 1 2 3\n", 3, "more than 2 columns"),
        ("+ 1 2 3\n@ a 2\n", 2, "a line must start with one of"),
        ("+ 1 2 3\n@ a 2 1\n+ 1 3 3\n", 3, "the file ends inside a step"),
        ("+ 1 2 nan\n", 1, "weight 'nan' is not finite"),
        ("0 1\n", 1, "no event"),
        (f"+ 1 2\n@ a {'9' * 5000} 1\n", 2, "vertices are declared: at most"),
        (f"+ 1 2\n@ a 2 {'9' * 5000}\n", 2, "edges are declared: at most"),
        ("# c\n@ a 0 0\nI 0 1 5\n", 3, "a line must start with one of +"),
    ],
)
@pytest.mark.parametrize("chunk", [12, 1 << 20])
def test_malformed(put, monkeypatch, content, line, reason, chunk):
    monkeypatch.setattr(files, "CHUNK", chunk)
    with pytest.raises(FileFormatError) as caught:
        io.read_events(put(content))
    assert (caught.value.line, reason in caught.value.reason) == (line, True), caught.value


def test_read_points_to_read_events(put):
    with pytest.raises(FileFormatError, match="read_events"):
        io.read(put("# window 1\nI 0 1 50\n"))
