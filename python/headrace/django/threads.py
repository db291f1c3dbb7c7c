"""Connections of threads that have ended, and of requests that are over.

Django closes the connections of a request at its end. Of a request on ASGI that is cancelled it does not hear: its
thread ends, and the connection would stay open, or away from the pool, until the garbage collector finds it.

What the request has begun goes on without it, in a task of its own (``process_request()`` of Django's ASGIHandler). For
each function that is called in a thread after that asgiref starts another thread, which only the garbage collector
ends: a connection that is opened there is closed right after the function.
"""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

_of_thread = threading.local()


class _Open:
    """The connections that a thread has opened, with what closes each. A thread's end deletes it."""

    def __init__(self) -> None:
        self.closing: dict[int, tuple[weakref.ref[Any], Callable[[], None]]] = {}

    def __del__(self) -> None:
        for wrapper, close in list(self.closing.values()):
            owner = wrapper()
            if owner is not None:
                if owner.allow_thread_sharing:
                    # Another thread goes on with it.
                    continue
                owner.connection = None
            with contextlib.suppress(Exception):
                close()


def close_at_end(wrapper: Any, connection: Any, pool: Any = None) -> Callable[[], None]:
    """Has a connection closed when this thread ends, or before, if it works for a request that is over.

    The main thread's end is the program's, and closes nothing.

    Args:
        wrapper: Django's, which has the connection.
        connection: the driver's.
        pool: gets it back, if it has lent it.

    Returns:
        A function for who closes it before, which takes it back.
    """
    if threading.get_ident() == threading.main_thread().ident:
        return nothing
    _close_after_function(wrapper)
    try:
        closing: dict[int, Any] = _of_thread.open.closing
    except AttributeError:
        _of_thread.open = _Open()
        closing = _of_thread.open.closing
    if pool is None:
        # A wrapper that nobody has any more closes it as ever.
        weak = weakref.WeakMethod(connection.close)
        closing[id(connection)] = weakref.ref(wrapper), lambda: (weak() or nothing)()
    else:
        closing[id(connection)] = weakref.ref(wrapper), partial(pool.putconn, connection)
    number = id(connection)
    return lambda: closing.pop(number, nothing) and None


def _close_after_function(wrapper: Any) -> None:
    """Closes a connection after the function that runs in this thread, if its request on ASGI is over."""
    # Without it loaded there is no such request.
    asgiref: Any = sys.modules.get("asgiref.sync")
    if asgiref is None:
        return
    calls = asgiref.SyncToAsync
    request = calls.thread_sensitive_context.get(None)
    if request is None or not _is_over(request):
        return
    executor = calls.context_to_thread_executor.get(request)
    if executor is not None:
        # It has one thread, this one: its next work begins when the function has returned.
        with contextlib.suppress(RuntimeError):
            executor.submit(wrapper.close)


def _is_over(request: Any) -> bool:
    """True if the ``ThreadSensitiveContext`` of a request was left."""
    # Before asgiref 3.13 the token stays, and only its repr shows that it was used.
    return request.token is None or repr(request.token).startswith("<Token used")


def nothing() -> None:
    """Does nothing: for what has no end of a thread to wait for."""
