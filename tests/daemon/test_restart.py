"""Restarts: a daemon takes over the sockets of one that serves, and nobody who connects finds none."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import psycopg_pool
import pytest

import headrace
from headrace import _daemon
from headrace.testing import PostgresServer
from waiting import Work, until

from .conftest import START_SECONDS, Daemon, config, started, take_over
from .raw import SECONDS, Client, messages, query, sqlstates, values

MOVED = "57P01"
CANCELLED = "57014"
CANCEL_REQUEST = 80877102


@pytest.fixture
def taking_over(program: Path) -> Iterator[Callable[[Daemon], Daemon]]:
    """Starts daemons that take over."""
    processes = []

    def take(old: Daemon) -> Daemon:
        processes.append(take_over(program, old.folder))
        return Daemon(processes[-1], old.folder, old.server)

    yield take
    for process in processes:
        process.kill()
        process.communicate()


def status(daemon: Daemon) -> dict[str, Any]:
    """The status of the daemon of the socket."""
    found: dict[str, Any] = json.loads(_daemon.ask(str(daemon.folder), "GET", "/status")[1])
    return found


def client(daemon: Daemon, database: str = "app") -> Client:
    """A client of the daemon's socket."""
    return Client.local(daemon.socket, user="me", database=database)


def told(ended: Client) -> list[str]:
    """The errors that a client is told until its connection ends."""
    received = b""
    with ended.socket:
        while block := ended.socket.recv(65536):
            received += block
    return sqlstates(received)


def cancel(daemon: Daemon, of: Client) -> None:
    """Sends the CancelRequest of a client, and waits until it has been acted on."""
    key = dict(messages(of.welcome))[b"K"]
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(SECONDS)
        raw.connect(str(daemon.socket))
        raw.sendall(struct.pack("!ii", 16, CANCEL_REQUEST) + key)
        assert raw.recv(1) == b""


def test_clients_leave_one_by_one_and_new_ones_come_to_the_new_daemon(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon]
) -> None:
    inode = daemon.socket.stat().st_ino
    idle, busy = client(daemon), client(daemon)
    assert values(busy.ask(query("begin; select 1"))) == ["1"]
    new = taking_over(daemon)
    with client(new) as first:
        assert values(first.ask(query("select 2"))) == ["2"]
        found = status(new)
        assert (found["pid"], found["predecessor"]) == (new.process.pid, daemon.process.pid)
        assert [each["id"] for each in found["clients"]] == [3], "numbers, and keys, are those of one client"
        assert told(idle) == [MOVED]
        assert values(busy.ask(query("select 3"))) == ["3"], "it has a transaction"
        busy.ask(query("commit"))
        assert told(busy) == [MOVED]
        assert daemon.process.wait(START_SECONDS) == 0
        assert values(first.ask(query("select 4"))) == ["4"]
    lock = daemon.folder / ".s.PGSQL.5432.lock"
    assert (daemon.socket.stat().st_ino, lock.read_text()) == (inode, f"{new.process.pid}\n")
    assert status(new)["predecessor"] is None
    new.process.terminate()
    assert new.process.wait(START_SECONDS) == 0
    assert not daemon.socket.exists()


def test_cancel_requests_of_clients_from_before_reach_their_daemon(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon]
) -> None:
    first = client(daemon)
    first.send(query("select pg_sleep(600)"))
    second = taking_over(daemon)
    third = taking_over(second)
    cancel(third, first)
    assert sqlstates(first.receive()) == [CANCELLED]
    with client(third) as new:
        cancel(third, new)
        assert values(new.ask(query("select 1"))) == ["1"]
    first.ask(query("begin"))
    third.process.terminate()
    first.send(query("rollback"))
    assert told(first) == ["HR004"], "the last one ends: all do"
    assert [each.process.wait(START_SECONDS) for each in (daemon, second, third)] == [0, 0, 0]


def test_clients_without_a_pause_leave_after_the_bound(
    program: Path, folder: Path, server: PostgresServer, taking_over: Callable[[Daemon], Daemon]
) -> None:
    text = "[daemon]\nrestart_timeout = 0.3\ndrain_timeout = 0.3\n" + config(server, app="")
    with started(program, folder, text, server) as old:
        busy, stays = client(old), client(old)
        stays.ask(query("begin"))
        taking_over(old)
        # Its end comes with the next request, or before it.
        with busy.socket, contextlib.suppress(ConnectionError):
            while True:
                assert values(busy.ask(query("select 1"))) == ["1"]
        assert old.process.wait(START_SECONDS) == 0
        assert told(stays) == []


