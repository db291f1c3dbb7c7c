"""What is printed while a run goes on: a table that is kept up to date, or a line now and then without a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..report import duration
from .results import Second, StepResult
from .runs import KINDS
from .steps import Step


class Progress:
    """Where a bench stands, made of what it reports."""

    def __init__(self) -> None:
        self.run = ""
        self.number = self.of = 0
        self.state = ""
        self.step: Step | None = None
        self.seconds = 0.0
        self.result: StepResult | None = None

    def take(self, what: dict[str, Any]) -> None:
        """Takes what the bench reports."""
        if "run" in what:
            self.run, self.number, self.of = what["run"], what["number"], what["of"]
            self.step = self.result = None
            self.state = "making tables"
        elif "resting" in what:
            self.state = f"{what['resting']:.0f} s of rest"
        elif "doing" in what:
            self.state = what["doing"]
        else:
            self.step, self.seconds, self.result = what["step"], max(0.0, what["seconds"]), what["result"]
            self.state = ""

    def left(self) -> float | None:
        """Seconds until the step's end; ``None`` where that cannot be known yet."""
        if self.step is None or self.result is None:
            return None
        if self.step.seconds:
            return max(0.0, self.step.seconds - self.seconds)
        done = sum(s.kinds["insert"].rows for s in self.result.by_second.values() if "insert" in s.kinds)
        wanted = self.step.rows * self.result.options.clients
        if not done or not self.seconds or not wanted:
            return None
        return max(0.0, wanted - done) * self.seconds / done

    def last(self) -> Second | None:
        """The last second that is over."""
        if self.result is None or not self.result.by_second:
            return None
        return self.result.by_second[max(self.result.by_second)]

    def title(self) -> str:
        """Which run and step it is."""
        step = self.step.name if self.step else ""
        left = self.left()
        parts = [
            f"run {self.number} of {self.of}: {self.run}",
            step,
            f"{self.seconds:.0f} s" if step else "",
            self.state,
        ]
        if left is not None:
            parts.append(f"{left:.0f} s left")
        return ", ".join(part for part in parts if part)

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """For each kind of operation: its name, those of the last second, p50, p99 and the longest."""
        second = self.last()
        if second is None:
            return []
        made = []
        for kind in KINDS:
            if kind in second.kinds:
                figures = second.kinds[kind]
                count = figures.operations if kind == "query" else figures.rows
                times = [figures.response.percentile(50), figures.response.percentile(99), figures.response.max()]
                made.append((kind, f"{count:,}", *(duration(t / 1e9) for t in times)))
        return made  # type: ignore[return-value]

    def waits(self) -> str:
        """How long the database waited in the last second."""
        second = self.last()
        share = second.shares()["wait_share"] if second is not None else None
        return "-" if share is None else f"{share:.2%}"


@contextlib.contextmanager
def watching(secs_per_report: float) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields the function that a bench reports to."""
    from rich.console import Console

    console = Console(stderr=True)
    progress = Progress()
    if not console.is_terminal:
        last = [time.monotonic()]

        def tell(what: dict[str, Any]) -> None:
            progress.take(what)
            if time.monotonic() - last[0] >= secs_per_report:
                last[0] = time.monotonic()
                kinds = "; ".join(f"{kind} {count}/s, p99 {p99}" for kind, count, _, p99, _ in progress.rows())
                print(f"{progress.title()}: {kinds}; database waits {progress.waits()}", file=sys.stderr, flush=True)

        yield tell
        return
    from rich.live import Live
    from rich.table import Table

    def table() -> Table:
        made = Table(title=progress.title(), title_justify="left", caption=f"database waits {progress.waits()}")
        for heading in ("", "last second", "p50", "p99", "max"):
            made.add_column(heading, justify="right" if heading else "left")
        for row in progress.rows():
            made.add_row(*row)
        return made

    with Live(table(), console=console, refresh_per_second=4, transient=True) as live:

        def show(what: dict[str, Any]) -> None:
            progress.take(what)
            live.update(table())

        yield show
