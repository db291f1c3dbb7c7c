//! A caller that notes what it is told.

use super::sink::NotingSink;
use super::value::{TestParams, TestValue};
use headrace_core::Mismatch;
use headrace_core::protocol::{Caller, Outcome, Summary};
use headrace_mysql::machine::Columns;
use headrace_mysql::packets::reply::ServerError;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What a caller was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Affected rows and last insert id of each result.
    pub results: Vec<(u64, u64)>,
    pub infos: Vec<String>,
    pub warnings: u16,
    pub suspended: bool,
    pub error: Option<ServerError>,
    /// `done`, or how else it ended, with the row.
    pub end: Option<String>,
}

impl Told {
    /// The rows as lines.
    pub fn lines(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.join("|")).collect()
    }

    /// Rows affected over all results.
    pub fn affected(&self) -> u64 {
        self.results.iter().map(|(rows, _)| rows).sum()
    }
}

pub type Shared = Rc<RefCell<Told>>;

/// A caller with one row of parameters, or a batch of them.
#[derive(Debug)]
pub struct TestCaller {
    pub told: Shared,
    row: Vec<TestValue>,
    batch: Vec<Vec<TestValue>>,
    next: usize,
}

impl TestCaller {
    pub fn new(row: Vec<TestValue>, batch: Vec<Vec<TestValue>>) -> (Self, Shared) {
        let told = Shared::default();
        (Self { told: told.clone(), row, batch, next: 0 }, told)
    }
}

impl Caller for TestCaller {
    type Cx<'a> = ();
    type Params<'s, 'c: 's> = TestParams<'s>;
    type Rows<'s, 'c: 's> = NotingSink;
    type Error = Mismatch;
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn next_row(&mut self, (): ()) -> Result<bool, Mismatch> {
        let Some(row) = self.batch.get_mut(self.next) else { return Ok(false) };
        self.row = row.clone();
        self.next += 1;
        Ok(true)
    }
    fn rewind(&mut self, (): ()) -> bool {
        self.next = 0;
        true
    }
    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> TestParams<'s> {
        TestParams(&self.row)
    }
    fn columns(&mut self, (): (), columns: &Arc<Columns>) {
        self.told.borrow_mut().columns = columns.fields.iter().map(|field| field.name.clone()).collect();
    }
    fn rows<'s, 'c: 's>(&'s mut self, (): ()) -> NotingSink {
        NotingSink(self.told.clone())
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn block(&mut self, (): (), _: &[u8]) {}
    fn result(&mut self, (): (), summary: Summary<'_>) {
        let mut told = self.told.borrow_mut();
        let generated = summary.generated.map_or(0, |value| u64::try_from(value).expect("it is unsigned"));
        told.results.push((summary.rows.unwrap_or(0), generated));
        told.infos.push(String::from_utf8_lossy(summary.tag).into_owned());
        told.warnings = told.warnings.saturating_add(summary.warnings);
        told.suspended = summary.suspended;
    }
    fn finish(self, (): (), outcome: Outcome<ServerError, Mismatch>) {
        let mut told = self.told.borrow_mut();
        assert!(told.end.is_none(), "told twice how it ended");
        let at = |row: Option<u64>| row.map_or(String::new(), |row| format!(" at row {row}"));
        told.end = Some(match outcome {
            Outcome::Done => "done".into(),
            Outcome::Server { error, row } => {
                let end = format!("server {}{}", error.code, at(row));
                told.error = Some(error);
                end
            }
            Outcome::Caller { error, row } => format!("caller {error}{}", at(row)),
            Outcome::Skipped => "skipped".into(),
            Outcome::Fatal(reason) => format!("fatal {reason}"),
        });
    }
}
