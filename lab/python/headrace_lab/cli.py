"""The command line: ``headrace race``, ``iibench``, ``report``, ``profile``.

``headrace simulate`` is listed here and done in ``headrace/_command.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import sys
import textwrap
import webbrowser
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

# Where it is missing that is said at once, and not when a race has been run whose figures nobody can compute.
import numpy  # noqa: F401

import headrace

from . import INTERRUPTED, across, beside, daemon, databases, profile
from . import workloads as w
from .contestants import MODULES, known
from .differences import DIFFERENCES
from .iibench import options as iibench
from .iibench.runs import is_results
from .progress import Shown, progress
from .race import FULL, SHORT, Plan, Race
from .readme import OVERVIEW_RACE
from .rounds import SECONDS, Length


class UsageError(Exception):
    """The command line is wrong; the message has what would be right."""


def choose(kind: str, given: Sequence[str], known: Iterable[str], also: Iterable[str] = ()) -> list[str]:
    """The names given, split at commas and checked; all of those known where none was given. ``also`` are names that
    are taken, and not meant by all."""
    names = [name.strip() for part in given for name in part.split(",") if name.strip()]
    known = list(known)
    every = [*known, *also]
    for name in names:
        if name not in every:
            near = difflib.get_close_matches(name, every, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise UsageError(f"unknown {kind} {name!r}{hint} The {kind}s are: {', '.join(every)}")
    return names or known


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="headrace", description="Database drivers, and the race that measures them.")
    top.add_argument("--version", action="version", version=f"headrace {headrace.__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    race = commands.add_parser(
        "race",
        help="race the drivers head to head",
        description="Races the drivers head to head: by default for a few minutes, on the workloads of the README's "
        f"table. Each contestant has {SECONDS:g} seconds for its rounds of a workload.",
        epilog=listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    race.add_argument(
        "--database",
        help=f"the database: {', '.join(DIFFERENCES)} (by --url, or postgresql); with --across all, or some",
    )
    race.add_argument(
        "--across",
        action="store_true",
        help=f"{', '.join(across.DATABASES)} side by side, each through headrace and its usual driver: "
        f"{across.ROWS:,} rows (--size), {across.ROUNDS} rounds",
    )
    race.add_argument(
        "--daemon",
        action="store_true",
        help=f"{', '.join(daemon.CLIENTS)} on PostgreSQL directly, through headraced and through PgBouncer; "
        f"{daemon.SHORT.rounds} rounds ({daemon.FULL.rounds} with --full)",
    )
    race.add_argument(
        "--full",
        action="store_true",
        help=f"every workload and size, {FULL.rounds} rounds of everybody: takes the better part of an hour",
    )
    race.add_argument("--workload", action="append", default=[], help="only this one; repeatable, or with commas")
    race.add_argument("--contestant", action="append", default=[], help="only this one; repeatable, or with commas")
    race.add_argument("--size", action="append", default=[], type=int, help="only this size; repeatable")
    race.add_argument("--rounds", type=int, help=f"timed rounds, without the limit in time ({FULL.rounds})")
    race.add_argument("--url", help="race on this server, in a schema of its own that is dropped afterwards")
    race.add_argument(
        "--server-pid",
        action="append",
        default=[],
        type=int,
        help="a process of the server of --url, if it runs on this machine: it is given half of the cores, as a server "
        "is that the race starts; repeatable",
    )
    race.add_argument("--json", type=Path, help="write the results as JSON")
    race.add_argument("--markdown", type=Path, help="write the results as Markdown")
    race.add_argument("--html", type=Path, help="write the results as one HTML page")
    race.add_argument("--baseline", type=Path, help="compare with the JSON of an earlier race, by ratio to the floor")
    race.add_argument("--fail-over", default="25%", help="fail when worse than the baseline by more (25%%)")
    race.add_argument("--no-open", action="store_true", help="do not show the page in a browser at the end")
    report = commands.add_parser("report", help="make tables and pages from results")
    report.add_argument(
        "results",
        type=Path,
        nargs="+",
        help="a race's JSON, two to see them side by side, or any number of iibench's .jsonl",
    )
    report.add_argument("--markdown", type=Path)
    report.add_argument("--html", type=Path)
    iibench.add_parser(commands)
    add_profile(commands)
    simulate = commands.add_parser("simulate", help="run a test server in place of a database, until it is stopped")
    simulate.add_argument("database", choices=("cubrid", "informix"))
    simulate.add_argument("options", nargs=argparse.REMAINDER, help="of the server; --help lists them")
    return top


def listing() -> str:
    """The workloads and the contestants, for ``--help``."""
    out = ["workloads:"]
    for name, workload in w.WORKLOADS.items():
        what = f"{workload.what} ({workload.only} only)" if workload.only else workload.what
        out += textwrap.wrap(f"{name:26}{what}", 78, initial_indent="  ", subsequent_indent=" " * 28)
    out += ["", "contestants:"]
    for database, modules in MODULES.items():
        out += textwrap.wrap(f"{database:12}{', '.join(modules)}", 78, initial_indent="  ", subsequent_indent=" " * 14)
    return "\n".join(out)


def add_profile(commands: Any) -> None:
    """The grammar of ``headrace profile``; the options are those of pycubrid's scripts, except that its ``--database``
    is ``--dbname`` here."""
    parser = commands.add_parser("profile", help="profile one operation, on a server that is started or on yours")
    parser.add_argument("kind", choices=tuple(profile.ITERATIONS), metavar="connect|execute|fetch")
    parser.add_argument("--database", help=f"{', '.join(across.DATABASES)} (by --url, or postgresql)")
    parser.add_argument("--driver", default=across.HEADRACE.name, help="headrace, or the usual one of the database")
    parser.add_argument("--url", help="your server; without it and without --host one is started")
    for name in ("host", "user", "password", "dbname"):
        parser.add_argument(f"--{name}", help="of your server, in place of --url")
    parser.add_argument("--port", type=int)
    parser.add_argument("--iterations", "--repeats", type=int, help=f"of each operation: {profile.ITERATIONS}")
    parser.add_argument(
        "--operation", default="all", choices=(*profile.STATEMENTS, "all"), help="what execute executes"
    )
    parser.add_argument("--rows", type=int, default=profile.ROWS, help="that fetch fetches (%(default)s)")
    parser.add_argument("--fetch-size", type=int, default=profile.FETCH_SIZE, help="of fetchmany (%(default)s)")
    parser.add_argument("--sql", help="a statement to execute and fetch, in place of the table that is made for it")
    parser.add_argument(
        "--out", "--output", type=Path, default=Path("profile.html"), help=".prof for pstats, else a flame graph"
    )


def profile_options(args: argparse.Namespace) -> profile.ProfileOptions:
    """What the command line asks for. Raises UsageError."""
    parts = {name: getattr(args, name) for name in ("host", "port", "user", "password", "dbname")}
    url = args.url
    given = [name for name, value in parts.items() if value is not None]
    if given and url:
        raise UsageError(f"--{given[0]} does not go with --url")
    try:
        database = databases.of_url(url, args.database)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if database not in across.DATABASES:
        raise UsageError(f"unknown database {database!r}. The databases are: {', '.join(across.DATABASES)}")
    if given:
        login = ":".join(quote(parts[name], safe="") for name in ("user", "password") if parts[name] is not None)
        port = f":{parts['port']}" if parts["port"] is not None else ""
        place = f"{parts['host'] or 'localhost'}{port}/{quote(parts['dbname'] or '', safe='')}"
        url = f"{DIFFERENCES[database].schemes[0]}://{login}{'@' if login else ''}{place}"
    for option in ("iterations", "rows", "fetch_size"):
        if getattr(args, option) is not None:
            at_least_one(f"--{option.replace('_', '-')}", getattr(args, option))
    return profile.ProfileOptions(
        operation=args.kind,
        database=database,
        out=args.out,
        url=url,
        driver=args.driver,
        iterations=args.iterations,
        statements=profile.STATEMENTS if args.operation == "all" else (args.operation,),
        rows=args.rows,
        fetch_size=args.fetch_size,
        sql=args.sql,
    )


def plan_of(args: argparse.Namespace) -> Plan:
    """What the command line asks for. Raises UsageError."""
    try:
        database = databases.of_url(args.url, args.database)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if database not in DIFFERENCES:
        raise UsageError(f"unknown database {database!r}. The databases are: {', '.join(DIFFERENCES)}")
    try:
        contestants = choose("contestant", args.contestant, known(database))
    except ValueError as error:
        raise UsageError(str(error)) from None
    # PostgreSQL has workloads that are raced when it is named only.
    asked = args.database or (database if database != "postgresql" else None)
    offered = {name: w.WORKLOADS[name].offered(asked) for name in w.WORKLOADS}
    published = w.PUBLISHED.get(asked or "", {})
    length = length_of(args, FULL, SHORT)
    names = choose("workload", args.workload, [name for name in offered if offered[name]], published)
    if not (args.full or args.workload or args.size):
        # Which of them a database does not have is in the report.
        rows = [(name, size) for name, size, _ in OVERVIEW_RACE if size in offered[name]]
        cores = {name: (kind,) for name, _, kind in OVERVIEW_RACE if w.WORKLOADS[name].one_query}
        return Plan(contestants, rows, length, database, cores)
    chosen = [published[name] for name in names if name in published]
    names = [name for name in names if name not in published]
    of_short = {name: w.WORKLOADS[name].offered(asked, full=False) for name in names}
    sizes_known = {size for name in names for size in (*offered[name], *of_short[name])} | {size for _, size in chosen}
    for size in args.size:
        if size not in sizes_known:
            raise UsageError(
                f"none of the workloads has the size {size:,}; they have {', '.join(map(str, sorted(sizes_known)))}"
            )
    for name in names:
        sizes = offered[name] if args.full else of_short[name]
        chosen += [(name, size) for size in (args.size or sizes) if size in {*offered[name], *of_short[name]}]
    return Plan(contestants, chosen, length, database)


def length_of(args: argparse.Namespace, full: Length, short: Length) -> Length:
    """How long a race is to be. Raises UsageError."""
    length = full if args.full else short
    return length if args.rounds is None else length.with_rounds(at_least_one("--rounds", args.rounds))


def at_least_one(option: str, number: int) -> int:
    """The number. Raises UsageError where it is less than one."""
    if number < 1:
        raise UsageError(f"{option} must be at least 1")
    return number


def percentage(text: str) -> float:
    """25% as 0.25."""
    try:
        return float(text.rstrip("%")) / 100
    except ValueError:
        raise UsageError(f"--fail-over {text!r} is not a percentage such as 25%") from None


class Forms(NamedTuple):
    """What is made of the JSON of a kind of race."""

    terminal: Callable[[dict[str, Any]], None]
    markdown: Callable[[dict[str, Any]], str]
    page: Callable[[dict[str, Any]], str]


def forms(report: dict[str, Any]) -> Forms:
    """The forms of a report, by the race that it is of."""
    from . import page
    from . import report as of_race
    from .across import report as of_across
    from .daemon import report as of_daemon

    if of_across.is_across(report):
        return Forms(of_across.terminal, of_across.markdown, of_across.page)
    if of_daemon.is_daemon(report):
        return Forms(of_daemon.terminal, of_daemon.markdown, of_daemon.page)
    return Forms(of_race.terminal, of_race.markdown, page.page)


def write(report: dict[str, Any], args: argparse.Namespace) -> None:
    """Writes what was asked for."""
    to = forms(report)
    if getattr(args, "json", None):
        write_json(report, args.json)
    for path, text in ((args.markdown, to.markdown), (args.html, to.page)):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(report), encoding="utf-8")


def write_json(report: dict[str, Any], path: Path) -> None:
    """Writes the data, whole or not at all: a full disk leaves what was there."""
    text = json.dumps(report, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")  # /dev/stdout, say: nothing to put another in the place of
        return
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


class Kept:
    """What was raced so far, in the file that ``--json`` names whenever a workload is done: it is there also when the
    race is killed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.report: dict[str, Any] | None = None
        if path is not None:
            # Better now than after half an hour that it cannot be written.
            path.parent.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            with path.open("ab"):
                pass
            if new:
                path.unlink()

    def save(self, report: dict[str, Any]) -> None:
        """Takes the report so far. A disk that is full now does not end the race; it is reported at its end."""
        self.report = report
        if self.path is not None:
            with contextlib.suppress(OSError):
                write_json(report, self.path)


