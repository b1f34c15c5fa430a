"""A CUDA device without a GPU: the whole path of ``device="cuda"``, with kernels on the CPU.

``SURICATE_EMULATED_CUDA=1 pytest -m gpu FILE`` runs the tests that are marked ``gpu`` on it; a package of its own is
tested there by ``PYTHONPATH=CHECKOUT/tests/support pytest -p emulated_cuda``. What it does not show: see
``emulated_cupy/cupy/__init__.py``.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from emulated_programs import GXX, compiled

HERE = Path(__file__).parent
WANTED = os.environ.get("SURICATE_EMULATED_CUDA") == "1"
DRIVER = 'extern "C" { int cuInit(unsigned) { return 0; } int cuDeviceGetCount(int* count) { return *count = 1, 0; } }'


def pytest_configure() -> None:
    """Have tests of other packages run on it, where pytest loads this module as a plugin: ``-p emulated_cuda``."""
    install()


def install() -> None:
    """Have ``cupy`` found in this process and those that it starts, and a driver that offers one device."""
    assert GXX is not None, "the emulated device needs g++ on x86-64"
    places = [str(HERE / "emulated_cupy"), str(HERE)]
    sys.path[:0] = places
    # What asks for a library by name gets the one that is loaded under it.
    driver = compiled(DRIVER, options=("-Wl,-soname,libcuda.so.1",))
    ctypes.CDLL(str(driver), mode=ctypes.RTLD_GLOBAL)
    linked = driver.with_suffix("") / "libcuda.so.1"
    linked.parent.mkdir(exist_ok=True)
    if not linked.exists():
        with suppress(FileExistsError):  # another process was faster
            linked.symlink_to(driver)
    for name, found in (("PYTHONPATH", places), ("LD_LIBRARY_PATH", [str(linked.parent)])):
        os.environ[name] = os.pathsep.join([*found, *filter(None, [os.environ.get(name)])])
