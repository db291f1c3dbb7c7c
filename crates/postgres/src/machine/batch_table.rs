//! The question to the catalogue: whether many rows may go into a table by one command, or would mean something else so.

use crate::sql::{JoinableInsert, PlainInsert};

/// What a batch can go on as, once the catalogue has answered.
#[derive(Debug)]
pub(super) enum Bulk {
    Copy(PlainInsert),
    Joined(JoinableInsert),
}

/// The question whether rows can go into a table by one command: a row for each column, with its name as it is written,
/// its type, and the type that this is a domain of; none if they cannot.
///
/// What a COPY leaves out, or it and an INSERT of many rows do once where INSERTs do it for each row: rules, row-level
/// security, triggers of statements, and triggers after rows, which include foreign keys and constraints that are checked
/// later. Of a partitioned table this is asked of all partitions. A limit on the time of a statement would be one on all of the
/// rows. Functions of the user's that read the table would not see the rows before: those of the snapshot of the
/// statement, where they are not volatile, and any in a CHECK, as rows are kept back while it is evaluated. They may stand
/// behind an operator, and in the constraints and the default of a domain; those of a domain within another type are not
/// looked for, such types are refused.
pub(super) fn question(bulk: &Bulk) -> String {
    let (table, columns, count, events, more) = match bulk {
        Bulk::Copy(insert) => (&insert.table, insert.columns.as_slice(), insert.count, INSERT, String::new()),
        // Only whether there is a row matters.
        Bulk::Joined(insert) => {
            let events = if insert.has_conflict { INSERT | UPDATE } else { INSERT };
            (&insert.table, [].as_slice(), 1, events, evaluated(insert))
        }
    };
    let names: Vec<String> = columns.iter().map(|name| format!("'{name}'")).collect();
    let (listed, order) = match columns.is_empty() {
        true => (String::new(), "a.attnum"),
        false => (
            format!(
                " JOIN pg_catalog.unnest(ARRAY[{}]::pg_catalog.name[]) WITH ORDINALITY AS listed(name, place)\
                 \n ON listed.name OPERATOR(pg_catalog.=) a.attname\n",
                names.join(", ")
            ),
            "listed.place",
        ),
    };
    format!(
        "WITH RECURSIVE target(oid) AS (\n\
         SELECT '{table}'::pg_catalog.regclass::pg_catalog.oid\n\
         UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN target\n\
         ON i.inhparent OPERATOR(pg_catalog.=) target.oid)\n\
         SELECT pg_catalog.quote_ident(a.attname::pg_catalog.text), a.atttypid, t.typbasetype\n\
         FROM pg_catalog.pg_attribute a\n\
         JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid\n\
         {listed}\
         WHERE a.attrelid OPERATOR(pg_catalog.=) '{table}'::pg_catalog.regclass\n\
         AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped\n\
         AND pg_catalog.current_setting('statement_timeout') OPERATOR(pg_catalog.=) '0'\n\
         AND NOT EXISTS (SELECT FROM target JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) target.oid\n\
         WHERE c.relkind OPERATOR(pg_catalog.<>) ALL (ARRAY['r', 'p']::\"char\"[])\n\
         OR c.relhasrules OR pg_catalog.row_security_active(c.oid)\n\
         OR EXISTS (SELECT FROM pg_catalog.pg_trigger g\n\
         JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) g.tgfoid\n\
         WHERE g.tgrelid OPERATOR(pg_catalog.=) c.oid\n\
         AND (g.tgtype OPERATOR(pg_catalog.&) {events}::pg_catalog.int2) OPERATOR(pg_catalog.<>) 0\n\
         AND ((g.tgtype OPERATOR(pg_catalog.&) 3::pg_catalog.int2) OPERATOR(pg_catalog.<>) 3\n\
         OR p.provolatile OPERATOR(pg_catalog.<>) 'v'))\n\
         OR EXISTS (SELECT FROM (\n\
         SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, f.oid, 's' FROM pg_catalog.pg_attrdef f\n\
         WHERE f.adrelid OPERATOR(pg_catalog.=) c.oid\n\
         UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid, 'sv' FROM pg_catalog.pg_constraint k\n\
         WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid) AS part(class, oid, refused)\n\
         JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) part.class\n\
         AND d.objid OPERATOR(pg_catalog.=) part.oid\n\
         LEFT JOIN pg_catalog.pg_operator o ON o.oid OPERATOR(pg_catalog.=) d.refobjid\n\
         AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass\n\
         JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) o.oprcode\n\
         OR (p.oid OPERATOR(pg_catalog.=) d.refobjid\n\
         AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass)\n\
         WHERE pg_catalog.strpos(part.refused, p.provolatile::pg_catalog.text) OPERATOR(pg_catalog.>) 0)\n\
         OR EXISTS (SELECT FROM pg_catalog.pg_attribute b\n\
         JOIN pg_catalog.pg_type y ON y.oid OPERATOR(pg_catalog.=) b.atttypid\n\
         LEFT JOIN pg_catalog.pg_type of ON of.oid OPERATOR(pg_catalog.=)\n\
         CASE y.typtype WHEN 'd' THEN y.typbasetype ELSE y.typelem END\n\
         WHERE b.attrelid OPERATOR(pg_catalog.=) c.oid\n\
         AND b.attnum OPERATOR(pg_catalog.>) 0 AND NOT b.attisdropped AND (\n\
         of.typtype OPERATOR(pg_catalog.=) ANY (ARRAY['c', 'd', 'r', 'm']::\"char\"[])\n\
         OR y.typtype OPERATOR(pg_catalog.=) 'c'\n\
         OR (y.typtype OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'm']::\"char\"[])\n\
         AND y.typnamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid)\n\
         OR (y.typtype OPERATOR(pg_catalog.=) 'd' AND EXISTS (\n\
         SELECT FROM pg_catalog.pg_depend d WHERE (d.refclassid OPERATOR(pg_catalog.=)\n\
         'pg_catalog.pg_proc'::pg_catalog.regclass OR d.refclassid OPERATOR(pg_catalog.=)\n\
         'pg_catalog.pg_operator'::pg_catalog.regclass)\n\
         AND ((d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass\n\
         AND d.objid OPERATOR(pg_catalog.=) y.oid)\n\
         OR (d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_constraint'::pg_catalog.regclass\n\
         AND d.objid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT k.oid FROM pg_catalog.pg_constraint k\n\
         WHERE k.contypid OPERATOR(pg_catalog.=) y.oid)))))))))\n\
         {more}ORDER BY {order} LIMIT {count}"
    )
}

