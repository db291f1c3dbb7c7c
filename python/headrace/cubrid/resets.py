"""What a reset sets back on CUBRID, what it leaves, and what closes the connection."""

from __future__ import annotations

from typing import Final

from .._shared.modes import ResetMode
from .._shared.resets import Left

MODES: Final[tuple[ResetMode, ...]] = ("none", "rollback")
"""The resets that there are."""
ATTRIBUTES: Final = ("autocommit", "isolation_level", "lock_timeout")
"""The attributes of a connection that each of them sets back."""
LEFT: Final = (
    Left(
        "attributes",
        "Attributes of the connection: `autocommit`, `lock_timeout`, `row_factory`, and an `isolation_level` that "
        "`connect` or `configure` has set",
        "set back",
        "set back",
        None,
    ),
    Left(
        "unknown_attributes",
        "`isolation_level` that neither has set: what it was before is not known",
        "closed",
        "closed",
        None,
    ),
    Left("transaction", "An open transaction", "kept", "set back", None),
    Left("streams", "Streams and cursors that are open", "closed", "closed", None),
    Left("open_cursors", "Cursors that stay open after a commit", "set back", "set back", None),
    Left("settings", "`SET SYSTEM PARAMETERS`, `SET TRANSACTION`, `SET TIMEZONE` as statements", "kept", "kept", None),
    Left("user_variables", "User variables (`SET @a = 1`)", "kept", "kept", None),
)
