package headrace;

import static headrace.InteropTest.count;
import static headrace.InteropTest.fails;
import static headrace.InteropTest.one;
import static headrace.InteropTest.run;
import static headrace.InteropTest.same;

import com.informix.jdbcx.IfxConnectionPoolDataSource;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.PooledConnection;

/** What IBM's driver does without being told to, and ways to the server that few programs take. */
final class Ways {
    private Ways() {
    }

    static void register(Map<String, InteropTest.Case> cases) {
        cases.put("generated_keys", Ways::generatedKeys);
        cases.put("lobs_without_close", Ways::lobsWithoutClose);
        cases.put("put_of_fixed_width", Ways::putOfFixedWidth);
        cases.put("files_that_are_not_there", Ways::noFile);
        cases.put("several_statements", Ways::severalStatements);
        cases.put("settings_end_where_they_end", Ways::settings);
        cases.put("not_null", Ways::notNull);
        cases.put("executed_again", Ways::executedAgain);
        cases.put("pooled", Ways::pooled);
    }

    private static List<Long> keys(PreparedStatement insert) throws SQLException {
        insert.setString(1, "x");
        insert.executeUpdate();
        List<Long> found = new ArrayList<>();
        try (ResultSet rows = insert.getGeneratedKeys()) {
            while (rows != null && rows.next()) {
                found.add(rows.getLong(1));
            }
        }
        return found;
    }

    private static void generatedKeys(Connection connection) throws Exception {
        run(connection, "create table j_generated (id serial, name varchar(20))");
        String sql = "insert into j_generated (name) values (?)";
        try (PreparedStatement all = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            same(List.of(1L), keys(all));
            same(List.of(2L), keys(all));
        }
        try (PreparedStatement named = connection.prepareStatement(sql, new String[] {"id"})) {
            same(List.of(3L), keys(named));
        }
        try (PreparedStatement numbered = connection.prepareStatement(sql, new int[] {1})) {
            same(List.of(4L), keys(numbered));
        }
        same(4L, count(connection, "j_generated"));
    }

