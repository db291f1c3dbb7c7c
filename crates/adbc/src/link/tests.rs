use super::*;
use crate::call::Call;
use crate::databases::dialect;
use crate::ingest::Mode;
use adbc_core::error::Status;
use arrow_array::{ArrayRef, Int32Array};
use headrace_arrow::Nanoseconds;
use headrace_arrow::input::Meaning;
use headrace_core::{Outcome, ResponseHandler as _, ValueKind};
use headrace_drivers::{Database as _, Postgres};
use headrace_postgres::machine::Columns;
use headrace_postgres::messages::backend::ServerError;
use std::marker::PhantomData;

/// A session that answers everything at once, without rows.
struct Answering {
    statements: Arc<Mutex<Vec<String>>>,
    is_closed: bool,
}

impl BlockingSession for Answering {
    fn may_write(&self, _: &str) -> bool {
        false
    }

    fn submit(&mut self, ask: &StatementRequest, _: Option<Bound>, reply: &Arc<Reply>) -> Result<()> {
        let (StatementRequest::Execute { sql, .. } | StatementRequest::Describe { sql }) = ask;
        self.statements.lock().unwrap().push(sql.to_string());
        let call: Call<Arc<Columns>, ServerError> =
            Call { bound: None, many: false, reply: reply.clone(), protocol: PhantomData };
        call.finish((), Outcome::Done);
        Ok(())
    }
    fn submit_verb(&mut self, _: &Verb, _: &Arc<Reply>) -> Result<bool> {
        Ok(false)
    }
    fn check_verb(&self, _: &Verb) -> Result<()> {
        Ok(())
    }
    fn drive(&mut self, _: &Reply, until: &mut dyn FnMut() -> bool) -> Result<()> {
        assert!(until(), "everything is answered");
        Ok(())
    }
    fn resume(&mut self) {}
    fn watch(&mut self, _: Arc<Cancel>) {}
    fn transaction(&self) -> TransactionStatus {
        TransactionStatus::Idle
    }
    fn is_closed(&self) -> bool {
        self.is_closed
    }
    fn server_version(&self) -> Option<String> {
        None
    }
    fn close(&mut self) {}
}

#[test]
fn a_cancel_between_the_steps_of_an_ingestion_ends_it() {
    let statements = Arc::default();
    let session = Answering { statements: Arc::clone(&statements), is_closed: false };
    let connection = Link::new(Box::new(session), dialect(Postgres::DRIVER).unwrap());
    let link = connection.of_statement();
    let ingest = Ingest { table: Some("t".to_owned()), mode: Mode::CreateAppend, ..Ingest::default() };
    let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)]).unwrap();
    let nanoseconds = Nanoseconds::Refused;
    let meaning = Meaning { structs: ValueKind::Other, local: Ok, nanoseconds };
    let bound = || Bound::batch(batch.clone(), meaning).map_err(|error| error.into_error(None));
    let schema = batch.schema();

    link.ingest(&ingest, &schema, |_| bound()).unwrap();
    let all = std::mem::take(&mut *statements.lock().unwrap());
    assert!(all.len() > 2, "{all:?}");
    for canceller in [&link, &connection] {
        let cancelled = link.ingest(&ingest, &schema, |_| {
            canceller.request_cancel(true).unwrap();
            bound()
        });
        assert_eq!(cancelled.unwrap_err().status, Status::Cancelled);
        // Those that are asked before the table and the rows are made.
        assert_eq!(*statements.lock().unwrap(), all[..1]);
        statements.lock().unwrap().clear();
    }
    assert_eq!(link.request_cancel(true).unwrap_err().status, Status::InvalidState);
    assert_eq!(connection.request_cancel(true).unwrap_err().status, Status::InvalidState);
    // Another statement of the connection is none of its own.
    let other = connection.of_statement();
    link.ingest(&ingest, &schema, |_| {
        assert_eq!(other.request_cancel(false).unwrap_err().status, Status::InvalidState);
        bound()
    })
    .unwrap();
}

#[test]
fn nothing_is_committed_on_a_session_that_has_ended() {
    for is_closed in [false, true] {
        let session = Answering { statements: Arc::default(), is_closed };
        let link = Link::new(Box::new(session), dialect(Postgres::DRIVER).unwrap());
        let mut core = link.lock().unwrap();
        core.set_autocommit(false).unwrap();
        assert_eq!(core.commit().is_err(), is_closed);
        core.rollback().unwrap();
        assert_eq!(core.set_autocommit(true).is_err(), is_closed);
        assert_eq!(core.autocommit, !is_closed);
    }
}
