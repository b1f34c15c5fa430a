"""``iterate`` on CUDA: launches are recorded, and repeated until a number on the device ends the loop.

The host launches a few rounds ahead and polls a pinned counter of rounds; it does not read from the device in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.launch import raise_fault
from suricate.cuda.pinned import PinnedCounters
from suricate.operators.call import Until
from suricate.operators.cuda.launches import blocks, full_grid
from suricate.operators.cuda.loops.recording import WORDS, Cleared, Recording, outer_flag, rounds_program
from suricate.operators.cuda.programs import BLOCK
from suricate.state.scalar import SLOTS

AHEAD = 3  #: rounds that are launched before the first of them is known to have ended
PATIENCE = 4096  #: polls after which the host looks whether the stream still runs
NULL = np.uint64(0)


def iterate(
    device: Device, body: Callable[[], Any], until: Until, max_steps: int, swap: tuple[tuple[Array, Array], ...]
) -> int:
    """Run ``body`` once, then repeat its launches, with ``swap``, until the condition holds; return the rounds."""
    if max_steps == 0:
        return 0
    with device.current():
        return _Loop(device, until, swap, outer_flag()).run(body, max_steps)


class _Loop:
    """One loop of ``iterate``: its flag and counter on the device, and the pinned counter that the host polls."""

    def __init__(
        self, device: Device, until: Until, swap: tuple[tuple[Array, Array], ...], outer: Array | None
    ) -> None:
        self._device, self._until, self._swap = device, until, swap
        zeros = device.xp.zeros(1 + WORDS, np.uint64)
        self._control, self._cleared = zeros[:1].view(np.uint32), Cleared(zeros[1:])
        self._pinned = PinnedCounters(device, 1, np.uint32)
        self._address = np.uint64(self._pinned.address)
        self._program = program = rounds_program(until.scalar.dtype)
        self._end = program.kernel("end_round")
        self._recording = Recording(self._control[:1], swap, self._cleared)
        self._pinned.busy = True
        arguments = (self._control, NULL if outer is None else outer, self._address)
        program.kernel("start_rounds")((1,), (1,), arguments)

    def run(self, body: Callable[[], Any], max_steps: int) -> int:
        """Run ``body`` once, and repeat its launches until the loop's condition holds."""
        with self._recording.body():
            body()
        if self._recording.left:
            return self._go_on(body, max_steps)
        self._end_round(last=max_steps == 1)
        turned = [
            (scalar, before, (scalar.turn - before) % SLOTS) for scalar, before in self._recording.scalars.values()
        ]
        replay = self._recording.replay(turned)
        launched = 1
        while launched < max_steps and not self._stopped(launched - AHEAD):
            if replay is None:
                self._recording.repeat(exchanged=launched % 2 == 1)
            else:
                replay.launch(launched)
            launched += 1
            if replay is not None:
                _turn(turned, launched)
            self._end_round(last=launched == max_steps)
        rounds = self._wait(launched)
        _turn(turned, rounds)
        if rounds % 2 == 1:  # arrays took each other's place in every second round; now their contents do
            self._exchange_all()
        return rounds

    def _go_on(self, body: Callable[[], Any], max_steps: int) -> int:
        """Finish a loop after its first round, if launches cannot repeat it: call ``body`` in every further round."""
        self._pinned.busy = False
        rounds = 1
        self._exchange_all()
        while rounds < max_steps and not self._until.ends_loop():
            body()
            rounds += 1
            self._exchange_all()
        return rounds

    def _exchange_all(self) -> None:
        for a, b in self._swap:
            self._exchange(a, b)

    def _exchange(self, a: Array, b: Array) -> None:
        """Exchange the contents of the arrays ``a`` and ``b`` in place."""
        if a.flags.c_contiguous and b.flags.c_contiguous and (a.data.ptr | b.data.ptr | a.nbytes) % 4 == 0:
            words = a.nbytes // 4
            grid = min(blocks(words, BLOCK), 8 * full_grid(self._device))
            self._program.kernel("exchange")((grid,), (BLOCK,), (a, b, np.uint64(words)))
            return
        held = a.copy()
        a[...] = b
        b[...] = held

    def _end_round(self, *, last: bool) -> None:
        scalar, cleared = self._until.scalar, self._cleared
        words = np.uint32(0 if last else min(cleared.used, WORDS))  # frontiers of the last round stay as they are
        arguments = (scalar.total, np.float64(self._until.bound), self._control, self._address, cleared.words, words)
        self._end((1,), (WORDS,), arguments)

    def _stopped(self, rounds: int) -> bool:
        """Wait until ``rounds`` rounds have ended or the loop's condition holds; return whether the condition holds."""
        words, polls = self._pinned.words, 0
        while not words[0] & 1 and words[0] >> 1 < rounds:
            polls += 1
            if polls % PATIENCE == 0:
                if self._device.xp.cuda.get_current_stream().done:
                    break
                raise_fault(self._device)
            time.sleep(0)
        return bool(words[0] & 1)

    def _wait(self, launched: int) -> int:
        """Wait for the end of all ``launched`` rounds; return the number of rounds of the loop."""
        if not self._stopped(launched):
            self._device.synchronize()
        self._pinned.busy = False
        return self._pinned.words[0] >> 1


def _turn(scalars: list[tuple[Any, int, int]], rounds: int) -> None:
    """Set ``scalar.turn``, the slot that has the total of a scalar, to its value after ``rounds`` rounds."""
    for scalar, before, turns in scalars:
        scalar.turn = (before + rounds * turns) % SLOTS
