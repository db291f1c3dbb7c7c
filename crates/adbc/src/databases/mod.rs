//! What differs between databases: how a session is opened and a statement sent, and the SQL of tables and metadata.

mod cubrid;
mod informix;
mod mysql;
mod postgres;

use crate::bound::Bound;
use crate::call::Call;
use crate::error::{Refusal, unsupported};
use crate::session::{BlockingSession, BoundRows, Live};
use crate::target::Target;
use adbc_core::error::Result;
use arrow_schema::DataType;
use headrace_core::ValueKind;
use headrace_core::column::{Column, ColumnKind};
use headrace_drivers::{Cubrid, Database, Driver, Informix, MySql, Postgres};
use std::borrow::Cow;
use std::sync::Arc;

/// What this driver needs of a database beside [`headrace_drivers::Database`].
pub trait AdbcDatabase: Database<Error: Refusal> {
    /// The execution of a statement on a connection to a target.
    ///
    /// # Errors
    /// A setting cannot be used.
    fn execution(target: &Target, sql: &Arc<str>, rows: BoundRows, bound: Option<&Bound>) -> Result<Self::Request>;
    /// The description of a statement's columns.
    ///
    /// # Errors
    /// The protocol has none.
    fn describe(sql: &Arc<str>) -> Result<Self::Request> {
        Ok(Self::prepare(sql.clone()))
    }
    /// The roles of the servers that the target asks for, the first of which that any server has is chosen: of each the
    /// name for [`AdbcDatabase::has_role`].
    fn roles(_: &Target) -> Vec<&str> {
        vec![""]
    }
    /// Returns true if the server of an open session has a role.
    ///
    /// # Errors
    /// The server does not report its role.
    fn has_role(_: &Machine<Self>, _: &str) -> Result<bool> {
        Ok(true)
    }
    /// The server's version, if it was reported when the session was opened.
    fn server_version(_: &Machine<Self>) -> Option<String> {
        None
    }
}

/// The response handler of a database's requests.
pub type Handler<D> = Call<<D as Database>::Columns, <D as Database>::Error>;
/// The machine of a database.
pub type Machine<D> = <D as Database>::Machine<Handler<D>>;

/// The time zone of a session, in a database whose values have none.
pub trait Zone: Sync {
    /// The query for the session's zone, and the system's.
    fn query(&self) -> &'static str;
    /// The statements that set it to UTC and back.
    fn in_utc(&self) -> [&'static str; 2];
    /// The query for the columns of a table, temporary ones too, in order: name, type, and of no interest here two
    /// more, the default, and how the server computes its values. `name` is quoted.
    fn columns(&self, name: &str) -> String;
    /// The query for the number of triggers that a table has; of a view it is not 0.
    fn triggers(&self, catalog: Option<&str>, table: &str) -> String;
}

/// The length of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// In bytes.
    Bytes(usize),
    /// In characters.
    Characters(usize),
}

impl Length {
    /// By what a longer name exceeds it, as a message has it.
    pub fn exceeded(self, name: &str) -> Option<String> {
        let (length, longest, unit) = match self {
            Self::Bytes(longest) => (name.len(), longest, "bytes"),
            Self::Characters(longest) => (name.chars().count(), longest, "characters"),
        };
        (length > longest).then(|| format!("{length} {unit}, and its names at most {longest}"))
    }
}

/// The SQL of a database.
///
/// The queries for metadata return text, and whole numbers.
pub trait Dialect: Send + Sync + std::fmt::Debug {
    /// The name of the database, as its vendor writes it.
    fn vendor(&self) -> &'static str;
    /// What the structs of a bound record batch become.
    fn structs(&self) -> ValueKind;
    /// The query for the server's version.
    fn version_query(&self) -> &'static str;

