//! PostgreSQL.

use super::{AdbcDatabase, Dialect, Length, Machine, item, like};
use crate::bound::Bound;
use crate::error::{Refusal, unsupported};
use crate::session::BoundRows;
use crate::target::Target;
use adbc_core::error::Result;
use arrow_schema::DataType;
use headrace_core::{Diagnostics as _, Parameters as _, ValueKind};
use headrace_drivers::Postgres;
use headrace_postgres::limits;
use headrace_postgres::machine::{Execute, ParameterRows, Prepare, Request};
use headrace_postgres::messages::backend::ServerError;
use headrace_postgres::sql::{is_several, parameters};
use headrace_postgres::types::{self, Oid};
use std::sync::Arc;

/// The parameter that is off for a pooler without prepared statements.
const PREPARED: &str = "prepared";

/// The SQLSTATE of a statement that the server connection does not have: `invalid_sql_statement_name`.
const UNKNOWN_STATEMENT: &str = "26000";

impl AdbcDatabase for Postgres {
    fn execution(target: &Target, sql: &Arc<str>, rows: BoundRows, bound: Option<&Bound>) -> Result<Request> {
        if rows == BoundRows::One && bound.is_none() && is_several(sql) {
            return Ok(Request::Script { sql: sql.clone(), prelude: None, copy: false });
        }
        let mut execute = Execute::new(sql.clone());
        if !target.switch(PREPARED, true)? {
            execute.prepare = Prepare::Unnamed;
        }
        match rows {
            BoundRows::One => {
                execute.hints = bound.map(hints).unwrap_or_default();
                // With one type more the server would take one value more.
                execute.hints.truncate(parameters(sql));
            }
            BoundRows::OneOfMany => {}
            BoundRows::Many | BoundRows::Bulk => {
                execute.rows = ParameterRows::Batch;
                execute.copy_after = Some(if rows == BoundRows::Bulk { 1 } else { limits::COPY_AFTER_ROWS });
                execute.join_from = Some(limits::JOIN_FROM_ROWS);
            }
        }
        Ok(Request::Execute(execute))
    }

    fn roles(target: &Target) -> Vec<&str> {
        match target.setting("target_session_attrs").unwrap_or("any") {
            "prefer-standby" => vec!["standby", "any"],
            role => vec![role],
        }
    }

    fn has_role(machine: &Machine<Self>, role: &str) -> Result<bool> {
        if role == "any" {
            return Ok(true);
        }
        let is_on = |name: &str| machine.parameters().get(name).map(|value| value == "on");
        let (Some(is_standby), Some(is_read_only)) = (is_on("in_hot_standby"), is_on("default_transaction_read_only"))
        else {
            return Err(unsupported("target_session_attrs with servers before PostgreSQL 14, which do not report it"));
        };
        let is_writable = !is_standby && !is_read_only;
        Ok(match role {
            "read-write" => is_writable,
            "read-only" => !is_writable,
            "primary" => !is_standby,
            _ => is_standby,
        })
    }

    fn server_version(machine: &Machine<Self>) -> Option<String> {
        machine.parameters().get("server_version").cloned()
    }
}

/// The types of the parameters, as far as the values determine them.
fn hints(bound: &Bound) -> Vec<Oid> {
    let row = bound.current();
    (0..row.count()).map(|i| row.get(i).map_or(0, |value| types::hint(&value))).collect()
}

impl Refusal for ServerError {
    fn vendor_code(&self) -> i32 {
        0
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        // "Error and Notice Message Fields", PostgreSQL manual.
        let name = |code: u8| {
            Some(match code {
                b'V' => "postgresql:severity",
                b'D' => "postgresql:detail",
                b'H' => "postgresql:hint",
                b'P' => "postgresql:position",
                b'q' => "postgresql:internal_query",
                b'W' => "postgresql:context",
                b's' => "postgresql:schema",
                b't' => "postgresql:table",
                b'c' => "postgresql:column",
                b'd' => "postgresql:data_type",
                b'n' => "postgresql:constraint",
                _ => return None,
            })
        };
        self.fields.iter().filter_map(|(code, text)| Some((name(*code)?, text.clone()))).collect()
    }

    fn text(&self) -> String {
        let detail = self.fields.iter().find(|(code, _)| *code == b'D').map(|(_, text)| format!(" ({text})"));
        let hint = match self.sqlstate() {
            UNKNOWN_STATEMENT => "; with a pooler that assigns server connections by transaction, set prepared=0",
            _ => "",
        };
        format!("{}{}{hint}", self.message(), detail.unwrap_or_default())
    }
}

