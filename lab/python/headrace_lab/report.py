"""The report of a race: JSON first; the terminal table, the Markdown and the HTML page are made from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import workloads as w
from .differences import DIFFERENCES
from .stats import Comparison, quotient

Row = dict[str, Any]


def duration(seconds: float | None) -> str:
    """Seconds in a unit that reads well."""
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 100 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def groups(report: dict[str, Any]) -> Iterable[tuple[str, list[Row]]]:
    """The rows of each workload, size and kind of cores, fastest first, the floor on top, those without a time last."""
    seen: dict[tuple[str, int, str], list[Row]] = {}
    for row in report["results"]:
        seen.setdefault((row["workload"], row["size"], row["cores"]), []).append(row)
    for (name, size, cores), rows in seen.items():
        floor = next((row for row in rows if row["contestant"] == "floor"), {})
        for row in rows:
            # Reports of before 2026-11-23 do not have it.
            row.setdefault("cpu_ratio_to_floor", quotient(row["client_cpu_s"], floor.get("client_cpu_s")))
        rows.sort(key=lambda r: (r["contestant"] != "floor", failure(r) is not None, r["median_s"] or 0.0))
        what = w.WORKLOADS[name].what if name in w.WORKLOADS else ""
        several = len({r["cores"] for r in report["results"] if r["workload"] == name}) > 1
        kind = f", {CORES[cores]}" if several else ""
        other = w.published(rows[0].get("database", ""), name, size)
        yield f"{name} {size:,}{f' ({other})' if other else ''}{kind}: {what}", rows


HEADINGS = (
    "contestant",
    "median",
    "to floor",
    "95 % interval",
    "times as long as",
    "client CPU",
    "CPU to floor",
    "per row",
    "IQR",
    "p50",
    "p99",
    "longest",
    "server CPU",
    "peak MB",
    "round trips",
    "rows",
)
"""The columns, in the order of their worth: a narrow terminal shows as many as it has room for."""
EQUAL = "=: no difference is shown, as the 95 % interval of the ratio includes 1."
"""The meaning of the equals sign before a ratio."""
OF_FLOOR = ("to floor", "95 % interval", "CPU to floor")
"""The columns that are empty in a race without the floor."""
SHOWN = (
    "fsync",
    "ssl",
    "shared_buffers",
    "innodb_flush_log_at_trx_commit",
    "innodb_buffer_pool_size",
    "log_bin",
    "have_ssl",
    "logging",
    "encoding",
    "protocol",
)
"""The settings that stand beside the server's version."""
CORES = {
    "shared": "client and server on one core",
    "idle": "idle cores",
    "awake": "cores kept awake",
}
"""What single queries were run on."""
NOT_OFFERED = "not offered: "
"""What the error of a workload begins with that a driver has no way to do."""
NARROW, MEDIUM = 100, 170
"""Terminal widths, in characters, below which only the first five or seven columns are shown."""


def failure(row: Row) -> str | None:
    """Why a row has no figure that counts."""
    if row["error"]:
        return str(row["error"]).strip().splitlines()[-1]
    return f"disqualified: {row['disqualified']}" if row["disqualified"] else None


def against(row: Row) -> str:
    """The ratio of another driver to headrace on the same kind of loop, and which form that is."""
    return times_as_long(row.get("ratio_to_rival"), row.get("ratio_to_rival_ci"), row.get("rival"))


def times_as_long(ratio: float | None, interval: Sequence[float] | None, other: str | None) -> str:
    """A ratio of times, and the one that it is against; with an equals sign where no difference is shown. Empty where
    there is no ratio."""
    return "" if ratio is None else f"{equal(interval)}{ratio:.2f}x {other}"


def equal(interval: Sequence[float] | None) -> str:
    """An equals sign where the interval of a ratio shows no difference: see :data:`EQUAL`. One without an interval is
    of a single process."""
    return "" if interval is None else Comparison.of(*interval).if_open("=")


def has_floor(rows: Iterable[Row]) -> bool:
    """Returns true if the floor was raced."""
    return any(row["contestant"] == "floor" for row in rows)


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    if wrong := failure(row):
        return (row["contestant"], *["-"] * 3, wrong, *[""] * (len(HEADINGS) - 5))
    ci = row["ratio_ci"]
    return (
        row["contestant"],
        duration(row["median_s"]),
        "" if row["ratio_to_floor"] is None else f"{row['ratio_to_floor']:.2f}",
        "" if ci is None else f"{ci[0]:.2f} to {ci[1]:.2f}",
        against(row),
        duration(row["client_cpu_s"]),
        "" if row["cpu_ratio_to_floor"] is None else f"{row['cpu_ratio_to_floor']:.2f}",
        duration(quotient(row["client_cpu_s"], w.units(row["workload"], row["size"]))),
        duration(row["iqr_s"]),
        duration(row["p50_s"]),
        duration(row["p99_s"]),
        # Reports of before 2026-11-29 do not have it.
        duration(row.get("longest_s")),
        duration(row["server_cpu_s"]) if row["server_cpu_s"] else "-",
        f"{row['peak_rss_bytes'] / 1e6:.0f}" if row["peak_rss_bytes"] else "-",
        "" if row.get("round_trips") is None else f"{row['round_trips']:,.4g}",
        row.get("strategy") or ("decoded" if row["rows_reached_caller"] else "count only"),
    )


def terminal(report: dict[str, Any], width: int | None = None) -> None:
    """Prints the tables, ``width`` characters wide where it is not the terminal's own, and the summary below."""
    tables(report, width)
    ending(report, width)