def test_daemon_that_cannot_serve_changes_nothing(program: Path, daemon: Daemon) -> None:
    wrong = daemon.folder.parent / "wrong.toml"
    wrong.write_text("[databases")
    command = [program, "--config", wrong, "--folder", daemon.folder, "--takeover"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert done.returncode == 1
    assert "line 1" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        account = '[clients.jo]\npassword = "x"\n'
        wrong.write_text(f'[daemon]\nlisten = ["127.0.0.1:{port}"]\n{account}' + config(daemon.server, app=""))
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert "in use" in done.stderr
    with client(daemon) as served:
        assert values(served.ask(query("select 1"))) == ["1"]
        assert status(daemon)["pid"] == daemon.process.pid


def test_without_a_daemon_it_starts(program: Path, folder: Path, server: PostgresServer) -> None:
    (folder / "headraced.toml").write_text(config(server, app=""))
    command = [program, "--config", folder / "headraced.toml", "--folder", folder / "run", "--takeover"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("headraced: serving")
    finally:
        process.kill()
        process.communicate()


def test_addresses_of_tcp_are_taken_over(
    program: Path, folder: Path, server: PostgresServer, taking_over: Callable[[Daemon], Daemon]
) -> None:
    text = '[daemon]\nlisten = ["127.0.0.1:0"]\n[clients.jo]\npassword = "correct horse"\n' + config(server, app="")
    with started(program, folder, text, server) as old:
        assert old.process.stdout is not None
        port = int(old.process.stdout.readline().rpartition(":")[2])
        where = {"host": "127.0.0.1", "port": port, "dbname": "app", "user": "jo", "password": "correct horse"}
        with psycopg.connect(**where, autocommit=True) as before:
            taking_over(old)
            with psycopg.connect(**where, autocommit=True) as after:
                assert after.execute("select 1").fetchone() == before.execute("select 1").fetchone() == (1,)
                before.close()
                assert old.process.wait(START_SECONDS) == 0
                assert after.execute("select 2").fetchone() == (2,)


def test_operators_on_the_console_come_to_the_new_daemon(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon]
) -> None:
    before, busy = Client.local(daemon.socket, user="pgbouncer", database="pgbouncer"), client(daemon)
    with contextlib.closing(before.socket), contextlib.closing(busy.socket):
        before.ask(query("show version"))
        busy.ask(query("begin"))
        new = taking_over(daemon)
        with Client.local(new.socket, user="pgbouncer", database="pgbouncer") as after:
            assert "headraced" in values(after.ask(query("show version")))[0]
            assert not sqlstates(after.ask(query("pause one")))
            assert not sqlstates(after.ask(query("resume one")))
            assert told(before) == [MOVED]
            assert not sqlstates(busy.ask(query("commit")))
            assert told(busy) == [MOVED]
            assert daemon.process.wait(START_SECONDS) == 0
            assert not sqlstates(after.ask(query("show clients")))


def test_paused_databases_stay_paused(daemon: Daemon, taking_over: Callable[[Daemon], Daemon]) -> None:
    assert _daemon.ask(str(daemon.folder), "POST", "/pause?database=one")[0] == 200
    taking_over(daemon)
    found = {
        each["name"]: each["paused"] for each in json.loads(_daemon.ask(str(daemon.folder), "GET", "/databases")[1])
    }
    assert (found["one"], found["two"]) == (True, False)


def test_orders_are_for_the_clients_of_the_daemon_before_too(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon]
) -> None:
    def order(path: str) -> None:
        assert _daemon.ask(str(daemon.folder), "POST", path)[0] == 200

    busy = client(daemon, "two")
    pid = values(busy.ask(query("begin; select pg_backend_pid()")))
    waiting = [client(daemon, "one") for _ in range(2)]
    order("/pause?database=one")
    for each in waiting:
        each.send(query("select 1"))
    second = taking_over(daemon)
    taking_over(second)
    order("/resume")
    for each in waiting:
        # It is idle then, and leaves.
        assert values(each.receive()) == ["1"]
        each.socket.close()
    order("/reconnect?database=two")
    assert values(busy.ask(query("select pg_backend_pid()"))) == pid, "it has a transaction"
    order("/kill?database=two")
    assert told(busy) == [MOVED]


