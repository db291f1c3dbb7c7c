"""Read and write timeouts of an asyncio connection to MySQL or MariaDB."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._shared.limits import Limit
from ...mysql.connection_base import MySqlBase
from ...mysql.core import MySqlCore
from ...rows import RowFactory
from .._shared.blocks import LoopBlocks
from .._shared.watch import Watch

R = TypeVar("R")


class Watched(MySqlBase[R], LoopBlocks[R]):
    """A connection that is given up when it waits and nothing comes or goes for too long."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, core: MySqlCore, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        self._watch: Watch | None = core.watch

    async def _wait(self, future: Any, limit: Limit) -> Any:
        if self._watch is not None:
            self._watch.start()
        return await super()._wait(future, limit)

    def _begin_reading(self) -> None:
        if self._watch is not None:
            self._watch.start()
