package headrace;

import static headrace.InteropTest.count;
import static headrace.InteropTest.fails;
import static headrace.InteropTest.fill;
import static headrace.InteropTest.one;
import static headrace.InteropTest.run;
import static headrace.InteropTest.same;

import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Cursors, transactions and locks of one or two sessions, errors in the middle of batches, routines, the catalog. */
final class Sessions {
    private Sessions() {
    }

    static void register(Map<String, InteropTest.Case> cases) {
        cases.put("hold_cursor", Sessions::holdCursor);
        cases.put("delete_current", Sessions::deleteCurrent);
        cases.put("scroll_orientations", Sessions::scrollOrientations);
        cases.put("cursor_beside_changes", Sessions::cursorBesideChanges);
        cases.put("locks", Sessions::locks);
        cases.put("isolation", Sessions::isolation);
        cases.put("batch_errors", Sessions::batchErrors);
        cases.put("keys", Sessions::keys);
        cases.put("routines", Sessions::routines);
        cases.put("catalog", Sessions::catalog);
        cases.put("query_timeout", Sessions::queryTimeout);
        cases.put("refused_logins", Sessions::refusedLogins);
        cases.put("sql", Sessions::sql);
    }

    private static void holdCursor(Connection connection) throws Exception {
        fill(connection, "j_hold", 2000);
        connection.setAutoCommit(false);
        try (PreparedStatement select = connection.prepareStatement("select a from j_hold order by a",
                ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT);
                ResultSet rows = select.executeQuery()) {
            for (int n = 1; n <= 2000; n++) {
                same(true, rows.next());
                same(n, rows.getInt(1));
                if (n % 500 == 0) {
                    run(connection, "insert into j_hold values (" + (n + 10_000) + ", 'new')");
                    connection.commit();
                }
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
        same(2004L, count(connection, "j_hold"));
    }

    private static void deleteCurrent(Connection connection) throws Exception {
        fill(connection, "j_remove", 6);
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement();
                PreparedStatement remove = connection.prepareStatement("select 1 from j_remove")) {
            remove.close();
            statement.setCursorName("j_walk");
            try (ResultSet rows = statement.executeQuery("select a from j_remove for update")) {
                PreparedStatement change = null;
                while (rows.next()) {
                    if (change == null) {
                        // Prepared once: it means the row that the cursor is on when it runs.
                        change = connection.prepareStatement("delete from j_remove where current of j_walk");
                    }
                    if (rows.getInt(1) % 2 == 0) {
                        same(1, change.executeUpdate());
                    }
                }
                change.close();
            }
        }
        connection.commit();
        same(3L, count(connection, "j_remove"));
        same(9L, ((Number) one(connection, "select sum(a) from j_remove")).longValue());
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void scrollOrientations(Connection connection) throws Exception {
        fill(connection, "j_orient", 1000);
        try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
                ResultSet rows = statement.executeQuery("select a, b from j_orient order by a")) {
            rows.afterLast();
            for (int n = 1000; n > 990; n--) {
                same(true, rows.previous());
                same(n, rows.getInt(1));
            }
            same(true, rows.absolute(-1));
            same(1000, rows.getInt(1));
            same(true, rows.isLast());
            same(true, rows.absolute(500));
            same(true, rows.relative(100));
            same("row 600", rows.getString(2));
            same(true, rows.relative(-599));
            same(true, rows.isFirst());
            same(false, rows.previous());
            same(true, rows.isBeforeFirst());
            same(true, rows.next());
            same(1, rows.getInt(1));
            same(false, rows.absolute(5000));
            same(true, rows.isAfterLast());
        }
    }

    private static void cursorBesideChanges(Connection connection) throws Exception {
        fill(connection, "j_beside", 3000);
        try (Connection other = DriverManager.getConnection(InteropTest.url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select a from j_beside order by a")) {
            same(true, rows.next());
            run(other, "update j_beside set b = 'other' where a = 2999");
            run(connection, "update j_beside set b = 'own' where a = 3000");
            int seen = 1;
            while (rows.next()) {
                seen++;
            }
            same(3000, seen);
            same("own", one(connection, "select b from j_beside where a = 3000"));
            same("other", one(connection, "select b from j_beside where a = 2999"));
        }
    }

    private static void locks(Connection connection) throws Exception {
        fill(connection, "j_lock", 5);
        connection.setAutoCommit(false);
        run(connection, "update j_lock set b = 'mine' where a = 1");
        try (Connection other = DriverManager.getConnection(InteropTest.url)) {
            other.setAutoCommit(false);
            for (String mode : new String[] {"not wait", "wait 1"}) {
                run(other, "set lock mode to " + mode);
                long start = System.nanoTime();
                try {
                    run(other, "update j_lock set b = 'yours' where a = 1");
                    throw new AssertionError("no lock");
                } catch (SQLException problem) {
                    same(-244, problem.getErrorCode());
                    same(mode.equals("not wait") ? -107 : -154, ((SQLException) problem.getCause()).getErrorCode());
                }
                long waited = (System.nanoTime() - start) / 1_000_000;
                same(true, mode.equals("not wait") || waited >= 1000);
            }
            other.rollback();
            run(other, "set lock mode to wait");
            Thread release = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    connection.commit();
                } catch (Exception problem) {
                    problem.printStackTrace();
                }
            });
            release.start();
            run(other, "update j_lock set b = 'yours' where a = 1");
            release.join();
            other.commit();
        }
        same("yours", one(connection, "select b from j_lock where a = 1"));
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void isolation(Connection connection) throws Exception {
        fill(connection, "j_iso", 3);
        try (Connection other = DriverManager.getConnection(InteropTest.url)) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            same(3L, count(connection, "j_iso"));
            run(other, "insert into j_iso values (4, 'new')");
            same(4L, count(connection, "j_iso"));
            connection.commit();
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            same(4L, count(connection, "j_iso"));
            run(other, "insert into j_iso values (5, 'new')");
            same(4L, count(connection, "j_iso"));
            connection.commit();
            same(5L, count(connection, "j_iso"));
            connection.commit();
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
            same(5L, count(connection, "j_iso"));
            connection.commit();
            connection.setAutoCommit(true);
        }
        for (String level : new String[] {"dirty read", "committed read", "committed read last committed", "cursor stability",
            "repeatable read"}) {
            run(connection, "set isolation to " + level);
        }
        fails(-201, connection, "set isolation to no read");
    }

    /** A batch whose row fails in the middle: rows before it count, and nothing behind it is done. */
    private static void failingBatch(Connection connection, int code, Object... values) throws Exception {
        run(connection, "delete from j_batches");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_batches values (?, ?, ?)")) {
            for (int n = 0; n < 7; n++) {
                insert.setObject(1, n == 4 ? values[0] : (Object) n);
                insert.setObject(2, n == 4 ? values[1] : (Object) 1);
                insert.setObject(3, n == 4 ? values[2] : "text");
                insert.addBatch();
            }
            try {
                insert.executeBatch();
                throw new AssertionError("no error " + code);
            } catch (BatchUpdateException problem) {
                same(code, problem.getErrorCode());
                same(4, problem.getUpdateCounts().length);
            }
        }
        same(4L, count(connection, "j_batches"));
    }

    private static void batchErrors(Connection connection) throws Exception {
        run(connection, "create table j_father (id int primary key)", "insert into j_father values (1)",
            "create table j_batches (a int not null unique constraint j_once, b int references j_father constraint j_of,"
                + " c varchar(10) check (c <> 'bad') constraint j_good)");
        failingBatch(connection, -268, 2, 1, "text");
        failingBatch(connection, -391, null, 1, "text");
        failingBatch(connection, -691, 50, 99, "text");
        failingBatch(connection, -530, 50, 1, "bad");
        fails(-692, connection, "delete from j_father");
    }

    private static void keys(Connection connection) throws Exception {
        run(connection, "create table j_keys (a int, b int, primary key (a) constraint j_first)",
            "create unique index j_second on j_keys (b)", "insert into j_keys values (1, 1)",
            "insert into j_keys values (2, null)");
        fails(-268, connection, "insert into j_keys values (1, 3)");
        fails(-239, connection, "insert into j_keys values (3, 1)");
        fails(-239, connection, "insert into j_keys values (3, null)");
        fails(-703, connection, "insert into j_keys values (null, 3)");
        fails(-316, connection, "create index j_second on j_keys (a)");
        fails(-371, connection, "create unique index j_third on j_doubles (a)",
            "create table j_doubles (a int)", "insert into j_doubles values (1)", "insert into j_doubles values (1)");
        run(connection, "drop index j_second", "insert into j_keys values (3, 1)");
        run(connection, "alter table j_keys add constraint unique (a, b) constraint j_both",
            "alter table j_keys drop constraint j_both");
        fails(-623, connection, "alter table j_keys drop constraint j_both");
        run(connection, "alter table j_keys add (c varchar(5) default 'x', d date)", "alter table j_keys modify (b varchar(10))");
        same("1", one(connection, "select b from j_keys where a = 1"));
        same("x", one(connection, "select c from j_keys where a = 1"));
    }

    private static void routines(Connection connection) throws Exception {
        run(connection, "create table j_log (a int, b varchar(20))",
            "create procedure j_note(x int, y varchar(20)) insert into j_log values (x, y); "
                + "update j_log set b = y || '!' where a = x; end procedure",
            "create function j_pair(x int) returning int, varchar(10); return x * 2, 'twice'; end function",
            "create procedure j_raise() raise exception -746, 0, 'told so'; end procedure");
        try (CallableStatement call = connection.prepareCall("{call j_note(?, ?)}")) {
            call.setInt(1, 7);
            call.setString(2, "seven");
            call.execute();
        }
        same("seven!", one(connection, "select b from j_log where a = 7"));
        try (CallableStatement call = connection.prepareCall("{call j_pair(?)}")) {
            call.setInt(1, 21);
            try (ResultSet rows = call.executeQuery()) {
                same(true, rows.next());
                same(42, rows.getInt(1));
                same("twice", rows.getString(2).strip());
                same(false, rows.next());
            }
        }
        try {
            run(connection, "execute procedure j_raise()");
            throw new AssertionError("nothing raised");
        } catch (SQLException problem) {
            same(-746, problem.getErrorCode());
            same(true, problem.getMessage().contains("told so"));
        }
        fails(-674, connection, "execute procedure j_nowhere()");
        fails(-673, connection, "create procedure j_raise() raise exception -746; end procedure");
        run(connection, "drop procedure j_raise");
        fails(-674, connection, "execute procedure j_raise()");
    }

    private static List<String> shown(ResultSet rows, int... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            StringBuilder row = new StringBuilder();
            for (int column : columns) {
                row.append(row.isEmpty() ? "" : " ").append(rows.getString(column));
            }
            found.add(row.toString());
        }
        rows.close();
        return found;
    }

    private static void catalog(Connection connection) throws Exception {
        run(connection, "create table j_parent (id serial primary key constraint j_parent_pk, name varchar(20) default 'x')",
            "create table j_child (id int not null, p int references j_parent constraint j_child_fk, v decimal(10,2), "
                + "primary key (id) constraint j_child_pk)",
            "create unique index j_child_ix on j_child (p desc, v)", "create view j_view as select name from j_parent",
            "create synonym j_kid for j_child");
        DatabaseMetaData data = connection.getMetaData();
        same(List.of("j_child TABLE", "j_parent TABLE", "j_kid SYNONYM", "j_view VIEW").stream().sorted().toList(),
            shown(data.getTables(null, null, "j_%", null), 3, 4).stream()
                .filter(row -> row.matches("j_(child|parent|kid|view) .*")).sorted().toList());
        same(List.of("id 4 10 NO", "p 4 10 YES", "v 3 10 YES"), shown(data.getColumns(null, null, "j_child", "%"), 4, 5, 7, 18));
        same(List.of("id", "name 'x'"), shown(data.getColumns(null, null, "j_parent", "%"), 4, 13).stream()
            .map(row -> row.replace(" null", "")).toList());
        same(List.of("id j_child_pk"), shown(data.getPrimaryKeys(null, null, "j_child"), 4, 6));
        same(List.of("j_parent id j_child p"), shown(data.getImportedKeys(null, null, "j_child"), 3, 4, 7, 8));
        same(List.of("j_parent id j_child p"), shown(data.getExportedKeys(null, null, "j_parent"), 3, 4, 7, 8));
        List<String> indexes = shown(data.getIndexInfo(null, null, "j_child", false, false), 6, 8, 9);
        same(true, indexes.containsAll(List.of("j_child_ix 1 p", "j_child_ix 2 v")));
        // The index of a constraint has a name of the server's.
        same(true, indexes.stream().anyMatch(row -> row.matches("\\s*\\d+_\\d+ 1 id")));
        same(true, shown(data.getCatalogs(), 1).containsAll(List.of("sysmaster", "testdb")));
        same(List.of("informix"), shown(data.getSchemas(), 1));
        same("testdb", one(connection, "select name from sysmaster:sysdatabases where name = 'testdb'"));
        same(1, one(connection, "select is_logging from sysmaster:sysdatabases where name = 'testdb'"));
        run(connection, "insert into j_kid values (1, null, 2.5)", "drop synonym j_kid");
        same(1L, count(connection, "j_child"));
        fails(-206, connection, "select * from j_kid");
    }

    private static void queryTimeout(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            long start = System.nanoTime();
            try (ResultSet rows = statement.executeQuery("select ifx_sleep(20) from table(set{1})")) {
                rows.next();
                throw new AssertionError("not ended");
            } catch (SQLException problem) {
                same(true, problem.getErrorCode() == -213 || problem.getErrorCode() == -80505);
            }
            same(true, System.nanoTime() - start < 10_000_000_000L);
        }
        same(1, one(connection, "select 1 from table(set{1})"));
    }

    private static void refused(int code, String url) {
        try (Connection connection = DriverManager.getConnection(url)) {
            throw new AssertionError("not refused: " + code);
        } catch (SQLException problem) {
            same(code, problem.getErrorCode());
        }
    }

    private static void refusedLogins(Connection connection) {
        refused(-951, InteropTest.url.replaceAll("password=[^;]*", "password=wrong"));
        refused(-951, InteropTest.url.replaceAll("user=[^;]*", "user=nobody"));
        refused(-761, InteropTest.url.replaceAll("INFORMIXSERVER=[^;]*", "INFORMIXSERVER=elsewhere"));
        refused(-329, InteropTest.url.replace("/testdb:", "/nowhere:"));
    }

    private static void sql(Connection connection) throws Exception {
        fill(connection, "j_left", 4);
        fill(connection, "j_right", 2);
        same(4L, ((Number) one(connection, "select count(*) from j_left l, outer j_right r where l.a = r.a")).longValue());
        same(2L, ((Number) one(connection, "select count(r.a) from j_left l, outer j_right r where l.a = r.a")).longValue());
        same(4, one(connection, "select a from j_left where a > all (select a from j_right) and a <> 3"));
        same(2L, ((Number) one(connection, "select count(*) from j_left where a = any (select a from j_right)")).longValue());
        same(1, one(connection, "select a from j_right union select a from j_left order by 1"));
        same(6L, ((Number) one(connection, "select count(*) from (select a from j_right union all select a from j_left) as t")).longValue());
        fails(-324, connection, "select a from j_left, j_right");
        fails(-294, connection, "select a, count(*) from j_left");
        fails(-294, connection, "select a, b, count(*) from j_left group by a");
        fails(-317, connection, "select a, b from j_left union select a from j_right");
        fails(-223, connection, "select 1 from j_left, j_left");
        fails(-251, connection, "select a from j_left order by 2");
        fails(-522, connection, "select x.a from j_left");
        run(connection, "select a, b from j_left where a > 2 into temp j_some with no log", "create sequence j_seq start with 5");
        same(2L, count(connection, "j_some"));
        same(5L, ((Number) one(connection, "select j_seq.nextval from table(set{1})")).longValue());
        same(5L, ((Number) one(connection, "select j_seq.currval from table(set{1})")).longValue());
        same(3, one(connection, "with w(x) as (select a from j_left where a = 3) select x from w"));
        run(connection, "update j_left set (a, b) = (40, 'forty') where a = 4", "delete from j_left where b matches 'row [12]'");
        same(2L, count(connection, "j_left"));
    }
}
