"""Databases that are not in UTF-8: texts in both directions, and what they cannot hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Literal

import pytest

import headrace.aio.cubrid
import headrace.cubrid
import headrace.testing
from headrace import errors
from headrace.types import Json
from live import CUBRID_URL

LETTERS = {"euckr": "한국어 가나다 ㈜", "iso88591": "Grüße, ça va? ÿ"}
FOREIGN = {"euckr": "Grüße", "iso88591": "한국어"}
LIVE = {name: os.environ.get(f"HEADRACE_CUBRID_{name.upper()}_URL", "") for name in LETTERS}
"""Databases of a genuine server, in each character set."""
TESTED: list[Literal["euckr", "iso88591"]] = ["euckr", "iso88591"]


@pytest.fixture(scope="module", params=[name for name in TESTED if not CUBRID_URL or LIVE[name]])
def charset(request: pytest.FixtureRequest) -> Any:
    """The server's name of a character set."""
    return request.param


@pytest.fixture(scope="module")
def coded(charset: Any) -> Iterator[str]:
    """The URL of a database in the character set."""
    if LIVE[charset]:
        yield LIVE[charset]
        return
    with headrace.testing.cubrid(charset=charset) as server:
        yield server.url


@pytest.mark.parametrize("given", ["named", "auto"])
def test_texts_go_both_ways(coded: str, charset: Any, given: str) -> None:
    text = LETTERS[charset]
    with headrace.cubrid.connect(coded, charset=charset if given == "named" else "auto") as conn:
        conn.execute("drop table if exists hr_text")
        conn.execute("create table hr_text (a varchar(100), b set of varchar(100), n int)")
        conn.execute("insert into hr_text values (?, ?, 1)", (text, [text]))
        conn.execute(f"insert into hr_text values ('{text}', {{'{text}'}}, 2)")
        conn.executemany("insert into hr_text (a, n) values (?, ?)", [(text, 3)] * 250)
        assert conn.fetchval("select count(*) from hr_text where a = ?", text) == 252
        assert conn.fetchval(f"select count(*) from hr_text where a = '{text}'") == 252
        assert conn.fetch("select distinct a, b from hr_text where n < 3") == [(text, [text])]
        assert conn.fetchval("select char_length(a) from hr_text limit 1") == len(text)
        alias = "größe" if charset == "iso88591" else "이름"
        assert conn.execute(f'select a as "{alias}" from hr_text').description[0].name == alias
        conn.rollback()


def test_a_character_that_the_database_does_not_have_is_refused(coded: str, charset: Any) -> None:
    foreign = FOREIGN[charset]
    with headrace.cubrid.connect(coded, charset=charset) as conn:
        for sql, params in (
            ("select ?", (foreign,)),
            (f"select '{foreign}'", None),
            ("select ?", ([foreign],)),
        ):
            with pytest.raises(errors.DataError, match="not in the character set of the database"):
                conn.execute(sql, params)
        assert conn.fetchval("select cast(? as varchar(100))", LETTERS[charset]) == LETTERS[charset]


def test_errors_have_text(coded: str, charset: Any) -> None:
    with (
        headrace.cubrid.connect(coded, charset=charset) as conn,
        pytest.raises(errors.ProgrammingError) as caught,
    ):
        conn.execute(f'select * from "{LETTERS[charset][:3]}"')
    assert LETTERS[charset][:3].lower() in str(caught.value).lower()


def test_large_objects_are_in_it(coded: str, charset: Any) -> None:
    text = LETTERS[charset]
    with headrace.cubrid.connect(coded, charset=charset) as conn:
        conn.execute("drop table if exists hr_clob")
        conn.execute("create table hr_clob (a clob)")
        conn.execute("insert into hr_clob values (?)", (conn.store_lob(text),))
        assert conn.fetchval("select clob_to_char(a) from hr_clob") == text
        assert conn.read_lob(conn.fetchval("select a from hr_clob")) == text
        with pytest.raises(errors.DataError, match="not in the character set"):
            conn.store_lob(FOREIGN[charset])
        conn.rollback()


def test_json_is_utf8_in_every_database(coded: str, charset: Any) -> None:
    with headrace.cubrid.connect(coded, charset=charset) as conn:
        conn.execute("drop table if exists hr_json")
        conn.execute("create table hr_json (a json)")
        conn.execute("insert into hr_json values (?)", (Json({"k": LETTERS[charset]}),))
        assert conn.fetchval("select a from hr_json") == {"k": LETTERS[charset]}
        conn.rollback()


async def test_on_asyncio(coded: str, charset: Any) -> None:
    async with await headrace.aio.cubrid.connect(coded, charset="auto") as conn:
        text = LETTERS[charset]
        assert await conn.fetchval("select cast(? as varchar(100))", text) == text


def test_unknown_character_sets_are_refused() -> None:
    with pytest.raises(errors.NotSupportedError, match="utf-8, euc-kr"):
        headrace.cubrid.connect("cubrid://dba@localhost/x", charset="koi8-r")