def ending(report: dict[str, Any], width: int | None = None) -> None:
    """Prints what holds for all tables: what is missing, what was reduced, the conditions, and the summary."""
    from rich.console import Console

    from .summary import lines

    console = Console(width=width)
    notes = [unfinished(report), *reductions(report), report["environment"].get("load_warning"), EQUAL]
    for note in filter(None, notes):
        console.print(note, highlight=False, markup=False)
    if (shown := columns_in(console.width)) < len(HEADINGS):
        console.print(f"Not shown for want of room: {', '.join(HEADINGS[shown:])}.")
    if of_all := lines(report):
        console.print()
        for line in of_all:
            console.print(line, highlight=False, markup=False, no_wrap=True)
        console.print()


def columns_in(width: int) -> int:
    """The number of columns that are shown in a terminal of this width, in characters."""
    return 5 if width < NARROW else 7 if width < MEDIUM else len(HEADINGS)


def tables(report: dict[str, Any], width: int | None = None, skip: int = 0) -> int:
    """Prints the tables but the first ``skip``, and returns how many there are."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=width)
    shown = columns_in(console.width)
    floor = has_floor(report["results"])
    columns = [i for i in range(shown) if floor or HEADINGS[i] not in OF_FLOOR]
    every = list(groups(report))
    for title, rows in every[skip:]:
        table = Table(title=title, title_justify="left", header_style="bold")
        texts_of = {row["contestant"]: cells(row) for row in rows if failure(row) is None}
        filled = [i for i in columns if i == 0 or any(texts[i] not in ("", "-") for texts in texts_of.values())]
        for i in filled:
            justify: Any = "left" if i in (0, 4, len(HEADINGS) - 1) else "right"
            table.add_column(HEADINGS[i], justify=justify, no_wrap=i != 4)
        for row in rows:
            if failure(row):
                continue
            name = row["contestant"]
            style = "bold" if name.startswith("headrace") else "dim" if name == "floor" else None
            table.add_row(*(texts_of[name][i] for i in filled), style=style)
        console.print(table)
        for row in rows:
            if wrong := failure(row):
                console.print(f"{row['contestant']}: {wrong}", highlight=False, markup=False)
    return len(every)


def reductions(report: dict[str, Any]) -> list[str]:
    """The contestants that had fewer rounds of a workload than others, a line for each workload, with why."""
    of: dict[str, list[dict[str, Any]]] = {}
    for each in report.get("reduced", []):
        of.setdefault(f"{each['workload']} {each['size']:,}", []).append(each)
    return [
        f"Fewer rounds than {some[0]['planned']} of {workload}, as each contestant has {some[0]['seconds']:g} s: "
        + ", ".join(f"{each['contestant']} {each['rounds']} (one takes {each['longest_s']:.2g} s)" for each in some)
        for workload, some in of.items()
    ]


def where(report: dict[str, Any]) -> str:
    """What the figures depend on, in a line."""
    env = report["environment"]
    return f"{where_of_server(report)}, Python {env['python']}, {env['cpu']} x {env['cores']}, {env['system']}, {env['time']}"


def where_of_server(report: dict[str, Any]) -> str:
    """The server's version, and its settings that matter."""
    server = report["environment"]["server"]
    database = next((row["database"] for row in report["results"]), "postgresql")
    shown = ", ".join(f"{name} {server[name]}" for name in SHOWN if name in server)
    return f"{DIFFERENCES[database].title} {server['server_version']} ({shown})"


def failed(report: dict[str, Any]) -> list[Row]:
    """Where headrace failed, or had another result."""
    return [
        row
        for row in report["results"]
        if row["contestant"].startswith("headrace")
        and failure(row) is not None
        and not str(row["error"]).startswith(NOT_OFFERED)
    ]


def unfinished(report: dict[str, Any]) -> str:
    """The workloads that a stopped race did not reach; empty where it has done everything."""
    left = report.get("unfinished")
    return f"Stopped before: {', '.join(f'{name} {size:,}' for name, size, _ in left)}." if left else ""


def markdown_table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    made = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return made + ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    out = ["# Race", "", where(report), "", EQUAL, ""]
    for note in filter(None, (unfinished(report), report["environment"].get("load_warning"))):
        out += [note, ""]
    if reduced := reductions(report):
        out += [*(f"- {each}" for each in reduced), ""]
    for title, rows in groups(report):
        out += [f"## {title}", "", *markdown_table(HEADINGS, map(cells, rows)), ""]
    return "\n".join(out)


def _place(row: Row) -> tuple[Any, ...]:
    """What a row is the result of."""
    return (row["database"], row["workload"], row["size"], row["cores"], row["contestant"])


def compare(report: dict[str, Any], baseline: dict[str, Any], limit: float) -> list[str]:
    """Where headrace's ratio to the floor is worse than the baseline's by more than `limit` (0.25 is 25 %), or where it
    has failed at what has a ratio in the baseline.

    Raises ValueError when the two have nothing in common.
    """

    def ratios(of: dict[str, Any]) -> dict[tuple[Any, ...], float]:
        return {
            _place(r): r["ratio_to_floor"]
            for r in of["results"]
            if r["ratio_to_floor"] is not None and r["contestant"].startswith("headrace") and failure(r) is None
        }

    before, now = ratios(baseline), ratios(report)
    lost = [
        f"{' '.join(map(str, _place(r)))}: {wrong}"
        for r in report["results"]
        if (wrong := failure(r)) is not None and _place(r) in before
    ]
    common = [key for key in now if key in before]
    if not common and not lost:
        raise ValueError("the baseline has no workload, size and contestant in common with this race")
    return lost + [
        f"{' '.join(map(str, key))}: {now[key]:.2f} of the floor, {before[key]:.2f} in the baseline"
        for key in common
        if now[key] > before[key] * (1 + limit)
    ]
