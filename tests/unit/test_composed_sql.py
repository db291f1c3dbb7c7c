"""Pieces of SQL by themselves, and t-strings as Python 3.14 makes them, without a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.errors import ProgrammingError
from headrace.sql import (
    DEFAULT,
    NULL,
    SQL,
    Composable,
    Composed,
    Identifier,
    Literal,
    Placeholder,
    as_string,
    statement_of,
    text_of,
)


class PostgresWire:
    """What the extension says of a database: names in double quotes, literals as ``repr`` has them."""

    def quote(self, name: str) -> str:
        return f'"{name}"'

    def literal(self, value: Any) -> str:
        return repr(value)

    def convert(self, text: str, with_params: bool) -> Any:
        @dataclass
        class Query:
            hinted: bool

        return Query(with_params and "$1" not in text)


class CubridWire(PostgresWire):
    pass


def text(piece: Composable, wire: Any = None) -> str:
    return piece._write(wire or cast(Any, PostgresWire()), "%")


def test_places_are_filled() -> None:
    for piece, expected in (
        (SQL("a {} b {}").format(Identifier("x"), 1), 'a "x" b 1'),
        (SQL("{1}{0}{1}").format(1, 2), "212"),
        (SQL("{n} {{}}").format(n=SQL("x")), "x {}"),
        (SQL("x").format(), "x"),
        (SQL(", ").join([Identifier("a", "b"), None, SQL("c")]), '"a"."b", None, c'),
        (SQL(", ").join([]), ""),
        (Composed([1, SQL("x")]).join(SQL("-")), "1-x"),
        (Composed([1, SQL("x")]).join("-"), "1-x"),
        (SQL("a") + Literal("b") + NULL, "a'b'NULL"),
        (Placeholder() * 2, "%s%s"),
        (Placeholder("n") + DEFAULT, "%(n)sDEFAULT"),
    ):
        assert text(piece) == expected
    assert text(Placeholder(), CubridWire()) == "?"
    with pytest.raises(ProgrammingError, match="no names"):
        text(Placeholder("n"), CubridWire())


@pytest.mark.parametrize(
    ("template", "args", "named", "why"),
    [
        ("{}", (), {}, "no piece"),
        ("{x}", (), {}, "no piece"),
        ("{}", (1, 2), {}, "no place"),
        ("x", (), {"x": 1}, "no place"),
        ("{!r}", (1,), {}, "conversion"),
        ("{:s}", (1,), {}, "format"),
        ("{} {1}", (1, 2), {}, "mixed"),
        ("{0} {}", (1, 2), {}, "mixed"),
        ("{", (), {}, "cannot be read"),
    ],
)
def test_places_that_do_not_fit_are_errors(template: Any, args: Any, named: Any, why: str) -> None:
    with pytest.raises(ProgrammingError, match=why):
        SQL(template).format(*args, **named)


def test_pieces_are_values() -> None:
    assert SQL("a") == SQL("a") != Identifier("a")
    assert Literal(1) != Literal(True)
    assert Literal([1]) == Literal([1])
    assert len({SQL("a"), SQL("a"), Literal([1]), Composed([SQL("a")])}) == 3
    made = SQL("{} = {}").format(Identifier("s", "t"), Placeholder("n"))
    assert repr(made) == "Composed([Identifier('s', 't'), SQL(' = '), Placeholder('n')])"
    for refused in (lambda: SQL(cast(Any, 1)), lambda: Identifier(cast(Any, 1)), Identifier):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(ProgrammingError):
        Placeholder("a)s")
    with pytest.raises(TypeError, match="connection"):
        SQL("a").as_string(object())


@dataclass
class Interpolation:
    value: Any
    expression: str = "value"
    conversion: str | None = None
    format_spec: str = ""


class Template:
    """A t-string as PEP 750 defines it, for Pythons that have none."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)


Template.__module__ = "string.templatelib"


