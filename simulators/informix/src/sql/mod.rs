//! Informix SQL, translated to SQLite's with the type of every column and parameter worked out on the way.

mod ddl;
mod dml;
mod expr;
mod functions;
mod lexer;
mod parser;
mod select;
mod types;

use crate::errors::Result;
use crate::types::Type;

pub use lexer::{Token, tokenize};
pub use parser::Parser;

/// A column of a table, or of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// In lower case unless it was quoted.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether NULL is refused.
    pub not_null: bool,
}

/// A table or view that statements may name.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name that SQLite knows it by.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
}

/// A routine of the small kind this server can run: one expression over its parameters.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The names and types of its parameters.
    pub parameters: Vec<Column>,
    /// What it returns; nothing for a procedure without results.
    pub returns: Vec<Type>,
    /// The expressions after RETURN, as text.
    pub body: Vec<String>,
}

/// Who knows the tables.
pub trait Catalog {
    /// The table of a name, `database` being what stood before a colon.
    fn table(&self, database: Option<&str>, name: &str) -> Option<Table>;
    /// The routine of a name.
    fn routine(&self, name: &str) -> Option<Routine>;
    /// Whether double quotes delimit identifiers.
    fn delimited_identifiers(&self) -> bool;
    /// The table an open cursor stands on, with the rowid of its current row.
    fn cursor(&self, name: &str) -> Option<(String, i64)>;
}

/// What a CREATE TABLE leaves in the catalog.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Whether it lives in the session only.
    pub temporary: bool,
    /// `T` or `V`.
    pub kind: char,
    /// SQL for SQLite.
    pub sql: String,
    /// Unique and primary key constraints: name and columns, to tell -268 from -239.
    pub constraints: Vec<(String, Vec<String>)>,
    /// Whether an existing one is left in peace.
    pub if_not_exists: bool,
}

/// What there is to do for a statement.
#[allow(missing_docs)]
#[derive(Clone, Debug)]
pub enum Action {
    /// Rows come back; with the table of an update cursor.
    Query {
        sql: String,
        update_table: Option<String>,
    },
    /// Rows change; `table` is the one changed.
    Write {
        sql: String,
        table: String,
    },
    CreateTable(NewTable),
    /// SELECT … INTO TEMP.
    SelectInto(NewTable),
    DropTable {
        name: String,
        if_exists: bool,
    },
    RenameTable {
        from: String,
        to: String,
    },
    /// ALTER TABLE: SQL for SQLite and the columns as they are afterwards.
    Alter {
        table: String,
        sql: Vec<String>,
        columns: Vec<Column>,
        constraints: Vec<(String, Vec<String>)>,
    },
    /// Anything that SQLite runs as it is and that no catalog row tells of.
    Ddl(String),
    CreateRoutine(String, Routine),
    DropRoutine(String),
    CreateDatabase {
        name: String,
        mode: &'static str,
    },
    DropDatabase(String),
    OpenDatabase(String),
    CloseDatabase,
    Begin,
    Commit,
    Rollback(Option<String>),
    Savepoint(String),
    ReleaseSavepoint(String),
    /// SET LOCK MODE: seconds to wait, `None` for ever.
    LockMode(Option<u64>),
    /// SET ENVIRONMENT name value.
    Environment(String, String),
    /// Accepted, and nothing to do.
    Nothing,
}

/// A statement, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The statement type of DESCRIBE.
    pub kind: i16,
    /// What to do.
    pub action: Action,
    /// The columns of the result, or the target columns of an INSERT.
    pub columns: Vec<Column>,
    /// The types of the parameters.
    pub parameters: Vec<Type>,
}

/// Translates one statement.
pub fn compile(text: &str, catalog: &dyn Catalog) -> Result<Compiled> {
    let tokens = tokenize(text, catalog.delimited_identifiers())?;
    let parameters = tokens.iter().filter(|token| matches!(token.kind, lexer::TokenKind::Parameter(_))).count();
    let mut parser = Parser::new(text, tokens, parameters, catalog);
    parser.statement()
}
