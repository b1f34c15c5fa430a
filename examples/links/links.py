"""Who writes to whom next: a temporal link predictor, trained on a live window of messages while it slides.

The model is small and after TGAT (Xu et al. 2020): two layers of attention over sampled past messages, whose age is
encoded by cosines. Each slide's new messages are first predicted, then trained on; the past of both ends is sampled
from the window as of the very time of the message, so that no message is in its own past.

Three rows per seed: the live window; the same over one log of all messages, whose trees and losses are the same bit for
bit; and the rule that lets in what happens at the very time of a message, the message itself included: it leaks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from torch import nn
from torch_geometric.nn import TransformerConv

import suricate as su
import suricate.stream as st
from suricate.bench.constants import COLLEGEMSG
from suricate.pyg import loader

DAY = 86_400 * 10**9  #: nanoseconds
SIZE, SLIDE = 14 * DAY, 2 * DAY
SPAN = SIZE - SLIDE  #: as far as the past of every message in a slide is in the window
FAN, BATCH, WIDTH, TIMES = [10, 5], 200, 32, 16


class Messages(NamedTuple):
    """Messages in order of time, and the log from which their past is sampled."""

    log: Any
    src: torch.Tensor
    dst: torch.Tensor
    time: torch.Tensor


class Predictor(nn.Module):
    """Scores whether ``src`` writes to ``dst`` at a time, from the past of both."""

    def __init__(self, num_vertices: int) -> None:
        super().__init__()
        self.vertex = nn.Embedding(num_vertices, WIDTH)
        self.speed = nn.Parameter(torch.logspace(0, -6, TIMES))
        self.phase = nn.Parameter(torch.zeros(TIMES))
        self.layers = nn.ModuleList(TransformerConv(WIDTH, WIDTH // 2, heads=2, edge_dim=TIMES) for _ in FAN)
        self.score = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))

    def forward(self, data: Any, pairs: torch.Tensor) -> torch.Tensor:
        """Return a logit for each of ``pairs`` of roots of ``data``, ``[2, n]``."""
        age = (data.seed_time[data.batch[data.edge_index[1]]] - data.edge_time) / 1e9  # seconds
        coded = torch.cos(age.float()[:, None] * self.speed + self.phase)
        x = self.vertex(data.n_id)
        for layer in self.layers:
            x = x + layer(x, data.edge_index, coded).relu()
        return self.score(torch.cat([x[pairs[0]], x[pairs[1]]], 1))[:, 0]


def live(num_vertices: int, device: str) -> Iterator[Messages]:
    """Yield the new messages of each slide of a live window, and its log."""
    source = st.scan(COLLEGEMSG, src=0, dst=1, time=2, time_unit="s")
    graph = {"num_vertices": num_vertices, "device": device}
    for w in st.Window(source, size="14d", slide="2d", events="in", graph=graph):
        numbers = np.arange(w.log.next - w.events, w.log.next)
        yield Messages(w.log, *(as_ids(w.log.at(name, numbers)) for name in ("src", "dst", "time")))


def frozen(num_vertices: int, device: str) -> Iterator[Messages]:
    """Yield the same messages slide by slide, with one log of all of them."""
    src, dst, time = np.loadtxt(COLLEGEMSG, np.int64, unpack=True)
    order = np.argsort(time, kind="stable")
    src, dst, time = src[order], dst[order], time[order] * 10**9
    log = su.Events(num_vertices, device=device)
    log.append(time, src, dst)
    log.close_before(int(time[-1]) + 1)
    ends = np.unique(time // SLIDE)
    for end in ends:
        here = time // SLIDE == end
        yield Messages(log, *(torch.from_numpy(part[here]) for part in (src, dst, time)))


def as_ids(array: Any) -> torch.Tensor:
    """Return an array of the CPU or of a GPU as a tensor of integers on the CPU."""
    return torch.from_numpy(np.asarray(array.get() if hasattr(array, "get") else array).astype(np.int64))


def run(
    slides: Iterable[Messages], num_vertices: int, seed: int, *, through: bool = False
) -> tuple[list[float], float]:
    """Train over the slides; return the losses, and the AUC of the last half of messages, before training on them."""
    torch.manual_seed(seed)
    draws = torch.Generator().manual_seed(seed)
    model = Predictor(num_vertices)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses, scores = [], []
    for messages in slides:
        false = torch.randint(num_vertices, messages.dst.shape, generator=draws)
        for part in torch.arange(len(messages.time)).split(BATCH):
            count = len(part)
            roots = torch.cat([messages.src[part], messages.dst[part], false[part]])
            batches = loader(
                messages.log, roots, FAN, input_time=messages.time[part].repeat(3), batch_size=3 * count,
                time_window=SPAN, through=through, seed=seed,
            )  # fmt: skip
            (data,) = batches
            at = torch.arange(count)
            pairs = torch.cat([torch.stack([at, at + count]), torch.stack([at, at + 2 * count])], 1)
            labels = torch.cat([torch.ones(count), torch.zeros(count)])
            logits = model(data, pairs)
            scores.append((logits.detach(), labels))
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    late = scores[len(scores) // 2 :]
    return losses, auc(torch.cat([each[0] for each in late]), torch.cat([each[1] for each in late]))


def auc(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """Return how often a true pair scores above a false one."""
    ranks, true = rankdata(logits.numpy()), labels.numpy() == 1
    positive, negative = true.sum(), (~true).sum()
    return float((ranks[true].sum() - positive * (positive + 1) / 2) / (positive * negative))


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of the window; the model is trained on the CPU")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # so that sums have one order
    num_vertices = 1 + int(np.loadtxt(COLLEGEMSG, np.int64, usecols=(0, 1)).max())
    print(f"{'seed':>4} {'live':>7} {'frozen':>7} {'leaking':>8}  AUC of the last half, each before it was trained on")
    for seed in range(options.seeds):
        losses, found = run(live(num_vertices, options.device), num_vertices, seed)
        again, same = run(frozen(num_vertices, options.device), num_vertices, seed)
        _, leaking = run(frozen(num_vertices, options.device), num_vertices, seed, through=True)
        told = "" if losses == again else "  the losses differ"
        print(f"{seed:>4} {found:>7.4f} {same:>7.4f} {leaking:>8.4f}{told}")


if __name__ == "__main__":
    sys.exit(main())
