"""``headrace iibench``: the command line."""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from . import options as o
from .bench import Bench
from .options import OptionError

__all__ = ["OptionError", "add_parser", "run"]

FOLDER: Final = Path("build/iibench")


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "iibench",
        help="the insert benchmark",
        description="Inserts into a table with up to three secondary indexes, deletes and queries beside it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    o.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Runs what was asked for; the exit code is 0 where all of it was right."""
    options = o.from_arguments(args)
    folder = Path(options.out) if options.out else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    name = options.label or datetime.now().strftime("%Y%m%d-%H%M%S")
    path = folder / f"{name}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        right = Bench(options, Lines(file), lambda what: None).run()
    print(f"written: {path}")
    return 0 if right else 1


class Lines:
    """Writes results as JSON, a line each, at once: what is there when a run dies stays."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def __call__(self, what: dict[str, Any]) -> None:
        print(json.dumps(what), file=self.file, flush=True)
