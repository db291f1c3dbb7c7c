//! The lexer and the splitting of INSERT: tables whose rows read as a specification.

use headrace_mysql::sql::{Insert, Modes, Scan};

const PLAIN: Modes = Modes { no_backslash_escapes: false, ansi_quotes: false };
const NO_BACKSLASH: Modes = Modes { no_backslash_escapes: true, ansi_quotes: false };
const ANSI: Modes = Modes { no_backslash_escapes: false, ansi_quotes: true };

#[test]
fn placeholders_are_counted_where_the_server_counts_them() {
    for (sql, modes, count) in [
        ("select ?", PLAIN, 1),
        ("select ?, '?', \"?\", `?`", PLAIN, 1),
        ("select 'it''s ?', ?", PLAIN, 1),
        (r"select '\'?', ?", PLAIN, 1),
        (r"select '\', ?, 'x'", NO_BACKSLASH, 1),
        (r#"select "a\", ? from t where "b" = ?"#, ANSI, 2),
        (r"select `a\`, ?", PLAIN, 1),
        ("select ? -- and ?\n, ?", PLAIN, 2),
        ("select ? --and ?", PLAIN, 2),
        ("select 1 --", PLAIN, 0),
        ("select ? # ?", PLAIN, 1),
        ("select /* ? */ ?", PLAIN, 1),
        ("select /*+ hint(?) */ ?", PLAIN, 1),
        ("select x'3f', b'1', n'?', _utf8mb4'?', ?", PLAIN, 1),
        ("select 'ä?', `ö`, ?", PLAIN, 1),
        ("call p(?,?,@x)", PLAIN, 2),
        ("", PLAIN, 0),
    ] {
        let scan = Scan::new(sql, modes);
        assert_eq!(scan.placeholders.len(), count, "{sql}");
        assert!(!scan.uncertain, "{sql}");
        assert!(scan.placeholders.iter().all(|at| sql.as_bytes()[*at] == b'?'), "{sql}");
    }
}

#[test]
fn a_placeholder_after_in_is_for_a_list() {
    for (sql, lists) in [
        ("select 1 where a in ?", true),
        ("select 1 where a NOT IN /* one of */ ? and b = ?", true),
        ("select 1 where a in (?)", false),
        ("select 1 where a in (select ?)", false),
        ("select 'in' ?", false),
        ("select `in`, ?", false),
        ("select 1 where a = ? and b in (1)", false),
    ] {
        assert_eq!(Scan::new(sql, PLAIN).lists, lists, "{sql}");
    }
}

#[test]
fn what_the_server_may_see_otherwise_is_uncertain() {
    for sql in ["select /*!50000 ? */ 1", "select /*M! ? */", "select 'no end ?", "select /* no end ?", "select `x"] {
        assert!(Scan::new(sql, PLAIN).uncertain, "{sql}");
    }
    assert_eq!(Scan::new("select /*!50000 ?, ? */ 1", PLAIN).placeholders.len(), 2);
}

#[test]
fn verbs_returning_and_several_statements() {
    let scan = |sql| Scan::new(sql, PLAIN);
    assert_eq!(scan("  /* a */ -- b\n InSeRt into t values (?)").verb, "insert");
    for sql in ["update t set a=?", "delete from t", "insert t set a = ?", "replace t(a) values (1)"] {
        assert!(scan(sql).bulk, "{sql}");
    }
    for sql in ["select 1", "insert into t select ?", "replace into t (select ?)", "insert into t table x", "set @a=?"]
    {
        assert!(!scan(sql).bulk, "{sql}");
    }
    assert!(scan("insert into t values (?) Returning id").returning);
    assert!(!scan("insert into t values ('returning')").returning);
    assert!(scan("select 1; select 2").several);
    assert!(!scan("select 1; -- that is all\n").several);
    assert!(!scan("select ';x'").several);
}

#[test]
fn in_bulk_goes_what_means_there_what_it_means_row_by_row() {
    for sql in [
        "insert into t (a, b) values (?, ?)",
        "insert into t values (?, now(), 'x', uuid(), /* ? */ ?), (?, default, 1, 2, ?);",
        "insert into values.t(a)value(?)",
        "insert into t values (? + 1, -?, 2 * ?) on duplicate key update a = ?, b = b + ? - 1",
        "insert into t values (?) as new on duplicate key update a = new.a",
        "insert into t set a = ?, b = now(), c = ? on duplicate key update c = values(c)",
        "replace low_priority into t set a := ?",
        "update t set a = (select max(b) from u where c = ?) where d regexp ?",
        "delete from t where identity = ?",
    ] {
        assert!(Scan::new(sql, PLAIN).bulk, "{sql}");
    }
    for sql in [
        "insert into t values (lower(?))",
        "insert into t values (?, (?))",
        "insert into t values (1, (select id from u where name = ?))",
        "insert into t values (?, (select count(*) from t))",
        "insert into t values (?) on duplicate key update a = (select 1)",
        "insert into t values (?) on duplicate key update a = greatest(a, ?)",
        "insert into t values (? = 1)",
        "insert into t values ('a' regexp ?)",
        "insert into t values (? in (1, 2))",
        "insert into t values (? collate utf8mb4_bin)",
        "insert into t values (now() - interval ? day)",
        "insert into t set a = concat(?, 'x')",
        "replace into t set a = ? regexp 'x'",
        "insert into t values (?, last_insert_id())",
        "insert into t values (?, @@Identity)",
        "insert into t values (?, row_count())",
        "update t set a = ? + last_insert_id()",
        "delete from t where a = ? and b = row_count()",
    ] {
        assert!(!Scan::new(sql, PLAIN).bulk, "{sql}");
    }
}

#[test]
fn inserts_are_taken_apart() {
    for (sql, prefix, row, suffix) in [
        ("insert into t values (?,?)", "insert into t values ", &["(", ",", ")"][..], ""),
        ("INSERT t VALUE(?)", "INSERT t VALUE", &["(", ")"], ""),
        ("insert into t(a,b)values(?,?);", "insert into t(a,b)values", &["(", ",", ")"], ""),
        ("replace into `t` (`values`) values (?) ; ", "replace into `t` (`values`) values ", &["(", ")"], ""),
        (
            "insert ignore into d.t (a) values (upper(?), now(), '?')",
            "insert ignore into d.t (a) values ",
            &["(upper(", "), now(), '?')"],
            "",
        ),
        (
            "insert into t values (?, 1) on duplicate key update a = values(a), b = b + 1",
            "insert into t values ",
            &["(", ", 1)"],
            " on duplicate key update a = values(a), b = b + 1",
        ),
        (
            "insert into t values (?) as new(x) on duplicate key update a = new.x -- why not",
            "insert into t values ",
            &["(", ")"],
            " as new(x) on duplicate key update a = new.x",
        ),
        ("insert into t values (?),(?)", "insert into t values ", &["(", "),(", ")"], ""),
        (
            "/* c */ insert /* values (?) */ into t -- values (?)\n values (? /* one */)",
            "/* c */ insert /* values (?) */ into t -- values (?)\n values ",
            &["(", " /* one */)"],
            "",
        ),
        ("insert into t partition (p) values (?)", "insert into t partition (p) values ", &["(", ")"], ""),
        ("insert into t (value) values (?)", "insert into t (value) values ", &["(", ")"], ""),
        ("insert into value values (?)", "insert into value values ", &["(", ")"], ""),
        ("insert into value (a) values (?)", "insert into value (a) values ", &["(", ")"], ""),
        ("insert into d.value (a) values (?)", "insert into d.value (a) values ", &["(", ")"], ""),
        ("insert into values (?)", "", &[], "none"),
    ] {
        let found = Insert::new(sql, PLAIN);
        if suffix == "none" {
            assert_eq!(found, None, "{sql}");
            continue;
        }
        let found = found.unwrap_or_else(|| panic!("{sql}"));
        assert_eq!((found.prefix.as_str(), found.suffix.as_str()), (prefix, suffix), "{sql}");
        assert_eq!(found.row, row, "{sql}");
        assert_eq!(found.parameters(), Scan::new(sql, PLAIN).placeholders.len());
    }
}

#[test]
fn what_must_not_be_joined_is_not() {
    for sql in [
        "select 1",
        "update t set a = ? where b in (select value from x)",
        "insert into t set a = ?",
        "insert into t select ? from x",
        "insert into t (a) select ? union values (1)",
        "insert into t values (1)",
        "insert into t values (?) on duplicate key update a = ?",
        "insert into t values (?) returning id",
        "insert into t values (?); delete from t",
        "insert into t values row(?)",
        "insert into t values ((select max(a) from t) + ?)",
        "insert into t values (last_insert_id(), ?)",
        "insert into t values (@@identity, ?)",
        "insert into t values (?) on duplicate key update a = (select max(b) from t as other)",
        "insert into t values (?",
        "insert into t values (?) /*! on duplicate key update a = 1 */",
        "insert into t values ('no end, ?)",
        "insert into t values",
        "insert into ? values (?)",
    ] {
        assert_eq!(Insert::new(sql, PLAIN), None, "{sql}");
    }
    // A backslash before the quote is an escape in one mode and none in the other.
    let sql = r"insert into t values ('\', ?, ' (x)')";
    assert!(Insert::new(sql, NO_BACKSLASH).is_some());
    assert!(Insert::new(sql, PLAIN).is_none());
}
