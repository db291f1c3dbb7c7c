//! CUBRID's SQL: read, typed, and written for SQLite.

mod aggregates;
pub mod ast;
mod changes;
mod comparisons;
mod compile;
mod definitions;
mod expressions;
mod functions;
mod lexer;
mod parser;
pub mod print;
mod queries;
mod selects;
mod time_functions;
mod values;

pub use compile::{Action, Catalog, Compiled, Compiler, Meta, Parameter, ResultColumn, Write, interpreted};
pub use definitions::key_name;
pub use lexer::{markers, tokenize};
pub use parser::Parser;

/// Quotes an identifier for SQLite.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of a table in SQLite, which has names of its own that users may want.
pub fn table(name: &str) -> String {
    quote(&format!("t {name}"))
}

/// Quotes a string for SQLite.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