def race(args: argparse.Namespace) -> int:
    """Runs a race. Ctrl-C ends it with what was raced until then. The exit code is 0 where headrace did
    everything, and did it right; that another driver fails is a result."""
    from . import report as make

    plan = plan_of(args)
    if args.server_pid and not args.url:
        raise UsageError("--server-pid is of the server of --url, and there is none")
    limit = percentage(args.fail_over)
    baseline = json.loads(args.baseline.read_text(encoding="utf-8")) if args.baseline else None
    results_go_to(args, "build/race")
    kept = Kept(args.json)
    stopped = False
    try:
        with contextlib.ExitStack() as stack:
            url, server = args.url, args.server_pid
            if url is None:
                url, server = stack.enter_context(databases.load(plan.database).start())
            live = stack.enter_context(progress())
            Race(url, plan, server, live, plan.database, Shown(kept.save, live, make.tables).save).run()
    except KeyboardInterrupt:
        stopped = True
    result = kept.report
    if result is None:
        print("headrace: stopped before a workload was done", file=sys.stderr)
        return INTERRUPTED
    make.ending(result)
    write(result, args)
    say_where(args)
    if stopped:
        print("headrace: stopped; what was measured until then is kept", file=sys.stderr)
        return INTERRUPTED
    show(args)
    if baseline is not None:
        try:
            worse = make.compare(result, baseline, limit)
        except ValueError as error:
            raise UsageError(str(error)) from None
        for line in worse:
            print(f"worse than the baseline: {line}")
        if worse:
            return 1
    return 1 if make.failed(result) else 0


