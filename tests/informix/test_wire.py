"""What no driver shows of its own accord: pipelined groups, errors inside them, replies byte by byte, faults."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from select import select as select_ready

import pytest

from headrace.testing import InformixServer, informix
from headrace.testing._programs import find_binary

from .raw import Client, Reply, bind_ints, chars, command, prepare

# Bytes of the replies to the capabilities and to the opening of the database, where faults start to count.
OPENING = 16 + 28
END = b"\0\x0c"
EXECUTE = b"\0\x07"


@pytest.fixture
def client(server: InformixServer) -> Iterator[Client]:
    with Client(server) as connected:
        yield connected


def insert(client: Client, table: str) -> bytes:
    """A table with a key, and the start of a group that inserts into it."""
    assert client.ask(command(f"create table {table} (a int primary key)")).error() is None
    statement = client.ask(prepare(f"insert into {table} values (?)")).statement
    assert statement is not None
    return struct.pack(">HH", 4, statement)


def count(client: Client, table: str) -> int:
    statement = client.ask(prepare(f"select count(*)::int from {table}")).statement
    assert statement is not None
    select = struct.pack(">HH", 4, statement)
    reply = client.ask(
        select + b"\0\x03" + chars("c") + b"\0\x06" + select + b"\0\x09" + struct.pack(">iH", 4096, 0) + END
    )
    client.ask(select + b"\0\x0a" + END)
    client.ask(select + b"\0\x0b" + END)
    (value,) = struct.unpack(">i", reply.rows[0])
    return int(value)


@pytest.mark.parametrize(("rows", "bad"), [(100, 0), (1000, 500), (100, 99)])
def test_every_pipelined_group_has_its_reply_in_order_also_after_an_error(client: Client, rows: int, bad: int) -> None:
    start = insert(client, f"w_groups_{rows}_{bad}")
    client.send(b"".join(start + bind_ints(None if n == bad else n) + EXECUTE + END for n in range(rows)))
    replies = [client.reply() for _ in range(rows)]
    assert [reply.error() for n, reply in enumerate(replies) if n != bad] == [None] * (rows - 1)
    assert replies[bad].names() == ["ERR"]
    assert replies[bad].error() == (-703, 0, 0)
    assert count(client, f"w_groups_{rows}_{bad}") == rows - 1


def test_an_error_ends_its_group(client: Client) -> None:
    start = insert(client, "w_abort")
    group = start + b"".join(bind_ints(n) + EXECUTE for n in (1, 2, 1, 3)) + END
    reply = client.ask(group)
    assert [name for name in reply.names() if name != "INSERTDONE"] == ["DONE", "COST", "DONE", "COST", "ERR"]
    assert count(client, "w_abort") == 2


def test_server_can_continue_after_an_error() -> None:
    with informix(after_error="continue") as server, Client(server) as client:
        start = insert(client, "w_continue")
        reply = client.ask(start + b"".join(bind_ints(n) + EXECUTE for n in (1, 1, 2)) + END)
        assert [name for name in reply.names() if name != "INSERTDONE"] == ["DONE", "COST", "ERR", "DONE", "COST"]
        assert count(client, "w_continue") == 2


def test_a_statement_that_is_older_than_its_table_is_refused(server: InformixServer) -> None:
    with Client(server) as client, Client(server) as other:
        start = insert(client, "w_stale")
        assert other.ask(command("rename table w_stale to w_other")).error() is None
        assert other.ask(command("rename table w_other to w_stale")).error() is None
        assert client.ask(start + bind_ints(1) + EXECUTE + END).error() is None
        assert other.ask(command("alter table w_stale add b int")).error() is None
        assert client.ask(start + bind_ints(2) + EXECUTE + END).error() == (-710, 0, 0)
        statement = client.ask(prepare("insert into w_stale (a) values (?)")).statement
        assert statement is not None
        start = struct.pack(">HH", 4, statement)
        assert client.ask(start + bind_ints(2) + EXECUTE + END).error() is None
        assert count(client, "w_stale") == 2
        assert other.ask(command("drop table w_stale")).error() is None
        assert client.ask(start + bind_ints(3) + EXECUTE + END).error() == (-710, 0, 0)


def test_rows_put_are_counted_up_to_the_one_that_fails(client: Client) -> None:
    start = insert(client, "w_put")
    assert client.ask(b"\0\x23" + END).names() == ["XACTSTAT"]
    rows = b"".join(struct.pack(">i", n) for n in (1, 2, 3, 2, 4))
    # The length is that of one row.
    put = struct.pack(">HiH", 17, 4, 5) + rows
    reply = client.ask(start + b"\0\x03" + chars("put") + b"\0\x06" + put + END)
    assert reply.messages == [("PUTERR", (3, -268, -100))]
    assert client.ask(b"\0\x13" + END).names() == ["XACTSTAT"]
    assert count(client, "w_put") == 3


def test_insert_cursors_want_a_transaction(client: Client) -> None:
    start = insert(client, "w_load")
    assert client.ask(start + b"\0\x03" + chars("put") + b"\0\x06" + END).error() == (-265, 0, 0)


def test_statements_have_numbers_of_their_own_and_freed_ones_come_back(client: Client) -> None:
    first = client.ask(prepare("select 1 from systables")).statement
    second = client.ask(prepare("select 2 from systables")).statement
    assert (first, second) == (0, 1)
    client.ask(b"\0\x04\0\0\0\x0b" + END)
    assert client.ask(prepare("select 3 from systables")).statement == 0
    assert client.ask(b"\0\x04\0\x05" + b"\0\x06" + END).error() == (-258, 0, 0)


def test_blocks_end_at_the_buffer_and_the_last_one_says_how_many_rows_there_were(client: Client) -> None:
    client.ask(command("create table w_blocks (a int, b char(92))"))
    client.ask(command("begin work"))
    for n in range(100):
        client.ask(command(f"insert into w_blocks values ({n}, 'x')"))
    client.ask(command("commit work"))
    statement = client.ask(prepare("select a, b from w_blocks")).statement
    assert statement is not None
    select = struct.pack(">HH", 4, statement)
    fetch = select + b"\0\x09" + struct.pack(">iH", 1040, 0) + END
    client.ask(select + b"\0\x03" + chars("c") + b"\0\x06" + END)
    replies: list[Reply] = []
    while not replies or "DONE" not in replies[-1].names():
        replies.append(client.ask(fetch))
    # A tuple takes 8 bytes and 96 of its own: ten of them fill the buffer to the last byte.
    assert [len(reply.rows) for reply in replies] == [10] * 10
    assert replies[-1].messages[0] == ("DONE", (0, 100, 0, 0))
    assert [struct.unpack(">i", row[:4])[0] for reply in replies for row in reply.rows] == list(range(100))


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("select * from w_nowhere", (-206, -111, 15)),
        ("slect 1", (-201, 0, 1)),
        ("select nothing from systables", (-217, 0, 8)),
        ("select 'open", (-282, 0, 8)),
        ("select nosuch(1) from systables", (-674, 0, 8)),
        ("create table w_t (a nosuch)", (-9628, 0, 21)),
        ("select tabname, tabname2 from systables", (-217, 0, 17)),
        ("insert into systables (tabname) values (1)", (-511, 0, 13)),
        ("set isolation to nothing", (-201, 0, 18)),
    ],
)
def test_errors_say_where(client: Client, sql: str, error: tuple[int, int, int]) -> None:
    assert client.ask(prepare(sql)).error() == error
    assert client.ask(b"\0\x35" + END).names() == ["VERSION"]


def test_logins_are_refused_as_a_server_does(server: InformixServer) -> None:
    for arguments, code in (({"password": "wrong"}, -951), ({"name": "elsewhere"}, -761)):
        with Client(server, **arguments, database=None) as client:
            assert client.login == 3
            assert struct.pack(">H6xh", 102, code) in client.accepted
    with Client(server, database=None) as client:
        client.ask(b"\0\x7e\0\x08\xff\xfc\x7f\xfc\x3c\x8c\xaa\x97\0\x0c")
        assert client.ask(b"\0\x24" + chars("nowhere") + b"\0\0\0\x0c").error() == (-329, -111, 0)


def test_an_urgent_byte_ends_the_statement_and_the_session_goes_on(client: Client) -> None:
    statement = client.ask(prepare("select ifx_sleep(30) from systables")).statement
    assert statement is not None
    select = struct.pack(">HH", 4, statement)
    fetch = select + b"\0\x03" + chars("c") + b"\0\x06" + select + b"\0\x09" + struct.pack(">iH", 4096, 0) + END
    client.send(fetch)
    # A byte that comes before the statement has begun is lost.
    while not select_ready([client.socket], [], [], 0.3)[0]:
        client.socket.send(b"B", socket.MSG_OOB)
    assert client.reply().error() == (-213, 0, 0)
    assert client.ask(b"\0\x35" + END).names() == ["VERSION"]


@pytest.mark.slow
def test_a_lock_is_waited_for_as_long_as_the_session_says(server: InformixServer) -> None:
    with Client(server) as one, Client(server) as other:
        start = insert(one, "w_lock")
        one.ask(start + bind_ints(1) + EXECUTE + END)
        one.ask(command("begin work"))
        one.ask(command("update w_lock set a = 2"))
        for mode, isam, least in (("not wait", -107, 0.0), ("wait 1", -154, 1.0)):
            other.ask(command(f"set lock mode to {mode}"))
            began = time.monotonic()
            assert other.ask(command("update w_lock set a = 3")).error() == (-244, isam, 0)
            assert time.monotonic() - began >= least
        one.ask(command("rollback work"))
        assert other.ask(command("update w_lock set a = 3")).error() is None


def test_a_client_that_goes_away_takes_its_transaction_with_it(server: InformixServer) -> None:
    with Client(server) as one, Client(server) as other:
        start = insert(one, "w_gone")
        one.ask(command("begin work"))
        one.ask(start + bind_ints(1) + EXECUTE + END)
        one.close()
        other.ask(command("set lock mode to wait 10"))
        assert other.ask(command("insert into w_gone values (7)")).error() is None
        assert count(other, "w_gone") == 1


def test_a_reply_is_cut_where_it_was_said() -> None:
    with informix(faults=[f"cut={OPENING + 20}"]) as server, Client(server) as client:
        client.send(prepare("select tabname from systables"))
        assert len(client.read(20)) == 20
        with pytest.raises(EOFError):
            client.read(1)


def test_a_silent_server_keeps_the_connection_open() -> None:
    with informix(faults=[f"silence={OPENING}"]) as server, Client(server) as client:
        client.socket.settimeout(0.5)
        client.send(b"\0\x35" + END)
        with pytest.raises(TimeoutError):
            client.read(1)


def test_a_byte_is_turned_over_and_only_that_one() -> None:
    with informix(faults=[f"garbage={OPENING + 1}"]) as server, Client(server) as client:
        client.send(b"\0\x35" + END)
        assert client.read(2) == b"\0\xca"


def test_replies_come_late() -> None:
    with informix(faults=["latency=80"]) as server, Client(server) as client:
        began = time.monotonic()
        client.ask(b"\0\x35" + END)
        assert time.monotonic() - began >= 0.08


def test_faults_can_be_asked_for_and_ended_by_a_statement(client: Client) -> None:
    assert client.ask(command("set environment headrace_fault 'latency=50'")).error() is None
    began = time.monotonic()
    assert client.ask(command("set environment headrace_fault 'none'")).error() is None
    assert time.monotonic() - began >= 0.05
    assert client.ask(command("set environment headrace_fault 'nonsense=1'")).error() == (-1286, 0, 0)
    with pytest.raises(RuntimeError, match="fault"), informix(faults=["nonsense"]):
        pass


def test_what_it_does_not_know_ends_the_connection_and_not_the_server(server: InformixServer) -> None:
    with Client(server) as client:
        client.send(struct.pack(">H", 199) + END)
        with pytest.raises(EOFError):
            client.read(1)
    with Client(server) as again:
        assert again.ask(b"\0\x35" + END).names() == ["VERSION"]


def test_a_length_that_cannot_be_is_not_believed(server: InformixServer) -> None:
    with Client(server) as client:
        client.send(b"\0\x02\0\0\x7f\xff\xff\xff")
        with pytest.raises(EOFError):
            client.read(1)


def test_the_command_starts_a_server_and_ends_it_with_its_input() -> None:
    command = [sys.executable, "-m", "headrace._command", "simulate", "informix", "--until-stdin-ends"]
    environment = {**os.environ, "HEADRACE_SIMULATE_INFORMIX": str(find_binary("informix"))}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[1])
        with Client(InformixServer("127.0.0.1", port, "informix", "in4mix", "testdb", "informix")) as client:
            assert client.ask(b"\0\x35" + END).names() == ["VERSION"]
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("unread", [b"", END])
def test_what_a_client_ran_ends_when_it_goes_away(unread: bytes) -> None:
    def sessions() -> int:
        return sum(name(task).startswith("session") for task in Path(f"/proc/{server.pid}/task").iterdir())

    def name(task: Path) -> str:
        try:
            return task.joinpath("comm").read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            return ""

    with informix() as server:
        client = Client(server)
        tables = ", ".join(f"syscolumns t{n}" for n in range(6))
        statement = client.ask(prepare(f"select count(*) from {tables}")).statement
        assert statement is not None
        client.send(struct.pack(">HH", 4, statement) + b"\0\x03" + chars("c") + b"\0\x06\0\x09\0\0\x10\0\0\0" + END)
        time.sleep(0.3)
        assert sessions() == 1
        client.send(unread)
        client.close()
        deadline = time.monotonic() + 10
        while sessions() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert sessions() == 0
