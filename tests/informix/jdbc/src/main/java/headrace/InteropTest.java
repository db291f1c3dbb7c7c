package headrace;

import com.informix.jdbc.IfmxStatement;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.BatchUpdateException;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Interop test of the test server with IBM's JDBC driver. Arguments: the URL, then the names of cases, or none for all.
 * Prints "ok NAME" or "FAIL NAME: why" for each case; the exit status is the number of failures. With "copy", a table
 * and another one it moves all rows of the first to the second, value by value.
 */
public final class InteropTest {
    interface Case {
        void run(Connection connection) throws Exception;
    }

    private static final Map<String, Case> CASES = new LinkedHashMap<>();

    static {
        CASES.put("insert_select", InteropTest::insertSelect);
        CASES.put("commit_rollback", InteropTest::commitRollback);
        CASES.put("numbers", InteropTest::numbers);
        CASES.put("texts", InteropTest::texts);
        CASES.put("timestamps", InteropTest::timestamps);
        CASES.put("every_null", InteropTest::everyNull);
        CASES.put("simple_lobs", InteropTest::simpleLobs);
        CASES.put("smart_lobs", InteropTest::smartLobs);
        CASES.put("scroll", InteropTest::scroll);
        CASES.put("many_rows", InteropTest::manyRows);
        CASES.put("interleaved_cursors", InteropTest::interleaved);
        CASES.put("batch", InteropTest::batch);
        CASES.put("batch_error", InteropTest::batchError);
        CASES.put("statement_batch", InteropTest::statementBatch);
        CASES.put("serials", InteropTest::serials);
        CASES.put("savepoints", InteropTest::savepoints);
        CASES.put("errors", InteropTest::errors);
        CASES.put("first_skip", InteropTest::firstSkip);
        CASES.put("expressions", InteropTest::expressions);
        CASES.put("update_cursor", InteropTest::updateCursor);
        CASES.put("is_valid", InteropTest::isValid);
        CASES.put("cancel", InteropTest::cancel);
        CASES.put("metadata", InteropTest::metadata);
        CASES.put("routine", InteropTest::routine);
        Forms.register(CASES);
        Sessions.register(CASES);
        Ways.register(CASES);
    }

    static String url;

    private InteropTest() {
    }

    public static void main(String[] arguments) throws Exception {
        url = arguments[0];
        if (arguments.length == 4 && arguments[1].equals("copy")) {
            try (Connection connection = DriverManager.getConnection(url)) {
                System.out.println("ok copy: " + Forms.copy(connection, arguments[2], arguments[3]));
            }
            return;
        }
        int failures = 0;
        for (Map.Entry<String, Case> entry : CASES.entrySet()) {
            if (arguments.length > 1 && !Arrays.asList(arguments).contains(entry.getKey())) {
                continue;
            }
            try (Connection connection = DriverManager.getConnection(arguments[0])) {
                entry.getValue().run(connection);
                System.out.println("ok " + entry.getKey());
            } catch (Throwable problem) {
                failures++;
                String code = problem instanceof SQLException e ? " [" + e.getErrorCode() + "]" : "";
                System.out.println("FAIL " + entry.getKey() + ": " + problem + code);
                if (System.getenv("JUDGE_TRACE") != null) {
                    problem.printStackTrace();
                }
            }
        }
        System.exit(Math.min(failures, 100));
    }

    static void same(Object expected, Object found) {
        boolean equal = expected instanceof BigDecimal a && found instanceof BigDecimal b
            ? a.compareTo(b) == 0
            : expected instanceof byte[] a && found instanceof byte[] b ? Arrays.equals(a, b)
            : Objects.equals(expected, found);
        if (!equal) {
            throw new AssertionError("expected <" + expected + ">, found <" + found + ">");
        }
    }

