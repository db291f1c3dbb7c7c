import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

/**
 * Asks a database through headraced with pgjdbc.
 *
 * <p>Arguments: the folder of the daemon's socket, or its HOST:PORT, where it listens on TCP; a name in its
 * configuration; and a table with the columns id, whole numbers from 0, and name. Java has Unix sockets for channels only;
 * junixsocket has them for JDBC. On TCP the user and the password are those of PGUSER and PGPASSWORD, and PGSSLROOTCERT
 * names the trusted certificates.
 */
public final class Daemon {
    static Connection connect(String where, String database) throws SQLException {
        Properties properties = new Properties();
        if (where.contains(":")) {
            properties.setProperty("user", System.getenv("PGUSER"));
            properties.setProperty("password", System.getenv("PGPASSWORD"));
            properties.setProperty("sslmode", "verify-full");
            properties.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
            properties.setProperty("channelBinding", "require");
            return DriverManager.getConnection("jdbc:postgresql://" + where + "/" + database, properties);
        }
        properties.setProperty("user", "anyone");
        properties.setProperty("sslmode", "disable");
        properties.setProperty("socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
        properties.setProperty("socketFactoryArg", where + "/.s.PGSQL.5432");
        return DriverManager.getConnection("jdbc:postgresql://localhost/" + database, properties);
    }

    public static void main(String[] arguments) throws SQLException {
        String table = arguments[2];
        try (Connection connection = connect(arguments[0], arguments[1])) {
            try (PreparedStatement one = connection.prepareStatement("select id, name from " + table + " where id = ?")) {
                // After five executions pgjdbc prepares the statement by a name, and asks for binary values.
                for (int id = 0; id < 8; id++) {
                    one.setInt(1, id);
                    try (ResultSet rows = one.executeQuery()) {
                        rows.next();
                        if (rows.getInt("id") != id || !rows.getString("name").equals("name " + id)) {
                            throw new IllegalStateException("wrong row for " + id);
                        }
                    }
                }
            }
            System.out.println("java 8");
            connection.setAutoCommit(false);
            try (PreparedStatement many = connection.prepareStatement("select id from " + table + " order by id")) {
                many.setFetchSize(7);
                int count = 0;
                try (ResultSet rows = many.executeQuery()) {
                    while (rows.next()) {
                        count += rows.getInt(1) == count ? 1 : 1000;
                    }
                }
                System.out.println("rows " + count);
            }
            try (PreparedStatement change = connection.prepareStatement("update " + table + " set name = ? where id < ?")) {
                change.setString(1, "changed");
                change.setInt(2, 2);
                System.out.println("changed " + change.executeUpdate());
            }
            connection.rollback();
            try (PreparedStatement bad = connection.prepareStatement("select * from nowhere")) {
                bad.executeQuery();
            } catch (SQLException error) {
                System.out.println("refused " + error.getSQLState());
            }
        }
    }
}
