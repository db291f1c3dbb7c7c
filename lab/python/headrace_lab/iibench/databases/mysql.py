"""MySQL, on InnoDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...mysql import start_mysql
from ..options import BenchmarkOptions
from . import mariadb
from .base import Started

STARTED = {
    "innodb_buffer_pool_size": "1G",
    "innodb_redo_log_capacity": "1G",
    "innodb_flush_log_at_trx_commit": "2",
}
"""What a server that is started for the benchmark has, beside what the launcher gives all."""


class MySQLDatabase(mariadb.MariaDBDatabase):
    name = "mysql"
    thread_names = ("connection", "mysqld")
    called = "MySQL"
    settings = (
        "version",
        "innodb_buffer_pool_size",
        "innodb_flush_log_at_trx_commit",
        "innodb_redo_log_capacity",
        "innodb_doublewrite",
        "log_bin",
        "sync_binlog",
    )

    @contextmanager
    def start(self, options: BenchmarkOptions) -> Iterator[Started]:
        with start_mysql(settings=STARTED | mariadb.given_settings(options)) as server:
            yield Started(server.socket_url, server.pid, server.data_dir)

    def thread(self) -> str:
        return "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"


DATABASE = MySQLDatabase
