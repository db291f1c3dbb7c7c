"""What share of the statements of an ORM's session the servers prepare: the figure that the documentation states."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

import headrace.mysql
from headrace.testing import MysqldServer

from .own import on_mysqld

PAGE = Path(__file__).parents[2] / "docs/reference/mysql-types.md"


class Base(orm.DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "orm_authors"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(80))
    born: orm.Mapped[dt.date | None]
    books: orm.Mapped[list[Book]] = orm.relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "orm_books"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    title: orm.Mapped[str] = orm.mapped_column(sa.String(80))
    price: orm.Mapped[float] = orm.mapped_column(sa.Numeric(8, 2))
    sold: orm.Mapped[int] = orm.mapped_column(default=0)
    made: orm.Mapped[dt.datetime] = orm.mapped_column(default=lambda: dt.datetime(2024, 2, 29, 13, 14, 15))
    author_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("orm_authors.id"))
    author: orm.Mapped[Author | None] = orm.relationship(back_populates="books")


def use(session: orm.Session) -> None:
    """What applications do with a session."""
    # Create.
    ada, bob = Author(name="Ada", born=dt.date(1815, 12, 10)), Author(name="Bob")
    ada.books = [Book(title=f"Book {n}", price=n) for n in range(5)]
    session.add_all([ada, bob])
    session.commit()
    session.add(Book(title="Another", price=9.5, author_id=bob.id))
    session.flush()
    # Read: by key, by columns, in pages, with relations in each way to load them.
    session.expire_all()
    assert session.get(Author, ada.id) is ada
    assert len(ada.books) == 5
    books, authors = sa.select(Book), sa.select(Author)
    for query in (
        books.where(Book.id == 1),
        books.where(Book.title == "Book 1", Book.sold < 10).order_by(Book.id).limit(5),
        books.where(Book.id.in_([1, 2, 3])).offset(1).limit(2),
        books.where(Book.title.like("Book%"), Book.price.between(1, 3)),
        books.where(Book.made >= dt.datetime(2024, 1, 1), Book.title != "x").order_by(Book.made.desc()),
        books.where(sa.or_(Book.title == "a", sa.and_(Book.price > 2, Book.author_id.is_(None)))),
        books.join(Book.author).where(Author.name == "Ada"),
        books.where(Book.author.has(Author.name == "Ada")),
        authors.where(Author.books.any(Book.title == "Book 1")),
        authors.where(Author.id.in_(sa.select(Book.author_id).where(Book.price > 1))),
        authors.options(orm.joinedload(Author.books)).where(Author.id == ada.id),
        authors.options(orm.selectinload(Author.books)).where(Author.name == "Ada"),
        authors.options(orm.subqueryload(Author.books)).where(Author.name == "Ada"),
        books.with_for_update().where(Book.id == 2),
    ):
        session.execute(query).unique().all()
    session.scalar(sa.select(sa.func.count()).select_from(Book).where(Book.author_id == ada.id))
    session.scalar(sa.select(sa.func.count()).select_from(books.where(Book.sold == 0).subquery()))
    session.scalar(sa.select(sa.func.max(Book.price)).where(Book.author_id == ada.id))
    session.execute(
        sa.select(Book.author_id, sa.func.sum(Book.sold)).where(Book.price > 0).group_by(Book.author_id)
    ).all()
    # Expressions with values in them.
    session.execute(books.where(sa.func.lower(Book.title) == "another")).all()
    session.execute(books.where(Book.title.contains("ook"))).all()
    session.execute(sa.select(sa.func.coalesce(Author.born, dt.date(2000, 1, 1)))).all()
    session.execute(
        sa.select(Book.author_id, sa.func.count()).group_by(Book.author_id).having(sa.func.count() > 1)
    ).all()
    # Update and delete.
    ada.name, ada.books[0].sold = "Ada L.", 5
    session.flush()
    for book in ada.books:
        book.price = 2
    session.flush()
    session.execute(sa.update(Book).where(Book.title == "Book 2").values(sold=7))
    session.execute(sa.update(Book).where(Book.id == 1).values(sold=Book.sold + 1))
    session.execute(sa.delete(Book).where(Book.title == "Another"))
    session.delete(ada.books[1])
    session.commit()
    session.delete(ada)
    session.commit()


def statements(url: str) -> Iterator[tuple[str, Any]]:
    """The different statements with parameters of that, and the parameters of each."""
    engine = sa.create_engine(url)
    seen: dict[str, Any] = {}

    def note(conn: Any, cursor: Any, statement: str, params: Any, context: Any, many: bool) -> None:
        if params:
            seen.setdefault(statement, params[0] if isinstance(params[0], tuple) else params)

    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    sa.event.listen(engine, "before_cursor_execute", note)
    with orm.Session(engine) as session:
        use(session)
    sa.event.remove(engine, "before_cursor_execute", note)
    engine.dispose()
    yield from seen.items()


def is_prepared(conn: Any, statement: str, params: Any) -> bool:
    """Returns true if the server executes a statement that it has prepared."""

    def count() -> int:
        status = conn.executescript("show session status like 'Com_stmt_execute'").fetchall()
        return int(status[0][1])

    before = count()
    conn.execute(statement, params)
    return count() > before


@pytest.mark.parametrize("database", ["mariadb", "mysql"])
def test_what_share_is_prepared_the_documentation_says(request: pytest.FixtureRequest, database: str) -> None:
    server: MysqldServer = request.getfixturevalue(f"{database}_server")
    with on_mysqld(server, "headrace") as url:
        found = dict(statements(url))
        plain = re.sub(r"\+headrace", "", url).partition("?")[0]
        with headrace.mysql.connect(plain) as conn:
            conn.execute("set foreign_key_checks = 0")
            written = [sql for sql, params in found.items() if not is_prepared(conn, sql, params)]
        engine = sa.create_engine(url)
        Base.metadata.drop_all(engine)
        engine.dispose()
    name = {"mariadb": "MariaDB", "mysql": "MySQL"}[database]
    said = f"{name} prepares {len(found) - len(written)} of {len(found)}"
    assert said in " ".join(PAGE.read_text(encoding="utf-8").split()), written
