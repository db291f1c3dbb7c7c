//! CUBRID.

use super::{AdbcDatabase, Dialect, Length, like};
use crate::bound::Bound;
use crate::error::{Refusal, unsupported};
use crate::session::BoundRows;
use crate::target::Target;
use adbc_core::error::Result;
use arrow_schema::DataType;
use headrace_core::ValueKind;
use headrace_cubrid::machine::{BatchStrategy, Execute, ParameterRows, Request};
use headrace_cubrid::messages::server::{Origin, ServerError};
use headrace_drivers::Cubrid;
use std::sync::Arc;

impl AdbcDatabase for Cubrid {
    fn execution(_: &Target, sql: &Arc<str>, rows: BoundRows, _: Option<&Bound>) -> Result<Request> {
        let rows = match rows {
            BoundRows::One | BoundRows::OneOfMany => ParameterRows::One,
            BoundRows::Many | BoundRows::Bulk => ParameterRows::Batch { strategy: BatchStrategy::Auto, atomic: true },
        };
        Ok(Request::Execute(Execute { facts: None, sql: sql.clone(), rows, begin: false }))
    }
}

impl Refusal for ServerError {
    fn vendor_code(&self) -> i32 {
        self.code
    }
    fn details(&self) -> Vec<(&'static str, String)> {
        let source = match self.origin {
            Origin::Cas => "cas",
            Origin::Dbms => "server",
        };
        vec![("cubrid:source", source.to_owned())]
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
        "CUBRID"
    }
    fn structs(&self) -> ValueKind {
        ValueKind::Json
    }
    fn version_query(&self) -> &'static str {
        "SELECT VERSION()"
    }

    fn quote(&self, name: &str) -> String {
        <Cubrid as headrace_drivers::Database>::quote(name)
    }
    fn identifier(&self, name: &str) -> Result<String> {
        if name.contains('?') {
            let shown = headrace_core::shortened(name);
            return Err(unsupported(format!(
                "the name '{shown}': CUBRID's broker takes the ? within it for a parameter"
            )));
        }
        Ok(self.quote(name))
    }
    fn longest_name(&self) -> Length {
        // "Identifier", CUBRID manual.
        Length::Bytes(254)
    }
    fn has_one_catalog(&self) -> bool {
        true
    }
    fn qualified(&self, _: Option<&str>, schema: Option<&str>, table: &str) -> Result<String> {
        let parts = [schema.filter(|schema| !schema.is_empty()), Some(table)];
        Ok(parts.into_iter().flatten().map(|part| self.identifier(part)).collect::<Result<Vec<_>>>()?.join("."))
    }
    fn column_type(&self, ty: &DataType) -> Option<String> {
        Some(match ty {
            // There are no truth values.
            DataType::Boolean | DataType::Int8 | DataType::UInt8 | DataType::Int16 => "SMALLINT".to_owned(),
            DataType::Int32 | DataType::UInt16 => "INTEGER".to_owned(),
            DataType::Int64 | DataType::UInt32 => "BIGINT".to_owned(),
            DataType::UInt64 => "NUMERIC(20, 0)".to_owned(),
            DataType::Float16 | DataType::Float32 => "FLOAT".to_owned(),
            DataType::Float64 => "DOUBLE".to_owned(),
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale)
                if *scale >= 0 && *precision <= 38 =>
            {
                format!("NUMERIC({precision}, {scale})")
            }
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".to_owned(),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                "BIT VARYING".to_owned()
            }
            DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
            DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
            DataType::Timestamp(_, None) => "DATETIME".to_owned(),
            DataType::Timestamp(_, Some(_)) => "DATETIMELTZ".to_owned(),
            DataType::Struct(_) | DataType::Map(..) => "JSON".to_owned(),
            // A list is several values for this database, not JSON.
            _ => return None,
        })
    }
    fn json_type(&self) -> Option<String> {
        Some("JSON".to_owned())
    }
    fn uuid_type(&self) -> Option<String> {
        Some("CHAR(36)".to_owned())
    }
    fn create_temporary(&self) -> Result<&'static str> {
        Err(unsupported("CUBRID has no temporary tables"))
    }
    fn drop_temporary(&self) -> Result<&'static str> {
        Err(unsupported("CUBRID has no temporary tables"))
    }
    fn makes_tables_in_transactions(&self) -> bool {
        true
    }

    fn current_catalog(&self) -> &'static str {
        "SELECT DATABASE()"
    }
    fn current_schema(&self) -> &'static str {
        "SELECT CURRENT_USER"
    }

    fn table_types(&self) -> &'static [&'static str] {
        &["table", "view"]
    }
    fn catalogs(&self) -> &'static str {
        "SELECT DATABASE()"
    }
    fn schemas(&self) -> &'static str {
        "SELECT DATABASE(), name FROM db_user ORDER BY 2"
    }
    fn tables(&self) -> &'static str {
        "SELECT DATABASE(), owner_name, class_name, CASE class_type WHEN 'CLASS' THEN 'table' ELSE 'view' END \
         FROM db_class WHERE is_system_class = 'NO' ORDER BY 2, 3"
    }
    fn columns(&self, table: Option<&str>) -> String {
        format!(
            "SELECT DATABASE(), owner_name, class_name, attr_name, def_order + 1, NULL, data_type, prec, scale, NULL, \
             is_nullable, default_value FROM db_attribute WHERE attr_type = 'INSTANCE'{} ORDER BY 2, 3, 5",
            like("class_name", table)
        )
    }
    fn constraints(&self, _: Option<&str>) -> Option<String> {
        None
    }
}
