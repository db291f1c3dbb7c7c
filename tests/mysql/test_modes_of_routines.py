"""SQL modes that a stored routine has set end with it, but servers report them on and on."""

from __future__ import annotations

import headrace.mysql
from served import Served


def test_the_mode_of_a_routine_does_not_change_where_strings_end(my_server: Served) -> None:
    with headrace.mysql.connect(**my_server.where, database="test", autocommit=True) as conn:
        conn.execute("drop procedure if exists no_escapes")
        conn.execute("create procedure no_escapes() set sql_mode = 'NO_BACKSLASH_ESCAPES'")
        conn.execute("call no_escapes()")
        assert conn.fetch(r"select 'a\'', ?", 5) == [("a'", 5)]
        conn.execute("set sql_mode = 'NO_BACKSLASH_ESCAPES'")
        assert conn.fetch(r"select 'a\', ?", 5) == [("a\\", 5)]
        conn.execute("set sql_mode = ''")
        assert conn.fetch(r"select 'a\'', ?", 5) == [("a'", 5)]
