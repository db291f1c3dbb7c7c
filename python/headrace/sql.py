"""SQL that is composed: identifiers, literals and pieces of statements, written as each database writes them.

Values belong into parameters. What no parameter can stand for, the name of a table or column, a value in a statement
that takes none (DDL, ``SET``, ``CREATE USER ... PASSWORD``), is composed here instead of formatted into text, so that
nothing that a name or value contains can become SQL::

    query = SQL("SELECT {columns} FROM {table} WHERE {key} = %s").format(
        columns=SQL(", ").join(map(Identifier, columns)), table=Identifier("app", "orders"), key=Identifier(key)
    )
    rows = conn.fetch(query, 42)

Wherever a method takes a statement it takes one of these, and is what makes text of it, for its own database. On Python
3.14 and newer it takes a t-string (PEP 750) as well, in which ``{value}`` is a parameter::

    conn.fetch(t"SELECT * FROM {table:i} WHERE id = {key}")

with the format ``i`` for an identifier, ``l`` for a literal, and ``q`` for a piece of SQL: an object of this module or
another t-string.
"""

from __future__ import annotations

import string
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

from ._shared.arguments import checked_text
from ._shared.databases import DATABASES, DatabaseRow
from .errors import ProgrammingError

if TYPE_CHECKING:
    from typing_extensions import LiteralString

    from ._native import Wire
    from ._shared.names import NameLength

    if sys.version_info >= (3, 14):
        from string.templatelib import Template
    else:

        class Template:
            """What Python before 3.14 does not have."""


__all__ = [
    "DEFAULT",
    "NULL",
    "SQL",
    "Composable",
    "Composed",
    "Identifier",
    "Literal",
    "Placeholder",
    "Statement",
    "as_string",
    "quote",
]


class Composable(ABC):
    """A piece of SQL. Pieces are immutable; they are compared by what they consist of, joined by ``+`` and repeated by
    ``*``."""

    __slots__ = ("_content",)
    _content: Any

    @abstractmethod
    def _write(self, wire: Wire, percent: str) -> str:
        """The text for a database, in which a percent sign that is none of a placeholder is written as ``percent``."""

    def as_string(self, connection: Any) -> str:
        """The text as it is sent.

        Args:
            connection: a connection or cursor of any database, blocking or asyncio: identifiers and literals are
                written as its database and its session take them, by its dumpers.

        Raises:
            ProgrammingError: a value has no literal in this database, or a name no identifier.
            DataError: a value is outside of the database's types.
        """
        return self._write(_wire_of(connection), "%")

    def __add__(self, other: Composable) -> Composed:
        if not isinstance(other, Composable):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return Composed([*_pieces(self), *_pieces(other)])

    def __mul__(self, times: int) -> Composed:
        return Composed([self] * times)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composable) or type(self) is not type(other):
            return NotImplemented
        return bool(self._content == other._content)

    def __hash__(self) -> int:
        return hash((type(self), self._content))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._content!r})"


