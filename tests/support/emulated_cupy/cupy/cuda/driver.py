"""Launches of the emulated device."""

from __future__ import annotations

from emulated_programs import THREADS, launch_at

from cupy.memory import COUNTS


def occupancyMaxActiveBlocksPerMultiprocessor(function: int, threads: int, shared: int) -> int:  # noqa: N802
    """Return how many blocks a multiprocessor holds at a time."""
    return max(1, THREADS // threads)


def launchKernel(  # noqa: N802
    function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, parameters: int,
    extra: int,
) -> None:  # fmt: skip
    """Run a kernel; ``parameters`` is the address of an array of the addresses of its parameters."""
    _launch(function, (gx, gy, gz), (bx, by, bz), shared, parameters, together=False)


def launchCooperativeKernel(  # noqa: N802
    function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, parameters: int,
) -> None:  # fmt: skip
    """Run a kernel, all of whose blocks run at a time."""
    _launch(function, (gx, gy, gz), (bx, by, bz), shared, parameters, together=True)


def _launch(
    function: int, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: int, *, together: bool
) -> None:
    assert grid[1:] == block[1:] == (1, 1), "the emulated device has one dimension"
    assert not shared, "and no dynamic shared memory"
    assert grid[0] > 0, "a grid has a block"
    assert 0 < block[0] <= 1024, "a block has 1 to 1024 threads"
    COUNTS["launches"] += 1
    launch_at(function, grid[0], block[0], together, parameters)
