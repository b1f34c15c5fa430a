"""Loaders over a log on CUDA: the batches of the same log on the CPU, as tensors on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader

import suricate as su
from suricate.errors import RequirementError
from suricate.pyg import loader, sampler

pytestmark = pytest.mark.gpu
SIZE = 200
FIELDS = "edge_index", "n_id", "e_id", "batch"


def log_on(device: str) -> su.Events:
    rng = np.random.default_rng(4)
    time, (src, dst) = np.sort(rng.integers(0, 300, 5000)), rng.integers(0, SIZE, (2, 5000))
    made = su.Events(SIZE, device=device, columns={"fee": "float64"})
    made.append(time, src, dst, {"fee": time * 0.5})
    made.close_before(301)
    return made


def assert_equal(one: Data, other: Data, fields: tuple[str, ...]) -> None:
    for name in fields:
        assert torch.equal(one[name].cpu(), other[name]), name


@pytest.mark.parametrize("where", ["cpu", "cuda"])  # where the caller's tensors are
@pytest.mark.parametrize("strategy", ["uniform", "last"])
def test_the_loader_of_a_log_on_cuda(where: str, strategy: str) -> None:
    roots, at = torch.arange(SIZE), torch.linspace(20, 299, SIZE).long()
    x = torch.randn(SIZE, 3)
    options: Any = {"batch_size": 64, "edge_attr": "fee", "temporal_strategy": strategy}
    own = loader(log_on("cuda"), roots.to(where), [10, 5], input_time=at.to(where), x=x.to("cuda"), **options)
    seen = 0
    for data, right in zip(own, loader(log_on("cpu"), roots, [10, 5], input_time=at, x=x, **options), strict=True):
        fields = *FIELDS, "x", "edge_attr", "edge_time", "seed_time"
        assert all(data[name].is_cuda for name in fields)
        assert_equal(data, right, fields)
        seen += len(data.e_id)
    assert seen > 1000


def test_loaders_of_pytorch_geometric_over_a_log_on_cuda() -> None:
    rng = np.random.default_rng(1)
    roots, at = torch.arange(SIZE), torch.linspace(20, 299, SIZE).long()
    empty = Data(edge_index=torch.empty((2, 0), dtype=torch.long), num_nodes=SIZE)
    links, late = torch.from_numpy(rng.integers(0, SIZE, (2, 300))), torch.full((300,), 250)
    logs = [log_on("cuda"), log_on("cpu")]
    nodes = [NodeLoader(empty, sampler(log, [4, 2]), roots, input_time=at, batch_size=50) for log in logs]
    pairs = [LinkLoader(empty, sampler(log, [4, 2]), links, edge_label_time=late, batch_size=50) for log in logs]
    for loaders in (nodes, pairs):
        for data, right in zip(*loaders, strict=True):
            assert len(right.e_id) > 50
            assert_equal(data, right, FIELDS)


def test_forked_workers_use_a_log_on_the_cpu_after_cuda_has_begun() -> None:
    torch.zeros(1, device="cuda")
    empty = Data(edge_index=torch.empty((2, 0), dtype=torch.long), num_nodes=SIZE)
    options: Any = {"input_time": torch.full((SIZE,), 200), "batch_size": 50}
    batches = [
        NodeLoader(empty, sampler(log_on("cpu"), [4]), torch.arange(SIZE), num_workers=k, **options) for k in (0, 2)
    ]
    for data, right in zip(*batches, strict=True):
        assert_equal(data, right, FIELDS)


def test_forked_workers_cannot_use_a_log_on_cuda() -> None:
    empty = Data(edge_index=torch.empty((2, 0), dtype=torch.long), num_nodes=SIZE)
    batches = NodeLoader(
        empty, sampler(log_on("cuda"), [2]), torch.arange(4), input_time=torch.full((4,), 200), num_workers=1
    )
    with pytest.raises(RequirementError, match="num_workers=0"):
        next(iter(batches))
