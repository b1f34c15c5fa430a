"""Decorators of compiled CPU loops. They compile what is called, and little else, since users wait for the first call.

``@kernel`` is for loops that Python calls, ``@inner`` for the functions that such loops call. An inner function is
inlined by LLVM; ``@njit(inline="always")`` would type its body anew at every call, which takes several times as long
to compile and runs no faster. Neither may allocate: they are compiled without Numba's reference counts, which would
cost more than the work on an edge. A loop that does allocate takes a plain ``@njit(cache=True, nogil=True)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import llvmlite.binding
from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from suricate.forks import awaited
from suricate.notice import NOTICE

Function = TypeVar("Function", bound=Callable[..., Any])

_modules: set[str] = set()  # whose compilation is announced


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function``, which Python calls, on first use; machine code is kept on disk, the GIL is released."""
    _modules.add(function.__module__)
    return njit(cache=True, nogil=True, no_cfunc_wrapper=True, _nrt=False)(function)


def inner(function: Function) -> Function:
    """Compile ``function`` into the kernels that call it; called from Python it runs as plain Python."""
    _modules.add(function.__module__)
    return register_jitable(forceinline=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(
        function
    )


class _Listener(event.Listener):
    """Counts Numba's compilations of our kernels; loading one from disk is none."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__ in _modules:
            NOTICE.start()

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__ in _modules:
            NOTICE.end()


def _free_pass_managers() -> None:
    """Have LLVM's pass managers freed with their Python objects, in the versions of llvmlite that forget to (0.46 on).

    In those a class whose ``_dispose`` does nothing comes before the one whose ``_dispose`` frees. Numba makes dozens
    of managers per kernel that it compiles, and a process would keep some 3 MB for each kernel.
    """
    managers: Any = getattr(llvmlite.binding, "newpassmanagers", None)  # 0.43 has none
    for one in (managers.ModulePassManager, managers.FunctionPassManager) if managers else ():
        if one._dispose is llvmlite.binding.ffi.ObjectRef._dispose:
            one._dispose = managers.NewPassManager._dispose


def _acquire_compiler(_: float) -> bool:
    """Wait until no other thread compiles: a child could not go on with what is half compiled."""
    global_compiler_lock.acquire()
    return True


awaited(_acquire_compiler, global_compiler_lock.release)
event.register("numba:compile", _Listener())
_free_pass_managers()
