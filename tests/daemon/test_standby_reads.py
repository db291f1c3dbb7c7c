"""Transactions that are declared to be read-only go to standbys in turn, and everything else to the primary."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer
from servers.replicas import Cluster, cluster
from waiting import until

from .conftest import Daemon, started
from .raw import EXECUTE, FLUSH, SYNC, Client, bind, describe, parse, query, sqlstates, values
from .test_status import ask, status

pytestmark = pytest.mark.slow

LAG_SECONDS = 0.5
PORT = "select inet_server_port()"
ENTRIES = {
    "app": "",
    "reads": "read_only = true",
    "strict": f"max_lag = {LAG_SECONDS}",
    "any": "max_lag = 0",
    "one": "pool_size = 1",
    "brief": "pool_size = 1\nqueue_length = 0",
    "few": "max_connections = 1\nqueue_wait = 0.1",
    "session": 'pool_mode = "session"',
    "statement": 'pool_mode = "statement"\nread_only = true',
}


def text(servers: Cluster) -> str:
    """Entries of the configuration, whose hosts have a standby as the first."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in reversed(servers.ports))
    common = f'host = "{hosts}"\nuser = "{servers.primary.user}"\ndbname = "postgres"\nstandby_reads = true\n'
    isolated = f"[databases.isolated]\n{common}".replace('dbname = "postgres"', 'dbname = "isolated"')
    return isolated + "".join(f"[databases.{name}]\n{common}{more}\n" for name, more in ENTRIES.items())


@pytest.fixture(scope="module")
def servers() -> Iterator[Cluster]:
    """A primary and two standbys."""
    with cluster(2) as made:
        with headrace.connect(made.primary.url, autocommit=True) as conn:
            conn.execute("create table kept (n int)")
        made.wait_until_replayed()
        yield made


@pytest.fixture
def daemon(program: Path, folder: Path, servers: Cluster) -> Iterator[Daemon]:
    with started(program, folder, text(servers), servers.primary) as running:
        yield running


@contextlib.contextmanager
def client(daemon: Daemon, database: str = "app", **parameters: str) -> Iterator[Client]:
    with Client.local(daemon.socket, user="me", database=database, **parameters) as found:
        yield found


def port(found: Client, request: bytes = query(PORT), answers: int = 1) -> int:
    """Where a request is executed."""
    received = found.ask(request, answers)
    assert not sqlstates(received), received
    return int(values(received)[-1])


def extended(*texts: str) -> bytes:
    """Executions in one group."""
    return b"".join(parse("", each) + bind("") + EXECUTE for each in texts) + SYNC


READ, COMMIT = "begin read only", "commit"
# Requests of a client that has declared nothing before, how many answers they have, and whether a standby executes what
# asks for its port. Each ends outside of a transaction; the bytes are sent at once.
DECLARED: list[tuple[str, bytes, int, bool]] = [
    ("nothing", query(PORT), 1, False),
    ("nothing, extended", extended(PORT), 1, False),
    ("a block", query(READ) + query(PORT) + query(COMMIT), 3, True),
    ("other words", query("/* x */ Start Transaction isolation level repeatable read, READ ONLY;") + query(PORT)
     + query("end"), 3, True),
    ("a block, extended", extended(READ) + extended(PORT) + extended(COMMIT), 3, True),
    ("a group", extended(READ, PORT, COMMIT), 1, True),
    ("a group that goes on", extended(READ, PORT, COMMIT, PORT), 1, False),
    ("a group in parts", parse("", READ) + bind("") + EXECUTE + FLUSH + extended(PORT) + query(COMMIT), 2, True),
    ("sent behind something else without waiting for it", parse("s", READ) + SYNC + bind("s") + EXECUTE + SYNC
     + query(PORT) + query(COMMIT), 4, False),
    ("a script", query(f"{READ}; {PORT}; {COMMIT}"), 1, True),
    ("a script that goes on", query(f"{READ}; {COMMIT}; {PORT}"), 1, False),
    ("a script with a transaction of its own", query(f"{PORT}; {READ}; {COMMIT}"), 1, False),
    ("read and write", query("begin read write") + query(PORT) + query(COMMIT), 3, False),
    ("changed at once", query(f"{READ}; set transaction read write; {PORT}; {COMMIT}"), 1, False),
    ("serializable", query("begin isolation level serializable read only") + query(PORT) + query(COMMIT), 3, False),
    ("in a string", query("select 'begin read only'") + query(PORT), 2, False),
    ("after the transaction", query(READ) + query(COMMIT) + query(PORT), 3, False),
    ("after a transaction that has failed", query(READ) + query("select 1/0") + query("rollback")
     + query(PORT), 4, False),
    ("a savepoint", query(READ) + query("savepoint s") + query("rollback to s") + query(PORT) + query(COMMIT), 5, True),
    ("chained", query(READ) + query("commit and chain") + query(PORT) + query(COMMIT), 4, True),
]  # fmt: skip


