"""Programs of the emulated device: NVRTC makes of a text that text; g++ compiles it when a kernel is asked for."""

from __future__ import annotations

from types import SimpleNamespace

import emulated_programs


class Module:
    """What is loaded of a binary."""

    def load(self, binary: bytes) -> None:
        """Take a binary."""
        self._text = binary.decode()

    def get_function(self, name: str) -> SimpleNamespace:
        """Return a kernel, with its address."""
        return SimpleNamespace(ptr=emulated_programs.address_of(self._text, name))
