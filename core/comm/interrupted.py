"""Meetings that something ends on one rank only, such as Ctrl-C: the comm of that rank refuses all later ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from suricate.base.errors import CommunicationError
from suricate.comm.protocol import call_site

if TYPE_CHECKING:
    from suricate.comm.asked import AskingComm

Method = TypeVar("Method", bound=Callable[..., Any])


def meeting(method: Method) -> Method:
    """Decorate a method in which a comm meets others: an interrupt in it, if the program goes on, is the last word.

    Others have got what this rank has sent, and what they sent would be taken for that of the next meeting. An
    exception of another kind, such as one of a handler of signals, interrupts only while messages are ``under_way``.
    """

    @wraps(method)
    def attended(self: AskingComm, *args: Any, **options: Any) -> Any:
        if self.interrupted:
            raise CommunicationError(self.interrupted)
        try:
            return method(self, *args, **options)
        except BaseException as error:
            lost = self.under_way and not isinstance(error, CommunicationError)
            if lost or not isinstance(error, Exception):
                what = f"{type(error).__name__} has interrupted rank {self.rank} at {call_site()}"
                self.interrupted = f"{what} while it met others: they are apart now, and the job must be started again"
            raise

    return cast("Method", attended)
