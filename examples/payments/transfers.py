"""Payments within two groups of accounts: sums that jump, and the one transfer that joined the groups.

The payments are made up. ``python examples/payments/transfers.py [FOLDER]``; docs/streams.md explains the words.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import suricate.stream as st

DAY, DAYS, ACCOUNTS = 86_400, 14, 30  #: accounts of a group
TRANSFER = (9 * DAY + 40_000, "north 7", "south 3", 500)  #: the planted one
JUMP = ("north 2", "north 5")  #: who pays a hundred times as much from a day on


def payments(seed: int = 1) -> list[tuple[int, str, str, int]]:
    """Return payments by time: seconds, payer, payee, cents."""
    rng = np.random.default_rng(seed)
    found = [TRANSFER]
    for group in ("north", "south"):
        number = 100 * DAYS
        time, ends = rng.integers(0, DAYS * DAY, number), rng.integers(0, ACCOUNTS, (2, number))
        cents = rng.integers(900, 1100, number)
        found += [(int(at), f"{group} {payer}", f"{group} {payee}", int(paid))
                  for at, payer, payee, paid in zip(time, *ends, cents, strict=True)]  # fmt: skip
    found += [(day * DAY + 3600, *JUMP, 1_000 if day < 6 else 100_000) for day in range(DAYS)]
    return sorted(found)


def window(device: str) -> st.Window:
    """Return the job: three days of payments, a day at a time, the sums of each pair."""
    columns: dict[str, Any] = dict(zip(("time", "src", "dst", "weight"), zip(*payments(), strict=True), strict=True))
    source = st.source({name: list(column) for name, column in columns.items()}, time_unit="s")
    return st.Window(source, size="3d", slide="1d", combine="sum", names=True, graph={"device": device})


def heavy_changes(out: Path, device: str) -> None:
    """Write whose sums are twenty times as large as a day before."""
    job = window(device)
    job.alert("edges", grew="20x", sink=out)
    print(sum(1 for _ in job), "days")


def transfers(device: str) -> list[tuple[Any, ...]]:
    """Return the payments that joined two groups of ten accounts or more: time, payer, payee."""
    job, found = window(device), list[tuple[Any, ...]]()
    groups = job.track("wcc")
    joined = job.alert(groups, merged=10)
    for w in job:
        if len(joined.fired):
            found.append(first_together(w.replay(groups, at=joined.fired["part"].tolist())))
    return found


def first_together(steps: Any) -> tuple[Any, ...]:
    """Return time, payer and payee of the event behind which all vertices of a replay have one label."""
    labels = steps["label"].reshape(steps["event"][-1] + 2, -1)
    row = labels.shape[1] * int((labels == labels[:, :1]).all(axis=1).argmax())
    return steps["time"][row], steps["src"][row], steps["dst"][row]


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/transfers"), help="gets all files")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    heavy_changes(options.folder / "heavy.csv", options.device)
    print((options.folder / "heavy.csv").read_text())
    for time, payer, payee in transfers(options.device):
        print(f"{time}: {payer} paid {payee}, and joined two groups")


if __name__ == "__main__":
    main()
