"""What a race shows while it runs: a line of what runs now, and the table of each workload as soon as it is done."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any, Final


class Progress:
    """What runs now, as a live line with the time left, or as plain lines now and then where the output is not a
    terminal."""

    INTERVAL: Final = 15.0
    """Seconds between two plain lines."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=1.0) if bar else None
        self._begun = self._last = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        """Shows what runs now, and the share of the whole that is done, from 0 to 1."""
        if self._bar:
            self._bar.update(self._task, description=what, completed=share)
            return
        now = time.monotonic()
        if now - self._last > self.INTERVAL:
            self._last = now
            left = (now - self._begun) * (1 - share) / share if share else None
            text = f", about {left:.0f} s left" if left is not None else ""
            print(f"{share:4.0%} {what}{text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def paused(self) -> Any:
        """Within this, other text is printed."""
        if self._bar:
            self._bar.stop()
        try:
            yield
        finally:
            if self._bar:
                self._bar.start()


class Shown:
    """Keeps the results of a race, and prints the table of a workload as soon as it is done."""

    def __init__(self, keep: Callable[[dict[str, Any]], None], live: Progress, tables: Callable[..., int]) -> None:
        self._keep, self._live, self._tables = keep, live, tables
        self._shown = 0

    def save(self, report: dict[str, Any]) -> None:
        """Takes the report so far."""
        self._keep(report)
        with self._live.paused():
            self._shown = self._tables(report, skip=self._shown)


@contextlib.contextmanager
def progress() -> Any:
    """A :class:`Progress` until the end of the block."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Progress()
        return
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(20), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=console, transient=True) as bar:
        yield Progress(bar)
