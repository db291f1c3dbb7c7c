//! The names of MySQL's columns and errors for the tests and the fuzz target.

use headrace_core::{Fatal, Run, Sink};
use headrace_mysql::machine::{Columns, RowPackets};
use headrace_mysql::packets::reply::ServerError;
use headrace_testkit::Dialect;
use std::sync::Arc;

/// MySQL, to a test.
#[derive(Debug)]
pub struct Mysql;

impl Dialect for Mysql {
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn read_again<S: Sink>(columns: &Arc<Columns>, messages: &[u8], sink: &mut S) -> Result<(), Fatal> {
        RowPackets::new(columns, messages, None).each(sink)
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
