"""Django on headrace's backends: a part of its own tests, a small site, and the parts that need no server."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from headrace import postgres
from headrace.django.postgresql import hstore
from headrace.django.postgresql.cursor import Cursor, adapted
from headrace.django.postgresql.literals import literal, mogrify
from headrace.django.postgresql.numbers import Int4, Int8
from headrace.errors import DataError, ProgrammingError
from headrace.testing import MysqldServer, PostgresServer
from headrace.types import Jsonb, Range
from long import NIGHT
from sdist import source_of

DJANGO = "5.2.19"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
APPS = ["basic", "transactions", "db_utils"]
"""Of Django's tests. docs/howto/django.md has what the others do."""
FOREVER = "cache.tests.DBCacheTests.test_forever_timeout"
"""Stores the last datetime in a zone west of Greenwich, which is none in UTC."""
CLOSED = "servers.tests.LiveServerTestCloseConnectionTest"
"""Sets ``CONN_MAX_AGE`` while the pool is open."""
SAMPLE = ["backends", "postgres_tests", "basic", "transactions"]
CURSORS = "backends.postgresql.test_server_side_cursors.ServerSideCursorsPostgres."
CONNECTIONS = "backends.postgresql.tests.Tests."
DIFFERENT = {
    *(CURSORS + "test_" + name for name in ("closed_server_side_cursor", "server_side_binding", "server_side_cursor")),
    *(CURSORS + "test_server_side_cursor" + name for name in ("_many_cursors", "s_setting")),
    *(CURSORS + "test_values" + name for name in ("", "_list", "_list_fields_not_equal_to_names", "_list_flat")),
    *(CONNECTIONS + "test_connect_" + name for name in ("custom_cursor_factory", "isolation_level", "pool")),
    *(CONNECTIONS + "test_" + name for name in ("client_encoding_utf8_enforce", "connect_server_side_binding")),
    "postgres_tests.test_apps.PostgresConfigTests.test_register_serializer_for_migrations",
}
"""The tests of the sample that fail, for the reasons that docs/howto/django.md gives."""
WITHOUT = "import sys; sys.modules.update(psycopg=None, psycopg2=None, psycopg_pool=None); "
"""Imports of these fail, as where they are not installed."""


def finished(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program of this Python, at its end."""
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    whole = [sys.executable, *command]
    return subprocess.run(whole, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def run(folder: Path, *command: str, **variables: str) -> str:
    """What a program of this Python prints."""
    done = finished(folder, *command, **variables)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


def of_postgres(server: PostgresServer, **more: Any) -> str:
    where = {"HOST": server.host, "PORT": str(server.port), "USER": server.user, "NAME": server.database}
    return json.dumps({"ENGINE": "headrace.django.postgresql", **where, **more})


def of_mysql(server: MysqldServer, **more: Any) -> str:
    where = {"HOST": server.host, "PORT": server.port, "USER": "tester", "PASSWORD": "tiger", "NAME": "test"}
    return json.dumps({"ENGINE": "headrace.django.mysql", **where, **more})


def own_tests(database: str, *apps: str, **variables: str) -> str:
    """What Django's tests of these apps print."""
    arguments = ["--settings=django_backend_settings", "--parallel", "1", "--noinput"]
    code = WITHOUT + "import runpy; sys.path.insert(0, '.'); runpy.run_path('runtests.py', run_name='__main__')"
    tests = source_of("django", DJANGO) / "tests"
    return finished(tests, "-c", code, *arguments, *apps, DJANGO_DATABASE=database, **variables).stderr


@pytest.mark.slow
def test_djangos_own_tests_without_psycopg(server: PostgresServer) -> None:
    assert "\nOK" in own_tests(of_postgres(server), *APPS, FOREVER)


@pytest.mark.slow
@pytest.mark.skipif(not NIGHT, reason="takes half a minute: make test-long")
@pytest.mark.parametrize("server_side", [True, False], ids=["server_side_binding", "client_side_binding"])
def test_sample_of_djangos_own_tests_fails_where_it_is_documented(server: PostgresServer, server_side: bool) -> None:
    said = own_tests(of_postgres(server, OPTIONS={"server_side_binding": server_side}), *SAMPLE)
    failed = set(re.findall(r"^(?:ERROR|FAIL): \w+ \(([\w.]+)\)", said, re.MULTILINE))
    assert "\nRan " in said, said[-3000:]
    assert failed <= DIFFERENT, said[-6000:]


@pytest.mark.slow
def test_djangos_own_tests_with_a_pool_on_mariadb(mariadb_server: MysqldServer) -> None:
    database = of_mysql(mariadb_server, OPTIONS={"pool": {"max_size": 4}}, TEST={"CHARSET": "utf8mb4"})
    assert "\nOK" in own_tests(database, *APPS, CLOSED)


@pytest.mark.slow
def test_page_runs_without_psycopg(server: PostgresServer) -> None:
    code = WITHOUT + "import runpy; sys.argv[:] = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    where = {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": server.database}
    where["DATABASE_URL"] = f"postgresql://{server.user}@{server.host}:{server.port}/app"
    run(ROOT, "-c", code, "docs/_tools/snippets.py", "docs/howto/django.md", **where)


