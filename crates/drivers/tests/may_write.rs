//! Whether a statement that returns rows may change something, in the lexis of each database.

use headrace_drivers::{Cubrid, Database, Informix, MySql, Postgres};

type MayWrite = fn(&str) -> bool;

const DATABASES: [(&str, MayWrite); 4] = [
    ("PostgreSQL", Postgres::may_write),
    ("MySQL", MySql::may_write),
    ("Informix", Informix::may_write),
    ("CUBRID", Cubrid::may_write),
];

fn check(databases: &[(&str, MayWrite)], texts: &[&str], writes: bool) {
    for sql in texts {
        for (name, may_write) in databases {
            assert_eq!(may_write(sql), writes, "{name}: {sql}");
        }
    }
}

#[test]
fn what_is_not_known_to_read_counts_as_writing() {
    let reads = [
        "select 1",
        "  (SELECT 1) union (select 2)",
        "/* insert */ with a as (select 1) select * from a",
        "-- update\nshow tables",
        "select replace(a, 'x', 'y') from t",
        "explain select 1",
        "select * from t for update",
        "select * from t for no key update",
        "select * from t where a = 'please delete' and \"update\" = 1 and c = 'it''s insert'",
        "select 1 -- it's\n, 'update' -- delete",
        "select 1 /* it's */, 'update' /* delete */",
    ];
    let writes = [
        "insert into t values (1) returning id",
        "/* select */ replace into t values (1) returning id",
        "/* no end",
        "call p()",
        "execute procedure p()",
        "with a as (delete from t returning id) select * from a",
        "explain analyze update t set a = 1",
        "select 1; insert into t values (1)",
        "select 1; update t set a = 'x'",
        "select key; update t set a = 1",
        "select no, key update",
        "select 'a\\'; insert into t values ('b",
        "select 1 -- it's\n; insert into t values ('x')",
        "",
    ];
    check(&DATABASES, &reads, false);
    check(&DATABASES, &writes, true);
}

#[test]
fn comments_and_quotes_are_those_of_the_dialect() {
    let [postgres, mysql, informix, cubrid] = DATABASES;
    check(&[informix], &["{ update } select 1 { it's }, 'update' { delete }"], false);
    check(&[informix], &["select 1 { it's }; insert into t values ('x')", "{ select } truncate table t"], true);
    check(&[cubrid], &["// update\nselect 1 // it's\n, 'update' from [delete]"], false);
    check(&[cubrid], &["select 1 // it's\n; insert into t values ('x')"], true);
    check(&[mysql], &["# update\nselect 1 # it's\n, 'update', `call`"], false);
    check(
        &[mysql],
        &["/*!50000 select 1 */", "select 1 /*! ; update t set a = 1 */", "select 'no end; delete from t"],
        true,
    );
    check(&[postgres], &["select $$update$$, $a$ it's delete $a$ from t"], false);
    check(&[postgres], &["select $$it's$$; insert into t values ('x')", "do $$ begin end $$"], true);
}
