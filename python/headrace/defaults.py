"""Limits, timeouts and defaults of the Python part, each with its unit.

The limits of the engine are in the ``limits.rs`` of each crate.
"""

from __future__ import annotations

from typing import Final

from . import _native

# connecting
CONNECT_TIMEOUT: Final = 30.0
"""Seconds to connect to one address and set up the session; 0 is no limit."""
STATEMENT_CACHE_SIZE: Final = 256
"""Prepared statements kept per connection."""
KNOWN_SETTINGS: Final = 64
"""Checked settings of connections that a process keeps, for each database."""

# PostgreSQL
PORT: Final = 5432
"""TCP port of PostgreSQL."""
APPLICATION_NAME: Final = "headrace"
"""Name shown in ``pg_stat_activity`` when none is given."""
SOCKET_DIRS: Final = ("/var/run/postgresql", "/tmp")
"""Directories that are searched for a Unix socket when no host is given."""

LISTEN_RECONNECT: Final = 300.0
"""Seconds for which a listener tries to open its connection again."""
LISTEN_DELAYS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between its attempts, the last one between all further ones."""
LISTEN_PING: Final = 30.0
"""Seconds without a notification after which a listener asks whether its connection is there."""

DAEMON_START_TIMEOUT: Final = 20.0
"""Seconds that the daemon headraced may take to start."""
DAEMON_STARTS: Final = 5
"""How often it is started for one connection: it may have ended again before it was reached, as it does when nobody has
needed it for a while."""

# MySQL and MariaDB
MYSQL_PORT: Final = 3306
"""TCP port of MySQL and MariaDB."""
MYSQL_SOCKETS: Final = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")
"""Unix sockets of MySQL and MariaDB that are tried when neither host nor port is given."""
MYSQL_OPTION_FILES: Final = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
"""Option files that are read, in this order, when only a group is named."""
MYSQL_LOGIN_FILE: Final = "~/.mylogin.cnf"
"""The file that ``mysql_config_editor`` writes."""

# Informix
INFORMIX_PORT: Final = 9088
"""TCP port of Informix (onsoctcp)."""
INFORMIX_FETCH_BYTES: Final = 256 * 1024
"""Bytes of rows that a stream or a named cursor requests at a time."""
INFORMIX_LOB_BYTES: Final = 256 * 1024
"""Bytes of a smart large object that one request reads or writes."""
INFORMIX_LOB_AHEAD: Final = 2
"""Requests of one read or write of a smart large object that are in flight at a time."""
POSTGRES_LOB_BYTES: Final = 256 * 1024
"""Bytes of a large object that one request reads or writes."""
POSTGRES_LOB_AHEAD: Final = 2
"""Requests of one read or write of a large object that are in flight at a time."""
LOB_LINE_BYTES: Final = 1024
"""Bytes of a large object that the first request for a line reads; each further one twice as many, up to those of a
request."""
INFORMIX_SCROLL_ROWS: Final = 256
"""Rows of a scroll cursor that are requested in one round trip, at most."""

# CUBRID
CUBRID_PORT: Final = 33000
"""TCP port of CUBRID's broker."""
CUBRID_RC_TIME: Final = 600.0
"""Seconds in which a broker that was not reached is tried after the others."""
CUBRID_STATEMENTS: Final = 1_900
"""Prepared statements that a connection keeps at most, whatever ``statement_cache_size`` is: the broker refuses more
than 2,000 of a session (MAX_PREPARED_STMT_COUNT of cubrid_broker.conf), cursors that are open among them."""
CUBRID_LOB_BYTES: Final = 80_000
"""Bytes of a large object that one request reads: the server cuts longer replies."""
CUBRID_LOB_WRITE_BYTES: Final = 128 * 1024
"""Bytes of a large object that one request writes."""
CUBRID_LOB_AHEAD: Final = 2
"""Requests of one read of a large object that are in flight at a time."""