    /// A name as an identifier.
    fn quote(&self, name: &str) -> String;
    /// A name as an identifier of a statement.
    ///
    /// # Errors
    /// A statement cannot have it.
    fn identifier(&self, name: &str) -> Result<String> {
        Ok(self.quote(name))
    }
    /// The longest name that a statement may have.
    fn longest_name(&self) -> Length;
    /// The query for that of the server, in bytes, where it may have been built with another.
    fn longest_name_query(&self) -> Option<&'static str> {
        None
    }
    /// A table's name with those of its catalog and schema.
    ///
    /// # Errors
    /// The database has no such tables.
    fn qualified(&self, catalog: Option<&str>, schema: Option<&str>, table: &str) -> Result<String>;
    /// Parameter `number` of a statement, counted from 1.
    fn placeholder(&self, _number: usize) -> String {
        "?".to_owned()
    }
    /// The query for whether a table is there, whose value is NULL if not, of a database where a statement about one that
    /// is not there would fail the transaction. `name` is quoted.
    fn finding(&self, _name: &str) -> Option<String> {
        None
    }
    /// A query for the columns of a table, without its rows.
    fn no_rows(&self, table: &str) -> String {
        format!("SELECT * FROM {table} WHERE 1 = 0")
    }

    /// The type for the values of a column; `None` if there is none.
    fn column_type(&self, ty: &DataType) -> Option<String>;
    /// Why the server has no type for the values of a column, though others of its kind have: older versions than the one
    /// that brought it. `version` asks for the server's own.
    ///
    /// # Errors
    /// Those of `version`.
    fn missing_type(&self, _ty: &DataType, _version: &mut dyn FnMut() -> Result<String>) -> Result<Option<String>> {
        Ok(None)
    }
    /// The type for JSON documents.
    fn json_type(&self) -> Option<String>;
    /// The type for UUIDs.
    fn uuid_type(&self) -> Option<String>;
    /// How a statement that makes a temporary table begins.
    ///
    /// # Errors
    /// The database has none.
    fn create_temporary(&self) -> Result<&'static str> {
        Ok("CREATE TEMPORARY TABLE")
    }
    /// How a statement that drops a temporary table, and no other of its name, begins.
    ///
    /// # Errors
    /// The database has none.
    fn drop_temporary(&self) -> Result<&'static str>;
    /// The name of a table to ingest into: of a temporary one it must not be that of another table.
    ///
    /// # Errors
    /// The database has no such tables.
    fn ingested(&self, name: &str, _table: &str, _temporary: bool) -> Result<String> {
        Ok(name.to_owned())
    }
    /// The connection's catalog is the only one that its statements reach.
    fn has_one_catalog(&self) -> bool {
        false
    }
    /// The query for the schema of a table that is named without one, so that no temporary table of its name is meant:
    /// that of a table that is there, if it is `appended` to and there is one, or else that of one that is created.
    fn schema_of(&self, _table: &str, _appended: bool) -> Option<String> {
        None
    }
    /// The query whose second column begins with `CREATE TEMPORARY` if a name is that of a temporary table, of a database
    /// where there is no other name for a permanent one.
    fn definition(&self, _name: &str) -> Option<String> {
        None
    }
    /// Of a database whose values have no zone: how instants are inserted.
    fn zone(&self) -> Option<&'static dyn Zone> {
        None
    }
    /// Tables can be made and dropped in a transaction, which a failure undoes.
    fn makes_tables_in_transactions(&self) -> bool;
    /// The statement that gives tables other names, all of them at once or none, of a database that does not make
    /// tables in transactions.
    fn renamed(&self, pairs: &[[&str; 2]]) -> String {
        let pairs = pairs.iter().map(|[from, to]| format!("{from} TO {to}")).collect::<Vec<_>>();
        format!("RENAME TABLE {}", pairs.join(", "))
    }
    /// The query whose value is `0` if the session may drop a table to which foreign keys of other tables refer, and the
    /// statements that forbid and allow it.
    fn foreign_key_checks(&self) -> Option<(&'static str, [&'static str; 2])> {
        None
    }

    /// The query for the current catalog.
    fn current_catalog(&self) -> &'static str;
    /// The query for the current schema.
    fn current_schema(&self) -> &'static str;
    /// The statement that changes the current catalog.
    fn set_catalog(&self, _name: &str) -> Option<String> {
        None
    }
    /// The statement that changes the current schema.
    fn set_schema(&self, _name: &str) -> Option<String> {
        None
    }

    /// The types of tables.
    fn table_types(&self) -> &'static [&'static str];
    /// The query for catalogs.
    fn catalogs(&self) -> &'static str;
    /// The query for schemas: catalog, schema.
    fn schemas(&self) -> &'static str;
    /// A schema is the server's own: its objects are those of a program that asks for it by a filter.
    fn is_own_schema(&self, _name: &str) -> bool {
        false
    }
    /// The query for tables: catalog, schema, table, type.
    fn tables(&self) -> &'static str;
    /// The query for columns, in the order of their tables: catalog, schema, table, column, position, remarks, type,
    /// size, digits after the point, radix, `YES` or `NO` for nullable, default, bytes, whether it is numbered by the
    /// server, whether it is generated. `table` is a pattern of which the query may make use.
    fn columns(&self, table: Option<&str>) -> String;
    /// The query for constraints, in order: catalog, schema, table, name, type, column, and the catalog, schema, table
    /// and column that it refers to; `None` if the driver has none.
    fn constraints(&self, table: Option<&str>) -> Option<String>;
    /// The query for the statistics of the server's planner, in order: catalog, schema, table, column or NULL, the key
    /// of ADBC's statistic, its value; `None` if the driver has none.
    fn statistics(&self, _table: Option<&str>) -> Option<String> {
        None
    }
    /// The name of a type, of what the query for columns returns.
    fn type_name(&self, found: &str) -> String {
        found.to_owned()
    }
}