class SQL(Composable):
    """A text of SQL that the program has written itself; never one that came from outside.

    ``{}``, ``{0}`` and ``{name}`` in it are places for :meth:`format`, ``{{`` and ``}}`` are braces then. Placeholders
    of parameters are written as in every statement.
    """

    __slots__ = ()
    _content: str

    def __init__(self, text: LiteralString) -> None:
        """
        Args:
            text: the text.
        """
        self._content = checked_text(text, "SQL")

    def format(self, *args: Any, **named: Any) -> Composed:
        """The text with pieces in its places.

        Args:
            args: what is in the places ``{}`` or ``{0}``; what is no piece of SQL becomes a :class:`Literal`.
            named: what is in the places ``{name}``.

        Raises:
            ProgrammingError: a place has no piece, a piece no place, or a place has a format or a conversion.
        """
        pieces: list[Composable] = []
        used: set[int | str] = set()
        automatic, numbered = 0, False
        try:
            parsed = list(string.Formatter().parse(self._content))
        except ValueError as error:
            raise ProgrammingError(
                f"the places of {self!r} cannot be read: {error}; a brace is written twice"
            ) from None
        for text, field, spec, conversion in parsed:
            if text:
                pieces.append(SQL(text))  # pyright: ignore[reportArgumentType]
            if field is None:
                continue
            if spec or conversion:
                raise ProgrammingError(f"a place of SQL has neither a format nor a conversion: {{{field}}}")
            key: int | str = int(field) if field.isdecimal() else field
            if field == "":
                key, automatic = automatic, automatic + 1
            elif isinstance(key, int):
                numbered = True
            if numbered and automatic:
                raise ProgrammingError("places with a number and without one cannot be mixed")
            try:
                piece = args[key] if isinstance(key, int) else named[key]
            except (IndexError, KeyError):
                raise ProgrammingError(f"no piece was given for the place {{{field}}}") from None
            used.add(key)
            pieces.append(piece if isinstance(piece, Composable) else Literal(piece))
        if unused := [*(i for i in range(len(args)) if i not in used), *(name for name in named if name not in used)]:
            raise ProgrammingError(f"the text has no place for what was given as {unused[0]}")
        return Composed(pieces)

    @overload
    def join(self, pieces: Iterable[Composable]) -> Composed: ...

    @overload
    def join(self, pieces: Iterable[Template]) -> Template: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def join(self, pieces: Iterable[Any]) -> Composed: ...

    def join(self, pieces: Iterable[Any]) -> Any:
        """Pieces with the text between them.

        Args:
            pieces: what is no piece of SQL becomes a :class:`Literal`. Or t-strings, all of them.

        Returns:
            Composed: or of t-strings a t-string, which has their parameters.

        Raises:
            TypeError: t-strings are among others.
        """
        given = list(pieces)
        if given and all(map(_is_template, given)):
            parts = [part for template in given for part in (self._content, *template)]
            return type(given[0])(*parts[1:])
        joined: list[Composable] = []
        for piece in given:
            if joined:
                joined.append(self)
            joined.append(piece if isinstance(piece, Composable) else Literal(piece))
        return Composed(joined)

    def _write(self, wire: Wire, percent: str) -> str:
        return self._content


class Composed(Composable):
    """Several pieces, one after the other."""

    __slots__ = ()
    _content: tuple[Composable, ...]

    def __init__(self, pieces: Iterable[Any]) -> None:
        """
        Args:
            pieces: what is no piece of SQL becomes a :class:`Literal`.
        """
        self._content = tuple(piece if isinstance(piece, Composable) else Literal(piece) for piece in pieces)

    def join(self, separator: SQL | LiteralString) -> Composed:
        """The pieces with a text between them.

        Args:
            separator: the text, as SQL or as it is.
        """
        return (separator if isinstance(separator, SQL) else SQL(separator)).join(self._content)

    def __iter__(self) -> Iterator[Composable]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return f"Composed({list(self._content)!r})"

    def _write(self, wire: Wire, percent: str) -> str:
        return "".join(piece._write(wire, percent) for piece in self._content)


class Identifier(Composable):
    """A name of a table, a column or the like, in the quotes of the database; several are the parts of one name, such
    as a schema and a table.

    On Informix a name that is a word is written without quotes, which enclose text there, and any other needs
    ``DELIMIDENT=y`` among the settings of the connection.
    """

    __slots__ = ()
    _content: tuple[str, ...]

    def __init__(self, *parts: str) -> None:
        """
        Args:
            parts: the name, or its parts.

        Raises:
            TypeError: there is none, or one is no str.
        """
        if not parts:
            raise TypeError("an identifier has at least one part")
        self._content = tuple(checked_text(part, "a part of an identifier") for part in parts)

    def __repr__(self) -> str:
        return f"Identifier({', '.join(map(repr, self._content))})"

    def _write(self, wire: Wire, percent: str) -> str:
        length = _length_of(wire)
        for part in self._content:
            length.check(part)
        return ".".join(map(wire.quote, self._content)).replace("%", percent)