@pytest.mark.slow
def test_site_with_a_pool(server: PostgresServer) -> None:
    database = of_postgres(server, OPTIONS={"pool": {"min_size": 1, "max_size": 3}})
    assert run(HERE, "django_site.py", DJANGO_DATABASE=database).endswith("ok\n")


@pytest.mark.slow
def test_site_with_a_pool_on_mariadb(mariadb_server: MysqldServer) -> None:
    database = of_mysql(mariadb_server, OPTIONS={"pool": {"min_size": 1, "max_size": 3}})
    assert run(HERE, "django_site.py", DJANGO_DATABASE=database).endswith("ok\n")


LOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "asgi with a pool": ("asgi", {"OPTIONS": {"pool": {"min_size": 1, "max_size": 16}}}),
    "asgi with a small pool": ("asgi", {"OPTIONS": {"pool": {"min_size": 1, "max_size": 3}}}),
    "asgi without": ("asgi", {}),
    "wsgi with a pool": ("wsgi", {"OPTIONS": {"pool": {"min_size": 1, "max_size": 16}}}),
    "wsgi with persistent connections": ("wsgi", {"CONN_MAX_AGE": 60}),
}


@pytest.mark.slow
@pytest.mark.skipif(not NIGHT, reason="takes four minutes: make test-long")
@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("database", ["postgresql", "mariadb", "mysql"])
def test_site_under_load_with_cancelled_requests(request: pytest.FixtureRequest, database: str, name: str) -> None:
    interface, options = LOADS[name]
    if database == "postgresql":
        described = of_postgres(request.getfixturevalue("server"), **options)
    else:
        described = of_mysql(request.getfixturevalue(f"{database}_server"), **options)
    assert "\nok\n" in run(HERE, "django_load.py", interface, DJANGO_DATABASE=described, LOAD_SECONDS="10")


LITERALS = [
    (None, "NULL"),
    (True, "true"),
    (5, "5"),
    (-5, " -5"),
    (Int4(7), "7"),
    (1.5, "1.5"),
    (float("nan"), "'nan'::float8"),
    (decimal.Decimal("1E-7"), "0.0000001"),
    (decimal.Decimal("NaN"), "'NaN'::numeric"),
    ("it's", "'it''s'"),
    ("a\\'b", " E'a\\\\''b'"),
    (b"\0'\\", "decode('00275c', 'hex')"),
    (datetime.date(2024, 2, 29), "'2024-02-29'::date"),
    (datetime.datetime(2024, 2, 29, 1), "'2024-02-29 01:00:00'::timestamp"),
    (datetime.datetime(2024, 2, 29, 1, tzinfo=datetime.timezone.utc), "'2024-02-29 01:00:00+00:00'::timestamptz"),
    (datetime.timedelta(days=-1, microseconds=5), "'-1 days +0.000005 seconds'::interval"),
    (uuid.UUID(int=1), "'00000000-0000-0000-0000-000000000001'::uuid"),
    (Jsonb({"a": "'"}), "'{\"a\": \"''\"}'::jsonb"),
    ([1, None], "ARRAY[1, NULL]"),
    ([Int8(1), None], "ARRAY[1, NULL]::bigint[]"),
    (["it's", None], "'{\"it''s\",NULL}'"),
    (['"', "\\"], """ E'{"\\\\"","\\\\\\\\"}'"""),
    ([["a"], ("b",)], '\'{{"a"},{"b"}}\''),
    ([Range(1, 5)], "'{\"[1,5)\"}'"),
    ([{"a": None}], """ARRAY['"a"=>NULL'::hstore]"""),
    (Range(1, 5), "'[1,5)'"),
]


@pytest.mark.parametrize(("value", "text"), LITERALS, ids=lambda value: repr(value)[:40])
def test_literal_is_written(value: Any, text: str) -> None:
    assert literal(value) == text


