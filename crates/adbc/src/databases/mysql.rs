//! MySQL and MariaDB.

use super::{AdbcDatabase, Dialect, Length, Zone, like};
use crate::bound::Bound;
use crate::error::{Refusal, unsupported};
use crate::session::BoundRows;
use crate::target::Target;
use adbc_core::error::Result;
use arrow_schema::{DataType, TimeUnit};
use headrace_core::ValueKind;
use headrace_drivers::MySql;
use headrace_mysql::machine::{AsText, BatchStrategy, Execute, ParameterRows, Request};
use headrace_mysql::packets::reply::ServerError;
use std::sync::Arc;

impl AdbcDatabase for MySql {
    fn execution(_: &Target, sql: &Arc<str>, rows: BoundRows, _: Option<&Bound>) -> Result<Request> {
        let rows = match rows {
            BoundRows::One | BoundRows::OneOfMany => ParameterRows::One,
            BoundRows::Many | BoundRows::Bulk => ParameterRows::Batch { strategy: BatchStrategy::Auto, atomic: true },
        };
        Ok(Request::Execute(Execute { facts: None, sql: sql.clone(), rows, text: AsText::IfUnprepared, cursor: None }))
    }
}

impl Refusal for ServerError {
    fn vendor_code(&self) -> i32 {
        self.code.into()
    }
    fn details(&self) -> Vec<(&'static str, String)> {
        vec![("mysql:sqlstate", self.sqlstate.clone())]
    }
    fn text(&self) -> String {
        let hint = match self.code {
            // The numbers of a LOAD DATA LOCAL without the client's capability: of MySQL 8 and MariaDB 11, and of all before.
            3948 | 4166 | 1148 => "; the driver sends no files: ingest record batches into the table (adbc_ingest)",
            _ => "",
        };
        format!("{self}{hint}")
    }
}

/// The digits of a fraction of a second that a unit needs, of which there are six at most.
fn digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond | TimeUnit::Nanosecond => 6,
    }
}

/// Returns true for lists of one length of numbers of at most 32 bits, which VECTOR has.
fn is_vector(ty: &DataType) -> bool {
    match ty {
        DataType::FixedSizeList(item, 1..) => matches!(item.data_type(), DataType::Float16 | DataType::Float32),
        _ => false,
    }
}

/// Returns true if a server of this version takes lists of numbers as a VECTOR. MariaDB's takes bytes only.
fn has_vectors(version: &str) -> bool {
    let major = version.split('.').next().and_then(|number| number.parse::<u32>().ok());
    !version.contains("MariaDB") && major.is_none_or(|major| major >= 9)
}

impl Zone for Sql {
    fn query(&self) -> &'static str {
        "SELECT @@SESSION.time_zone, @@GLOBAL.system_time_zone"
    }
    fn in_utc(&self) -> [&'static str; 2] {
        [
            "SET @headrace_time_zone = @@SESSION.time_zone, @@SESSION.time_zone = '+00:00'",
            "SET @@SESSION.time_zone = @headrace_time_zone",
        ]
    }
    fn columns(&self, name: &str) -> String {
        // Of temporary tables the information schema has none.
        format!("SHOW COLUMNS FROM {name}")
    }
    fn triggers(&self, catalog: Option<&str>, table: &str) -> String {
        let schema = catalog.map_or_else(|| "DATABASE()".to_owned(), literal);
        let table = literal(table);
        format!(
            "SELECT (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} \
             AND EVENT_OBJECT_TABLE = {table} AND EVENT_MANIPULATION = 'INSERT') + \
             (SELECT COUNT(*) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table})"
        )
    }
}

/// A text of SQL, in whatever mode of the session.
fn literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "''".to_owned() } else { format!("CONVERT(0x{digits} USING utf8mb4)") }
}

/// Its SQL. A database is a catalog, and there are no schemas in it: the only one has no name.
#[derive(Debug)]
pub struct Sql;

