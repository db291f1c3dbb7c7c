"""Procedures that end with the error of a prepared statement of their own: what they have stored by then is not stored
once more, since a statement that is executing is not a statement that the server has forgotten."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import pytest

from headrace import errors
from servers import Database, MySQL, PostgreSQL, names

BODIES: Final[dict[str, dict[str, str]]] = {
    "postgresql": {
        "deallocates": "begin insert into routines values (k); commit; execute 'deallocate nowhere'; end",
        "executes": "begin insert into routines values (k); commit; execute 'execute nowhere'; end",
    },
    "mysql": {
        "deallocates": "begin insert into routines values (k); deallocate prepare nowhere; end",
        "executes": "begin insert into routines values (k); execute nowhere; end",
        "selects": "begin insert into routines values (k); select 1; execute nowhere; end",
    },
}
"""What the procedures do, by the database's kind."""
CREATE: Final = {
    "postgresql": "create procedure {name}(k int) language plpgsql as $$ {body} $$",
    "mysql": "create procedure {name}(k int) {body}",
}


@pytest.fixture
def conn(any_db: Database) -> Iterator[Any]:
    """A connection in autocommit, and the procedures."""
    with contextlib.closing(any_db.connect(autocommit=True)) as connection:
        connection.execute("drop table if exists routines")
        connection.execute("create table routines (k int)")
        for name, body in BODIES[any_db.kind].items():
            connection.executescript(f"drop procedure if exists {name}")
            connection.executescript(CREATE[any_db.kind].format(name=name, body=body))
        yield connection


@pytest.mark.parametrize("any_db", names(PostgreSQL, MySQL), indirect=True)
@pytest.mark.parametrize("way", ["execute", "piped", "batch"])
def test_what_they_have_stored_is_stored_once(any_db: Database, conn: Any, way: str) -> None:
    for name in BODIES[any_db.kind]:
        conn.execute("truncate table routines")
        call = f"call {name}({any_db.mark})"
        for k in range(4):
            # The first call prepares the statement; the later ones use it again.
            with pytest.raises(errors.DatabaseError):
                if way == "execute":
                    conn.execute(call, (k,))
                elif way == "piped":
                    with conn.pipeline():
                        conn.execute(call, (k,))
                else:
                    conn.executemany(call, [(k,)])
        stored = conn.fetch("select k from routines order by k")
        # A batch is undone.
        assert stored in ([(0,), (1,), (2,), (3,)], [] if way == "batch" else None), name
