//! SQLite, which executes the translated statements.

pub mod convert;
pub mod definition;
mod formats;
pub mod functions;
pub mod schema;
pub mod statement;
mod texts;
pub mod times;

pub use headrace_simulator_common::sqlite::{Failure, owned};
pub use rusqlite::types::{Value, ValueRef};
pub use statement::Statement;
