"""CUDA programs compiled by g++ over ``emulated.hpp``, and launches of their kernels on the CPU.

Each launch takes its turns in another random order. Libraries are kept: see :func:`folder`.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

HERE = Path(__file__).parent
GXX = shutil.which("g++") if platform.machine() == "x86_64" else None  #: what cannot be run without it is skipped
KERNEL_WORDS, STATIC = 'extern "C" EMULATED_KERNEL', "static"  # so that no other library has a kernel's name
KERNEL = re.compile(rf"{KERNEL_WORDS} void\s+(\w+)\(([^)]*)\)")
# What a template keeps in static storage is each library's own.
COMPILER = (
    "g++", "-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-fno-gnu-unique", "-Wl,-Bsymbolic", "-shared", "-fPIC",
    "-pthread",
)  # fmt: skip
FLAGS = tuple(os.environ.get("SURICATE_EMULATED_FLAGS", "").split())  #: for kernels, besides
ASM = re.compile(r'asm(?: volatile)?\(\s*"([a-z]+)([^"]*)"\s*:(.*?)\);', re.DOTALL)
OPERAND = re.compile(r'"=?[a-z]"\(((?:[^()]|\([^()]*\))*)\)')
HOW = Path(__file__).read_text()  #: a library is made
MULTIPROCESSORS, THREADS = 2, 512  #: of the device, and how many of a multiprocessor
SEEDS: Iterator[int] = count(1)
LAUNCHING = threading.Lock()  #: the device runs one kernel at a time


@cache
def folder() -> Path:
    """Return where libraries are kept: ``$SURICATE_EMULATED_CACHE``, or a folder beside other kernels of suricate."""
    beside = Path(os.environ.get("SURICATE_CACHE_DIR") or Path.home() / ".cache" / "suricate")
    path = Path(os.environ.get("SURICATE_EMULATED_CACHE") or beside / "emulated")
    path.mkdir(parents=True, exist_ok=True)
    return path


def compiled(*parts: str, rest: Callable[[str], str] = lambda text: "", options: tuple[str, ...] = ()) -> Path:
    """Return the library made of these parts, and what ``rest`` adds to the text as the preprocessor leaves it."""
    text = "\n".join(parts)
    path = folder() / f"{hashlib.sha256(repr((HOW, options, text)).encode()).hexdigest()[:24]}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder()) as place:
            source, library = Path(place, "source.cpp"), Path(place, "library.so")
            source.write_text(text)
            command = [*COMPILER, "-E", str(source)]
            plain = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            source.with_suffix(".ii").write_text(f"{plain.replace(KERNEL_WORDS, STATIC)}\n{rest(plain)}")
            subprocess.run([*COMPILER, *options, "-o", str(library), str(source.with_suffix(".ii"))], check=True)
            library.replace(path)
    return path


@cache
def runtime() -> ctypes.CDLL:
    """Return the library that runs kernels, which those of programs need."""
    found = ctypes.CDLL(str(compiled((HERE / "emulated.cpp").read_text())), mode=ctypes.RTLD_GLOBAL)
    kinds = (ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_bool, ctypes.c_uint, ctypes.c_void_p)
    found.emulated_launch.argtypes, found.emulated_launch.restype = kinds, None
    return found


def launch_at(address: int, grid: int, block: int, together: bool, parameters: int) -> None:
    """Launch the kernel at an address; ``parameters`` is that of an array of the addresses of its parameters."""
    with LAUNCHING:
        runtime().emulated_launch(address, grid, block, together, next(SEEDS), parameters)


def _in_words(match: re.Match[str]) -> str:
    """Return C++ for a statement in PTX: the same loads and stores, whatever is said of caches and orders of memory."""
    operands = OPERAND.findall(match[3])
    if "cache_hint" in match[2]:
        operands.pop()
    statements = {
        "atom": "{0} = atomicAdd({1}, {2});", "cvt": "{0} = {1};", "ld": "emulated_load({last}, {others});",
        "st": "emulated_store({others}, {last});", "mov": "{0} = emulated_nanoseconds();",
    }  # fmt: skip
    others, last = ", ".join(operands[:-1]), "".join(operands[-1:])
    return statements.get(match[1], ";").format(*operands, last=last, others=others)


def _callable(text: str) -> str:
    """Return a function run_NAME(parameters) for each kernel NAME in the text as the preprocessor leaves it."""
    runs = ['# 1 "runs"']
    for name, given in KERNEL.findall(text):
        kinds = [part.rsplit(maxsplit=1)[0] for part in re.sub(r"(?m)^#.*$", "", given).split(",")]
        values = ", ".join(f"*reinterpret_cast<{kind}*>(p[{i}])" for i, kind in enumerate(kinds))
        runs.append(f'extern "C" void run_{name}(void** p) {{ {name}({values}); }}')
    return "\n".join(runs)


@cache
def library(text: str) -> ctypes.CDLL:
    """Compile the text of a program; ``run_NAME`` is its kernel NAME, for :func:`launch_at`."""
    runtime()
    return ctypes.CDLL(
        str(compiled((HERE / "emulated.hpp").read_text(), ASM.sub(_in_words, text), rest=_callable, options=FLAGS))
    )


def address_of(text: str, name: str) -> int:
    """Return the address of a kernel for :func:`launch_at`."""
    address = ctypes.cast(library(text)[f"run_{name}"], ctypes.c_void_p).value
    assert address is not None
    return address