# statements
COMMAND_TIMEOUT: Final[float | None] = None
"""Seconds that a call may wait for the server, where it has no timeout of its own; None is no limit."""
BLOCK_ROUND_TRIPS: Final = 16
"""Round trips that a block of ``transaction()`` waits for the transactions of other tasks or threads on the same
connection. After these it goes first: commits and rollbacks outside of blocks that come then wait for its beginning."""
CANCEL_TIMEOUT: Final = 5.0
"""Seconds that a cancelled request may take to end before its connection is closed."""
CANCEL_SOON: Final = 0.02
"""Seconds after which it is looked again whether a cancel request would hit the cancelled statement, and not one of the
driver's own before it."""
CANCEL_AGAIN: Final = 0.5
"""Seconds after which a cancel request without an effect is repeated: the server may not have begun with the
statement."""
INTERRUPT_PATIENCE: Final = 0.3
"""Seconds that Ctrl-C waits for the server to end a statement. If it takes longer, the next statement waits for the
rest."""
CANCEL_CHECK: Final = 0.05
"""Seconds between two checks, on an event loop, whether a cancel request had an effect; at most."""
PIPELINE_PUMP: Final = 8
"""Statements of a blocking pipeline after which queued ones are sent and received data is read, unless that was just
done."""
PIPELINE_TURN: Final = 64
"""Statements of an asyncio pipeline after which the event loop runs once, to send queued statements and read received
data."""
FETCHMANY_IN_FLIGHT: Final = 64
"""Statements of ``fetchmany`` of a connection to Informix or CUBRID that are in flight at a time."""
FETCH_SIZE: Final = 2_000
"""Rows that a stream fetches at a time."""
ARROW_BATCH_ROWS: Final = 65_536
"""Rows of an Arrow record batch at most."""
ARROW_BATCH_BYTES: Final = _native.ARROW_BATCH_BYTES
"""Bytes of the values of an Arrow record batch after which it ends, however few its rows are: the engine's limit."""
PARTITIONS: Final = 8
"""Partitions of a plan."""
PARTITION_BATCHES: Final = 2
"""Record batches that a thread of ``plan.read`` is ahead of what was taken, at most."""
ARRAY_SIZE: Final = 1
"""Rows that ``fetchmany`` of a cursor returns by default (PEP 249)."""
COPY_BLOCK: Final = 128 * 1024
"""Bytes read from a file at a time by ``copy_in``."""
FLUSH_TURN: Final = _native.FLUSH_TURN
"""Seconds after which a batch or a COPY on an event loop leaves its other tasks their turn, however fast the server
reads: the engine's limit."""
COPY_ROWS: Final = 500
"""Rows of an asynchronous iterator that ``copy_in`` collects before it sends them."""

# pools
POOL_MIN_SIZE: Final = 1
"""Connections that a pool keeps open."""
POOL_MAX_SIZE: Final = 10
"""Connections that a pool opens at most."""
POOL_TIMEOUT: Final = 30.0
"""Seconds to wait for a connection of a pool."""
POOL_MAX_LIFETIME: Final = 3600.0
"""Seconds after which a pooled connection is replaced."""
POOL_LIFETIME_JITTER: Final = 0.1
"""Largest part by which the lifetime of a pooled connection is shortened at random, so that connections that were
opened together are not replaced together."""
POOL_MAX_IDLE: Final = 600.0
"""Seconds that a connection beyond the minimum may be idle."""
POOL_MAX_WAITING: Final = 0
"""Requests that may wait for a connection; 0 means any number."""
POOL_BACKOFF_FIRST: Final = 0.1
"""Seconds before a failed attempt to connect is repeated for the first time. Each further pause is twice as long, and
is shortened by up to a half at random."""
POOL_BACKOFF_MAX: Final = 10.0
"""Seconds between attempts to connect, at most. Well below POOL_TIMEOUT: requests that wait should notice that the
server is available again."""
POOL_RECONNECT_TIMEOUT: Final = 300.0
"""Seconds of failed attempts after which a pool stops connecting until the next request."""
POOL_RESET_TIMEOUT: Final = 5.0
"""Seconds that the reset of a returned connection may take before the connection is closed; checked every
POOL_MAINTENANCE seconds."""
POOL_MAINTENANCE: Final = 5.0
"""Seconds between two checks of the idle connections."""
POOL_CLOSE_TIMEOUT: Final = 5.0
"""Seconds that closing a pool waits for connections in use."""
POOL_SEVER_TIMEOUT: Final = 1.0
"""Seconds that closing a pool waits for the end of connections that are executing a request."""

# test servers
SIMULATOR_START_TIMEOUT: Final = 30.0
"""Seconds that a test server may take to start. It creates two small databases."""
