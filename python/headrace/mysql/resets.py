"""What a reset sets back on MySQL and MariaDB, what it leaves, and what closes the connection."""

from __future__ import annotations

from typing import Final

from .._shared.modes import ResetMode
from .._shared.resets import SessionState

MODES: Final[tuple[ResetMode, ...]] = ("none", "rollback", "discard")
"""The resets that there are."""
ATTRIBUTES: Final = ("autocommit", "isolation_level", "read_only")
"""The attributes of a connection that each of them sets back."""
SESSION_STATE: Final = (
    SessionState(
        "attributes",
        "Attributes of the connection: `autocommit`, `isolation_level`, `read_only`, `row_factory`",
        "set back",
        "set back",
        "set back",
    ),
    SessionState("autocommit", "`autocommit` that a statement has set", "set back", "set back", "set back"),
    SessionState("charsets", "Character sets (before the next statement)", "set back", "set back", "set back"),
    SessionState("transaction", "An open transaction", "kept", "set back", "set back"),
    SessionState(
        "next_transaction",
        "What `SET TRANSACTION`, without SESSION, has decided for the next transaction",
        "kept",
        "set back",
        "set back",
    ),
    SessionState(
        "two_phase", "A two-phase transaction (`tpc_begin`) that was not prepared", "kept", "set back", "set back"
    ),
    SessionState("xa", "A transaction of XA START that has not ended", "kept", "closed", "set back"),
    SessionState(
        "table_locks", "Locked tables (`LOCK TABLES`, `FLUSH TABLES WITH READ LOCK`)", "kept", "set back", "set back"
    ),
    SessionState("streams", "Streams and cursors on the server that are open", "closed", "closed", "closed"),
    SessionState(
        "settings",
        "Variables of the session, also `sql_mode`, `time_zone` and the isolation level of `SET SESSION TRANSACTION`; "
        "set back to those of `connect` and the server's own",
        "kept",
        "kept",
        "set back",
    ),
    SessionState("schema", "The schema (`USE`), if `connect` names one", "kept", "kept", "set back"),
    SessionState("role", "The role (`SET ROLE`)", "kept", "kept", "set back"),
    SessionState("user_variables", "User variables (`@a`)", "kept", "kept", "set back"),
    SessionState("temporary_tables", "Temporary tables", "kept", "kept", "set back"),
    SessionState("prepared_statements", "Statements that `PREPARE` has prepared", "kept", "kept", "set back"),
    SessionState("handlers", "Tables that `HANDLER ... OPEN` has opened", "kept", "kept", "set back"),
    SessionState("user_locks", "Locks of `GET_LOCK`", "kept", "kept", "set back"),
    SessionState("last_insert_id", "`LAST_INSERT_ID()`", "kept", "kept", "set back"),
)
