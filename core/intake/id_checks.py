"""Checks of ids that users give operators in device memory, without a wait; a call that waits anyway raises the error.

A kernel ahead of the operator records the first id that is out of range, with its argument and position. The operator
skips such ids. The first error stays until a call of the graph that waits raises it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import VertexRangeError
from suricate.cuda.launch import StructKernel
from suricate.cuda.program import Program, c_type
from suricate.cuda.structs import Struct
from suricate.intake.arrays import range_message

THREADS, MAX_BLOCKS = 256, 1024

#: what was found: ``call`` is that of the first call with an id out of range, 0 if there is none
REPORT = Struct(
    "Report",
    {
        "inverse": "unsigned long long",  # all bits of the position inverted: the largest is of the first position
        "value": "long long",
        "vertices": "unsigned long long",
        "version": "unsigned long long",
        "argument": "uint32_t",
        "call": "uint32_t",
        "done": "uint32_t",  # blocks of the current launch
    },
)
GIVEN = Struct(
    "Given",
    {
        "ids": "const void*",
        "report": "Report*",
        "size": "long long",
        "vertices": "unsigned long long",
        "version": "unsigned long long",
        "argument": "uint32_t",
        "call": "uint32_t",
    },
)
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@cache
def program(dtype: str) -> Program:
    """Return the CUDA program that checks ids of this dtype, given by its name."""
    declarations = "\n".join(struct.declaration for struct in (REPORT, GIVEN))
    return Program(Path(__file__).with_name("id_checks.cu"), declarations, defines=(("ID_T", c_type(dtype)),))


def programs() -> list[Program]:
    """Return the CUDA programs for all dtypes of ids, to be compiled in CI without a GPU."""
    return [program(dtype) for dtype in DTYPES]


class IdChecks:
    """Checks ids in device memory for operators of one graph; used under its lock, in one stream at a time."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._report: Array = None
        self._kernels: dict[str, StructKernel] = {}
        self._arguments: list[tuple[str, str]] = []  # names and dtypes of arguments, by number
        self._calls = 0
        self._unread = False  # whether kernels may have found errors that the host has not read

    def check(self, ids: Array, argument: str, num_vertices: int, version: int) -> None:
        """Queue a check that ``ids`` on the device are below ``num_vertices``; the rest is for the message."""
        size = len(ids)
        if not size:
            return
        if self._report is None:
            self._report = self._device.xp.zeros(REPORT.size, np.uint8)
        name = ids.dtype.name
        if (argument, name) not in self._arguments:
            self._arguments.append((argument, name))
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = StructKernel(program(name), "check_ids", GIVEN.size)
        self._calls = self._calls % 0xFFFFFFFF + 1
        GIVEN.packer.pack_into(
            kernel.buffer, 0, ids.data.ptr, self._report.data.ptr, size, num_vertices, version,
            self._arguments.index((argument, name)), self._calls,
        )  # fmt: skip
        kernel.launch(min(-(-size // THREADS), MAX_BLOCKS), THREADS)
        self._unread = True

    def raise_pending(self) -> None:
        """Wait for the device and raise the first error found since the last call of this method, if there is one."""
        if not self._unread:
            return
        found = self._device.to_numpy(self._report).view(REPORT.dtype)[0]
        self._unread = False
        if found["call"]:
            self._report.fill(0)
            raise self._error_of(found)

    def _error_of(self, found: Any) -> VertexRangeError:
        argument, dtype = self._arguments[found["argument"]]
        index, value = ~int(found["inverse"]) & (1 << 64) - 1, int(found["value"])
        value += (1 << 64) * (value < 0 and dtype == "uint64")
        text = range_message(argument, index, value, int(found["vertices"]))
        return VertexRangeError(f"{text} (of an operator called at version {int(found['version'])})")
