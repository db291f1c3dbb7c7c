"""Runs a suite and prints what differs."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from ..conftest import ROOT
from .outcomes import FAILED, counts, differences, load, save
from .projects import PROJECTS, USUAL_WAYS, WAYS_OF, Job
from .ways import DIRECT, WAYS, opened


def program() -> Path:
    """The daemon, optimised, as it is used."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "--package", "headrace-daemon"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "headraced"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="daemon.suites", description="a project's test suite, direct and through headraced"
    )
    parser.add_argument("project", choices=sorted(PROJECTS))
    parser.add_argument("source", type=Path, help="a checkout of the project")
    parser.add_argument(
        "--python", default=sys.executable, help="an interpreter with the driver and what its tests need"
    )
    parser.add_argument("--daemon", type=Path, help="a headraced that is built already")
    parser.add_argument("--way", action="append", choices=WAYS, help="by default those of the project")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "suites")
    parser.add_argument("--add", action="store_true", help="keep the outcomes of tests that are not run this time")
    parser.add_argument("--verbose", action="store_true", help="also what the tests that differ have printed")
    parser.epilog = "What stands after -- is given to the suite: the tests to be run in place of all."
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    given, arguments = parser.parse_args(words[:at]), words[at + 1 :]
    given.results.mkdir(parents=True, exist_ok=True)
    files = {way: given.results / f"{given.project}-{way}.json" for way in WAYS}
    for way in given.way or WAYS_OF.get(given.project, USUAL_WAYS):
        job = Job(given.source, given.python, arguments, files[way].with_suffix(".log"))
        with opened(way, Path() if way == DIRECT else given.daemon or program()) as there:
            print(f"{given.project}, {way}, PostgreSQL {there.server.version}", flush=True)
            before = load(files[way]) if given.add and files[way].exists() else {}
            save(files[way], before | PROJECTS[given.project](job, there))
    found = {way: load(file) for way, file in files.items() if file.exists()}
    for way, outcomes in found.items():
        print(f"{way}: {counts(outcomes)}")
    for way in found:
        if way == DIRECT or DIRECT not in found:
            continue
        print(
            f"\n{way}: {len(found[way].keys() & found[DIRECT].keys())} tests were run both ways; different from direct:"
        )
        for name, (direct, through) in differences(found[DIRECT], found[way]).items():
            print(f"  {name}: {direct}, {through}")
            if given.verbose and through == FAILED:
                print("    " + found[way][name].text.replace("\n", "\n    "))


if __name__ == "__main__":
    main()