def across_plan(args: argparse.Namespace) -> across.Plan:
    """What the command line asks for. Raises UsageError."""
    for option in ("contestant", "baseline", "server_pid"):
        if getattr(args, option):
            raise UsageError(f"--{option.replace('_', '-')} does not go with --across")
    if args.full:
        raise UsageError("--full does not go with --across; give --size and --rounds")
    names = choose("database", [args.database] if args.database else [], across.DATABASES)
    chosen = choose("workload", args.workload, across.WORKLOADS)
    if len(args.size) > 1:
        raise UsageError("--across has one --size")
    rows = args.size[0] if args.size else across.ROWS
    if rows < across.CHANGED:
        raise UsageError(f"--size must be at least {across.CHANGED}, of which one row is updated and deleted")
    urls: dict[str, str] = {}
    if args.url:
        scheme = args.url.partition(":")[0]
        urls = {name: args.url for name in names if scheme in across.DATABASES[name].differences.schemes}
        if not urls:
            raise UsageError(f"--url is of none of {', '.join(names)}")
    rounds = args.rounds if args.rounds is not None else across.ROUNDS
    return across.Plan(names, chosen, rows, at_least_one("--rounds", rounds), urls)


def race_across(args: argparse.Namespace) -> int:
    """Runs the race across databases; the exit code is 0 where every driver did everything right."""
    from .across import report as make

    plan = across_plan(args)
    results_go_to(args, "build/across")
    with progress() as tell:
        result = across.race(plan, tell)
    write(result, args)
    make.terminal(result)
    say_where(args)
    return 1 if any(row["error"] or row["disqualified"] for row in result["results"]) else 0


