"""The sampler: trees of a log's events in the form in which loaders of PyTorch Geometric take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, NodeSamplerInput, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import edge_sample
from torch_geometric.utils import mask_to_index

from suricate.base.errors import DTypeError, ParameterError, RequirementError
from suricate.base.parameters import flag, integer, one_of, shown
from suricate.events.sampling import HOPS
from suricate.graph.naming import are_texts, vertices_of
from suricate.intake.arrays import as_array, as_ids
from suricate.operators.sampling import checked_fan

if TYPE_CHECKING:
    from suricate.events.sampling import Sample

TAKE = {"uniform": "uniform", "last": "recent"}  #: words of PyTorch Geometric, and those of ``Events.sample``


class Sampler(BaseSampler):
    """Samples the past of vertices from a log, for ``NodeLoader`` and ``LinkLoader``.

    Every root has a tree of its own (``disjoint=True`` of PyTorch Geometric), equal in every batch, order and worker.
    An event at the time of the root is *not* in its tree unless ``through=True``, which is what PyTorch Geometric does.

    Args:
        log: a ``su.Events`` or ``w.log``, or the job of a window with ``events=``: each batch is then sampled between
            two slides. Vertices are ids: with names, only names that are kept have ids that stay.
        num_neighbors: how many events of each vertex are sampled per hop; -1: all.
        temporal_strategy: ``"uniform"``, or ``"last"``: the most recent events.
        time_window: only events with times of at least ``time - time_window``, in ticks of the log; None: all.
        replace: whether an event may be drawn twice.
        through: whether events at the very time of the root count.
        hops: ``"seed"``: the time of the root limits all hops; ``"back"``: each event those before it.
        seed: trees of another seed are others: pass the epoch, or set the attribute ``seed``.

    Raises:
        RequirementError: vertices have names that may be forgotten; PyTorch Geometric asks for a node whose time it
            does not give; the log has changed since a worker was started; workers and a log on CUDA.
        ParameterError, UnknownNameError: an argument is invalid.
    """

    def __init__(
        self,
        log: Any,
        num_neighbors: Sequence[int],
        *,
        temporal_strategy: str = "uniform",
        time_window: int | None = None,
        replace: bool = False,
        through: bool = False,
        hops: str = "seed",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._take = TAKE[one_of("temporal_strategy", temporal_strategy, tuple(TAKE))]
        self._fan = list(checked_fan(num_neighbors, low=-1, high=(1 << 31) - 1, argument="num_neighbors"))
        self._span = None if time_window is None else integer("time_window", time_window, low=1)
        self._replace, self._through = flag("replace", replace), flag("through", through)
        self._hops, self.seed = one_of("hops", hops, HOPS), integer("seed", seed)
        self._ask = asker(log)
        self._watch = self._ask(lambda each: each._shared_version())

    @property
    def num_vertices(self) -> int:
        """The number of vertices of the log."""
        return self._ask(lambda log: log.num_vertices)

    def sample(self, vertices: Any, at: Any, finish: Callable[[Any, Sample], Any] | None = None) -> Any:
        """Return the ``Sample`` of ``vertices`` before the times ``at``, or what ``finish(log, sample)`` returns."""

        def drawn(log: Any) -> Any:
            refuse_stale(log, self._watch)
            found = log.sample(
                vertices, self._fan, at=at, span=self._span, take=self._take, through=self._through, hops=self._hops,
                replace=self._replace, seed=self.seed,
            )  # fmt: skip
            return found if finish is None else finish(log, found)

        return self._ask(drawn)

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        """Return the trees of the nodes in ``index``, whose times must be given."""
        data = refuse_lost_edges(inspect.currentframe())
        if index.time is None:
            raise RequirementError("nodes need times, of which the past is sampled: input_time=")
        found = refuse_other_edges(data, self._output(index.node, index.time))
        found.metadata = (index.input_id, index.time)
        return found

    def sample_from_edges(self, index: EdgeSamplerInput, neg_sampling: Any = None, **kwargs: Any) -> SamplerOutput:
        """Return the trees of the ends of the links in ``index``, and of negative ones, whose times must be given."""
        data = refuse_lost_edges(inspect.currentframe())
        if index.time is None:
            raise RequirementError("links need times, of which the past is sampled: edge_label_time=")
        found = edge_sample(index, self._output, self.num_vertices, disjoint=True, neg_sampling=neg_sampling)
        return refuse_other_edges(data, found)

    def _output(self, node: torch.Tensor, time: torch.Tensor) -> SamplerOutput:
        found = self.sample(node, whole_times(time))
        return SamplerOutput(
            ids_of(found.node), tensor(found.row), tensor(found.col), tensor(found.event), tensor(found.batch),
            list(found.nodes_per_hop), list(found.edges_per_hop),
        )  # fmt: skip


def asker(log: Any) -> Callable[[Callable[[Any], Any]], Any]:
    """Return a function that calls its argument with the log: of a job, between two of its slides."""
    query = getattr(log, "query", None)
    if query is not None:

        def asked(fn: Callable[[Any], Any]) -> Any:
            if torch.utils.data.get_worker_info() is not None:
                raise RequirementError("workers have no thread that runs the job: num_workers=0, or copy.copy(w.log)")
            return query(lambda w: fn(permanent(w.log))).result()

        return asked
    if not hasattr(log, "sample"):
        raise ParameterError(f"log must be a su.Events, a window's log or a job, got {shown(log)}")
    permanent(log)
    return lambda fn: fn(log)


def permanent(log: Any) -> Any:
    """Return ``log``; raises ``RequirementError`` if ids of its vertices are given to other names."""
    if log.names is not None and not log.names.keep:
        advice = "tables of features are by id: names=su.Names(keep=True) keeps them, or give ids"
        raise RequirementError(f"the ids of names that are forgotten are given to others; {advice}")
    return log


def refuse_stale(log: Any, watch: Any) -> None:
    """Raise in a worker whose log is on CUDA, or is not what it was when the worker was started."""
    if torch.utils.data.get_worker_info() is None:
        return
    if log.device.is_cuda:
        raise RequirementError("the log is on a CUDA device, which forked workers cannot use: num_workers=0")
    if int(watch[0]) != log._version:
        why = "the log has changed since this worker was started, which samples the old one"
        raise RequirementError(f"{why}; iterate over the loader again, or num_workers=0")


def refuse_lost_edges(frame: Any) -> Data | None:
    """Return the ``Data`` of the loader that calls; raises if it drops sampled edges, as it has no ``edge_index``."""
    loader = frame.f_back.f_locals.get("self") if frame is not None else None
    if not isinstance(loader, (NodeLoader, LinkLoader)) or not isinstance(loader.data, Data):
        return None
    if loader.data.edge_index is None:
        advice = "Data(..., edge_index=torch.empty((2, 0), dtype=torch.long)) keeps them"
        raise RequirementError(f"the loader drops the sampled edges of a Data without edge_index: {advice}")
    return loader.data


def refuse_other_edges(data: Data | None, found: SamplerOutput) -> SamplerOutput:
    """Return what was sampled; raises if ``data`` has attributes of edges, and edge i of it is not event i."""
    if data is None or not len(found.edge):
        return found
    names = sorted({*data.to_dict()} - {"edge_index"})
    named = [name for name in names if name in ("edge_attr", "edge_weight") or data.is_edge_attr(name)]
    if not named:
        return found
    edges, ends = data.edge_index, torch.stack((found.node[found.row], found.node[found.col]))
    fits = int(found.edge.max()) < edges.shape[1]
    if not fits or not torch.equal(edges[:, found.edge.to(edges.device)].sort(0)[0], ends.to(edges.device).sort(0)[0]):
        advice = "leave them out, and read log.at(column, batch.e_id)"
        raise RequirementError(f"{named[0]} of the Data is of other edges than the log's, by their numbers: {advice}")
    return found


def whole_times(given: Any) -> torch.Tensor:
    """Return times as a tensor; raises unless they are integers."""
    time = as_array(given, "times")
    if time.dtype.kind not in "iu":
        raise DTypeError(f"times are {time.dtype}; the log's are integers: torch.long, in its unit")
    return tensor(time.astype(np.int64, copy=False))


def tensor(array: Any) -> torch.Tensor:
    """Return an array as a tensor in the same memory, on the same device."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else torch.from_dlpack(array)


def ids_of(array: Any) -> torch.Tensor:
    """Return ids as int64, which indexing of tensors takes."""
    return tensor(array.astype(np.int64))


def seeds(nodes: Any, log: Any) -> torch.Tensor:
    """Return the ids of ``nodes``: int64, from ids, names that are texts, a mask, or None (all of the log)."""
    if nodes is None:
        return torch.arange(log.num_vertices)
    given = as_array(vertices_of(log, nodes, "input_nodes") if are_texts(nodes) else nodes, "input_nodes")
    if given.dtype.kind == "b" and given.shape == (log.num_vertices,):
        return mask_to_index(tensor(given))
    return ids_of(as_ids(given, "input_nodes"))
