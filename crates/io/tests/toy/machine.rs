//! What is `crates/NAME` of a database: its messages, its only type, its errors, and its machine.

use headrace_core::column::{ColumnKind, Native, NativeType};
use headrace_core::protocol::Summary;
use headrace_core::run::{ColumnSink, DecodeCell, Grid};
use headrace_core::sqlstate::Condition;
use headrace_core::transitions::{Name as _, Transitions};
use headrace_core::{
    Cancellation, Certificate, Column, Described, Diagnostics, ErrorClass, Fatal, Mismatch, NextStep, Pending,
    Pipelining, Protocol, Queue, ReadBuffer, Reported, Requests as _, ResponseHandler, Run, Session, Sink, Slot, Verb,
    WriteBuffer,
};
use std::borrow::Cow;
use std::sync::Arc;

/// The only type: text.
#[derive(Debug)]
struct Text;

impl NativeType for Text {
    fn system(&self) -> &'static str {
        "TOY"
    }
    fn type_name(&self) -> Option<Cow<'_, str>> {
        Some("text".into())
    }
    fn identification(&self) -> String {
        "text".to_owned()
    }
}

#[derive(Clone, Debug)]
pub struct Columns(Arc<[Column]>);

impl Columns {
    fn named(name: &str) -> Self {
        let native = Native::new(Text);
        Self([Column { name: name.into(), kind: ColumnKind::Text, nullable: Some(false), native }].into())
    }
}

impl Described for Columns {
    fn columns(&self) -> &Arc<[Column]> {
        &self.0
    }
}

#[derive(Clone, Debug)]
pub struct ServerError(String);

impl Diagnostics for ServerError {
    fn condition(&self) -> Condition {
        Condition::Class(ErrorClass::Programming)
    }
    fn message(&self) -> Cow<'_, str> {
        (&self.0).into()
    }
}

/// Lines with a value each.
#[derive(Clone)]
struct Values<'a>(&'a [u8]);

impl<'a> Values<'a> {
    fn each_value(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.0.split_inclusive(|byte| *byte == b'\n').map(|line| &line[2..line.len() - 1])
    }
}

impl Run for Values<'_> {
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        for value in self.each_value() {
            sink.begin_row(1);
            sink.text(value);
            sink.end_row();
        }
        Ok(())
    }
    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let mut grid = Grid::new(1);
        for value in self.each_value() {
            grid.push(Some(value));
            grid.end_row();
        }
        grid.give(sink, |_| Text);
        Ok(())
    }
    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        Ok(Some(self.0))
    }
}

impl DecodeCell for Text {
    fn decode<S: Sink>(&self, cell: Option<&[u8]>, sink: &mut S) {
        sink.text(cell.unwrap_or_default());
    }
}

headrace_core::names! {
    /// The state of a pending request.
    pub enum RequestState {
        Queued = "nothing of it was sent",
        Sent = "all of it was sent",
        Described = "the column of its result is known",
    }
}

headrace_core::names! {
    /// An event that changes it.
    pub enum RequestEvent {
        Start = "it is started",
        Column = "its column has come",
    }
}

pub static TRANSITIONS: Transitions<RequestState, RequestEvent> = {
    use RequestEvent::{Column, Start};
    use RequestState::{Described, Queued, Sent};
    Transitions { machine: "toy", rows: &[(Queued, Start, Sent), (Sent, Column, Described)] }
};

#[derive(Debug)]
pub struct PendingRequest<H: ResponseHandler> {
    slot: Slot<H>,
    sql: Arc<str>,
    state: RequestState,
    rows: u64,
}

impl<H: ResponseHandler> PendingRequest<H> {
    fn go(&mut self, event: RequestEvent, to: RequestState) {
        TRANSITIONS.take(self.state, event, to);
        self.state = to;
    }
}

impl<H: ResponseHandler> Pending for PendingRequest<H> {
    headrace_core::pending_of_field!();

    fn replace_discarded(&mut self, _: Option<&Self>) -> bool {
        false
    }
    fn pipelining(&self) -> Pipelining {
        Pipelining::Free
    }
    fn is_at_server(&self) -> bool {
        self.state != RequestState::Queued
    }
    fn is_cancellable(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    Ready,
    Closed,
}

#[derive(Debug)]
pub struct Machine<H: ResponseHandler> {
    queue: Queue<PendingRequest<H>>,
    statements: [(); 0],
    closing_error: Option<ServerError>,
    phase: Phase,
}

impl<H: ResponseHandler<Columns = Columns, ServerError = ServerError>> Machine<H> {
    pub fn new() -> Self {
        debug_assert_eq!(RequestState::ALL.len(), 3);
        Self { queue: Queue::default(), statements: [], closing_error: None, phase: Phase::Greeting }
    }

