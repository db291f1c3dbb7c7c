"""What programs import from ``asyncpg.pgproto.pgproto``."""

from __future__ import annotations

from uuid import UUID

__all__ = ["UUID"]
