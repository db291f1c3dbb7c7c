"""What a reset sets back on CUBRID, what it leaves, and what closes the connection."""

from __future__ import annotations

from typing import Final

from .._shared.modes import ResetMode
from .._shared.resets import SessionState

MODES: Final[tuple[ResetMode, ...]] = ("none", "rollback")
"""The resets that there are."""
ATTRIBUTES: Final = ("autocommit", "isolation_level", "lock_timeout")
"""The attributes of a connection that each of them sets back."""
SESSION_STATE: Final = (
    SessionState(
        "attributes",
        "Attributes of the connection: `autocommit`, `lock_timeout`, `row_factory`, and an `isolation_level` that "
        "`connect` or `configure` has set",
        "set back",
        "set back",
        None,
    ),
    SessionState(
        "unknown_attributes",
        "`isolation_level` that neither has set: what it was before is not known",
        "closed",
        "closed",
        None,
    ),
    SessionState("transaction", "An open transaction", "kept", "set back", None),
    SessionState("streams", "Streams and cursors that are open", "closed", "closed", None),
    SessionState("open_cursors", "Cursors that stay open after a commit", "set back", "set back", None),
    SessionState(
        "settings", "`SET SYSTEM PARAMETERS`, `SET TRANSACTION`, `SET TIMEZONE` as statements", "kept", "kept", None
    ),
    SessionState("user_variables", "User variables (`SET @a = 1`)", "kept", "kept", None),
)
