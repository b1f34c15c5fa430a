"""Snapshots: one file format for the graphs of every backend and device.

A snapshot is a NumPy ``.npz`` archive (every member has a checksum) of ``header`` (JSON, as bytes), ``src`` and ``dst``
(uint32, an undirected edge once), ``weight`` (if there are weights), ``deleted`` (the ids of deleted vertices) and, if
there are names or columns of vertices, ``names.*`` and ``columns.*`` (their states); the format version is then 2,
else 1. Version 3 has columns of edges, ``edge_columns.*``, in the order of the edges, in place of weights.
A pickled graph is the same, as bytes.

A graph of several processes is a file of each with its edges, and one that names them, which is written last: version 4
has ``parts``, the names of files beside it, and ``stamp`` in place of edges; the parts are archives of ``stamp`` and
edges, in version 5 with ``edge_columns.*``. The names alternate, so that a
snapshot is whole until the next one is. Version 6 is any of these with ``objects``, JSON.
"""

from __future__ import annotations

import io
import os
import secrets
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from suricate.base.archives import DAMAGE, as_member, one_line, prefixed, read_archive, state_in
from suricate.base.devices import CPU, Device
from suricate.base.errors import (
    CapacityError,
    DeviceError,
    FileFormatError,
    ParameterError,
    RequirementError,
    SuricateError,
    UnknownNameError,
)
from suricate.base.files import as_path, replacing
from suricate.base.progress import working
from suricate.base.types import MAX_VERTICES, WEIGHT_DTYPES, EdgeList
from suricate.graph.edge_columns import columns_by_edge
from suricate.graph.options import GraphOptions, choose_backend
from suricate.intake.arrays import LOOPS
from suricate.intake.names import Names
from suricate.state.column import Column, dtype_of
from suricate.state.column_map import columns_of_state, state_of
from suricate.state.objects import Objects
from suricate.store import Store

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm
    from suricate.graph import Graph

FORMAT, HEADER = "suricate graph", "header"
FORMAT_VERSION = 6
NAMES, COLUMNS, EDGES = "names.", "columns.", "edge_columns."  #: what the arrays of these states begin with
OBJECTS = "objects"  #: the array with the ``Objects`` of a graph
STORED = ("directed", "weight_dtype", "in_edges", "self_loops")  #: options of a graph that its snapshot fixes
FIXED = ("num_vertices", "degree_hints", "in_degree_hints", "names", "edge_columns")  #: that follow from it
PARTS, STAMP = "parts", "stamp"
OF_EDGES = ("src", "dst", "weight")  #: what the parts hold
GENERATIONS = "ab"  #: what the names of the parts of one snapshot and the next have in them
Attributes = dict[str, tuple[Any, Any]]  # columns by name: values, and the missing one
PICKLED = Path("<pickled graph>")  #: stands for the file in messages
MAX_IDLE = 1 << 20  #: vertices beyond four per edge whose degrees are counted before the graph is made


@dataclass(frozen=True)
class Header:
    """The description of the graph in a snapshot; raises ``ValueError`` if a value is impossible."""

    num_vertices: int
    directed: bool
    weight_dtype: str | None
    in_edges: bool
    self_loops: str
    backend: str
    options: dict[str, Any] = field(default_factory=dict)
    graph_version: int = 0

    def __post_init__(self) -> None:
        _demand("num_vertices", self.num_vertices, type(self.num_vertices) is int)
        _demand("num_vertices", self.num_vertices, 0 <= self.num_vertices <= MAX_VERTICES)
        _demand("directed", self.directed, isinstance(self.directed, bool))
        _demand("in_edges", self.in_edges, isinstance(self.in_edges, bool))
        names = (None, *(dtype.name for dtype in WEIGHT_DTYPES))
        _demand("weight_dtype", self.weight_dtype, self.weight_dtype in names)
        _demand("self_loops", self.self_loops, isinstance(self.self_loops, str) and self.self_loops in LOOPS)
        _demand("backend", self.backend, isinstance(self.backend, str))
        _demand("options", self.options, isinstance(self.options, dict))
        _demand("graph_version", self.graph_version, type(self.graph_version) is int)
        _demand("graph_version", self.graph_version, 0 <= self.graph_version < 1 << 63)


def _demand(name: str, value: Any, holds: bool) -> None:
    if not holds:
        raise ValueError(f"{name} is {str(value)[:60]!r}")


