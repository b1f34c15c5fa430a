"""Which functions Numba compiles in a process; after ``suricate warmup``, and behind the first slide of a job: none."""

from __future__ import annotations

import os
from typing import Any

from numba.core import event


class Compiled(event.Listener):
    """A list of the outermost compilations of this process from now on, each as a text: the function and its types."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._depth = 0
        event.register("numba:compile", self)

    def on_start(self, event: Any) -> None:
        """Note a compilation, unless it is part of another one."""
        if self._depth == 0:
            function, types = event.data["dispatcher"].py_func, event.data["args"]
            self.found.append(f"{function.__module__}.{function.__qualname__} {types}")
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Note that a compilation ends."""
        self._depth -= 1

    def take(self) -> list[str]:
        """Return what was compiled since the last call."""
        found, self.found = self.found, []
        return found


def listen() -> None:
    """Have every compilation of this process appended to the file ``$COMPILED_LOG``, a line each, if that is set."""
    path = os.environ.get("COMPILED_LOG")
    if path:
        listener = Compiled()
        listener.found = _Lines(path)  # type: ignore[assignment]


class _Lines(list[str]):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def append(self, line: str) -> None:
        with open(self._path, "a") as file:
            file.write(line + "\n")
