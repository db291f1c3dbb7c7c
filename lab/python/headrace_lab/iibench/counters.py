"""Numbers that the processes of a run share: 64 bits each, in a mapped file. Each has one writer."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final

STOP: Final = 0
"""Not 0: everyone is to come to an end."""
_HEADER: Final = 1
_PER_CLIENT: Final = 3


class Counters:
    """The counters in a file, which is made where it is not there."""

    def __init__(self, path: str, clients: int) -> None:
        size = 8 * (_HEADER + _PER_CLIENT * clients)
        file = Path(path)
        if not file.exists():
            file.write_bytes(bytes(size))
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), size)
        self._view = memoryview(self._map).cast("q")

    def close(self) -> None:
        """Lets the file go."""
        self._view.release()
        self._map.close()

    @property
    def stopped(self) -> bool:
        """Whether everyone is to come to an end."""
        return self._view[STOP] != 0

    def stop(self) -> None:
        """Makes every process come to an end."""
        self._view[STOP] = 1

    def inserted(self, client: int) -> int:
        """Rows that a client has inserted in this step."""
        return self._view[_HEADER + _PER_CLIENT * client]

    def set_inserted(self, client: int, rows: int) -> None:
        """By the client's writer."""
        self._view[_HEADER + _PER_CLIENT * client] = rows

    def deleted(self, client: int) -> int:
        """Rows that a client has deleted in this step."""
        return self._view[_HEADER + _PER_CLIENT * client + 1]

    def set_deleted(self, client: int, rows: int) -> None:
        """By the client's deleter."""
        self._view[_HEADER + _PER_CLIENT * client + 1] = rows

    def lowest(self, client: int) -> int:
        """A key that none is below, of those that the client has deleted; 0 where there is none."""
        return self._view[_HEADER + _PER_CLIENT * client + 2]

    def set_lowest(self, client: int, key: int) -> None:
        """By the client's deleter."""
        self._view[_HEADER + _PER_CLIENT * client + 2] = key
