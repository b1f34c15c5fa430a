"""Snapshots: one file format for the graphs of every backend and device.

A snapshot is a NumPy ``.npz`` archive (every member has a checksum) of ``header`` (JSON, as bytes), ``src`` and ``dst``
(uint32, an undirected edge once), ``weight`` (if there are weights) and ``deleted`` (ids that may be given out again).
It is written beside its target and moved there in one step, so that a reader sees the old file or the new one, whole.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.errors import FileFormatError

if TYPE_CHECKING:
    from suricate.graph import Graph

FORMAT = "suricate graph"
FORMAT_VERSION = 1


def save(graph: Graph, path: str | Path) -> None:
    """Write ``graph`` to ``path``; a file that is there is replaced at the end, in one step. Waits for the device.

    Raises:
        OSError: the folder cannot be written; a file that was at ``path`` is still there, untouched.
    """
    path = Path(path)
    arrays = _arrays(graph)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # as open() would have made it
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    _sync_folder(path.parent)


def load(cls: type[Graph], path: str | Path, *, backend: Any, **options: Any) -> Graph:
    """Return the graph of the snapshot at ``path``; see ``Graph.load``.

    Raises:
        FileFormatError: it is no snapshot, of a later version, truncated or damaged.
        OSError: it cannot be read.
    """
    path = Path(path)
    try:
        header, arrays = _read(path)
    except (ValueError, KeyError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(path, None, f"this is no snapshot of a graph, or a damaged one ({error})") from error
    if header["format"] != FORMAT:
        raise FileFormatError(path, None, "this is no snapshot of a graph")
    if header["version"] > FORMAT_VERSION:
        reason = f"the snapshot has format version {header['version']}, this suricate reads up to {FORMAT_VERSION}"
        raise FileFormatError(path, None, reason)
    if backend is None:
        backend, options = header["backend"], {**header["options"], **options}
    return _build(cls, path, header, arrays, backend, options)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with open(path, "rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("one array, not an archive")
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(bytes(arrays["header"]))
    return {"format": header["format"], "version": int(header["version"]), **header}, arrays


def _arrays(graph: Graph) -> dict[str, Any]:
    edges = graph.edges()
    to_numpy = graph.device.to_numpy
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "num_vertices": graph.num_vertices,
        "directed": graph.directed,
        "weight_dtype": None if graph.weight_dtype is None else graph.weight_dtype.name,
        "in_edges": graph.directed and graph.has_in_edges,
        "self_loops": graph.self_loops,
        "backend": graph.backend,
        "options": graph.store("out").options(),
    }
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
        "src": to_numpy(edges.src),
        "dst": to_numpy(edges.dst),
        "deleted": graph.deleted_vertices,
    }
    if edges.weight is not None:
        arrays["weight"] = to_numpy(edges.weight)
    return arrays


def _build(
    cls: type[Graph], path: Path, header: dict[str, Any], arrays: dict[str, Any], backend: Any, options: dict[str, Any]
) -> Graph:
    try:
        n, src, dst, deleted = header["num_vertices"], arrays["src"], arrays["dst"], arrays["deleted"]
        weight = None if header["weight_dtype"] is None else arrays["weight"]
        described = {key: header[key] for key in ("directed", "weight_dtype", "in_edges", "self_loops")}
        _sound(path, n, src, dst, weight, deleted)
    except KeyError as error:
        raise FileFormatError(path, None, f"the snapshot lacks {error}") from error
    out, into = np.bincount(src, minlength=n), np.bincount(dst, minlength=n)
    loops = np.bincount(src[src == dst], minlength=n)
    hints = {"degree_hints": out} if described["directed"] else {"degree_hints": out + into - loops}
    if described["in_edges"]:
        hints["in_degree_hints"] = into
    graph = cls(n, backend=backend, **described, **hints, **options)
    graph.insert_edges(src, dst, weight)
    graph.restore_deleted(deleted)
    return graph


def _sound(path: Path, n: int, src: Any, dst: Any, weight: Any, deleted: Any) -> None:
    """Raise ``FileFormatError`` unless the arrays fit together."""
    plain = all(part.ndim == 1 and part.dtype == np.uint32 for part in (src, dst, deleted))
    if not plain or len(src) != len(dst) or (weight is not None and weight.shape != src.shape):
        raise FileFormatError(path, None, "the arrays of the snapshot do not fit together")
    if any(len(ids) and int(ids.max()) >= n for ids in (src, dst, deleted)):
        raise FileFormatError(path, None, f"the snapshot holds a vertex id that is not below num_vertices ({n})")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
