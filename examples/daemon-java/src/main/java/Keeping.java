import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

/**
 * What of pgjdbc keeps a server connection of headraced: prints the name of each step, and waits for a line.
 *
 * <p>Arguments: the folder of the daemon's socket, and a name in its configuration.
 */
public final class Keeping {
    private static final BufferedReader LINES = new BufferedReader(new InputStreamReader(System.in));

    private static void step(String name) throws IOException {
        System.out.println(name);
        LINES.readLine();
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    public static void main(String[] arguments) throws SQLException, IOException {
        try (Connection connection = Daemon.connect(arguments[0], arguments[1])) {
            try (PreparedStatement statement = connection.prepareStatement("select ?::int")) {
                for (int number = 0; number < 8; number++) {
                    statement.setInt(1, number);
                    statement.executeQuery().close();
                }
            }
            step("queries");
            connection.setAutoCommit(false);
            try (PreparedStatement statement = connection.prepareStatement("select generate_series(1, 100)")) {
                statement.setFetchSize(10);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    step("setFetchSize in a transaction");
                }
            }
            connection.commit();
            step("after it");
            LargeObjectManager objects = connection.unwrap(PGConnection.class).getLargeObjectAPI();
            long number = objects.createLO();
            try (LargeObject object = objects.open(number, LargeObjectManager.WRITE)) {
                object.write("large".getBytes());
                object.seek(0);
                object.truncate(2);
            }
            objects.delete(number);
            connection.commit();
            step("large object");
            connection.setAutoCommit(true);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            connection.setReadOnly(true);
            step("setTransactionIsolation, setReadOnly");
            connection.setReadOnly(false);
            execute(connection, "set enable_seqscan = off");
            step("set");
            execute(connection, "reset enable_seqscan");
            step("reset");
            execute(connection, "listen keeping");
            step("listen");
            execute(connection, "unlisten keeping");
            step("unlisten");
        }
    }
}
