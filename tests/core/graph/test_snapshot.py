"""Snapshots: the same graph on every backend, whole files or none, and errors for what is no snapshot."""

from __future__ import annotations

import contextlib
import json
import pickle

import numpy as np
import pytest

import suricate as su
from suricate.errors import FileFormatError, ParameterError
from suricate.plugins import backends

KINDS = {
    "directed": {},
    "directed-in-weighted": {"in_edges": True, "weight_dtype": "int32", "self_loops": "drop"},
    "undirected-weighted": {"directed": False, "weight_dtype": "float64"},
}


def state(graph):
    host = graph.device.to_numpy
    parts = [host(part).tolist() for part in graph.edges() if part is not None]
    kind = graph.directed, graph.weight_dtype, graph.has_in_edges, graph.self_loops
    return sorted(zip(*parts, strict=True)), graph.num_vertices, kind, graph.deleted_vertices.tolist()


@pytest.fixture
def graph(backend, device):
    graph = su.Graph(50, backend=backend, device=device)
    graph.insert_edges(np.arange(49), np.arange(1, 50))
    return graph


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_loads_on_every_backend(tmp_path, backend, device, kind):
    rng = np.random.default_rng(3)
    graph = su.Graph(40, backend=backend, device=device, **KINDS[kind])
    graph.insert_edges(*rng.integers(0, 40, (2, 300)), None if graph.weight_dtype is None else rng.integers(1, 9, 300))
    graph.delete_vertices([3, 7])
    path = tmp_path / "graph.snapshot"
    graph.save(path)
    for target, name in [(device, None), ("cpu", backend)] + [("cpu", other) for other in backends()]:
        loaded = su.Graph.load(path, device=target, backend=name)
        loaded.check()
        assert state(loaded) == state(graph)
        assert loaded.backend == (name or backend)
        assert loaded.device.to_numpy(loaded.insert_vertices(3, recycle=True)).tolist() == [3, 7, 40]
    assert [file.name for file in tmp_path.iterdir()] == ["graph.snapshot"]


def test_backend_options_come_back(tmp_path, device):
    graph = su.Graph(5, backend="slabhash", device=device)
    options = graph.store("out").options()
    graph.save(tmp_path / "g")
    assert su.Graph.load(tmp_path / "g", device=device).store("out").options() == options


@pytest.mark.parametrize("kind", KINDS)
def test_empty_graphs(tmp_path, backend, device, kind):
    for n in (0, 3):
        graph = su.Graph(n, backend=backend, device=device, **KINDS[kind])
        graph.save(tmp_path / "g")
        assert state(su.Graph.load(tmp_path / "g", device=device)) == state(graph)


def test_a_failed_save_leaves_the_old_file(tmp_path, graph, monkeypatch):
    path = tmp_path / "g"
    graph.save(path)
    before = path.read_bytes()
    graph.insert_edges([5], [9])

    def full(file, **arrays):
        file.write(b"the first half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        graph.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_folders_and_files_that_are_not_there(tmp_path, graph):
    with pytest.raises(FileNotFoundError):
        graph.save(tmp_path / "missing" / "g")
    with pytest.raises(FileNotFoundError):
        su.Graph.load(tmp_path / "missing")


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, -1])
def test_truncated_files(tmp_path, graph, keep):
    path = tmp_path / "g"
    graph.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    with pytest.raises(FileFormatError, match="no snapshot") as caught:
        su.Graph.load(path, device="cpu")
    assert caught.value.path == path


def test_a_damaged_byte_is_noticed(tmp_path, graph):
    path = tmp_path / "g"
    graph.save(path)
    data = bytearray(path.read_bytes())
    at = data.find(np.arange(10, 14, dtype=np.uint32).tobytes())  # amid the ids
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="damaged"):
        su.Graph.load(path, device="cpu")


def test_foreign_files(tmp_path):
    path = tmp_path / "g"
    for write in (
        lambda: path.write_text("0 1\n1 2\n"),
        lambda: np.save(path.open("wb"), np.arange(3)),
        lambda: np.savez(path.open("wb"), src=np.arange(3)),
        lambda: np.savez(path.open("wb"), header=np.frombuffer(b'{"format": "other", "version": 1}', np.uint8)),
        lambda: np.savez(path.open("wb"), header=np.frombuffer(b"[1, 2]", np.uint8)),
        lambda: np.savez(path.open("wb"), header=np.array([{}], object)),
    ):
        write()
        with pytest.raises(FileFormatError, match="no snapshot"):
            su.Graph.load(path, device="cpu")


