"""Django's connections to databases for which it has no backend: what Informix and CUBRID have in common."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .._shared.loading import NO_CONVERSIONS
from .pools import Pools
from .statements import StatementCursor


class PooledWrapper(Pools):
    """A connection of Django's, with ``OPTIONS["pool"]``, by a driver with headrace's interface."""

    Database: Any
    operators: ClassVar[dict[str, str]] = {
        "exact": "= %s",
        "iexact": "= UPPER(%s)",
        "contains": "LIKE %s ESCAPE '\\'",
        "icontains": "LIKE UPPER(%s) ESCAPE '\\'",
        "gt": "> %s",
        "gte": ">= %s",
        "lt": "< %s",
        "lte": "<= %s",
        "startswith": "LIKE %s ESCAPE '\\'",
        "endswith": "LIKE %s ESCAPE '\\'",
        "istartswith": "LIKE UPPER(%s) ESCAPE '\\'",
        "iendswith": "LIKE UPPER(%s) ESCAPE '\\'",
    }
    pattern_esc = r"REPLACE(REPLACE(REPLACE({}, '\', '\\'), '%%', '\%%'), '_', '\_')"
    pattern_ops: ClassVar[dict[str, str]] = {
        "contains": r"LIKE '%%' || {} || '%%' ESCAPE '\'",
        "icontains": r"LIKE '%%' || UPPER({}) || '%%' ESCAPE '\'",
        "startswith": r"LIKE {} || '%%' ESCAPE '\'",
        "istartswith": r"LIKE UPPER({}) || '%%' ESCAPE '\'",
        "endswith": r"LIKE '%%' || {} ESCAPE '\'",
        "iendswith": r"LIKE '%%' || UPPER({}) ESCAPE '\'",
    }

    @property
    def connect_for_pool(self) -> Callable[..., Any]:
        """The driver's."""
        return self.Database.connect  # type: ignore[no-any-return]

    def get_connection_params(self) -> dict[str, Any]:
        settings = self.settings_dict
        params: dict[str, Any] = {
            name: settings[key]
            for name, key in (("database", "NAME"), ("user", "USER"), ("password", "PASSWORD"), ("host", "HOST"))
            if settings[key]
        }
        if settings["PORT"]:
            params["port"] = int(settings["PORT"])
        # Django's fields convert JSON themselves.
        options = {name: value for name, value in settings["OPTIONS"].items() if name != "pool"}
        return {**NO_CONVERSIONS, "json_loads": str, "autocommit": True, **params, **options}

    def connect_alone(self, conn_params: dict[str, Any]) -> Any:
        return self.Database.connect(**conn_params)

    def create_cursor(self, name: str | None = None) -> Any:
        return StatementCursor(self.connection.cursor(), self.adapt_value)

    def chunked_cursor(self) -> Any:
        """Returns a cursor on the server, from which ``QuerySet.iterator()`` fetches rows in blocks."""
        if self.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
            return self.cursor()
        return self._cursor(name="headrace")

    def adapt_value(self, value: Any) -> Any:
        """A value as the driver takes it."""
        return value

    def _set_autocommit(self, autocommit: bool) -> None:
        with self.wrap_database_errors:
            self.connection.autocommit = autocommit

    def is_usable(self) -> bool:
        if self.connection is None:
            return False
        try:
            self.connection.ping()
        except self.Database.Error:
            return False
        return True
