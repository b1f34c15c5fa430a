"""Payments of made-up accounts in a window of a week: who is central, who belongs together, who pays in circles.

The payments have planted rings: accounts that pass a large sum round within hours. Beside them are what looks alike but
is none: employers that pay many large salaries, a chain that does not close, and a ring that takes more than a week. A
first process is killed in the middle; the job goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from watch import killed_and_resumed, watch

import suricate.stream as st

DAY = 86_400
LIMIT = 2_000_000  #: cents that two accounts of a ring pass in a week at least


def payments(days: int, per_day: int, accounts: int, seed: int = 1) -> tuple[np.ndarray, list[list[int]]]:
    """Return payments, ``int64[n, 4]`` (seconds, payer, payee, cents) up to an hour out of order, and the rings."""
    rng = np.random.default_rng(seed)
    number = days * per_day
    ordinary = np.stack((
        rng.integers(0, days * DAY, number), *(accounts * rng.random((2, number)) ** 3).astype(np.int64),
        np.exp(rng.normal(8, 1, number)).astype(np.int64) + 1,
    ), axis=1)  # fmt: skip
    special = rng.permutation(accounts)
    at, parts, rings = 0, [ordinary], []

    def large(begin: int, payers: np.ndarray, payees: np.ndarray, apart: int, rounds: int) -> None:
        count = rounds * len(payers)
        time = begin + apart * np.arange(count) + rng.integers(0, max(apart // 2, 1), count)
        ends = np.tile(payers, rounds), np.tile(payees, rounds)
        parts.append(np.stack((time, *ends, rng.integers(700_000, 1_000_000, count)), axis=1))

    for day in range(2, days - 10, 6):
        size = int(rng.integers(4, 8))
        ring, slow, chain = (special[at + k * size : at + (k + 1) * size] for k in range(3))
        staff = special[at + 3 * size : at + 3 * size + 30]
        at += 3 * size + 30
        rings.append(ring.tolist())
        large(day * DAY, ring, np.roll(ring, -1), 600, 3)
        large(day * DAY, np.repeat(slow, 3), np.repeat(np.roll(slow, -1), 3), 8 * DAY // (3 * size - 3), 1)
        large(day * DAY, chain[:-1], chain[1:], 600, 3)
        large(day * DAY, np.repeat(staff[:1], 29), staff[1:], 60, 3)
    found = np.concatenate(parts)
    return found[np.argsort(found[:, 0] + rng.integers(0, 3600, len(found)))], rings


def write(folder: Path, days: int, per_day: int, accounts: int) -> None:
    """Write ``payments.csv``, and the planted rings to ``rings.txt``."""
    found, rings = payments(days, per_day, accounts)
    rows = (f"{time},account {payer},account {payee},{cents}" for time, payer, payee, cents in found.tolist())
    (folder / "payments.csv").write_text("\n".join(["time,payer,payee,cents", *rows]) + "\n")
    lines = [" ".join(sorted(f"account {member}" for member in ring)) for ring in rings]
    (folder / "rings.txt").write_text("\n".join(lines) + "\n")


def job_of(folder: Path, device: str) -> st.Window:
    """Return the job: a week of payments, a day at a time, the sums of each pair."""
    source = st.scan(folder / "payments.csv", src="payer", dst="payee", weight="cents", time="time")
    return st.Window(
        source, size="7d", slide="1d", lateness="2h", combine="sum", names=True, graph={"device": device},
        checkpoint=folder / "state", checkpoint_every=5,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/payments"), help="gets all files")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--per-day", type=int, default=5_000)
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--kill-after", type=int, default=22, help="slides; 0: nothing is killed")
    parser.add_argument("--picture", type=Path, help="the file of the picture; default: picture.svg in the folder")
    parser.add_argument("--go-on", action="store_true", help="go on with what the folder has")
    options = parser.parse_args(arguments)
    folder = options.folder
    if not options.go_on:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (folder / "state").glob("*"):
            old.unlink()
        write(folder, options.days, options.per_day, options.accounts)
        if options.kill_after:
            command = [__file__, str(folder), "--go-on", "--device", options.device]
            killed_and_resumed(command, options.kill_after)
    watch(job_of(folder, options.device), folder, LIMIT, options.picture or folder / "picture.svg")
    print(f"\nalerts: {folder / 'alerts.csv'}; the rings that were planted: {folder / 'rings.txt'}")


if __name__ == "__main__":
    sys.exit(main())
