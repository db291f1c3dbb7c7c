"""Instructions that a client executes for a query, a row or a connection, counted by valgrind: a figure that neither a
busy machine nor the server changes, for comparing two builds where wall time cannot separate them.

    python benches/instructions.py                                  this interpreter's headrace, all servers
    python benches/instructions.py mariadb --workload select,fetch
    python benches/instructions.py --before /path/to/.venv/bin/python   another build beside it, on the same server
    python benches/instructions.py postgres --peers                 other drivers beside it, where they are installed

Each workload runs in a process of its own, once with few and once with many repetitions. The difference of the two
counts divided by the difference of the repetitions leaves out imports, connecting and the first executes. The least of
ROUNDS such figures is shown: a count is exact but for garbage collection and what arrives in how many reads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime as dt
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROUNDS = 3
FETCHED = 10_000
"""Rows of a fetch."""
BATCH = 1_000
"""Rows of a batch, and executes of a pipeline."""
SERVERS = ("postgres", "mariadb", "mysql", "informix", "cubrid")
COLUMNS = ("id", "name", "small", "amount", "made")
FETCH = f"SELECT {', '.join(COLUMNS)} FROM fetched"
FETCH_TYPES = "SELECT n, t, a, b FROM typed"
TIMESTAMPS = {
    "postgres": "timestamptz",
    "mariadb": "datetime(6)",
    "mysql": "datetime(6)",
    "informix": "datetime year to fraction(5)",
    "cubrid": "datetime",
}
QMARK = ("informix", "cubrid")
"""Servers whose parameters are question marks."""

REPETITIONS = {
    "select": (500, 4500, 1, "one-row select by key, prepared"),
    "select-limit": (500, 4500, 1, "the same, timeout=5"),
    "select-dict": (500, 4500, 1, "the same, as a dictionary"),
    "select-async": (500, 4500, 1, "the same, asyncio"),
    "select-async-timer": (500, 4500, 1, "the same, asyncio, beside a timer"),
    "select-async-limit": (500, 4500, 1, "the same, asyncio, timeout=5"),
    "select-uvloop": (500, 4500, 1, "the same, uvloop"),
    "select-uvloop-timer": (500, 4500, 1, "the same, uvloop, beside a timer"),
    "select-uvloop-limit": (500, 4500, 1, "the same, uvloop, timeout=5"),
    "select-new": (500, 4500, 1, "the same, each a text of its own"),
    "pool": (500, 4500, 1, "the same, with a connection of a pool"),
    "pool-async": (500, 4500, 1, "the same, asyncio"),
    "pool-uvloop": (500, 4500, 1, "the same, uvloop"),
    "execute": (500, 4500, 1, "the same, on a new cursor"),
    "execute-async": (500, 4500, 1, "the same, asyncio"),
    "execute-uvloop": (500, 4500, 1, "the same, uvloop"),
    "cursor": (500, 4500, 1, "fetchone of it, with conn.cursor()"),
    "cursor-async": (500, 4500, 1, "the same, asyncio"),
    "cursor-uvloop": (500, 4500, 1, "the same, uvloop"),
    "fetchrow": (500, 4500, 1, "fetchrow of a row by key, prepared"),
    "fetchrow-async": (500, 4500, 1, "the same, asyncio"),
    "fetchrow-uvloop": (500, 4500, 1, "the same, uvloop"),
    "fetchval": (500, 4500, 1, "fetchval of a row by key, prepared"),
    "fetchval-uvloop": (500, 4500, 1, "the same, uvloop"),
    "fetch": (1, 5, FETCHED, "row of five columns fetched"),
    "fetch-records": (1, 5, FETCHED, "the same, as a Record"),
    "fetch-types": (1, 5, FETCHED, "row of a decimal, timestamp, text, NULL"),
    "pipeline": (1, 5, BATCH, "execute inside of pipeline()"),
    "executemany": (1, 5, BATCH, "row of executemany, in a transaction"),
    # Importing pyarrow takes 10^9 instructions, some 10^7 more or fewer: the rows are so many that those do not count.
    "arrow": (2, 102, FETCHED, "row of five columns as a pyarrow table"),
    "bulk-in": (2, 12, BATCH, "row of COPY, or of load_rows"),
    "write-row": (2, 12, BATCH, "row of COPY by write_row, as text"),
    "arrow-in": (2, 152, BATCH, "row of executemany of such a table"),
    "adbc": (2, 102, FETCHED, "row of five columns by ADBC"),
    "adbc-in": (2, 152, BATCH, "row of such a table ingested by ADBC"),
    "connect": (5, 45, 1, "connection opened and closed"),
    "first": (0, 1, 1, "the same, the first of a process"),
}
"""Workload: few and many repetitions, units in each, and what a unit is."""

ONLY = {"bulk-in": ("postgres", "mariadb", "mysql"), "write-row": ("postgres",)}
"""Workloads of some servers only: those with a COPY or LOAD DATA LOCAL."""
LIKE_MYSQL: dict[str, tuple[str, ...]] = {"": ("MySQLdb", "pymysql"), "async": ("asyncmy",), "uvloop": ("asyncmy",)}
PEERS: dict[str, dict[str, tuple[str, ...]]] = {
    "postgres": {"": ("psycopg",), "async": ("asyncpg", "psycopg"), "uvloop": ("asyncpg", "psycopg")},
    "mariadb": LIKE_MYSQL,
    "mysql": LIKE_MYSQL,
    "cubrid": {"": ("pycubrid",)},
}
"""The packages of other drivers, blocking, on asyncio and on uvloop. Of each a one-row select is counted, and of those
of ROW_PEERS the rows of a fetch."""
ROW_PEERS = {
    "postgres": ("psycopg", "asyncpg"),
    "mariadb": LIKE_MYSQL[""],
    "mysql": LIKE_MYSQL[""],
    "cubrid": ("pycubrid",),
}
ROWS = {"fetch": FETCH, "fetch-types": FETCH_TYPES}
"""The statements of workloads that read many rows."""


def peers(server: str, workload: str) -> list[str]:
    """The other drivers with the workload that are installed."""
    if workload in ROWS:
        return [name for name in ROW_PEERS.get(server, ()) if importlib.util.find_spec(name)]
    if not re.fullmatch("select(-async|-uvloop)?(-limit)?", workload):
        return []
    loop = workload.removeprefix("select").removesuffix("-limit").removeprefix("-")
    names: tuple[str, ...] = PEERS.get(server, {}).get(loop, ())
    # A limit is an argument of asyncpg's only.
    return [
        name
        for name in names
        if importlib.util.find_spec(name) and (name == "asyncpg" or not workload.endswith("-limit"))
    ]


def peer(name: str, workload: str, url: str, times: int) -> None:
    """What a client of another driver does, blocking."""
    module, select = importlib.import_module(name), "SELECT id, name FROM fetched WHERE id = %s"
    parts = urlsplit(url)
    place = {"host": parts.hostname, "port": parts.port, "user": unquote(parts.username or "")}
    named = {**place, "password": unquote(parts.password or ""), "database": parts.path.strip("/")}
    if name == "psycopg":
        conn = module.connect(url, autocommit=True)
        conn.prepare_threshold = 0
    elif name == "pycubrid":
        conn, select = module.connect(**named), select.replace("%s", "?")
    else:
        conn = module.connect(**named)
    cursor = conn.cursor()
    for n in range(times):
        if workload in ROWS:
            cursor.execute(ROWS[workload])
        else:
            cursor.execute(select, (n % 100,))
        cursor.fetchall()


async def asynchronous_peer(name: str, workload: str, url: str, times: int, timeout: float | None) -> None:
    """The same, on a loop."""
    module, parts = importlib.import_module(name), urlsplit(url)
    if name == "asyncpg":
        conn = await module.connect(url)
        for n in range(times):
            if workload in ROWS:
                await conn.fetch(ROWS[workload])
                continue
            await conn.fetch("SELECT id, name FROM fetched WHERE id = $1", n % 100, timeout=timeout)
        return
    select = "SELECT id, name FROM fetched WHERE id = %s"
    if name == "psycopg":
        cursor = (await module.AsyncConnection.connect(url, autocommit=True, prepare_threshold=0)).cursor()
    else:
        named = {"host": parts.hostname, "port": parts.port, "db": parts.path.strip("/")}
        named |= {"user": unquote(parts.username or ""), "password": unquote(parts.password or "")}
        cursor = (await module.connect(**named)).cursor()
    for n in range(times):
        await cursor.execute(select, (n % 100,))
        await cursor.fetchall()


def blocking(workload: str, url: str, times: int) -> None:
    """What a client does, blocking."""
    import headrace

    if workload == "first":
        # What a program has imported before.
        from headrace._shared.databases import DATABASES

        scheme = url.partition(":")[0]
        importlib.import_module(f"headrace.{next(row.module for row in DATABASES if scheme in row.schemes)}")
    if workload in ("connect", "first"):
        for _ in range(times):
            headrace.connect(url).close()
        return
    if workload.startswith("adbc"):
        adbc(workload, url, times)
        return
    mark = "?" if url.startswith(QMARK) else "%s"
    select = f"SELECT id, name FROM fetched WHERE id = {mark}"
    if workload == "pool":
        from headrace.pool import ConnectionPool

        with ConnectionPool(url, min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
            for n in range(times):
                with pool.connection() as lent:
                    lent.execute(select, (n % 100,)).fetchall()
        return
    insert = f"INSERT INTO filled VALUES ({', '.join([mark] * 5)})"
    columns = table(BATCH) if workload == "arrow-in" else None
    same = rows(BATCH) if workload in ONLY else []
    if workload == "bulk-in" and url.startswith(("mariadb", "mysql")):
        url += "?local_infile=on"
    with headrace.connect(url, autocommit=True) as conn:
        factory = {"fetch-records": headrace.rows.record_row, "select-dict": headrace.rows.dict_row}.get(workload)
        cursor = conn.cursor(row_factory=factory)
        works: dict[str, Callable[[int], object]] = {
            "select": lambda n: cursor.execute(select, (n % 100,)).fetchall(),
            "select-dict": lambda n: cursor.execute(select, (n % 100,)).fetchall(),
            "select-limit": lambda n: cursor.execute(select, (n % 100,), timeout=5.0).fetchall(),
            # More than the cache of prepared statements keeps: one leaves it for each.
            "select-new": lambda n: cursor.execute(f"{select} -- {n}", (n % 100,)).fetchall(),
            "execute": lambda n: conn.execute(select, (n % 100,)).fetchall(),
            "fetchrow": lambda n: conn.fetchrow(select, n % 100),
            "fetchval": lambda n: conn.fetchval(select, n % 100),
            "fetch": lambda _: cursor.execute(FETCH).fetchall(),
            "fetch-records": lambda _: cursor.execute(FETCH).fetchall(),
            "fetch-types": lambda _: cursor.execute(FETCH_TYPES).fetchall(),
            "arrow": lambda _: conn.fetch_arrow_table(FETCH),
            "bulk-in": lambda _: getattr(conn, "copy_in" if hasattr(conn, "copy_in") else "load_rows")("filled", same),
        }

        def with_cursor(n: int) -> None:
            with conn.cursor() as cursor:
                cursor.execute(select, (n % 100,))
                cursor.fetchone()

        works["cursor"] = with_cursor
        if workload in works:
            # The same for all, so that they can be compared: a call.
            work = works[workload]
            for n in range(times):
                work(n)
            return
        for n in range(times):
            if workload == "write-row":
                with cursor.copy("COPY filled FROM STDIN") as copy:
                    for row in same:
                        copy.write_row(row)
            elif workload == "pipeline":
                # CUBRID pipelines inside of a transaction.
                with conn.transaction() if url.startswith("cubrid") else contextlib.nullcontext(), conn.pipeline():
                    cursors = [conn.execute(select, (n,)) for n in range(BATCH)]
                for one in cursors:
                    one.fetchone()
            else:
                with conn.transaction():
                    conn.executemany(insert, rows(BATCH) if columns is None else columns)


def adbc(workload: str, url: str, times: int) -> None:
    """What a client of ADBC does."""
    from adbc_driver_headrace import dbapi

    columns = table(BATCH)
    with dbapi.connect(url, autocommit=True) as conn, conn.cursor() as cursor:
        for _ in range(times):
            if workload == "adbc-in":
                cursor.adbc_ingest("filled", columns, mode="append")
            else:
                cursor.execute(FETCH)
                cursor.fetch_arrow_table()


async def pooled(url: str, times: int) -> None:
    """What a client does with a pool, on a loop."""
    from headrace.aio.pool import AsyncConnectionPool

    select = f"SELECT id, name FROM fetched WHERE id = {'?' if url.startswith(QMARK) else '%s'}"
    async with AsyncConnectionPool(url, min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
        for n in range(times):
            async with pool.connection() as lent:
                await (await lent.execute(select, (n % 100,))).fetchall()


async def asynchronous(workload: str, url: str, times: int, timeout: float | None) -> None:
    """What a client does, on a loop, with a limit in seconds for each statement. With ``timer`` something else waits on
    the loop, as in every web server: the loop asks for the time in each of its turns then, which is not what a limit
    costs."""
    import headrace.aio

    if workload.endswith("-timer"):
        asyncio.get_running_loop().call_later(3600, print)
    mark = "?" if url.startswith(QMARK) else "%s"
    select = f"SELECT id, name FROM fetched WHERE id = {mark}"
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        cursor = conn.cursor()
        if workload.startswith("execute"):
            for n in range(times):
                await (await conn.execute(select, (n % 100,))).fetchall()
        elif workload.startswith("cursor"):
            for n in range(times):
                async with conn.cursor() as cursor:
                    await cursor.execute(select, (n % 100,))
                    await cursor.fetchone()
        elif workload.startswith("fetchrow"):
            for n in range(times):
                await conn.fetchrow(select, n % 100)
        elif workload.startswith("fetchval"):
            for n in range(times):
                await conn.fetchval(select, n % 100)
        else:
            for n in range(times):
                await cursor.execute(select, (n % 100,), timeout=timeout)
                await cursor.fetchall()


def rows(count: int) -> list[tuple[object, ...]]:
    """Rows of the tables."""
    return [(n, f"name of row {n}", n % 7, n / 7.0, dt.date(2020, 1, 1)) for n in range(count)]


def typed_rows(count: int) -> list[tuple[object, ...]]:
    """Rows of the table of other types, as the race has them but for the characters beyond Latin-1."""
    start = dt.datetime(2020, 1, 1)
    made: list[tuple[object, ...]] = []
    for n in range(count):
        text = None if n % 3 == 0 else f"text {n}"
        made.append(
            (Decimal(n * 12345).scaleb(-4), start + dt.timedelta(milliseconds=1500 * n), text, f"Süßes für {n}")
        )
    return made


def table(count: int) -> Any:
    """The same rows as a pyarrow table."""
    import pyarrow

    return pyarrow.table(dict(zip(COLUMNS, zip(*rows(count), strict=True), strict=True)))


def instructions(python: str, workload: str, url: str, times: int) -> int:
    """Instructions of one client process."""
    client = [python, __file__, "--client", workload, url, str(times)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    if python != sys.executable:
        # It would import this build.
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *client],
        capture_output=True,
        text=True,
        env=environment,
    )
    counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or counted is None:
        sys.exit(f"instructions.py: {workload} failed:\n{done.stderr[-2000:]}")
    return int(counted[1].replace(",", ""))


def each(python: str, workload: str, url: str) -> float:
    """Instructions of one unit of the workload: of a select, of a row."""
    few, many, units, _ = REPETITIONS[workload.rpartition(":")[2]]
    return min(
        (instructions(python, workload, url, many) - instructions(python, workload, url, few)) / (many - few) / units
        for _ in range(ROUNDS)
    )


def prepared(name: str, url: str) -> None:
    """The tables that the workloads read and fill."""
    import headrace

    text, real = "varchar(64)", {"informix": "float", "cubrid": "double"}.get(name, "double precision")
    mark = "?" if name in QMARK else "%s"
    with headrace.connect(url, autocommit=True) as conn:
        if name == "mysql":
            # For LOAD DATA LOCAL, which MariaDB allows by itself.
            conn.execute("SET GLOBAL local_infile = ON")
        for table in ("fetched", "filled"):
            conn.execute(f"CREATE TABLE {table} (id int, name {text}, small int, amount {real}, made date)")
        conn.execute("CREATE INDEX by_id ON fetched (id)")
        conn.executemany(f"INSERT INTO fetched VALUES ({', '.join([mark] * 5)})", rows(FETCHED))
        types = f"n decimal(14,4), t {TIMESTAMPS[name]}, a {text}, b {text}"
        conn.execute(f"CREATE TABLE typed ({types}){' CHARACTER SET utf8mb4' if name in ('mariadb', 'mysql') else ''}")
        conn.executemany(f"INSERT INTO typed VALUES ({', '.join([mark] * 4)})", typed_rows(FETCHED))


def client(workload: str, url: str, times: int) -> None:
    """Does what is counted. A driver's name may stand before the workload."""
    *driver, workload = workload.split(":")
    timeout = 5.0 if workload.endswith("-limit") else None
    loop = "uvloop" if "-uvloop" in workload else "asyncio" if "-async" in workload or driver == ["asyncpg"] else None
    if loop is None:
        if driver:
            peer(driver[0], workload, url, times)
        else:
            blocking(workload, url, times)
        return
    if driver:
        work = asynchronous_peer(driver[0], workload, url, times, timeout)
    elif workload.startswith("pool"):
        work = pooled(url, times)
    else:
        work = asynchronous(workload, url, times, timeout)
    importlib.import_module(loop).run(work)


