"""The questions of a server at login, blocking.

An asyncio connection waits for the function ``pam`` and for the session as one piece of work that is cancelled when its
time is up; a blocking one waits for the session alone, as nothing ends a function: these are two sources.
"""

from __future__ import annotations

import inspect

from .._native import InformixWire
from .._shared.opening import await_session, overdue
from ..errors import ProgrammingError
from .pam import Dialogue
from .settings import ConnectOptions


def converse(wire: InformixWire, options: ConnectOptions, deadline: float | None) -> None:
    """Answers what the server asks before it lets the session begin. The connection is closed when this fails."""
    dialogue = Dialogue(wire, options, deadline)
    try:
        while (answer := dialogue.question()) is not None:
            if inspect.isawaitable(answer):
                if inspect.iscoroutine(answer):
                    answer.close()
                raise ProgrammingError("the function pam is asynchronous; a blocking connection needs a plain one")
            dialogue.answer(answer)
            await_session(wire, deadline)
    except TimeoutError:
        wire.close()
        raise overdue(options.connect_timeout) from None
    except BaseException:
        wire.close()
        raise
