package headrace;

import static headrace.InteropTest.fails;
import static headrace.InteropTest.one;
import static headrace.InteropTest.run;
import static headrace.InteropTest.same;

import com.informix.lang.IntervalDF;
import com.informix.lang.IntervalYM;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Struct;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** Types with many forms: every range of DATETIME and INTERVAL, exact decimals, rows, collections, types users make. */
final class Forms {
    private static final String[] FIELDS = {"year", "month", "day", "hour", "minute", "second",
        "fraction(1)", "fraction(2)", "fraction(3)", "fraction(4)", "fraction(5)"};
    private static final String[] VALUES = {"2024", "02", "28", "23", "59", "58", "1", "12", "123", "1234", "12345"};
    private static final String SEPARATORS = "--- ::";

    private Forms() {
    }

    static void register(Map<String, InteropTest.Case> cases) {
        cases.put("datetime_ranges", Forms::datetimeRanges);
        cases.put("interval_ranges", Forms::intervalRanges);
        cases.put("interval_objects", Forms::intervalObjects);
        cases.put("decimals", Forms::decimals);
        cases.put("collections", Forms::collections);
        cases.put("rows", Forms::rows);
        cases.put("distinct_types", Forms::distinctTypes);
        cases.put("opaque_and_json", Forms::opaqueAndJson);
        cases.put("lob_seek", Forms::lobSeek);
    }