/// Its SQL.
#[derive(Debug)]
pub struct Sql;

impl Dialect for Sql {
    fn vendor(&self) -> &'static str {
        "PostgreSQL"
    }
    fn structs(&self) -> ValueKind {
        ValueKind::Other
    }
    fn version_query(&self) -> &'static str {
        "SHOW server_version"
    }

    fn quote(&self, name: &str) -> String {
        <Postgres as headrace_drivers::Database>::quote(name)
    }
    // A catalog can only be the current database: the server checks it.
    fn qualified(&self, catalog: Option<&str>, schema: Option<&str>, table: &str) -> Result<String> {
        let parts = [catalog.filter(|_| schema.is_some()), schema, Some(table)];
        Ok(parts.into_iter().flatten().map(|part| self.quote(part)).collect::<Vec<_>>().join("."))
    }
    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }
    fn column_type(&self, ty: &DataType) -> Option<String> {
        Some(match ty {
            DataType::Boolean => "BOOLEAN".to_owned(),
            DataType::Int8 | DataType::Int16 | DataType::UInt8 => "SMALLINT".to_owned(),
            DataType::Int32 | DataType::UInt16 => "INTEGER".to_owned(),
            DataType::Int64 | DataType::UInt32 => "BIGINT".to_owned(),
            DataType::UInt64 => "NUMERIC(20, 0)".to_owned(),
            DataType::Float16 | DataType::Float32 => "REAL".to_owned(),
            DataType::Float64 => "DOUBLE PRECISION".to_owned(),
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => format!("NUMERIC({precision}, {scale})"),
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "TEXT".to_owned(),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                "BYTEA".to_owned()
            }
            DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
            DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
            DataType::Timestamp(_, None) => "TIMESTAMP".to_owned(),
            DataType::Timestamp(_, Some(_)) => "TIMESTAMPTZ".to_owned(),
            DataType::Duration(_) | DataType::Interval(_) => "INTERVAL".to_owned(),
            DataType::Struct(_) | DataType::Map(..) => "JSONB".to_owned(),
            other => format!("{}[]", self.column_type(item(other)?)?.trim_end_matches("[]")),
        })
    }
    fn json_type(&self) -> Option<String> {
        Some("JSON".to_owned())
    }
    fn uuid_type(&self) -> Option<String> {
        Some("UUID".to_owned())
    }
    fn ingested(&self, name: &str, table: &str, temporary: bool) -> Result<String> {
        Ok(if temporary { format!("pg_temp.{}", self.quote(table)) } else { name.to_owned() })
    }
    fn finding(&self, name: &str) -> Option<String> {
        let name = name.replace('\'', "''").replace('\\', "\\\\");
        Some(format!("SELECT pg_catalog.to_regclass(E'{name}')::text"))
    }
    fn longest_name(&self) -> Length {
        Length::Bytes(limits::NAME_BYTES)
    }
    fn longest_name_query(&self) -> Option<&'static str> {
        Some("SHOW max_identifier_length")
    }
    fn has_one_catalog(&self) -> bool {
        true
    }
    fn schema_of(&self, table: &str, appended: bool) -> Option<String> {
        if !appended {
            return Some("SELECT current_schema()::text".to_owned());
        }
        // A temporary table is found before all others, though its schema is not on the path.
        let name = table.replace('\'', "''").replace('\\', "\\\\");
        Some(format!(
            "SELECT coalesce((SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
             ON n.oid = c.relnamespace JOIN unnest(current_schemas(false)) WITH ORDINALITY AS path(name, at) \
             ON path.name = n.nspname WHERE c.relname = E'{name}' AND c.relkind IN ('r', 'p', 'v', 'f') \
             ORDER BY path.at LIMIT 1), current_schema())::text"
        ))
    }
    fn drop_temporary(&self) -> Result<&'static str> {
        Ok("DROP TABLE")
    }
    fn makes_tables_in_transactions(&self) -> bool {
        true
    }

    fn current_catalog(&self) -> &'static str {
        "SELECT current_database()::text"
    }
    fn current_schema(&self) -> &'static str {
        "SELECT current_schema()::text"
    }
    fn set_schema(&self, name: &str) -> Option<String> {
        Some(format!("SET search_path TO {}", self.quote(name)))
    }

    fn table_types(&self) -> &'static [&'static str] {
        &["table", "view", "materialized_view", "foreign_table", "partitioned_table"]
    }
    fn catalogs(&self) -> &'static str {
        "SELECT datname::text FROM pg_catalog.pg_database ORDER BY 1"
    }
    fn schemas(&self) -> &'static str {
        "SELECT current_database()::text, nspname::text FROM pg_catalog.pg_namespace \
         WHERE nspname !~ '^pg_(toast|temp)' ORDER BY 2"
    }
    fn is_own_schema(&self, name: &str) -> bool {
        matches!(name, "pg_catalog" | "information_schema")
    }
    fn tables(&self) -> &'static str {
        "SELECT current_database()::text, n.nspname::text, c.relname::text, CASE c.relkind WHEN 'r' THEN 'table' \
         WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized_view' WHEN 'f' THEN 'foreign_table' \
         ELSE 'partitioned_table' END \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname !~ '^pg_(toast|temp)' ORDER BY 2, 3"
    }
    fn columns(&self, table: Option<&str>) -> String {
        format!(
            "SELECT current_database()::text, n.nspname::text, c.relname::text, a.attname::text, a.attnum::int, \
             pg_catalog.col_description(c.oid, a.attnum), pg_catalog.format_type(a.atttypid, a.atttypmod), \
             CASE WHEN a.atttypmod < 4 THEN NULL WHEN a.atttypid IN (1042, 1043) THEN a.atttypmod - 4 \
             WHEN a.atttypid = 1700 THEN ((a.atttypmod - 4) >> 16) & 65535 END, \
             CASE WHEN a.atttypid = 1700 AND a.atttypmod >= 4 THEN (a.atttypmod - 4) & 2047 END, \
             CASE WHEN a.atttypid IN (21, 23, 20, 1700) THEN 10 WHEN a.atttypid IN (700, 701) THEN 2 END, \
             CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END, \
             CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END, NULL::int, \
             a.attidentity <> '' OR coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%', \
             a.attgenerated <> '' \
             FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', 'f', 'p') \
             AND n.nspname !~ '^pg_(toast|temp)'{} ORDER BY 2, 3, 5",
            like("c.relname", table)
        )
    }
    fn constraints(&self, table: Option<&str>) -> Option<String> {
        Some(format!(
            "SELECT current_database()::text, n.nspname::text, c.relname::text, k.conname::text, CASE k.contype \
             WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' WHEN 'f' THEN 'FOREIGN KEY' ELSE 'CHECK' END, \
             a.attname::text, CASE WHEN k.contype = 'f' THEN current_database()::text END, fn.nspname::text, \
             fc.relname::text, fa.attname::text \
             FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN LATERAL generate_subscripts(k.conkey, 1) AS at(i) ON true \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[at.i] \
             LEFT JOIN pg_catalog.pg_class fc ON fc.oid = k.confrelid \
             LEFT JOIN pg_catalog.pg_namespace fn ON fn.oid = fc.relnamespace \
             LEFT JOIN pg_catalog.pg_attribute fa ON fa.attrelid = fc.oid AND fa.attnum = k.confkey[at.i] \
             WHERE k.contype IN ('p', 'u', 'f', 'c'){} ORDER BY n.nspname, c.relname, k.conname, at.i",
            like("c.relname", table)
        ))
    }
    fn statistics(&self, table: Option<&str>) -> Option<String> {
        // A number of distinct values below 0 is a share of the rows.
        Some(format!(
            "WITH t AS (SELECT n.nspname, c.relname, c.relkind, c.reltuples::float8 AS count \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'm', 'f', 'p') AND c.reltuples >= 0 AND n.nspname !~ '^pg_(toast|temp)'{}) \
             SELECT current_database()::text, t.nspname::text, t.relname::text, NULL::text AS attname, 6, \
             t.count::bigint FROM t \
             UNION ALL SELECT current_database()::text, t.nspname::text, t.relname::text, s.attname::text, k.key, \
             CASE k.key WHEN 0 THEN s.avg_width WHEN 5 THEN round(s.null_frac * t.count) \
             ELSE CASE WHEN s.n_distinct < 0 THEN round(-s.n_distinct * t.count) ELSE s.n_distinct END END::bigint \
             FROM t JOIN pg_catalog.pg_stats s ON s.schemaname = t.nspname AND s.tablename = t.relname \
             AND s.inherited = (t.relkind = 'p') CROSS JOIN (VALUES (0), (1), (5)) AS k(key) \
             ORDER BY 2, 3, 4 NULLS FIRST, 5",
            like("c.relname", table)
        ))
    }
}