    private static void lobsWithoutClose(Connection connection) throws Exception {
        run(connection, "create table j_made (n int, b blob, c clob)");
        Blob blob = connection.createBlob();
        blob.setBytes(1, "bytes of a blob".getBytes(StandardCharsets.US_ASCII));
        Clob clob = connection.createClob();
        clob.setString(1, "text of a clob");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_made values (1, ?, ?)")) {
            insert.setBlob(1, blob);
            insert.setClob(2, clob);
            insert.executeUpdate();
        }
        for (int again = 0; again < 2; again++) {
            try (Connection other = again == 0 ? connection : DriverManager.getConnection(InteropTest.url);
                    Statement statement = other.createStatement();
                    ResultSet rows = statement.executeQuery("select b, c from j_made")) {
                same(true, rows.next());
                // The driver's setBytes counts from 0, whatever JDBC says.
                same("bytes of a blob", new String(rows.getBlob(1).getBytes(1, 100), StandardCharsets.US_ASCII).trim());
                same("text of a clob", rows.getClob(2).getSubString(1, 100));
            }
        }
    }

    /** With IFX_USEPUT several rows of one width travel in one message. */
    private static void putOfFixedWidth(Connection connection) throws Exception {
        run(connection, "create table j_fixed (a int, b date, c char(3))", "create table j_one (a int)");
        try (PreparedStatement insert = connection.prepareStatement("insert into j_fixed values (?, ?, ?)");
                PreparedStatement single = connection.prepareStatement("insert into j_one values (?)")) {
            for (int i = 0; i < 10; i++) {
                insert.setInt(1, i);
                insert.setDate(2, java.sql.Date.valueOf("2024-02-29"));
                insert.setString(3, "x" + i);
                insert.addBatch();
                single.setInt(1, i);
                single.addBatch();
            }
            same(10, insert.executeBatch().length);
            same(10, single.executeBatch().length);
        }
        same(10L, count(connection, "j_fixed"));
        same(45L, ((Number) one(connection, "select sum(a) from j_one")).longValue());
        same("x9", one(connection, "select trim(c) from j_fixed where a = 9"));
    }

    private static void noFile(Connection connection) throws Exception {
        run(connection, "create table j_nofile (n int, b blob)");
        fails(-9810, connection, "insert into j_nofile values (1, filetoblob('/no/such/file', 'client'))");
        same(0L, count(connection, "j_nofile"));
    }

    private static void severalStatements(Connection connection) throws Exception {
        run(connection, "create table j_several (a int, b varchar(10))");
        String sql = "insert into j_several values (?, ?); update j_several set b = ? where a = ?";
        try (PreparedStatement both = connection.prepareStatement(sql)) {
            both.setInt(1, 1);
            both.setString(2, "old");
            both.setString(3, "new");
            both.setInt(4, 1);
            both.executeUpdate();
        }
        same("new", one(connection, "select b from j_several where a = 1"));
        run(connection, "insert into j_several values (2, 'x'); delete from j_several where a = 1");
        same(1L, count(connection, "j_several"));
        fails(-555, connection, "insert into j_several values (3, 'x'); select 1 from systables");
        run(connection, "set dataskip default;set explain off;set lock mode to not wait;");
    }

    private static void settings(Connection connection) throws Exception {
        run(connection, "create table j_settings (a int)");
        run(connection, "set isolation to committed read; insert into j_settings values (1)",
            "set pdqpriority 5; insert into j_settings values (2)", "set explain off; insert into j_settings values (3)",
            "set optimization high; insert into j_settings values (4)");
        same(4L, count(connection, "j_settings"));
        for (String wrong : new String[] {"set isolation to committed read garbage", "set explain on off",
                "update statistics for nonsense ) (", "set pdqpriority 101", "set log garbage"}) {
            fails(-201, connection, wrong);
        }
    }

    private static void notNull(Connection connection) throws Exception {
        run(connection, "create table j_notnull (a int not null, b int, c serial)");
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("select a, b, c, a + 1 from j_notnull")) {
            ResultSetMetaData about = rows.getMetaData();
            same(ResultSetMetaData.columnNoNulls, about.isNullable(1));
            same(ResultSetMetaData.columnNullable, about.isNullable(2));
            same(ResultSetMetaData.columnNoNulls, about.isNullable(3));
            same(ResultSetMetaData.columnNullable, about.isNullable(4));
        }
    }

    private static void executedAgain(Connection connection) throws Exception {
        InteropTest.fill(connection, "j_again", 2000);
        String sql = "select a, b from j_again where a >= ? order by a";
        for (int hold : new int[] {ResultSet.HOLD_CURSORS_OVER_COMMIT, ResultSet.CLOSE_CURSORS_AT_COMMIT}) {
            for (boolean autocommit : new boolean[] {true, false}) {
                connection.setAutoCommit(autocommit);
                try (PreparedStatement select = connection.prepareStatement(sql, ResultSet.TYPE_FORWARD_ONLY,
                        ResultSet.CONCUR_READ_ONLY, hold)) {
                    for (int time = 0; time < 3; time++) {
                        select.setInt(1, 11);
                        try (ResultSet rows = select.executeQuery()) {
                            for (int n = 11; n <= 2000; n++) {
                                same(true, rows.next());
                                same(n, rows.getInt(1));
                            }
                            same(false, rows.next());
                        }
                    }
                }
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void pooled(Connection connection) throws Exception {
        run(connection, "create table j_pooled (a int)");
        Matcher where = Pattern.compile("://([^:/]+):(\\d+)/([^:]+):(.*)").matcher(InteropTest.url);
        same(true, where.find());
        IfxConnectionPoolDataSource source = new IfxConnectionPoolDataSource();
        source.setIfxIFXHOST(where.group(1));
        source.setPortNumber(Integer.parseInt(where.group(2)));
        source.setDatabaseName(where.group(3));
        for (String property : where.group(4).split(";")) {
            String value = property.substring(property.indexOf('=') + 1);
            switch (property.substring(0, property.indexOf('='))) {
                case "INFORMIXSERVER" -> source.setServerName(value);
                case "user" -> source.setUser(value);
                case "password" -> source.setPassword(value);
                default -> throw new AssertionError(property);
            }
        }
        PooledConnection kept = source.getPooledConnection();
        try {
            for (long time = 1; time <= 3; time++) {
                try (Connection lent = kept.getConnection()) {
                    run(lent, "insert into j_pooled values (1)");
                    same(time, count(lent, "j_pooled"));
                    lent.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                }
            }
        } finally {
            kept.close();
        }
    }
}
