"""SQLAlchemy's blocking objects with the face of those on asyncio."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from company.shells import Now


class Lent(Now):
    """SQLAlchemy's blocking objects with the face of those on asyncio."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        return (lambda *args, **keywords: Lent(found(*args, **keywords))) if callable(found) else found

    def __await__(self) -> Generator[Any, Any, Any]:
        return self
        yield

    async def __aenter__(self) -> Any:
        return Lent(self.value.__enter__())
