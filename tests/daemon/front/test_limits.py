"""``max_connections`` holds over all users of a database that is not PostgreSQL's, too."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from .conftest import Front, running

USERS = ("front_first", "front_second")


def test_users_share_the_connections_that_a_database_may_have(program: Path, fronts: dict[str, Front]) -> None:
    front = fronts["mariadb"]
    with front.direct() as admin:
        for user in USERS:
            admin.execute(f"create or replace user {user} identified by ''")
            admin.execute(f"grant all on test.* to {user}")
    port = urlsplit(front.url).port
    text = "[databases.{}]\ndriver = 'mariadb'\nhost = '127.0.0.1'\nport = {}\ndbname = 'test'\nmax_connections = 1\n{}"
    text = text.format("one", port, "") + text.format("impatient", port, "queue_wait = 0.2\n")
    with running(program, text) as folder:
        one = Front("mariadb", folder, front.url, "")
        user = "select substring_index(current_user(), '@', 1)"
        with one.psycopg(database="one", user=USERS[0]) as first, one.psycopg(database="one", user=USERS[1]) as second:
            for conn, name in [(first, USERS[0]), (second, USERS[1])] * 2:
                # The connection of the other one is closed for it.
                assert conn.execute(user).fetchall() == [(name,)]
                conn.commit()
        with one.psycopg(database="impatient", user=USERS[0]) as holder:
            holder.execute("select 1")
            with pytest.raises(psycopg.OperationalError, match="within queue_wait"):
                one.psycopg(database="impatient", user=USERS[1])