@pytest.mark.parametrize("names", [["ann", "böb", "c"], [-5, 2**62, 0], []], ids=["text", "int64", "none"])
def test_names_are_kept_by_snapshots_and_pickles(tmp_path, device, names):
    graph = su.Graph(4, device=device)
    graph.names = su.Names()
    graph.names.add(names)
    graph.names.release(graph.names.ids[1:2])
    graph.names.next_slide()
    path = tmp_path / "g"
    graph.save(path)
    for other in (su.Graph.load(path, device=device), pickle.loads(pickle.dumps(graph))):
        other.names.check()
        assert list(other.names) == names[:1] + names[2:]
        assert (other.names.version, other.names.num_ids) == (1, len(names))
    with np.load(path) as archive:
        assert json.loads(bytes(archive["header"]))["version"] == 2
    graph.names = None
    graph.save(path)
    assert su.Graph.load(path, device=device).names is None
    with np.load(path) as archive:  # older versions of the package read it
        assert json.loads(bytes(archive["header"]))["version"] == 1


@pytest.mark.parametrize(
    "arrays",
    [
        {"names.about": np.array([1, 1, 0, 51, 0])},
        {"names.about": np.array([9, 1, 0, 2, 0])},
        {"names.about": None},
        {"names.ids": np.array([0, 0], np.uint32)},
        {"names.offsets": np.array([0, 1, 9])},
        {"names.counts": np.zeros(2)},
    ],
    ids=str,
)
def test_damaged_names(tmp_path, device, arrays):
    graph = su.Graph(50, device=device)
    graph.names = su.Names()
    graph.names.intern(["a", "b"])
    graph.save(tmp_path / "g")
    rewrite(tmp_path / "g", **arrays)
    with pytest.raises(FileFormatError, match="the names of the snapshot are damaged"):
        su.Graph.load(tmp_path / "g", device=device)


def rewrite(path, header=None, **arrays):
    with np.load(path) as archive:
        parts = {name: archive[name] for name in archive.files} | arrays
    parts["header"] = np.frombuffer(json.dumps(json.loads(bytes(parts["header"])) | (header or {})).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez(file, **{name: part for name, part in parts.items() if part is not None})


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"version": 99}, {}, "format version 99"),
        ({"num_vertices": 10}, {}, r"not below num_vertices \(10\)"),
        ({"weight_dtype": "int32"}, {}, "lacks 'weight'"),
        ({}, {"src": np.arange(3, dtype=np.uint32)}, "do not fit together"),
        ({}, {"dst": np.arange(49.0)}, "do not fit together"),
        ({}, {"deleted": np.array([99], np.uint32)}, "not below num_vertices"),
    ],
)
def test_contents_that_do_not_fit(tmp_path, graph, header, arrays, message):
    path = tmp_path / "g"
    graph.save(path)
    rewrite(path, header, **arrays)
    with pytest.raises(FileFormatError, match=message):
        su.Graph.load(path, device="cpu")


def test_an_backend_that_is_not_installed_is_named(tmp_path, graph):
    path = tmp_path / "g"
    graph.save(path)
    rewrite(path, {"backend": "other"})
    with pytest.raises(FileFormatError, match="no backend 'other' is installed"):
        su.Graph.load(path, device="cpu")
    assert su.Graph.load(path, device="cpu", backend="csr_baseline").num_edges == 49


DAMAGED = {
    "num_vertices": (-1, 1.5, "50", True, 10**30, 2**32 - 1, None),
    "directed": ("yes", 1, None),
    "weight_dtype": ("foo", "float64", 4),
    "in_edges": ("no", None),
    "self_loops": ("foo", [], None),
    "backend": (None, "", ["slabhash"], "other"),
    "options": (None, [1], {"foo": 1}, {"load_factor": "high"}, {"load_factor": -3}, {"memory_limit": 1}),
    "graph_version": (-1, 2**64, "new"),
    "version": (0, "1", None),
    "format": (None, 1),
    "unknown": (1,),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGED.items() for value in values])
def test_damaged_headers(tmp_path, name, value):
    path = tmp_path / "g"
    made = su.Graph(50, backend="slabhash", device="cpu")
    made.insert_edges(np.arange(49), np.arange(1, 50))
    made.save(path)
    rewrite(path, {name: value})
    with pytest.raises(FileFormatError) as caught:
        su.Graph.load(path, device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["null", "[]", "3", '"text"'])
