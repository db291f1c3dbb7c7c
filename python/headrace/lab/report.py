"""The report of a race: JSON first; the terminal table, the Markdown and the HTML page are made from it."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from . import workloads as w
from .stats import verdict

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
        rows.sort(key=lambda r: (r["contestant"] != "floor", r["disqualified"], r["median_s"] is None, r["median_s"]))
        what = w.WORKLOADS[name].what if name in w.WORKLOADS else ""
        kind = (
            f", cores kept {cores}"
            if cores == "awake"
            else (", idle cores" if len({r["cores"] for r in report["results"] if r["workload"] == name}) > 1 else "")
        )
        yield f"{name} {size:,}{kind}: {what}", rows


HEADINGS = (
    "contestant",
    "median",
    "IQR",
    "to floor",
    "95 % interval",
    "against headrace",
    "client CPU",
    "server CPU",
    "p99",
    "peak MB",
    "rows",
)


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    if row["error"]:
        return (row["contestant"], row["error"].strip().splitlines()[-1][:70], *[""] * 9)
    against = ""
    if row.get("ratio_to_headrace_ci"):
        low, high = row["ratio_to_headrace_ci"]
        says = verdict(low, high)
        against = says if says == "no difference shown" else f"{row['ratio_to_headrace']:.2f}x ({says})"
    if row["disqualified"]:
        against = "DISQUALIFIED: another result"
    ci = row["ratio_ci"]
    return (
        row["contestant"],
        duration(row["median_s"]),
        duration(row["iqr_s"]),
        "" if row["ratio_to_floor"] is None else f"{row['ratio_to_floor']:.2f}",
        "" if ci is None else f"{ci[0]:.2f} to {ci[1]:.2f}",
        against,
        duration(row["client_cpu_s"]),
        duration(row["server_cpu_s"]) if row["server_cpu_s"] else "-",
        duration(row["p99_s"]),
        f"{row['peak_rss_bytes'] / 1e6:.0f}" if row["peak_rss_bytes"] else "-",
        "reached the caller" if row["rows_reached_caller"] else "count only",
    )


def terminal(report: dict[str, Any]) -> None:
    """Prints the table."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for title, rows in groups(report):
        table = Table(title=title, title_justify="left", header_style="bold")
        for i, heading in enumerate(HEADINGS):
            table.add_column(heading, justify="left" if i in (0, 5, 10) else "right", no_wrap=i == 0)
        for row in rows:
            style = (
                "bold" if row["contestant"].startswith("headrace") else "dim" if row["contestant"] == "floor" else None
            )
            table.add_row(*cells(row), style=style)
        console.print(table)


def where(report: dict[str, Any]) -> str:
    """What the figures depend on, in a line."""
    env = report["environment"]
    server = env["server"]
    return (
        f"PostgreSQL {server['server_version']} (fsync {server['fsync']}, ssl {server['ssl']}, shared_buffers "
        f"{server['shared_buffers']}), Python {env['python']}, {env['cpu']} x {env['cores']}, {env['system']}, {env['time']}"
    )


def markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    out = ["# Race", "", where(report), ""]
    for title, rows in groups(report):
        out += [f"## {title}", "", "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        out += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |" for row in rows]
        out.append("")
    return "\n".join(out)


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --us: #d9480f; --them: #4c6ef5; --floor: #868e96 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem }
h1 { margin: .2rem 0 } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem } p { max-width: 45rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child { text-align: left } tr.us td { font-weight: 600 } tr.floor td { color: var(--floor) }
tr.bad td { text-decoration: line-through }
"""


def page(report: dict[str, Any]) -> str:
    """The report as one self-contained HTML page with plots."""
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs

    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>headrace: the race</title>",
        f"<style>{_STYLE}</style><script>{get_plotlyjs()}</script></head><body>",
        "<h1>headrace: the race</h1>",
        f"<p>{html.escape(where(report))}</p>",
        "<p>1.00 to the floor means that nothing is left to win on the client: the floor sends the same bytes, prepared in "
        "advance, and decodes nothing. A contestant whose result differs is struck out. The whole data is at the end.</p>",
    ]
    for number, (title, rows) in enumerate(groups(report)):
        shown = [r for r in rows if r["median_s"] is not None]
        parts.append(f"<h2>{html.escape(title)}</h2>")
        if shown:
            colours = [
                "#868e96"
                if r["contestant"] == "floor"
                else "#d9480f"
                if r["contestant"].startswith("headrace")
                else "#4c6ef5"
                for r in shown
            ]
            figure = go.Figure(
                go.Bar(
                    x=[r["median_s"] * 1e3 for r in shown],
                    y=[r["contestant"] for r in shown],
                    orientation="h",
                    marker_color=colours,
                    error_x={"type": "data", "array": [r["iqr_s"] * 500 for r in shown]},
                    hovertemplate="%{y}: %{x:.4g} ms<extra></extra>",
                )
            )
            figure.update_layout(
                height=60 + 26 * len(shown), margin={"l": 8, "r": 8, "t": 4, "b": 30}, xaxis_title="milliseconds (median)",
                yaxis={"autorange": "reversed", "automargin": True}, paper_bgcolor="rgba(0,0,0,0)",
                plot_bgcolor="rgba(0,0,0,0)", font={"color": "#868e96"}, dragmode=False,
            )  # fmt: skip
            parts.append(
                figure.to_html(
                    full_html=False,
                    include_plotlyjs=False,
                    div_id=f"plot{number}",
                    config={"displayModeBar": False, "responsive": True},
                )  # fmt: skip
            )
        parts.append("<div class='scroll'><table><tr>" + "".join(f"<th>{h}</th>" for h in HEADINGS) + "</tr>")
        for row in rows:
            kind = "floor" if row["contestant"] == "floor" else "us" if row["contestant"].startswith("headrace") else ""
            kind += " bad" if row["disqualified"] else ""
            parts.append(f"<tr class='{kind}'>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells(row)) + "</tr>")
        parts.append("</table></div>")
    data = html.escape(json.dumps(report, indent=1))
    parts.append(f"<details><summary>data (JSON)</summary><pre class='scroll'>{data}</pre></details></body></html>")
    return "".join(parts)


def compare(report: dict[str, Any], baseline: dict[str, Any], limit: float) -> list[str]:
    """Where headrace's ratio to the floor is worse than the baseline's by more than `limit` (0.25 is 25 %)."""

    def ratios(of: dict[str, Any]) -> dict[tuple[Any, ...], float]:
        return {
            (r["database"], r["workload"], r["size"], r["cores"], r["contestant"]): r["ratio_to_floor"]
            for r in of["results"]
            if r["ratio_to_floor"] is not None and r["contestant"].startswith("headrace")
        }

    before, now = ratios(baseline), ratios(report)
    return [
        f"{' '.join(map(str, key))}: {now[key]:.2f} of the floor, {before[key]:.2f} in the baseline"
        for key in now
        if key in before and now[key] > before[key] * (1 + limit)
    ]
