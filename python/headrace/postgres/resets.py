"""What a reset sets back on PostgreSQL, what it leaves, and what closes the connection."""

from __future__ import annotations

from typing import Final

from .._shared.modes import ResetMode
from .._shared.resets import SessionState

MODES: Final[tuple[ResetMode, ...]] = ("none", "rollback", "discard")
"""The resets that there are."""
ATTRIBUTES: Final = ("autocommit", "isolation_level", "read_only", "deferrable")
"""The attributes of a connection that each of them sets back."""
SESSION_STATE: Final = (
    SessionState(
        "attributes",
        "Attributes of the connection: `autocommit`, `isolation_level`, `read_only`, `deferrable`, `row_factory`, "
        "handlers of notices, and what `register_adapters` and the other methods `register_...` have registered",
        "set back",
        "set back",
        "set back",
    ),
    SessionState(
        "transaction", "An open transaction, and what `SET LOCAL` has set in it", "kept", "set back", "set back"
    ),
    SessionState(
        "two_phase", "A two-phase transaction that was begun, but not prepared", "kept", "set back", "set back"
    ),
    SessionState("streams", "Streams and named cursors that are open", "closed", "set back", "set back"),
    SessionState(
        "settings", "Settings (`SET`, `set_config`), also `search_path` and `TimeZone`", "kept", "kept", "set back"
    ),
    SessionState(
        "role", "The role and the session's user (`SET ROLE`, `SET SESSION AUTHORIZATION`)", "kept", "kept", "set back"
    ),
    SessionState("temporary_tables", "Temporary tables", "kept", "kept", "set back"),
    SessionState("held_cursors", "Cursors WITH HOLD that a statement has declared", "kept", "kept", "set back"),
    SessionState("prepared_statements", "Statements that `PREPARE` has prepared", "kept", "kept", "set back"),
    SessionState(
        "subscriptions", "Subscriptions (`LISTEN`), and notifications that were not read", "kept", "kept", "set back"
    ),
    SessionState("session_locks", "Advisory locks of the session", "kept", "kept", "set back"),
    SessionState("sequences", "What `currval` and `lastval` return", "kept", "kept", "set back"),
    SessionState("seed", "The seed of `random()` (`setseed`)", "kept", "kept", "kept"),
    SessionState("dblink", "Connections that `dblink_connect` has opened", "kept", "kept", "kept"),
    SessionState("origin", "The origin of replication (`pg_replication_origin_session_setup`)", "kept", "kept", "kept"),
    SessionState("slots", "Temporary replication slots", "kept", "kept", "kept"),
    SessionState("backup", "A backup that `pg_backup_start` has begun", "kept", "kept", "kept"),
    SessionState("libraries", "Libraries that `LOAD` has loaded", "kept", "kept", "kept"),
)
