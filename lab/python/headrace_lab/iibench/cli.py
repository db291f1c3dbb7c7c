"""``headrace iibench``: the command line."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from .. import INTERRUPTED
from ..differences import DIFFERENCES
from . import databases, page, report, sessions
from . import options as o
from . import runs as runs_of
from .bench import Bench
from .live import watching
from .options import BenchmarkOptions, OptionError, split

__all__ = ["lay_over", "run"]

FOLDER: Final = Path("build/iibench")
"""Where results go."""


def check_names(options: BenchmarkOptions) -> None:
    """Raises OptionError where a database does not have the drivers asked for, a driver not the strategies, or where a
    cell and the other options make no sense together."""
    if options.database not in DIFFERENCES:
        raise OptionError(f"unknown database {options.database!r}; there are {', '.join(DIFFERENCES)}")
    database = databases.load(options.database)
    for name, why in database.lacks.items():
        if getattr(options, name) != o.DEFAULTS[name]:
            raise OptionError(f"{o.flag(name)} is not for {options.database}: {why}")
    if options.generator == "python" and database.strategy != "text":
        raise OptionError(f"--generator python makes text, and {options.database}: {database.strategies['text']}")
    options.in_cells()
    for driver in split(options.driver):
        if driver not in database.drivers:
            near = difflib.get_close_matches(driver, database.drivers, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OptionError(
                f"{options.database} has no driver {driver!r}{hint} The drivers are: {', '.join(database.drivers)}"
            )
        try:
            session = sessions.load(database, driver, options.url)
        except ImportError as error:
            raise OptionError(f"the driver {driver} is not installed: {error}") from None
        for strategy in split(options.insert_with):
            for lacking in (database.strategies, session.strategies):
                if strategy in lacking:
                    raise OptionError(f"--insert-with {strategy}: {lacking[strategy]}")


def run(args: argparse.Namespace) -> int:
    """Runs what was asked for; the exit code is 0 where all of it was right."""
    options = o.from_arguments(args)
    check_names(options)
    try:
        earlier = [each for path in options.add for each in runs_of.read(Path(path))]
    except ValueError as error:
        raise OptionError(f"--add {error}") from None
    folder = Path(options.out) if options.out else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    name = options.label or datetime.now().strftime("%Y%m%d-%H%M%S")
    path = folder / f"{name}.jsonl"
    code = 0
    with path.open("w", encoding="utf-8") as file:
        tell = Lines(file)
        try:
            with watching(options.secs_per_report) as watch:
                code = 0 if Bench(options, tell, watch).run() else 1
        except KeyboardInterrupt:
            # What there is until now is shown all the same.
            code = INTERRUPTED
            if not tell.count:
                return code
            tell({"type": "failure", "who": "the run itself", "code": "interrupted", "message": "by Ctrl-C"})
    runs = runs_of.read(path)
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as table:
        report.write_csv(runs, table)
    path.with_suffix(".html").write_text(page.page([*earlier, *runs]), encoding="utf-8")
    report.terminal(runs)
    for suffix in (".jsonl", ".csv", ".html"):
        print(f"written: {path.with_suffix(suffix)}")
    return code


def lay_over(paths: Sequence[Path], to_html: Path | None, to_markdown: Path | None) -> None:
    """Makes the page and the table of runs that are over."""
    runs = [each for path in paths for each in runs_of.read(path)]
    if to_html:
        to_html.write_text(page.page(runs), encoding="utf-8")
    if to_markdown:
        to_markdown.write_text(report.markdown(runs), encoding="utf-8")
    report.terminal(runs)


class Lines:
    """Writes results as JSON, a line each, at once: what is there when a run dies stays."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.count = 0

    def __call__(self, what: dict[str, Any]) -> None:
        self.count += 1
        print(json.dumps(what), file=self.file, flush=True)
