"""Locks and state in a child of ``fork``, where only the forking thread lives and no other would release its locks.

Locks made by this package are passed to :func:`renewed`: in the child they are free, unless the thread that forked
holds them. A lock that another thread held at the fork may protect data that are half changed, so the child then calls
a function that was registered with it (``then``). A fork waits up to :data:`PATIENCE` seconds for the locks passed to
:func:`awaited`, those of imports and compilations: they are held for a short time, and a child could not finish what is
half done.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakMethod

import numpy as np

PATIENCE = 5.0  #: seconds in all
Lock = TypeVar("Lock", bound=Any)
Action = Callable[[], None]

_locks: WeakKeyDictionary[Any, Callable[[], Action | None]] = WeakKeyDictionary()
_awaited: list[tuple[Callable[[float], bool], Action]] = []
_local = threading.local()  # how to release what the fork of a thread has waited for
_in_child: list[Action] = []


def shared_number() -> np.ndarray:
    """Return ``int64[1]``, 0, in memory that this process shares with those that are forked from now on."""
    return np.frombuffer(mmap.mmap(-1, 8), np.int64)


def renewed(lock: Lock, then: Action | None = None) -> Lock:
    """Register ``lock``, a ``threading`` lock, to be free in every child process; return it.

    If another thread holds the lock at the fork, the child frees it and calls ``then()``, unless that is None. A bound
    method as ``then`` is referenced weakly: it is not called if its object is gone.
    """
    _locks[lock] = WeakMethod(then) if isinstance(then, MethodType) else lambda: then
    return lock


def awaited(acquire: Callable[[float], bool], release: Action) -> None:
    """Register a lock that every fork acquires first and releases afterwards, in the parent and in the child.

    ``acquire`` gets the seconds it may wait and returns whether it succeeded; only then ``release`` is called. Register
    locks in the order in which threads acquire them.
    """
    _awaited.append((acquire, release))


def in_child(action: Action) -> Action:
    """Register ``action``, without parameters, to be called in every child process; return ``action``.

    The child calls it right after the fork, when the locks that were passed to :func:`renewed` are free.
    """
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
