//! The lexer and the splitting of INSERT: tables whose rows read as a specification.

use headrace_mysql::sql::{Insert, Modes, Placement, Scan, is_bindable, placements};

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
fn what_is_stored_or_compared_with_a_column_is_bound() {
    for sql in [
        "insert into t (a, b) values (?, ?)",
        "INSERT INTO t VALUES (?, now(), DEFAULT, 'x', 1 + 1), (?, concat('a', b), ?);",
        "insert into t values (?, ?) as new on duplicate key update a = new.a, b = ?, c = c + 1",
        "insert into value (value) value (?)",
        "insert into t (a) values (?) returning id",
        "replace t set a = ?, t.`b` = ?",
        "insert into t (a, b) select a, b from u where c = ? on duplicate key update a = ?",
        "insert into t (select a from u where c = ?)",
        "update t set a = ?, b = b + 1, d.t.c = ? where id = ?",
        "update t set value = ?, `order` = ? order by id limit ?",
        "update a join b on a.id = b.id and b.x = ? set a.v = ? where b.y > ?",
        "with c as (select 1) update t set a = ? where id = ?",
        "delete from t where id = ? and `v` <> ?",
        "select * from t where a = ?",
        "SELECT t.a FROM t WHERE t.a >= ? AND d.t.b < ? OR c != ? XOR e <=> ?",
        "select * from t where (a = ? or (b = ? and not (c <= ?))) order by a limit ?",
        "select * from t where a in (?) and b not in (?, ?, ?)",
        "select * from t where a between ? and ? and b not between ? and ?",
        "select * from t where a like ? or b not like ? escape '/' group by a",
        "select * from t where a = ? limit ?, ?",
        "select * from t limit ? offset ?",
        "(select a from t where a = ? limit ?) union all (select b from u where b = ?) limit ?",
        "((select a from t where a = ?)) order by 1",
        "select a from t where a = ? union select b from u where b = ?",
        "select * from t join u on t.id = u.id and u.kind = ? left outer join v on (v.a = ?) where t.x = ?",
        "select * from (t join u on t.id = ?) where t.x = ?",
        "select count(*) from (select a from t where b = ?) as q",
        "with recursive c (n) as (select a from t where b = ?), d as (select 1) select * from c where n < ?",
        "select a from t where id in (select id from u where v = ?) and exists (select 1 from w where w.a = ?)",
        "select a, count(*) from t where b = ? group by a having count(*) > 1 order by count(*)",
        "select a from t where b = ? for update skip locked",
        "select a into @x from t where b = ?",
        "select a from t where b /* of */ = -- the\n ? and c = 'x'",
        "select case when a then 1 end, (select max(b) from u), left(a, 1) from t left join u on c = ? where t.a = ?",
        "select straight_join a from t straight_join u on t.a = ? where t.b = ?",
        "select a from t where ? = a",
        "select a from t where 1 = ? and ? < 2.5 and 7 in (?)",
        "select a from t where ? <=> d.t.`a` and (? >= t.a or ? != b)",
        "call p(?, @a, ?, 1)",
        "call d.p(?)",
        "select 1",
        "create table t (a int)",
    ] {
        let scan = Scan::new(sql, PLAIN);
        assert!(scan.placeholders.is_empty() || is_bindable(sql, PLAIN), "{sql}");
    }
    let quoted = r#"select 1 from "t" where "a" = ?"#;
    assert!(is_bindable(quoted, ANSI) && !is_bindable(quoted, PLAIN));
}

#[test]
fn what_a_statement_does_with_each_parameter_is_known() {
    let is = |sql, expected: &str| {
        let found = placements(sql, PLAIN).unwrap().into_iter();
        assert_eq!(
            found.map(|one| if one == Placement::Stored { 's' } else { 'c' }).collect::<String>(),
            expected,
            "{sql}"
        );
    };
    is("update t set a = ?, b = ? where c between ? and ? and d in (?, ?) limit ?", "ssccccc");
    is("insert into t values (?, 1) on duplicate key update a = ?", "ss");
    is("insert into t select a from u where b like ? on duplicate key update a = ?", "cs");
    is("call p(?, 1, ?)", "ss");
    is("select 1", "");
}

