"""The form of the tables of what a reset sets back: each database has one, in the ``resets.py`` of its folder.

They are what `docs/howto/pool.md` shows, and a test leaves everything that they name behind for the next user of a
pool's connection.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..errors import NotSupportedError

Fate = Literal["set back", "kept", "closed"]
"""What becomes of something on return to a pool. ``closed``: the connection is closed, and replaced."""


class SessionState(NamedTuple):
    """Something that the last user of a connection may have left, and what becomes of it."""

    name: str
    """Of the entry."""
    what: str
    """For the documentation."""
    none: Fate
    rollback: Fate
    discard: Fate | None
    """None where the database has no such reset."""


def unknown_before(name: str) -> NotSupportedError:
    """The error of a reset that would have to set back what was never known."""
    return NotSupportedError(
        f"{name} cannot be set back: what the session began with is not known. Give {name} to connect(), or set it in "
        "a pool's configure"
    )
