"""Archives from package indexes, fetched once for all runs."""

from __future__ import annotations

import contextlib
import fcntl
import tarfile
from collections.abc import Iterator
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks a tar file; nothing of it lands outside of the folder, where Python has filters (3.10.12, 3.11.4)."""
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        tar.extractall(folder)


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Makes ``home`` while no other process does: tests run in several."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.parent / f".{home.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
