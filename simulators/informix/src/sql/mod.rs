//! Translates Informix SQL to SQLite's, and determines the type of every column and parameter.

mod alter;
mod columns;
mod constraints;
mod ddl;
mod dml;
mod expr;
mod functions;
mod lexer;
mod lists;
mod literals;
mod operators;
mod parser;
mod routines;
mod select;
mod statements;
mod tables;
mod types;
mod usertypes;
mod windows;

use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

pub use dml::Written;
pub use lexer::{Token, tokenize};
pub use parser::{Parser, index_name, quote};

/// A column of a table, or of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// In lower case unless it was quoted.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// True if NULL is refused.
    pub not_null: bool,
}

/// A table or view that statements may name.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in SQLite.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// Columns with a default, in SQLite's SQL.
    pub defaults: Vec<(String, String)>,
    /// True if its columns are those of a query, as a view's are.
    pub derived: bool,
}

/// The value of a column for which a row has none.
#[derive(Clone, Debug)]
pub struct Default {
    /// The column.
    pub column: String,
    /// The class that the catalog shows: `L` literal, `C` current, `T` today, `U` user, `S` server, `N` null.
    pub class: char,
    /// The literal.
    pub text: String,
    /// The value in SQLite's SQL.
    pub sql: String,
}

/// A stored routine.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The names and types of its parameters.
    pub parameters: Vec<Column>,
    /// What it returns; nothing for a procedure without results.
    pub returns: Vec<Type>,
    /// Its statements.
    pub body: Vec<Step>,
    /// True if it was made as a procedure.
    pub procedure: bool,
}

/// A statement of a routine, as text.
#[derive(Clone, Debug)]
pub enum Step {
    /// INSERT, UPDATE or DELETE.
    Change(String),
    /// The expressions after RETURN.
    Return(Vec<String>),
    /// RAISE EXCEPTION: sqlcode, isam code, text.
    Raise(i16, i16, String),
}

/// The source of table definitions.
pub trait Catalog {
    /// The table of a name, `database` being the name before a colon.
    fn table(&self, database: Option<&str>, name: &str) -> Option<Table>;
    /// Returns true if a name is that of an owner of tables and of what belongs to them.
    fn is_owner(&self, name: &str) -> bool;
    /// The type that a user made under a name.
    fn user_type(&self, name: &str) -> Option<Type>;
    /// The first value and the step of a sequence.
    fn sequence(&self, name: &str) -> Option<(i64, i64)>;
    /// The columns of a table's primary key.
    fn primary_key(&self, table: &str) -> Vec<String>;
    /// The columns of each of a table's unique keys.
    fn unique_keys(&self, table: &str) -> Vec<Vec<String>>;
    /// Returns true if a table belongs to the session alone.
    fn is_temporary(&self, table: &str) -> bool;
    /// The routine of a name.
    fn routine(&self, name: &str) -> Option<Routine>;
    /// True if double quotes delimit identifiers.
    fn delimited_identifiers(&self) -> bool;
    /// The table that an open update cursor reads.
    fn cursor(&self, name: &str) -> Option<String>;
}

/// The catalog entries of a CREATE TABLE.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// True if it exists in the session only.
    pub temporary: bool,
    /// `T` or `V`.
    pub kind: char,
    /// SQL for SQLite.
    pub sql: String,
    /// SQL that follows when the table is there.
    pub indexes: Vec<String>,
    /// Its constraints.
    pub constraints: Vec<Constraint>,
    /// The defaults of its columns.
    pub defaults: Vec<Default>,
    /// The text of a view.
    pub text: String,
    /// True if an existing one is left unchanged.
    pub if_not_exists: bool,
    /// The first number of its SERIAL.
    pub serial: Option<i64>,
}

/// A constraint of a table.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Its name.
    pub name: String,
    /// `P` primary, `U` unique, `R` foreign, `C` check, `N` not null.
    pub kind: char,
    /// Its columns.
    pub columns: Vec<String>,
    /// The table and the columns that a foreign key refers to, and whether deletes cascade.
    pub references: Option<(String, Vec<String>, bool)>,
    /// The text of a check.
    pub check: Option<String>,
}

/// The result of CREATE INDEX.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The descending ones.
    pub descending: Vec<bool>,
    /// True if it refuses duplicates.
    pub unique: bool,
    /// SQL for SQLite.
    pub sql: Vec<String>,
}

/// A step of ALTER TABLE.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// SQL for SQLite.
    Sql(String),
    /// A query that must find no row, and the error if it does.
    Never(String, SqlError),
    /// A column gets another definition, and its values are converted.
    Column {
        /// Its name.
        name: String,
        /// Its definition.
        part: String,
        /// Its values.
        value: Option<String>,
    },
    /// A constraint becomes part of the table's definition.
    Part(String),
    /// A constraint is dropped.
    DropConstraint(String),
    /// A column is dropped, with its keys and indexes.
    DropColumn(String),
}

