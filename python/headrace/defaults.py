"""Every limit, timeout and default of the Python half, by name and with its unit.

The engine's own limits are in ``crates/core/src/limits.rs``.
"""

from __future__ import annotations

from typing import Final

# connecting
PORT: Final = 5432
"""TCP port."""
MYSQL_PORT: Final = 3306
"""TCP port of MySQL and MariaDB."""
INFORMIX_PORT: Final = 9088
"""TCP port of Informix (onsoctcp)."""
INFORMIX_FETCH_BYTES: Final = 256 * 1024
"""Bytes of rows that a streaming or named Informix cursor asks for at a time."""
INFORMIX_LOB_BYTES: Final = 256 * 1024
"""Bytes of a smart large object that one request reads or writes."""
INFORMIX_LOB_AHEAD: Final = 2
"""Requests of one read or write of a smart large object that are under way at a time."""
INFORMIX_SCROLL_ROWS: Final = 256
"""Rows of a scroll cursor that are asked for in one round trip at most."""
MYSQL_SOCKETS: Final = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")
"""Unix sockets of MySQL and MariaDB that are tried when neither host nor port is given."""
KNOWN_SETTINGS: Final = 64
"""Different addresses of MySQL servers, with their settings, that a process remembers as checked."""
MYSQL_OPTION_FILES: Final = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
"""Option files that are read, in this order, when only a group is named."""
MYSQL_LOGIN_FILE: Final = "~/.mylogin.cnf"
"""The file that ``mysql_config_editor`` writes."""
CONNECT_TIMEOUT: Final = 30.0
"""Seconds to connect to one address and set up the session; 0 waits for ever."""
APPLICATION_NAME: Final = "headrace"
"""Name shown in ``pg_stat_activity`` when none is given."""
STATEMENT_CACHE_SIZE: Final = 256
"""Prepared statements kept per connection."""
SOCKET_DIRS: Final = ("/var/run/postgresql", "/tmp")
"""Directories that are searched for a Unix socket when no host is given."""

# running
COMMAND_TIMEOUT: Final[float | None] = None
"""Seconds that a call may wait for the server unless it is told otherwise; None is no limit."""
CANCEL_TIMEOUT: Final = 5.0
"""Seconds that a cancelled request may take to end before its connection is closed."""
CANCEL_AGAIN: Final = 0.5
"""Seconds after which a cancel request is repeated that had no effect, as the server had not begun with the request."""
INTERRUPT_PATIENCE: Final = 0.3
"""Seconds that Ctrl-C waits for the server to end a statement. The next one waits for what it takes beyond that."""
CANCEL_LOOK: Final = 0.05
"""Seconds at most between two looks, on a loop, whether it had an effect."""
PIPELINE_NUDGE: Final = 8
"""Statements of a blocking pipeline after which what was queued is sent, and what has come is read, unless that was
done a moment ago."""
PIPELINE_TURN: Final = 64
"""Statements of an asyncio pipeline after which the loop has a turn, to send what was queued and read what has come."""
INFORMIX_BEHIND: Final = 64
"""Statements of ``fetchmany`` on Informix that are under way at a time."""
FETCH_SIZE: Final = 2_000
"""Rows fetched at a time by a streaming cursor."""
ARRAY_SIZE: Final = 1
"""Rows that ``fetchmany`` gives when it is not told (PEP 249)."""
COPY_BLOCK: Final = 128 * 1024
"""Bytes read from a file at a time by ``copy_in``."""
COPY_ROWS: Final = 500
"""Rows of an asynchronous iterator that ``copy_in`` collects before it sends them."""

# pool
POOL_MIN_SIZE: Final = 1
"""Connections that a pool keeps open."""
POOL_MAX_SIZE: Final = 10
"""Connections that a pool opens at most."""
POOL_TIMEOUT: Final = 30.0
"""Seconds to wait for a connection of a pool."""
POOL_MAX_LIFETIME: Final = 3600.0
"""Seconds after which a pooled connection is replaced."""
POOL_LIFETIME_JITTER: Final = 0.1
"""Part of its lifetime by which a connection's own may be shorter, so that connections made together do not end
together."""
POOL_MAX_IDLE: Final = 600.0
"""Seconds that a connection beyond the minimum may be idle."""
POOL_MAX_WAITING: Final = 0
"""Requests that may wait for a connection; 0 means any number."""
POOL_BACKOFF_FIRST: Final = 0.1
"""Seconds before a failed attempt to connect is repeated for the first time. Each further pause is twice as long, and
every one is shortened by up to a half at random."""
POOL_BACKOFF_MAX: Final = 10.0
"""Seconds between attempts to connect at most. Well below POOL_TIMEOUT: who waits should see the server come back."""
POOL_RECONNECT_TIMEOUT: Final = 300.0
"""Seconds of nothing but failures after which a pool stops connecting until the next request."""
POOL_RESET_TIMEOUT: Final = 5.0
"""Seconds that the reset of a returned connection may take before it is closed instead; looked at every
POOL_MAINTENANCE seconds."""
POOL_MAINTENANCE: Final = 5.0
"""Seconds between two looks at the idle connections."""
POOL_CLOSE_TIMEOUT: Final = 5.0
"""Seconds that closing a pool waits for connections in use."""
POOL_SEVER_TIMEOUT: Final = 1.0
"""Seconds that closing a pool waits for connections to close whose borrowers are in the middle of a request."""

# test servers
SIMULATOR_START_TIMEOUT: Final = 30.0
"""Seconds that a test server may take to start. It makes two small databases; a machine that takes longer is stuck."""
