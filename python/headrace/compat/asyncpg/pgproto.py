"""What programs import from ``asyncpg.pgproto``."""

from __future__ import annotations

from . import types

__all__ = ["types"]