/// ALTER TABLE and RENAME COLUMN.
#[derive(Clone, Debug, std::default::Default)]
pub struct Alter {
    /// The table.
    pub table: String,
    /// The changes to it.
    pub steps: Vec<Alteration>,
    /// Its columns as they are afterwards.
    pub columns: Vec<Column>,
    /// Added defaults.
    pub defaults: Vec<Default>,
    /// Added constraints.
    pub constraints: Vec<Constraint>,
    /// A column that gets another name.
    pub renamed: Option<(String, String)>,
    /// The next number of its SERIAL.
    pub serial: Option<i64>,
}

/// The isolation of a reader from writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees the data that was committed before it.
    Committed,
    /// A transaction sees one state from its first read on.
    Repeatable,
}

/// The execution of a statement.
#[allow(missing_docs)]
#[derive(Clone, Debug)]
pub enum Action {
    /// It returns rows; with the table of an update cursor.
    Query {
        sql: String,
        update_table: Option<String>,
    },
    /// Rows change; `table` is the one changed.
    Write {
        sql: String,
        table: String,
        /// The kind of the SERIAL that an INSERT may generate a number for.
        serial: Option<Kind>,
    },
    /// A routine is called.
    Call {
        changes: Vec<Written>,
        raised: Option<SqlError>,
        query: Option<String>,
    },
    CreateTable(NewTable),
    /// SELECT … INTO TEMP.
    SelectInto(NewTable),
    DropTable {
        name: String,
        if_exists: bool,
        /// True if nothing may depend on it.
        restrict: bool,
    },
    RenameTable {
        from: String,
        to: String,
    },
    Alter(Alter),
    CreateIndex {
        index: NewIndex,
        if_not_exists: bool,
    },
    DropIndex {
        name: String,
        if_exists: bool,
    },
    /// A type, with its mode in the catalog.
    CreateType(String, Type, char),
    DropType(String),
    /// A second name for a table.
    CreateSynonym {
        name: String,
        table: String,
        if_not_exists: bool,
    },
    DropSynonym(String),
    CreateSequence {
        name: String,
        start: i64,
        step: i64,
    },
    DropSequence(String),
    /// With IF EXISTS or IF NOT EXISTS: that error is none.
    Unless(Box<Action>, i16),
    /// SET ISOLATION.
    Isolation(Isolation),
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
    LockTable,
    /// SET CONSTRAINTS ALL DEFERRED.
    DeferConstraints,
    /// SET LOCK MODE: seconds to wait, `None` for ever.
    LockMode(Option<u64>),
    /// SET ENVIRONMENT name value.
    Environment(String, String),
    /// Several statements, one after the other.
    Several(Vec<Compiled>),
    /// Accepted, and nothing to do.
    Nothing,
}

/// A statement, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The statement type of DESCRIBE.
    pub kind: i16,
    /// The operation.
    pub action: Action,
    /// The columns of the result, or the target columns of an INSERT.
    pub columns: Vec<Column>,
    /// The types of the parameters.
    pub parameters: Vec<Type>,
}

/// Translates a text: one statement, or several with semicolons between them.
pub fn compile(text: &str, catalog: &dyn Catalog) -> Result<Compiled> {
    let (first, mut next) = compile_first(text, catalog)?;
    if next.is_none() {
        return Ok(first);
    }
    let mut parts = vec![first];
    let mut start = 0;
    while let Some(after) = next {
        start += after;
        let (part, another) =
            compile_first(&text[start..], catalog).map_err(|error| error.moved(text[..start].chars().count()))?;
        parts.push(part);
        next = another;
    }
    let alone = |part: &Compiled| {
        let action = if let Action::Unless(action, _) = &part.action { action } else { &part.action };
        matches!(
            action,
            Action::Query { .. }
                | Action::Call { query: Some(_), .. }
                | Action::OpenDatabase(_)
                | Action::CloseDatabase
                | Action::CreateDatabase { .. }
                | Action::DropDatabase(_)
        )
    };
    if parts.iter().any(alone) {
        return Err(SqlError::new(-555, ""));
    }
    // DESCRIBE reports the type of the first.
    let parameters = parts.iter().flat_map(|part| part.parameters.clone()).collect();
    Ok(Compiled { kind: parts[0].kind, action: Action::Several(parts), columns: Vec::new(), parameters })
}

/// The first statement of a text, and the position of the next one.
fn compile_first(text: &str, catalog: &dyn Catalog) -> Result<(Compiled, Option<usize>)> {
    let tokens = tokenize(text, catalog.delimited_identifiers())?;
    let parameters = tokens.iter().filter(|token| matches!(token.kind, lexer::TokenKind::Parameter(_))).count();
    let mut parser = Parser::new(text, tokens, parameters, catalog);
    let (mut compiled, next) = parser.statement()?;
    compiled.parameters.truncate(parser.parameters_read());
    Ok((compiled, next))
}
