"""What Numba does over and over while it compiles one loop, done once: in force from the start of a loop to its end.

A loop and its inner functions ask some ten thousand times which version of an operator fits some types; the answer
depends on the types alone. They note a hundred thousand times that LLVM is entered and left, which nobody reads, and
look as often for variables in nested lists. Outside of such a compilation Numba is not changed, and nothing is answered
otherwise than Numba would. Everything here is called with Numba's compiler lock held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding
from numba.core import ir, types
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack

_ask: Callable[..., Any] = types.Function.get_call_type
_answers: dict[tuple[Any, ...], tuple[Any, Any]] = {}
_restore: list[Callable[[], None]] = []


def begin() -> None:
    """Take the shortcuts, until :func:`end`."""
    _replace(types.Function, "get_call_type", _call_type)
    _replace(ir.Stmt, "list_vars", _variables)
    _replace(ir.Expr, "list_vars", _variables)
    for context in (cpu_target.typing_context, cpu_target.target_context):
        _replace(context, "refresh", _Refresh(context))
    _keep_no_time()


def end() -> None:
    """Leave Numba as it was."""
    while _restore:
        _restore.pop()()
    _keys.clear()


def _replace(owner: Any, name: str, new: Any) -> None:
    old = vars(owner).get(name)
    setattr(owner, name, new)
    _restore.append((lambda: delattr(owner, name)) if old is None else (lambda: setattr(owner, name, old)))


def _call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the signature of ``function`` for arguments of types ``args`` and ``kws``; takes the place of Numba's."""
    options = ConfigStack.top_or_none()
    key = (function, context, tuple(args), tuple(kws.items()) if kws else (), _key_of(options))
    found = _answers.get(key)
    if found is None:
        signature = _ask(function, context, args, kws)
        if signature is not None and signature.args in function._impl_keys:
            _answers[key] = signature, function._impl_keys[signature.args]
        return signature
    signature, function._impl_keys[signature.args] = found
    return signature


_keys: dict[int, tuple[Any, str]] = {}


def _key_of(options: Any) -> str:
    """Return all ``options`` that are set, as text."""
    if options is None:
        return ""
    known = _keys.get(id(options))
    if known is None or known[0] is not options:
        known = _keys[id(options)] = options, repr(sorted(options._values.items(), key=lambda item: item[0]))
    return known[1]


def _variables(step: Any) -> list[Any]:
    """Return the variables of an instruction, in the order in which Numba lists them."""
    found, left = [], list(step.__dict__.values())[::-1]
    while left:
        each = left.pop()
        kind = type(each)
        if kind is ir.Var:
            found.append(each)
        elif kind is list or kind is tuple:
            left += each[::-1]
        elif kind is dict:
            left += list(each.values())[::-1]
        elif isinstance(each, ir.Inst):
            left += (
                list(each.__dict__.values())[::-1] if isinstance(each, (ir.Stmt, ir.Expr)) else each.list_vars()[::-1]
            )
    return found


class _Refresh:
    """Has a context of Numba read its registries only if something was added to them."""

    def __init__(self, context: Any) -> None:
        self._context, self._size = context, -1

    def __call__(self) -> None:
        if self._size != self._registered():
            type(self._context).refresh(self._context)
            self._size = self._registered()

    def _registered(self) -> int:
        return sum(
            len(each) for one in self._context._registries for each in vars(one).values() if hasattr(each, "__len__")
        )


def _keep_no_time() -> None:
    """Do not report to Numba that LLVM is entered and left."""
    lock = llvmlite.binding.ffi.lib._lock
    with lock._lock:  # nobody is between two reports
        reports, lock._cblist = lock._cblist, []

    def restore() -> None:
        with lock._lock:
            lock._cblist = reports

    _restore.append(restore)
