"""Text in the database's code set: each character comes back as itself, or is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace import errors
from headrace.testing import informix


@pytest.mark.parametrize(
    ("locale", "kept", "refused"),
    [
        ("en_US.819", "ä\x80", "€"),
        ("en_US.utf8", "ä€日😀", ""),
        ("de_DE.1252", "ä€", "\x80日"),
        ("tr_TR.8859-9", "ğİ\x80", "€ð"),
        # What a web browser sends as a backslash, a tilde and a wide minus.
        ("ja_JP.sjis", "日本\\~", "¥‾−€"),
        ("ja_JP.ujis", "日本\\~", "¥‾−€"),
    ],
)
async def test_characters_come_back_or_are_refused(locale: str, kept: str, refused: str) -> None:
    with informix(locale=locale) as server:
        conn = headrace.informix.connect(**server.parameters(), autocommit=True)
        aconn = await headrace.aio.informix.connect(**server.parameters(), autocommit=True)
        conn.execute("create table t (n int, v varchar(40), l lvarchar(40), c text)")
        insert = "insert into t values (?, ?, ?, ?)"
        conn.execute(insert, (1, kept, kept, kept))
        await aconn.executemany(insert, [(2, kept, kept, kept)])
        assert await aconn.fetch("select v, l, c from t") == conn.fetch("select v, l, c from t") == [(kept,) * 3] * 2
        assert conn.fetchval(f"select '{kept}' from t where n = 1").rstrip() == kept
        for character in refused:
            for values in ((3, character, "", ""), (3, "", character, ""), (3, "", "", character)):
                with pytest.raises(errors.DataError, match="code set"):
                    conn.execute(insert, values)
                with pytest.raises(errors.DataError, match="code set"):
                    await aconn.executemany(insert, [values])
            with pytest.raises(errors.ProgrammingError, match="code set"):
                conn.execute(f"insert into t values (3, '{character}', '', '')")
        assert conn.fetchval("select count(*) from t") == 2
        conn.close()
        await aconn.close()


async def test_bytes_that_are_no_text_are_an_error() -> None:
    async def refused(read: Any) -> None:
        with pytest.raises(errors.DataError, match="not text in Shift_JIS"):
            await read

    # Half a character comes of a database that is not what its locale says: here, of a client that says another one.
    with informix(locale="en_US.819") as server:
        arguments: dict[str, Any] = {**server.parameters(), "DB_LOCALE": "ja_JP.sjis", "autocommit": True}
        conn = headrace.informix.connect(**arguments)
        aconn = await headrace.aio.informix.connect(**arguments)
        conn.execute("create table t (v varchar(9))")
        conn.execute("insert into t select chr(147) from systables where tabid = 1")
        with pytest.raises(errors.DataError, match="not text in Shift_JIS"):
            conn.fetchval("select v from t")
        await refused(aconn.fetchval("select v from t"))
        assert conn.fetchval("select length(v) from t") == 1
        conn.close()
        await aconn.close()


@pytest.mark.parametrize(("locale", "text"), [("en_US.utf8", "ä€日"), ("ja_JP.sjis", "日本"), ("en_US.819", "ä")])
async def test_a_statement_that_opens_a_database_brings_its_code_set(locale: str, text: str) -> None:
    with informix(locale=locale) as server:
        arguments = {**server.parameters(), "database": None, "autocommit": True}
        for number in range(2):
            conn = headrace.informix.connect(**arguments)
            conn.execute(f"create database one{number} with log")
            expected = headrace.informix.connect(**{**arguments, "database": f"one{number}"})
            assert (conn.encoding, conn.logging) == (expected.encoding, "logged")
            conn.execute("create table t (v varchar(20))")
            insert = "insert into t values (?)"
            with conn.pipeline():
                conn.execute("database testdb")
                made = conn.execute(f"create table t{number} (v varchar(20))")
                conn.execute(f"database one{number}")
                conn.execute(insert, (text,))
            assert made.description is None
            assert conn.fetch("select v from t") == expected.fetch("select v from t") == [(text,)]
            expected.close()
            conn.close()
        aconn = await headrace.aio.informix.connect(**arguments)
        await asyncio.gather(aconn.execute("database one0"), aconn.execute(insert, (text,)))
        assert await aconn.fetch("select v from t") == [(text,)] * 2
        with pytest.raises(errors.Error):
            await aconn.execute("database nosuch")
        assert await aconn.fetch("select v from t") == [(text,)] * 2
        await aconn.close()


async def test_a_new_database_has_the_locale_of_the_client_that_creates_it() -> None:
    with informix(locale="en_US.819") as server:
        arguments: dict[str, Any] = {**server.parameters(), "database": None, "autocommit": True}
        with headrace.informix.connect(**arguments, DB_LOCALE="ja_JP.sjis") as conn:
            conn.execute("create database japanese")
            conn.execute("create table t (v varchar(20))")
            conn.execute("insert into t values (?)", ("日本",))
        aconn = await headrace.aio.informix.connect(**{**arguments, "database": "japanese"})
        assert await aconn.fetchval("select v from t") == "日本"
        assert await aconn.fetchval("select trim(site) from systables where tabname = ' GL_CTYPE'") == "ja_JP.sjis"
        await aconn.close()
        with headrace.informix.connect(**arguments, DB_LOCALE="en_US.ebcdic", codeset="utf8") as conn:
            with pytest.raises(errors.OperationalError) as caught:
                conn.execute("create database foreign")
            assert caught.value.sqlcode == -23101
            conn.execute("database testdb")
            assert conn.fetchval("select trim(site) from systables where tabname = ' GL_CTYPE'") == "en_US.819"
