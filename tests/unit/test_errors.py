"""Errors: classes by SQLSTATE, what they say, and what they keep."""

from __future__ import annotations

import copy
import pickle

import psycopg.errors
import pytest

from headrace import errors
from headrace._native import error_class
from headrace.errors import Error, error_for
from headrace.postgres.server_errors import error_from_fields
from headrace.sqlstates import CONDITIONS


@pytest.mark.parametrize(
    ("sqlstate", "name", "base"),
    [
        ("08006", "ConnectionFailure", errors.OperationalError),
        ("0A000", "FeatureNotSupported", errors.NotSupportedError),
        ("22012", "DivisionByZero", errors.DataError),
        ("23505", "UniqueViolation", errors.IntegrityError),
        ("25P02", "InFailedSqlTransaction", errors.InternalError),
        ("28P01", "InvalidPassword", errors.OperationalError),
        ("38002", "ModifyingSqlDataNotPermittedExt", errors.OperationalError),
        ("2F002", "ModifyingSqlDataNotPermitted", errors.OperationalError),
        ("3D000", "InvalidCatalogName", errors.OperationalError),
        ("40001", "SerializationFailure", errors.OperationalError),
        ("40P01", "DeadlockDetected", errors.OperationalError),
        ("42601", "SyntaxError", errors.ProgrammingError),
        ("42P01", "UndefinedTable", errors.ProgrammingError),
        ("57014", "QueryCanceled", errors.OperationalError),
        ("HV00R", "FdwTableNotFound", errors.OperationalError),
        ("P0001", "RaiseException", errors.ProgrammingError),
        ("XX000", "InternalError_", errors.InternalError),
    ],
)
def test_the_class_of_a_sqlstate(sqlstate: str, name: str, base: type[Error]) -> None:
    kind = error_for(sqlstate)
    assert (kind.__name__, kind.sqlstate) == (name, sqlstate)
    assert kind.__base__ is base
    assert getattr(errors, name) is kind


@pytest.mark.parametrize(
    ("sqlstate", "base"),
    [
        ("23ZZZ", errors.IntegrityError),
        ("F1234", errors.OperationalError),
        ("01000", errors.DatabaseError),
        ("ZZZZZ", errors.DatabaseError),
        ("", errors.DatabaseError),
    ],
)
def test_a_sqlstate_of_ones_own_has_the_base_of_its_class(sqlstate: str, base: type[Error]) -> None:
    assert error_for(sqlstate) is base
    assert error_from_fields({"C": sqlstate, "M": "m"}).sqlstate == sqlstate


def test_every_sqlstate_has_a_class_of_its_own() -> None:
    kinds = {error_for(sqlstate) for sqlstate in CONDITIONS}
    assert len(kinds) == len(CONDITIONS) > 240
    for sqlstate in CONDITIONS:
        assert error_for(sqlstate).sqlstate == sqlstate
        assert issubclass(error_for(sqlstate), errors.DatabaseError)


def test_every_class_has_the_base_that_the_engine_says() -> None:
    for sqlstate in CONDITIONS:
        assert error_for(sqlstate).__base__ is getattr(errors, error_class(sqlstate)), sqlstate


def test_the_classes_are_those_of_psycopg() -> None:
    for sqlstate in CONDITIONS:
        their = psycopg.errors.lookup(sqlstate)
        our = error_for(sqlstate)
        assert our.__name__ == their.__name__
        # Where psycopg has no opinion (DatabaseError), headrace's may be narrower; a missing database is met on
        # connecting.
        base = their.__base__.__name__
        if base != "DatabaseError" and sqlstate != "3D000":
            assert our.__base__ is getattr(errors, base), sqlstate


FIELDS = {
    "S": "FEHLER",
    "V": "ERROR",
    "C": "23505",
    "M": "duplicate key",
    "D": "Key (id)=(1) already exists.",
    "H": "choose another",
    "P": "8",
    "p": "3",
    "q": "select 2",
    "W": "PL/pgSQL function f() line 3",
    "s": "public",
    "t": "users",
    "c": "id",
    "d": "int4",
    "n": "users_pkey",
    "F": "nbtinsert.c",
    "L": "666",
    "R": "_bt_check_unique",
}


