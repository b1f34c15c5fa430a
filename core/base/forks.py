"""What a child of ``fork`` finds: one thread, and locks that other threads held, which no thread would release.

Locks made by this package are passed to :func:`renewed`: in the child they are free, unless the thread that forked
holds them. What a lock protects is told (``then``), since another thread may have been changing it. A fork waits up to
:data:`PATIENCE` seconds for the locks given to :func:`awaited`: those of imports and compilations, which soon end, and
whose half-done work a child could not go on with.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakMethod

PATIENCE = 5.0  #: seconds in all
Lock = TypeVar("Lock", bound=Any)
Action = Callable[[], None]

_locks: WeakKeyDictionary[Any, Callable[[], Action | None]] = WeakKeyDictionary()
_awaited: list[tuple[Callable[[float], bool], Action]] = []
_local = threading.local()  # how to release what the fork of a thread has waited for
_in_child: list[Action] = []


def renewed(lock: Lock, then: Action | None = None) -> Lock:
    """Return ``lock`` (of ``threading``); if another thread holds it at a fork, it is released in the child.

    ``then`` is called in such a child. A bound method is held weakly.
    """
    _locks[lock] = WeakMethod(then) if isinstance(then, MethodType) else lambda: then
    return lock


def awaited(acquire: Callable[[float], bool], release: Action) -> None:
    """Have every fork call ``acquire``, with the seconds it may wait, and then ``release`` in parent and child.

    Register locks in the order in which threads acquire them.
    """
    _awaited.append((acquire, release))


def in_child(action: Action) -> Action:
    """Have ``action`` called in every child, after the locks are free."""
    _in_child.append(action)
    return action


def _before() -> None:
    end, _local.held = time.monotonic() + PATIENCE, []
    for acquire, release in _awaited:
        if acquire(max(0.0, end - time.monotonic())):
            _local.held.append(release)


def _after() -> None:
    while _local.held:
        _local.held.pop()()


def _renew() -> None:
    for lock, then in list(_locks.items()):
        if lock.acquire(blocking=False):
            lock.release()
            continue
        lock._at_fork_reinit()  # as the standard library renews its own
        if (action := then()) is not None:
            action()
    for action in _in_child:
        action()


def _after_in_child() -> None:
    _after()
    _renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
