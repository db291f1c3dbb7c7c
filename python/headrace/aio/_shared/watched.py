"""Read and write timeouts of an asyncio connection."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._shared.core import Core
from ..._shared.limits import Limit
from ...rows import RowFactory
from .blocks import LoopBlocks
from .watch import Watch

R = TypeVar("R")


class Watched(LoopBlocks[R]):
    """A connection that is given up when it waits and nothing comes or goes for too long."""

    def __init__(self, core: Core, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        self._watch: Watch | None = core.watch

    async def _wait(self, future: Any, limit: Limit) -> Any:
        if self._watch is not None:
            self._watch.start()
        return await super()._wait(future, limit)

    def _begin_reading(self) -> None:
        if self._watch is not None:
            self._watch.start()
