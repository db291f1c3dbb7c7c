//! How the tests and the fuzz target name MySQL's columns and errors.

use headrace_mysql::machine::Columns;
use headrace_mysql::packets::reply::ServerError;
use headrace_testkit::Dialect;
use std::sync::Arc;

/// MySQL, to a test.
#[derive(Debug)]
pub struct Mysql;

impl Dialect for Mysql {
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn names(columns: &Arc<Columns>) -> Vec<String> {
        columns.fields.iter().map(|field| field.name.clone()).collect()
    }
    fn code(error: &ServerError) -> String {
        error.code.to_string()
    }
    fn message(error: &ServerError) -> String {
        format!("{}: {}", error.sqlstate, error.message)
    }
}

/// A response handler of a test.
pub type TestHandler = headrace_testkit::TestHandler<Mysql>;