@pytest.mark.parametrize("what", [what for what, *_ in DECLARED])
def test_what_is_declared_decides(daemon: Daemon, servers: Cluster, what: str) -> None:
    request, answers, is_on_standby = next(rest for found, *rest in DECLARED if found == what)
    with client(daemon) as one:
        received = one.ask(request, answers)
        assert sqlstates(received) == (["22012"] if "failed" in what else [])
        ports = [int(value) for value in values(received) if value.isdigit() and int(value) > 1]
        assert [found != servers.primary.port for found in ports] == [is_on_standby] * len(ports)
        assert ports, received


def test_a_client_may_declare_all_of_its_transactions(daemon: Daemon, servers: Cluster) -> None:
    standbys = servers.ports[1:]
    for database, parameters in [("reads", {}), ("app", {"default_transaction_read_only": "on"})]:
        with client(daemon, database, **parameters) as one:
            assert port(one) in standbys
            assert port(one, extended(PORT)) in standbys
            assert port(one, query("begin") + query(PORT) + query("commit"), 3) in standbys
            assert port(one, query("begin read write") + query(PORT) + query("commit"), 3) == servers.primary.port
            assert sqlstates(one.ask(query("insert into kept values (1)"))) == ["25006"]
            one.ask(query("begin read write") + query("insert into kept values (1)") + query("rollback"), 3)
            # What is set on a standby follows its client to the primary.
            one.ask(query("set default_transaction_read_only = off"))
            assert port(one) == servers.primary.port
            assert not sqlstates(one.ask(query("begin; insert into kept values (1); rollback")))
            one.ask(query("set session characteristics as transaction read only"))
            assert port(one) in standbys


def test_who_is_serializable_by_default_reads_from_the_primary(daemon: Daemon, servers: Cluster) -> None:
    isolated = "default_transaction_isolation"
    requests = [(query(READ) + query(PORT) + query(COMMIT), 3)] * 2
    for parameters in [{isolated: "serializable"}, {"options": f"-c {isolated}=serializable"}]:
        with client(daemon, **parameters) as one:
            assert [port(one, *each) for each in requests] == [servers.primary.port] * 2
    with client(daemon) as one:
        one.ask(query(f"set {isolated} = serializable"))
        assert [port(one, *each) for each in requests] == [servers.primary.port] * 2
    # Settings of the database are those of sessions that are opened later.
    with headrace.connect(servers.primary.url, autocommit=True) as conn:
        conn.execute("create database isolated")
        conn.execute(f"alter database isolated set {isolated} = serializable")
    servers.wait_until_replayed()
    with client(daemon, "isolated") as one:
        assert [port(one, *each) for each in requests] == [servers.primary.port] * 2
    opened = [pool["open"] for pool in status(daemon)["pools"] if "@isolated (standby" in pool["pool"]]
    assert sorted(opened) == [0, 1, 1], "each standby was asked once"


