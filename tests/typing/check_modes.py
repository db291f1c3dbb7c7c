"""Read by type checkers only: modes are words, of which a wrong one is an error; requests know what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace import ConnectionPool, cubrid, informix, mysql, postgres

if TYPE_CHECKING:
    from typing_extensions import assert_type

    from headrace._native import CubridWire, InformixWire, MySqlWire, PostgresWire, Result

    # A comment that ignores nothing is an error, too: mypy's warn_unused_ignores.

    def right(
        pg: postgres.Connection[Any],
        my: mysql.Connection[Any],
        ifx: informix.Connection[Any],
        cub: cubrid.Connection[Any],
    ) -> None:
        for conn in (pg, my, ifx, cub):
            conn.reset("discard")
            conn.cursor().scroll(1, "absolute")
            with conn.transaction(isolation="serializable", read_only=True):
                pass
        pg.isolation_level = my.isolation_level = "read uncommitted"
        ifx.isolation_level = "cursor stability"
        cub.isolation_level = "read committed"
        pg.copy_in("t", b"", format="csv")
        my.load_rows("t", [], duplicates="replace")
        ifx.create_lob("clob")
        cub.create_lob("clob")
        ConnectionPool("", reset="discard")

    def wrong(
        pg: postgres.Connection[Any],
        my: mysql.Connection[Any],
        ifx: informix.Connection[Any],
        cub: cubrid.Connection[Any],
    ) -> None:
        pg.reset("all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        my.reset("all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ifx.reset("all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        cub.reset("all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pg.cursor().scroll(1, "last")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pg.transaction(isolation="snapshot")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        my.transaction(isolation="snapshot")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pg.isolation_level = "snapshot"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        my.isolation_level = "snapshot"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        ifx.isolation_level = "snapshot"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        cub.isolation_level = "dirty read"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        pg.copy_in("t", b"", format="json")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        my.load_rows("t", [], duplicates="keep")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ifx.create_lob("nclob")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        cub.create_lob("nclob")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ConnectionPool("", reset="all")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType,reportCallIssue]

    def requests(pg: PostgresWire, my: MySqlWire, ifx: InformixWire, cub: CubridWire) -> None:
        executed = pg.wait(pg.execute("select"))
        assert_type(executed, Result)
        script = pg.wait(pg.script("select"))
        assert_type(script, list[Result])
        called = my.wait(my.execute("call f()"))
        assert_type(called, Result | list[Result])
        query = my.wait(my.query("select"))
        assert_type(query, list[Result])
        declared = ifx.wait(ifx.declare(1, "select"))
        assert_type(declared, Result)
        plan = cub.wait(cub.plan("select"))
        assert_type(plan, Result)
