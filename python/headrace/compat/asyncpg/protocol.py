"""What programs import from ``asyncpg.protocol``."""

from __future__ import annotations

from .record import Record

__all__ = ["Record"]