#[test]
fn what_is_part_of_an_expression_is_written() {
    for sql in [
        "select ?",
        "select a, ? from t",
        "select ? = a from t",
        "select a = ? from t",
        "select * from t where ? = a + 1",
        "select * from t where ? = lower(a)",
        "select * from t where ? = 'a'",
        "select * from t where ? + ? = a",
        "select * from t where b = ? = a",
        "select * from t where ? =- a",
        "select * from t where ? = ?",
        "select * from t where 0x31 = ?",
        "select * from t where 1e0 = ?",
        "select * from t where 1 + 1 = ?",
        "select * from t where null = ? or current_date < ?",
        "select * from t where 'a' = ?",
        "select * from t where a = ? + 1",
        "select * from t where a = -?",
        "select * from t where a = ? collate utf8mb4_bin",
        "select * from t where a = ? || 'x'",
        "select * from t where a = b = ?",
        "select * from t where a + b = ?",
        "select * from t where not a = ?",
        "select * from t where binary a = ?",
        "select * from t where a = binary ?",
        "select * from t where lower(a) = ?",
        "select * from t where lower(a) = lower(?)",
        "select * from t where coalesce(a = ?, 0)",
        "select * from t where if(a = ?, 1, 0)",
        "select * from t where case when a = ? then 1 else 0 end",
        "select * from t where case a when 1 then b else c end = ?",
        "select * from t where a->'$.x' = ?",
        "select * from t where j->? = 1",
        "select * from t where a like concat('%', ?, '%')",
        "select * from t where a like binary ?",
        "select * from t where a regexp ?",
        "select * from t where a like ? escape ?",
        "select * from t where a in (?, 'x')",
        "select * from t where a in (?, ? + 1)",
        "select * from t where a + 1 in (?)",
        "select * from t where (a, b) in ((?, ?))",
        "select * from t where (a, b) = (?, ?)",
        "select * from t where a between ? and 5",
        "select * from t where a between 1 and ?",
        "select * from t where a + 1 between ? and ?",
        "select * from t where match (a) against (?)",
        "select * from t where a = interval ? day + b",
        "select * from t where a = (select ?)",
        "select * from t where a = @b := ?",
        "select * from t where a = ? is true",
        "select a from t group by a having a > ?",
        "select a from t group by ?",
        "select a from t order by ?",
        "select a from t order by field(a, ?, ?)",
        "select (select b from u where c = ?) k, count(*) from t group by (select b from u where c = ?)",
        "select exists (select 1 from t where a = ?)",
        "select a from t order by (select b from u where c = ?)",
        "select a, row_number() over (order by a = ?) from t",
        "select * from json_table(?, '$[*]' columns (v int path '$')) q",
        "with c as (select ? as n) select * from c",
        "with recursive c as (select 1 n union all select n + ? from c where n < 5) select * from c",
        "select 1 union select ?",
        "insert into t values (? + 1)",
        "insert into t values ((?))",
        "insert into t values (cast(? as char), ?)",
        "insert into t values row(?)",
        "insert into t select ?, a from u",
        "insert into t values (?) on duplicate key update a = values(a) + ?",
        "insert into t set a = concat(?, 'x')",
        "update t set a = a + ? where id = 1",
        "update t set a = (?)",
        "update t set a = ? + 1",
        "update t set a = b = ?",
        "update t set a := ?",
        "update t set a = (select b from u where c = ?)",
        "update t set a = 1 where id = 1 order by a = ?",
        "delete from t where a = ? & 1",
        "call p(concat(?, 'x'))",
        "call p(? + 1)",
        "set @a = ?",
        "do sleep(?)",
        "show tables like ?",
        "values row(?)",
        "table t limit ?",
        "explain select * from t where a = ?",
        "create view v as select * from t where a = ?",
        "create table u as select a from t where a = ?",
        "alter table t add a int default ?",
    ] {
        assert!(!is_bindable(sql, PLAIN), "{sql}");
    }
}

#[test]
fn what_mariadb_mistakes_of_a_parameter_is_written() {
    for sql in [
        "select time(?)",
        "select 1 from t where a = TIMESTAMP ( coalesce(b, ?), '1:00')",
        "update t set a = time(concat(?, ''))",
        "insert into t values (cast(? as char(20)))",
        "update t set a = CONVERT (coalesce(?, b), binary(3))",
        "(select cast(? as time(6)))",
        "select a from t union select ?",
        "select distinct case when a then ? else ? end from t",
        "select ?, concat(?, 'x') from t group by ? order by ?",
        "select lag(abs(?)) over (order by a) from t",
        "select first_value(?) OVER w from t window w as (order by a)",
        "select q.b from (select abs(?) as b from t limit 5) q",
        "with c as (select ?) select * from c",
        "select (select concat(?, a) from t limit 1)",
        "insert into t select concat(?, a) from t",
        "replace into t (a) (select ?)",
        "select a from t where ? in (select b from s)",
        "select a from t where (?, 1) not in ((select b, c from s))",
        "update t set a = 1 where ? <> ALL (with c as (select 1) select * from c)",
        "delete from t where abs(?) = any(select b from s)",
        "select a from t where a not regexp ?",
        "select regexp_replace(a, ?, ?)",
        "select column_json(column_create(?, ?))",
        "create view v as select ?",
        "set @a = ?",
        "set statement max_statement_time = ? for select 1",
        "create trigger r before insert on t for each row set new.a = ?",
        "create or replace function f() returns int return ?",
        "alter event e do insert into t values (?)",
        "begin not atomic select ?; end",
        "show tables like ?",
        "kill ?",
    ] {
        assert!(!is_bindable(sql, PLAIN), "{sql}");
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
