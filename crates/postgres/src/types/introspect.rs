//! The catalogue query for the structure of user-defined types.

use super::{Oid, extension};

/// A query for these types and all that they are built from. Its rows are for [`super::TypeRegistry::learn`].
///
/// Only numbers are put into the text. Every name is qualified, so that no search path can redirect it.
pub fn introspection_query(oids: &[Oid]) -> String {
    query(oids, "")
}

/// The same for values that have come already. If the transaction's snapshot is an old one the catalogue describes a
/// composite type as of then: one that has been altered since has the kind `x`. That is so if an attribute in the
/// snapshot has been replaced by a transaction that has committed, or there is one more attribute than in the snapshot:
/// privileges of columns are looked up in the current catalogue.
pub fn introspection_query_after(oids: &[Oid]) -> String {
    query(
        oids,
        // txid_status() needs the full number of the transaction `a.xmax`, which is near that of the snapshot.
        "WHEN t.typtype OPERATOR(pg_catalog.=) 'c' \
             AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed' \
             AND (EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a, \
                 LATERAL (SELECT pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot()) AS next) s, \
                 LATERAL (SELECT pg_catalog.mod(a.xmax::pg_catalog.text::pg_catalog.int8 \
                   OPERATOR(pg_catalog.-) pg_catalog.mod(s.next, 4294967296) \
                   OPERATOR(pg_catalog.+) 6442450944, 4294967296) OPERATOR(pg_catalog.-) 2147483648 AS later) d \
               WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid AND a.attnum OPERATOR(pg_catalog.>) 0 \
                 AND CASE WHEN a.xmax::pg_catalog.text OPERATOR(pg_catalog.<>) '0' \
                   THEN pg_catalog.txid_status(s.next OPERATOR(pg_catalog.+) d.later) \
                     OPERATOR(pg_catalog.=) 'committed' END) \
             OR pg_catalog.has_column_privilege(t.typrelid, (SELECT (c.relnatts OPERATOR(pg_catalog.+) \
               1::pg_catalog.int2)::pg_catalog.int2 FROM pg_catalog.pg_class c \
               WHERE c.oid OPERATOR(pg_catalog.=) t.typrelid), 'SELECT') IS NOT NULL) THEN 'x' ",
    )
}

fn query(oids: &[Oid], altered: &str) -> String {
    let list: Vec<String> = oids.iter().map(u32::to_string).collect();
    let list = list.join(",");
    let receivers = extension::receivers();
    format!(
        "WITH RECURSIVE wanted(oid) AS (\
           SELECT t.oid FROM pg_catalog.pg_type t WHERE t.oid IN ({list}) \
           UNION \
           SELECT r.oid FROM wanted w \
             JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) w.oid, \
             LATERAL (\
               SELECT t.typelem AS oid WHERE t.typcategory OPERATOR(pg_catalog.=) 'A' \
               UNION ALL SELECT t.typbasetype WHERE t.typtype OPERATOR(pg_catalog.=) 'd' \
               UNION ALL SELECT g.rngsubtype FROM pg_catalog.pg_range g \
                 WHERE g.rngtypid OPERATOR(pg_catalog.=) t.oid \
               UNION ALL SELECT (g.j OPERATOR(pg_catalog.->>) 'rngtypid')::pg_catalog.oid \
                 FROM (SELECT pg_catalog.to_jsonb(g) AS j FROM pg_catalog.pg_range g) g \
                 WHERE t.typtype OPERATOR(pg_catalog.=) 'm' \
                 AND (g.j OPERATOR(pg_catalog.->>) 'rngmultitypid')::pg_catalog.oid OPERATOR(pg_catalog.=) t.oid \
               UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a \
                 WHERE t.typtype OPERATOR(pg_catalog.=) 'c' AND a.attrelid OPERATOR(pg_catalog.=) t.typrelid \
                 AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped\
             ) r) \
         SELECT t.oid::pg_catalog.text, pg_catalog.format_type(t.oid, NULL), \
           CASE {altered}WHEN t.typtype OPERATOR(pg_catalog.=) 'b' AND t.typelem OPERATOR(pg_catalog.=) 0 \
             THEN coalesce((SELECT p.proname::pg_catalog.text FROM pg_catalog.pg_proc p \
               WHERE p.oid OPERATOR(pg_catalog.=) t.typreceive::pg_catalog.oid \
               AND p.proname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ('{receivers}'::pg_catalog.text[])), 'b') \
             WHEN t.typtype OPERATOR(pg_catalog.<>) 'd' AND t.typcategory OPERATOR(pg_catalog.=) 'A' \
             AND t.typelem OPERATOR(pg_catalog.<>) 0 \
             THEN 'a' ELSE t.typtype::pg_catalog.text END, \
           CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN t.typbasetype::pg_catalog.text \
             WHEN t.typcategory OPERATOR(pg_catalog.=) 'A' THEN t.typelem::pg_catalog.text \
             WHEN t.typtype OPERATOR(pg_catalog.=) 'r' THEN (SELECT g.rngsubtype::pg_catalog.text \
               FROM pg_catalog.pg_range g WHERE g.rngtypid OPERATOR(pg_catalog.=) t.oid) \
             WHEN t.typtype OPERATOR(pg_catalog.=) 'm' THEN (SELECT g.j OPERATOR(pg_catalog.->>) 'rngtypid' \
               FROM (SELECT pg_catalog.to_jsonb(g) AS j FROM pg_catalog.pg_range g) g \
               WHERE (g.j OPERATOR(pg_catalog.->>) 'rngmultitypid')::pg_catalog.oid \
                 OPERATOR(pg_catalog.=) t.oid) END, \
           CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN t.typtypmod::pg_catalog.text ELSE \
             (SELECT pg_catalog.string_agg(a.atttypid::pg_catalog.text OPERATOR(pg_catalog.||) ' ' \
               OPERATOR(pg_catalog.||) a.atttypmod::pg_catalog.text OPERATOR(pg_catalog.||) ' ' \
               OPERATOR(pg_catalog.||) pg_catalog.replace(a.attname::pg_catalog.text, E'\\n', E'\\x01'), E'\\n' \
               ORDER BY a.attnum) \
             FROM pg_catalog.pg_attribute a WHERE t.typtype OPERATOR(pg_catalog.=) 'c' \
             AND a.attrelid OPERATOR(pg_catalog.=) t.typrelid \
             AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped) END, \
           t.typdelim::pg_catalog.text \
         FROM wanted w JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) w.oid"
    )
}
