"""The pages of races whose rows have a bar each."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from .page import STYLE
from .report import failure

BARS = (
    ".bar{background:var(--them);height:.8rem;min-width:1px}.us .bar{background:var(--us)}"
    ".floor .bar{background:var(--floor)}td.long{min-width:10rem}"
)


def html_table(headings: Sequence[str], lines: Iterable[tuple[str, Sequence[str], str]]) -> str:
    """A table in HTML; each line is the class of its row, its texts, and what follows them."""
    parts = ["<div class='scroll'><table><tr>", *(f"<th>{html.escape(heading)}</th>" for heading in headings), "</tr>"]
    for kind, texts, more in lines:
        parts.append(
            f"<tr class='{kind}'>" + "".join(f"<td>{html.escape(text)}</td>" for text in texts) + more + "</tr>"
        )
    return "".join([*parts, "</table></div>"])


def bars_table(headings: Sequence[str], lines: Sequence[tuple[str, Sequence[str], dict[str, Any]]]) -> str:
    """The same where each line ends with a bar, as long as the median of its result, which is the last of its items."""
    longest = max((row["median_s"] for *_, row in lines if failure(row) is None), default=1.0)
    made: list[tuple[str, Sequence[str], str]] = []
    for kind, texts, row in lines:
        bad = failure(row) is not None
        share = 0.0 if bad else row["median_s"] / longest * 100
        bar = f"<td class='long'><div class='bar' style='width:{share:.1f}%'></div></td>"
        made.append((f"{kind} bad" if bad else kind, texts, bar))
    return html_table([*headings, ""], made)


def bars_page(title: str, style: str, notes: Iterable[str], tables: Iterable[tuple[str, str]], report: Any) -> str:
    """A page that needs nothing but itself: notes, tables with their headings, and the data."""
    name, data = html.escape(title), html.escape(json.dumps(report, indent=1))
    return "".join(
        [
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
            f"<meta name='viewport' content='width=device-width, initial-scale=1'><title>{name}</title>"
            f"<style>{STYLE}{BARS}{style}</style></head><body><h1>{name}</h1>",
            *(f"<p>{html.escape(note)}</p>" for note in notes),
            *(f"<h2>{html.escape(heading)}</h2>{table}" for heading, table in tables),
            f"<details><summary>data (JSON)</summary><pre class='scroll'>{data}</pre></details></body></html>",
        ]
    )