@pytest.mark.parametrize("chain", [2, 3])
def test_pause_is_done_when_no_daemon_of_the_chain_has_a_transaction(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon], chain: int
) -> None:
    busy = client(daemon, "two")
    last = daemon
    for _ in range(chain - 1):
        last = taking_over(last)
    with contextlib.closing(busy.socket), Client.local(last.socket, user="pgbouncer", database="pgbouncer") as console:
        number = int.from_bytes(dict(messages(busy.welcome))[b"K"][:4]) - (1 << 22)
        busy.ask(query("begin"))
        assert _daemon.main(["pause", "two", "--folder", str(last.folder), "--timeout", "0"]) == 1
        waits = _daemon.ask(str(last.folder), "GET", "/closing?database=two")
        assert json.loads(waits[1]) == [{"daemon": daemon.process.pid, "client": number}]
        assert json.loads(_daemon.ask(str(last.folder), "GET", "/closing?database=one")[1]) == []
        paused = [Work(console.ask, query("pause two")), Work(_daemon.main, ["pause", "--folder", str(last.folder)])]
        with pytest.raises(TimeoutError):
            paused[0].result(0.3)
        assert values(busy.ask(query("select 1"))) == ["1"]
        assert not any(each.done for each in paused)
        busy.ask(query("commit"))
        assert not sqlstates(paused[0].result())
        assert paused[1].result() == 0


def test_database_that_only_the_older_daemon_has_is_ordered_there(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon]
) -> None:
    def order(path: str) -> tuple[int, str]:
        return _daemon.ask(str(daemon.folder), "POST", path)

    busy, stays = client(daemon, "two"), client(daemon, "one")
    for each in (busy, stays):
        each.ask(query("begin"))
    text = (daemon.folder.parent / "headraced.toml").read_text()
    (daemon.folder.parent / "headraced.toml").write_text(text.replace("[databases.two]", "[databases.other]"))
    third = taking_over(taking_over(daemon))
    assert {each["name"] for each in json.loads(_daemon.ask(str(third.folder), "GET", "/databases")[1])} >= {"other"}
    assert order("/pause?database=two")[0] == 200
    assert order("/reconnect?database=two")[0] == 200
    assert order("/resume?database=two")[0] == 200
    code, said = order("/pause?database=three")
    assert (code, "three" in said) == (404, True)
    number = int.from_bytes(dict(messages(stays.welcome))[b"K"][:4]) - (1 << 22)
    assert order(f"/kill?client={number}")[0] == 200
    assert told(stays) == [MOVED]
    assert order(f"/kill?client={number}")[0] == 404
    assert order("/kill?database=two")[0] == 200
    assert told(busy) == [MOVED]
    assert daemon.process.wait(START_SECONDS) == 0
    code, said = order("/resume?database=two")
    assert (code, "two" in said) == (404, True), "nobody has it any more"


def test_operator_of_the_older_daemon_is_told_which_one_serves(
    daemon: Daemon, taking_over: Callable[[Daemon], Daemon]
) -> None:
    busy, before = client(daemon), Client.local(daemon.socket, user="pgbouncer", database="pgbouncer")
    with contextlib.closing(busy.socket), contextlib.closing(before.socket):
        busy.ask(query("begin"))
        with socket.socket(socket.AF_UNIX) as early:
            # The older one has accepted it, and waits for the rest of the request.
            early.settimeout(SECONDS)
            early.connect(str(daemon.folder / ".s.PGSQL.5432.http"))
            early.sendall(b"POST /pause?database=one HTTP/1.1\r\n")
            before.ask(query("show version"))
            new = taking_over(daemon)
            answers = [before.ask(query(order)) for order in ("pause one", "kill_client 1", "reload")]
            early.sendall(b"\r\n")
            refused = b"".join(iter(lambda: early.recv(4096), b""))
        assert all(f"process {new.process.pid}".encode() in answer for answer in answers)
        assert [sqlstates(answer) for answer in answers] == [[MOVED], [MOVED], ["F0000"]]
        assert refused.startswith(b"HTTP/1.1 409")
        assert not any(each["paused"] for each in json.loads(_daemon.ask(str(new.folder), "GET", "/databases")[1]))


