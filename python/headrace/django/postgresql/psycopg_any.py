"""What Django's modules for PostgreSQL import as ``django.db.backends.postgresql.psycopg_any``."""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Callable
from typing import Any, Final

from ... import errors as errors
from ... import types
from ...types import Range as Range
from . import literals
from .literals import mogrify as mogrify

is_psycopg3: Final = True
"""Django then leaves to the driver what it leaves to psycopg 3."""

Inet = ipaddress.ip_address
DateRange = DateTimeRange = DateTimeTZRange = NumericRange = Range
RANGE_TYPES: Final = (Range,)


class IsolationLevel(enum.IntEnum):
    """The values of ``OPTIONS["isolation_level"]``: psycopg's numbers."""

    READ_UNCOMMITTED = 1
    READ_COMMITTED = 2
    REPEATABLE_READ = 3
    SERIALIZABLE = 4

    @property
    def words(self) -> types.IsolationLevel:
        """The level in the words of SQL."""
        return self.name.lower().replace("_", " ")  # type: ignore[return-value]


class Jsonb(types.Jsonb):
    """A value for ``jsonb``, with the encoder of its field."""

    def __init__(self, value: Any, dumps: Callable[[Any], str | bytes] | None = None) -> None:
        super().__init__(value, dumps)

    @property
    def obj(self) -> Any:
        """The value, by psycopg's name for it."""
        return self.value


class sql:
    """``psycopg.sql``, as far as Django uses it."""

    @staticmethod
    def quote(value: Any, connection: Any = None) -> str:
        """The literal of a value."""
        return literals.literal(value)


def _nothing(*arguments: Any, **keywords: Any) -> None:
    """In the place of what registers psycopg's classes: the wrapper registers headrace's on each connection."""


get_adapters_template = register_tzloader = _nothing