impl Dialect for Sql {
    fn vendor(&self) -> &'static str {
        "MySQL"
    }
    fn structs(&self) -> ValueKind {
        ValueKind::Json
    }
    fn version_query(&self) -> &'static str {
        "SELECT VERSION()"
    }

    fn quote(&self, name: &str) -> String {
        <MySql as headrace_drivers::Database>::quote(name)
    }
    fn identifier(&self, name: &str) -> Result<String> {
        // MySQL makes a question mark of others, so that two tables would be one; MariaDB refuses them.
        if let Some(other) = name.chars().find(|character| *character > '\u{ffff}') {
            let shown = headrace_core::shortened(name);
            return Err(unsupported(format!("the name '{shown}': names of MySQL do not have the character '{other}'")));
        }
        Ok(self.quote(name))
    }
    fn longest_name(&self) -> Length {
        // "Identifier Length Limits", MySQL manual.
        Length::Characters(64)
    }
    fn qualified(&self, catalog: Option<&str>, schema: Option<&str>, table: &str) -> Result<String> {
        let schema = schema.filter(|schema| !schema.is_empty());
        if catalog.is_some() && schema.is_some() {
            return Err(unsupported("schemas in a database of MySQL: name the database as the catalog"));
        }
        let parts = [catalog.or(schema), Some(table)];
        Ok(parts.into_iter().flatten().map(|part| self.identifier(part)).collect::<Result<Vec<_>>>()?.join("."))
    }
    fn column_type(&self, ty: &DataType) -> Option<String> {
        Some(match ty {
            DataType::Boolean => "BOOLEAN".to_owned(),
            DataType::Int8 => "TINYINT".to_owned(),
            DataType::Int16 => "SMALLINT".to_owned(),
            DataType::Int32 => "INT".to_owned(),
            DataType::Int64 => "BIGINT".to_owned(),
            DataType::UInt8 => "TINYINT UNSIGNED".to_owned(),
            DataType::UInt16 => "SMALLINT UNSIGNED".to_owned(),
            DataType::UInt32 => "INT UNSIGNED".to_owned(),
            DataType::UInt64 => "BIGINT UNSIGNED".to_owned(),
            DataType::Float16 | DataType::Float32 => "FLOAT".to_owned(),
            DataType::Float64 => "DOUBLE".to_owned(),
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale)
                if (0..=30).contains(scale) && *precision <= 65 =>
            {
                format!("DECIMAL({precision}, {scale})")
            }
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                // Whatever the database's own is: Arrow's text may be any.
                "LONGTEXT CHARACTER SET utf8mb4".to_owned()
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "LONGBLOB".to_owned(),
            DataType::FixedSizeBinary(bytes @ 1..=65_535) => format!("VARBINARY({bytes})"),
            DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
            DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => {
                format!("TIME({})", digits(*unit))
            }
            DataType::Timestamp(unit, None) => format!("DATETIME({})", digits(*unit)),
            DataType::Timestamp(unit, Some(_)) => format!("TIMESTAMP({}) NULL", digits(*unit)),
            DataType::Struct(_) | DataType::Map(..) => "JSON".to_owned(),
            DataType::FixedSizeList(_, length) if is_vector(ty) => format!("VECTOR({length})"),
            // Any other list is several values for this database, not JSON.
            _ => return None,
        })
    }
    fn missing_type(&self, ty: &DataType, version: &mut dyn FnMut() -> Result<String>) -> Result<Option<String>> {
        if !is_vector(ty) {
            return Ok(None);
        }
        let version = version()?;
        let reason = || format!("it is {version}, and VECTOR is in MySQL from version 9.0 on");
        Ok(Some(reason()).filter(|_| !has_vectors(&version)))
    }
    fn json_type(&self) -> Option<String> {
        Some("JSON".to_owned())
    }
    fn uuid_type(&self) -> Option<String> {
        Some("CHAR(36)".to_owned())
    }
    fn drop_temporary(&self) -> Result<&'static str> {
        Ok("DROP TEMPORARY TABLE")
    }
    fn definition(&self, name: &str) -> Option<String> {
        Some(format!("SHOW CREATE TABLE {name}"))
    }
    fn zone(&self) -> Option<&'static dyn Zone> {
        Some(&Self)
    }
    fn makes_tables_in_transactions(&self) -> bool {
        false
    }
    fn foreign_key_checks(&self) -> Option<(&'static str, [&'static str; 2])> {
        let set = ["SET SESSION foreign_key_checks = 1", "SET SESSION foreign_key_checks = 0"];
        Some(("SELECT @@SESSION.foreign_key_checks", set))
    }

    fn current_catalog(&self) -> &'static str {
        "SELECT DATABASE()"
    }
    fn current_schema(&self) -> &'static str {
        "SELECT ''"
    }
    fn set_catalog(&self, name: &str) -> Option<String> {
        Some(format!("USE {}", self.quote(name)))
    }

    fn table_types(&self) -> &'static [&'static str] {
        &["table", "view", "system_view"]
    }
    fn catalogs(&self) -> &'static str {
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1"
    }
    fn schemas(&self) -> &'static str {
        "SELECT SCHEMA_NAME, '' FROM information_schema.SCHEMATA ORDER BY 1"
    }
    fn tables(&self) -> &'static str {
        "SELECT TABLE_SCHEMA, '', TABLE_NAME, CASE TABLE_TYPE WHEN 'VIEW' THEN 'view' \
         WHEN 'SYSTEM VIEW' THEN 'system_view' ELSE 'table' END FROM information_schema.TABLES ORDER BY 1, 3"
    }
    fn columns(&self, table: Option<&str>) -> String {
        format!(
            "SELECT TABLE_SCHEMA, '', TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, NULLIF(COLUMN_COMMENT, ''), COLUMN_TYPE, \
             COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, DATETIME_PRECISION), NUMERIC_SCALE, \
             CASE WHEN NUMERIC_PRECISION IS NOT NULL THEN 10 END, IS_NULLABLE, COLUMN_DEFAULT, CHARACTER_OCTET_LENGTH, \
             EXTRA LIKE '%auto_increment%', EXTRA LIKE '%VIRTUAL%' OR EXTRA LIKE '%STORED%' \
             FROM information_schema.COLUMNS WHERE 1 = 1{} ORDER BY 1, 3, 5",
            like("TABLE_NAME", table)
        )
    }
    fn constraints(&self, table: Option<&str>) -> Option<String> {
        Some(format!(
            "SELECT t.TABLE_SCHEMA, '', t.TABLE_NAME, t.CONSTRAINT_NAME, t.CONSTRAINT_TYPE, k.COLUMN_NAME, \
             k.REFERENCED_TABLE_SCHEMA, CASE WHEN k.REFERENCED_TABLE_NAME IS NOT NULL THEN '' END, \
             k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME \
             FROM information_schema.TABLE_CONSTRAINTS t LEFT JOIN information_schema.KEY_COLUMN_USAGE k \
             ON k.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND k.TABLE_SCHEMA = t.TABLE_SCHEMA \
             AND k.TABLE_NAME = t.TABLE_NAME AND k.CONSTRAINT_NAME = t.CONSTRAINT_NAME \
             WHERE 1 = 1{} ORDER BY 1, 3, 4, k.ORDINAL_POSITION",
            like("t.TABLE_NAME", table)
        ))
    }
    fn statistics(&self, table: Option<&str>) -> Option<String> {
        let tables = like("TABLE_NAME", table);
        Some(format!(
            "SELECT TABLE_SCHEMA, '', TABLE_NAME, CAST(NULL AS CHAR), 6, TABLE_ROWS FROM information_schema.TABLES \
             WHERE TABLE_ROWS IS NOT NULL{tables} \
             UNION ALL SELECT TABLE_SCHEMA, '', TABLE_NAME, COLUMN_NAME, 1, MAX(CARDINALITY) \
             FROM information_schema.STATISTICS WHERE SEQ_IN_INDEX = 1 AND CARDINALITY IS NOT NULL{tables} \
             GROUP BY TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME ORDER BY 1, 3, 4"
        ))
    }
}