/// A condition that a name matches a pattern of LIKE, to be appended to others; nothing without a pattern.
fn like(column: &str, pattern: Option<&str>) -> String {
    match pattern {
        // A backslash is an escape in some databases and in some modes only.
        Some(pattern) if !pattern.is_empty() && !pattern.contains('\\') => {
            format!(" AND {column} LIKE '{}'", pattern.replace('\'', "''"))
        }
        _ => String::new(),
    }
}

/// The type of the items of a list.
fn item(ty: &DataType) -> Option<&DataType> {
    match ty {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item.data_type()),
        _ => None,
    }
}

/// How sessions of a database are opened.
type Open = fn(&Target) -> Result<Box<dyn BlockingSession>>;

/// The databases that this driver opens: of each its SQL, and how its sessions are opened.
static DATABASES: [(&Driver, &dyn Dialect, Open); 4] = [
    (Postgres::DRIVER, &postgres::Sql, opened::<Postgres>),
    (MySql::DRIVER, &mysql::Sql, opened::<MySql>),
    (Informix::DRIVER, &informix::Sql, opened::<Informix>),
    (Cubrid::DRIVER, &cubrid::Sql, opened::<Cubrid>),
];

fn entry(driver: &Driver) -> Result<(&'static dyn Dialect, Open)> {
    let found = DATABASES.iter().find(|(known, ..)| *known == driver);
    found
        .map(|(_, dialect, open)| (*dialect, *open))
        .ok_or_else(|| unsupported(format!("the ADBC driver does not open {} databases", driver.title)))
}

/// The SQL of a database.
///
/// # Errors
/// This driver does not open it.
pub fn dialect(driver: &Driver) -> Result<&'static dyn Dialect> {
    Ok(entry(driver)?.0)
}

/// The metadata of a field that names the type of its column, as the drivers of the ADBC driver foundry write it; none if
/// the name is not known.
pub fn type_name(column: &Column) -> Option<(String, String)> {
    let name = column.native.type_name().map(Cow::into_owned).or_else(|| other(&column.kind));
    name.filter(|name| !name.is_empty()).map(|name| (format!("{}:type", column.native.system()), name))
}

/// The name of a type that only one database has.
fn other(kind: &ColumnKind) -> Option<String> {
    if let ColumnKind::Other(name) = kind { Some(name.to_string()) } else { None }
}

/// Opens a session.
///
/// # Errors
/// No server takes a connection, or it has refused the session.
pub fn open(target: &Target) -> Result<Box<dyn BlockingSession>> {
    entry(target.driver())?.1(target)
}

fn opened<D: AdbcDatabase>(target: &Target) -> Result<Box<dyn BlockingSession>> {
    Ok(Box::new(Live::<D>::open(target)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_drivers::{DRIVERS, Product};

    #[test]
    fn each_database_that_has_settings_of_this_driver_is_opened() {
        for driver in DRIVERS.iter().filter(|driver| driver.is_of(Product::Adbc)) {
            assert!(dialect(driver).is_ok(), "{}", driver.name);
        }
    }
}
