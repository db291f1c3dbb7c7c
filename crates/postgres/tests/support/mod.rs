//! The names of PostgreSQL's columns and errors for the tests and the fuzz target.

use headrace_core::{Fatal, Run, Sink};
use headrace_postgres::machine::{Columns, DataRows};
use headrace_postgres::messages::backend::ServerError;
use headrace_testkit::Dialect;
use std::sync::Arc;

/// PostgreSQL, to a test.
#[derive(Debug)]
pub struct Postgres;

impl Dialect for Postgres {
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn read_again<S: Sink>(columns: &Arc<Columns>, messages: &[u8], sink: &mut S) -> Result<(), Fatal> {
        DataRows::new(columns, messages).each(sink)
    }
    fn code(error: &ServerError) -> String {
        error.sqlstate().to_owned()
    }
    fn message(error: &ServerError) -> String {
        format!("{error:?}")
    }
}

/// A response handler of a test.
pub type TestHandler = headrace_testkit::TestHandler<Postgres>;