/// Events of triggers, in `pg_trigger.tgtype` (`TRIGGER_TYPE_INSERT`, `TRIGGER_TYPE_UPDATE` in `catalog/pg_trigger.h`).
const INSERT: i16 = 4;
const UPDATE: i16 = 16;

/// The conditions under which the expressions of several rows in one statement have the values that they have in as many
/// statements, by all that the names and operators in them could stand for.
///
/// A function that is not immutable might read the table, whose rows of the same statement it would not see if it is
/// stable. In a statement of several rows the expressions of a row are evaluated before the defaults of its other columns,
/// so that `currval` would miss the `nextval` of a default: functions of the server are refused if they are volatile, but
/// for those that make a new value whatever came before. The last of those that are refused read tables, or differ from
/// statement to statement.
fn evaluated(insert: &JoinableInsert) -> String {
    let listed = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
        format!("ARRAY[{}]::pg_catalog.name[]", quoted.join(", "))
    };
    let (names, operators) = (listed(&insert.names), listed(&insert.operators));
    format!(
        "AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc p\n\
         WHERE p.proname OPERATOR(pg_catalog.=) ANY ({names})\n\
         AND p.provolatile OPERATOR(pg_catalog.<>) 'i' AND (\n\
         p.pronamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid\n\
         OR (p.provolatile OPERATOR(pg_catalog.=) 'v' AND p.proname OPERATOR(pg_catalog.<>)\n\
         ALL (ARRAY['gen_random_uuid', 'uuidv4', 'uuidv7']::pg_catalog.name[]))\n\
         OR p.proname OPERATOR(pg_catalog.=) ANY (ARRAY['statement_timestamp', 'table_to_xml',\n\
         'table_to_xml_and_xmlschema', 'schema_to_xml', 'schema_to_xml_and_xmlschema',\n\
         'database_to_xml', 'database_to_xml_and_xmlschema']::pg_catalog.name[])))\n\
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_operator o\n\
         JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) o.oprcode\n\
         WHERE o.oprname OPERATOR(pg_catalog.=) ANY ({operators})\n\
         AND o.oprnamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid\n\
         AND p.provolatile OPERATOR(pg_catalog.<>) 'i')\n\
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_cast k\n\
         JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) k.castfunc\n\
         WHERE p.pronamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid\n\
         AND p.provolatile OPERATOR(pg_catalog.<>) 'i')\n\
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_type y\n\
         LEFT JOIN pg_catalog.pg_class r ON r.oid OPERATOR(pg_catalog.=) y.typrelid\n\
         WHERE y.typname OPERATOR(pg_catalog.=) ANY ({names})\n\
         AND y.typnamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid\n\
         AND (y.typtype OPERATOR(pg_catalog.=) ANY (ARRAY['d', 'r', 'm']::\"char\"[])\n\
         OR r.relkind OPERATOR(pg_catalog.=) 'c'))\n"
    )
}