    fn send(&mut self, _: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        while self.phase == Phase::Ready && self.queue.may_start() {
            self.queue.start();
            let Some(pending) = self.queue.last_mut() else { return };
            pending.go(RequestEvent::Start, RequestState::Sent);
            write_buffer.tail().extend_from_slice(format!("{}\n", pending.sql).as_bytes());
        }
    }

    fn read(&mut self, cx: H::Context<'_>, read_buffer: &mut ReadBuffer, _: &mut WriteBuffer) -> Result<(), Fatal> {
        while self.queue.full().is_none() {
            let unread = read_buffer.unread();
            let rows = unread.split_inclusive(|byte| *byte == b'\n').take_while(|line| is_row(line));
            let bytes: usize = rows.map(<[u8]>::len).sum();
            let taken = match unread.iter().position(|byte| *byte == b'\n') {
                _ if bytes > 0 => {
                    self.rows(cx, &unread[..bytes])?;
                    bytes
                }
                Some(end) => {
                    let line = String::from_utf8_lossy(&unread[..end]);
                    self.line(cx, &line)?;
                    end + 1
                }
                None => return Ok(()),
            };
            read_buffer.consume(taken);
        }
        Ok(())
    }

    fn rows(&mut self, cx: H::Context<'_>, lines: &[u8]) -> Result<(), Fatal> {
        let pending = self.queue.answered().ok_or_else(|| Fatal::peer("rows that nothing has asked for"))?;
        pending.rows += Values(lines).each_value().count() as u64;
        if let Some(handler) = &mut pending.slot.handler {
            let (id, room) = (pending.slot.id, handler.rows(cx, &mut Values(lines))?);
            self.queue.note(id, room);
        }
        Ok(())
    }

    fn line(&mut self, cx: H::Context<'_>, line: &str) -> Result<(), Fatal> {
        if let ("HELLO toy", Phase::Greeting) = (line, self.phase) {
            self.phase = Phase::Ready;
            return Ok(());
        }
        let pending = self.queue.answered().ok_or_else(|| Fatal::peer("an answer to nothing"))?;
        match line.split_at_checked(1) {
            Some(("C", name)) => {
                pending.go(RequestEvent::Column, RequestState::Described);
                if let Some(handler) = &mut pending.slot.handler {
                    handler.columns(cx, &Columns::named(name.trim_start()));
                }
                return Ok(());
            }
            Some(("E", message)) => pending.slot.fail(ServerError(message.trim_start().to_owned())),
            Some((".", "")) => {
                let rows = Some(pending.rows);
                if let Some(handler) = &mut pending.slot.handler {
                    handler.result(cx, Summary { tag: b"SELECT", rows, ..Summary::default() });
                }
            }
            _ => return Err(Fatal::peer(format!("a line that is not known: {line}"))),
        }
        if let Some(pending) = self.queue.pop_started() {
            pending.slot.finish(cx);
        }
        Ok(())
    }
}

fn is_row(line: &[u8]) -> bool {
    line.starts_with(b"R ") && line.ends_with(b"\n")
}

impl<H: ResponseHandler<Columns = Columns, ServerError = ServerError>> Session for Machine<H> {
    fn next_step(&self) -> NextStep<'_> {
        match self.phase {
            Phase::Greeting => NextStep::Exchange,
            Phase::Ready => NextStep::Ready,
            Phase::Closed => NextStep::Close,
        }
    }
    fn tls_ready(&mut self, _: Certificate, _: &mut WriteBuffer) -> Result<(), Fatal> {
        Ok(())
    }
    fn terminate(&mut self, write_buffer: &mut WriteBuffer) {
        write_buffer.tail().extend_from_slice(b"BYE\n");
        self.phase = Phase::Closed;
    }
    fn process_id(&self) -> i32 {
        0
    }
    fn cancellation(&self) -> Cancellation {
        Cancellation::Impossible
    }
    headrace_core::session_of_fields!();
    fn reported(&self) -> Reported {
        Reported::Idle
    }
    fn transaction_ahead(&self) -> Option<bool> {
        Some(false)
    }
    fn forget_statements(&mut self) {}
}

impl<H: ResponseHandler<Columns = Columns, ServerError = ServerError>> Protocol for Machine<H> {
    type Handler = H;
    type Request = Arc<str>;
    type Pending = PendingRequest<H>;

    headrace_core::protocol_of_fields!();

    fn submit(&mut self, sql: Arc<str>, handler: H) -> u64 {
        self.queue.submit(handler, |slot| PendingRequest { slot, sql, state: RequestState::Queued, rows: 0 })
    }
    fn of_verb(_: &Verb) -> Result<Vec<Arc<str>>, Mismatch> {
        Err(Mismatch::wrong_type("the toy has no transactions"))
    }
    fn text(sql: &Arc<str>) -> Option<&Arc<str>> {
        Some(sql)
    }
    fn abort(&mut self, cx: H::Context<'_>, reason: &Fatal) {
        self.phase = Phase::Closed;
        self.queue.abort(cx, reason, self.closing_error.clone());
    }
}