def test_orders_reach_a_daemon_that_drains(
    program: Path, folder: Path, server: PostgresServer, taking_over: Callable[[Daemon], Daemon]
) -> None:
    text = "[daemon]\ndrain_timeout = 60\n" + config(server, app="", two="")
    with started(program, folder, text, server) as old:
        busy, stays, idle = client(old, "two"), client(old), client(old)
        for each in (busy, stays):
            each.ask(query("begin"))
        new = taking_over(old)
        old.process.terminate()
        assert told(idle) in (["HR004"], [MOVED])
        assert _daemon.ask(str(new.folder), "POST", "/kill?database=two")[0] == 200
        assert told(busy) == [MOVED]
        stays.send(query("select pg_sleep(600) /* of a daemon that drains */"))
        with headrace.connect(server.url, autocommit=True) as admin:
            running = (
                "select count(*) from pg_stat_activity where state = 'active' and query like '%daemon that drains%'"
            )
            until(lambda: admin.fetchval(f"{running} and pid <> pg_backend_pid()") == 1)
        cancel(new, stays)
        assert sqlstates(stays.receive()) == [CANCELLED]
        stays.send(query("rollback"))
        assert told(stays) == ["HR004"]
        assert old.process.wait(START_SECONDS) == 0


class Asking:
    """Asks a daemon for its sockets, as one does that takes over."""

    def __init__(self, daemon: Daemon) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(daemon.folder / ".s.PGSQL.5432.http"))
        self.socket.sendall(b"POST /takeover HTTP/1.1\r\nUpgrade: headraced-takeover/1\r\n\r\n")
        self.answer, self.descriptors, _, _ = socket.recv_fds(self.socket, 65536, 10)

    def say(self, line: bytes) -> bytes:
        """Says a line, and returns the one that is answered."""
        self.socket.sendall(line)
        return self.socket.recv(100)

    def die(self) -> None:
        """As a process that is killed."""
        self.socket.close()
        for descriptor in self.descriptors:
            os.close(descriptor)


def test_old_daemon_serves_on_when_the_new_one_dies(daemon: Daemon, taking_over: Callable[[Daemon], Daemon]) -> None:
    busy = client(daemon)
    busy.ask(query("begin"))
    for step in ("asked", "ready", "serving"):
        asking = Asking(daemon)
        assert asking.answer.startswith(b"HTTP/1.1 101")
        assert len(asking.descriptors) == 3
        if step != "asked":
            assert asking.say(b"ready\n") == b"yours\n"
        if step == "serving":
            asking.socket.sendall(b"serving\n")
        asking.die()
        with client(daemon) as served:
            assert values(served.ask(query("select 1"))) == ["1"], step
            assert status(daemon)["pid"] == daemon.process.pid
    assert values(busy.ask(query("select 2"))) == ["2"]
    with busy:
        busy.ask(query("rollback"))
    new = taking_over(daemon)
    assert status(new)["pid"] == new.process.pid


def test_of_two_that_ask_at_once_one_is_refused(daemon: Daemon) -> None:
    first, second = Asking(daemon), Asking(daemon)
    assert first.answer.startswith(b"HTTP/1.1 101")
    assert second.answer.startswith(b"HTTP/1.1 409")
    assert second.descriptors == []
    second.die()
    first.die()
    with client(daemon) as served:
        assert values(served.ask(query("select 1"))) == ["1"]