def test_a_header_that_is_no_dictionary(tmp_path, text):
    path = tmp_path / "g"
    su.Graph(5, device="cpu").save(path)
    with np.load(path) as archive:
        parts = {name: archive[name] for name in archive.files}
    with path.open("wb") as file:
        np.savez(file, **parts | {"header": np.frombuffer(text.encode(), np.uint8)})
    with pytest.raises(FileFormatError, match="its header is no dictionary"):
        su.Graph.load(path, device="cpu")


def test_what_is_no_archive_is_not_unpickled(tmp_path):
    path = tmp_path / "g.npz"
    path.write_bytes(b"\x80\x04no archive")
    with pytest.raises(FileFormatError, match="no zip archive"):
        su.Graph.load(path, device="cpu")


@pytest.mark.parametrize("name", ["directed", "weight_dtype", "in_edges", "self_loops", "num_vertices", "degree_hints"])
def test_what_a_snapshot_fixes_cannot_be_given(tmp_path, name):
    path = tmp_path / "g"
    su.Graph(5, device="cpu").save(path)
    with pytest.raises(ParameterError, match=f"{name} is part of the snapshot"):
        su.Graph.load(path, device="cpu", **{name: None})


def test_bytes_at_random(tmp_path):
    path = tmp_path / "g"
    made = su.Graph(50, device="cpu", weight_dtype="float32", in_edges=True)
    made.insert_edges(np.arange(49), np.arange(1, 50), 2)
    made.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(1)
    for _ in range(300):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 6)).tolist():
            data[at] = int(rng.integers(256))
        path.write_bytes(data)
        with contextlib.suppress(FileFormatError):  # a bit that nothing checks may have changed
            su.Graph.load(path, device="cpu").check()


def test_an_archive_that_points_before_its_file(tmp_path, graph, monkeypatch):
    def seek(*args, **options):
        raise OSError(22, "Invalid argument")

    graph.save(tmp_path / "g")
    monkeypatch.setattr(np, "load", seek)
    with pytest.raises(FileFormatError, match="damaged"):
        su.Graph.load(tmp_path / "g", device="cpu")


@pytest.mark.parametrize("weights", [[1, np.nan], [np.inf, 1]])
def test_weights_that_no_graph_has(tmp_path, weights):
    made = su.Graph(5, device="cpu", weight_dtype="float32")
    made.insert_edges([0, 1], [1, 2], 1)
    made.save(tmp_path / "g")
    rewrite(tmp_path / "g", weight=np.array(weights, np.float32))
    with pytest.raises(FileFormatError, match="damaged"):
        su.Graph.load(tmp_path / "g", device="cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_the_version_and_every_bit_of_the_weights_are_kept(tmp_path, backend, device, kind):
    graph = su.Graph(9, backend=backend, device=device, **KINDS[kind])
    for vertex in range(5):
        graph.insert_edges([vertex], [vertex + 1], None if graph.weight_dtype is None else vertex)
    graph.delete_vertices([4])
    graph.save(tmp_path / "g")
    loaded = su.Graph.load(tmp_path / "g", device=device)
    assert loaded.version == graph.version == 6
    loaded.insert_edges([1], [3], None if graph.weight_dtype is None else 1)
    assert loaded.version == 7


def test_subnormal_weights_and_signed_zeros(tmp_path, backend, device):
    graph = su.Graph(5, backend=backend, device=device, weight_dtype="float32")
    graph.insert_edges([0, 1, 2], [1, 2, 3], [1e-40, -0.0, 0.0])
    graph.save(tmp_path / "g")
    loaded = su.Graph.load(tmp_path / "g", device=device)
    weights = device.to_numpy(loaded.edge_weights([0, 1, 2], [1, 2, 3]))
    assert weights.tobytes() == np.array([1e-40, -0.0, 0.0], np.float32).tobytes()


def test_a_loaded_graph_takes_the_memory_of_one_that_was_built(backend, tmp_path):
    """On the CPU nothing is reserved beside the edges; deleted ids that edges name are live."""
    rng = np.random.default_rng(3)
    graph = su.Graph(200, backend=backend, device="cpu", in_edges=True)
    graph.insert_edges(*rng.integers(0, 150, (2, 4_000)))
    graph.delete_vertices([3, 180, 190])
    graph.save(tmp_path / "graph.npz")
    loaded = su.Graph.load(tmp_path / "graph.npz", device="cpu")
    built = su.Graph(200, backend=backend, device="cpu", in_edges=True)
    built.insert_edges(*graph.edges()[:2])
    assert loaded.memory_usage().allocated <= built.memory_usage().allocated + 204  # the mask of live ones
    assert loaded.deleted_vertices.tolist() == [3, 180, 190]
    assert loaded.edges().src.tolist() == graph.edges().src.tolist()
    loaded.check()