class Literal(Composable):
    """A value as a literal: the server reads it as the value, as it would read a parameter. It is of the type that the
    value has by itself where the database has a literal of it."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        """
        Args:
            value: any value that can be a parameter.

        Raises:
            TypeError: it is a piece of SQL, or a t-string.
        """
        if isinstance(value, Composable):
            raise TypeError(f"{value!r} is a piece of SQL, and no value that a literal is made of")
        if _is_template(value):
            raise TypeError(
                "a t-string is a piece of SQL, and no value: SQL().join() takes t-strings if all are, and in another "
                "t-string {part:q} is one's place"
            )
        self._content = value

    def __hash__(self) -> int:
        try:
            return hash((Literal, self._content))
        except TypeError:
            return hash(Literal)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal, and their literals are not.
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self._content) is type(other._content) and bool(self._content == other._content)

    def _write(self, wire: Wire, percent: str) -> str:
        return wire.literal(self._content).replace("%", percent)


class Placeholder(Composable):
    """The place of a parameter: ``%s``, or ``%(name)s``; on Informix and CUBRID ``?``."""

    __slots__ = ()
    _content: str | None

    def __init__(self, name: str | None = None) -> None:
        """
        Args:
            name: its name, if parameters are given as a mapping.

        Raises:
            ProgrammingError: the name has a closing parenthesis.
        """
        if name is not None and ")" in checked_text(name, "a parameter's name"):
            raise ProgrammingError("the name of a parameter has no closing parenthesis")
        self._content = name

    def __repr__(self) -> str:
        return "Placeholder()" if self._content is None else f"Placeholder({self._content!r})"

    def _write(self, wire: Wire, percent: str) -> str:
        if self._content is None:
            return _mark_of(wire)
        if not _row_of(wire).takes_format:
            raise ProgrammingError("the parameters of this database have no names: Placeholder() is its ?")
        return f"%({self._content})s"


_ROWS: Final = {row.wire: row for row in DATABASES}

NULL: Final = SQL("NULL")
DEFAULT: Final = SQL("DEFAULT")

Statement: TypeAlias = "str | Composable | Template"
"""What is executed: text, an object of this module, or on Python 3.14 and newer a t-string."""


def quote(value: Any, connection: Any) -> str:
    """A value as a literal.

    Args:
        value: any value that can be a parameter.
        connection: a connection or cursor: see :meth:`Composable.as_string`.

    Raises:
        ProgrammingError: the value has no literal in this database.
        DataError: it is outside of the database's types.
    """
    return Literal(value).as_string(connection)


def as_string(statement: Statement, connection: Any) -> str:
    """A statement as one text without parameters, those of a t-string being literals in it.

    Args:
        statement: a t-string, a piece of SQL, or text, which is as it is.
        connection: a connection or cursor: see :meth:`Composable.as_string`.

    Raises:
        ProgrammingError: a value has no literal in this database, or a name no identifier.
        DataError: a value is outside of the database's types.
    """
    if isinstance(statement, Composable):
        return statement.as_string(connection)
    return _template(statement, _wire_of(connection), None, "%") if _is_template(statement) else str(statement)


def _pieces(piece: Composable) -> Sequence[Composable]:
    return piece._content if isinstance(piece, Composed) else (piece,)


def _wire_of(connection: Any) -> Wire:
    wire = getattr(getattr(connection, "_core", None), "wire", None)
    if wire is None:
        raise TypeError(f"a connection or a cursor is needed, not {type(connection).__name__}")
    return wire  # type: ignore[no-any-return]


def _length_of(wire: Wire) -> NameLength:
    """How long the names of its database may be. A program has one database, whose module is imported already."""
    module = import_module(f"headrace.{_row_of(wire).module}.names")
    return module.NAMES  # type: ignore[no-any-return]


def _row_of(wire: Wire) -> DatabaseRow:
    return _ROWS[type(wire).__name__]


def _mark_of(wire: Wire) -> str:
    return "%s" if _row_of(wire).takes_format else "?"


# What follows is called by the extension, and where a statement is put into another.


def is_composed(statement: object) -> bool:
    """Returns true for what is a statement and no text."""
    return isinstance(statement, Composable) or _is_template(statement)


def text_of(statement: Any, wire: Wire, with_params: bool = False) -> str:
    """The text of what is composed, and has no parameters of its own.

    Raises ProgrammingError for a t-string with parameters.
    """
    if isinstance(statement, Composable):
        return _text(statement, wire, with_params)
    text, params = statement_of(statement, wire, None)
    if params is not None or with_params:
        raise ProgrammingError(
            "a t-string has its parameters in it, and here a statement has none, or takes them from elsewhere: "
            "{value:l} is a literal"
        )
    return text


def statement_of(statement: Any, wire: Wire, params: Any) -> tuple[str, Any]:
    """The text of what is composed, and its parameters.

    Raises ProgrammingError for a t-string beside parameters.
    """
    if isinstance(statement, Composable):
        return _text(statement, wire, params is not None), params
    if params is not None:
        raise ProgrammingError("a t-string has its parameters in it: no others are given beside it")
    values: list[Any] = []
    text = _template(statement, wire, values, "%%" if _row_of(wire).takes_format else "%")
    return (text, values) if values else (_template(statement, wire, values, "%"), None)


def _text(statement: Composable, wire: Wire, with_params: bool) -> str:
    text = statement._write(wire, "%")
    if with_params and (doubled := statement._write(wire, "%%")) != text and wire.convert(doubled, True).hinted:
        # Beside parameters of the server's own style a percent sign is one as it is.
        return doubled
    return text


def _is_template(statement: object) -> bool:
    """Returns true for a t-string, whose class Python before 3.14 does not have."""
    return type(statement).__name__ == "Template" and type(statement).__module__ == "string.templatelib"


def _template(template: Any, wire: Wire, values: list[Any] | None, percent: str) -> str:
    """The text of a t-string, whose parameters are appended to ``values``, or are literals if that is None."""
    parts: list[str] = []
    for part in template:
        if isinstance(part, str):
            parts.append(part.replace("%", percent))
        else:
            parts.append(_interpolated(part, wire, values, percent))
    return "".join(parts)


def _interpolated(part: Any, wire: Wire, values: list[Any] | None, percent: str) -> str:
    value, spec, place = part.value, part.format_spec, part.expression
    if part.conversion is not None:
        # In an f-string !r has often made the quotes: here it would be another value.
        raise ProgrammingError(f"{{{place}!{part.conversion}}} has a conversion, and a value goes as it is")
    match spec:
        case "" | "s" | "b" | "t":
            if is_composed(value):
                raise ProgrammingError(f"{{{place}}} is a piece of SQL, and no parameter: write {{{place}:q}}")
            if values is None:
                return Literal(value)._write(wire, percent)
            values.append(value)
            return _mark_of(wire)
        case "i":
            name = value if isinstance(value, Identifier) else Identifier(value)
            return name._write(wire, percent)
        case "l":
            literal = value if isinstance(value, Literal) else Literal(value)
            return literal._write(wire, percent)
        case "q":
            if isinstance(value, Composable):
                return value._write(wire, percent)
            if _is_template(value):
                return _template(value, wire, values, percent)
            raise TypeError(f"{{{place}:q}} is an object of headrace.sql or a t-string, not {type(value).__name__}")
        case _:
            raise ProgrammingError(f"{{{place}:{spec}}} has none of the formats i (identifier), l (literal), q (SQL)")