    static void run(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.executeUpdate(sql);
            }
        }
    }

    static Object one(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            if (!rows.next()) {
                throw new AssertionError("no row: " + sql);
            }
            return rows.getObject(1);
        }
    }

    static long count(Connection connection, String table) throws SQLException {
        return ((Number) one(connection, "select count(*) from " + table)).longValue();
    }

    /** Expects an error of a statement, after others that prepare for it. */
    static void fails(int code, Connection connection, String sql, String... before) {
        try {
            run(connection, before);
        } catch (SQLException problem) {
            throw new AssertionError("before " + sql, problem);
        }
        try {
            run(connection, sql);
        } catch (SQLException problem) {
            same(code, problem.getErrorCode());
            return;
        }
        throw new AssertionError("no error from " + sql);
    }

    private static void insertSelect(Connection connection) throws Exception {
        run(connection, "create table j_basic (a int, b varchar(20), c decimal(10,2))");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_basic values (?, ?, ?)")) {
            for (int i = 0; i < 5; i++) {
                insert.setInt(1, i);
                insert.setString(2, i == 3 ? null : "row " + i);
                insert.setBigDecimal(3, new BigDecimal("-12.34").add(new BigDecimal(i)));
                same(1, insert.executeUpdate());
            }
        }
        try (PreparedStatement select = connection.prepareStatement("select * from j_basic where a >= ? order by a")) {
            for (int from : new int[] {2, 4}) {
                select.setInt(1, from);
                try (ResultSet rows = select.executeQuery()) {
                    int i = from;
                    while (rows.next()) {
                        same(i, rows.getInt("a"));
                        same(i == 3 ? null : "row " + i, rows.getString(2));
                        same(new BigDecimal("-12.34").add(new BigDecimal(i)), rows.getBigDecimal(3));
                        i++;
                    }
                    same(5, i);
                }
            }
        }
        run(connection, "update j_basic set b = 'x' where a > 2", "delete from j_basic where a = 0");
        same(4L, count(connection, "j_basic"));
    }

    private static void commitRollback(Connection connection) throws Exception {
        run(connection, "create table j_tx (a int)");
        connection.setAutoCommit(false);
        run(connection, "insert into j_tx values (1)");
        connection.commit();
        run(connection, "insert into j_tx values (2)");
        connection.rollback();
        same(1L, count(connection, "j_tx"));
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void numbers(Connection connection) throws Exception {
        run(connection, "create table j_num (a smallint, b int, c bigint, d int8, e float, f smallfloat, "
            + "g decimal(32,10), h decimal(16), i money(16,2), j boolean)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_num values (?,?,?,?,?,?,?,?,?,?)")) {
            for (int sign : new int[] {1, -1}) {
                insert.setShort(1, (short) (sign * 32767));
                insert.setInt(2, sign * Integer.MAX_VALUE);
                insert.setLong(3, sign * Long.MAX_VALUE);
                insert.setLong(4, sign * 123456789012L);
                insert.setDouble(5, sign * 1.5e300);
                insert.setFloat(6, sign * 2.25f);
                insert.setBigDecimal(7, new BigDecimal("1234567890123456789012.0123456789").multiply(new BigDecimal(sign)));
                insert.setBigDecimal(8, new BigDecimal("1E-10").multiply(new BigDecimal(sign)));
                insert.setBigDecimal(9, new BigDecimal("1234.50").multiply(new BigDecimal(sign)));
                insert.setBoolean(10, sign > 0);
                insert.executeUpdate();
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select * from j_num order by b desc")) {
            for (int sign : new int[] {1, -1}) {
                same(true, rows.next());
                same((short) (sign * 32767), rows.getShort(1));
                same(sign * Integer.MAX_VALUE, rows.getInt(2));
                same(sign * Long.MAX_VALUE, rows.getLong(3));
                same(sign * 123456789012L, rows.getLong(4));
                same(sign * 1.5e300, rows.getDouble(5));
                same(sign * 2.25f, rows.getFloat(6));
                same(new BigDecimal("1234567890123456789012.0123456789").multiply(new BigDecimal(sign)), rows.getBigDecimal(7));
                same(new BigDecimal("1E-10").multiply(new BigDecimal(sign)), rows.getBigDecimal(8));
                same(new BigDecimal("1234.50").multiply(new BigDecimal(sign)), rows.getBigDecimal(9));
                same(sign > 0, rows.getBoolean(10));
            }
        }
    }

    private static void texts(Connection connection) throws Exception {
        run(connection, "create table j_text (n int, a char(10), b nchar(10), c varchar(50), d nvarchar(50), e lvarchar(500))");
        String[] values = {"", "a", "odd", "even", "Grüße", "trailing  ", "x".repeat(10)};
        try (PreparedStatement insert = connection.prepareStatement("insert into j_text values (?,?,?,?,?,?)")) {
            for (int n = 0; n < values.length; n++) {
                insert.setInt(1, n);
                for (int column = 2; column <= 6; column++) {
                    insert.setString(column, values[n]);
                }
                insert.executeUpdate();
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select * from j_text order by n")) {
            for (String value : values) {
                same(true, rows.next());
                same(value.stripTrailing(), rows.getString(2).stripTrailing());
                same(value.stripTrailing(), rows.getString(3).stripTrailing());
                same(value, rows.getString(4));
                same(value, rows.getString(5));
                same(value, rows.getString(6));
            }
        }
        same(4, one(connection, "select n from j_text where a = 'Grüße'"));
    }

    private static void timestamps(Connection connection) throws Exception {
        run(connection, "create table j_time (a date, b datetime year to second, c datetime year to fraction(5), "
            + "d datetime hour to second, e datetime year to day, f interval year to month, g interval day to second)");
        Timestamp stamp = Timestamp.valueOf("2024-01-02 03:04:05.12345");
        try (PreparedStatement insert = connection.prepareStatement(
                "insert into j_time values (?, ?, ?, ?, ?, '5-03', interval (3 04:05:06) day to second)")) {
            insert.setDate(1, Date.valueOf("2020-02-29"));
            insert.setTimestamp(2, Timestamp.valueOf("1999-12-31 23:59:58"));
            insert.setTimestamp(3, stamp);
            insert.setTime(4, Time.valueOf("23:59:58"));
            insert.setTimestamp(5, Timestamp.valueOf("1970-01-01 00:00:00"));
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("select * from j_time")) {
            same(true, rows.next());
            same(Date.valueOf("2020-02-29"), rows.getDate(1));
            same(Timestamp.valueOf("1999-12-31 23:59:58"), rows.getTimestamp(2));
            same(stamp, rows.getTimestamp(3));
            same(Time.valueOf("23:59:58").toString(), rows.getTime(4).toString());
            same(Date.valueOf("1970-01-01"), rows.getDate(5));
            same("5-03", rows.getString(6).strip());
            same("3 04:05:06", rows.getString(7).strip());
        }
        same("2020-03-01", one(connection, "select a + 1 from j_time").toString());
    }

    private static void everyNull(Connection connection) throws Exception {
        String[] types = {"smallint", "int", "bigint", "int8", "float", "smallfloat", "decimal(10,2)", "decimal(16)",
            "money(10,2)", "char(5)", "nchar(5)", "varchar(5)", "nvarchar(5)", "lvarchar(50)", "boolean", "date",
            "datetime year to second", "datetime hour to minute", "interval year to month", "interval day to fraction(3)",
            "byte", "text", "blob", "clob"};
        StringBuilder columns = new StringBuilder();
        for (int i = 0; i < types.length; i++) {
            columns.append(i == 0 ? "" : ", ").append("c").append(i).append(' ').append(types[i]);
        }
        run(connection, "create table j_null (" + columns + ")");
        String marks = String.join(",", java.util.Collections.nCopies(types.length, "?"));
        try (PreparedStatement insert = connection.prepareStatement("insert into j_null values (" + marks + ")")) {
            for (int i = 1; i <= types.length; i++) {
                insert.setNull(i, Types.NULL);
            }
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("select * from j_null")) {
            same(true, rows.next());
            for (int i = 1; i <= types.length; i++) {
                Object value = rows.getObject(i);
                if (value != null) {
                    throw new AssertionError(types[i - 1] + ": " + value);
                }
            }
        }
    }

    private static void simpleLobs(Connection connection) throws Exception {
        run(connection, "create table j_lob (n int, b byte in table, t text in table)");
        byte[] bytes = new byte[5000];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        String text = "long text ".repeat(300);
        try (PreparedStatement insert = connection.prepareStatement("insert into j_lob values (?, ?, ?)")) {
            for (int n = 0; n < 3; n++) {
                insert.setInt(1, n);
                insert.setBytes(2, Arrays.copyOf(bytes, 5000 - n));
                insert.setAsciiStream(3, new java.io.ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)), text.length());
                insert.executeUpdate();
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select * from j_lob order by n")) {
            for (int n = 0; n < 3; n++) {
                same(true, rows.next());
                same(Arrays.copyOf(bytes, 5000 - n), rows.getBytes(2));
                same(text, rows.getString(3));
            }
        }
    }

    private static void smartLobs(Connection connection) throws Exception {
        run(connection, "create table j_smart (n int, b blob, c clob)");
        byte[] bytes = new byte[70_000];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 7);
        }
        String text = "smart text ".repeat(4000);
        try (PreparedStatement insert = connection.prepareStatement("insert into j_smart values (?, ?, ?)")) {
            insert.setInt(1, 1);
            insert.setBytes(2, bytes);
            insert.setString(3, text);
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("select * from j_smart")) {
            same(true, rows.next());
            Blob blob = rows.getBlob(2);
            same(70_000L, blob.length());
            same(bytes, blob.getBytes(1, bytes.length));
            Clob clob = rows.getClob(3);
            same(text, clob.getSubString(1, text.length()));
        }
    }

    static void fill(Connection connection, String table, int rows) throws SQLException {
        run(connection, "create table " + table + " (a int, b varchar(30))");
        try (PreparedStatement insert = connection.prepareStatement("insert into " + table + " values (?, ?)")) {
            for (int i = 1; i <= rows; i++) {
                insert.setInt(1, i);
                insert.setString(2, "row " + i);
                insert.addBatch();
            }
            same(rows, insert.executeBatch().length);
        }
    }

    private static void scroll(Connection connection) throws Exception {
        fill(connection, "j_scroll", 100);
        try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
                ResultSet rows = statement.executeQuery("select a, b from j_scroll order by a")) {
            same(true, rows.last());
            same(100, rows.getInt(1));
            same(true, rows.first());
            same(1, rows.getInt(1));
            same(true, rows.absolute(42));
            same("row 42", rows.getString(2));
            same(true, rows.relative(-2));
            same(40, rows.getInt(1));
            same(true, rows.previous());
            same(39, rows.getInt(1));
            same(true, rows.next());
            same(40, rows.getInt(1));
            same(false, rows.absolute(101));
        }
    }

    private static void manyRows(Connection connection) throws Exception {
        fill(connection, "j_many", 20_000);
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select a, b from j_many order by a")) {
            int n = 0;
            while (rows.next()) {
                n++;
                same(n, rows.getInt(1));
                same("row " + n, rows.getString(2));
            }
            same(20_000, n);
        }
    }

    private static void interleaved(Connection connection) throws Exception {
        fill(connection, "j_two", 3000);
        try (Statement first = connection.createStatement(); Statement second = connection.createStatement();
                ResultSet up = first.executeQuery("select a, b from j_two order by a");
                ResultSet down = second.executeQuery("select a, b from j_two order by a desc")) {
            for (int i = 1; i <= 3000; i++) {
                same(true, up.next() && down.next());
                same(i, up.getInt(1));
                same(3001 - i, down.getInt(1));
            }
        }
    }

    private static void batch(Connection connection) throws Exception {
        fill(connection, "j_batch", 2500);
        same(2500L, count(connection, "j_batch"));
    }

    private static void batchError(Connection connection) throws Exception {
        run(connection, "create table j_fail (a int primary key)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_fail values (?)")) {
            for (int value : new int[] {1, 2, 3, 2, 4, 5}) {
                insert.setInt(1, value);
                insert.addBatch();
            }
            try {
                insert.executeBatch();
                throw new AssertionError("no error");
            } catch (BatchUpdateException problem) {
                same(3, problem.getUpdateCounts().length);
                same(-268, problem.getErrorCode());
            }
        }
        same(3L, count(connection, "j_fail"));
    }

    private static void statementBatch(Connection connection) throws Exception {
        run(connection, "create table j_commands (a int)");
        try (Statement statement = connection.createStatement()) {
            statement.addBatch("insert into j_commands values (1)");
            statement.addBatch("insert into j_commands values (2)");
            statement.addBatch("update j_commands set a = a + 1");
            same("[1, 1, 2]", Arrays.toString(statement.executeBatch()));
        }
    }

    private static void serials(Connection connection) throws Exception {
        run(connection, "create table j_serial (id serial primary key, a int)",
            "create table j_bigserial (id bigserial, a int)", "create table j_serial8 (id serial8, a int)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_serial (a) values (?)")) {
            for (int i = 1; i <= 3; i++) {
                insert.setInt(1, i * 10);
                insert.executeUpdate();
                same(i, ((IfmxStatement) insert).getSerial());
            }
        }
        try (Statement insert = connection.createStatement()) {
            insert.executeUpdate("insert into j_serial values (0, 35)");
            same(4, ((IfmxStatement) insert).getSerial());
            insert.executeUpdate("insert into j_bigserial values (0, 1)");
            same(1L, ((IfmxStatement) insert).getBigSerial());
            insert.executeUpdate("insert into j_serial8 values (0, 1)");
            same(1L, ((IfmxStatement) insert).getSerial8());
        }
        run(connection, "insert into j_serial values (100, 50)", "insert into j_serial values (0, 60)");
        same(101, one(connection, "select id from j_serial where a = 60"));
    }

    private static void savepoints(Connection connection) throws Exception {
        run(connection, "create table j_save (a int)");
        connection.setAutoCommit(false);
        run(connection, "insert into j_save values (1)");
        Savepoint mark = connection.setSavepoint("mark");
        run(connection, "insert into j_save values (2)");
        connection.rollback(mark);
        run(connection, "insert into j_save values (3)");
        Savepoint other = connection.setSavepoint("other");
        connection.releaseSavepoint(other);
        connection.commit();
        same(2L, count(connection, "j_save"));
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void errors(Connection connection) throws Exception {
        fails(-206, connection, "insert into j_nowhere values (1)");
        fails(-201, connection, "slect * from systables");
        run(connection, "create table j_err (a int not null, b int, c int check (c > 0))", "create unique index j_err_ix on j_err (b)",
            "insert into j_err values (1, 1, 1)");
        fails(-239, connection, "insert into j_err values (2, 1, 1)");
        fails(-391, connection, "insert into j_err values (null, 2, 1)");
        fails(-530, connection, "insert into j_err values (2, 2, -1)");
        fails(-217, connection, "update j_err set z = 1");
        fails(-310, connection, "create table j_err (a int)");
        fails(-1213, connection, "insert into j_err values ('abc', 3, 3)");
        fails(-236, connection, "insert into j_err values (1)");
        fails(-1202, connection, "update j_err set a = 1 / 0");
        same(1L, count(connection, "j_err"));
    }

    private static void firstSkip(Connection connection) throws Exception {
        fill(connection, "j_first", 20);
        same(6, one(connection, "select skip 5 first 3 a from j_first order by a"));
        same(20, one(connection, "select first 1 a from j_first order by a desc"));
        same(3, one(connection, "select a from j_first order by a limit 1 skip 2".replace("limit 1 skip 2", "skip 2 limit 1")));
    }

    private static void expressions(Connection connection) throws Exception {
        String from = " from table(set{1})";
        same(new BigDecimal("0.5"), one(connection, "select 1 / 2" + from));
        same("ab", one(connection, "select 'a' || 'b'" + from).toString().strip());
        same(new BigDecimal("1.50"), one(connection, "select 1.5::decimal(10,2)" + from));
        same("2024-02-29", one(connection, "select mdy(2, 29, 2024)" + from).toString());
        same("t", one(connection, "select case when 'abc' matches 'a*' then 't' else 'f' end" + from).toString().strip());
        same("2024-03-01 12:00:00.0", one(connection,
            "select datetime (2024-02-29 12:00) year to minute + interval (36:00) hour to minute - 12 units hour" + from).toString());
        same(7, one(connection, "select nvl(null, 7)" + from));
    }

    private static void updateCursor(Connection connection) throws Exception {
        fill(connection, "j_current", 5);
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement(); Statement change = connection.createStatement()) {
            statement.setCursorName("j_cursor");
            try (ResultSet rows = statement.executeQuery("select a, b from j_current where a > 1 for update")) {
                while (rows.next()) {
                    if (rows.getInt(1) == 3) {
                        same(1, change.executeUpdate("update j_current set b = 'changed' where current of j_cursor"));
                    }
                }
            }
        }
        connection.commit();
        same("changed", one(connection, "select b from j_current where a = 3"));
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void isValid(Connection connection) throws Exception {
        same(true, connection.isValid(5));
    }

    private static void cancel(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread killer = new Thread(() -> {
                try {
                    Thread.sleep(400);
                    statement.cancel();
                } catch (Exception problem) {
                    problem.printStackTrace();
                }
            });
            killer.start();
            long start = System.nanoTime();
            try (ResultSet rows = statement.executeQuery(
                    "select count(*) from syscolumns a, syscolumns b, syscolumns c, syscolumns d, syscolumns e")) {
                rows.next();
                throw new AssertionError("not cancelled");
            } catch (SQLException problem) {
                same(-213, problem.getErrorCode());
            }
            killer.join();
            same(true, System.nanoTime() - start < 10_000_000_000L);
        }
        same(1, one(connection, "select 1 from table(set{1})"));
    }

    private static void metadata(Connection connection) throws Exception {
        run(connection, "create table j_meta (a int not null, b varchar(20))");
        try (PreparedStatement select = connection.prepareStatement("select a, b from j_meta")) {
            same(2, select.getMetaData().getColumnCount());
            same("a", select.getMetaData().getColumnName(1));
            same(Types.VARCHAR, select.getMetaData().getColumnType(2));
        }
        same("IBM Informix Dynamic Server", connection.getMetaData().getDatabaseProductName());
        same(97 > 0, one(connection, "select tabid from systables where tabname = 'j_meta'") != null);
    }

    private static void routine(Connection connection) throws Exception {
        run(connection, "create function j_add(a int, b int) returning int; return a + b; end function");
        try (PreparedStatement call = connection.prepareStatement("execute function j_add(?, ?)")) {
            call.setInt(1, 3);
            call.setInt(2, 4);
            try (ResultSet rows = call.executeQuery()) {
                same(true, rows.next());
                same(7, rows.getInt(1));
            }
        }
    }
}
