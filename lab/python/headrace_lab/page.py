"""The report of a race as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import gzip
import html
import json
from typing import Any, Final

from .overview import LEAST, SHADES, Overview, Ratio, overview
from .report import (
    EQUAL,
    HEADINGS,
    NOT_OFFERED,
    OF_FLOOR,
    cells,
    failure,
    groups,
    has_floor,
    reductions,
    unfinished,
    where_of_server,
)

FLOOR: Final = (
    "1.00 to the floor means that nothing is left to win on the client: the floor sends the same bytes, prepared in "
    "advance, and decodes nothing. "
)
NO_FLOOR = f"In lines without a floor they are ratios to the <i>{LEAST}</i> of all contestants."
STYLE = """
:root { color-scheme: light dark; --line: #8884; --us: #d9480f; --them: #4c6ef5; --floor: #868e96 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 0 auto; padding: 1rem }
h1 { margin: .2rem 0 } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem } p { max-width: 45rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child { text-align: left } tr.us td { font-weight: 600 } tr.floor td { color: var(--floor) }
tr.bad td:first-child { text-decoration: line-through }
"""
"""The look of the lab's pages."""
RACE_STYLE = """
body { max-width: 86rem } .scroll table { font-size: .85rem } .scroll th, .scroll td { padding: .2rem .45rem }
.scroll th { white-space: normal; vertical-align: bottom } .scroll td.why { white-space: normal; text-align: left }
.overview { font-size: .8rem; line-height: 1.3 } .overview th { vertical-align: bottom; white-space: normal }
.overview th, .overview td { padding: .1rem .3rem }
.overview td.words, .overview td:nth-child(2), .overview i { color: light-dark(#495057, #adb5bd) }
.overview td:nth-child(n + 2), .overview th.pair { padding: .1rem; text-align: center }
.overview td:nth-child(2) { text-align: right } p.wide { max-width: none }
.overview td.words, .overview th.words { text-align: left; white-space: normal; width: 20% }
 .overview b, .overview i { font-style: normal; font-weight: 600;
  display: inline-block; min-width: 2.4rem; padding: 0 .2rem; border-radius: .2rem }
.overview i { font-weight: 400; font-size: .95em }
.overview th.us { color: var(--us) } .q0 { background: light-dark(#b2f2bb, #1b5e2a) }
.q1 { background: light-dark(#e9fac8, #4a5a12) } .q2 { background: light-dark(#fff3bf, #6b5300) }
.q3 { background: light-dark(#ffd8a8, #7a3d00) } .q4 { background: light-dark(#ffc9c9, #7d1a1a) }
.overview td [class], .key span { color: light-dark(#212529, #f1f3f5) }
.key span { padding: 0 .4rem; border-radius: .2rem; font-size: .85rem }
dl { margin: .5rem 0; font-size: .85rem } dl div { display: flex; gap: .6rem }
dt { flex: 0 0 4.6rem; color: var(--floor) } dd { margin: 0 } summary { cursor: pointer } ul { font-size: .85rem }
.warning { background: light-dark(#fff3bf, #5c4700); padding: .4rem .6rem; border-radius: .3rem; max-width: none }
.scroll td:nth-child(2) { min-width: 9rem; text-align: left }
.scroll svg { display: block; width: 100%; height: .95rem }
rect { height: 100%; fill: var(--them) } .us rect { fill: var(--us) } .floor rect { fill: var(--floor) }
rect + rect { height: 2px; y: calc(50% - 1px); fill: light-dark(#212529, #f8f9fa) }
.hint { display: none }
@media (max-width: 760px) {
 .hint { display: block; color: var(--floor) } .scroll td:nth-child(2) { min-width: 6rem }
 .scroll td:first-child, .scroll th:first-child { position: sticky; left: 0; background: light-dark(#fff, #121212) }
 .overview, .overview tbody, .overview tr, .overview td { display: block; width: auto }
 .overview tr { border: 1px solid var(--line); border-radius: .4rem; padding: .4rem; margin: .6rem 0 }
 .overview tr:first-child { display: none }
 .overview td { border: 0; padding: .1rem 0; text-align: left; white-space: normal }
 .overview td:first-child { font-weight: 600; font-size: .9rem }
 .overview td:nth-child(n + 2):not(.words) { display: flex; gap: .3rem; text-align: left }
 .overview td::before { flex: 1 } .overview td:empty { display: none !important }
 .overview td.words { width: auto; padding-top: .3rem }
}
"""
"""The look of the race's page beside that."""


def page(report: dict[str, Any]) -> str:
    """The report as one self-contained HTML page with charts."""
    floor, made = has_floor(report["results"]), overview(report)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>headrace: the race</title>",
        f"<style>{STYLE}{RACE_STYLE}{names_style(made, floor)}</style></head><body>",
        "<h1>headrace: the race</h1>",
        conditions(report),
        overview_table(made, floor),
        "<h2>How to read it</h2>",
        f"<p>{FLOOR if floor else ''}<i>Per row</i> is the client CPU divided by the rows or queries of "
        "the workload. Other drivers are compared with headrace on the same kind of loop: blocking ones with "
        f"<i>headrace</i>, those on asyncio with <i>headrace-async</i> or <i>headrace-uvloop</i>. {EQUAL} A contestant "
        "whose result differs is struck out. Bars are medians; the line in a bar is the distance between the "
        "quartiles.</p><p class='hint'>Tables that are wider than the screen can be moved sideways.</p>",
    ]
    for title, rows in groups(report):
        parts.append(f"<section><h2>{html.escape(title)}</h2>")
        parts.append(details_table(rows, floor) + "</section>")
    data = base64.b64encode(gzip.compress(json.dumps(by_column(report)).encode(), mtime=0)).decode()
    link = f"<a download='results.json.gz' href='data:application/gzip;base64,{data}'>The data</a>"
    return "".join(
        [*parts, f"<p>{link}: JSON, compressed, with a list for each column of the results.</p></body></html>"]
    )