def save(graph: Graph, path: str | Path) -> None:
    """Write ``graph`` to ``path``, replacing an existing file only when complete. Waits for the device.

    Of a graph of several processes each writes a file of its own beside it, and ``path`` names them.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.

    Example:
        >>> su.Graph.from_coo([0, 1], [1, 2], device="cpu").save("graph.npz")
        >>> su.Graph.load("graph.npz", device="cpu")
        <Graph: 3 vertices, 2 edges, directed, unweighted; slabhash on cpu, version 1>
    """
    with graph.exclusive():
        arrays = _arrays(graph, graph._objects)
    if graph.partition is not None:
        _save_parts(graph, graph.partition.comm, as_path(path), arrays)
        return
    with working(f"writing {as_path(path).name}"), replacing(path) as file:
        np.savez(file, **arrays)


def _save_parts(graph: Graph, comm: Comm, path: Path, arrays: dict[str, Any]) -> None:
    """Write a file with the edges of this process, then, on the first process, the one that names all these files."""
    path = Path(os.path.realpath(path))
    generation, stamp = comm.agree((_next_generation(path), secrets.token_hex(8)) if comm.rank == 0 else None)
    names = [f"{path.name}.{generation}{rank}" for rank in range(comm.size)]
    edges = {name: arrays.pop(name) for name in OF_EDGES if name in arrays}
    if graph.edge_table is not None:
        edges |= {name: arrays.pop(name) for name in [*arrays] if name.startswith(EDGES)}
        none = {name: Column(CPU, 0, *kind) for name, kind in graph.edge_table.kinds.items()}
        arrays |= prefixed(EDGES, state_of(none))
    with comm.alike(), replacing(path.with_name(names[comm.rank])) as file:
        np.savez(file, **edges | {STAMP: np.array(stamp)})
    with comm.alike():
        if comm.rank == 0:
            with replacing(path) as file:
                np.savez(file, **arrays | {STAMP: np.array(stamp), PARTS: np.array(names)})
            for left in _parts_beside(path) - set(names):
                path.with_name(left).unlink(missing_ok=True)


