"""What headrace does otherwise than psycopg."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db import DataError
from django.db.backends.postgresql.features import DatabaseFeatures as Stock
from django.utils.functional import cached_property

from .literals import NUL


class DatabaseFeatures(Stock):
    """Django's features of PostgreSQL."""

    @cached_property
    def uses_server_side_binding(self) -> bool:
        """True unless ``OPTIONS`` has ``"server_side_binding": False``."""
        return self.connection.settings_dict["OPTIONS"].get("server_side_binding", True) is True

    @cached_property
    def prohibits_null_characters_in_text_exception(self) -> tuple[Any, str]:
        """The error about text with a NUL, and its message."""
        return DataError, NUL
