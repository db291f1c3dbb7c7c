import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Procedures and functions for the tests of OUT parameters and of a CURSOR that is returned. */
public class HeadraceProcedures {
    public static int twice(int n) {
        return 2 * n;
    }

    public static void changes(int n, int[] out, String[] both) {
        out[0] = 2 * n;
        both[0] = both[0] + "!";
    }

    public static ResultSet below(int n) throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:default:connection:");
        return connection.createStatement().executeQuery("SELECT n, 'row ' || n FROM numbers WHERE n < " + n + " ORDER BY n");
    }
}
