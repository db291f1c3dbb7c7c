"""What differs between the databases, one row each, for those who say the same to every one: the lab and the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, kw_only=True)
class Differences:
    """One database."""

    name: str
    """As ``--database`` and the names of tests have it."""
    title: str
    """As reports have it."""
    driver: str
    """The driver of headrace: ``postgresql``, ``mysql``, ``informix`` or ``cubrid``."""
    schemes: tuple[str, ...]
    """Of its URLs."""
    mark: str = "%s"
    """A parameter, as headrace and the usual driver take it."""
    integer: str
    """A parameter that is a whole number wherever it stands."""
    from_nothing: str = ""
    """The end of a SELECT that reads no table."""
    one_row: str = "(select 1 as one) t"
    """A table of one row."""
    temporary: str = "create temporary table"
    """The beginning of a definition that ends with the session; of CUBRID, which has none, of one that stays."""
    serial: str = "serial"
    """The type of a key that the server makes."""
    fifty_characters: str = "repeat('x', 50)"
    """An expression."""
    slow: str
    """A query that runs for many seconds. Those of Informix and CUBRID need a table ``numbers (n int)`` of 1,000
    rows."""
    block: tuple[str, int] = ("fetch_size", 1)
    """The keyword of ``stream()`` that bounds a block, and what it counts for each short row."""
    supports_streams_on_server: bool = False
    """Streams with ``on_server=True``, which leave the connection to other statements."""
    supports_load_data: bool = False
    """LOAD DATA LOCAL, on connections with ``local_infile=True``."""

    def streamed(self, rows: int) -> dict[str, int]:
        """The keywords of ``stream()`` for blocks of about so many short rows."""
        keyword, each = self.block
        return {keyword: rows * each}

    @property
    def server_cursor_keywords(self) -> dict[str, Any]:
        """The keywords of ``stream()`` for one that leaves the connection to other statements."""
        return {"on_server": True} if self.supports_streams_on_server else {}

    @property
    def allowing_load_data(self) -> dict[str, Any]:
        """The keywords of ``connect()`` that allow LOAD DATA, where there is one."""
        return {"local_infile": True} if self.supports_load_data else {}


_MYSQL: Final[dict[str, Any]] = {
    "driver": "mysql",
    "integer": "cast(? as signed)",
    "serial": "int auto_increment",
    "slow": "select sleep(20)",
    "supports_streams_on_server": True,
    "supports_load_data": True,
}
DIFFERENCES: Final[dict[str, Differences]] = {
    each.name: each
    for each in (
        Differences(
            name="postgresql",
            title="PostgreSQL",
            driver="postgresql",
            schemes=("postgresql", "postgres"),
            integer="$1::int",
            slow="select pg_sleep(20)",
        ),
        Differences(name="mariadb", title="MariaDB", schemes=("mariadb",), **_MYSQL),
        Differences(name="mysql", title="MySQL", schemes=("mysql",), **_MYSQL),
        Differences(
            name="informix",
            title="Informix",
            driver="informix",
            schemes=("informix",),
            mark="?",
            integer="cast(? as int)",
            from_nothing=" from sysmaster:sysdual",
            one_row="systables where tabid = 1",
            temporary="create temp table",
            fifty_characters="rpad('x', 50, 'x')",
            slow="select count(*) from numbers a, numbers b, numbers c where a.n + b.n + c.n = 7",
            block=("fetch_bytes", 10),
        ),
        Differences(
            name="cubrid",
            title="CUBRID",
            driver="cubrid",
            schemes=("cubrid",),
            mark="?",
            integer="cast(? as int)",
            temporary="create table if not exists",
            serial="int auto_increment",
            slow="select count(*) from numbers a, numbers b, numbers c where a.n + b.n + c.n = 7",
        ),
    )
}
DRIVERS: Final[tuple[str, ...]] = tuple(dict.fromkeys(each.driver for each in DIFFERENCES.values()))