def _next_generation(path: Path) -> str:
    """Return the letter for the names of new parts: the one that the parts of the snapshot at ``path`` do not have."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            used = str(archive[PARTS][0])[len(path.name) + 1]
    except (*DAMAGE, OSError):
        return GENERATIONS[0]
    return GENERATIONS[used == GENERATIONS[0]]


def _parts_beside(path: Path) -> set[str]:
    """Return the names of files beside ``path`` with, now or before, the edges of a process in a snapshot there."""
    ahead = len(path.name) + 1
    found = {name for name in os.listdir(path.parent) if name.startswith(f"{path.name}.")}
    return {name for name in found if name[ahead : ahead + 1] in (*GENERATIONS,) and name[ahead + 1 :].isdecimal()}


def to_bytes(graph: Graph) -> bytes:
    """Return ``graph``, but for its objects, as the bytes of a snapshot file."""
    file = io.BytesIO()
    with graph.exclusive():
        arrays = _arrays(graph, None)
    try:
        np.savez(file, **arrays)
        return file.getvalue()
    except (MemoryError, ValueError) as error:  # NumPy stumbles over the file that it could not write
        raise CapacityError(f"memory does not suffice to pickle the graph: {one_line(error)}") from error


def load(
    cls: type[Graph],
    path: str | Path,
    *,
    device: str | Device = "auto",
    backend: str | type[Store] | None = None,
    checks: str = "eager",
    memory_limit: int | str | None = None,
    **options: Any,
) -> Graph:
    """Return the graph of a snapshot, on any device and backend (None: the one that wrote it, with its options).

    ``checks``, ``memory_limit`` and ``options`` are those of ``Graph``.

    Raises:
        FileFormatError: not a snapshot, of a later version, truncated or damaged, or of a backend that is not
            installed.
        OSError: it cannot be read.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.save("graph.npz")
        >>> su.Graph.load("graph.npz", device="cpu").num_edges
        2
    """
    path = as_path(path)
    given = sorted(options.keys() & {*STORED, *FIXED})
    if given:
        raise ParameterError(f"{given[0]} is part of the snapshot and cannot be changed by loading it")
    comm = options.get("comm")
    with working(f"loading {path.name}"), nullcontext() if comm is None else comm.alike(), open(path, "rb") as file:
        header, arrays, columns = _read(file, path, (0, 1) if comm is None else (comm.rank, comm.size))
    if backend is None:
        backend = header.backend
        _check_backend(path, header, device)
        options = {**header.options, **options}
    options |= {"checks": checks, "memory_limit": memory_limit}
    with working(f"building the graph of {path.name}"):
        return _build(cls, path, header, arrays, columns, device=device, backend=backend, **options)


def reduced(graph: Graph) -> tuple[Any, ...]:
    """Return :func:`from_bytes` and its arguments, by which ``pickle`` rebuilds the graph."""
    if graph.partition is not None:
        raise RequirementError("a graph of several processes cannot be pickled: save it")
    objects = None if graph._objects is None else graph._objects.copy()
    return from_bytes, (type(graph), graph._options, graph.device.kind, to_bytes(graph), objects)


def from_bytes(
    cls: type[Graph], options: GraphOptions, device: str, data: bytes, objects: Objects | None = None
) -> Graph:
    """Return the graph whose :func:`to_bytes` returned ``data``, with ``options``, on a device of the same kind."""
    header, arrays, columns = _read(io.BytesIO(data), PICKLED)
    try:
        place = choose_backend(options.backend, device)[1]
    except DeviceError as error:
        raise DeviceError(f"the graph was pickled on {device}: {error}; use save() and load() instead") from None
    graph = _build(
        cls, PICKLED, header, arrays, columns, device=place, backend=options.backend, checks=options.checks,
        memory_limit=options.memory_limit, threads=options.threads, **header.options,
    )  # fmt: skip
    graph._objects = objects
    return graph


def _read(
    file: IO[bytes], path: Path, share: tuple[int, int] = (0, 1)
) -> tuple[Header, dict[str, np.ndarray], Attributes]:
    """Return the header of a snapshot, its arrays, and the columns of its edges; raises unless they fit together."""
    try:
        version, fields, arrays = read_archive(file, HEADER, FORMAT)
    except DAMAGE as error:
        reason = f"this is no snapshot of a graph, or a damaged one ({one_line(error)})"
        raise FileFormatError(path, None, reason) from error
    if version > FORMAT_VERSION:
        reason = f"the snapshot has format version {version}, this suricate reads up to {FORMAT_VERSION}"
        raise FileFormatError(path, None, reason)
    try:
        header = Header(**fields)
    except (TypeError, ValueError) as error:
        raise FileFormatError(path, None, f"the header of the snapshot is damaged: {one_line(error)}") from error
    parts = arrays.pop(PARTS, None)
    if parts is not None:
        edges, columns = _edges_of_parts(path, parts.tolist()[share[0] :: share[1]], arrays, header)
        arrays |= edges
    _check_arrays(path, header, arrays)
    if parts is None:
        columns = _attributes(path, arrays, EDGES, len(arrays["src"]))
    if parts is None and share[1] > 1:
        own = slice(*(len(arrays["src"]) * (share[0] + k) // share[1] for k in (0, 1)))
        arrays |= {name: arrays[name][own] for name in OF_EDGES if name in arrays}
        columns = {name: (values[own], missing) for name, (values, missing) in columns.items()}
    return header, arrays, columns


def _edges_of_parts(
    path: Path, names: list[str], arrays: dict[str, np.ndarray], header: Header
) -> tuple[dict[str, np.ndarray], Attributes]:
    """Return the edges in the files ``names`` beside ``path``, as arrays by name, and the columns of these edges."""
    stamp, kinds = arrays.pop(STAMP), _attributes(path, arrays, EDGES, 0)
    path = Path(os.path.realpath(path))
    dtypes = {"src": "uint32", "dst": "uint32"} | ({"weight": header.weight_dtype} if header.weight_dtype else {})
    columns: dict[str, list[np.ndarray]] = {name: [np.empty(0, dtype)] for name, dtype in dtypes.items()}
    attributes = {name: [none] for name, (none, _) in kinds.items()}
    for name in names:
        try:
            with np.load(path.with_name(name), allow_pickle=False) as archive:
                if archive[STAMP] != stamp:
                    raise ValueError("it is of another snapshot")
                for column, found in columns.items():
                    found.append(archive[column])
                state = state_in({name: archive[name] for name in archive.files if name.startswith(EDGES)}, EDGES)
                held = columns_of_state(state, len(columns["src"][-1]))
                for column, values in attributes.items():
                    values.append(held[column][0])
        except FileNotFoundError:
            raise FileFormatError(path, None, f"its part {name} is missing") from None
        except DAMAGE as error:
            raise FileFormatError(path, None, f"its part {name} is damaged ({one_line(error)})") from error
    return (
        {column: np.concatenate(found) for column, found in columns.items()},
        {column: (np.concatenate(found), kinds[column][1]) for column, found in attributes.items()},
    )


def _check_arrays(path: Path, header: Header, arrays: dict[str, np.ndarray]) -> None:
    """Raise ``FileFormatError`` unless the arrays of the snapshot at ``path`` fit together, and fit its header."""
    expected = {"src": "uint32", "dst": "uint32", "deleted": "uint32"}
    if header.weight_dtype is not None:
        expected["weight"] = header.weight_dtype
    for name, dtype in expected.items():
        if name not in arrays:
            raise FileFormatError(path, None, f"the snapshot lacks {name!r}")
        if arrays[name].ndim != 1 or arrays[name].dtype != dtype:
            raise FileFormatError(path, None, "the arrays of the snapshot do not fit together")
    if len({len(arrays[name]) for name in expected if name != "deleted"}) > 1 or not _plain(arrays) <= expected.keys():
        raise FileFormatError(path, None, "the arrays of the snapshot do not fit together")
    n = header.num_vertices
    if any(len(arrays[name]) and int(arrays[name].max()) >= n for name in ("src", "dst", "deleted")):
        raise FileFormatError(path, None, f"the snapshot holds a vertex id that is not below num_vertices ({n})")


def _plain(arrays: dict[str, np.ndarray]) -> set[str]:
    """Return the names of all arrays but those of vertex names, of columns and of objects."""
    return {name for name in arrays if name != OBJECTS and not name.startswith((NAMES, COLUMNS, EDGES))}


def _names(path: Path, header: Header, arrays: dict[str, np.ndarray]) -> Names | None:
    """Return the names of vertices in a snapshot's arrays, None if there are none; ``path`` is for messages."""
    state = state_in(arrays, NAMES)
    if not state:
        return None
    try:
        if int(state["about"][3]) > header.num_vertices:  # ahead of the allocation
            raise ValueError("there are more names than vertices")
        return Names.restore(state)
    except DAMAGE as error:
        raise FileFormatError(path, None, f"the names of the snapshot are damaged: {one_line(error)}") from error


