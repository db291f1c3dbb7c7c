"""An ADBC driver for PostgreSQL, MySQL, MariaDB, Informix and CUBRID: the URI determines the database.

``adbc_driver_headrace.dbapi`` has the interface of PEP 249; this module has ADBC's own.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path

import adbc_driver_manager

__all__ = ["Options", "__version__", "connect", "library_path"]

__version__ = "0.1.0"


class Options(enum.Enum):
    """Options of a database, a connection or a statement that are this driver's own."""

    NUMERIC = "headrace.numeric"
    """Exact numbers without a precision: ``decimal`` (the default), ``string`` or ``float64``."""
    UNREPRESENTABLE = "headrace.unrepresentable"
    """Values that Arrow cannot represent: ``raise`` (the default) or ``none``, which makes them null."""
    NANOSECONDS = "headrace.nanoseconds"
    """Values of nanoseconds that are sent and no whole microseconds: ``raise`` (the default) or ``truncate``."""
    BATCH_ROWS = "headrace.batch_rows"
    """The number of rows of a record batch, at most."""
    BATCH_BYTES = "headrace.batch_bytes"
    """The number of bytes of values after which a record batch ends; 16 MiB by default."""


def library_path() -> str:
    """Returns the path of the shared library, for a driver manager in any language.

    Raises:
        FileNotFoundError: the package was installed without it.
    """
    folder = Path(__file__).parent / "_library"
    for name in ("lib_library.so", "lib_library.dylib", "_library.dll"):
        if (found := folder / name).exists():
            return str(found)
    raise FileNotFoundError(f"the library of the ADBC driver is not in {folder}: install adbc-driver-headrace again")


# The name that the packages of other ADBC drivers have for it.
_driver_path = library_path


def connect(uri: str, db_kwargs: Mapping[str, str] | None = None) -> adbc_driver_manager.AdbcDatabase:
    """Makes an ADBC database, from which connections are opened.

    Args:
        uri: ``postgresql://``, ``mysql://``, ``mariadb://``, ``informix://`` or ``cubrid://``; ``headrace:`` may stand
            before it.
        db_kwargs: options of the database.

    Returns:
        The database. Nothing is connected to yet.
    """
    options = {key: str(value) for key, value in (db_kwargs or {}).items()}
    return adbc_driver_manager.AdbcDatabase(driver=library_path(), uri=uri, **options)
