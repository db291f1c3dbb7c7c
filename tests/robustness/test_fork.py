"""What a forked child does with its parent's connection never reaches the parent's session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from typing import Any

import pytest

from headrace import errors
from servers import Database

pytestmark = pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")


def in_child(work: Callable[[], str]) -> str:
    """The result of ``work``, or the error that it raises, in a forked child."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said


def use(conn: Any) -> str:
    return str(conn.fetchval("select 42"))


def make_cursor(conn: Any) -> str:
    return str(conn.cursor())


def rows_in_flight(conn: Any) -> str:
    with conn.pipeline():
        conn.execute("select 1")
    return "sent"


def close(conn: Any) -> str:
    assert conn.closed
    assert not conn.check_alive()
    conn.cancel()
    conn.close()
    return "closed"


def leave_alone(conn: Any) -> str:
    del conn
    return "left"


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (use, "InterfaceError: the connection was opened before a fork"),
        (make_cursor, "InterfaceError: the connection was opened before a fork"),
        (rows_in_flight, "InterfaceError: the connection was opened before a fork"),
        (close, "closed"),
        (leave_alone, "left"),
    ],
)
def test_a_child_cannot_disturb_its_parent(target: Database, work: Callable[[Any], str], said: str) -> None:
    conn = target.connect()
    conn.execute(target.temporary)
    assert in_child(lambda: work(conn)).startswith(said)
    assert conn.fetchval("select 7") == 7
    assert conn.fetch("select n from r") == []
    conn.close()


def test_a_child_may_connect_for_itself_and_fork_again(target: Database) -> None:
    def work() -> str:
        with target.connect() as own:
            assert own.fetchval("select 2") == 2
            grandchild = in_child(lambda: use(own))
            return f"{grandchild[:14]} {own.fetchval('select 3')}"

    conn = target.connect()
    assert in_child(work) == "InterfaceError 3"
    with pytest.raises(errors.Error):
        conn.execute("select nothing from nowhere")
    conn.rollback()
    assert conn.fetchval("select 4") == 4
    conn.close()


class Own(Exception):
    """What the child raises."""


def in_transaction(conn: Any) -> Generator[None]:
    with conn.transaction():
        yield


def in_savepoint(conn: Any) -> Generator[None]:
    with conn.transaction(), conn.transaction():
        yield


def in_pipeline(conn: Any) -> Generator[None]:
    with conn.pipeline():
        yield


def in_connection(conn: Any) -> Generator[None]:
    with conn:
        yield


def in_stream(conn: Any) -> Generator[None]:
    with contextlib.closing(conn.stream("select n from r")) as rows:
        next(rows)
        yield


@pytest.mark.parametrize("error", [Own("mine"), SystemExit(3)], ids=["exception", "exit"])
@pytest.mark.parametrize("block", [in_transaction, in_savepoint, in_pipeline, in_connection, in_stream])
def test_exception_of_a_child_leaves_its_parents_blocks_as_it_is(
    target: Database, block: Callable[[Any], Generator[None]], error: BaseException
) -> None:
    conn = target.connect(autocommit=True)
    conn.execute(target.temporary)
    conn.execute("insert into r values (1)")
    inside = block(conn)
    next(inside)
    assert in_child(lambda: inside.throw(error)) == f"{type(error).__name__}: {error}"
    assert next(inside, None) is None
    assert conn.closed or conn.fetchval("select count(*) from r") == 1
    conn.close()


def test_end_of_a_parents_block_in_a_child_raises(target: Database) -> None:
    conn = target.connect(autocommit=True)
    inside = in_transaction(conn)
    next(inside)
    assert in_child(lambda: next(inside, "ended")).startswith("InterfaceError: the connection was opened before a fork")
    next(inside, None)
    conn.close()