def test_every_field_is_an_attribute() -> None:
    error = error_from_fields(FIELDS, "insert into users values (1)", 7)
    assert type(error) is errors.UniqueViolation
    assert vars(error) == {
        "severity": "ERROR",
        "sqlstate": "23505",
        "message": "duplicate key",
        "detail": "Key (id)=(1) already exists.",
        "hint": "choose another",
        "position": 8,
        "internal_position": 3,
        "internal_query": "select 2",
        "where": "PL/pgSQL function f() line 3",
        "schema_name": "public",
        "table_name": "users",
        "column_name": "id",
        "data_type_name": "int4",
        "constraint_name": "users_pkey",
        "source_file": "nbtinsert.c",
        "source_line": "666",
        "source_function": "_bt_check_unique",
        "statement": "insert into users values (1)",
        "row": 7,
    }
    assert error.context == error.where


def test_diag_has_the_fields_by_the_names_of_psycopg() -> None:
    diag = error_from_fields(FIELDS, "insert into users values (1)").diag
    assert vars(diag) == {
        "severity": "ERROR",
        "severity_nonlocalized": "ERROR",
        "sqlstate": "23505",
        "message_primary": "duplicate key",
        "message_detail": "Key (id)=(1) already exists.",
        "message_hint": "choose another",
        "statement_position": "8",
        "internal_position": "3",
        "internal_query": "select 2",
        "context": "PL/pgSQL function f() line 3",
        "schema_name": "public",
        "table_name": "users",
        "column_name": "id",
        "datatype_name": "int4",
        "constraint_name": "users_pkey",
        "source_file": "nbtinsert.c",
        "source_line": "666",
        "source_function": "_bt_check_unique",
    }
    theirs = {name for name in dir(psycopg.errors.Diagnostic) if not name.startswith("_")}
    assert theirs - {"pgresult", "encoding"} <= set(vars(diag))
    assert set(vars(errors.PoolTimeout("full").diag).values()) == {None}


@pytest.mark.parametrize("fields", [{}, {"M": ""}, {"C": "", "P": ""}, {"P": "x", "p": "-1"}, {"P": "²"}])
def test_missing_and_malformed_fields_are_none(fields: dict[str, str]) -> None:
    error = error_from_fields(fields)
    assert error.message == "the server sent no message"
    assert (error.position, error.internal_position, error.row, error.statement) == (None, None, None, None)
    assert str(error) == "the server sent no message"


def test_severity_of_servers_before_9_6() -> None:
    assert error_from_fields({"S": "ERROR", "M": "m"}).severity == "ERROR"


@pytest.mark.parametrize(
    ("fields", "statement", "row", "text"),
    [
        ({"M": "m"}, None, None, "m"),
        ({"M": "m", "D": "d", "H": "h", "W": "w"}, None, None, "m\nDETAIL: d\nHINT: h\nCONTEXT: w"),
        ({"M": "m"}, None, 3, "row 3: m"),
        ({"M": "m"}, "select", None, "m"),
        ({"M": "m", "P": "8"}, None, None, "m"),
        ({"M": "m", "P": "8"}, "select frm", None, "m\n  select frm\n         ^"),
        ({"M": "m", "P": "1"}, "select", None, "m\n  select\n  ^"),
        ({"M": "m", "P": "7"}, "select", None, "m\n  select\n        ^"),
        ({"M": "m", "P": "0"}, "select", None, "m\n  select\n  ^"),
        ({"M": "m", "P": "99"}, "select", None, "m\n  select\n        ^"),
        ({"M": "m", "P": "10"}, "select\r\n\tx\r\n", None, "m\n  line 2:  x\n           ^"),
        ({"M": "m", "P": "8"}, "select é", None, "m\n  select é\n         ^"),
        ({"M": "m", "q": "select x", "p": "8"}, None, None, "m\nQUERY:\n  select x\n         ^"),
    ],
)
def test_the_text_points_at_the_place(
    fields: dict[str, str], statement: str | None, row: int | None, text: str
) -> None:
    assert str(error_from_fields(fields, statement, row)) == text


