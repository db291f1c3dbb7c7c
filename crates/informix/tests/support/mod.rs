//! The names of Informix's columns and errors for the tests and the fuzz target, and the golden bytes.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod session;
mod trace;

use headrace_core::{Fatal, Run, Sink};
use headrace_informix::machine::{Columns, Tuples};
use headrace_informix::messages::server::{Field, ServerError};
use headrace_testkit::{Completion, Dialect, TestValue, unhex};
use std::sync::Arc;

/// Informix, to a test.
#[derive(Debug)]
pub struct Informix;

impl Dialect for Informix {
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn read_again<S: Sink>(columns: &Arc<Columns>, messages: &[u8], sink: &mut S) -> Result<(), Fatal> {
        Tuples::new(Some(&**columns), messages).each(sink)
    }
    fn code(error: &ServerError) -> String {
        format!("{} {}", error.sqlcode, error.isam)
    }
    fn message(error: &ServerError) -> String {
        error.token.clone()
    }
}

/// A response handler of a test.
pub type TestHandler = headrace_testkit::TestHandler<Informix>;

/// The lines of a section of the golden file, split at tabs, without the section's name.
pub fn golden(section: &str) -> Vec<Vec<&'static str>> {
    include_str!("../golden.txt")
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|parts| parts[0] == section)
        .map(|parts| parts[1..].to_vec())
        .collect()
}

/// The bytes of one golden message or reply.
pub fn bytes(section: &str, name: &str) -> Vec<u8> {
    let found = golden(section).into_iter().find(|parts| parts[0].ends_with(name));
    unhex(found.unwrap_or_else(|| panic!("no {section} {name}"))[1])
}

/// Fields of `type:length` pairs.
pub fn fields(text: &str) -> Vec<Field> {
    let field = |pair: &str| {
        let (type_word, length) = pair.split_once(':').unwrap();
        Field { type_word: type_word.parse().unwrap(), length: length.parse().unwrap(), ..Field::default() }
    };
    if text == "-" { Vec::new() } else { text.split(' ').map(field).collect() }
}

/// The value of `kind value`, as in the golden file.
pub fn value(text: &'static str) -> TestValue {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let numbers = || rest.split(' ').map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>();
    match kind {
        "null" => TestValue::Null,
        "bool" => TestValue::Bool(rest == "true"),
        "int" => TestValue::Int(numbers()[0]),
        "float" => TestValue::Float(rest.parse().unwrap()),
        "dec" => TestValue::decimal(rest),
        "text" => TestValue::text(rest),
        "date" => TestValue::Date(numbers()[0] as i32),
        "time" => TestValue::Time(numbers()[0]),
        "timestamp" => TestValue::Timestamp(numbers()[0]),
        "interval" => TestValue::Interval(numbers()[0] as i32, numbers()[1] as i32, numbers()[2]),
        kind => panic!("{kind}"),
    }
}

/// The server's reply at the end of a statement that changed this number of rows.
pub fn completion(tag: &str, rows: u64) -> Completion {
    Completion { tag: tag.into(), rows: Some(rows), ..Completion::default() }
}