def by_column(report: dict[str, Any]) -> dict[str, Any]:
    """The report, rounded, with a list for each field of the results in the place of one for each result: a quarter
    smaller when it is compressed."""
    rows = report["results"]
    columns = {key: [row.get(key) for row in rows] for key in (rows[0] if rows else ())}
    return {key: rounded(columns if key == "results" else value) for key, value in report.items()}


def rounded(value: Any) -> Any:
    """The same data with at most four significant digits, which is more than can be measured."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


def conditions(report: dict[str, Any]) -> str:
    """What the figures depend on: server, versions, machine, load, rounds, and what is missing."""
    environment = report["environment"]
    ran = [row["rounds"] for row in report["results"] if row["rounds"]]
    rounds = f"{min(ran)} to {max(ran)}" if ran and min(ran) < max(ran) else f"{max(ran, default=0)}"
    versions = ", ".join(
        f"{name} {of['version']}" if of.get("version") else name for name, of in report["contestants"].items()
    )
    load = [environment.get(key) for key in ("load_start", "load_end")]
    at = " and ".join(
        f"{value:.2f} at the {end}" for value, end in zip(load, ("start", "end"), strict=True) if value is not None
    )
    facts = {
        "Server": where_of_server(report),
        "Machine": f"{environment['cpu']} x {environment['cores']}, {environment['system']}",
        "Date": environment["time"],
        "Rounds": f"{rounds} of each contestant",
        "Load": at,
        "Versions": f"Python {environment['python']}, {versions}",
    }
    parts = [f"<div><dt>{name}</dt><dd>{html.escape(str(fact))}</dd></div>" for name, fact in facts.items() if fact]
    warnings = [environment.get("load_warning"), unfinished(report)]
    parts = [
        f"<dl>{''.join(parts)}</dl>",
        *(f"<p class='warning'>{html.escape(text)}</p>" for text in warnings if text),
    ]
    if reduced := reductions(report):
        items = "".join(f"<li>{html.escape(text)}</li>" for text in reduced)
        parts.append(f"<details><summary>Contestants with fewer rounds</summary><ul>{items}</ul></details>")
    return "".join(parts)


def bars(rows: list[dict[str, Any]]) -> list[str]:
    """For each row its median as a bar, in percent of the longest, and in it a line from quartile to quartile."""
    lengths = [(row["median_s"] or 0, (row["iqr_s"] or 0) / 2) for row in rows]
    longest = max((median + half for median, half in lengths), default=0) or 1
    made = []
    for median, half in lengths:
        begin = max(median - half, 0)
        bar, left, line = (round(each / longest * 100, 1) for each in (median, begin, median + half - begin))
        made.append(f"<svg><rect width={bar:g}% /><rect x={left:g}% width={line:g}% /></svg>")
    return made


def names_style(made: Overview, floor: bool) -> str:
    """What stands before each cell of the overview where it is too narrow for columns: whose ratios they are."""
    names = ["floor" if floor else "", *made.contestants]
    rules = (
        f".overview td:nth-child({n}):not(.words)::before {{ content: {json.dumps(name)} }}"
        for n, name in enumerate(names, 2)
    )
    return "@media (max-width: 760px) {" + " ".join(rules).replace("<", "\\3c ") + "}"


def overview_table(made: Overview, floor: bool) -> str:
    """The summary, the meaning of the colours, and a line for each workload."""
    forms = [f"<th class='pair {kind_of(name)}'>{html.escape(name)}</th>" for name in made.contestants]
    ratios = "the floor" if floor else f"the <i>{LEAST}</i> of all contestants"
    without = NO_FLOOR if floor and any(line.floor.startswith(LEAST) for line in made.lines) else ""
    parts = [
        f"<p class='wide'>{html.escape(made.summary)} ",
        f"Each cell has two ratios to {ratios}: <b>wall time</b>, then client CPU. {without}</p>",
        f"<p class='key'>{colours()}</p><table class='overview'><tr><th>workload</th>",
        f"<th>{'floor' if floor else LEAST}: wall · CPU</th>{''.join(forms)}<th class='words'>headrace is</th></tr>",
    ]
    for line in made.lines:
        pairs = "".join(f"<td>{pair(ratio)}" for ratio in line.ratios)
        parts.append(f"<tr><td>{html.escape(line.label)}<td>{html.escape(line.floor)}{pairs}")
        parts.append(f"<td class=words>{html.escape(line.verdict)}")
    return "".join([*parts, "</table>"])


def colours() -> str:
    """The key of the colours."""
    most = [f"up to {limit:.2f}" for limit in SHADES]
    return " ".join(f"<span class='q{n}'>{text}</span>" for n, text in enumerate([*most, f"over {SHADES[-1]:.2f}"]))


def pair(ratio: Ratio | None) -> str:
    """A cell of the overview."""
    if ratio is None:
        return ""
    if ratio.problem is not None:
        word = "not offered" if ratio.problem.startswith(NOT_OFFERED) else "failed"
        return f"<i title='{html.escape(ratio.problem, quote=True)}'>{word}</i>"
    return "".join(
        f"<{tag} class=q{shade}>{value:.{1 if value >= 10 else 2}f}</{tag}>"
        for tag, value, shade in zip("bi", (ratio.wall, ratio.cpu), ratio.shades, strict=True)
        if value is not None
    )


def kind_of(contestant: str) -> str:
    """The class of a contestant's row or column."""
    return "floor" if contestant == "floor" else "us" if contestant.startswith("headrace") else ""