@pytest.mark.parametrize("servers", [None, "You will need to rewrite or cast the expression."])
@pytest.mark.parametrize(
    ("sqlstate", "message", "statement", "hint"),
    [
        ("42804", "column is of type jsonb but expression is of type text[]", "", "wrap it in headrace.types.Json"),
        ("42883", "operator does not exist: integer = integer[]", "select 1 where n in (%s)", "write = ANY(%s)"),
    ],
)
def test_a_hint_that_only_the_driver_knows_is_better_than_the_servers(
    servers: str | None, sqlstate: str, message: str, statement: str, hint: str
) -> None:
    fields = {"C": sqlstate, "M": message, **({"H": servers} if servers else {})}
    assert hint in str(error_from_fields(fields, statement).hint)


def test_the_servers_hint_stays_where_no_better_one_is_known() -> None:
    fields = {"C": "42601", "M": 'syntax error at or near "$1"', "H": "the server's"}
    assert error_from_fields(fields, "set x to %s").hint == "the server's"
    del fields["H"]
    assert "set_config" in str(error_from_fields(fields, "set x to %s").hint)


@pytest.mark.parametrize("position", [1, 50, 51, 5000, 9_949, 9_950, 10_000])
def test_a_long_line_is_cut_around_the_place(position: int) -> None:
    statement = "x" * (position - 1) + "!" + "x" * (10_000 - position)
    _, line, caret = str(error_from_fields({"M": "m", "P": str(position)}, statement)).split("\n")
    assert len(line) <= 120
    assert line[caret.index("^")] == "!"


@pytest.mark.parametrize(
    "statement",
    [
        "create role u PASSWORD 'hunter2' LOGNI",
        "alter role u password E'hunter\\'2' LOGNI",
        "alter role u password 'hunter2''hunter2' LOGNI",
        "alter role u password $x$hunter2$x$ LOGNI",
        "create subscription s connection 'host=h password=hunter2' LOGNI",
    ],
)
def test_a_password_in_a_statement_is_not_shown(statement: str) -> None:
    position = statement.index("LOGNI") + 1
    text = str(error_from_fields({"M": "syntax error", "P": str(position)}, statement))
    assert "hunter" not in text
    _, line, caret = text.split("\n")
    assert line[caret.index("^") :].startswith("LOGNI")


@pytest.mark.parametrize("sqlstate", ["23505", "HV00R", "XX000", "ZZZZZ"])
def test_errors_can_be_pickled_and_copied(sqlstate: str) -> None:
    error = error_from_fields({**FIELDS, "C": sqlstate}, "select 1", 2)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (str(again), vars(again), again.args) == (str(error), vars(error), error.args)


def test_errors_of_the_drivers_own_say_what_they_are_given() -> None:
    assert str(errors.InterfaceError("the connection is closed")) == "the connection is closed"
    assert pickle.loads(pickle.dumps(errors.PoolTimeout("late"))).args == ("late",)


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (errors.InterfaceError, errors.Error),
        (errors.DatabaseError, errors.Error),
        (errors.ConnectionClosed, errors.OperationalError),
        (errors.ConnectionTimeout, errors.OperationalError),
        (errors.PipelineAborted, errors.OperationalError),
        (errors.PoolTimeout, errors.OperationalError),
        (errors.PoolClosed, errors.OperationalError),
        (errors.TooManyRequests, errors.OperationalError),
    ],
)
def test_the_hierarchy(kind: type[Exception], base: type[Exception]) -> None:
    assert kind.__base__ is base
    assert not issubclass(errors.Warning, errors.Error)
