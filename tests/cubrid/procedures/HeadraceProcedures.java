/** Procedures and functions for the tests of OUT parameters. */
public class HeadraceProcedures {
    public static int twice(int n) {
        return 2 * n;
    }

    public static void changes(int n, int[] out, String[] both) {
        out[0] = 2 * n;
        both[0] = both[0] + "!";
    }
}