def test_new_daemon_serves_when_the_old_one_dies(program: Path, folder: Path, server: PostgresServer) -> None:
    """The old one is made of its sockets here, as it has to die between two lines."""
    (folder / "headraced.toml").write_text(config(server, app=""))
    run = folder / "run"
    run.mkdir(mode=0o700)
    with contextlib.ExitStack() as closing:
        sockets = []
        for name in (".s.PGSQL.5432", ".s.PGSQL.5432.http"):
            listener = closing.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(run / name))
            listener.listen()
            sockets.append(listener)
        lock = closing.enter_context((run / ".s.PGSQL.5432.lock").open("w+"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [program, "--config", folder / "headraced.toml", "--folder", run, "--takeover"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        closing.callback(process.communicate)
        closing.callback(process.kill)
        asked, _ = sockets[1].accept()
        assert asked.recv(1000).startswith(b"POST /takeover")
        handed = {
            "version": "0", "pid": 1, "next_number": 7, "paused": {"all": False, "said": {}}, "inherited": False,
            "addresses": [],
        }  # fmt: skip
        head = f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: headraced-takeover/1\r\n\r\n{json.dumps(handed)}\n"
        given = array.array("i", [*(each.fileno() for each in sockets), lock.fileno()])
        asked.sendmsg([head.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
        assert asked.recv(100) == b"ready\n"
        asked.close()
        for each in sockets:
            each.close()
        lock.close()
        assert process.stdout is not None
        assert process.stdout.readline().startswith("headraced: serving")
        with Client.local(run / ".s.PGSQL.5432", user="me", database="app") as served:
            assert values(served.ask(query("select 1"))) == ["1"]
        second = subprocess.run(command[:-1], capture_output=True, text=True, timeout=START_SECONDS, check=False)
        assert "another headraced serves" in second.stderr, "the lock has come with the sockets"


BUSY_SECONDS, PAUSE_SECONDS = 0.7, 1.3
"""How long the threads of one kind work, and how long they then do nothing: longer than a connection is idle before it
has to leave the old daemon (``IDLE_BEFORE_LEAVING``)."""


def loop(
    ended: threading.Event, shift: float, work: Callable[[], None], failures: list[BaseException], done: list[int]
) -> None:
    """Does some work again and again, and notes what fails. All threads with the same ``shift``, in seconds, pause at
    the same time: a pool lends the connections of a thread that pauses to the others, and none of them would be
    idle."""
    while not ended.is_set():
        left = BUSY_SECONDS + PAUSE_SECONDS - (time.monotonic() + shift) % (BUSY_SECONDS + PAUSE_SECONDS)
        if left <= PAUSE_SECONDS:
            ended.wait(left)
        try:
            work()
            done[0] += 1
        except (psycopg.Error, psycopg_pool.PoolTimeout, headrace.Error, OSError) as error:
            failures.append(error)


@pytest.mark.slow
def test_no_transaction_of_who_reconnects_fails(
    daemon: Daemon, server: PostgresServer, taking_over: Callable[[Daemon], Daemon]
) -> None:
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists restarted; create table restarted (who text)")
    told_ = {"host": str(daemon.folder), "port": 5432, "dbname": "app", "user": "me"}
    checked = psycopg_pool.ConnectionPool(
        kwargs=told_, min_size=4, max_size=4, check=psycopg_pool.ConnectionPool.check_connection, open=True
    )
    own = headrace.ConnectionPool(kwargs=told_, max_size=4)

    def by_psycopg() -> None:
        with checked.connection() as conn:
            conn.execute("insert into restarted values ('psycopg')")

    def by_own() -> None:
        with own.connection() as conn:
            conn.execute("insert into restarted values ('own')")

    def anew() -> None:
        with psycopg.connect(**told_) as conn:
            conn.execute("insert into restarted values ('anew')")

    opened: list[psycopg.Connection[Any]] = []

    def kept() -> None:
        holder: list[psycopg.Connection[Any]] = local.__dict__.setdefault("holder", [])
        try:
            if not holder:
                holder.append(psycopg.connect(**told_))
                opened.append(holder[0])
            with holder[0].transaction():
                holder[0].execute("insert into restarted values ('kept')")
        except psycopg.Error:
            holder.clear()
            raise

    local = threading.local()
    ended = threading.Event()
    works = {"psycopg": by_psycopg, "own": by_own, "anew": anew, "kept": kept}
    failures: dict[str, list[BaseException]] = {name: [] for name in works}
    done = {name: [0] for name in works}
    threads = [
        threading.Thread(target=loop, args=(ended, n / 2, work, failures[name], done[name]), daemon=True)
        for n, (name, work) in enumerate(works.items())
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    restarts = 3
    for _ in range(restarts):
        before = {name: counted[0] for name, counted in done.items()}
        new = taking_over(daemon)
        assert daemon.process.wait(90) == 0, "all clients have left"
        daemon = new
        deadline = time.monotonic() + START_SECONDS
        while any(done[name][0] == before[name] for name in works):
            assert time.monotonic() < deadline, "everybody is served by the new one"
            time.sleep(0.01)
    ended.set()
    for thread in threads:
        thread.join(START_SECONDS)
    checked.close()
    own.close()
    for conn in opened:
        conn.close()
    assert [failures["psycopg"], failures["own"], failures["anew"]] == [[], [], []]
    # Who keeps a connection, and does not look whether it is there, finds it closed: once for each restart.
    assert len(failures["kept"]) <= 4 * restarts
    with headrace.connect(server.url, autocommit=True) as admin:
        found = dict(admin.fetch("select who, count(*) from restarted group by who"))
    for name, (count,) in done.items():
        assert found[name] == count, "what is confirmed is done, once"
