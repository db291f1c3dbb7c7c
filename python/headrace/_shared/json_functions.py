"""What reads and writes JSON on connections that are opened from now on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .arguments import checked_json

_of_the_process: tuple[Any, Any] = (None, None)


def set_json(loads: Callable[[str], Any] | None = None, dumps: Callable[[Any], str | bytes] | None = None) -> None:
    """Sets what reads and writes JSON on the connections of all databases that are opened from now on, and have no
    ``json_loads`` and ``json_dumps`` of their own.

    Args:
        loads: makes an object of the text of a JSON value; None for :func:`json.loads`.
        dumps: makes text or its UTF-8 of an object; None for :func:`json.dumps`.
    """
    global _of_the_process
    _of_the_process = checked_json(loads, "loads"), checked_json(dumps, "dumps")


def register_json(connection: Any, loads: Any, dumps: Any) -> None:
    """Registers them on a connection that was opened, and those of the process for None."""
    default_loads, default_dumps = _of_the_process
    loads, dumps = default_loads if loads is None else loads, default_dumps if dumps is None else dumps
    if loads is not None or dumps is not None:
        connection.register_json(loads, dumps)