def template(*parts: Any) -> Any:
    """One of texts and of a value with its format, in turns."""
    if sys.version_info >= (3, 14):
        from string.templatelib import Interpolation as Real
        from string.templatelib import Template as RealTemplate

        return RealTemplate(*(p if isinstance(p, str) else Real(p[0], "value", p[2] or None, p[1]) for p in parts))
    return Template(*(p if isinstance(p, str) else Interpolation(p[0], "value", p[2] or None, p[1]) for p in parts))


def test_t_strings() -> None:
    wire: Any = PostgresWire()
    inner = template("n < ", (7, "", ""))
    for made, expected in (
        (template("select 1 % 2"), ("select 1 % 2", None)),
        (template("a % ", (1, "", ""), ", ", ("x", "s", "")), ("a %% %s, %s", [1, "x"])),
        (template((1, "b", ""), (2, "t", "")), ("%s%s", [1, 2])),
        (template(("a%", "i", ""), (Identifier("s", "t"), "i", "")), ('"a%""s"."t"', None)),
        (template(("a%", "l", ""), (1, "", "")), ("'a%%'%s", [1])),
        (template("where ", (SQL("x = y"), "q", ""), " and ", (inner, "q", "")), ("where x = y and n < %s", [7])),
        (template((Literal(1), "l", "")), ("1", None)),
        (SQL(", ").join([inner, inner]), ("n < %s, n < %s", [7, 7])),
        (SQL(", ").join([inner]), ("n < %s", [7])),
    ):
        assert statement_of(made, wire, None) == expected
    assert statement_of(template("a % ", (1, "", "")), cast(Any, CubridWire()), None) == ("a % ?", [1])
    assert text_of(template("x ", (1, "l", "")), wire) == "x 1"
    connection: Any = SimpleNamespace(_core=SimpleNamespace(wire=wire))
    for statement in ("%", SQL("%"), template("%")):
        assert as_string(statement, connection) == "%"
    assert as_string(template("% ", ("it", "", ""), ("x", "i", "")), connection) == "% 'it'\"x\""


def test_t_strings_that_are_refused() -> None:
    wire: Any = PostgresWire()
    for made, error, why in (
        (template((SQL("x"), "", "")), ProgrammingError, "{value:q}"),
        (template((template("x"), "", "")), ProgrammingError, "{value:q}"),
        (template((1, "d", "")), ProgrammingError, "formats"),
        (template(("x", "q", "")), TypeError, "headrace.sql"),
        (template((1, "i", "")), TypeError, "identifier"),
        (template((SQL("x"), "i", "")), TypeError, "identifier"),
        (template((SQL("x"), "l", "")), TypeError, "piece of SQL"),
        (template((1, "", "r")), ProgrammingError, "value!r"),
        (template((1, "l", "s")), ProgrammingError, "conversion"),
    ):
        with pytest.raises(error, match=why):
            statement_of(made, wire, None)
    with pytest.raises(TypeError, match="t-string"):
        SQL(",").join([template("x"), 1])
    with pytest.raises(TypeError, match="t-string"):
        SQL("{}").format(template("x"))
    with pytest.raises(ProgrammingError, match="beside it"):
        statement_of(template("x"), wire, [1])
    for with_params in (False, True):
        with pytest.raises(ProgrammingError, match="literal"):
            text_of(template((1, "", "")), wire, with_params)


def test_percent_signs_are_doubled_only_where_they_count() -> None:
    wire: Any = PostgresWire()
    piece = SQL("select {}").format(Literal("5%"))
    assert statement_of(piece, wire, None) == ("select '5%'", None)
    assert statement_of(piece, wire, [])[0] == "select '5%%'"
    assert statement_of(piece + SQL(", $1"), wire, [1])[0] == "select '5%', $1"
    assert text_of(piece, wire, True) == "select '5%%'"
    assert text_of(piece, wire) == "select '5%'"
