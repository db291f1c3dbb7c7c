"""Test databases."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db.backends.base.creation import BaseDatabaseCreation

from ..creation import ClosesPools


class DatabaseCreation(ClosesPools, BaseDatabaseCreation):
    """Test databases on Informix."""

    def sql_table_creation_suffix(self) -> str:
        """Returns the end of CREATE DATABASE: with transactions."""
        return "WITH LOG"

    def _execute_create_test_db(self, cursor: Any, parameters: dict[str, str], keepdb: bool = False) -> None:
        clause = " IF NOT EXISTS" if keepdb else ""
        cursor.execute(f"CREATE DATABASE{clause} {_bare(parameters['dbname'])} {parameters['suffix']}")

    def _destroy_test_db(self, test_database_name: str, verbosity: int) -> None:
        self._close_all()
        with self._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {_bare(test_database_name)}")

    def _create_test_db(self, verbosity: int, autoclobber: bool, keepdb: bool = False) -> Any:
        if autoclobber and not keepdb:
            with self._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE IF EXISTS {_bare(self._get_test_db_name())}")
        return super()._create_test_db(verbosity, autoclobber, keepdb)


def _bare(name: str) -> str:
    """The name of a database, which has no quotes."""
    return name.strip('"')