def test_literals_are_read_back_by_the_server(server: PostgresServer) -> None:

    with postgres.connect(server.url) as connection:
        for value in ("it's", "a\\'b", "\\", "''", "E'x", "%s", b"\0'\\", -5, 1.5, float("inf"), [[1], [2]], True):
            for conforming in ("on", "off"):
                connection.execute(f"SET standard_conforming_strings = {conforming}")
                assert connection.fetchval(f"SELECT {literal(value)}") == value
        assert connection.fetchval(f"SELECT 1 -{literal(-1)}") == 2


@pytest.mark.parametrize("kind", ["varchar[]", "text[]", "char(4)[]", "name[]"])
def test_array_of_text_has_the_type_of_its_place(server: PostgresServer, kind: str) -> None:
    value = ["it's", 'a"b', "\\", "{,}", "NULL", None]
    with postgres.connect(server.url) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE lists (items {kind})")
        connection.execute(mogrify("INSERT INTO lists VALUES (%s)", [value]))
        assert connection.fetchval(mogrify("SELECT count(*) FROM lists WHERE items @> %s", [value[:5]])) == 1
        found = connection.fetchval("SELECT items FROM lists")
        assert [item and item.rstrip() for item in found] == value


def test_statement_that_is_bound_on_the_client_is_shown(server: PostgresServer) -> None:
    with postgres.connect(server.url) as connection:
        cursor = Cursor(connection, connection.row_factory)
        cursor.binds_on_client = True
        cursor.execute("SELECT %s, '%%'", ["é"])
        assert cursor._query is not None
        assert cursor._query.query.decode() == "SELECT 'é', '%'"
        assert cursor.callproc("abs", [-5]) == [-5]
        assert cursor.fetchall() == [(5,)]


def test_statement_with_literals() -> None:
    assert mogrify("a LIKE '%%' AND b = %s", ["x"]) == "a LIKE '%' AND b = 'x'"
    assert mogrify("%(b)s, %(a)s", {"a": 1, "b": "%s"}) == "'%s', 1"
    assert mogrify("100%", None) == "100%"
    for sql, params in (("%s", []), ("%s", [1, 2]), ("%d", [1]), ("%(a)s", {"b": 1})):
        with pytest.raises(ProgrammingError):
            mogrify(sql, params)
    with pytest.raises(DataError, match="NUL"):
        mogrify("%s", ["\0"])


def test_values_of_fields_are_cast() -> None:
    assert adapted("%s, '%%', %s, %s", [Int4(1), 2, Int8(3)])[0] == "%s::integer, '%%', %s, %s::bigint"
    assert adapted("%s", [[[Int4(1)], None]])[0] == "%s::integer[]"
    assert adapted("%s", [{"a": "b"}], dictionaries=True)[0] == "%s::hstore"
    assert adapted("%s", [{"a": "b"}])[0] == "%s"


@pytest.mark.parametrize(
    ("number", "kind"), [(1, "integer"), (1 << 31, "bigint"), (-(1 << 31), "integer"), (-(1 << 63) - 1, "numeric")]
)
def test_number_too_large_for_its_field_has_a_wider_type(number: int, kind: str) -> None:
    value = Int4(number)
    assert adapted("SELECT %s", [value]) == (f"SELECT %s::{kind}", [value])


def test_range_of_naive_times_is_text() -> None:
    naive, aware = datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    assert adapted("%s", [Range(naive, None)])[1] == ["[2024-01-01 00:00:00,)"]
    assert adapted("%s", [Range(aware, None)])[1] == [Range(aware, None)]


@pytest.mark.parametrize("value", [{}, {"a": None}, {'"\\': "=>, ", "NULL": "NULL", "é\n": ""}], ids=repr)
def test_hstore_is_read_back(value: dict[str, str | None]) -> None:
    assert hstore.load(hstore.dump(value).encode()) == value


def test_wrong_hstores_are_refused() -> None:
    with pytest.raises(DataError):
        hstore.load(b'"a"=>b')
    with pytest.raises(DataError):
        hstore.dump({"a": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("number", ["1E+999999999", "-1E-999999999"])
def test_number_that_no_numeric_holds_is_not_written_out(number: str) -> None:
    """Its digits would take a gigabyte."""
    with pytest.raises(DataError, match="does not fit numeric"):
        literal(decimal.Decimal(number))
    assert literal(decimal.Decimal("1E+3")) == "1000"


def test_text_of_a_value_stays_within_its_literal() -> None:
    address = ipaddress.IPv6Address("fe80::1%x'; drop table victim; --")
    assert literal(address) == "'fe80::1%x''; drop table victim; --'::inet"


def test_last_result_of_several_statements_is_that_of_the_text(server: PostgresServer) -> None:
    with postgres.connect(server.url, autocommit=True) as conn:
        cursor = Cursor(conn, conn.row_factory)
        assert cursor.execute("select 1; select 2").fetchall() == [(2,)]
