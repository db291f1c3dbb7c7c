"""The report of a race as one HTML page that needs nothing but itself."""

from __future__ import annotations

import html
import json
from typing import Any

from .overview import LEAST, SHADES, Ratio, overview
from .report import HEADINGS, NOT_OFFERED, cells, failure, groups, unfinished, where

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
.overview .words { text-align: left; white-space: normal; width: 20% }
.overview td.words, .overview td.floor, .overview i { color: light-dark(#495057, #adb5bd) }
.overview .pair { padding: .1rem; text-align: center } p.wide { max-width: none }
 .overview b, .overview i { font-style: normal; font-weight: 600;
  display: inline-block; min-width: 2.4rem; padding: 0 .2rem; border-radius: .2rem }
.overview i { font-weight: 400; font-size: .95em }
.overview th.us { color: var(--us) } .q0 { background: light-dark(#b2f2bb, #1b5e2a) }
.q1 { background: light-dark(#e9fac8, #4a5a12) } .q2 { background: light-dark(#fff3bf, #6b5300) }
.q3 { background: light-dark(#ffd8a8, #7a3d00) } .q4 { background: light-dark(#ffc9c9, #7d1a1a) }
.overview td.pair [class], .key span { color: light-dark(#212529, #f1f3f5) }
.key span { padding: 0 .4rem; border-radius: .2rem; font-size: .85rem }
"""
"""The look of the race's page beside that."""


def page(report: dict[str, Any]) -> str:
    """The report as one self-contained HTML page with plots."""
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs

    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>headrace: the race</title>",
        f"<style>{STYLE}{RACE_STYLE}</style><script>{get_plotlyjs()}</script></head><body>",
        "<h1>headrace: the race</h1>",
        overview_table(report),
        "<h2>Conditions</h2>",
        f"<p>{html.escape(where(report))} {html.escape(unfinished(report))}</p>",
        "<p>1.00 to the floor means that nothing is left to win on the client: the floor sends the same bytes, "
        "prepared in advance, and decodes nothing. <i>Per row</i> is the client CPU divided by the rows or queries of "
        "the workload. A contestant whose result differs is struck out; the data is at the end.</p>",
    ]
    for number, (title, rows) in enumerate(groups(report)):
        shown = [r for r in rows if failure(r) is None]
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
                    error_x={"type": "data", "array": [r["iqr_s"] * 500 for r in shown], "color": "#868686"},
                    hovertemplate="%{y}: %{x:.4g} ms<extra></extra>",
                )
            )
            figure.update_layout(
                height=60 + 26 * len(shown), margin={"l": 8, "r": 8, "t": 4, "b": 30},
                xaxis_title="milliseconds (median)",
                yaxis={"autorange": "reversed", "automargin": True}, paper_bgcolor="rgba(0,0,0,0)",
                xaxis={"gridcolor": "#86868644", "zerolinecolor": "#868686"}, yaxis_gridcolor="#86868644",
                plot_bgcolor="rgba(0,0,0,0)", font={"color": "#868e96"}, dragmode=False,
            )  # fmt: skip
            parts.append(
                figure.to_html(
                    full_html=False,
                    include_plotlyjs=False,
                    div_id=f"plot{number}",
                    config={"displayModeBar": False, "responsive": True},
                )
            )
        parts.append(details_table(rows))
    data = html.escape(json.dumps(report, indent=1))
    parts.append(f"<details><summary>data (JSON)</summary><pre class='scroll'>{data}</pre></details></body></html>")
    return "".join(parts)


def overview_table(report: dict[str, Any]) -> str:
    """The summary, the meaning of the colours, and a line for each workload."""
    made = overview(report)
    forms = [f"<th class='pair {kind_of(name)}'>{html.escape(name)}</th>" for name in made.contestants]
    parts = [
        f"<p class='wide'>{html.escape(made.summary)} ",
        "Each cell has two ratios to the floor: <b>wall time</b>, then client CPU. ",
        f"{NO_FLOOR if any(line.floor.startswith(LEAST) for line in made.lines) else ''}</p>",
        f"<p class='key'>{colours()}</p><table class='overview'><tr><th>workload</th>",
        f"<th>floor: wall · CPU</th>{''.join(forms)}<th class='words'>headrace is</th></tr>",
    ]
    for line in made.lines:
        pairs = "".join(f"<td class='pair'>{pair(ratio)}</td>" for ratio in line.ratios)
        parts.append(f"<tr><td>{html.escape(line.label)}</td><td class='floor'>{html.escape(line.floor)}</td>{pairs}")
        parts.append(f"<td class='words'>{html.escape(line.verdict)}</td></tr>")
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
        f"<{tag} class='q{shade}'>{value:.{1 if value >= 10 else 2}f}</{tag}>"
        for tag, value, shade in zip("bi", (ratio.wall, ratio.cpu), ratio.shades, strict=True)
        if value is not None
    )


def kind_of(contestant: str) -> str:
    """The class of a contestant's row or column."""
    return "floor" if contestant == "floor" else "us" if contestant.startswith("headrace") else ""


def details_table(rows: list[dict[str, Any]]) -> str:
    """Every figure of a workload, without the columns that have none. A failure takes the whole width."""
    texts = [cells(row) for row in rows]
    of_figures = [text for text, row in zip(texts, rows, strict=True) if failure(row) is None]
    shown = [i for i in range(len(HEADINGS)) if i == 0 or any(text[i] not in ("", "-") for text in of_figures)]
    parts = ["<div class='scroll'><table><tr>", *(f"<th>{HEADINGS[i]}</th>" for i in shown), "</tr>"]
    for row, text in zip(rows, texts, strict=True):
        wrong = failure(row)
        parts.append(f"<tr class='{kind_of(row['contestant'])}{' bad' if wrong else ''}'>")
        if wrong:
            parts.append(f"<td>{html.escape(text[0])}</td>")
            parts.append(f"<td class='why' colspan='{max(len(shown) - 1, 1)}'>{html.escape(wrong)}</td></tr>")
        else:
            parts.append("".join(f"<td>{html.escape(text[i])}</td>" for i in shown) + "</tr>")
    return "".join([*parts, "</table></div>"])
