"""Test databases. No statement of SQL makes one: they are there, and are emptied."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.creation import BaseDatabaseCreation

from ..creation import ClosesPools


class DatabaseCreation(ClosesPools, BaseDatabaseCreation):
    """Test databases on CUBRID."""

    def _create_test_db(self, verbosity: int, autoclobber: bool, keepdb: bool = False) -> str:
        name: str = self._get_test_db_name()
        connection = self._connected(name)
        try:
            with connection.cursor() as cursor:
                tables = connection.introspection.get_table_list(cursor)
        except connection.Database.Error as error:
            raise ImproperlyConfigured(
                f"the test database {name} cannot be used: make it with 'cubrid createdb {name} en_US.utf8', or name "
                f"another one as TEST['NAME']: {error}"
            ) from error
        try:
            if tables and not keepdb:
                if not autoclobber:
                    asked = (
                        f"The test database {name!r} has tables. Type 'yes' to drop all of them, or 'no' to cancel: "
                    )
                    if input(asked) != "yes":
                        self.log("Tests cancelled.")
                        sys.exit(1)
                _drop(connection, tables)
        finally:
            connection.close()
        return name

    def _destroy_test_db(self, test_database_name: str, verbosity: int) -> None:
        self._close_all()
        connection = self._connected(test_database_name)
        try:
            with connection.cursor() as cursor:
                tables = connection.introspection.get_table_list(cursor)
            _drop(connection, tables)
        finally:
            connection.close()

    def _connected(self, name: str) -> Any:
        settings = {**self.connection.settings_dict, "NAME": name}
        options = {key: value for key, value in settings["OPTIONS"].items() if key != "pool"}
        return type(self.connection)({**settings, "OPTIONS": options}, alias=self.connection.alias)


def _drop(connection: Any, tables: Any) -> None:
    """Drops tables and views."""
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        for table in tables:
            if table.type == "v":
                cursor.execute(f"DROP VIEW {quote(table.name)}")
        for table in tables:
            if table.type == "t":
                for name, found in connection.introspection.get_constraints(cursor, table.name).items():
                    if found["foreign_key"]:
                        cursor.execute(f"ALTER TABLE {quote(table.name)} DROP FOREIGN KEY {quote(name)}")
        for table in tables:
            if table.type == "t":
                cursor.execute(f"DROP TABLE {quote(table.name)}")
