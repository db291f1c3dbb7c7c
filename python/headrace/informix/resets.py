"""What a reset sets back on Informix, what it leaves, and what closes the connection."""

from __future__ import annotations

from typing import Final

from .._shared.modes import ResetMode
from .._shared.resets import SessionState

MODES: Final[tuple[ResetMode, ...]] = ("none", "rollback")
"""The resets that there are."""
ATTRIBUTES: Final = ("autocommit", "isolation_level", "lock_wait")
"""The attributes of a connection that each of them sets back."""
SESSION_STATE: Final = (
    SessionState(
        "attributes",
        "Attributes of the connection: `autocommit`, `row_factory`, and `isolation_level` and `lock_wait` that "
        "`connect` or `configure` has set",
        "set back",
        "set back",
        None,
    ),
    SessionState(
        "unknown_attributes",
        "`isolation_level` and `lock_wait` that neither has set: what they were before is not known",
        "closed",
        "closed",
        None,
    ),
    SessionState("transaction", "An open transaction", "kept", "set back", None),
    SessionState("streams", "Streams and named cursors that are open", "closed", "set back", None),
    SessionState("settings", "`SET ISOLATION`, `SET LOCK MODE`, `SET ENVIRONMENT` as statements", "kept", "kept", None),
    SessionState(
        "role", "The role and the session's user (`SET ROLE`, `SET SESSION AUTHORIZATION`)", "kept", "kept", None
    ),
    SessionState("temporary_tables", "Temporary tables", "kept", "kept", None),
)
