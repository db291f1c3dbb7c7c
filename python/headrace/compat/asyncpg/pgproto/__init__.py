"""What programs import from ``asyncpg.pgproto``."""

from __future__ import annotations

from .. import types
from . import pgproto

__all__ = ["pgproto", "types"]
