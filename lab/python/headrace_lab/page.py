"""The report of a race as one HTML page that needs nothing but itself."""

from __future__ import annotations

import html
import json
from typing import Any

from .report import HEADINGS, cells, failure, groups, unfinished, where

STYLE = """
:root { color-scheme: light dark; --line: #8884; --us: #d9480f; --them: #4c6ef5; --floor: #868e96 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 0 auto; padding: 1rem }
h1 { margin: .2rem 0 } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem } p { max-width: 45rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child { text-align: left } tr.us td { font-weight: 600 } tr.floor td { color: var(--floor) }
tr.bad td { text-decoration: line-through }
"""
"""The look of the lab's pages."""


def page(report: dict[str, Any]) -> str:
    """The report as one self-contained HTML page with plots."""
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs

    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>headrace: the race</title>",
        f"<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>",
        "<h1>headrace: the race</h1>",
        f"<p>{html.escape(where(report))} {html.escape(unfinished(report))}</p>",
        "<p>1.00 to the floor means that nothing is left to win on the client: the floor sends the same bytes, "
        "prepared in advance, and decodes nothing. A contestant whose result differs is struck out; "
        "the data is at the end.</p>",
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
                    error_x={"type": "data", "array": [r["iqr_s"] * 500 for r in shown]},
                    hovertemplate="%{y}: %{x:.4g} ms<extra></extra>",
                )
            )
            figure.update_layout(
                height=60 + 26 * len(shown), margin={"l": 8, "r": 8, "t": 4, "b": 30},
                xaxis_title="milliseconds (median)",
                yaxis={"autorange": "reversed", "automargin": True}, paper_bgcolor="rgba(0,0,0,0)",
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
        parts.append("<div class='scroll'><table><tr>" + "".join(f"<th>{h}</th>" for h in HEADINGS) + "</tr>")
        for row in rows:
            kind = "floor" if row["contestant"] == "floor" else "us" if row["contestant"].startswith("headrace") else ""
            kind += " bad" if failure(row) else ""
            parts.append(f"<tr class='{kind}'>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells(row)) + "</tr>")
        parts.append("</table></div>")
    data = html.escape(json.dumps(report, indent=1))
    parts.append(f"<details><summary>data (JSON)</summary><pre class='scroll'>{data}</pre></details></body></html>")
    return "".join(parts)
