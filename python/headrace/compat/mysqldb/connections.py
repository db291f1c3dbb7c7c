"""Connections, with MySQLdb's names."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Generator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal

from ... import _native, errors, mysql
from ..._shared.flows import ask
from ..._shared.loading import NO_CONVERSIONS
from . import _exceptions as exceptions
from . import converters, cursors, infile
from .constants import CLIENT
from .results import Result

_PROTOCOL: Final = 10
FALLBACKS: Final = ("loop", "multi")
_IGNORED: Final = ("named_pipe", "auth_plugin", "local_infile_dir")
# Keywords by which MySQLdb calls what headrace.mysql calls otherwise.
_RENAMED: Final = {"passwd": "password", "db": "database"}


class BaseConnection:
    """A connection without cursors. A second thread that uses it meanwhile gets ProgrammingError."""

    _connection: mysql.Connection[Any] | None = None
    _open = False
    _error: tuple[int, str, str] = (0, "", "00000")

    def __init__(
        self,
        host: str | None = None,
        user: str | None = None,
        password: str | None = None,
        database: str | None = None,
        port: int = 0,
        unix_socket: str | None = None,
        conv: Mapping[Any, Any] | None = None,
        *,
        client_flag: int = 0,
        compress: bool = False,
        charset: str = "",
        collation: str = "",
        use_unicode: bool = True,
        sql_mode: str = "",
        multi_statements: bool = True,
        binary_prefix: bool = False,
        autocommit: bool | None = False,
        ssl: Mapping[str, str] | bool | None = None,
        **keywords: Any,
    ) -> None:
        self._lock = threading.Lock()
        self._take = partial(self._lock.acquire, blocking=False)
        self._results: list[_native.Result] = []
        self._failure: errors.Error | None = None
        self._current: _native.Result | None = None
        self._insert_id = 0
        self._has_failed = False
        self._escapes = True
        self.converter: Mapping[Any, Any] = dict(converters.conversions if conv is None else conv)
        self.encoders: dict[Any, Any] = {key: value for key, value in self.converter.items() if isinstance(key, type)}
        self.use_unicode = use_unicode
        self.encoding = "utf8"
        self._binary_prefix = binary_prefix
        flags = client_flag | (CLIENT.MULTI_STATEMENTS if multi_statements else 0) | CLIENT.MULTI_RESULTS
        self._client_flag = flags
        given = {_RENAMED.get(name, name): value for name, value in keywords.items() if name not in _IGNORED}
        given |= {"host": host, "user": user, "password": password, "database": database, "unix_socket": unix_socket}
        given |= {"port": port or None, "compression": "zlib" if compress or client_flag & CLIENT.COMPRESS else None}
        given |= _tls(ssl)
        given = {
            **{_RENAMED.get(name, name): value for name, value in keywords.items() if name in _RENAMED},
            **{name: value for name, value in given.items() if value not in (None, "")},
        }
        try:
            self._connection = mysql.connect(
                autocommit=True,
                client_found_rows=bool(flags & CLIENT.FOUND_ROWS),
                multi_statements=bool(flags & CLIENT.MULTI_STATEMENTS),
                unrepresentable="none",
                json_text=True,
                **NO_CONVERSIONS,
                **given,
            )
            if collation:
                self._set_names(charset or "utf8mb4", collation)
            elif charset:
                _check_charset(charset)
            if sql_mode:
                self.set_sql_mode(sql_mode)
            if autocommit is not None and not autocommit:
                self.autocommit(False)
            with self._busy() as connection:
                self._escapes = connection._core.wire.backslash_escapes()
        except errors.Error as error:
            raise exceptions.translated(error, exceptions.CONNECTION_FAILED) from error
        self._open = True
        # Results of the set-up of the session are not the user's.
        self._results, self._current, self._failure = [], None, None

    # who may use it, and how

    @contextlib.contextmanager
    def _busy(self) -> Generator[mysql.Connection[Any]]:
        connection = self._connection
        self._error = BaseConnection._error
        if connection is None or connection.closed:
            why = "the connection is closed" if connection is None else str(connection._core.why_closed())
            raise exceptions.OperationalError(exceptions.SERVER_GONE, why)
        taken: list[bool] = []
        try:
            # An interrupt may come between any two steps of Python: it must not leave the lock taken.
            ask(self._take, taken)
            if not taken[0]:
                raise exceptions.ProgrammingError(
                    exceptions.UNKNOWN, "the connection is already in use by another thread; give each thread its own"
                )
            yield connection
        except errors.Error as error:
            mine = exceptions.translated(error)
            self._error = (*mine.args, error.sqlstate or "HY000")
            raise mine from error
        finally:
            if taken == [True]:
                self._lock.release()

    @contextlib.contextmanager
    def _next(self) -> Generator[mysql.Connection[Any]]:
        """The same for what is sent to the server, after the error of an earlier statement that was not raised yet."""
        with self._busy() as connection:
            self._raise_failure()
            yield connection

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                self._results, self._current = [], None
                raise failure
        finally:
            del failure

    def _session(self) -> Mapping[str, Any]:
        with self._busy() as connection:
            return connection._core.wire.session()

    @property
    def closed(self) -> int:
        """1 when it was closed, or never opened. One that was lost is still to be closed."""
        return int(not self._open)

    @property
    def open(self) -> int:
        """The opposite."""
        return 1 - self.closed

    @property
    def client_flag(self) -> int:
        """The capabilities that were asked for."""
        return self._client_flag

    # statements

    def query(self, query: str | bytes | bytearray) -> None:
        """Executes text as it is."""
        text = query if isinstance(query, str) else bytes(query).decode()
        self._current, self._results = None, []
        self._has_failed = True
        with self._next() as connection:
            try:
                results = self._execute(connection, text)
            except errors.DatabaseError as error:
                # The statements before the one that failed have results; that it did is raised by next_result(), or
                # for whatever is done instead.
                results = error.__dict__.pop("_results", None)
                if not results or error.sqlcode == infile.REJECTED:
                    raise
                # Its traceback would keep this connection, and with it the session, until the collector came by.
                self._failure = error.with_traceback(None)
        self._has_failed = False
        self._results = list(reversed(results))
        self._go_to(self._results.pop() if self._results else None)

    def _go_to(self, result: _native.Result | None) -> None:
        self._current = result
        if result is not None and result.columns is None:
            self._insert_id = result.generated or 0

    def _execute(self, connection: mysql.Connection[Any], text: str) -> list[_native.Result]:
        core = connection._core
        if core.options.local_infile and (name := infile.file_name(text, backslash_escapes=self._escapes)) is not None:
            with infile.open_file(name) as file:
                return infile.send(connection, text, file)
        try:
            results: list[_native.Result] = connection._wait(core.wire.query(text), None)
        except BaseException as error:
            core.withdraw(error)
            raise
        finally:
            if not connection.closed:
                self._escapes = core.wire.backslash_escapes()
        return results

    def store_result(self) -> Result | None:
        """The current result, None where the statement has no rows."""
        current = self._current
        return None if current is None or current.columns is None else Result(self, current)

    use_result = store_result

    def next_result(self) -> int:
        """Goes to the next result: 0, or -1 when there is none."""
        with self._busy():
            if not self._results:
                self._raise_failure()
                return -1
            self._go_to(self._results.pop())
            return 0

    def more_results(self) -> bool:
        """Returns true if there is another one."""
        return bool(self._results) or self._failure is not None

    def discard_result(self) -> None:
        """Forgets the results. Raises the error of a later statement or of a procedure, which has no result."""
        while self._results:
            self._go_to(self._results.pop())
        self._current = None
        if self._failure is not None:
            with self._busy():
                self._raise_failure()

    def affected_rows(self) -> int:
        """Rows changed or returned by the current statement, -1 if it has failed."""
        if self._has_failed:
            return -1
        return 0 if self._current is None else max(self._current.rowcount, 0)

    def insert_id(self) -> int:
        """The value that it made for an AUTO_INCREMENT column, 0 if none; after a query that of the statement without
        rows before it."""
        return self._insert_id

    def warning_count(self) -> int:
        """How many warnings SHOW WARNINGS would list."""
        return 0 if self._current is None else self._current.warnings

    def field_count(self) -> int:
        """How many columns the current result has."""
        return 0 if self._current is None or self._current.columns is None else len(self._current.columns)

    def info(self) -> str | None:
        """The server's words for the statement."""
        return (None if self._current is None else self._current.tag) or None

    def errno(self) -> int:
        """The number of the error of the last call, 0 where it had none."""
        return self._error[0]

    def error(self) -> str:
        """Its words."""
        return self._error[1]

    def sqlstate(self) -> str:
        """Its SQLSTATE."""
        return self._error[2]

    # the session

    def commit(self) -> None:
        """Commits."""
        self._end("commit")

    def rollback(self) -> None:
        """Rolls back."""
        self._end("rollback")

    def autocommit(self, on: bool) -> None:
        """Turns autocommit on or off."""
        self._simple(f"SET autocommit={int(bool(on))}")

    def get_autocommit(self) -> bool:
        """Returns true if it is on."""
        return bool(self._session()["autocommit"])

    def _end(self, verb: Literal["commit", "rollback"]) -> None:
        with self._busy() as connection:
            if verb == "commit":
                self._raise_failure()
            for ticket in connection._core.wire.verb(verb):
                connection._wait(ticket, None)
            self._insert_id = 0
            # A rollback is done in any case.
            self._raise_failure()

    def _simple(self, statement: str) -> None:
        with self._next() as connection:
            core = connection._core
            try:
                connection._wait(core.wire.query(statement), None)
            except BaseException as error:
                core.withdraw(error)
                raise
            self._insert_id = 0

    def select_db(self, database: str) -> None:
        """Changes the current database."""
        with self._next() as connection:
            connection.select_db(database)

    def ping(self, reconnect: bool | None = None) -> None:
        """A round trip. Raises OperationalError when the server is gone."""
        if reconnect is not None:
            warnings.warn("the reconnect parameter does nothing: connections never reconnect", DeprecationWarning, 2)
        with self._next() as connection:
            connection.ping()

    def kill(self, thread: int) -> None:
        """Ends another connection."""
        self._simple(f"KILL {int(thread)}")

    def stat(self) -> str:
        """The server's uptime and counters, as text."""
        with self._busy() as connection:
            rows = connection.executescript("SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Threads_connected')")
            return "  ".join(f"{name}: {value}" for name, value in rows.fetchall())

    def thread_id(self) -> int:
        """The connection's number, which KILL takes."""
        return int(self._session()["thread_id"])

    def get_server_info(self) -> str:
        """The server's version."""
        return str(self._session()["server_version"])

    def get_host_info(self) -> str:
        """Where the server is."""
        with self._busy() as connection:
            options = connection._core.options
            return "Localhost via UNIX socket" if options.socket else f"{options.hosts[0][0]} via TCP/IP"

    def get_proto_info(self) -> int:
        """The version of the protocol."""
        return _PROTOCOL

    def character_set_name(self) -> str:
        """The connection's character set."""
        return "utf8mb4"

    def get_character_set_info(self) -> dict[str, Any]:
        """The connection's character set: its name, its collation as the server has it, and the bytes of its shortest
        and longest characters."""
        self.query("SELECT @@collation_connection")
        result = self.store_result()
        collation = result.fetch_row(0)[0][0] if result is not None else ""
        return {"name": "utf8mb4", "collation": collation, "mbminlen": 1, "mbmaxlen": 4}

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """SET NAMES. Text travels as UTF-8: other character sets are refused."""
        self._set_names(charset, collation or "")

    def _set_names(self, charset: str, collation: str) -> None:
        _check_charset(charset)
        clause = f" COLLATE {collation}" if collation else ""
        self._simple(f"SET NAMES {charset if collation else 'utf8mb4'}{clause}")

    def set_sql_mode(self, sql_mode: str) -> None:
        """Sets the session's SQL mode."""
        self.query(f"SET SESSION sql_mode={self.string_literal(sql_mode).decode()}")

    def fileno(self) -> int:
        """The number of the socket."""
        with self._busy() as connection:
            return connection._core.wire.fileno()

    def close(self) -> None:
        """Closes it. Raises ProgrammingError where it is closed already, and the error of a statement that nobody was
        told of."""
        if self.closed:
            raise exceptions.ProgrammingError(exceptions.SERVER_GONE, "closing a closed connection")
        assert self._connection is not None
        self._open = False
        failure, self._failure = self._failure, None
        self._connection.close()
        if failure is not None:
            raise exceptions.translated(failure) from failure

    # literals

    def escape_string(self, value: str | bytes | bytearray) -> bytes:
        """Text or bytes with what would end or change a string escaped, as this session's SQL mode requires."""
        with self._busy():
            escapes = self._escapes
        if not escapes:
            return (str.encode(value) if isinstance(value, str) else bytes(value)).replace(b"'", b"''")
        return converters.escape_string(value)

    def string_literal(self, value: Any) -> bytes:
        """A string literal."""
        return b"'" + self.escape_string(value if isinstance(value, (str, bytes, bytearray)) else str(value)) + b"'"

    def _bytes_literal(self, value: bytes) -> bytes:
        prefix = b"_binary" if self._binary_prefix else b""
        try:
            value.decode()
        except UnicodeDecodeError:
            # A statement is text: what is none is written in hexadecimal, which MySQL takes for a number in a column of
            # numbers unless it is said to be a string. A statement may say so itself: see `converters.introduced_once`.
            return b"_binary x'" + value.hex().encode() + b"'"
        return prefix + self.string_literal(value)

    def literal(self, value: Any) -> bytes:
        """The literal of a value."""
        if isinstance(value, str):
            return self.string_literal(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            raw: Any = value  # pyright: ignore[reportUnknownVariableType]
            return self._bytes_literal(bytes(raw))
        if isinstance(value, (tuple, list)):
            items: Any = value  # pyright: ignore[reportUnknownVariableType]
            return b"(" + b",".join(self.literal(item) for item in items) + b")"
        return converters.literal_bytes(self.escape(value, self.encoders))

    def escape(self, value: Any, conversions: Mapping[Any, Any] | None = None) -> Any:
        """The literal of a value by conversions."""
        if isinstance(value, str) and str not in self.encoders:
            return self.string_literal(value)
        return converters.escape(value, self.encoders if conversions is None else conversions)

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._failure = None
        if not self.closed:
            self.close()


class Connection(BaseConnection):
    """A connection with cursors."""

    default_cursor: type[cursors.BaseCursor] = cursors.Cursor
    executemany_fallback: Literal["loop", "multi"] = "loop"

    MySQLError = exceptions.MySQLError
    Warning = exceptions.Warning
    Error = exceptions.Error
    InterfaceError = exceptions.InterfaceError
    DatabaseError = exceptions.DatabaseError
    DataError = exceptions.DataError
    OperationalError = exceptions.OperationalError
    IntegrityError = exceptions.IntegrityError
    InternalError = exceptions.InternalError
    ProgrammingError = exceptions.ProgrammingError
    NotSupportedError = exceptions.NotSupportedError

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.cursorclass: type[cursors.BaseCursor] = keywords.pop("cursorclass", self.default_cursor)
        fallback = keywords.pop("executemany_fallback", self.executemany_fallback)
        if fallback not in FALLBACKS:
            raise ValueError(f"executemany_fallback={fallback!r} is not one of {', '.join(FALLBACKS)}")
        self.executemany_fallback = fallback
        super().__init__(*args, **keywords)
        self._server_version = tuple(self._session()["version"])[:2]
        self._transactional = True
        self.messages: list[Any] = []

    def cursor(self, cursorclass: type[cursors.BaseCursor] | None = None) -> Any:
        """A new cursor."""
        return (cursorclass or self.cursorclass)(self)

    def begin(self) -> None:
        """BEGIN."""
        self.query("BEGIN")

    def show_warnings(self) -> tuple[Any, ...]:
        """What SHOW WARNINGS lists."""
        self.query("SHOW WARNINGS")
        result = self.store_result()
        return result.fetch_row(0) if result is not None else ()


def _check_charset(charset: str) -> None:
    if charset.lower() not in ("utf8mb4", "utf8", "utf8mb3"):
        raise exceptions.NotSupportedError(
            exceptions.UNKNOWN, f"charset={charset!r}: text travels as utf8mb4, whatever the tables' character sets"
        )


def _tls(ssl: Mapping[str, str] | bool | None) -> dict[str, Any]:
    """The keywords of headrace.mysql for MySQLdb's ``ssl``: a mapping with ca, cert and key, or true."""
    if not ssl:
        return {}
    if ssl is True:
        return {"ssl_mode": "REQUIRED"}
    return {f"ssl_{name}": value for name, value in ssl.items() if name in ("ca", "cert", "key")} | {
        "ssl_mode": "VERIFY_CA" if ssl.get("ca") else "REQUIRED"
    }