def main() -> None:
    if sys.argv[1:2] == ["--client"]:
        client(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description="instructions of the client, by valgrind")
    parser.add_argument("servers", nargs="*", metavar="server", help=f"{', '.join(SERVERS)} (default: all)")
    possible = [name for name in REPETITIONS if "uvloop" not in name or importlib.util.find_spec("uvloop")]
    parser.add_argument("--workload", default=",".join(possible), help="with commas: " + ", ".join(REPETITIONS))
    parser.add_argument("--before", type=Path, help="the interpreter of another build's environment")
    parser.add_argument("--peers", action="store_true", help="other drivers beside one-row selects and fetches")
    arguments = parser.parse_args()
    unknown = {*arguments.servers} - {*SERVERS} | {*arguments.workload.split(",")} - {*REPETITIONS}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if shutil.which("valgrind") is None:
        sys.exit("instructions.py: valgrind is not installed: apt-get install valgrind")

    import headrace.testing

    for name in arguments.servers or SERVERS:
        with getattr(headrace.testing, name)() as server:
            prepared(name, server.url)
            for workload in arguments.workload.split(","):
                if name not in ONLY.get(workload, SERVERS):
                    continue
                now = each(sys.executable, workload, server.url)
                line = f"{name:9} {REPETITIONS[workload][3]:38} {now:12,.0f}"
                if arguments.before is not None:
                    before = each(str(arguments.before), workload, server.url)
                    line += f"   before {before:12,.0f}   {now / before:.3f}"
                for other in peers(name, workload) if arguments.peers else ():
                    line += f"   {other} {each(sys.executable, f'{other}:{workload}', server.url):,.0f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