def _objects(path: Path, arrays: dict[str, np.ndarray]) -> Objects | None:
    """Return the objects in a snapshot's arrays, None if there are none; ``path`` is for messages."""
    try:
        return Objects.restore(arrays[OBJECTS]) if OBJECTS in arrays else None
    except DAMAGE as error:
        raise FileFormatError(path, None, f"the objects of the snapshot are damaged: {one_line(error)}") from error


def _attributes(path: Path, arrays: dict[str, np.ndarray], prefix: str, size: int) -> Attributes:
    """Return columns of ``size`` vertices or edges in a snapshot, by name: values and the missing value."""
    try:
        return columns_of_state(state_in(arrays, prefix), size)
    except DAMAGE as error:
        raise FileFormatError(path, None, f"the columns of the snapshot are damaged: {one_line(error)}") from error


def _check_backend(path: Path, header: Header, device: str | Device) -> None:
    """Raise ``FileFormatError`` unless the backend of the header is installed and takes the options on ``device``."""
    try:
        backend, place = choose_backend(header.backend, device)
    except UnknownNameError as error:
        raise FileFormatError(path, None, f"{one_line(error)}; choose one with load(..., backend=...)") from None
    try:
        options = GraphOptions(backend, backend_options=header.options)
        options.make_stores(0, CPU if "cpu" in backend.devices else place)
    except SuricateError as error:
        raise FileFormatError(path, None, f"the header of the snapshot is damaged: {one_line(error)}") from error