def test_standbys_take_turns(daemon: Daemon, servers: Cluster) -> None:
    with client(daemon, "reads") as one:
        ports = [port(one) for _ in range(6)]
    assert ports == ports[:2] * 3
    assert set(ports) == set(servers.ports[1:])
    labels = {pool["pool"] for pool in status(daemon)["pools"]}
    expected = {f"postgres@reads (standby 127.0.0.1:{each})" for each in servers.ports[1:]}
    assert expected | {"postgres@reads"} <= labels


@pytest.mark.parametrize("database", ["brief", "few"])
def test_connections_that_are_all_in_use_leave_the_others_and_the_primary(
    daemon: Daemon, servers: Cluster, database: str
) -> None:
    begins = query(READ) + query(PORT)
    with contextlib.ExitStack() as closing:
        one, two, three, four = [closing.enter_context(client(daemon, database)) for _ in range(4)]
        first = port(one, begins, 2)
        second = port(two, begins, 2)
        assert {first, second} == set(servers.ports[1:])
        assert port(three, begins, 2) == servers.primary.port
        two.ask(query(COMMIT))
        # Whichever is the next one.
        for _ in range(2):
            assert port(four, begins + query(COMMIT), 3) == second


@pytest.mark.parametrize("database", ["session", "statement"])
def test_modes(daemon: Daemon, servers: Cluster, database: str) -> None:
    with client(daemon, database) as one:
        # A session that stays with its client stays where it is.
        assert (port(one) == servers.primary.port) == (database == "session")


def test_session_of_a_client_that_only_reads_is_handed_on_without_that(daemon: Daemon) -> None:
    look = query(
        "select pg_is_in_recovery(), current_setting('default_transaction_read_only'), current_setting('TimeZone')"
    )
    with client(daemon, "one") as one, client(daemon, "one") as other:
        one.ask(query("set default_transaction_read_only = on") + query("set timezone to 'Asia/Tokyo'"), 2)
        for _ in range(2):
            assert b"\0\0\0\1t\0\0\0\2on\0\0\0\nAsia/Tokyo" in one.ask(look)
        for request, recovery in [(query(READ) + look + query(COMMIT), b"t"), (look, b"f")]:
            answers = request.count(b"Q\0\0")
            for _ in range(2):
                received = other.ask(request, answers)
                assert b"\0\0\0\1" + recovery + b"\0\0\0\3off\0\0\0" in received
                assert b"Tokyo" not in received
        assert not sqlstates(other.ask(query("begin; insert into kept values (1); rollback")))


def test_prepared_statements_are_on_both(daemon: Daemon, servers: Cluster) -> None:
    with client(daemon) as one:
        one.ask(parse("begin", READ) + describe("begin") + SYNC)
        assert port(one, bind("begin") + EXECUTE + SYNC + query(PORT) + query(COMMIT), 3) != servers.primary.port
        one.ask(parse("p", PORT) + parse("k", "select count(*) from kept where n = $1") + SYNC)
        execute = bind("p") + EXECUTE + SYNC
        for _ in range(3):
            assert port(one, execute) == servers.primary.port
            assert port(one, query(READ) + execute + query(COMMIT), 3) != servers.primary.port
        for _ in range(2):
            assert values(one.ask(query(READ) + bind("k", "-1") + EXECUTE + SYNC + query(COMMIT), 3)) == ["0"]
            assert values(one.ask(bind("k", "-1") + EXECUTE + SYNC)) == ["0"]
        # It was prepared on a standby, and is known on the primary.
        one.ask(query(READ) + parse("s", "select 7 where pg_is_in_recovery()") + SYNC + query(COMMIT), 3)
        assert values(one.ask(bind("s") + EXECUTE + SYNC)) == []
        assert values(one.ask(query(READ) + bind("s") + EXECUTE + SYNC + query(COMMIT), 3)) == ["7"]


def test_lock_and_cursor_stay_where_they_are_until_they_end(daemon: Daemon, servers: Cluster) -> None:
    for begins, ends in [
        ("select pg_advisory_lock(7)", "select pg_advisory_unlock(7)"),
        ("declare c cursor with hold for select 7", "close c"),
    ]:
        with client(daemon) as one:
            place = port(one, query(READ) + query(begins) + query(PORT) + query(COMMIT), 4)
            assert place in servers.ports[1:]
            assert port(one) == place
            one.ask(query(ends))
            until(lambda one=one: port(one) == servers.primary.port)


