"""Names of tables, columns and the like: how long they may be."""

from __future__ import annotations

from typing import Final

from .._shared.names import NameLength

NAMES: Final = NameLength("MySQL and MariaDB", 64, "characters")
""""Identifier Length Limits", MySQL manual."""
