//! Names as identifiers, as each database reads them.

use headrace_drivers::{Cubrid, Database, Informix, MySql, Postgres};

#[test]
fn names_are_quoted_as_each_database_reads_them() {
    for (name, postgres, mysql, informix) in [
        ("a", "\"a\"", "`a`", "a"),
        ("größe$1", "\"größe$1\"", "`größe$1`", "größe$1"),
        ("1a", "\"1a\"", "`1a`", "\"1a\""),
        ("a\"b`c d", "\"a\"\"b`c d\"", "`a\"b``c d`", "\"a\"\"b`c d\""),
        ("", "\"\"", "``", "\"\""),
    ] {
        assert_eq!(Postgres::quote(name), postgres);
        assert_eq!(Cubrid::quote(name), postgres);
        assert_eq!(MySql::quote(name), mysql);
        assert_eq!(Informix::quote(name), informix);
    }
}
