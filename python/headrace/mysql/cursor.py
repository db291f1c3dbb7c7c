"""The blocking cursor of MySQL and MariaDB."""

# Made by tools/async_to_sync.py of aio/mysql/cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._shared.cursor import BlockingCursor
from ..errors import DatabaseError

if TYPE_CHECKING:
    from .connection import Connection


R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249).

    Parameters are written ``%s``, ``%(name)s`` or ``?``. A result is received whole.
    """

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    @property
    def warning_count(self) -> int:
        """How many warnings :meth:`Connection.show_warnings` would list of the last statement."""
        return 0 if self._result is None else self._result.warnings

    def callproc(self, name: str, args: Sequence[Any] = (), *, timeout: float | None = None) -> list[Any]:
        """Calls a procedure (``name`` or ``schema.name``), and gives the arguments with what its OUT and INOUT
        parameters have become. Its results are the cursor's, the next one after :meth:`nextset`."""
        self._check()
        self._clear()
        try:
            results, out = self._connection._run(self._core.call(name, args), timeout)
        except DatabaseError as error:
            self._failed(error)
            raise
        self._set_all(results)
        return list(out)
