"""The loader: minibatches of sampled trees as ``Data``, with features, event columns and times, on the log's device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.data import Data

from suricate.base.errors import DTypeError, ParameterError, ShapeError
from suricate.base.parameters import flag, integer, shown
from suricate.pyg.sampling import Sampler, ids_of, seeds, tensor, whole_times

if TYPE_CHECKING:
    from suricate.events.sampling import Sample


class Loader:
    """Iterates over minibatches of vertices, each with its past: ``torch_geometric.data.Data`` on the log's device.

    A batch has ``edge_index``, ``n_id`` and ``e_id`` (ids of vertices, numbers of events), ``edge_time``, ``batch``
    (whose tree a node is in), ``seed_time``, ``input_id``, ``batch_size``, ``num_sampled_nodes`` and
    ``num_sampled_edges``; ``x`` and ``edge_attr`` where asked for. The first ``batch_size`` nodes are the roots. Over
    the job of a window each batch is sampled between two slides. Nothing is copied but ids, which become int64.

    Args:
        log: as for ``suricate.pyg.sampler``, like ``num_neighbors`` and ``options``.
        input_nodes: the roots: ids, names that are texts, or a mask; None: all vertices.
        num_neighbors: how many events of each vertex are sampled per hop; -1: all.
        input_time: integers, the time of each root, whose past is sampled; one for all; None: as of the log's
            ``closed``.
        batch_size: roots per batch.
        shuffle: whether roots come in another order each time: that of torch's random state, or of ``generator``.
        drop_last: whether a last batch of fewer roots is left out.
        x: a tensor, a row of features per vertex, from which ``x`` of each batch is taken.
        edge_attr: names of columns of the log, whose values become ``edge_attr``, a column each, in float32.
        generator: a ``torch.Generator``.
        transform: called with each ``Data``; what it returns is the batch.
        options: ``temporal_strategy``, ``time_window``, ``replace``, ``through``, ``hops``, ``seed`` of the sampler.
            Set the attribute ``seed`` before an epoch to draw other trees.

    Raises:
        ShapeError, DTypeError, ParameterError, UnknownNameError: an argument is invalid.
        RequirementError: as the sampler.
    """

    def __init__(
        self,
        log: Any,
        input_nodes: Any,
        num_neighbors: Sequence[int],
        *,
        input_time: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        x: torch.Tensor | None = None,
        edge_attr: Sequence[str] | str = (),
        generator: torch.Generator | None = None,
        transform: Callable[[Data], Any] | None = None,
        **options: Any,
    ) -> None:
        self._sampler = Sampler(log, num_neighbors, **options)
        self._features, self._columns = x, [edge_attr] if isinstance(edge_attr, str) else edge_attr
        self._nodes = self._sampler._ask(lambda each: self._checked(each, input_nodes))
        self._time = None if input_time is None else whole_times(input_time)
        if self._time is not None and self._time.ndim and self._time.shape != self._nodes.shape:
            raise ShapeError(f"input_time has shape {tuple(self._time.shape)} for {len(self._nodes)} input_nodes")
        self._size = integer("batch_size", batch_size, low=1)
        self._shuffle, self._drop = flag("shuffle", shuffle), flag("drop_last", drop_last)
        if not (generator is None or isinstance(generator, torch.Generator)):
            raise ParameterError(f"generator must be a torch.Generator, got {shown(generator)}")
        if not (transform is None or callable(transform)):
            raise ParameterError(f"transform must be a function of a Data, got {shown(transform)}")
        self._generator, self._transform = generator, transform

    def _checked(self, log: Any, nodes: Any) -> torch.Tensor:
        """Return the ids of ``nodes``; raises unless ``x`` and ``edge_attr`` are features and columns of the log."""
        if self._features is not None and not (isinstance(self._features, torch.Tensor) and self._features.ndim):
            raise DTypeError(f"x must be a tensor, a row per vertex, got {shown(self._features)}")
        if not isinstance(self._columns, (list, tuple)):
            raise ParameterError(f"edge_attr must be names of columns, got {shown(self._columns)}")
        for name in self._columns:
            numbers(log.at(name, []), name)
        self._demand_rows(log)
        return seeds(nodes, log)

    def _demand_rows(self, log: Any) -> None:
        """Raise ``ShapeError`` if a vertex of the log, which may have grown, has no row of ``x``."""
        rows = log.num_vertices if self._features is None else len(self._features)
        if rows < log.num_vertices:
            raise ShapeError(f"x has {rows} rows, the log {log.num_vertices} vertices: pass a row for each of them")

    @property
    def seed(self) -> int:
        """The seed of the trees; set it before an epoch."""
        return self._sampler.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._sampler.seed = seed

    def __len__(self) -> int:
        """Return the number of batches."""
        return (len(self._nodes) + (0 if self._drop else self._size - 1)) // self._size

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches, each sampled when it is asked for."""
        count = len(self._nodes)
        order = torch.randperm(count, generator=self._generator) if self._shuffle else torch.arange(count)
        for at in range(0, self._size * len(self), self._size):
            yield self._batch(order[at : at + self._size])

    def _batch(self, which: torch.Tensor) -> Any:
        time = self._time
        if time is not None:
            time = time[which] if time.ndim else time.expand(len(which))
        data = self._sampler.sample(self._nodes[which], time, finish=self._data)
        data.input_id = which
        if time is not None:
            data.seed_time = time.to(data.n_id.device, torch.long)
        if self._features is not None:
            data.x = self._features[data.n_id.to(self._features.device)]
        return data if self._transform is None else self._transform(data)

    def _data(self, log: Any, found: Sample) -> Data:
        self._demand_rows(log)
        roots, row = found.nodes_per_hop[0], tensor(found.row)
        data = Data(
            edge_index=torch.stack([row, tensor(found.col)]), n_id=ids_of(found.node), e_id=tensor(found.event),
            edge_time=tensor(found.time), batch=tensor(found.batch), batch_size=roots, num_nodes=len(found.node),
            seed_time=torch.full((roots,), log.closed or 0, device=row.device),
            num_sampled_nodes=list(found.nodes_per_hop), num_sampled_edges=list(found.edges_per_hop),
        )  # fmt: skip
        if self._columns:
            columns = [numbers(log.at(name, found.event), name) for name in self._columns]
            data.edge_attr = torch.stack([tensor(column) for column in columns], 1)
        return data


def numbers(column: Any, name: str) -> Any:
    """Return the values of a column in float32; raises unless they are numbers."""
    if column.dtype.kind not in "iufb":
        raise ParameterError(f"edge_attr: column {name!r} holds texts: encode them as numbers")
    return column.astype(np.float32)
