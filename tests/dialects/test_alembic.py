"""Alembic: the migration that autogenerate writes makes what the metadata says, and its other half takes it back."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations, ops
from sqlalchemy.dialects import mysql, postgresql

from .conftest import Engines

NAMES = ("migrated_authors", "migrated_books")
MORE: dict[str, dict[str, Any]] = {
    "postgresql": {"words": postgresql.ARRAY(sa.String), "sold": postgresql.INT4RANGE, "key": sa.Uuid},
}
"""Columns that a dialect has alone, by name."""
COMPARES_DEFAULTS = {"postgresql": True, "mariadb": False, "informix": True, "cubrid": True}
"""On MariaDB Alembic takes the server's spelling of a default for another one, whatever the driver."""


def metadata(dialect: str) -> sa.MetaData:
    """Two tables with columns of many types, keys, indexes, a constraint and defaults of the server."""
    made = sa.MetaData()
    authors, books = NAMES
    sa.Table(
        authors,
        made,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(40), nullable=False, index=True),
        sa.Column("kind", sa.Enum("person", "firm", name="migrated_kind"), nullable=False),
        sa.Column("born", sa.Date),
        sa.Column("seen", sa.DateTime, server_default=sa.func.now(), nullable=False),
        sa.Column("is_known", sa.Boolean, nullable=False),
        sa.Column("portrait", sa.LargeBinary),
        sa.Column("more", sa.JSON),
    )
    sa.Table(
        books,
        made,
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("author_id", sa.ForeignKey(f"{authors}.id", ondelete="CASCADE"), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("price", sa.Numeric(10, 2), server_default="0"),
        sa.Column("weight", sa.Double),
        sa.Column("pages", sa.SmallInteger),
        sa.UniqueConstraint("pages", "price", name="migrated_prices"),
    )
    for name, kind in MORE.get(dialect, {}).items():
        made.tables[books].append_column(sa.Column(name, kind))
    return made


def context(connection: sa.Connection) -> MigrationContext:
    """What compares the database with metadata, looking at the tables of this test only."""

    def is_ours(name: str | None, kind: str, parents: Any) -> bool:
        return kind != "table" or name in NAMES

    defaults = COMPARES_DEFAULTS[connection.dialect.name]
    options = {"compare_type": True, "compare_server_default": defaults, "include_name": is_ours}
    return MigrationContext.configure(connection, opts=options)


def execute(connection: sa.Connection, half: ops.OpContainer) -> None:
    """Executes half of a migration, as the Python text that goes into its file."""
    of_this = context(connection)
    prefixes = {"sqlalchemy_module_prefix": "sa.", "alembic_module_prefix": "op."}
    lines = render_python_code(half, **prefixes, migration_context=of_this).splitlines()
    names = {"sa": sa, "postgresql": postgresql, "mysql": mysql, "String": sa.String, "Text": sa.Text}
    exec("\n".join(line.removeprefix("    ") for line in lines), {"op": Operations(of_this), **names})


def test_autogenerate_round_trip(every_engines: Engines) -> None:
    wanted, back = metadata(every_engines.engine.dialect.name), list[ops.DowngradeOps]()

    def migrated(connection: sa.Connection) -> None:
        script = produce_migrations(context(connection), wanted)
        assert script.upgrade_ops is not None
        assert script.downgrade_ops is not None
        back.append(script.downgrade_ops)
        execute(connection, script.upgrade_ops)
        assert set(NAMES) <= set(sa.inspect(connection).get_table_names())

    def changed(connection: sa.Connection) -> Any:
        return compare_metadata(context(connection), wanted)

    def taken_back(connection: sa.Connection) -> None:
        execute(connection, back.pop())
        assert not set(NAMES) & set(sa.inspect(connection).get_table_names())
        # Autogenerate does not see types.
        sa.Enum(name="migrated_kind").drop(connection)

    every_engines.connected(migrated)
    try:
        assert every_engines.connected(changed) == []
        # A difference is seen.
        books = wanted.tables[NAMES[1]]
        books.append_column(sa.Column("isbn", sa.String(13)))
        ((what, _, table, column),) = every_engines.connected(changed)
        assert (what, table, column.name) == ("add_column", NAMES[1], "isbn")
    finally:
        every_engines.connected(taken_back)


def test_a_changed_type_is_seen_and_altered(every_engines: Engines) -> None:
    before, after = (metadata(every_engines.engine.dialect.name) for _ in range(2))
    after.tables[NAMES[1]].c.pages.type = sa.Integer()
    every_engines.connected(before.create_all)
    try:

        def alter(connection: sa.Connection) -> Any:
            ((((what, _, table, column, *_),),)) = compare_metadata(context(connection), after)
            assert (what, table, column) == ("modify_type", NAMES[1], "pages")
            script = produce_migrations(context(connection), after)
            assert script.upgrade_ops is not None
            execute(connection, script.upgrade_ops)
            return compare_metadata(context(connection), after)

        assert every_engines.connected(alter) == []
    finally:
        every_engines.connected(before.drop_all)


def test_null_is_allowed_again_and_a_default_is_dropped(every_engines: Engines) -> None:
    books = metadata(every_engines.engine.dialect.name).tables[NAMES[1]]

    def alter(connection: sa.Connection) -> Any:
        sa.Table(
            books.name,
            sa.MetaData(),
            sa.Column("id", sa.BigInteger, primary_key=True),
            sa.Column("pages", sa.Integer, nullable=False, server_default="5"),
            sa.Column("price", sa.Integer, server_default="6"),
            sa.Column("title", sa.String(20), nullable=False),
        ).create(connection)
        op = Operations(context(connection))
        known = {"existing_type": sa.Integer()}
        op.alter_column(books.name, "pages", server_default=None, existing_nullable=False, **known)
        op.alter_column(books.name, "price", server_default=None, existing_nullable=True, **known)
        op.alter_column(books.name, "title", nullable=True, existing_nullable=False, existing_type=sa.String(20))
        return [(one["nullable"], one["default"]) for one in sa.inspect(connection).get_columns(books.name)[1:]]

    def dropped(connection: sa.Connection) -> None:
        books.drop(connection, checkfirst=True)

    try:
        assert every_engines.connected(alter) == [(False, None), (True, None), (True, None)]
    finally:
        every_engines.connected(dropped)
