"""What only MySQL and MariaDB have."""

from __future__ import annotations

from typing import Any

from headrace_lab.differences import DIFFERENCES
from served import Served

from .places import Place
from .worker import READS, WRITES, Chosen, Worker, operation, read_stream, refused, same, taken_key


@operation(WRITES, 3)
async def loaded_rows(self: Worker, conn: Any) -> None:
    rows = self.values(self.rng.choice((1, 100, 1500)), "loaded")
    same("rows loaded", await conn.load_rows("company", rows), len(rows))
    self.stored(rows)


@operation(WRITES)
async def loaded_data(self: Worker, conn: Any) -> None:
    rows = self.values(40, "data")
    data = "".join(f"{worker}\t{n}\t{how}\n" for worker, n, how in rows).encode()
    same("lines loaded", await conn.load_data("load data local infile 'x' into table company", data), len(rows))
    self.stored(rows)


@operation(WRITES)
async def refused_loads(self: Worker, conn: Any) -> None:
    bad = await taken_key(self, conn)
    rows = [*self.values(20, "refused"), bad]
    await refused(lambda: conn.load_rows("company", rows))


@operation(READS, 3)
async def streams_on_the_server(self: Worker, conn: Any) -> None:
    mark, count = self.marker(), self.rng.choice((5, 300, 1900))
    stream = conn.stream(self.place.marked(count), (mark,), fetch_size=100, on_server=True)
    await read_stream(self, stream, mark, count, self.rng.random() < 0.5)


OPERATIONS = {name: thing for name, thing in globals().items() if isinstance(thing, Chosen)}


def mysql(served: Served, *, url: str = "", name: str = "", **keywords: Any) -> Place:
    """A server of MySQL's kin, however it is reached."""
    return Place(
        name or served.name,
        DIFFERENCES[served.name],
        url or served.url("test") + "?ssl_mode=DISABLED",
        (
            "drop table if exists company",
            "create table company (worker int, n int, how varchar(20), primary key (worker, n)) engine = innodb",
        ),
        lambda count: f"select cast(%s as char), seq from {served.series(count)}",
        "insert into company select %s, %s, if(sleep(0.02), 'interrupted', 'slow')",
        OPERATIONS,
        keywords={"local_infile": True, **keywords},
        sessions=lambda conn: sum(row[4] != "Daemon" for row in conn.fetch("show processlist")),
        statements=lambda conn: int(conn.executescript("show global status like 'Prepared_stmt_count'").fetchone()[1]),
        slow_answer=("select if(sleep(0.02), 'interrupted', 'slept')", "slept"),
    )