    /** Reads every row of a table and writes it to another one by parameter; the result is how many there were. */
    static int copy(Connection connection, String from, String to) throws Exception {
        int count = 0;
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("select * from " + from)) {
            int columns = rows.getMetaData().getColumnCount();
            String marks = String.join(", ", java.util.Collections.nCopies(columns, "?"));
            try (PreparedStatement insert = connection.prepareStatement("insert into " + to + " values (" + marks + ")")) {
                while (rows.next()) {
                    for (int column = 1; column <= columns; column++) {
                        insert.setObject(column, rows.getObject(column));
                    }
                    insert.executeUpdate();
                    count++;
                }
            }
        }
        return count;
    }

    /** The fields from one to another as DATETIME and INTERVAL literals write them. */
    private static String literal(int from, int to) {
        StringBuilder text = new StringBuilder(VALUES[from]);
        for (int at = from + 1; at <= Math.min(to, 5); at++) {
            text.append(SEPARATORS.charAt(at)).append(VALUES[at]);
        }
        if (to > 5 && from <= 5) {
            text.append('.').append(VALUES[to]);
        }
        return text.toString();
    }

    private static void bothWays(Connection connection, String table, String type, String literal) throws Exception {
        run(connection, "create temp table " + table + " (n int, v " + type + ")",
            "insert into " + table + " values (1, " + literal + ")");
        String read = one(connection, "select v from " + table + " where n = 1").toString();
        Object value;
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select v from " + table)) {
            rows.next();
            value = rows.getObject(1);
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into " + table + " values (?, ?)")) {
            insert.setInt(1, 2);
            insert.setObject(2, value);
            insert.executeUpdate();
            insert.setInt(1, 3);
            insert.setObject(2, null);
            insert.executeUpdate();
        }
        same(read, one(connection, "select v from " + table + " where n = 2").toString());
        same(null, one(connection, "select v from " + table + " where n = 3"));
        same(2L, ((Number) one(connection, "select count(*) from " + table + " where v = " + literal)).longValue());
        run(connection, "drop table " + table);
    }

    private static void datetimeRanges(Connection connection) throws Exception {
        // Ranges of fractions alone are more than this driver can show.
        for (int from = 0; from < 6; from++) {
            for (int to = from; to < FIELDS.length; to++) {
                String range = FIELDS[from] + " to " + FIELDS[to];
                String expected = literal(from, to);
                String literal = "datetime (" + expected + ") " + range;
                run(connection, "create temp table j_range (v datetime " + range + ")", "insert into j_range values (" + literal + ")");
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery("select v from j_range")) {
                    same(true, rows.next());
                    // Where the range has a year, the driver makes a whole time of it, in ISO form.
                    String found = rows.getString(1).strip();
                    if (!found.startsWith(expected) && !found.endsWith(expected) && !found.contains(expected)) {
                        throw new AssertionError(range + ": " + expected + " came back as " + found);
                    }
                }
                same(1L, ((Number) one(connection, "select count(*) from j_range where v = " + literal)).longValue());
                run(connection, "drop table j_range");
            }
        }
        bothWays(connection, "j_both", "datetime year to fraction(5)", "datetime (1999-12-31 23:59:59.99999) year to fraction(5)");
        bothWays(connection, "j_both", "datetime year to second", "datetime (0001-01-01 00:00:00) year to second");
        bothWays(connection, "j_both", "datetime year to minute", "datetime (2024-02-29 23:59) year to minute");
    }

    private static void intervalRanges(Connection connection) throws Exception {
        for (int from = 0; from < 6; from++) {
            for (int to = from; to < FIELDS.length; to++) {
                if (from < 2 && to > 1) {
                    continue;
                }
                for (int digits : new int[] {2, 5, 9}) {
                    String sign = digits == 5 ? "-" : "";
                    String range = FIELDS[from] + "(" + digits + ") to " + FIELDS[to];
                    String leading = "123456789".substring(0, digits);
                    String rest = to > from ? literal(from, to).substring(VALUES[from].length()) : "";
                    rest = rest.replace("-02", "-11").replace("-28", "-11");
                    String text = sign + leading + rest;
                    bothWays(connection, "j_interval", "interval " + range, "interval (" + text + ") " + range);
                    run(connection, "create temp table j_shown (v interval " + range + ")",
                        "insert into j_shown values ('" + text + "')");
                    same(text, one(connection, "select v from j_shown").toString().strip());
                    run(connection, "drop table j_shown");
                }
            }
        }
        run(connection, "create temp table j_far (v interval day to day)");
        fails(-1261, connection, "insert into j_far values ('123456')");
        fails(-1262, connection, "insert into j_far values ('x')");
    }

    private static void intervalObjects(Connection connection) throws Exception {
        run(connection, "create table j_spans (a interval year to month, b interval day to fraction(5), c interval hour(4) to second)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_spans values (?, ?, ?)")) {
            insert.setObject(1, new IntervalYM("5-03"));
            insert.setObject(2, new IntervalDF("3 04:05:06.12345"));
            insert.setObject(3, new IntervalDF("-100:59:59", IntervalDF.getQualifier((byte) 4, (byte) 6, (byte) 10)));
            insert.executeUpdate();
        }
        same("5-03", one(connection, "select a from j_spans").toString().strip());
        same("3 04:05:06.12345", one(connection, "select b from j_spans").toString().strip());
        same("-100:59:59", one(connection, "select c from j_spans").toString().strip());
    }

    private static void decimals(Connection connection) throws Exception {
        run(connection, "create table j_decimal (n int, a decimal(32,0), b decimal(32,32), c decimal(32), d decimal(5,2), e money(32,2))");
        String[][] rows = {
            {"12345678901234567890123456789012", "0.12345678901234567890123456789012", "1.2345678901234567890123456789012E+90",
                "999.99", "123456789012345678901234567890.12"},
            {"-1", "-0.00000000000000000000000000000001", "-1E-120", "-0.01", "-0.01"},
            {"0", "0", "0", "0", "0"},
            {"99", "0.5", "100", "1.5", "99.9"},
        };
        try (PreparedStatement insert = connection.prepareStatement("insert into j_decimal values (?, ?, ?, ?, ?, ?)")) {
            for (int n = 0; n < rows.length; n++) {
                insert.setInt(1, n);
                for (int column = 0; column < 5; column++) {
                    insert.setBigDecimal(column + 2, new BigDecimal(rows[n][column]));
                }
                insert.executeUpdate();
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("select * from j_decimal order by n")) {
            for (String[] row : rows) {
                same(true, found.next());
                for (int column = 0; column < 5; column++) {
                    same(new BigDecimal(row[column]), found.getBigDecimal(column + 2));
                }
            }
        }
        fails(-1226, connection, "insert into j_decimal (d) values (1000)");
        same(new BigDecimal("0.13"), one(connection, "select 0.125::decimal(5,2) from table(set{1})"));
        same(3, one(connection, "select n from j_decimal where c > 1 and c < 101"));
        same(1, one(connection, "select first 1 n from j_decimal order by a"));
        same(0, one(connection, "select first 1 n from j_decimal order by e desc"));
    }

    private static void collections(Connection connection) throws Exception {
        run(connection, "create table j_coll (n int, s set(int not null), m multiset(varchar(10) not null), "
            + "l list(decimal(5,2) not null), d list(date not null))");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_coll values (?, ?, ?, ?, ?)")) {
            insert.setInt(1, 1);
            insert.setObject(2, new HashSet<>(List.of(3, 1, 2)));
            insert.setObject(3, new ArrayList<>(List.of("odd", "even", "odd", "it's")));
            insert.setObject(4, new ArrayList<>(List.of(new BigDecimal("1.50"), new BigDecimal("-2.25"))));
            insert.setObject(5, new ArrayList<>(List.of(java.sql.Date.valueOf("2020-02-29"))));
            insert.executeUpdate();
            insert.setInt(1, 2);
            for (int column = 2; column <= 5; column++) {
                insert.setObject(column, null);
            }
            insert.executeUpdate();
        }
        run(connection, "insert into j_coll values (3, set{1, 2, 2}, multiset{'a', 'a'}, list{1, 2.5}, list{'2024-01-02'})",
            "insert into j_coll (n, l) values (4, 'list{7}')");
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select * from j_coll order by n")) {
            same(true, rows.next());
            same(new HashSet<>(List.of(1, 2, 3)), new HashSet<>((Collection<?>) rows.getObject(2)));
            same(List.of("odd", "even", "odd", "it's"), new ArrayList<>((Collection<?>) rows.getObject(3)));
            Array list = rows.getArray(4);
            same("[1.50, -2.25]", Arrays.toString((Object[]) list.getArray()));
            same("[2020-02-29]", rows.getObject(5).toString());
            same(true, rows.next());
            for (int column = 2; column <= 5; column++) {
                same(null, rows.getObject(column));
            }
            same(true, rows.next());
            same(2, ((Collection<?>) rows.getObject(2)).size());
            same(2, ((Collection<?>) rows.getObject(3)).size());
            same(true, rows.next());
            same("[7.00]", rows.getObject(4).toString());
        }
        same(1, one(connection, "select n from j_coll where 3 in s"));
        same(4, one(connection, "select cardinality(m) from j_coll where n = 1"));
        fails(-9632, connection, "insert into j_coll (n, s) values (5, list{1})");
    }

    /** A row as a program makes one. */
    private record Fields(String type, Object... values) implements Struct {
        @Override
        public String getSQLTypeName() {
            return type;
        }

        @Override
        public Object[] getAttributes() {
            return values;
        }

        @Override
        public Object[] getAttributes(Map<String, Class<?>> map) {
            return values;
        }
    }

    private static void rows(Connection connection) throws Exception {
        run(connection, "create row type j_address (street varchar(20), number int)",
            "create table j_rows (n int, a j_address, b row(x int, y varchar(10)))",
            "create table j_typed of type j_address",
            "insert into j_typed values ('typed', 4)",
            "insert into j_rows values (1, row('main', 3)::j_address, row(7, 'x')::row(x int, y varchar(10)))",
            "insert into j_rows values (2, null, null)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_rows values (?, ?, ?)")) {
            insert.setInt(1, 3);
            insert.setObject(2, new Fields("j_address", "side", 12));
            insert.setObject(3, new Fields("row(x int, y varchar(10))", 5, "why"));
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("select * from j_rows order by n")) {
            same(true, found.next());
            same("[main, 3]", Arrays.toString(((Struct) found.getObject(2)).getAttributes()));
            same("[7, x]", Arrays.toString(((Struct) found.getObject(3)).getAttributes()));
            same(true, found.next());
            same(null, found.getObject(2));
            same(null, found.getObject(3));
            same(true, found.next());
            same("side", ((Struct) found.getObject(2)).getAttributes()[0].toString().strip());
            same("[5, why]", Arrays.toString(Arrays.stream(((Struct) found.getObject(3)).getAttributes())
                .map(value -> value.toString().strip()).toArray()));
        }
        same("main", one(connection, "select a.street from j_rows where n = 1"));
        same(12, one(connection, "select a.number from j_rows where b.x = 5"));
        same(4, one(connection, "select number from j_typed"));
    }

    private static void distinctTypes(Connection connection) throws Exception {
        run(connection, "create distinct type j_price as decimal(10,2)", "create distinct type j_note as lvarchar(50)",
            "create distinct type j_flag as boolean", "create distinct type j_code as varchar(10)",
            "create distinct type j_count as int",
            "create table j_distinct (a j_price, b j_note, c j_flag, d j_code, e j_count)",
            "insert into j_distinct values (null, null, null, null, null)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_distinct values (?, ?, ?, ?, ?)")) {
            insert.setBigDecimal(1, new BigDecimal("12.50"));
            insert.setString(2, "a note");
            insert.setBoolean(3, true);
            insert.setString(4, "code");
            insert.setInt(5, 41);
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select * from j_distinct order by e")) {
            same(true, rows.next());
            for (int column = 1; column <= 5; column++) {
                same(null, rows.getObject(column));
            }
            same(true, rows.next());
            same(new BigDecimal("12.50"), rows.getBigDecimal(1));
            same("a note", rows.getString(2));
            same(true, rows.getBoolean(3));
            same("code", rows.getString(4));
            same(41, rows.getInt(5));
            same("j_price", rows.getMetaData().getColumnTypeName(1));
        }
        same(new BigDecimal("25.00"), one(connection, "select a::decimal(10,2) * 2 from j_distinct where e = 41"));
        run(connection, "drop table j_distinct", "drop type j_count restrict");
        fails(-9628, connection, "create table j_gone (a j_count)");
    }

    private static void opaqueAndJson(Connection connection) throws Exception {
        run(connection, "create opaque type j_opaque (internallength = variable)",
            "create table j_opaques (a j_opaque, b json)",
            "insert into j_opaques values ('abc', '{\"a\":1}')", "insert into j_opaques values (null, null)");
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select a, b from j_opaques")) {
            same(true, rows.next());
            same("abc".getBytes(StandardCharsets.US_ASCII), rows.getBytes(1));
            same("{\"a\":1}", rows.getString(2));
            same(true, rows.next());
            same(null, rows.getBytes(1));
            same(null, rows.getString(2));
        }
    }

    private static void lobSeek(Connection connection) throws Exception {
        run(connection, "create table j_seek (n int, b blob, c clob)");
        byte[] bytes = new byte[200_000];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31 >> 3);
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into j_seek values (?, ?, ?)")) {
            insert.setInt(1, 1);
            insert.setBinaryStream(2, new java.io.ByteArrayInputStream(bytes), bytes.length);
            insert.setCharacterStream(3, new java.io.StringReader("a clob of some length"), 21);
            insert.executeUpdate();
            insert.setInt(1, 2);
            insert.setBytes(2, new byte[0]);
            insert.setString(3, "");
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select b, c from j_seek order by n")) {
            same(true, rows.next());
            Blob blob = rows.getBlob(1);
            same((long) bytes.length, blob.length());
            same(Arrays.copyOfRange(bytes, 150_000, 150_100), blob.getBytes(150_001, 100));
            same(Arrays.copyOfRange(bytes, 10, 20), blob.getBytes(11, 10));
            same(Arrays.copyOfRange(bytes, 199_990, 200_000), blob.getBytes(199_991, 10));
            try (java.io.InputStream stream = blob.getBinaryStream()) {
                same(bytes, stream.readAllBytes());
            }
            Clob clob = rows.getClob(2);
            same("clob", clob.getSubString(3, 4));
            same(true, rows.next());
            same(0L, rows.getBlob(1).length());
        } catch (SQLException problem) {
            throw new AssertionError("at a large object", problem);
        }
    }
}
