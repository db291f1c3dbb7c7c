"""``headrace daemon top``: what headraced does, as a table in the terminal that is drawn again and again."""

from __future__ import annotations

import contextlib
import curses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ._daemon import ask, table, time_text

Status = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

TABLES: Final[dict[str, tuple[str, ...]]] = {
    "pools": (
        "pool", "open", "idle", "size", "waiting", "requests/s", "transactions/s", "busy", "waits", "shared",
        "errors/s",
    ),
    "clients": ("id", "name", "user", "application", "state", "for", "pinned by", "from"),
    "servers": ("id", "pool", "address", "pid", "state", "for", "open", "client"),
}  # fmt: skip
"""The tables and their columns. A key, the first letter of its name, shows each."""

SORTED_BY: Final = {"pools": "requests/s", "clients": "for", "servers": "for"}
KEYS: Final = "p pools  c clients  s servers  < > sort by another column  r the other way round  q quit"
HEAD: Final = 4
"""The line with the names of the columns."""
ESCAPE: Final = 27
PER_CENT: Final = frozenset({"busy", "shared"})
SECONDS: Final = frozenset({"waits", "for"})


@dataclass(frozen=True)
class View:
    """What is shown, and in which order."""

    name: str = "pools"
    sorted_by: Mapping[str, str] = field(default_factory=lambda: dict(SORTED_BY))
    is_ascending: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the table."""
        return TABLES[self.name]

    def pressed(self, key: str) -> View:
        """The view after a key; any other key changes nothing."""
        for name in TABLES:
            if key == name[0]:
                return replace(self, name=name)
        if key in ("<", ">"):
            at = self.columns.index(self.sorted_by[self.name]) + (1 if key == ">" else -1)
            chosen = self.columns[at % len(self.columns)]
            return replace(self, sorted_by={**self.sorted_by, self.name: chosen})
        return replace(self, is_ascending=not self.is_ascending) if key == "r" else self


def pool_rows(before: Status | None, now: Status) -> Rows:
    """The pools, with what has happened in them since the status before, or since the daemon began."""
    seconds = now["uptime_seconds"] - (before["uptime_seconds"] if before else 0)
    known = {pool["pool"]: pool for pool in (before["pools"] if before else ())}
    rows: list[dict[str, Any]] = []
    for pool in now["pools"]:
        old = known.get(pool["pool"], {})

        def more(name: str, pool: Mapping[str, Any] = pool, old: Mapping[str, Any] = old) -> float:
            """How much a counter has grown; a pool that was made again begins at 0."""
            return max(float(pool[name]) - float(old.get(name, 0)), 0.0)

        errors = sum(pool["errors_total"].values()) - sum(old.get("errors_total", {}).values())
        lent = more("lent_total")
        rows.append(
            {
                **{name: pool[name] for name in ("pool", "open", "idle", "size", "waiting")},
                "requests/s": more("requests_total") / seconds if seconds else 0.0,
                "transactions/s": more("transactions_total") / seconds if seconds else 0.0,
                "busy": more("lent_seconds_total") / seconds / pool["size"] if seconds else 0.0,
                "waits": more("wait_seconds_total") / lent if lent else 0.0,
                "shared": pool["hit_rate"],
                "errors/s": max(errors, 0) / seconds if seconds else 0.0,
            }
        )
    return rows


def client_rows(now: Status) -> Rows:
    """The clients."""
    return [
        {
            **{name: client[name] for name in ("id", "user", "application", "state")},
            "name": client["name"] or client["database"],
            "for": client["state_seconds"],
            "pinned by": client["pinned_by"],
            "from": client["address"] or client["pid"],
        }
        for client in now["clients"]
    ]


def server_rows(servers: Rows) -> Rows:
    """The server connections."""
    return [
        {
            **{name: server[name] for name in ("id", "pool", "address", "pid", "state", "client")},
            "for": server["state_seconds"],
            "open": server["open_seconds"],
        }
        for server in servers
    ]


def cell(name: str, value: Any, is_time: bool = False) -> str:
    """A value as it is shown."""
    if value is None:
        return "-"
    if name in PER_CENT:
        return f"{value:.0%}"
    if name in SECONDS or is_time:
        return f"{value * 1000:.1f} ms" if value < 1 else time_text(value)
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def in_order(rows: Rows, column: str, is_ascending: bool) -> Rows:
    """The rows by a column: numbers by their value, others by their text, those without one at the end."""

    def key(row: Mapping[str, Any]) -> tuple[float, str]:
        value = row[column]
        is_number = isinstance(value, int | float)
        return (float(value), "") if is_number else (0.0, str(value).casefold())

    has_one = [row for row in rows if row[column] is not None]
    return [
        *sorted(has_one, key=key, reverse=not is_ascending),
        *(row for row in rows if row[column] is None),
    ]


def screen(view: View, now: Status, rows: Rows) -> list[str]:
    """The lines: the daemon, the keys, and the table."""
    states = [client["state"] for client in now["clients"]]
    counted = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    column = view.sorted_by[view.name]
    way = "ascending" if view.is_ascending else "descending"
    cells = [
        [cell(name, row[name], is_time=view.name == "servers" and name == "open") for name in view.columns]
        for row in in_order(rows, column, view.is_ascending)
    ]
    heads = [f"[{name}]" if name == column else name for name in view.columns]
    return [
        f"headraced {now['version']}, process {now['pid']}, up {time_text(now['uptime_seconds'])}, "
        f"{len(states)} clients" + (f": {counted}" if counted else ""),
        f"{view.name} by {column}, {way}",
        KEYS,
        "",
        *(table(heads, cells) or ["  ".join(heads), "(none)"]),
    ]


def look(folder: str) -> Status:
    """The status at the moment, with the server connections."""
    now: Status = json.loads(ask(folder, "GET", "/status")[1])
    now["servers"] = json.loads(ask(folder, "GET", "/servers")[1])
    return now


def lines(view: View, before: Status | None, now: Status) -> list[str]:
    """The lines of a view."""
    rows: dict[str, Callable[[], Rows]] = {
        "pools": lambda: pool_rows(before, now),
        "clients": lambda: client_rows(now),
        "servers": lambda: server_rows(now["servers"]),
    }
    return screen(view, now, rows[view.name]())


def top(folder: str, seconds: float) -> int:
    """Draws the table every so many seconds until ``q`` is pressed.

    Raises:
        OSError: no daemon serves the folder.
    """
    curses.wrapper(_draw, folder, seconds, look(folder))
    return 0


def _draw(window: curses.window, folder: str, seconds: float, now: Status) -> None:
    with contextlib.suppress(curses.error):
        # Not every terminal can hide its cursor.
        curses.curs_set(0)
    window.timeout(100)
    view, before, looked = View(), None, time.monotonic()
    while True:
        window.erase()
        height, width = window.getmaxyx()
        for at, line in enumerate(lines(view, before, now)[:height]):
            # The last cell of a window cannot be written without an error.
            window.addnstr(at, 0, line, width - 1, curses.A_REVERSE if at == HEAD else curses.A_NORMAL)
        window.refresh()
        key = window.getch()
        if key in (ord("q"), ESCAPE):
            return
        view = view.pressed(chr(key)) if key >= 0 else view
        if time.monotonic() - looked >= seconds:
            before, now, looked = now, look(folder), time.monotonic()
