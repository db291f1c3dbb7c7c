"""Line charts as SVG, so that a page of them is small and needs nothing but itself."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

COLOURS: Final = ("#d9480f", "#4c6ef5", "#2b8a3e", "#ae3ec9", "#e67700", "#0b7285", "#c2255c", "#5c940d", "#868e96")
WIDTH, HEIGHT = 960.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 12.0, 10.0, 38.0
"""Room around the curves, in units of the picture."""
TICKS: Final = 6
"""Lines of the grid in each direction, about."""
DECADES: Final = 8
"""Powers of ten that a logarithmic axis has at most; what is less is drawn at its bottom."""
SMALLEST: Final = 1e-12
"""What is less counts as nothing where the ends of an axis are chosen."""
STYLE: Final = """
svg.plot { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: #868e96 }
svg.plot line { stroke: #8884 } svg.plot polyline { fill: none; stroke-width: 1.6 } svg.plot circle { stroke: none }
.keys span { margin-right: 1.2rem; white-space: nowrap } .keys b { font-weight: 700 }
"""
"""What a page needs for them."""


@dataclass(frozen=True)
class Curve:
    """A curve; those of the same name have the same colour."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


@dataclass(frozen=True)
class Axis:
    """From values to a place in the picture."""

    low: float
    high: float
    start: float
    """Where ``low`` is."""
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a value is."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values along it."""
        if self.logarithmic:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            return [10.0**n for n in range(first, last + 1)]
        step = round_step(self.high - self.low)
        return [n * step for n in range(math.ceil(self.low / step), math.floor(self.high / step + 1e-9) + 1)]


def round_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, of which about :data:`TICKS` make up the span.

    >>> round_step(100.0), round_step(7.0), round_step(0.3)
    (20.0, 1.0, 0.05)
    """
    raw = span / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)


def axis(values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> Axis:
    """The axis for these values: from 0, or from a power of ten to another."""
    if logarithmic:
        known = [value for value in values if value >= SMALLEST] or [1.0]
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        high = max(high, low + 1)
        return Axis(10.0 ** max(low, high - DECADES), 10.0**high, start, end, True)
    most = max([*values, 0.0]) * 1.04
    return Axis(0.0, most if most >= SMALLEST else 1.0, start, end)


def shown(value: float) -> str:
    """A value at an axis.

    >>> [shown(value) for value in (0.0, 0.25, 20.0, 15000.0, 2e6)]
    ['0', '0.25', '20', '15,000', '2,000,000']
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def chart(curves: Sequence[Curve], along: str, unit: str, *, logarithmic: bool = False) -> str:
    """The curves in one picture, with a key. ``along`` is what the horizontal axis is, ``unit`` the vertical one's."""
    drawn = [curve for curve in curves if curve.ys]
    colours = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(dict.fromkeys(c.name for c in drawn))}
    across = axis([x for curve in drawn for x in curve.xs], LEFT, WIDTH - RIGHT)
    up = axis([y for curve in drawn for y in curve.ys], HEIGHT - BOTTOM, TOP, logarithmic)
    parts = [f"<svg class='plot' viewBox='0 0 {WIDTH:.0f} {HEIGHT:.0f}' role='img'>"]
    for value in up.ticks():
        y = up.place(value)
        parts.append(f"<line x1='{LEFT:.0f}' x2='{WIDTH - RIGHT:.0f}' y1='{y:.1f}' y2='{y:.1f}'/>")
        parts.append(f"<text x='{LEFT - 6:.0f}' y='{y + 4:.1f}' text-anchor='end'>{shown(value)}</text>")
    for value in across.ticks():
        x = across.place(value)
        parts.append(f"<text x='{x:.1f}' y='{HEIGHT - BOTTOM + 16:.0f}' text-anchor='middle'>{shown(value)}</text>")
    middle = (LEFT + WIDTH) / 2
    parts.append(f"<text x='{middle:.0f}' y='{HEIGHT - 5:.0f}' text-anchor='middle'>{html.escape(along)}</text>")
    parts.append(f"<text x='4' y='{TOP + 10:.0f}'>{html.escape(unit)}</text>")
    for curve in drawn:
        places = [(across.place(x), up.place(y)) for x, y in zip(curve.xs, curve.ys, strict=True)]
        colour, title = colours[curve.name], f"<title>{html.escape(curve.name)}</title>"
        if len(places) == 1:
            x, y = places[0]
            parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'>{title}</circle>")
            continue
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f"<polyline points='{points}' stroke='{colour}'>{title}</polyline>")
    keys = " ".join(
        f"<span><b style='color:{colour}'>&#9644;</b> {html.escape(name)}</span>" for name, colour in colours.items()
    )
    return "".join([*parts, f"</svg><div class='keys'>{keys}</div>"])
