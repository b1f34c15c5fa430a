"""The example of link prediction: a live window trains the same model, bit for bit, as a log of all events."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

FILE = Path(__file__).parents[2] / "examples/links/links.py"


def test_a_live_window_trains_the_model_of_a_frozen_log() -> None:
    spec = importlib.util.spec_from_file_location("links", FILE)
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    torch.set_num_threads(1)
    size = 1900
    live, live_auc = links.run(links.live(size, "cpu"), size, 0)
    frozen, frozen_auc = links.run(links.frozen(size, "cpu"), size, 0)
    assert live == frozen
    assert live_auc == frozen_auc > 0.7
