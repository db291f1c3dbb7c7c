"""Database servers for tests, which start and end with a block.

>>> import headrace, headrace.testing
>>> with headrace.testing.postgres() as server, headrace.connect(server.url) as connection:  # doctest: +SKIP
...     connection.fetchval("SELECT 1")
1

On Linux and macOS. Where a server's program is not installed, :class:`ServerUnavailable` names the command that
installs it.
"""

from ._cubrid import CubridServer, cubrid
from ._informix import InformixServer, informix
from ._mariadb import MariaDBServer, mariadb
from ._mysql import MySQLInstallation, MySQLServer, mysql
from ._mysqld import MysqldServer
from ._postgres import PostgresServer, postgres
from ._supervised import ServerUnavailable

__all__ = [
    "CubridServer",
    "InformixServer",
    "MariaDBServer",
    "MySQLInstallation",
    "MySQLServer",
    "MysqldServer",
    "PostgresServer",
    "ServerUnavailable",
    "cubrid",
    "informix",
    "mariadb",
    "mysql",
    "postgres",
]