def daemon_plan(args: argparse.Namespace) -> daemon.Plan:
    """What the command line asks for. Raises UsageError."""
    for option in ("database", "url", "baseline", "server_pid"):
        if getattr(args, option):
            raise UsageError(f"--{option.replace('_', '-')} does not go with --daemon, which starts its own server")
    sides: list[tuple[str, str]] = []
    for name in choose("contestant", args.contestant, daemon.CLIENTS, daemon.SIDES):
        sides += [tuple(side.split("/")) for side in daemon.SIDES if name in (side, side.partition("/")[0])]  # type: ignore[misc]
    names = choose("workload", args.workload, daemon.WORKLOADS)
    known_sizes = {size for name in names for size in daemon.WORKLOADS[name].sizes}
    if unknown := set(args.size) - known_sizes:
        raise UsageError(
            f"none of the workloads has the size {min(unknown):,}; they have {', '.join(map(str, sorted(known_sizes)))}"
        )
    chosen: list[tuple[str, int]] = []
    for name in names:
        workload = daemon.WORKLOADS[name]
        offered = workload.offered(full=args.full or bool(args.size))
        chosen += [(name, size) for size in offered if not args.size or size in args.size]
    return daemon.Plan(list(dict.fromkeys(sides)), chosen, length_of(args, daemon.FULL, daemon.SHORT))


