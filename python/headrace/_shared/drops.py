"""What is called once a connection was collected that nobody has closed.

:class:`weakref.finalize` would do, in three frames of Python and two objects more for each connection.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any, Final


class _Watch(weakref.ref[Any]):
    __slots__ = ("act", "given", "number")

    act: Callable[..., object]
    given: tuple[Any, ...]
    number: int


_watched: Final[dict[int, _Watch]] = {}
_numbers: Final = itertools.count(1)


def when_dropped(owner: object, act: Callable[..., object], *given: Any) -> int:
    """Calls ``act`` with what is ``given`` once ``owner`` was collected, in whichever thread that is, unless that is at
    the interpreter's exit. Nothing given may hold the owner. Returns the number for :func:`forget`."""
    watch = _Watch(owner, _collected)
    watch.act, watch.given = act, given
    watch.number = number = next(_numbers)
    _watched[number] = watch
    return number


def forget(number: int) -> None:
    """Nothing is called for this one any more: not even the collector comes here, where an interrupt would be lost."""
    _watched.pop(number, None)


def _collected(watch: _Watch) -> None:
    if _watched.pop(watch.number, None) is not None and not sys.is_finalizing():
        watch.act(*watch.given)
