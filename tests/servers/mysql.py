"""MySQL and MariaDB, as tests see them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import headrace.mysql
import headrace.mysql.resets
from headrace import errors
from headrace_lab.differences import DIFFERENCES
from served import Served

from .base import Listing


class MySQL(Listing):
    """Genuine MySQL."""

    differences = DIFFERENCES["mysql"]
    module: ClassVar[Any] = headrace.mysql
    resets: ClassVar[Any] = headrace.mysql.resets
    fixture = "mysql_served"
    supports_set_autocommit = True
    cursors_that_fetch_later = ({"stream": True}, {"on_server": True})
    transactional = " engine=innodb"
    timestamp = "datetime(6)"
    # SLEEP() returns early, without an error.
    slow_raises = False
    commits_ddl = True
    own_isolation = (
        "select trx_isolation_level from information_schema.innodb_trx where trx_mysql_thread_id = connection_id()"
    )
    hides_tables = True
    longest_name = "ü" * 64
    understands_double_quotes = False
    supports_temporary_virtual_columns = False
    adbc_schema = "catalog_name"
    analyze = "analyze table t"
    describes_constraints = True
    supports_zero_dates = True
    allow_zero_dates = "set sql_mode = ''"
    loading = {"local_infile": True}
    copies_by = "load_rows"
    supports_sqlalchemy = True
    batch_strategies = {name: ("?", {"strategy": name}) for name in ("auto", "bulk", "joined", "pipelined")}
    codes = {errors.UndefinedTable: 1146, errors.UndefinedColumn: 1054, errors.SyntaxError: 1064}
    colon_parameters = False
    # The client listens first: a packet of six bytes that is not a greeting.
    without_tls = {"ssl_mode": "DISABLED"}
    garbage = b"\x06\0\0\0\x07HTTP/"
    others = "select id from information_schema.processlist where db = database() and id <> connection_id()"
    doing = (
        "select id, host, command, time, state, info from information_schema.processlist "
        "where db = database() and id <> connection_id()"
    )
    counts = (
        "select count(*), count(t.trx_id) from information_schema.processlist p "
        "left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.id "
        "where p.db = database() and p.id <> connection_id()"
    )
    executing = "select count(*) from information_schema.processlist where info like %s and id <> connection_id()"
    ending = "kill {}"
    pause = "select sleep({})"
    cancelling = "kill query {}"
    supports_unprepared = True
    isolation_variables = "transaction"
    """What the names of the variables of a transaction's properties begin with."""
    long_recursion = "set session cte_max_recursion_depth = 100000"

    served: Served
    """The server."""

    @classmethod
    def at(cls, server: Served) -> Self:
        """The database ``test``."""
        url = server.url("test")
        made = cls(url, url.replace("tiger", "wrong"))
        made.served = server
        return made

    @property
    def scripting_url(self) -> str:
        """The URL of connections that execute several statements in one text."""
        return self.url_with(multi_statements="true")

    def series(self, count: int) -> str:
        """A query for the whole numbers from 1 on."""
        return f"select seq as n from {self.served.series(count)}"

    def count_from_zero(self, count: int) -> str:
        """A query for the whole numbers from 0 on."""
        more = f"select n + 1 from s where n < {count - 1}"
        return f"with recursive s (n) as (select 0 union all {more}) select n from s"


class MariaDB(MySQL):
    """The kin whose server, syntax and codes differ in little."""

    differences = DIFFERENCES["mariadb"]
    fixture = "mariadb_served"
    slow_raises = True
    isolation_variables = "tx"
    long_recursion = "set session max_recursive_iterations = 100000"
    supports_default_expressions = True
    supports_temporary_virtual_columns = True
