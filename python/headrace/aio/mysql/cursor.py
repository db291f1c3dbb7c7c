"""The asyncio cursor of MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import DatabaseError
from .._shared.cursor import LoopCursor

if TYPE_CHECKING:
    from .connection import AsyncConnection


R = TypeVar("R")


class AsyncCursor(LoopCursor[R]):
    """Executes statements and holds their results (PEP 249).

    Parameters are written ``%s``, ``%(name)s`` or ``?``. A result is received whole.
    """

    @property
    def connection(self) -> AsyncConnection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    @property
    def warning_count(self) -> int:
        """How many warnings :meth:`AsyncConnection.show_warnings` would list of the last statement."""
        return 0 if self._result is None else self._result.warnings

    async def callproc(self, name: str, args: Sequence[Any] = (), *, timeout: float | None = None) -> list[Any]:
        """Calls a procedure (``name`` or ``schema.name``), and gives the arguments with what its OUT and INOUT
        parameters have become. Its results are the cursor's, the next one after :meth:`nextset`."""
        self._check()
        self._clear()
        try:
            results, out = await self._connection._run(self._core.call(name, args), timeout)
        except DatabaseError as error:
            self._failed(error)
            raise
        self._set_all(results)
        return list(out)