def details_table(rows: list[dict[str, Any]], floor: bool) -> str:
    """A bar and every figure of each contestant in a workload, without the columns that have none. A failure takes the
    whole width. Rows and cells have no end tags, which HTML does not need, and which would be a tenth of the page."""
    texts = [cells(row) for row in rows]
    of_figures = [text for text, row in zip(texts, rows, strict=True) if failure(row) is None]
    offered = [i for i in range(len(HEADINGS)) if floor or HEADINGS[i] not in OF_FLOOR]
    shown = [i for i in offered if i == 0 or any(text[i] not in ("", "-") for text in of_figures)]
    headings = [HEADINGS[i] for i in shown]
    drawn = iter(bars([row for row in rows if failure(row) is None]))
    parts = ["<div class=scroll><table><tr>", *(f"<th>{each}" for each in (*headings[:1], "", *headings[1:]))]
    for row, text in zip(rows, texts, strict=True):
        wrong, kind = failure(row), kind_of(row["contestant"])
        words = [each for each in (kind, "bad" if wrong else "") if each]
        parts.append(f'<tr class="{" ".join(words)}">' if words[1:] else f"<tr class={words[0]}>" if words else "<tr>")
        if wrong:
            parts.append(f"<td>{html.escape(text[0])}<td class=why colspan={max(len(shown), 1)}>")
            parts.append(html.escape(wrong))
        else:
            contestant, *figures = (f"<td>{html.escape(text[i])}" for i in shown)
            parts += [contestant, "<td>", next(drawn), *figures]
    return "".join([*parts, "</table></div>"])
