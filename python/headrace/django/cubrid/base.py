"""The backend: connections, and the types of fields."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from django.db.backends.base.client import BaseDatabaseClient

from ... import cubrid
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


class DatabaseClient(BaseDatabaseClient):
    """``manage.py dbshell``: CUBRID's own program."""

    executable_name = "csql"

    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict: Any, parameters: Any) -> tuple[list[str], None]:
        """Returns the command. The program asks for the password."""
        user = ["-u", settings_dict["USER"]] if settings_dict["USER"] else []
        host = settings_dict["HOST"]
        database = f"{settings_dict['NAME']}@{host}" if host else settings_dict["NAME"]
        return [cls.executable_name, *user, *parameters, database], None


class DatabaseWrapper(PooledWrapper):
    """A connection of Django's to CUBRID."""

    vendor = "cubrid"
    display_name = "CUBRID"
    Database: Any = cubrid
    SchemaEditorClass = DatabaseSchemaEditor
    client_class = DatabaseClient
    creation_class = DatabaseCreation
    features_class = DatabaseFeatures
    introspection_class = DatabaseIntrospection
    ops_class = DatabaseOperations
    ops: Any
    data_types: ClassVar[dict[str, str]] = {
        "AutoField": "INTEGER AUTO_INCREMENT",
        "BigAutoField": "BIGINT AUTO_INCREMENT",
        "BigIntegerField": "BIGINT",
        "BinaryField": "BIT VARYING",
        "BooleanField": "SMALLINT",
        "CharField": "VARCHAR(%(max_length)s)",
        "DateField": "DATE",
        "DateTimeField": "DATETIME",
        "DecimalField": "NUMERIC(%(max_digits)s, %(decimal_places)s)",
        "DurationField": "BIGINT",
        "FileField": "VARCHAR(%(max_length)s)",
        "FilePathField": "VARCHAR(%(max_length)s)",
        "FloatField": "DOUBLE",
        "GenericIPAddressField": "VARCHAR(39)",
        "IPAddressField": "VARCHAR(15)",
        "IntegerField": "INTEGER",
        "JSONField": "JSON",
        "PositiveBigIntegerField": "BIGINT",
        "PositiveIntegerField": "INTEGER",
        "PositiveSmallIntegerField": "SMALLINT",
        "SlugField": "VARCHAR(%(max_length)s)",
        "SmallAutoField": "SMALLINT AUTO_INCREMENT",
        "SmallIntegerField": "SMALLINT",
        "TextField": "STRING",
        "TimeField": "TIME",
        "UUIDField": "CHAR(32)",
    }

    def adapt_value(self, value: Any) -> Any:
        """A value as the driver takes it: there is no type of true and false."""
        return int(value) if isinstance(value, bool) else value

    def get_database_version(self) -> tuple[int, ...]:
        """Returns the version of the server, as (11, 3, 2, 866)."""
        with self.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            return tuple(map(int, _NUMBER.findall(cursor.fetchone()[0])))

    def create_cursor(self, name: str | None = None) -> Any:
        if not name:
            return super().create_cursor(name)
        # Where every statement is a transaction of its own only a holdable result survives its statement.
        cursor = self.connection.cursor(scrollable=True, withhold=self.connection.autocommit)
        return StatementCursor(cursor, self.adapt_value)

    def _savepoint_commit(self, sid: str) -> None:
        # There is no such statement: a savepoint ends with its transaction.
        pass
