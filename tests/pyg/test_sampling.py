"""The notebook of samples for a graph network, on the CPU: it shows what its text says, and learns."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import torch

CHECKOUT = Path(__file__).parents[2]


def test_the_notebook_of_samples_learns(tmp_path: Path) -> None:
    kept = runpy.run_path(str(CHECKOUT / "docs/_ext/kept.py"))
    page = tmp_path / "sampling.md"
    page.write_text((CHECKOUT / "docs/tutorials/sampling.md").read_text().replace('DEVICE = "cuda"', 'DEVICE = "cpu"'))
    torch.set_num_threads(1)
    made = list(kept["outputs"](page))
    assert made[2].startswith("(True, ")
    first, *_, last = (float(number) for number in re.findall(r"0\.\d+", made[4]))
    assert first < 0.6 < 0.75 < last
    assert made[5] == "False 0\nTrue 1000\n"
