"""The databases that there are drivers for: the one list of them in the package, which its tests and tools read, too.

The engine's list, with the settings of each, is ``crates/drivers/src/databases``.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class DatabaseRow(NamedTuple):
    """A database."""

    module: str
    """Its package, in ``headrace`` and in ``headrace.aio``."""
    title: str
    """Its name in documents."""
    schemes: tuple[str, ...]
    """The schemes of its URLs; the first is its name in the tables of the engine."""
    wire: str
    """The class of its connections in the extension."""
    takes_format: bool
    """Parameters are written ``%s`` and ``%(name)s``; otherwise ``?``, and a percent sign is an ordinary character."""
    jdbc: str | None = None
    """What its URLs for JDBC have after ``jdbc:``, if the driver takes them."""


DATABASES: Final = (
    DatabaseRow("postgres", "PostgreSQL", ("postgresql", "postgres"), "PostgresWire", True),
    DatabaseRow("mysql", "MySQL and MariaDB", ("mysql", "mariadb"), "MySqlWire", True),
    DatabaseRow("informix", "Informix", ("informix",), "InformixWire", False, "informix-sqli"),
    DatabaseRow("cubrid", "CUBRID", ("cubrid",), "CubridWire", False, "cubrid"),
)
