"""The backend: connections, and the types of fields."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import itertools
import re
from typing import Any, ClassVar, Final

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.base.client import BaseDatabaseClient

from ... import informix
from ...informix.catalog import LONGEST_VARCHAR
from ..pooled import PooledWrapper
from ..statements import StatementCursor
from .creation import DatabaseCreation
from .features import DatabaseFeatures
from .functions import install
from .introspection import DatabaseIntrospection
from .operations import DatabaseOperations
from .schema import DatabaseSchemaEditor

install()
_NUMBER: Final = re.compile(r"\d+")
_cursor_numbers: Final = itertools.count(1)


class DatabaseClient(BaseDatabaseClient):
    """``manage.py dbshell``: Informix' own program."""

    executable_name = "dbaccess"

    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict: Any, parameters: Any) -> tuple[list[str], dict[str, str] | None]:
        """Returns the command. The program finds the server by INFORMIXSERVER, and asks for the password."""
        server = settings_dict["OPTIONS"].get("server")
        environment = {"INFORMIXSERVER": server} if server else None
        return [cls.executable_name, *parameters, settings_dict["NAME"]], environment


def _text(parameters: dict[str, Any]) -> str:
    length = parameters["max_length"]
    return f"VARCHAR({length})" if length is not None and length <= LONGEST_VARCHAR else f"LVARCHAR({length})"


def _small(parameters: dict[str, Any]) -> str:
    """The type of a key to a SmallAutoField, for which Django asks a field of no model, is that of a SERIAL."""
    return "INTEGER" if parameters["name"] is None else "SMALLINT"


class DatabaseWrapper(PooledWrapper):
    """A connection of Django's to Informix."""

    vendor = "informix"
    display_name = "Informix"
    Database: Any = informix
    SchemaEditorClass = DatabaseSchemaEditor
    client_class = DatabaseClient
    creation_class = DatabaseCreation
    features_class = DatabaseFeatures
    introspection_class = DatabaseIntrospection
    ops_class = DatabaseOperations
    ops: Any
    data_types: ClassVar[dict[str, Any]] = {
        "AutoField": "SERIAL",
        "BigAutoField": "BIGSERIAL",
        "BigIntegerField": "BIGINT",
        "BinaryField": "BYTE",
        "BooleanField": "BOOLEAN",
        "CharField": _text,
        "DateField": "DATE",
        "DateTimeField": "DATETIME YEAR TO FRACTION(5)",
        "DecimalField": "DECIMAL(%(max_digits)s, %(decimal_places)s)",
        "DurationField": "BIGINT",
        "FileField": _text,
        "FilePathField": _text,
        "FloatField": "FLOAT",
        "GenericIPAddressField": "VARCHAR(39)",
        "IPAddressField": "VARCHAR(15)",
        "IntegerField": "INTEGER",
        "JSONField": "JSON",
        "PositiveBigIntegerField": "BIGINT",
        "PositiveIntegerField": "INTEGER",
        "PositiveSmallIntegerField": "SMALLINT",
        "SlugField": _text,
        "SmallAutoField": "SERIAL",
        "SmallIntegerField": _small,
        # A TEXT can neither be compared nor searched.
        "TextField": "LVARCHAR(8000)",
        "TimeField": "DATETIME HOUR TO FRACTION(5)",
        "UUIDField": "CHAR(32)",
    }
    data_type_check_constraints: ClassVar[dict[str, str]] = {
        "PositiveBigIntegerField": '"%(column)s" >= 0',
        "PositiveIntegerField": '"%(column)s" >= 0',
        "PositiveSmallIntegerField": '"%(column)s" >= 0',
    }

    def get_connection_params(self) -> dict[str, Any]:
        # Names are in double quotes.
        params = {"DELIMIDENT": "y", **super().get_connection_params()}
        if self.alias == NO_DB_ALIAS:
            params["database"] = "sysmaster"
        return params

    def get_database_version(self) -> tuple[int, ...]:
        """Returns the version of the server, as (14, 10)."""
        self.ensure_connection()
        number = self.connection.server_version.rpartition("Version ")[2]
        return tuple(int(part) for part in number.split(".") if part.isdigit())

    def create_cursor(self, name: str | None = None) -> Any:
        if not name:
            return super().create_cursor(name)
        # Where every statement is a transaction of its own only a cursor WITH HOLD lives longer than its DECLARE.
        cursor = self.connection.cursor(f"{name}_{next(_cursor_numbers)}", withhold=self.connection.autocommit)
        return StatementCursor(cursor, self.adapt_value)

    # constraints

    def _set_autocommit(self, autocommit: bool) -> None:
        super()._set_autocommit(autocommit)
        if not autocommit:
            self._defer()

    def _defer(self) -> None:
        """Has constraints checked at the end of the transaction, as Django expects it."""
        with self.wrap_database_errors:
            self.connection.execute("SET CONSTRAINTS ALL DEFERRED")

    def check_constraints(self, table_names: Any = None) -> None:
        """Checks constraints now."""
        with self.wrap_database_errors:
            self.connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        self._defer()