def test_statement_on_a_standby_is_cancelled(daemon: Daemon, servers: Cluster) -> None:
    with daemon.connect("reads", autocommit=True) as conn:
        with pytest.raises(TimeoutError):
            conn.execute("select pg_sleep(60)", timeout=0.2)
        assert conn.fetchval(PORT) in servers.ports[1:]


def test_standby_that_lags_is_left_out_until_it_has_caught_up(daemon: Daemon, servers: Cluster) -> None:
    one, other = servers.standbys

    def ports(database: str) -> set[int]:
        with client(daemon, database, default_transaction_read_only="on") as reading:
            return {port(reading) for _ in range(4)}

    assert ports("strict") == ports("app") == {one.port, other.port}
    # A primary that does nothing is not a standby that lags.
    time.sleep(2 * LAG_SECONDS)
    assert ports("strict") == {one.port, other.port}
    with headrace.connect(servers.primary.url, autocommit=True) as writing:

        def are(expected: set[int]) -> bool:
            writing.execute("insert into kept values (0)")
            return ports("strict") == expected

        try:
            one.run("select pg_wal_replay_pause()")
            until(lambda: are({other.port}))
            # It has replayed all that it has received, which is not what the primary has.
            other.run("select pg_wal_replay_pause()")
            until(lambda: are({servers.primary.port}))
            assert ports("any") == {one.port, other.port}
            assert ports("app") == {one.port, other.port}, "its bound is 10 s"
        finally:
            one.run("select pg_wal_replay_resume()")
            other.run("select pg_wal_replay_resume()")
        until(lambda: are({one.port, other.port}))


def test_standbys_that_are_lost_are_replaced_before_anything_is_executed(program: Path, folder: Path) -> None:
    with cluster(2) as servers, started(program, folder, text(servers), servers.primary) as daemon:
        one, other = servers.standbys
        with client(daemon, "reads") as reading:
            assert {port(reading) for _ in range(4)} == {one.port, other.port}
            within = Client.local(daemon.socket, user="me", database="reads")
            with contextlib.closing(within.socket):
                within.ask(query("begin"))
                place = port(within)
                lost, left = (one, other) if place == one.port else (other, one)
                lost.end()
                # Within a transaction nothing is executed elsewhere.
                with pytest.raises(ConnectionError, match=r"HR005|57P0|Broken pipe"):
                    within.ask(query(PORT))
            assert {port(reading) for _ in range(8)} == {left.port}
            left.end()
            assert {port(reading) for _ in range(8)} == {servers.primary.port}


def test_mistakes_in_the_configuration_are_said(program: Path, folder: Path, server: PostgresServer) -> None:
    for host, more in [("h", ""), ("h,i", 'target_session_attrs = "standby"'), ("h,i", "max_lag = -1")]:
        wrong = f'[databases.app]\nhost = "{host}"\nstandby_reads = true\n{more}\n'
        with pytest.raises(AssertionError, match=r"standby_reads|max_lag"), started(program, folder, wrong, server):
            pass


def test_configuration_that_is_read_again_leaves_clients_their_standbys(daemon: Daemon, servers: Cluster) -> None:
    path = daemon.folder.parent / "headraced.toml"
    with client(daemon, "reads") as before:
        assert port(before) != servers.primary.port
        path.write_text(path.read_text().replace("read_only = true", "read_only = true\npool_size = 3"))
        assert ask(daemon, "POST", "/reload") == (200, "")
        with client(daemon, "reads") as after:
            assert port(before) != servers.primary.port
            assert port(after) != servers.primary.port
        sizes = {pool["pool"]: pool["size"] for pool in status(daemon)["pools"]}
        assert {size for name, size in sizes.items() if "reads (standby" in name} == {3}