def race_daemon(args: argparse.Namespace) -> int:
    """Runs the daemon's race. Ctrl-C ends it with what was raced until then. The exit code is 0 where headrace did
    everything right; that a goal was missed is a result."""
    from .daemon import report as make

    plan = daemon_plan(args)
    results_go_to(args, "build/daemon")
    kept = Kept(args.json)
    stopped = False
    try:
        with progress() as tell:
            daemon.race(plan, tell, kept.save)
    except KeyboardInterrupt:
        stopped = True
    result = kept.report
    if result is None:
        print("headrace: stopped before a workload was done", file=sys.stderr)
        return INTERRUPTED
    make.terminal(result)
    write(result, args)
    say_where(args)
    return INTERRUPTED if stopped else 1 if make.failed(result) else 0


def results_go_to(args: argparse.Namespace, folder: str) -> None:
    """Sets the files that are written where none was named, unless the server was given."""
    if not args.url and not (args.json or args.html or args.markdown):
        place = Path(folder)
        args.json, args.markdown, args.html = place / "results.json", place / "results.md", place / "index.html"


def say_where(args: argparse.Namespace) -> None:
    """Prints which files were written."""
    for path in (args.json, args.markdown, args.html):
        if path:
            print(f"written: {path}")


def has_desktop() -> bool:
    """Returns true if a person sits before this terminal, and has a screen that a browser can show something on."""
    if os.environ.get("CI") or not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show(args: argparse.Namespace) -> None:
    """Shows the page in a browser, if there is a desktop."""
    if args.html and not args.no_open and has_desktop():
        webbrowser.open(args.html.resolve().as_uri())


def show_beside(first: Path, second: Path, markdown: Path | None) -> None:
    """Prints two races side by side, and writes that as Markdown."""
    try:
        found = beside.beside(*(json.loads(file.read_text(encoding="utf-8")) for file in (first, second)))
    except ValueError as error:
        raise UsageError(str(error)) from None
    beside.terminal(found)
    if markdown is not None:
        markdown.write_text(beside.markdown(found), encoding="utf-8")
        print(f"written: {markdown}")


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point."""
    args = parser().parse_args(argv)
    try:
        if args.command == "race":
            if args.across and args.daemon:
                raise UsageError("--across and --daemon are two races")
            return race_across(args) if args.across else race_daemon(args) if args.daemon else race(args)
        if args.command == "report":
            if all(map(is_results, args.results)):
                from .iibench.cli import lay_over

                lay_over(args.results, args.html, args.markdown)
                return 0
            if len(args.results) == 2:
                first, second = args.results
                show_beside(first, second, args.markdown)
                return 0
            if len(args.results) > 2:
                raise UsageError("two races are put side by side; only results of iibench are laid over each other")
            result = json.loads(args.results[0].read_text(encoding="utf-8"))
            write(result, args)
            forms(result).terminal(result)
            return 0
        if args.command == "iibench":
            from .iibench.cli import run as run_iibench

            try:
                return run_iibench(args)
            except iibench.OptionError as error:
                raise UsageError(str(error)) from None
        try:
            profile.profile(profile_options(args))
        except ValueError as error:
            raise UsageError(str(error)) from None
        print(f"written: {args.out}")
        return 0
    except UsageError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 2
    except (OSError, RuntimeError, headrace.Error) as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
