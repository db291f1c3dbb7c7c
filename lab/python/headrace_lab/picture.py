"""The picture of the published race: for each database and row of the README's table, headrace and the fastest other
driver on an axis of ratios to the floor, as SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Final

LABELS: Final = 190.0
"""Room for the names of the rows, in units of the picture, as all that follow."""
PANEL, GAP = 150.0, 14.0
ROW, TOP, BOTTOM = 24.0, 46.0, 44.0
LEAST, MOST = 0.1, 100.0
"""The ends of the axis."""
TICKS: Final = (0.1, 1.0, 10.0, 100.0)
US, THEM, GREY = "#d9480f", "#4c6ef5", "#868e96"

Ratios = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Ratios to the floor: by database, by the row's label, by contestant."""


def picture(titles: Mapping[str, str], rows: tuple[str, ...], ratios: Ratios, beside: int | None = None) -> str:
    """The picture. ``titles`` has the databases in their order, for people; a row that a database lacks is empty.

    Args:
        titles: the names of the databases.
        rows: the labels of the rows, in their order.
        ratios: what is drawn.
        beside: how many databases stand beside each other, the others below them: a telephone has room for one.
            All, if not given.
    """
    columns = beside or max(len(titles), 1)
    band = TOP + len(rows) * ROW + GAP
    width, bands = LABELS + columns * (PANEL + GAP), math.ceil(len(titles) / columns)
    height = bands * band + BOTTOM + (ROW if columns == 1 else 0)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' font-size='11' "
        f"font-family='system-ui, sans-serif' fill='{GREY}'>",
        "<title>headrace and the fastest other driver of each database, divided by the floor</title>",
    ]
    for index, (database, title) in enumerate(titles.items()):
        left, top = LABELS + index % columns * (PANEL + GAP), index // columns * band
        if index % columns == 0:
            for number, label in enumerate(rows):
                parts.append(f"<text x='0' y='{top + _y(number) + 4:.0f}'>{html.escape(label)}</text>")
        parts.append(f"<text x='{left:.0f}' y='{top + 14:.0f}' font-weight='600'>{html.escape(title)}</text>")
        for tick in TICKS:
            x, end = _x(left, tick), top + TOP + len(rows) * ROW
            parts.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{top + TOP - 8:.0f}' y2='{end:.0f}' stroke='{GREY}'")
            parts.append(" stroke-width='1.5'/>" if tick == 1 else " stroke-opacity='.25'/>")
            parts.append(
                f"<text x='{x:.1f}' y='{top + TOP - 14:.0f}' text-anchor='middle' font-size='9'>{tick:g}</text>"
            )
        for number, label in enumerate(rows):
            parts.append(_row(left, top + _y(number), ratios.get(database, {}).get(label, {})))
    x, y = (0.0 if columns == 1 else LABELS), bands * band + 14
    for colour, text, at in ((US, "headrace", x), (THEM, "the fastest other driver", x + 90)):
        parts.append(f"<circle cx='{at + 5:.0f}' cy='{y - 4:.0f}' r='4.5' fill='{colour}'/>")
        parts.append(f"<text x='{at + 14:.0f}' y='{y:.0f}'>{text}</text>")
    x, y = (x, y + ROW) if columns == 1 else (x + 245, y)
    parts.append(f"<text x='{x:.0f}' y='{y:.0f}'>times as long as the floor (1), further left is faster</text></svg>\n")
    return "".join(parts)


def _row(left: float, y: float, of: Mapping[str, float]) -> str:
    others = {name: ratio for name, ratio in of.items() if not name.startswith("headrace")}
    if "headrace" not in of or not others:
        return ""
    name = min(others, key=others.__getitem__)
    ours, theirs = _x(left, of["headrace"]), _x(left, others[name])
    return (
        f"<line x1='{ours:.1f}' x2='{theirs:.1f}' y1='{y:.0f}' y2='{y:.0f}' stroke='{GREY}' stroke-opacity='.6' "
        f"stroke-width='2'/><circle cx='{theirs:.1f}' cy='{y:.0f}' r='4.5' fill='{THEM}'><title>{html.escape(name)} "
        f"{others[name]:.2f}</title></circle><circle cx='{ours:.1f}' cy='{y:.0f}' r='4.5' fill='{US}'><title>headrace "
        f"{of['headrace']:.2f}</title></circle>"
    )


def _y(number: int) -> float:
    return TOP + number * ROW + ROW / 2


def _x(left: float, ratio: float) -> float:
    within = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return left + 6 + within * (PANEL - 12)
