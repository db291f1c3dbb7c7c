"""The words that calls take for their modes, for type checkers and editors."""

from __future__ import annotations

from typing import Literal, TypeAlias

IsolationLevel: TypeAlias = Literal["read uncommitted", "read committed", "repeatable read", "serializable"]
"""The isolation levels of the SQL standard, of which a database need not have all."""
CommonIsolation: TypeAlias = Literal["read committed", "repeatable read", "serializable"]
"""Those that every database has."""
ResetMode: TypeAlias = Literal["none", "rollback", "discard"]
"""What ``reset()`` of a connection and a pool reset."""
ScrollMode: TypeAlias = Literal["relative", "absolute"]
"""What the number that ``scroll()`` takes is counted from (PEP 249)."""
CopyFormat: TypeAlias = Literal["binary", "text", "csv"]
"""The formats of PostgreSQL's COPY."""
Duplicates: TypeAlias = Literal["error", "ignore", "replace"]
"""What MySQL's LOAD DATA does with a row whose key exists."""
LobKind: TypeAlias = Literal["blob", "clob"]
"""The kinds of large objects."""
