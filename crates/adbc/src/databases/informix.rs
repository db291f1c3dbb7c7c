//! Informix.

use super::{AdbcDatabase, Dialect, Length, like};
use crate::bound::Bound;
use crate::error::{Refusal, unsupported};
use crate::session::BoundRows;
use crate::target::Target;
use adbc_core::error::Result;
use arrow_schema::DataType;
use headrace_core::ValueKind;
use headrace_drivers::Informix;
use headrace_informix::machine::{Execute, ParameterRows, Request};
use headrace_informix::messages::server::ServerError;
use headrace_informix::types;
use std::sync::Arc;

impl AdbcDatabase for Informix {
    fn execution(_: &Target, sql: &Arc<str>, rows: BoundRows, _: Option<&Bound>) -> Result<Request> {
        let rows = match rows {
            BoundRows::One | BoundRows::OneOfMany => ParameterRows::One,
            BoundRows::Many | BoundRows::Bulk => ParameterRows::Batch,
        };
        Ok(Request::Execute(Execute { sql: sql.clone(), rows, begin: false, strategy: None }))
    }

    fn describe(_: &Arc<str>) -> Result<Request> {
        Err(unsupported("the schema of an Informix statement that is not executed"))
    }
}

impl Refusal for ServerError {
    fn vendor_code(&self) -> i32 {
        self.sqlcode
    }
    fn details(&self) -> Vec<(&'static str, String)> {
        let mut details = Vec::new();
        if self.isam != 0 {
            details.push(("informix:isam", self.isam.to_string()));
        }
        if self.offset > 0 {
            details.push(("informix:position", self.offset.to_string()));
        }
        details
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

/// Its SQL. The only catalog is the database of the session, and schemas are the owners of tables.
#[derive(Debug)]
pub struct Sql;

impl Dialect for Sql {
    fn vendor(&self) -> &'static str {
        "Informix"
    }
    fn structs(&self) -> ValueKind {
        ValueKind::Record
    }
    fn version_query(&self) -> &'static str {
        "SELECT DBINFO('version', 'full') FROM systables WHERE tabid = 1"
    }

    fn quote(&self, name: &str) -> String {
        <Informix as headrace_drivers::Database>::quote(name)
    }
    fn longest_name(&self) -> Length {
        // "Identifier", Informix Guide to SQL: Syntax.
        Length::Bytes(128)
    }
    fn qualified(&self, catalog: Option<&str>, schema: Option<&str>, table: &str) -> Result<String> {
        let schema = schema.filter(|schema| !schema.is_empty());
        let owner = schema.map(|owner| format!("'{}'.", owner.trim_end().replace('\'', "''")));
        let database = catalog.map(|catalog| format!("{}:", self.quote(catalog)));
        Ok(format!("{}{}{}", database.unwrap_or_default(), owner.unwrap_or_default(), self.quote(table)))
    }
    fn column_type(&self, ty: &DataType) -> Option<String> {
        Some(match ty {
            DataType::Boolean => "BOOLEAN".to_owned(),
            DataType::Int8 | DataType::UInt8 => "SMALLINT".to_owned(),
            // The smallest number of each type stands for NULL.
            DataType::Int16 | DataType::UInt16 => "INTEGER".to_owned(),
            DataType::Int32 | DataType::UInt32 | DataType::Int64 => "BIGINT".to_owned(),
            DataType::UInt64 => "DECIMAL(20, 0)".to_owned(),
            DataType::Float16 | DataType::Float32 => "SMALLFLOAT".to_owned(),
            DataType::Float64 => "FLOAT".to_owned(),
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale)
                if *scale >= 0 && *precision <= 32 =>
            {
                format!("DECIMAL({precision}, {scale})")
            }
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "LVARCHAR(2048)".to_owned(),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                "BYTE".to_owned()
            }
            DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
            DataType::Time32(_) | DataType::Time64(_) => "DATETIME HOUR TO FRACTION(5)".to_owned(),
            DataType::Timestamp(_, None) => "DATETIME YEAR TO FRACTION(5)".to_owned(),
            DataType::Duration(_) => "INTERVAL DAY(9) TO FRACTION(5)".to_owned(),
            _ => return None,
        })
    }
    fn json_type(&self) -> Option<String> {
        Some("LVARCHAR(2048)".to_owned())
    }
    fn uuid_type(&self) -> Option<String> {
        Some("CHAR(36)".to_owned())
    }
    fn create_temporary(&self) -> Result<&'static str> {
        Ok("CREATE TEMP TABLE")
    }
    fn drop_temporary(&self) -> Result<&'static str> {
        Err(unsupported("replacing a temporary table of Informix: DROP TABLE would drop another table of its name"))
    }
    fn makes_tables_in_transactions(&self) -> bool {
        true
    }

    fn current_catalog(&self) -> &'static str {
        "SELECT DBINFO('dbname') FROM systables WHERE tabid = 1"
    }
    fn current_schema(&self) -> &'static str {
        "SELECT USER FROM systables WHERE tabid = 1"
    }

    fn table_types(&self) -> &'static [&'static str] {
        &["table", "view", "synonym"]
    }
    fn catalogs(&self) -> &'static str {
        "SELECT DBINFO('dbname') FROM systables WHERE tabid = 1"
    }
    fn schemas(&self) -> &'static str {
        "SELECT DISTINCT DBINFO('dbname'), TRIM(owner) FROM systables WHERE tabname NOT LIKE ' %' ORDER BY 2"
    }
    fn tables(&self) -> &'static str {
        "SELECT DBINFO('dbname'), TRIM(owner), tabname, CASE tabtype WHEN 'T' THEN 'table' WHEN 'V' THEN 'view' \
         ELSE 'synonym' END FROM systables WHERE tabtype IN ('T', 'V', 'S', 'P') AND tabname NOT LIKE ' %' ORDER BY 2, 3"
    }
    fn columns(&self, table: Option<&str>) -> String {
        format!(
            "SELECT DBINFO('dbname'), TRIM(t.owner), t.tabname, c.colname, c.colno, NULL::VARCHAR(1), \
             c.coltype || ',' || c.collength || ',' || NVL(x.name, ''), NULL::INTEGER, NULL::INTEGER, NULL::INTEGER, \
             CASE WHEN MOD(c.coltype, 512) >= 256 THEN 'NO' ELSE 'YES' END, NULL::VARCHAR(1), NULL::INTEGER, \
             CASE WHEN MOD(c.coltype, 256) IN (6, 18, 53) THEN 'YES' ELSE 'NO' END, 'NO' \
             FROM systables t JOIN syscolumns c ON c.tabid = t.tabid \
             LEFT JOIN sysxtdtypes x ON x.extended_id = c.extended_id WHERE t.tabtype IN ('T', 'V', 'S', 'P'){} \
             ORDER BY 2, 3, 5",
            like("t.tabname", table)
        )
    }
    fn constraints(&self, _: Option<&str>) -> Option<String> {
        None
    }
    fn type_name(&self, found: &str) -> String {
        let mut parts = found.splitn(3, ',').map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        match (next().parse(), next().parse(), next()) {
            // The name is that of a type that has no number of its own, such as LVARCHAR.
            (Ok(ty), Ok(length), name) => types::name(ty, name, length),
            _ => found.to_owned(),
        }
    }
}