def _arrays(graph: Graph, objects: Objects | None) -> dict[str, Any]:
    options = graph.options
    edges = graph.edges() if graph.partition is None else graph._once(graph.partition.local.store().edges())
    to_numpy = graph.device.to_numpy
    header = Header(
        num_vertices=graph.num_vertices,
        directed=options.directed,
        weight_dtype=None if options.weight_dtype is None or options.edge_columns else options.weight_dtype.name,
        in_edges=options.in_edges,
        self_loops=options.self_loops,
        backend=graph.backend,
        options=graph.store("out").options(),
        graph_version=graph.version,
    )
    states = prefixed(COLUMNS, state_of(graph._columns))
    if (names := graph.names) is not None:
        if names.num_ids > graph.num_vertices:
            reason = f"the graph has {graph.num_vertices} vertices, its names have {names.num_ids} ids"
            raise RequirementError(f"{reason}: add vertices with insert_vertices()")
        states |= prefixed(NAMES, names.state())
    version = 4 if graph.partition is not None else 2 if states else 1
    if options.edge_columns:
        version, columns = 3 if graph.partition is None else 5, columns_by_edge(graph, edges.row)
        states |= prefixed(EDGES, state_of(columns))
    if objects is not None:
        version, states[OBJECTS] = FORMAT_VERSION, objects.state()
    arrays: dict[str, Any] = {
        HEADER: as_member({"format": FORMAT, "version": version, **asdict(header)}),
        "src": to_numpy(edges.src),
        "dst": to_numpy(edges.dst),
        "deleted": graph.deleted_vertices,
    }
    if header.weight_dtype is not None:
        arrays["weight"] = to_numpy(edges.weight)
    return arrays | states


def _build(
    cls: type[Graph], path: Path, header: Header, arrays: dict[str, np.ndarray], columns: Attributes, **options: Any
) -> Graph:
    from suricate.graph.exchange.parts import insert_parts  # whose package needs this module

    n, src, dst = header.num_vertices, arrays["src"], arrays["dst"]
    names, attributes = _names(path, header, arrays), _attributes(path, arrays, COLUMNS, n)
    objects = _objects(path, arrays)
    described = {name: getattr(header, name) for name in STORED}
    weight: Any = arrays.get("weight") if header.weight_dtype is not None else None
    if columns:
        described["edge_columns"] = {name: (dtype_of(part), missing) for name, (part, missing) in columns.items()}
        weight = {name: part for name, (part, _) in columns.items()}
    try:
        hints = {}
        if choose_backend(options["backend"], options["device"])[1].is_cuda:  # a CPU builds from the batch as quickly
            hints = _hints(header, src, dst, options.get("comm"))
        graph = cls(n, **described, **hints, **options)
    except CapacityError:
        raise
    except MemoryError as error:
        raise CapacityError(f"{path}: memory does not suffice for {n} vertices: {error}") from error
    try:
        if graph.partition is None:
            graph.insert_edges(src, dst, weight)
        else:
            insert_parts(graph, graph.partition.comm, EdgeList(src, dst, weight))
    except (CapacityError, DeviceError):
        raise
    except SuricateError as error:  # weights that are not finite, self-loops where there are none
        raise FileFormatError(path, None, f"the snapshot is damaged: {one_line(error)}") from error
    updater = graph._updater
    deleted = np.unique(arrays["deleted"])
    if len(deleted):
        is_end = np.zeros(n, bool)  # an end of an edge is live
        is_end[src] = is_end[dst] = True
        deleted = deleted[~is_end[deleted]]
    if graph.partition is not None:
        held = [np.isin(arrays["deleted"], part) for part in graph.partition.comm.allgatherv(deleted)]
        deleted = arrays["deleted"][np.logical_and.reduce(held)]
    updater.inherit(header.graph_version, deleted, updater.had_loops)
    graph.names, graph._objects = names, objects
    for name, (values, missing) in attributes.items():
        graph.columns.add(name, values, missing=missing)
    return graph


def _hints(header: Header, src: np.ndarray, dst: np.ndarray, comm: Comm | None) -> dict[str, Any]:
    """Return degree hints for the graph that is loaded, as arguments; no hints if most vertices have no edges."""
    n = header.num_vertices
    if n > MAX_IDLE + 4 * (len(src) if comm is None else sum(comm.allgather(len(src)))):
        return {}
    hints = _degrees(header, src, dst)
    return hints if comm is None else {name: sum(comm.allgatherv(part)) for name, part in hints.items()}


def _degrees(header: Header, src: np.ndarray, dst: np.ndarray) -> dict[str, Any]:
    n = header.num_vertices
    out, into = np.bincount(src, minlength=n), np.bincount(dst, minlength=n)
    if not header.directed:
        return {"degree_hints": out + into - np.bincount(src[src == dst], minlength=n)}
    return {"degree_hints": out, "in_degree_hints": into} if header.in_edges else {"degree_hints": out}
